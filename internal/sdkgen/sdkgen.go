// Package sdkgen generates the types and the tables of operations of the SDKs from the OpenAPI document.
//
// [Load] reads the document into an [API], which no language shapes. One emitter a language, such as [TypeScript], turns
// it into files, which internal/contracttest compares with those of the SDKs.
package sdkgen

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// An API is what an SDK offers.
type API struct {
	Operations []Operation       // in the order of the document
	Schemas    []member[*Schema] // the named types, sorted by name
}

// An Operation is one call.
type Operation struct {
	ID      string // such as search_domain
	Partner bool   // signed, below /api/partner/
	Method  string
	Path    string // with {names} of path parameters
	Summary string
	Doc     string // when to use it

	PathParams []Field
	Query      []Field
	Body       *Schema // of the request, nil: none
	Answer     *Schema

	Read  bool // changes nothing, so that it may be repeated
	Batch bool // may be part of a batch
	Keyed bool // takes an Idempotency-Key
	List  *List
}

// A Field is a parameter of a call.
type Field struct {
	Name     string
	Doc      string
	Required bool
	Schema   *Schema
}

// A List says how the pages of an answer follow one another.
type List struct {
	Items  string  // the field with the elements
	Item   *Schema // one element
	Cursor string  // the query parameter that takes the next cursor
	Next   string  // where the next cursor is: next_cursor, or page.next_cursor
}

// Load reads an OpenAPI document and the catalogue of batch operations.
func Load(openapi, catalogue []byte) (*API, error) {
	var d document
	if err := json.Unmarshal(openapi, &d); err != nil {
		return nil, fmt.Errorf("OpenAPI document: %w", err)
	}
	var batch struct {
		Catalogue struct {
			Operations []struct{ Op string }
		}
	}
	if err := json.Unmarshal(catalogue, &batch); err != nil {
		return nil, fmt.Errorf("batch catalogue: %w", err)
	}
	api := &API{Schemas: d.Components.Schemas}
	for _, path := range d.Paths {
		for _, method := range []string{"get", "post", "put", "patch", "delete"} {
			text, ok := path.Value[method]
			if !ok {
				continue
			}
			var e endpoint
			if err := json.Unmarshal(text, &e); err != nil {
				return nil, fmt.Errorf("%s %s: %w", method, path.Name, err)
			}
			o, err := api.operation(strings.ToUpper(method), path.Name, e)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", method, path.Name, err)
			}
			for _, known := range batch.Catalogue.Operations {
				o.Batch = o.Batch || known.Op == o.ID
			}
			api.Operations = append(api.Operations, o)
		}
	}
	return api, nil
}

func (api *API) operation(method, path string, e endpoint) (Operation, error) {
	o := Operation{
		ID: e.ID, Partner: strings.HasPrefix(path, "/api/partner/"), Method: method, Path: path, Summary: e.Summary, Doc: e.Description,
		Body: e.RequestBody.Content["application/json"].Schema, Read: method == "GET",
	}
	for _, p := range e.Parameters {
		f := Field{Name: p.Name, Doc: p.Description, Required: p.Required, Schema: p.Schema}
		switch {
		case p.In == "path":
			o.PathParams = append(o.PathParams, f)
		case p.In == "query":
			o.Query = append(o.Query, f)
		case p.In == "header" && p.Name == "Idempotency-Key":
			o.Keyed = true
		default:
			return o, fmt.Errorf("parameter %s in %s: not known to the SDKs", p.Name, p.In)
		}
	}
	for status, response := range e.Responses {
		if !strings.HasPrefix(status, "2") {
			continue
		}
		if _, streams := response.Content["text/event-stream"]; streams { // which the document says of reads by POST
			o.Read = true
		}
		if answer := response.Content["application/json"].Schema; answer != nil {
			o.Answer = answer
		}
	}
	if o.ID == "" || o.Answer == nil {
		return o, fmt.Errorf("no operationId, or no JSON answer")
	}
	o.List = api.list(o)
	return o, nil
}

// list reports how the answer of o is paged: it takes a cursor, and one field of the answer is a list.
func (api *API) list(o Operation) *List {
	l := &List{}
	for _, q := range o.Query {
		if q.Name == "cursor" || q.Name == "after_id" {
			l.Cursor = q.Name
		}
	}
	if l.Cursor == "" {
		return nil
	}
	for _, p := range api.Resolve(o.Answer).Properties {
		field := api.Resolve(p.Value)
		switch {
		case slices.Contains(field.Type, "array") && l.Items == "":
			l.Items, l.Item = p.Name, field.Items
		case p.Name == "next_cursor":
			l.Next = p.Name
		case field.Property("next_cursor") != nil:
			l.Next = p.Name + ".next_cursor"
		}
	}
	if l.Items == "" || l.Next == "" {
		return nil
	}
	return l
}

// Input is the fields that a caller of o gives beside its path parameters: those of the query and of the body.
func (api *API) Input(o Operation) []Field {
	fields := slices.Clone(o.Query)
	if o.Body == nil {
		return fields
	}
	body := api.Resolve(o.Body)
	for _, p := range body.Properties {
		fields = append(fields, Field{Name: p.Name, Doc: p.Value.Description, Required: slices.Contains(body.Required, p.Name), Schema: p.Value})
	}
	return fields
}

// Resolve follows a reference to a named type.
func (api *API) Resolve(s *Schema) *Schema {
	for s.Ref != "" {
		named := api.Named(s.Name())
		if named == nil {
			panic("no schema " + s.Ref)
		}
		s = named
	}
	return s
}

// Named returns the type of that name, nil if there is none.
func (api *API) Named(name string) *Schema {
	for _, s := range api.Schemas {
		if s.Name == name {
			return s.Value
		}
	}
	return nil
}

// Name is the name of the type that s refers to.
func (s *Schema) Name() string { return s.Ref[strings.LastIndexByte(s.Ref, '/')+1:] }

// Property returns a property of s, nil if there is none.
func (s *Schema) Property(name string) *Schema {
	for _, p := range s.Properties {
		if p.Name == name {
			return p.Value
		}
	}
	return nil
}

// Reach returns the names of the types that roots use, and what those use.
func (api *API) Reach(roots ...*Schema) map[string]bool {
	reached := map[string]bool{}
	var visit func(s *Schema)
	visit = func(s *Schema) {
		if s == nil {
			return
		}
		if s.Ref != "" {
			if !reached[s.Name()] {
				reached[s.Name()] = true
				visit(api.Resolve(s))
			}
			return
		}
		for _, p := range s.Properties {
			visit(p.Value)
		}
		visit(s.Items)
		visit(s.Additional.Schema)
		for _, of := range [][]*Schema{s.OneOf, s.AnyOf, s.AllOf} {
			for _, part := range of {
				visit(part)
			}
		}
	}
	for _, root := range roots {
		visit(root)
	}
	return reached
}

// Camel is a name of the wire as JavaScript writes it: search_domain is searchDomain.
func Camel(name string) string {
	words := strings.Split(name, "_")
	for i, w := range words {
		if i > 0 && w != "" {
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}

// wrap breaks text into lines of at most width bytes.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) > width:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
