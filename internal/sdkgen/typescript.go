package sdkgen

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// TypeScript returns the generated files of the JavaScript SDK by their names: the types, the table of operations, and the
// methods of the partner client.
func TypeScript(api *API) map[string]string {
	e := &tsEmitter{api: api}
	return map[string]string{"types.ts": e.types(), "operations.ts": e.operations(), "partner.ts": e.partner()}
}

const tsHeader = "// Generated from docs/openapi.json by internal/sdkgen. Do not edit: run make golden.\n"

// tsTaken are names of types that mean something else in TypeScript or in the SDK.
var tsTaken = map[string]string{
	"Error": "ErrorBody", "Event": "PartnerEvent", "Map": "MapObject", "Set": "SetObject", "Date": "DateObject", "Record": "RecordObject",
	"Response": "ResponseObject", "Request": "RequestObject", "Promise": "PromiseObject", "Partner": "PartnerObject", "Object": "ObjectBody", "Array": "ArrayBody",
	"Page": "PageInfo", "Paged": "PagedObject", "Session": "SessionObject", // of the SDK
}

type tsEmitter struct{ api *API }

func tsName(schema string) string {
	if other, taken := tsTaken[schema]; taken {
		return other
	}
	return schema
}

// types declares the answers, with the names of the wire, and the inputs, with camelCase names.
func (e *tsEmitter) types() string {
	var out strings.Builder
	out.WriteString(tsHeader + "\n// Answers: fields are as on the wire.\n")
	answers, bodies := e.reached()
	for _, s := range e.api.Schemas {
		if answers[s.Name] {
			e.declare(&out, tsName(s.Name), s.Value, false)
		}
	}
	out.WriteString("\n// Inputs: names are camelCase.\n")
	for _, s := range e.api.Schemas {
		if bodies[s.Name] && (!answers[s.Name] || e.changes(s.Value)) {
			e.declare(&out, e.inputName(s.Name), s.Value, true)
		}
	}
	for _, o := range e.api.Operations {
		if fields := e.api.Input(o); len(fields) > 0 {
			fmt.Fprintf(&out, "\n/** Input of `%s`. */\nexport interface %s {\n", e.link(o), e.input(o))
			for _, f := range fields {
				e.field(&out, f, true)
			}
			out.WriteString("}\n")
		}
	}
	return out.String()
}

// reached returns the types that answers use, and those that inputs use.
func (e *tsEmitter) reached() (answers, bodies map[string]bool) {
	var inAnswers, inBodies []*Schema
	for _, o := range e.api.Operations {
		inAnswers = append(inAnswers, o.Answer)
		for _, f := range e.api.Input(o) {
			inBodies = append(inBodies, f.Schema)
		}
	}
	return e.api.Reach(inAnswers...), e.api.Reach(inBodies...)
}

// link is what documents an operation: its method, or the table of operations.
func (e *tsEmitter) link(o Operation) string {
	if o.Partner {
		return "Partner." + e.method(o)
	}
	return o.ID
}

func (e *tsEmitter) input(o Operation) string {
	name := Camel(o.ID)
	return strings.ToUpper(name[:1]) + name[1:] + "Input"
}

// inputName is the name of a type inside an input. A type that answers use too has another name where its fields have
// other names.
func (e *tsEmitter) inputName(name string) string {
	answers, _ := e.reached()
	if answers[name] && e.changes(e.api.Named(name)) {
		return tsName(name) + "Input"
	}
	return tsName(name)
}

// changes reports whether a field of s, or of a nested object, has another name in JavaScript.
func (e *tsEmitter) changes(s *Schema) bool {
	if s == nil {
		return false
	}
	s = e.api.Resolve(s)
	for _, p := range s.Properties {
		if Camel(p.Name) != p.Name || e.changes(p.Value) {
			return true
		}
	}
	return e.changes(s.Items)
}

func (e *tsEmitter) declare(out *strings.Builder, name string, s *Schema, camel bool) {
	out.WriteString("\n")
	tsDoc(out, "", s.Description)
	if len(s.Properties) == 0 {
		fmt.Fprintf(out, "export type %s = %s\n", name, e.of(s, camel))
		return
	}
	fmt.Fprintf(out, "export interface %s {\n", name)
	for _, p := range s.Properties {
		e.field(out, Field{Name: p.Name, Doc: p.Value.Description, Required: slices.Contains(s.Required, p.Name), Schema: p.Value}, camel)
	}
	out.WriteString("}\n")
}

func (e *tsEmitter) field(out *strings.Builder, f Field, camel bool) {
	name, optional := f.Name, "?"
	if camel {
		name = Camel(name)
	}
	if f.Required {
		optional = ""
	}
	tsDoc(out, "  ", f.Doc)
	fmt.Fprintf(out, "  %s%s: %s\n", tsKey(name), optional, e.of(f.Schema, camel))
}

