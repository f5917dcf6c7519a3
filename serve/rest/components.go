package rest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/namewharf/namewharf/fault"
)

const schemaRef = "#/components/schemas/"

// shapes gives the object schemas of a document their names. Inferred schemas have their types inlined; here equal
// objects become one component, named after the field where it is met first. Requests and answers as a whole are
// named after their operation, and are its own even where another's look alike today.
type shapes struct {
	schemas map[string]*jsonschema.Schema
	names   map[string]string // by the encoded schema
}

func newShapes() *shapes {
	return &shapes{schemas: map[string]*jsonschema.Schema{}, names: map[string]string{}}
}

// name adds a whole request or answer and what is below it, and returns a reference to it. s stays unchanged.
func (x *shapes) name(name string, s *jsonschema.Schema) *jsonschema.Schema {
	s = s.CloneSchemas()
	for _, field := range order(s) {
		s.Properties[field] = x.place(pascal(field), name, s.Properties[field])
	}
	x.schemas[name] = s
	return &jsonschema.Schema{Ref: schemaRef + name}
}

// place replaces s by a reference if it is an object with fields. The description says what it is in this place, so
// it stays beside the reference.
func (x *shapes) place(name, parent string, s *jsonschema.Schema) *jsonschema.Schema {
	switch {
	case s.Type == "array" && s.Items != nil:
		s.Items = x.place(singular(name), parent, s.Items)
		return s
	case s.Type != "object" || len(s.Properties) == 0:
		return s
	}
	description := s.Description
	s.Description = ""
	for _, field := range order(s) {
		s.Properties[field] = x.place(pascal(field), name, s.Properties[field])
	}
	encoded, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("rest: schema of %s: %v", name, err)) // it was inferred from a type
	}
	known, ok := x.names[string(encoded)]
	if !ok {
		known = x.free(name, parent)
		x.names[string(encoded)] = known
		x.schemas[known] = s
	}
	return &jsonschema.Schema{Ref: schemaRef + known, Description: description}
}

// free finds a name that another shape has not taken.
func (x *shapes) free(name, parent string) string {
	candidates := []string{name, strings.TrimSuffix(strings.TrimSuffix(parent, "Answer"), "Request") + name}
	for i := 2; ; i++ {
		for _, candidate := range candidates {
			_, taken := x.schemas[candidate]
			reserved := candidate == "Error" || candidate == "Problem" || strings.HasSuffix(candidate, "Answer") || strings.HasSuffix(candidate, "Request")
			if !taken && !reserved {
				return candidate
			}
		}
		candidates = []string{fmt.Sprintf("%s%d", name, i)}
	}
}

// order lists the fields of an object as its type has them.
func order(s *jsonschema.Schema) []string {
	if len(s.PropertyOrder) == len(s.Properties) {
		return s.PropertyOrder
	}
	return slices.Sorted(maps.Keys(s.Properties))
}

// without is a schema that lacks some fields.
func without(s *jsonschema.Schema, fields []string) *jsonschema.Schema {
	if len(fields) == 0 {
		return s
	}
	s = s.CloneSchemas()
	gone := func(name string) bool { return slices.Contains(fields, name) }
	for _, name := range fields {
		delete(s.Properties, name)
	}
	s.Required = slices.DeleteFunc(slices.Clone(s.Required), gone)
	s.PropertyOrder = slices.DeleteFunc(slices.Clone(s.PropertyOrder), gone)
	return s
}

// tolerant is the schema of an answer as a client should hold it: fields may be added later, so unknown ones are
// not an error.
func tolerant(s *jsonschema.Schema) *jsonschema.Schema {
	s = s.CloneSchemas()
	open(s)
	return s
}

func open(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Not != nil {
		s.AdditionalProperties = nil
	}
	open(s.AdditionalProperties)
	open(s.Items)
	for _, p := range s.Properties {
		open(p)
	}
}

// pascal writes a snake_case name as OpenAPI generators like to see type names.
func pascal(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(name, "_") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}

func singular(name string) string {
	if s, ok := strings.CutSuffix(name, "ies"); ok {
		return s + "y"
	}
	if strings.HasSuffix(name, "ss") || strings.HasSuffix(name, "us") {
		return name
	}
	return strings.TrimSuffix(name, "s")
}

func errorSchema() *jsonschema.Schema {
	fields := problemFields()
	return &jsonschema.Schema{
		Type: "object", Description: "What every failed request is answered with.", Required: []string{"error"},
		Properties: map[string]*jsonschema.Schema{"error": {
			Type: "object", Required: []string{"code", "message", "request_id"},
			PropertyOrder: []string{"code", "message", "request_id", "details"},
			Properties: map[string]*jsonschema.Schema{
				"code": fields["code"], "request_id": fields["request_id"], "details": fields["details"],
				"message": {Type: "string", Description: "what went wrong and what to do next"},
			},
		}},
	}
}

func problemSchema() *jsonschema.Schema {
	fields := problemFields()
	fields["type"] = &jsonschema.Schema{Type: "string", Format: "uri-reference"}
	fields["title"] = &jsonschema.Schema{Type: "string", Description: "the kind of failure, the same for every occurrence"}
	fields["status"] = &jsonschema.Schema{Type: "integer"}
	fields["detail"] = &jsonschema.Schema{Type: "string", Description: "what went wrong and what to do next"}
	return &jsonschema.Schema{
		Type: "object", Description: "The same as RFC 9457 has it, for clients that ask for application/problem+json.",
		Required:      []string{"type", "title", "status", "detail", "code", "request_id"},
		PropertyOrder: []string{"type", "title", "status", "detail", "code", "request_id", "details"},
		Properties:    fields,
	}
}

func problemFields() map[string]*jsonschema.Schema {
	var codes []any
	for _, row := range fault.Codes() {
		codes = append(codes, string(row.Code))
	}
	return map[string]*jsonschema.Schema{
		"code":       {Type: "string", Enum: codes},
		"request_id": {Type: "string"},
		"details": {Type: "array", Items: &jsonschema.Schema{
			Type: "object", Required: []string{"field", "reason"}, PropertyOrder: []string{"field", "reason"},
			Properties: map[string]*jsonschema.Schema{
				"field":  {Type: "string", Description: "the field at fault, with a dotted path and indexes in brackets"},
				"reason": {Type: "string", Description: "what is wrong with it, or the value expected"},
			},
		}},
	}
}
