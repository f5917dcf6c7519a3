package partner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/namewharf/namewharf/partner/signature"
)

// A document is the OpenAPI document of a test server.
type document struct {
	parsed  *openapi3.T
	raw     map[string]any
	schemas map[string]*jsonschema.Resolved // by what they are made from
}

func readDocument(t *testing.T, s *testServer) document {
	t.Helper()
	response, err := http.Get(s.http.URL + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	d := document{schemas: map[string]*jsonschema.Resolved{}}
	if d.parsed, err = openapi3.NewLoader().LoadFromData(text); err != nil {
		t.Fatal(err)
	}
	if err := d.parsed.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &d.raw); err != nil {
		t.Fatal(err)
	}
	return d
}

// dig goes down the document by names.
func dig(v any, path ...string) any {
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// response finds what the document says of an answer.
func (d document) response(path, method string, status int) any {
	r := dig(d.raw, "paths", path, strings.ToLower(method), "responses", strconv.Itoa(status))
	if ref, ok := dig(r, "$ref").(string); ok {
		return dig(d.raw, "components", "responses", ref[strings.LastIndexByte(ref, '/')+1:])
	}
	return r
}

// holds validates an instance against a schema of the document, with nothing in it that the schema does not name.
func (d document) holds(t *testing.T, name string, schema any, instance string) {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(instance), &v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if err := d.resolve(t, schema).Validate(v); err != nil {
		t.Errorf("%s: %s does not fit: %v", name, instance, err)
	}
}

// resolve makes a schema of the document ready for validation.
func (d document) resolve(t *testing.T, schema any) *jsonschema.Resolved {
	t.Helper()
	key := fmt.Sprint(schema)
	if known := d.schemas[key]; known != nil {
		return known
	}
	raw, err := json.Marshal(map[string]any{"$defs": dig(d.raw, "components", "schemas"), "allOf": []any{schema}})
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(bytes.ReplaceAll(raw, []byte("#/components/schemas/"), []byte("#/$defs/")), &s); err != nil {
		t.Fatal(err)
	}
	for _, component := range s.Defs {
		if component.Type == "object" {
			component.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
		}
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	d.schemas[key] = resolved
	return resolved
}

// Every operation answers as the document says: a good request, one that is not signed, and one that is wrong.
func TestAnswersFitTheDocument(t *testing.T) {
	t.Parallel()
	s := openSQLite(t, limited)
	d := readDocument(t, s)
	order := s.ok(s.order(orderBody), 201).text("public_id")
	s.ok(s.put(webhooks, `{"url":"https://partner.example/events","secret":"0123456789abcdef"}`), 200)
	event := s.ok(s.post(webhooks+"/test", ""), 200).text("event_id")
	calls := s.calls(order, "dlv_"+strings.TrimPrefix(event, "evt_"))
	rest := calls["partner_delete_webhook"]
	delete(calls, "partner_delete_webhook")
	check := func(name, path string, r request) {
		t.Helper()
		got := s.send(s.fresh(r))
		said := d.response(path, r.method, got.status)
		schema := dig(said, "content", "application/json", "schema")
		if schema == nil {
			t.Errorf("%s: the document knows no answer with %d %s", name, got.status, got.body)
			return
		}
		d.holds(t, name, schema, got.body)
		headers, _ := dig(said, "headers").(map[string]any)
		for header := range headers {
			optional := header == "Idempotency-Replayed" || header == "WWW-Authenticate" || header == "Retry-After"
			if got.header.Get(header) == "" && !optional {
				t.Errorf("%s: %d without %s", name, got.status, header)
			}
		}
	}
	for _, o := range s.api.Set().All() {
		r, ok := calls[o.Name]
		if !ok {
			continue
		}
		s.clock.advance(1e10)
		check(o.Name, o.Route.Path, r)
		check(o.Name+", unsigned", o.Route.Path, r.with(signature.HeaderSignature, "v1=00"))
		wrong := r
		wrong.query = "nothing=1"
		if r.query == "" && o.Route.Method != "GET" && r.body != "" {
			wrong.query, wrong.body = "", `{"nothing":1}`
		}
		check(o.Name+", wrong", o.Route.Path, wrong)
		operation := d.parsed.Paths.Value(o.Route.Path).GetOperation(o.Route.Method)
		if operation == nil || operation.OperationID != o.Name || len(*operation.Security) != 1 || len((*operation.Security)[0]) != 4 {
			t.Errorf("%s is not described as signed", o.Name)
		}
	}
	check("partner_delete_webhook", webhooks, rest)
}
