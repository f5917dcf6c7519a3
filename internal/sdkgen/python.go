package sdkgen

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Python returns the generated files of the Python SDK by their names below sdk/python/src/namewharf: the types, the table
// of operations, and the methods of the partner clients.
func Python(api *API) map[string]string {
	e := &pyEmitter{api: api}
	return map[string]string{
		"types.py": e.types(), "_generated/operations.py": e.operations(),
		"_generated/partner.py": e.partner(false), "_generated/async_partner.py": e.partner(true), "_generated/__init__.py": "",
	}
}

const pyHeader = "# Generated from docs/openapi.json by internal/sdkgen. Do not edit: run make golden.\n"

// pyTaken are names of types that mean something else in Python.
var pyTaken = map[string]string{
	"Any": "AnyObject", "Dict": "DictObject", "List": "ListObject", "Literal": "LiteralObject", "Optional": "OptionalObject", "TypedDict": "TypedDictObject",
	"Union": "UnionObject", "None": "NoneObject", "True": "TrueObject", "False": "FalseObject",
}

// pyKeywords cannot be names of parameters.
var pyKeywords = strings.Fields("False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return self try while with yield")

type pyEmitter struct{ api *API }

func pyName(schema string) string {
	if other, taken := pyTaken[schema]; taken {
		return other
	}
	return tsName(schema)
}

// Snake is a name of the wire as a parameter in Python: priceCents is price_cents, and from is from_.
func Snake(name string) string {
	var out strings.Builder
	for _, r := range name {
		switch {
		case unicode.IsUpper(r):
			out.WriteString("_" + string(unicode.ToLower(r)))
		case r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			out.WriteRune(r)
		default:
			out.WriteByte('_')
		}
	}
	if slices.Contains(pyKeywords, out.String()) {
		out.WriteByte('_')
	}
	return out.String()
}

// types declares the answers and the objects inside inputs, with the names of the wire.
func (e *pyEmitter) types() string {
	var roots []*Schema
	for _, o := range e.api.Operations {
		roots = append(roots, o.Answer)
		for _, f := range e.api.Input(o) {
			roots = append(roots, f.Schema)
		}
	}
	reached := e.api.Reach(roots...)
	var out strings.Builder
	out.WriteString(pyHeader + "\"\"\"The types of answers, which are plain dictionaries, and of the objects inside inputs. Fields are as on the wire.\"\"\"\n\n" +
		"from __future__ import annotations\n\nfrom typing import Any, Dict, List, Literal, TypedDict, Union\n")
	var names, aliases []string
	for _, s := range e.api.Schemas {
		if !reached[s.Name] {
			continue
		}
		names = append(names, pyName(s.Name))
		if len(s.Value.Properties) == 0 {
			aliases = append(aliases, fmt.Sprintf("%s = %s\n", pyName(s.Name), e.of(s.Value)))
			continue
		}
		e.declare(&out, pyName(s.Name), s.Value)
	}
	if len(aliases) > 0 {
		out.WriteString("\n\n" + strings.Join(aliases, ""))
	}
	slices.Sort(names)
	out.WriteString("\n\n__all__ = [\n")
	for _, name := range names {
		fmt.Fprintf(&out, "    %s,\n", pyLiteral(name))
	}
	out.WriteString("]\n")
	return out.String()
}

// declare writes a TypedDict. One of which some fields may be absent inherits the others: NotRequired is younger than Python 3.9.
// Fields whose names are no identifiers are declared by a call, and inherited too.
func (e *pyEmitter) declare(out *strings.Builder, name string, s *Schema) {
	var required, optional []member[*Schema]
	var oddRequired, oddOptional []string
	for _, p := range s.Properties {
		needed := slices.Contains(s.Required, p.Name)
		odd := fmt.Sprintf("%s: %s", pyLiteral(p.Name), pyLiteral(e.of(p.Value)))
		switch {
		case pyIdentifier(p.Name) && needed:
			required = append(required, p)
		case pyIdentifier(p.Name):
			optional = append(optional, p)
		case needed:
			oddRequired = append(oddRequired, odd)
		default:
			oddOptional = append(oddOptional, odd)
		}
	}
	var bases []string
	for _, other := range []struct {
		name, total string
		fields      []string
	}{{"_" + name + "OtherRequired", "", oddRequired}, {"_" + name + "Other", ", total=False", oddOptional}} {
		if len(other.fields) > 0 {
			fmt.Fprintf(out, "\n\n%s = TypedDict(%s, {%s}%s)\n", other.name, pyLiteral(other.name), strings.Join(other.fields, ", "), other.total)
			bases = append(bases, other.name)
		}
	}
	if len(required) > 0 && len(optional) > 0 {
		e.class(out, "_"+name+"Required", bases, "", required, "")
		bases, required = []string{"_" + name + "Required"}, nil
	}
	if len(optional) > 0 {
		e.class(out, name, bases, ", total=False", optional, s.Description)
		return
	}
	e.class(out, name, bases, "", required, s.Description)
}

