package mcp

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
)

// A wording puts what errors say into the words of this transport. An error names an operation by its method and path, as
// REST does; an assistant has tools.
type wording struct{ routes *strings.Replacer }

// newWording knows the operations of a set, of which some are offered as tools.
func newWording(set *op.Set, offered map[string]*op.Op) wording {
	all := slices.Clone(set.All())
	slices.SortStableFunc(all, func(a, b *op.Op) int { return len(b.Route.Path) - len(a.Route.Path) }) // a path before one that begins it
	var pairs []string
	for _, o := range all {
		pairs = append(pairs, o.Route.Method+" "+o.Route.Path, phrase(o, offered))
	}
	return wording{strings.NewReplacer(pairs...)}
}

// batchTool runs operations that are no tools of their own.
const batchTool = "batch_lookup"

// phrase is how an assistant comes to an operation.
func phrase(o *op.Op, offered map[string]*op.Op) string {
	switch {
	case offered[o.Name] != nil:
		return "the tool " + o.Name
	case o.Batch && offered[batchTool] != nil:
		return "the tool " + batchTool + " with the op " + o.Name
	case o.Scope != "":
		return "the service's account page or REST API"
	}
	return "the service's REST API"
}

// failure is f in the words of this transport.
func (w wording) failure(f *fault.Error) *fault.Error {
	said := *f
	said.Detail, said.Hint = w.routes.Replace(f.Detail), w.routes.Replace(f.Hint)
	return &said
}

// messages are the messages of errors inside an answer, such as those of a batch.
var messages = regexp.MustCompile(`"message":"(?:[^"\\]|\\.)*"`)

// answer is a with the errors in it in the words of this transport.
func (w wording) answer(a op.Answer) op.Answer {
	if !bytes.Contains(a.JSON, []byte(`"message":"`)) {
		return a
	}
	return op.Answer{JSON: messages.ReplaceAllFunc(a.JSON, func(m []byte) []byte { return []byte(w.routes.Replace(string(m))) })}
}
