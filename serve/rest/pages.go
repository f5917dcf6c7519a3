package rest

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	texttemplate "text/template"
	"time"

	"github.com/swaggest/swgui/v5emb"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/serve/middleware"
	"github.com/namewharf/namewharf/serve/static"
)

//go:embed assets
var assets embed.FS

// pageMaxAge is how long caches may use a page: it changes only with the binary.
const pageMaxAge = 5 * time.Minute

// Content security policies: nothing from elsewhere, ever, and nothing inline. Swagger UI draws its icons from data URLs.
// The reference page may call the API at its public address too, when it is read at another one.
const (
	plainPolicy = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	docsPolicy  = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self' %s; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

// swaggerFiles are the parts of Swagger UI that the reference page loads.
var swaggerFiles = []string{"swagger-ui-bundle.js", "swagger-ui.css"}

// addPages adds every route that is not an operation.
func (s *server) addPages(cfg Config) {
	about, docsPolicy := s.about(cfg), fmt.Sprintf(docsPolicy, s.mw.BaseURL())
	var partner *op.Set
	if cfg.Partner != nil {
		partner = cfg.Partner.Set
	}
	spec, err := OpenAPI(cfg.Set, partner, s.mw.BaseURL(), cfg.Version)
	if err != nil {
		panic(fmt.Sprintf("rest: describing the set: %v", err)) // a definition that NewSet let through
	}
	const html, css, js = "text/html; charset=utf-8", "text/css; charset=utf-8", "text/javascript; charset=utf-8"
	for _, p := range []page{
		{"/{$}", html, plainPolicy, render("landing.html", about)},
		{static.StylePath, css, plainPolicy, static.Style},
		{static.IconPath, "image/svg+xml", plainPolicy, static.Icon},
		{"/favicon.ico", "image/svg+xml", plainPolicy, static.Icon}, // browsers ask for it by default
		{"/robots.txt", "text/plain; charset=utf-8", plainPolicy, []byte(robots)},
		{"/openapi.json", "application/json", plainPolicy, spec},
		{"/llms.txt", "text/plain; charset=utf-8", plainPolicy, renderText("llms.txt", about)},
		{"/.well-known/api-catalog", catalogType, plainPolicy, catalog(s.mw.BaseURL())},
		{"/docs", html, docsPolicy, asset("docs.html")},
		{"/docs/{$}", html, docsPolicy, asset("docs.html")},
		{"/docs/page.css", css, docsPolicy, asset("docs.css")},
		{"/docs/page.js", js, docsPolicy, asset("docs.js")},
	} {
		s.addPage(p)
	}
	s.nothing = render("notfound.html", about)
	s.handle("/docs/{file}", "page", s.swagger())
	s.handle("/api", "endpoints", s.endpoints)
	s.handle("/healthz", "health", func(w http.ResponseWriter, _ *http.Request) { health(w) })
	s.handle("/readyz", "ready", func(w http.ResponseWriter, r *http.Request) {
		if err := cfg.Ready(); err != nil {
			s.fail(w, r, fault.New(fault.Unavailable, "%s", fault.Words(err.Error())).WithRetry(time.Second))
			return
		}
		health(w)
	})
}

// robots excludes crawlers from answers that differ each time.
const robots = "User-agent: *\nDisallow: /api/\nDisallow: /mcp\nDisallow: /oauth/\nDisallow: /account\nAllow: /\n"

// wantsPage reports whether a request is a browser's, which shows a page rather than JSON.
func wantsPage(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	for _, accept := range r.Header["Accept"] {
		for part := range strings.SplitSeq(accept, ",") {
			mediaType, _, _ := strings.Cut(strings.TrimSpace(part), ";")
			switch strings.ToLower(strings.TrimSpace(mediaType)) {
			case "text/html", "application/xhtml+xml":
				return true
			case "application/json", "*/*":
				return false
			}
		}
	}
	return false
}

// nothingHere answers a browser with the page for an unknown path.
func (s *server) nothingHere(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", plainPolicy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusNotFound)
	if r.Method != http.MethodHead {
		_, _ = w.Write(s.nothing)
	}
}

// handle adds a route that can only be read, under a name for the log.
func (s *server) handle(path, name string, serve http.HandlerFunc) {
	s.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		middleware.Note(r.Context(), name, "")
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			s.methodNotAllowed(w, r, "GET, HEAD, OPTIONS")
			return
		}
		serve(w, r)
	})
}

// A page is a body that is the same for the life of the process.
type page struct {
	path, mediaType string
	policy          string // content security policy
	body            []byte
}

