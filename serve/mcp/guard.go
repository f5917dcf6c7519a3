package mcp

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strconv"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/ratelimit"
	"github.com/namewharf/namewharf/serve/middleware"
)

// maxBody bounds a request over HTTP and a line over stdio. The largest sensible call, 200 names, has 50 KiB.
const maxBody = 256 << 10

// A Guard is the middleware in front of mcp-go, for what mcp-go does not do: it checks the Host and the Origin header against
// lists, bounds the body, draws the rate limits, checks the bearer token, and asks for one where it is needed.
type Guard struct {
	// Sessions lets GET and DELETE pass, which servers with sessions need before the protocol of 2026-07-28. This
	// package has no sessions: a GET would hold a stream open on which nothing ever comes.
	Sessions bool

	mw           *middleware.Stack
	host, origin func(string) bool
	cors         middleware.CORS
}

// NewGuard returns a guard that lets our own host and origin and those of the loopback interface pass, and the ones
// named: origins as scheme://host[:port], hosts as host[:port].
func NewGuard(d *middleware.Stack, origins, hosts []string) *Guard {
	named := append([]string(nil), origins...)
	for _, host := range hosts {
		named = append(named, "https://"+host)
	}
	g := &Guard{mw: d, host: middleware.Hosts(d.BaseURL(), named...), origin: middleware.Origins(d.BaseURL(), origins...)}
	g.cors = middleware.CORS{
		Origin:  g.origin,
		Methods: "POST, OPTIONS",
		Headers: "Authorization, Content-Type, Accept, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, Last-Event-ID, Traceparent",
		Expose:  "WWW-Authenticate, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id, Mcp-Session-Id",
	}
	return g
}

// Handler puts the guard in front of any server of mcp-go.
func (g *Guard) Handler(next *server.StreamableHTTPServer, resource string, signedIn bool) http.Handler {
	return g.handler(next, nil, resource, signedIn)
}

// handler leaves the charge for calls of the tools named to their handlers, which know what a call costs. A call that
// does not come as far as that is charged before it is answered.
func (g *Guard) handler(next *server.StreamableHTTPServer, tools map[string]*op.Op, resource string, signedIn bool) http.Handler {
	return g.mw.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := &answer{guard: g, w: w, r: r, resource: resource}
		middleware.Note(r.Context(), "mcp", "")
		if g.preflight(w, r) {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		body, err := g.admit(a, signedIn)
		if err != nil {
			// It is charged, which limits guessing of tokens.
			if over := a.chargeOnce(); over != nil {
				err = over
			}
			a.error(err)
			return
		}
		m := parse(body)
		a.id = m.ID
		tool := m.Method == mcp.MethodToolsCall && m.asks() && tools[m.Params.Name] != nil
		if tool {
			middleware.Note(r.Context(), m.Params.Name, "")
		} else if err := a.chargeOnce(); err != nil {
			a.error(err)
			return
		}
		if m.cancels() {
			// Without sessions mcp-go would cancel any call with that id, of any client. A client that
			// wants its own call to end closes the connection.
			w.WriteHeader(http.StatusAccepted)
			return
		}
		next.Handle(a, &server.HTTPRequest{
			Method: r.Method, URL: r.URL, Header: r.Header, Body: body, Context: withCarrier(a.r.Context(), a),
		})
		_ = a.chargeOnce() // for a call without an answer
		if a.status == 0 && !a.events && r.Context().Err() != nil {
			w.WriteHeader(middleware.StatusClientGone) // for the log; the client is gone
		}
	}))
}

// preflight sets the CORS headers and reports whether the request asks for no more.
func (g *Guard) preflight(w http.ResponseWriter, r *http.Request) bool {
	g.cors.Set(w.Header(), r)
	return g.host(r.Host) && g.originAllowed(r) && g.cors.Preflight(w.Header(), r)
}

func (g *Guard) originAllowed(r *http.Request) bool {
	origins := r.Header["Origin"]
	return len(origins) == 0 || len(origins) == 1 && g.origin(origins[0])
}

// admit checks everything that can be checked without reading the message, reads it, and leaves the caller in the
// request's context.
func (g *Guard) admit(a *answer, signedIn bool) ([]byte, error) {
	r := a.r
	switch {
	case !g.host(r.Host):
		return nil, fault.New(fault.Forbidden, "this host name is not served here").WithHint("use the address that the service publishes")
	case !g.originAllowed(r):
		return nil, fault.New(fault.Forbidden, "pages of this origin may not call")
	}
	caller, err := g.mw.Caller(r, a.resource)
	if err != nil {
		return nil, err
	}
	if caller.Anonymous() && signedIn {
		return nil, fault.New(fault.AuthenticationRequired, "this address is for signed-in callers").
			WithHint("sign in with OAuth")
	}
	if g.Sessions && (r.Method == http.MethodGet || r.Method == http.MethodDelete) {
		return nil, nil
	}
	if r.Method != http.MethodPost {
		a.w.Header().Set("Allow", "POST, OPTIONS")
		return nil, fault.New(fault.MethodNotAllowed, "this address takes POST alone: there are no sessions and no streams to listen on")
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, fault.New(fault.UnsupportedMediaType, "the body must be JSON").WithHint("send Content-Type: application/json")
	}
	if !caller.Anonymous() {
		a.r = middleware.As(r, caller)
	}
	return readBody(a.r)
}

func readBody(r *http.Request) ([]byte, error) {
	body, err := middleware.ReadBody(r, maxBody)
	if err != nil {
		return nil, err
	}
	if isBatch(body) {
		return nil, fault.New(fault.Validation, "batches are not taken").WithHint("send one JSON-RPC message in each request")
	}
	return body, nil
}

// error answers with the HTTP status of err, the challenge where one is due, and a JSON-RPC error for clients that
// read on.
func (a *answer) error(err error) {
	f := a.expose(err)
	h := a.w.Header()
	h.Set("Cache-Control", "no-store")
	ratelimit.WriteRetryAfter(h, f.Retry)
	switch f.Code {
	case fault.AuthenticationRequired, fault.InvalidToken, fault.InsufficientScope:
		h.Set("Www-Authenticate", a.guard.mw.Challenge(a.resource, f))
	}
	code := codeServer
	if f.Code == fault.Validation {
		code = mcp.INVALID_REQUEST
	}
	a.failure(f.Code.Status(), responseError{code, f.Message(), middleware.NewFailure(f, a.requestID()).Error})
}

func (a *answer) failure(status int, failure responseError) {
	body, err := json.Marshal(newFailure(a.id, failure))
	if err != nil {
		panic(fmt.Sprintf("assistant: encoding an error: %v", err)) // strings and numbers alone
	}
	h := a.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	a.w.WriteHeader(status)
	_, _ = a.w.Write(body) // the client may be gone
}

// codeServer is the JSON-RPC code of a failure that the HTTP status and the data explain.
const codeServer = -32000
