package rest

import (
	"net/http"
	"slices"
	"strings"

	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/serve/middleware"
)

// A resource is one path with its operations, one for each method.
type resource struct {
	*server
	endpoints map[string]*endpoint
	allow     string
}

// An endpoint is an operation at its route, with what can be prepared.
type endpoint struct {
	*server
	op     *op.Op
	path   []string // names of the wildcards
	body   bool     // the input comes in the body
	events bool     // the answer can be had as a stream of events
	vary   []string
	public []string // Cache-Control of a public answer
}

var private = []string{"private, no-store"}

// newResource joins operations that share a path. More are methods that are answered there besides.
func (s *server) newResource(ops []*op.Op, more ...string) *resource {
	res := &resource{server: s, endpoints: map[string]*endpoint{}}
	methods := more
	for _, o := range ops {
		e := s.newEndpoint(o)
		res.endpoints[o.Route.Method] = e
		methods = append(methods, o.Route.Method)
		if o.Route.Method == http.MethodGet {
			res.endpoints[http.MethodHead] = e
			methods = append(methods, http.MethodHead)
		}
	}
	slices.Sort(methods)
	res.allow = strings.Join(methods, ", ")
	return res
}

func (s *server) newEndpoint(o *op.Op) *endpoint {
	e := &endpoint{server: s, op: o, path: wildcards(o.Route.Path), body: hasBody(o), events: streams(o)}
	vary := "Accept, Accept-Encoding"
	if o.PerCaller {
		vary = "Authorization, " + vary
	}
	e.vary = []string{vary}
	e.public = []string{cacheControl(o)}
	return e
}

func hasBody(o *op.Op) bool {
	return o.Route.Method != http.MethodGet && o.Route.Method != http.MethodDelete
}

// streams reports whether answers of o can be had as a stream of events: those of reads by POST, which no cache
// stores.
func streams(o *op.Op) bool {
	return o.Effect == op.Reads && o.Route.Method == http.MethodPost
}

// wildcards lists the {name}s of a path.
func wildcards(path string) (names []string) {
	for part := range strings.SplitSeq(path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			names = append(names, strings.TrimSuffix(name, "}"))
		}
	}
	return names
}

func (res *resource) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e := res.endpoints[r.Method]
	if e == nil {
		res.methodNotAllowed(w, r, res.allow)
		return
	}
	e.serve(w, r)
}

// serve is a request from the caller's token to the answer.
func (e *endpoint) serve(w http.ResponseWriter, r *http.Request) {
	middleware.Note(r.Context(), e.op.Name, "")
	caller, err := e.mw.Caller(r, e.resource)
	if err != nil {
		e.refuse(w, r, err)
		return
	}
	r = middleware.As(r, caller)
	if err := caller.Need(e.op.Scope); err != nil { // before its body is read
		e.refuse(w, r, err)
		return
	}
	raw, err := e.input(r)
	if err != nil {
		e.refuse(w, r, err)
		return
	}
	if e.events && wantsStream(r) {
		e.stream(w, r, raw)
		return
	}
	call, err := e.op.Begin(r.Context(), raw)
	if err != nil {
		e.refuse(w, r, err)
		return
	}
	if err := e.mw.Charge(w, r, call.Charges); err != nil {
		e.fail(w, r, err)
		return
	}
	answer, err := call.Run(r.Context())
	if err != nil {
		e.fail(w, r, err)
		return
	}
	e.mw.Settle(w, r, call.Charges, answer.Unused)
	e.answer(w, r, answer)
}

// refuse answers a request that never ran. It costs what an input that is refused costs, which limits guessing
// of tokens and floods of bad inputs.
func (e *endpoint) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if limited := e.mw.Charge(w, r, e.op.Refused()); limited != nil {
		err = limited
	}
	e.fail(w, r, err)
}