func (s *server) addPage(p page) {
	sum := sha256.Sum256(p.body)
	fixed := representation{body: p.body, etag: `"` + hex.EncodeToString(sum[:12]) + `"`, mediaType: []string{p.mediaType}, shared: true}
	cacheControl := fmt.Sprintf("public, max-age=%d", int(pageMaxAge/time.Second))
	s.handle(p.path, "page", func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", cacheControl)
		h.Set("Vary", "Accept-Encoding")
		h.Set("Content-Security-Policy", p.policy)
		h.Set("Referrer-Policy", "no-referrer")
		s.send(w, r, http.StatusOK, fixed)
	})
}

func health(w http.ResponseWriter) {
	h := w.Header()
	h["Content-Type"], h["Cache-Control"], h["X-Content-Type-Options"] = jsonType, noStore, noSniff
	_, _ = w.Write([]byte(`{"status":"ok"}`))
}

// swagger serves the files of Swagger UI out of the module, compressed as they are in it.
func (s *server) swagger() http.HandlerFunc {
	files := v5emb.New("", "", "/docs/")
	return func(w http.ResponseWriter, r *http.Request) {
		if !slices.Contains(swaggerFiles, r.PathValue("file")) {
			s.notFound(w, r)
			return
		}
		w.Header().Set("Cache-Control", "public, max-age=86400")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		files.ServeHTTP(w, r)
	}
}

// An entry of the list at /api.
type entry struct {
	Operation string `json:"operation"`
	Title     string `json:"title"`
	Method    string `json:"method"`
	Path      string `json:"path"`
	Scope     string `json:"scope,omitempty"`
}

// endpoints lists the operations for a signed-in caller. Without a token it is where a client finds out how to get
// one: 401 with the challenge.
func (s *server) endpoints(w http.ResponseWriter, r *http.Request) {
	caller, err := s.mw.Caller(r, s.resource)
	if err == nil && caller.Anonymous() {
		err = fault.New(fault.AuthenticationRequired, "this list needs a signed-in caller; the endpoints in it do not").
			WithHint("sign in with OAuth, or read %s/openapi.json", s.mw.BaseURL())
	}
	r = middleware.As(r, caller)
	if limited := s.mw.Charge(w, r, []op.Charge{{Class: op.Read, Count: 1}}); limited != nil {
		err = limited
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	list := []entry{}
	for _, o := range s.set.All() {
		list = append(list, entry{o.Name, o.Title, o.Route.Method, o.Route.Path, o.Scope})
	}
	body, err := op.Marshal(map[string]any{"endpoints": list, "openapi": s.mw.BaseURL() + "/openapi.json"})
	if err != nil {
		s.fail(w, r, fmt.Errorf("encode the list of endpoints: %w", err))
		return
	}
	h := w.Header()
	h["Cache-Control"], h["Content-Type"] = private, jsonType
	h["Link"], h["X-Content-Type-Options"] = serviceDesc, noSniff
	_, _ = w.Write(body)
}

const catalogType = `application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"`

// catalog is the linkset that leads to the API (RFC 9727, section 4; RFC 9264).
func catalog(base string) []byte {
	type target struct {
		Href string `json:"href"`
		Type string `json:"type"`
	}
	body, _ := op.Marshal(map[string]any{"linkset": []any{map[string]any{
		"anchor":       base + "/api",
		"service-desc": []target{{base + "/openapi.json", "application/json"}},
		"service-doc":  []target{{base + "/docs", "text/html"}, {base + "/llms.txt", "text/plain"}},
		"status":       []target{{base + "/readyz", "application/json"}},
	}}})
	return body
}

// about is the data of the templates.
type about struct {
	Base, Version, MCP string
	Operations         []sample
	Partner            []*op.Op // empty where partners are not served
	Search             string   // a call of the search
	Errors             []fault.Row
}

// A sample is an operation with a call that works against the demo data.
type sample struct {
	*op.Op
	URL  string // of the call, the query included
	Curl string
}

func (s *server) about(cfg Config) about {
	a := about{Base: s.mw.BaseURL(), Version: cfg.Version, MCP: cfg.MCP, Errors: fault.Codes()}
	for _, o := range cfg.Set.All() {
		a.Operations = append(a.Operations, newSample(o, a.Base))
		if o.Name == cfg.Set.Guide().Featured {
			a.Search = a.Operations[len(a.Operations)-1].Curl
		}
	}
	if cfg.Partner != nil {
		a.Partner = cfg.Partner.Set.All()
	}
	return a
}

func render(name string, data any) []byte {
	var b bytes.Buffer
	if err := template.Must(template.ParseFS(assets, "assets/"+name)).Execute(&b, data); err != nil {
		panic(fmt.Sprintf("rest: rendering %s: %v", name, err))
	}
	return b.Bytes()
}

func renderText(name string, data any) []byte {
	var b bytes.Buffer
	if err := texttemplate.Must(texttemplate.ParseFS(assets, "assets/"+name)).Execute(&b, data); err != nil {
		panic(fmt.Sprintf("rest: rendering %s: %v", name, err))
	}
	return b.Bytes()
}

func asset(name string) []byte {
	body, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err)
	}
	return body
}
