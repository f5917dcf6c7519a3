// Package rest serves the operations of a set over HTTP: routes, checks, answers, streams, the OpenAPI document and
// its reference page all follow from the set, so that nothing is described twice.
package rest

import (
	"net/http"
	"path"
	"strings"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/serve/middleware"
)

// Config is what the REST transport needs.
type Config struct {
	Middleware *middleware.Stack
	Set        *op.Set
	Version    string       // of the API, as info.version of its OpenAPI document
	Partner    *Partner     // the partner API; nil: none
	MCP        string       // the address of the MCP endpoint, for the pages that name it; empty: none
	Ready      func() error // nil while requests can be answered, else why not, in a text that is shown to clients; nil: always ready
}

// server is the REST transport of one set.
type server struct {
	nothing  []byte // the page for a browser and an unknown path
	mw       *middleware.Stack
	set      *op.Set
	resource string // what tokens must be meant for
	packed   *packer
	mux      *http.ServeMux
	signed   *signed // nil: there is no partner API
}

// New returns the handler of the whole REST API: the routes of the set's operations, /api, /openapi.json, /docs,
// /llms.txt, /.well-known/api-catalog, /healthz, /readyz and a first page at /. It is wrapped in [middleware.Stack.Wrap]
// already. It panics where two routes collide, which is a mistake in a definition.
func New(cfg Config) http.Handler {
	if cfg.Ready == nil {
		cfg.Ready = func() error { return nil }
	}
	s := &server{
		mw: cfg.Middleware, set: cfg.Set, resource: cfg.Middleware.BaseURL() + "/api",
		packed: newPacker(), mux: http.NewServeMux(),
	}
	for path, methods := range byPath(cfg.Set.All()) {
		s.mux.Handle(path, s.newResource(methods, http.MethodOptions))
	}
	if cfg.Partner != nil {
		s.signed = s.newSigned(cfg.Partner)
	}
	s.addPages(cfg)
	s.mux.HandleFunc("/", s.notFound)
	return cfg.Middleware.Wrap(s)
}

// byPath groups operations by the path they share.
func byPath(ops []*op.Op) map[string][]*op.Op {
	paths := map[string][]*op.Op{}
	for _, o := range ops {
		paths[o.Route.Path] = append(paths[o.Route.Path], o)
	}
	return paths
}

// Headers that every answer shares. They are never changed, only replaced.
var (
	jsonType    = []string{"application/json"}
	noSniff     = []string{"nosniff"}
	serviceDesc = []string{`</openapi.json>; rel="service-desc", </docs>; rel="service-doc", </.well-known/api-catalog>; rel="api-catalog"`}
)

// ServeHTTP takes paths as they are: one that would have to be cleaned is unknown, and nothing is redirected, since
// a redirect turns a POST of some clients into a GET.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.signed != nil && strings.HasPrefix(r.URL.Path, signedPrefix) {
		s.signed.ServeHTTP(w, r)
		return
	}
	middleware.REST.Set(w.Header(), r)
	if !clean(r.URL.Path) {
		s.notFound(w, r)
		return
	}
	s.mux.ServeHTTP(w, r)
}

func clean(p string) bool {
	return p != "" && p[0] == '/' && (p == "/" || path.Clean(p) == strings.TrimSuffix(p, "/"))
}

func (s *server) notFound(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodOptions && middleware.REST.Preflight(w.Header(), r) {
		w.WriteHeader(http.StatusNoContent) // so that a page can read the 404
		return
	}
	w.Header().Add("Vary", "Accept")
	if err := s.mw.Charge(w, r, refused); err != nil {
		s.fail(w, r, err)
		return
	}
	if wantsPage(r) {
		s.nothingHere(w, r)
		return
	}
	s.fail(w, r, fault.New(fault.NotFound, "there is nothing at this path").WithHint("see %s/openapi.json for the paths there are", s.mw.BaseURL()))
}

// refused is what a request to an unknown path costs.
var refused = []op.Charge{{Class: op.Read, Count: 1}}

// fail answers with an error.
func (s *server) fail(w http.ResponseWriter, r *http.Request, err error) {
	w.Header()["Link"] = serviceDesc
	s.mw.WriteError(w, r, s.resource, err)
}

// methodNotAllowed answers OPTIONS, and refuses every other method that is not in allow.
func (s *server) methodNotAllowed(w http.ResponseWriter, r *http.Request, allow string) {
	h := w.Header()
	h.Set("Allow", allow)
	if r.Method == http.MethodOptions {
		middleware.REST.Preflight(h, r)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if err := s.mw.Charge(w, r, refused); err != nil {
		s.fail(w, r, err)
		return
	}
	s.fail(w, r, fault.New(fault.MethodNotAllowed, "this path does not take the method").WithHint("use %s", allow))
}
