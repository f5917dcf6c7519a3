package mcp

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"
)

// What we take a message for, mcp-go takes it for too: else a call could slip past its charge, or a cancellation
// through to another client's call.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_domain","arguments":{"q":"acme"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}`,
		`{"jsonrpc":"2.0","id":null,"METHOD":"tools/list","params":[]}`,
		`{"id":{},"id":2,"method":7,"params":{"name":1,"Name":"x"}}`,
		` [{"jsonrpc":"2.0"}]`, `{"params":null}`, `null`, `"x"`, `{`, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m := parse(raw)
		if m.cancels() && m.asks() {
			t.Fatalf("%q is both a request and a notification", raw)
		}
		var array []json.RawMessage
		if err := json.Unmarshal(raw, &array); err == nil && array != nil && !isBatch(raw) {
			t.Fatalf("%q is a batch", raw)
		}
		// As mcp-go reads it: what it cannot read it answers with an error.
		var base struct {
			Method mcp.MCPMethod `json:"method"`
			ID     any           `json:"id,omitempty"`
		}
		if json.Unmarshal(raw, &base) != nil {
			return
		}
		if m.Method != base.Method || (m.ID == nil) != (base.ID == nil) {
			t.Fatalf("%q: got method %q and id %s, mcp-go reads %q and %v", raw, m.Method, m.ID, base.Method, base.ID)
		}
		var call mcp.CallToolRequest
		if m.asks() && m.Method == mcp.MethodToolsCall && json.Unmarshal(raw, &call) == nil && call.Params.Name != m.Params.Name {
			t.Fatalf("%q: got the tool %q, mcp-go calls %q", raw, m.Params.Name, call.Params.Name)
		}
	})
}

// A filled result decodes to the JSON and the text that were put in.
func FuzzFill(f *testing.F) {
	for _, seed := range []string{`{"a":"\"\\\n\u0001é<>&"}`, `{}`, `{"content":[]}`, " {\n\"a\" : [1, 2]\t}"} {
		f.Add([]byte(seed), `"content":[]`, "acme.com: \"free\" \\\n\t\x00\x1f é\u2028")
	}
	f.Fuzz(func(t *testing.T, raw []byte, id, said string) {
		if !json.Valid(raw) || !utf8.Valid(raw) || !utf8.ValidString(said) {
			return
		}
		a := &answer{}
		message, err := json.Marshal(mcp.NewJSONRPCResultResponse(mcp.NewRequestId(id), *a.result(raw, said)))
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			ID     string
			Result struct {
				Content           []struct{ Type, Text string }
				StructuredContent json.RawMessage
			}
		}
		filled := fill(message, a.content, a.text)
		if err := json.Unmarshal(filled, &got); err != nil {
			t.Fatalf("%s filled with %q is %q: %v", message, raw, filled, err)
		}
		if len(got.Result.Content) != 1 || got.Result.Content[0].Type != "text" || bytes.ContainsAny(filled, "\n\r") {
			t.Fatalf("%q filled: %q", raw, filled)
		}
		if got.Result.Content[0].Text != said {
			t.Fatalf("the text is %q, want %q", got.Result.Content[0].Text, said)
		}
		var want bytes.Buffer
		if err := json.Compact(&want, raw); err != nil {
			t.Fatal(err)
		}
		if structured := string(got.Result.StructuredContent); structured != string(bytes.TrimSpace(a.content)) {
			t.Fatalf("the structured content is %q, want %q", structured, a.content)
		}
	})
}
