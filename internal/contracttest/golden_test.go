package contracttest

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/namewharf/namewharf/serve/mcp"
	"github.com/namewharf/namewharf/serve/middleware"
	"github.com/namewharf/namewharf/serve/rest"
	"github.com/namewharf/namewharf/tld"
	"github.com/namewharf/namewharf/tools"
)

var update = flag.Bool("update", false, "rewrite the golden files; a changed contract needs another tools.APIVersion")

// golden holds got against a file in docs/. Contracts change with a version: -update refuses a change without one.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("..", "..", "docs", name)
	var indented bytes.Buffer
	if err := json.Indent(&indented, got, "", "  "); err != nil {
		t.Fatal(err)
	}
	indented.WriteByte('\n')
	want, err := os.ReadFile(path)
	if err == nil && bytes.Equal(want, indented.Bytes()) {
		return
	}
	bumped := err != nil || !bytes.Contains(want, []byte(`"version": "`+tools.APIVersion+`"`))
	switch {
	case !*update:
		t.Errorf("docs/%s is not what is served: if the change is meant, raise tools.APIVersion, tell it in CHANGELOG.md and run make golden", name)
	case !bumped:
		t.Errorf("docs/%s would change without another version: raise tools.APIVersion first", name)
	default:
		if err := os.WriteFile(path, indented.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func testDoor() *middleware.Stack {
	return middleware.New(middleware.Config{BaseURL: "https://names.example", Tokens: middleware.NoTokens, Logger: slog.New(slog.DiscardHandler)})
}

func fetch(t *testing.T, h http.Handler, r *http.Request) []byte {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	body, err := io.ReadAll(w.Body)
	if err != nil || w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s, %v", r.URL.Path, w.Code, body, err)
	}
	return body
}

func TestGoldenOpenAPI(t *testing.T) {
	t.Parallel()
	api := partnerAPI(t)
	h := rest.New(rest.Config{
		Middleware: testDoor(), Set: publicSet(), Partner: &rest.Partner{Set: api.Set(), Signatures: api},
		Version: tools.APIVersion, MCP: "https://names.example/mcp",
	})
	golden(t, "openapi.json", fetch(t, h, httptest.NewRequest("GET", "/openapi.json", nil)))
}

// toolList is what a client of the older protocol gets, which is the same list without its cache hints.
func toolList(t *testing.T) []byte {
	t.Helper()
	set := publicSet()
	s, err := mcp.New(mcp.Config{
		Set: set, Resources: tools.NewReference(set, tld.DefaultTable()), Version: tools.APIVersion, Middleware: testDoor(), Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("POST", "https://names.example/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("MCP-Protocol-Version", "2025-11-25")
	var reply struct {
		Result struct {
			Tools json.RawMessage `json:"tools"`
		} `json:"result"`
	}
	body := fetch(t, s.Handler("https://names.example/mcp", false), r)
	if err := json.Unmarshal(body, &reply); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return reply.Result.Tools
}

func TestGoldenTools(t *testing.T) {
	t.Parallel()
	golden(t, "tools.json", []byte(`{"version":"`+tools.APIVersion+`","tools":`+string(toolList(t))+`}`))
}

func TestGoldenCatalogue(t *testing.T) {
	t.Parallel()
	answer, err := publicSet().Named("batch_catalogue").Call(t.Context(), []byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "catalogue.json", []byte(`{"version":"`+tools.APIVersion+`","catalogue":`+string(answer.JSON)+`}`))
}

// An assistant reads the list of tools before every conversation.
func TestToolBudget(t *testing.T) {
	t.Parallel()
	var list []struct {
		Name         string          `json:"name"`
		Description  string          `json:"description"`
		InputSchema  json.RawMessage `json:"inputSchema"`
		OutputSchema json.RawMessage `json:"outputSchema"`
	}
	if err := json.Unmarshal(toolList(t), &list); err != nil {
		t.Fatal(err)
	}
	in, all := 0, 0
	for _, tool := range list {
		n := len(tool.Name) + len(tool.Description) + len(tool.InputSchema)
		in += n
		all += n + len(tool.OutputSchema)
	}
	if in > 6500 || all > 15_000 {
		t.Errorf("names, descriptions and input schemas take %d bytes, with output schemas %d; want at most 6500 and 15000", in, all)
	}
	if len(list) != 8 {
		t.Errorf("%d tools, want 8", len(list))
	}
	t.Logf("%d bytes, %d with output schemas", in, all)
}
