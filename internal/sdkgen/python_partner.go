package sdkgen

import (
	"fmt"
	"strings"
)

// partner is a class with a method for each partner operation: blocking ones, or coroutines.
func (e *pyEmitter) partner(async bool) string {
	class, client, def, await, pages, loop := "PartnerOperations", "Partner", "def", "", "Pages", "`for`"
	if async {
		class, client, def, await, pages, loop = "AsyncPartnerOperations", "AsyncPartner", "async def", "await ", "AsyncPages", "`async for`"
	}
	var out strings.Builder
	fmt.Fprintf(&out, `%sfrom __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, Optional, Tuple

from . import operations

if TYPE_CHECKING:
    from typing import List, Literal, Union

    from .. import types
    from .._operation import CallOptions, Operation
    from .._paging import %[2]s


class %[3]s:
    """The partner operations; %[4]s sends and signs them."""

    %[5]s _send(self, operation: Operation, path: Tuple[Any, ...], given: Mapping[str, Any], options: CallOptions) -> Any:
        raise NotImplementedError

    def _pages(self, operation: Operation, path: Tuple[Any, ...], given: Mapping[str, Any], options: CallOptions) -> Any:
        raise NotImplementedError
`, pyHeader, pages, class, client, def)
	for _, o := range e.api.Operations {
		if o.Partner {
			e.partnerMethod(&out, o, def, await, pages, loop)
		}
	}
	return out.String()
}

func (e *pyEmitter) partnerMethod(out *strings.Builder, o Operation, def, await, pages, loop string) {
	var required, optional, path, given, passed []string
	for _, p := range o.PathParams {
		name := Snake(p.Name)
		required = append(required, name+": "+e.inTypes(p.Schema))
		path = append(path, name+",")
		passed = append(passed, name)
	}
	for _, f := range e.api.Input(o) {
		name := Snake(f.Name)
		if f.Required {
			required = append(required, name+": "+e.inTypes(f.Schema))
			passed = append(passed, name)
		} else {
			optional = append(optional, fmt.Sprintf("%s: Optional[%s] = None", name, e.inTypes(f.Schema)))
			passed = append(passed, name+"="+name)
		}
		given = append(given, pyLiteral(f.Name)+": "+name)
	}
	for _, option := range []string{"timeout: Optional[float]", "idempotency_key: Optional[str]", "headers: Optional[Mapping[str, str]]"} {
		optional = append(optional, option+" = None")
		name, _, _ := strings.Cut(option, ":")
		passed = append(passed, name+"="+name)
	}
	parameters := strings.Join(append(append([]string{"self"}, required...), append([]string{"*"}, optional...)...), ", ")
	doc := o.Summary + ". " + o.Doc
	call := fmt.Sprintf("(operations.%s, (%s), {%s}, (timeout, None, idempotency_key, headers))", o.ID, strings.Join(path, " "), strings.Join(given, ", "))

	write := func(def, name, doc, result, variable, body string) {
		fmt.Fprintf(out, "\n    %s %s(%s) -> %s:\n", def, name, parameters, result)
		pyDoc(out, "        ", doc)
		if variable == "" {
			fmt.Fprintf(out, "        return %s\n", body)
			return
		}
		fmt.Fprintf(out, "        answer: %s = %s\n        return answer\n", variable, body)
	}
	method := Snake(strings.TrimPrefix(o.ID, "partner_"))
	if o.List == nil {
		answer := e.inTypes(o.Answer)
		write(def, method, doc, answer, answer, await+"self._send"+call)
		return
	}
	result := fmt.Sprintf("%s[%s, %s]", pages, e.inTypes(o.List.Item), e.inTypes(o.Answer))
	write("def", method, doc+" Loop over all with "+loop+", or take one page.", result, result, "self._pages"+call)
	if short, ok := strings.CutPrefix(o.ID, "partner_list_"); ok {
		write("def", Snake(short), "The same as "+method+": every one of them with "+loop+".", result, "", "self."+method+"("+strings.Join(passed, ", ")+")")
	}
}

// inTypes is the type of a value, as it is written outside of the module with the types.
func (e *pyEmitter) inTypes(s *Schema) string {
	switch {
	case s.Ref != "":
		return "types." + pyName(s.Name())
	case len(s.Type) == 1 && s.Type[0] == "array" && s.Items != nil:
		return "List[" + e.inTypes(s.Items) + "]"
	}
	text := e.of(s)
	for _, named := range e.api.Schemas {
		if strings.Contains(text, pyName(named.Name)) && !strings.HasPrefix(text, "Literal") {
			return "Any"
		}
	}
	return text
}
