package sdkgen

import (
	"fmt"
	"slices"
	"strings"
)

// method is the name of the method of a partner operation.
func (e *tsEmitter) method(o Operation) string { return Camel(strings.TrimPrefix(o.ID, "partner_")) }

// partner is a class with a method for each partner operation.
func (e *tsEmitter) partner() string {
	var methods strings.Builder
	used := map[string]bool{}
	use := func(s string) {
		for name := range strings.FieldsFuncSeq(s, func(r rune) bool { return strings.ContainsRune(" |&[]()<>{}:;,", r) }) {
			used[name] = true
		}
	}
	for _, o := range e.api.Operations {
		if o.Partner {
			e.partnerMethod(&methods, o, use)
		}
	}
	var imports []string
	for _, s := range e.api.Schemas {
		if name := tsName(s.Name); used[name] {
			imports = append(imports, name)
		}
	}
	for _, o := range e.api.Operations {
		if used[e.input(o)] {
			imports = append(imports, e.input(o))
		}
	}
	slices.Sort(imports)
	return tsHeader + "import type { CallOptions, Input, Operation } from '../operation.js'\n" +
		"import type { Paged } from '../paging.js'\n" +
		"import * as operations from './operations.js'\n" +
		"import type {\n  " + strings.Join(imports, ",\n  ") + ",\n} from './types.js'\n\n" +
		"/** The partner operations; {@link Partner} sends and signs them. */\n" +
		"export abstract class PartnerOperations {\n" +
		"  /** Sends an operation. */\n" +
		"  protected abstract send<T>(operation: Operation, path: string[], input?: Input, options?: CallOptions): Promise<T>\n\n" +
		"  /** Pages through the answers of an operation. */\n" +
		"  protected abstract pages<T, Answer>(operation: Operation, path: string[], input?: Input, options?: CallOptions): Paged<T, Answer>\n" +
		methods.String() + "}\n"
}

func (e *tsEmitter) partnerMethod(out *strings.Builder, o Operation, use func(string)) {
	doc := o.Summary + ". " + o.Doc
	var arguments, values []string
	for _, p := range o.PathParams {
		arguments = append(arguments, Camel(p.Name)+": "+e.of(p.Schema, true))
		values = append(values, Camel(p.Name))
	}
	given := ", [" + strings.Join(values, ", ") + "]"
	if fields := e.api.Input(o); len(fields) > 0 {
		input := e.input(o)
		sole, optional := e.sole(fields)
		if sole != "" {
			doc += " A string in place of the input is its `" + Camel(sole) + "`."
			input += " | string"
		}
		name := "input"
		if optional {
			name += "?"
		}
		arguments = append(arguments, name+": "+input)
		given += ", input"
		use(input)
	} else {
		given += ", {}"
	}
	arguments = append(arguments, "options?: CallOptions")
	answer := e.of(o.Answer, false)
	use(answer)

	write := func(name, doc, result, call string) {
		out.WriteString("\n")
		tsDoc(out, "  ", doc)
		fmt.Fprintf(out, "  %s(%s): %s {\n    return %s\n  }\n", name, strings.Join(arguments, ", "), result, call)
	}
	call := "(operations." + Camel(o.ID) + given + ", options)"
	if o.List == nil {
		write(e.method(o), doc, "Promise<"+answer+">", "this.send"+call)
		return
	}
	item := e.of(o.List.Item, false)
	use(item)
	result := "Paged<" + item + ", " + answer + ">"
	write(e.method(o), doc+" Await it for one page, or loop over all with `for await`.", result, "this.pages"+call)
	if short, ok := strings.CutPrefix(o.ID, "partner_list_"); ok {
		var passed []string
		for _, a := range arguments {
			name, _, _ := strings.Cut(a, ":")
			passed = append(passed, strings.TrimSuffix(name, "?"))
		}
		write(Camel(short), "The same as {@link PartnerOperations."+e.method(o)+"}: every one of them with `for await`.", result, "this."+e.method(o)+"("+strings.Join(passed, ", ")+")")
	}
}

// sole is the field that a string in place of the input stands for: the only one that is required, if it is a text.
// optional: nothing is required.
func (e *tsEmitter) sole(fields []Field) (name string, optional bool) {
	required := 0
	for _, f := range fields {
		if f.Required {
			required++
			if slices.Equal(e.api.Resolve(f.Schema).Type, oneOrMore{"string"}) {
				name = f.Name
			}
		}
	}
	if required != 1 {
		name = ""
	}
	return name, required == 0
}
