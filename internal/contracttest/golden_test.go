package contracttest

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/namewharf/namewharf/internal/tokens"
	"github.com/namewharf/namewharf/serve/mcp"
	"github.com/namewharf/namewharf/serve/mcp/app"
	"github.com/namewharf/namewharf/serve/middleware"
	"github.com/namewharf/namewharf/serve/rest"
	"github.com/namewharf/namewharf/tld"
	"github.com/namewharf/namewharf/tools"
)

var update = flag.Bool("update", false, "rewrite the golden files; a changed contract needs another tools.APIVersion")

// golden holds got against a file in docs/. A contract changes together with its version: what counts is the file of the
// last commit, so that it may be edited any number of times under one new version before it is committed.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("..", "..", "docs", name)
	var indented bytes.Buffer
	if err := json.Indent(&indented, got, "", "  "); err != nil {
		t.Fatal(err)
	}
	indented.WriteByte('\n')
	file, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	committed, err := exec.Command("git", "show", "HEAD:docs/"+name).Output()
	if err != nil {
		committed = file // no git, no commit, or a file that is not committed yet
	}
	write, problem := compareGolden(committed, file, indented.Bytes(), tools.APIVersion, *update)
	if problem != "" {
		t.Errorf("docs/%s %s", name, problem)
	}
	if write {
		if err := os.WriteFile(path, indented.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// compareGolden decides what becomes of a golden file: whether it is written, and what the problem is, if any.
func compareGolden(committed, file, got []byte, version string, update bool) (write bool, problem string) {
	released := bytes.Contains(committed, []byte(`"version": "`+version+`"`))
	switch {
	case released && !bytes.Equal(committed, got):
		return false, "differs from the last commit under the same version " + version + ": if the change is meant, raise APIVersion in tools/tools.go, describe it in CHANGELOG.md and run make golden"
	case bytes.Equal(file, got):
		return false, ""
	case !update:
		return false, "is not what is served: run make golden and review the difference"
	default:
		return true, ""
	}
}

// A contract may be edited twice under one new version: the second edit was refused when the file on disk was compared.
func TestCompareGolden(t *testing.T) {
	t.Parallel()
	v := func(version, text string) []byte { return []byte(`{"version": "` + version + `", ` + text + `}`) }
	for _, test := range []struct {
		name            string
		committed, file []byte
		got             []byte
		version         string
		update          bool
		write           bool
		problem         string
	}{
		{"nothing changed", v("1", "a"), v("1", "a"), v("1", "a"), "1", false, false, ""},
		{"a change without a version", v("1", "a"), v("1", "a"), v("1", "b"), "1", true, false, "raise APIVersion"},
		{"the same written by hand", v("1", "a"), v("1", "b"), v("1", "b"), "1", false, false, "raise APIVersion"},
		{"a first edit under a new version", v("1", "a"), v("1", "a"), v("2", "b"), "2", true, true, ""},
		{"a second edit under a new version", v("1", "a"), v("2", "b"), v("2", "c"), "2", true, true, ""},
		{"a second edit that is not written yet", v("1", "a"), v("2", "b"), v("2", "c"), "2", false, false, "make golden"},
		{"an edit taken back", v("1", "a"), v("1", "b"), v("1", "a"), "1", true, true, ""},
		{"a new file", nil, nil, v("1", "a"), "1", true, true, ""},
		{"a new file that is not written yet", nil, nil, v("1", "a"), "1", false, false, "make golden"},
	} {
		write, problem := compareGolden(test.committed, test.file, test.got, test.version, test.update)
		if write != test.write || !strings.Contains(problem, test.problem) || (problem == "") != (test.problem == "") {
			t.Errorf("%s: got %v %q, want %v %q", test.name, write, problem, test.write, test.problem)
		}
	}
}

func newMiddleware() *middleware.Stack {
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
	golden(t, "openapi.json", openAPI(t))
}

// openAPI is the document as it is served.
func openAPI(t *testing.T) []byte {
	t.Helper()
	api := partnerAPI(t)
	h := rest.New(rest.Config{
		Middleware: newMiddleware(), Set: publicSet(), Partner: &rest.Partner{Set: api.Set(), Signatures: api},
		Version: tools.APIVersion, MCP: "https://names.example/mcp",
	})
	return fetch(t, h, httptest.NewRequest("GET", "/openapi.json", nil))
}

// toolList is what a client of the older protocol gets, which is the same list without its cache hints.
func toolList(t *testing.T) []byte {
	t.Helper()
	set := publicSet()
	s, err := mcp.New(mcp.Config{
		Set: set, Resources: tools.NewReference(set, tld.DefaultTable()), Version: tools.APIVersion, Middleware: newMiddleware(), Logger: slog.New(slog.DiscardHandler),
		Apps: []mcp.App{app.Names()},
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
	golden(t, "catalogue.json", catalogue(t))
}

// catalogue is the list of batch operations as it is served, with the version of the contract.
func catalogue(t *testing.T) []byte {
	t.Helper()
	answer, err := publicSet().Named("batch_catalogue").Call(t.Context(), []byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	return []byte(`{"version":"` + tools.APIVersion + `","catalogue":` + string(answer.JSON) + `}`)
}

// The budget of the tool list in tokens (o200k_base, by an estimate that is proven against counts): names, descriptions and
// input schemas, the same with output schemas, and both for one tool.
const (
	maxInputTokens     = 2400
	maxListTokens      = 5500
	maxToolInputTokens = 340
	maxToolTokens      = 700
)

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
	input, all := 0, 0
	for _, tool := range list {
		in := tokens.Estimate(tool.Name + tool.Description + string(tool.InputSchema))
		both := in + tokens.Estimate(string(tool.OutputSchema))
		if in > maxToolInputTokens {
			t.Errorf("%s: name, description and input schema take about %d tokens, at most %d: shorten Doc and the jsonschema tags of its input", tool.Name, in, maxToolInputTokens)
		}
		if both > maxToolTokens {
			t.Errorf("%s: with its output schema it takes about %d tokens, at most %d: shorten its output", tool.Name, both, maxToolTokens)
		}
		t.Logf("%s: %d tokens, %d with its output schema", tool.Name, in, both)
		input, all = input+in, all+both
	}
	if input > maxInputTokens || all > maxListTokens {
		t.Errorf("%d tools take about %d tokens, with output schemas %d; at most %d and %d: shorten the longest, or do not offer the operation as a tool", len(list), input, all, maxInputTokens, maxListTokens)
	}
	tools := 0
	for _, o := range publicSet().All() {
		if o.Tool {
			tools++
		}
	}
	if len(list) != tools {
		t.Errorf("the list has %d tools, want the %d operations with Tool: true", len(list), tools)
	}
	t.Logf("%d tools, about %d tokens, %d with output schemas", len(list), input, all)
}
