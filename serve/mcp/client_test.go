package mcp_test

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/namewharf/namewharf/serve/mcp"
)

// A client that others wrote understands us, in both eras over both transports.
func TestClient(t *testing.T) {
	t.Parallel()
	for _, over := range []struct {
		name string
		dial func(t *testing.T) transport.Interface
	}{{"HTTP", dialHTTP}, {"stdio", dialStdio}} {
		t.Run(over.name, func(t *testing.T) {
			t.Parallel()
			eachEra(t, func(t *testing.T, era string) {
				c := client.NewClient(over.dial(t), client.WithProtocolVersion(era))
				t.Cleanup(func() { _ = c.Close() })
				var mu sync.Mutex
				reached := 0.0
				c.OnNotification(func(n mcpgo.JSONRPCNotification) {
					mu.Lock()
					defer mu.Unlock()
					if p, ok := n.Params.AdditionalFields["progress"].(float64); ok {
						reached = max(reached, p)
					}
				})
				if err := c.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				hello, err := c.Initialize(t.Context(), mcpgo.InitializeRequest{Params: mcpgo.InitializeParams{
					ProtocolVersion: era, ClientInfo: mcpgo.Implementation{Name: "test", Version: "1"},
				}})
				if err != nil || hello.ProtocolVersion != era || hello.Instructions == "" {
					t.Fatalf("Initialize: got %+v, %v", hello, err)
				}
				list, err := c.ListTools(t.Context(), mcpgo.ListToolsRequest{})
				if err != nil || len(list.Tools) != 4 {
					t.Fatalf("ListTools: got %+v, %v", list, err)
				}
				useTools(t, c)
				mu.Lock()
				defer mu.Unlock()
				if reached != 5 {
					t.Errorf("progress reached %v, want 5", reached)
				}
			})
		})
	}
}

func useTools(t *testing.T, c *client.Client) {
	t.Helper()
	call := func(name string, arguments any, token mcpgo.ProgressToken) *mcpgo.CallToolResult {
		t.Helper()
		params := mcpgo.CallToolParams{Name: name, Arguments: arguments}
		if token != nil {
			params.Meta = &mcpgo.Meta{ProgressToken: token}
		}
		result, err := c.CallTool(t.Context(), mcpgo.CallToolRequest{Params: params})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return result
	}
	if r := call("search_domain", map[string]any{"q": `a"b\c é` + "\n\u2028"}, nil); r.IsError ||
		!strings.HasPrefix(marshal(r.StructuredContent), `{"names":["a\"b\\c é\n\u2028.com"`) || !strings.Contains(textOf(r), `{"query":"a\"b\\c é\n\u2028"`) {
		t.Errorf("search_domain: got %s, %s", marshal(r.StructuredContent), textOf(r))
	}
	if r := call("search_domain", map[string]any{}, nil); !r.IsError || !strings.HasPrefix(textOf(r), "q is required: ") {
		t.Errorf("search_domain without q: got %+v", r)
	}
	if r := call("check_domains", map[string]any{"to": 5}, "tok"); r.IsError || textOf(r) != `{"done":5}` {
		t.Errorf("check_domains: got %+v", r)
	}
	read, err := c.ReadResource(t.Context(), mcpgo.ReadResourceRequest{Params: mcpgo.ReadResourceParams{URI: "domains://tlds/com"}})
	if err != nil || len(read.Contents) != 1 {
		t.Errorf("ReadResource: got %+v, %v", read, err)
	}
	prompt, err := c.GetPrompt(t.Context(), mcpgo.GetPromptRequest{Params: mcpgo.GetPromptParams{Name: "vet_domain", Arguments: map[string]string{"domain": "a.com"}}})
	if err != nil || len(prompt.Messages) != 1 {
		t.Errorf("GetPrompt: got %+v, %v", prompt, err)
	}
}

func textOf(r *mcpgo.CallToolResult) string {
	if len(r.Content) != 1 {
		return ""
	}
	text, _ := r.Content[0].(mcpgo.TextContent)
	return text.Text
}

func dialHTTP(t *testing.T) transport.Interface {
	t.Helper()
	c, err := transport.NewStreamableHTTP(open(t, option{}).url + "/mcp")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func dialStdio(t *testing.T) transport.Interface {
	t.Helper()
	s, err := mcp.New(mcp.Config{Set: operations(), Resources: documents{}, Version: "1", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := s.Stdio(context.WithoutCancel(t.Context()), in, out)
		_ = out.Close()
		ended <- err
	}()
	t.Cleanup(func() {
		_ = toServer.Close()
		if err := <-ended; err != nil {
			t.Errorf("Stdio: %v", err)
		}
	})
	return transport.NewIO(fromServer, toServer, io.NopCloser(strings.NewReader("")))
}