func (e *pyEmitter) class(out *strings.Builder, name string, bases []string, total string, fields []member[*Schema], doc string) {
	if len(bases) == 0 {
		bases = []string{"TypedDict"}
	}
	fmt.Fprintf(out, "\n\nclass %s(%s%s):\n", name, strings.Join(bases, ", "), total)
	pyDoc(out, "    ", doc)
	if doc != "" && len(fields) > 0 {
		out.WriteString("\n")
	}
	for _, p := range fields {
		for _, line := range wrap(p.Value.Description, 110) {
			fmt.Fprintf(out, "    #: %s\n", line)
		}
		fmt.Fprintf(out, "    %s: %s\n", p.Name, e.of(p.Value))
	}
	if doc == "" && len(fields) == 0 {
		out.WriteString("    pass\n")
	}
}

// of is the type of a value.
func (e *pyEmitter) of(s *Schema) string {
	switch {
	case s.Ref != "":
		return pyName(s.Name())
	case s.Const != nil:
		return "Literal[" + pyLiteral(s.Const) + "]"
	case len(s.Enum) > 0:
		var values []string
		for _, v := range s.Enum {
			values = append(values, pyLiteral(v))
		}
		return "Literal[" + strings.Join(values, ", ") + "]"
	case len(s.OneOf) > 0:
		return e.union(s.OneOf)
	case len(s.AnyOf) > 0:
		return e.union(s.AnyOf)
	case len(s.AllOf) > 0:
		return "Dict[str, Any]"
	}
	var types []string
	for _, t := range s.Type {
		types = append(types, e.plain(t, s))
	}
	return pyUnion(types)
}

func (e *pyEmitter) union(parts []*Schema) string {
	var types []string
	for _, p := range parts {
		types = append(types, e.of(p))
	}
	return pyUnion(types)
}

func pyUnion(types []string) string {
	switch len(types) {
	case 0:
		return "Any"
	case 1:
		return types[0]
	}
	return "Union[" + strings.Join(types, ", ") + "]"
}

// plain is the Python of one JSON type.
func (e *pyEmitter) plain(t string, s *Schema) string {
	switch t {
	case "string":
		return "str"
	case "integer":
		return "int"
	case "number":
		return "float"
	case "boolean":
		return "bool"
	case "null":
		return "None"
	case "array":
		if s.Items == nil {
			return "List[Any]"
		}
		return "List[" + e.of(s.Items) + "]"
	default: // object
		if s.Additional.Schema != nil {
			return "Dict[str, " + e.of(s.Additional.Schema) + "]"
		}
		return "Dict[str, Any]"
	}
}

// operations is the table that calls go by.
func (e *pyEmitter) operations() string {
	var out strings.Builder
	out.WriteString(pyHeader + "from .._operation import Listed, Operation\n")
	for _, o := range e.api.Operations {
		fmt.Fprintf(&out, "\n# %s.\n%s = Operation(\n", o.Summary, o.ID)
		line := func(format string, values ...any) { fmt.Fprintf(&out, "    "+format+",\n", values...) }
		line("%s, %s, %s", pyLiteral(o.ID), pyLiteral(o.Method), pyLiteral(o.Path))
		for _, flag := range []struct {
			name string
			set  bool
		}{{"read", o.Read}, {"batch", o.Batch}, {"keyed", o.Keyed}, {"body", o.Body != nil}} {
			if flag.set {
				line("%s=True", flag.name)
			}
		}
		var required, query []string
		for _, f := range e.api.Input(o) {
			if f.Required {
				required = append(required, pyLiteral(f.Name))
			}
		}
		if o.Body != nil {
			for _, f := range o.Query {
				query = append(query, pyLiteral(f.Name))
			}
		}
		if len(required) > 0 {
			line("required=(%s,)", strings.Join(required, ", "))
		}
		if len(query) > 0 {
			line("query=(%s,)", strings.Join(query, ", "))
		}
		if l := o.List; l != nil {
			line("listed=Listed(%s, %s, %s)", pyLiteral(l.Items), pyLiteral(l.Cursor), pyLiteral(l.Next))
		}
		out.WriteString(")\n")
	}
	return out.String()
}

// pyIdentifier reports whether a name can be that of a field in a class.
func pyIdentifier(name string) bool {
	for i, r := range name {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return false
		}
	}
	return name != "" && !slices.Contains(pyKeywords, name)
}

// pyLiteral is a JSON value as Python writes it.
func pyLiteral(value any) string {
	switch v := value.(type) {
	case string:
		encoded, _ := json.Marshal(v) // its escapes are those of Python
		return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(encoded))
	case bool:
		return map[bool]string{true: "True", false: "False"}[v]
	case nil:
		return "None"
	default:
		encoded, _ := json.Marshal(v)
		return string(encoded)
	}
}

// pyDoc writes a doc string.
func pyDoc(out *strings.Builder, indent, text string) {
	text = strings.NewReplacer(`\`, `\\`, `"""`, `\"\"\"`).Replace(text)
	if strings.HasSuffix(text, `"`) {
		text += " "
	}
	lines := wrap(text, 110)
	switch len(lines) {
	case 0:
	case 1:
		fmt.Fprintf(out, "%s\"\"\"%s\"\"\"\n", indent, lines[0])
	default:
		fmt.Fprintf(out, "%s\"\"\"%s\n%s\"\"\"\n", indent, strings.Join(lines, "\n"+indent), indent)
	}
}