// of is the type of a value.
func (e *tsEmitter) of(s *Schema, camel bool) string {
	switch {
	case s.Ref != "" && camel:
		return e.inputName(s.Name())
	case s.Ref != "":
		return tsName(s.Name())
	case s.Const != nil:
		return tsLiteral(s.Const)
	case len(s.Enum) > 0:
		var values []string
		for _, v := range s.Enum {
			values = append(values, tsLiteral(v))
		}
		return strings.Join(values, " | ")
	case len(s.OneOf) > 0:
		return e.joined(s.OneOf, " | ", camel)
	case len(s.AnyOf) > 0:
		return e.joined(s.AnyOf, " | ", camel)
	case len(s.AllOf) > 0:
		return e.joined(s.AllOf, " & ", camel)
	case len(s.Type) == 0:
		return "unknown"
	}
	var types []string
	for _, t := range s.Type {
		types = append(types, e.plain(t, s, camel))
	}
	return strings.Join(types, " | ")
}

func (e *tsEmitter) joined(parts []*Schema, by string, camel bool) string {
	var types []string
	for _, p := range parts {
		types = append(types, e.of(p, camel))
	}
	return strings.Join(types, by)
}

// plain is the TypeScript of one JSON type.
func (e *tsEmitter) plain(t string, s *Schema, camel bool) string {
	switch t {
	case "integer", "number":
		return "number"
	case "array":
		element := "unknown"
		if s.Items != nil {
			element = e.of(s.Items, camel)
		}
		if strings.Contains(element, " ") {
			element = "(" + element + ")"
		}
		return element + "[]"
	case "object":
		if len(s.Properties) > 0 {
			var out strings.Builder
			for _, p := range s.Properties {
				e.field(&out, Field{Name: p.Name, Required: slices.Contains(s.Required, p.Name), Schema: p.Value}, camel)
			}
			return "{ " + strings.ReplaceAll(strings.TrimSpace(out.String()), "\n  ", "; ") + " }"
		}
		if s.Additional.Schema != nil {
			return "Record<string, " + e.of(s.Additional.Schema, camel) + ">"
		}
		return "Record<string, unknown>"
	default: // string, boolean, null
		return t
	}
}

// operations is the table that calls go by. Each operation is a constant of its own, so that a bundler drops those that a
// program does not use.
func (e *tsEmitter) operations() string {
	var out strings.Builder
	out.WriteString(tsHeader + "import type { Operation } from '../operation.js'\n")
	var public, batch []string
	for _, o := range e.api.Operations {
		out.WriteString("\n")
		tsDoc(&out, "", o.Summary+".")
		fmt.Fprintf(&out, "export const %s: Operation = %s\n", Camel(o.ID), e.descriptor(o))
		if !o.Partner {
			public = append(public, tsLiteral(o.ID))
		}
		if o.Batch {
			batch = append(batch, tsLiteral(o.ID))
		}
	}
	fmt.Fprintf(&out, "\n/** An operation of the public API. */\nexport type PublicOperation =\n  | %s\n", strings.Join(public, "\n  | "))
	fmt.Fprintf(&out, "\n/** An operation that a batch may contain. */\nexport type BatchOperation =\n  | %s\n", strings.Join(batch, "\n  | "))
	return out.String()
}

func (e *tsEmitter) descriptor(o Operation) string {
	parts := []string{"id: " + tsLiteral(o.ID), "method: " + tsLiteral(o.Method), "path: " + tsLiteral(o.Path)}
	add := func(key string, values ...string) {
		for i, v := range values {
			values[i] = tsLiteral(v)
		}
		if len(values) > 0 {
			parts = append(parts, key+": ["+strings.Join(values, ", ")+"]")
		}
	}
	flag := func(key string, set bool) {
		if set {
			parts = append(parts, key+": true")
		}
	}
	flag("read", o.Read)
	flag("batch", o.Batch)
	flag("keyed", o.Keyed)
	flag("body", o.Body != nil)
	var query, required, nested, exact []string
	for _, f := range e.api.Input(o) {
		if f.Required {
			required = append(required, f.Name)
		}
		if e.changes(f.Schema) {
			nested = append(nested, f.Name)
		}
		if strings.IndexFunc(f.Name, unicode.IsUpper) >= 0 {
			exact = append(exact, f.Name)
		}
	}
	if o.Body != nil {
		for _, f := range o.Query {
			query = append(query, f.Name)
		}
	}
	add("required", required...)
	add("nested", nested...)
	add("exact", exact...)
	add("query", query...)
	if l := o.List; l != nil {
		parts = append(parts, fmt.Sprintf("list: { items: '%s', cursor: '%s', next: '%s' }", l.Items, l.Cursor, l.Next))
	}
	return "{\n  " + strings.Join(parts, ",\n  ") + ",\n}"
}

// tsKey quotes a name that is no identifier.
func tsKey(name string) string {
	for i, r := range name {
		if r != '_' && r != '$' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return tsLiteral(name)
		}
	}
	return name
}

func tsLiteral(value any) string {
	text, isText := value.(string)
	if !isText {
		encoded, _ := json.Marshal(value)
		return string(encoded)
	}
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`).Replace(text) + "'"
}

// tsDoc writes a doc comment.
func tsDoc(out *strings.Builder, indent, text string) {
	text = strings.ReplaceAll(text, "*/", "* /")
	lines := wrap(text, 110)
	switch len(lines) {
	case 0:
	case 1:
		fmt.Fprintf(out, "%s/** %s */\n", indent, lines[0])
	default:
		fmt.Fprintf(out, "%s/**\n", indent)
		for _, line := range lines {
			fmt.Fprintf(out, "%s * %s\n", indent, line)
		}
		fmt.Fprintf(out, "%s */\n", indent)
	}
}
