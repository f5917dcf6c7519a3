package rest_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/serve/rest"
)

var update = flag.Bool("update", false, "write the golden files")

func openAPI(t *testing.T) []byte {
	t.Helper()
	spec, err := rest.OpenAPI(shop(), nil, base, "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// TestOpenAPIGolden holds the document of the shop. The document that the program serves is held where its set is.
// To lint one from outside: npx @redocly/cli@2.77 lint serve/rest/testdata/openapi.json
func TestOpenAPIGolden(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	if err := json.Indent(&got, openAPI(t), "", "  "); err != nil {
		t.Fatal(err)
	}
	got.WriteByte('\n')
	golden := filepath.Join("testdata", "openapi.json")
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("the document has changed; review the change with: go test ./serve/rest -run Golden -update && git diff serve/rest/testdata")
	}
}

func TestOpenAPIIsDeterministic(t *testing.T) {
	t.Parallel()
	first := openAPI(t)
	for range 5 {
		if !bytes.Equal(openAPI(t), first) {
			t.Fatal("two documents of the same set differ")
		}
	}
}

func TestOpenAPIValidates(t *testing.T) {
	t.Parallel()
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromData(openAPI(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context(), openapi3.EnableExamplesValidation()); err != nil {
		t.Error(err)
	}
}

// An object is any JSON object; dig walks into it.
type object = map[string]any

func dig(v any, path ...string) any {
	for _, key := range path {
		m, _ := v.(object)
		v = m[key]
	}
	return v
}

func TestOpenAPICoversTheSet(t *testing.T) {
	t.Parallel()
	var doc object
	if err := json.Unmarshal(openAPI(t), &doc); err != nil {
		t.Fatal(err)
	}
	if doc["openapi"] != "3.1.1" || dig(doc, "info", "version") != "1.0.0" {
		t.Errorf("openapi %v, version %v", doc["openapi"], dig(doc, "info", "version"))
	}
	for _, o := range shop().All() {
		described := dig(doc, "paths", o.Route.Path, strings.ToLower(o.Route.Method))
		if dig(described, "operationId") != o.Name || dig(described, "summary") != o.Title || dig(described, "description") != o.Doc {
			t.Errorf("%s: described as %v", o.Name, described)
		}
		if dig(described, "responses", fmt.Sprint(o.Route.Status)) == nil {
			t.Errorf("%s: no response %d", o.Name, o.Route.Status)
		}
	}
	for _, row := range fault.Codes() {
		if row.Status == 405 || row.Status == 410 || row.Status == 422 {
			continue // no operation of the shop answers with it
		}
		name := strings.ReplaceAll(http.StatusText(row.Status), " ", "")
		if text, _ := dig(doc, "components", "responses", name, "description").(string); !strings.Contains(text, "`"+string(row.Code)+"`") {
			t.Errorf("response %s does not name %s: %q", name, row.Code, text)
		}
	}
	if got := dig(doc, "paths", "/api/bulk/{op}", "post", "security"); fmt.Sprint(got) != "[map[oauth:[domains:write]]]" {
		t.Errorf("security of an operation with a scope: %v", got)
	}
	if got := dig(doc, "paths", "/api/coffee/search", "post", "security"); fmt.Sprint(got) != "[map[] map[oauth:[pricing:read]]]" {
		t.Errorf("security of an operation that shows more to some: %v", got)
	}
	if got := dig(doc, "components", "schemas", "BulkBeansRequest", "properties", "op"); got != nil {
		t.Errorf("a wildcard of the path is asked for in the body too: %v", got)
	}
}

func TestOpenAPISharesEqualShapes(t *testing.T) {
	t.Parallel()
	type inner struct {
		Value string `json:"value"`
	}
	type other struct {
		Value int `json:"value"`
	}
	type in struct{}
	type firstOut struct {
		Items []inner `json:"items" jsonschema:"some"`
		Item  inner   `json:"item" jsonschema:"one"`
	}
	type secondOut struct {
		Item    other            `json:"item"`
		Batches []inner          `json:"batches"`
		ByName  map[string]inner `json:"by_name"`
	}
	type thirdOut struct {
		Error other `json:"error"`
	}
	set := op.NewSet(time.Now, plainOp[in, firstOut]("first_op"), plainOp[in, secondOut]("second_op"), plainOp[in, thirdOut]("third_op"))
	spec, err := rest.OpenAPI(set, nil, base, "1")
	if err != nil {
		t.Fatal(err)
	}
	var doc object
	if err := json.Unmarshal(spec, &doc); err != nil {
		t.Fatal(err)
	}
	var names []string
	for name := range dig(doc, "components", "schemas").(object) {
		names = append(names, name)
	}
	slices.Sort(names)
	want := []string{"Error", "FirstOpAnswer", "Item", "Problem", "SecondOpAnswer", "SecondOpItem", "ThirdOpAnswer"}
	if !slices.Equal(names, want) {
		t.Errorf("components\n got %v\nwant %v", names, want)
	}
	one := dig(doc, "components", "schemas", "FirstOpAnswer", "properties", "item")
	if fmt.Sprint(one) != "map[$ref:#/components/schemas/Item description:one]" {
		t.Errorf("a use keeps what it is there: %v", one)
	}
}

func plainOp[In, Out any](name string) op.Operation[In, Out] {
	return op.Operation[In, Out]{
		Name: name, Title: name, Doc: name, Limit: op.Read, Route: op.Route{Method: "GET", Path: "/" + name},
		Do: nothing[In, Out],
	}
}

// TestAnswersFitTheDocument sends each operation's example and holds the answer against the schema that the document
// gives for it, and every error that can be provoked against the schema of errors.
func TestAnswersFitTheDocument(t *testing.T) {
	t.Parallel()
	h := newHandler(nil, io.Discard)
	var doc object
	if err := json.Unmarshal(openAPI(t), &doc); err != nil {
		t.Fatal(err)
	}
	for _, o := range shop().All() {
		q := request{line: o.Route.Method + " " + o.Route.Path, headers: []string{asJSON, owner}, body: string(o.Example)}
		switch o.Name {
		case "bean_price":
			q.line += "?bean=mocha"
		case "bulk_beans":
			q.line, q.body = "POST /api/bulk/roast", `{"beans":["mocha"]}`
		case "bean_notes", "add_note":
			q.line, q.body = strings.ReplaceAll(q.line, "{bean}", "mocha"), "{}"
		}
		w := q.send(h)
		if w.Code != o.Route.Status {
			t.Errorf("%s: %d %s", o.Name, w.Code, w.Body)
			continue
		}
		schema := dig(doc, "paths", o.Route.Path, strings.ToLower(o.Route.Method), "responses", fmt.Sprint(w.Code), "content", "application/json", "schema")
		holds(t, o.Name, doc, schema, w.Body.Bytes())
	}
	for accept, schema := range map[string]string{"application/json": "Error", "application/problem+json": "Problem"} {
		w := request{"POST /api/coffee/search", []string{asJSON, "Accept: " + accept}, `{"roast":1}`}.send(h)
		if got := w.Header().Get("Content-Type"); got != accept {
			t.Errorf("Content-Type: got %s, want %s", got, accept)
		}
		holds(t, schema, doc, object{"$ref": "#/components/schemas/" + schema}, w.Body.Bytes())
	}
}

// holds validates an instance against a schema of the document.
func holds(t *testing.T, name string, doc object, schema any, instance []byte) {
	t.Helper()
	raw, err := json.Marshal(object{"$defs": dig(doc, "components", "schemas"), "allOf": []any{schema}})
	if err != nil {
		t.Fatal(err)
	}
	raw = bytes.ReplaceAll(raw, []byte("#/components/schemas/"), []byte("#/$defs/"))
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var v any
	if err := json.Unmarshal(instance, &v); err != nil {
		t.Fatal(err)
	}
	if err := resolved.Validate(v); err != nil {
		t.Errorf("%s: %s does not fit: %v", name, instance, err)
	}
}

var elsewhere = regexp.MustCompile(`(?:src|href)="([^"]+)"`)

func TestPages(t *testing.T) {
	t.Parallel()
	h := newHandler(nil, io.Discard)
	for _, test := range []struct {
		path, mediaType string
		says            []string
	}{
		{"/", "text/html; charset=utf-8", []string{"Search for coffee", `curl &#39;https://beans.test/api/coffee/search&#39; --json &#39;{&#34;q&#34;:&#34;mocha&#34;}&#39;`, "about &lt;one&gt; bean &amp; its taste", base + "/mcp", "/docs"}},
		{"/style.css", "text/css; charset=utf-8", []string{"light-dark("}},
		{"/docs", "text/html; charset=utf-8", []string{"/docs/swagger-ui-bundle.js", "/docs/page.js"}},
		{"/docs/page.js", "text/javascript; charset=utf-8", []string{"/openapi.json"}},
		{"/docs/page.css", "text/css; charset=utf-8", nil},
		{"/docs/swagger-ui-bundle.js", "application/javascript", []string{"SwaggerUIBundle"}},
		{"/docs/swagger-ui.css", "text/css; charset=utf-8", []string{".swagger-ui"}},
		{"/icon.svg", "image/svg+xml", []string{"<svg"}},
		{"/openapi.json", "application/json", []string{`"openapi":"3.1.1"`}},
		{"/llms.txt", "text/plain; charset=utf-8", []string{
			"### search_coffee: Search for coffee", "Use it when someone is thirsty.", `curl 'https://beans.test/api/coffee/search' --json '{"q":"mocha"}'`,
			"curl 'https://beans.test/api/pricing/bean?bean=mocha&shots=2&with=milk%2Csugar'", "curl 'https://beans.test/api/beans/mocha/notes'",
			"about <one> bean & its taste", "429 rate_limited", base + "/mcp",
		}},
		{"/.well-known/api-catalog", `application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"`, []string{`"anchor":"https://beans.test/api"`, `"service-desc":[{"href":"https://beans.test/openapi.json"`}},
		{"/healthz", "application/json", []string{"ok"}},
		{"/readyz", "application/json", []string{"ok"}},
	} {
		w := request{"GET " + test.path, nil, ""}.send(h)
		if w.Code != 200 || w.Header().Get("Content-Type") != test.mediaType {
			t.Errorf("GET %s: %d %s", test.path, w.Code, w.Header().Get("Content-Type"))
			continue
		}
		for _, part := range test.says {
			if !strings.Contains(w.Body.String(), part) {
				t.Errorf("GET %s does not say %q:\n%.2000s", test.path, part, w.Body)
			}
		}
		if strings.HasPrefix(test.mediaType, "text/html") {
			policy := w.Header().Get("Content-Security-Policy")
			if !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") || strings.Contains(policy, "script-src 'self' 'unsafe") {
				t.Errorf("GET %s: policy %q", test.path, policy)
			}
			for _, link := range elsewhere.FindAllStringSubmatch(w.Body.String(), -1) {
				if !strings.HasPrefix(link[1], "/") && !strings.HasPrefix(link[1], base+"/") {
					t.Errorf("GET %s leads elsewhere: %s", test.path, link[1])
				}
			}
		}
		if head := (request{"HEAD " + test.path, nil, ""}).send(h); head.Code != 200 {
			t.Errorf("HEAD %s: %d", test.path, head.Code)
		}
	}
	for _, path := range []string{"/docs/index.html", "/docs/swagger-ui.js.map", "/docs/..%2fpages.go", "/style.css/"} {
		if w := (request{"GET " + path, nil, ""}).send(h); w.Code != 404 || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("GET %s: %d %s", path, w.Code, w.Header().Get("Content-Type"))
		}
	}
}
