package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/serve/middleware"
	"github.com/namewharf/namewharf/serve/rest"
)

const (
	base = "https://beans.test"
	api  = base + "/api"
)

// The set of a coffee shop: the transport does not know what its operations mean.

type bean string

func (bean) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", MinLength: new(1), MaxLength: new(20)}
}

type price struct {
	Masked bool  `json:"masked" jsonschema:"whether the amount is hidden"`
	Cents  int64 `json:"cents,omitzero"`
}

type cup struct {
	Name  string `json:"name"`
	Price price  `json:"price,omitzero" jsonschema:"what a cup costs"`
}

type searchIn struct {
	Q     bean     `json:"q" jsonschema:"a bean, e.g. mocha"`
	Sizes []string `json:"sizes,omitzero"`
}

type searchOut struct {
	Query   bean      `json:"query"`
	Results []cup     `json:"results"`
	At      time.Time `json:"at"`
}

type priceIn struct {
	Bean  bean     `json:"bean" jsonschema:"a bean"`
	Shots int      `json:"shots,omitzero"`
	With  []string `json:"with,omitzero"`
}

type priceOut struct {
	Bean  bean  `json:"bean"`
	Price price `json:"price"`
	Shots int   `json:"shots"`
}

type noteIn struct {
	Bean bean `json:"bean"`
}

type noteOut struct {
	Bean bean   `json:"bean"`
	Text string `json:"text"`
}

type bulkIn struct {
	Op    string `json:"op" jsonschema:"what to do"`
	Beans []bean `json:"beans"`
}

type bulkOut struct {
	Op   string `json:"op"`
	Done int    `json:"done"`
}

var (
	openedAt = time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)
	menu     = strings.Repeat("A long text that is worth compressing. ", 100)
)

func view(ctx context.Context) string {
	if op.CallerFrom(ctx).Has("pricing:read") {
		return "real"
	}
	return ""
}

func search(ctx context.Context, in searchIn) (searchOut, error) {
	out := searchOut{Query: in.Q, At: openedAt}
	for i, suffix := range []string{" small", " large"} {
		c := cup{Name: string(in.Q) + suffix, Price: price{Masked: true}}
		if view(ctx) == "real" {
			c.Price = price{Cents: int64(300 + 100*i)}
		}
		out.Results = append(out.Results, c)
		op.Emit(ctx, op.Event{Item: c, Done: i + 1, Total: 2})
	}
	switch in.Q {
	case "spilled":
		return searchOut{}, errors.New("the secret machine at 10.0.0.1 is broken")
	case "late":
		out.Results = append(out.Results, cup{Name: "late large"})
	case "steps":
		op.Emit(ctx, op.Event{Done: 2, Total: 2})
	}
	return out, nil
}

func shop() *op.Set {
	set := beans()
	set.Describe(op.Guide{
		Summary: "Look up beans and cups.", Access: "A token shows real prices where others see masked ones.",
		Scopes: []op.Scope{{Name: "pricing:read", Doc: "See real prices."}, {Name: "domains:write", Doc: "Change beans."}},
	})
	return set
}

func beans() *op.Set {
	return op.NewSet(time.Now,
		op.Operation[searchIn, searchOut]{
			Name: "search_coffee", Title: "Search for coffee", Doc: "Finds cups of a bean. Use it when someone is thirsty.",
			Route: op.Route{Method: "POST", Path: "/api/coffee/search"}, Batch: true, Tool: true, Limit: op.Lookup,
			Cache: &op.Cache[searchIn, searchOut]{For: func(searchIn, searchOut) time.Duration { return time.Minute }, View: view},
			Cost: func(_ context.Context, in searchIn) []op.Charge {
				return []op.Charge{{Class: op.Lookup, Count: 1 + len(in.Sizes)}}
			},
			Example: searchIn{Q: "mocha"}, Do: search,
		},
		op.Operation[priceIn, priceOut]{
			Name: "bean_price", Title: "Price of a bean", Doc: "What a bean costs.",
			Route: op.Route{Method: "GET", Path: "/api/pricing/bean"}, Limit: op.Read, MaxAge: time.Hour,
			Cache:   &op.Cache[priceIn, priceOut]{For: func(priceIn, priceOut) time.Duration { return time.Minute }},
			Example: priceIn{Bean: "mocha", Shots: 2, With: []string{"milk", "sugar"}},
			Do: func(_ context.Context, in priceIn) (priceOut, error) {
				if in.Bean == "none" {
					return priceOut{}, fault.New(fault.NotFound, "there is no such bean").WithHint("try mocha")
				}
				return priceOut{Bean: in.Bean, Shots: in.Shots, Price: price{Cents: 300}}, nil
			},
		},
		op.Operation[noteIn, noteOut]{
			Name: "bean_notes", Title: "Notes on a bean", Doc: "A long read about <one> bean & its taste.",
			Route: op.Route{Method: "GET", Path: "/api/beans/{bean}/notes"}, Limit: op.Read,
			Cache:   &op.Cache[noteIn, noteOut]{For: func(noteIn, noteOut) time.Duration { return time.Minute }},
			Example: noteIn{Bean: "mocha"},
			Do: func(_ context.Context, in noteIn) (noteOut, error) {
				return noteOut{Bean: in.Bean, Text: menu}, nil
			},
		},
		op.Operation[noteIn, noteOut]{
			Name: "add_note", Title: "Add a note", Doc: "Adds a note.", Effect: op.Writes,
			Route: op.Route{Method: "POST", Path: "/api/beans/{bean}/notes", Status: 201}, Limit: op.Read,
			Example: noteIn{Bean: "mocha"},
			Do: func(ctx context.Context, in noteIn) (noteOut, error) {
				return noteOut{Bean: in.Bean, Text: "noted"}, ctx.Err()
			},
		},
		op.Operation[bulkIn, bulkOut]{
			Name: "bulk_beans", Title: "Many beans at once", Doc: "Does one thing to many beans.", Effect: op.Writes,
			Route: op.Route{Method: "POST", Path: "/api/bulk/{op}"}, Limit: op.Read, Scope: "domains:write",
			Example: bulkIn{Op: "roast", Beans: []bean{"mocha"}},
			Do: func(_ context.Context, in bulkIn) (bulkOut, error) {
				return bulkOut{Op: in.Op, Done: len(in.Beans)}, nil
			},
		},
	)
}

// verifier knows a token that may see prices, and one that may do more.
type verifier struct{}

func (verifier) Caller(ctx context.Context, token, resource string) (op.Caller, error) {
	switch {
	case resource != api:
	case token == "reader":
		return op.Caller{Account: "acc_1", Scopes: []string{"pricing:read"}}, nil
	case token == "owner":
		return op.Caller{Account: "acc_2", Scopes: []string{"pricing:read", "domains:write"}}, nil
	}
	return middleware.NoTokens.Caller(ctx, token, resource)
}

// log collects what the middleware logs.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newHandler(limits *middleware.Limits, to io.Writer) http.Handler {
	return newHandlerOf(shop(), limits, to)
}

func newHandlerOf(set *op.Set, limits *middleware.Limits, to io.Writer) http.Handler {
	return rest.New(rest.Config{Middleware: newMiddleware(limits, to), Set: set, Version: "1.0.0", MCP: base + "/mcp"})
}

func newUnreadyHandler(why string) http.Handler {
	return rest.New(rest.Config{Middleware: newMiddleware(nil, io.Discard), Set: shop(), Version: "1.0.0", Ready: func() error { return errors.New(why) }})
}

func newMiddleware(limits *middleware.Limits, to io.Writer) *middleware.Stack {
	return middleware.New(middleware.Config{
		BaseURL: base, Tokens: verifier{}, DefaultScope: "pricing:read", Limits: limits, Metrics: middleware.NewMetrics("1.0.0"),
		Logger: slog.New(slog.NewJSONHandler(to, nil)),
	})
}

// A request is what a case sends: "METHOD target", headers as "Name: value", a body.
type request struct {
	line    string
	headers []string
	body    string
}

func (q request) send(h http.Handler) *httptest.ResponseRecorder {
	method, target, _ := strings.Cut(q.line, " ")
	r := httptest.NewRequest(method, target, strings.NewReader(q.body))
	for _, header := range q.headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

var (
	asJSON = "Content-Type: application/json"
	reader = "Authorization: Bearer reader"
	owner  = "Authorization: Bearer owner"
)

func TestAnswers(t *testing.T) {
	t.Parallel()
	h := newHandler(nil, io.Discard)
	for _, test := range []struct {
		name string
		request
		status int
		want   string // the body, or a part of it
	}{
		{
			"a call with a body",
			request{"POST /api/coffee/search", []string{asJSON}, `{"q":"mocha"}`},
			200,
			`{"query":"mocha","results":[{"name":"mocha small","price":{"masked":true}},{"name":"mocha large","price":{"masked":true}}],"at":"2026-11-01T08:00:00Z"}`,
		},
		{"a token shows more", request{"POST /api/coffee/search", []string{asJSON, reader}, `{"q":"mocha"}`}, 200, `"price":{"masked":false,"cents":300}`},
		{
			"a call with a query",
			request{"GET /api/pricing/bean?bean=mocha&shots=2&with=milk,sugar&with=ice", nil, ""},
			200,
			`{"bean":"mocha","price":{"masked":false,"cents":300},"shots":2}`,
		},
		{"a wildcard", request{"GET /api/beans/caf%C3%A9/notes", nil, ""}, 200, `{"bean":"café","text":"A long text`},
		{"a slash in a wildcard", request{"GET /api/beans/a%2Fb/notes", nil, ""}, 200, `{"bean":"a/b"`},
		{"a wildcard beside a body", request{"POST /api/bulk/roast", []string{asJSON, owner}, ` {"beans":["a","b"]}`}, 200, `{"op":"roast","done":2}`},
		{"a status of its own", request{"POST /api/beans/mocha/notes", []string{asJSON}, `{}`}, 201, `{"bean":"mocha","text":"noted"}`},
		{"no media type is taken for JSON", request{"POST /api/coffee/search", nil, `{"q":"mocha"}`}, 200, `"query":"mocha"`},
		{"a media type built on JSON", request{"POST /api/coffee/search", []string{"Content-Type: application/vnd.shop+json; charset=UTF-8"}, `{"q":"mocha"}`}, 200, `"query":"mocha"`},
		{"a token in the query is none", request{"GET /api/pricing/bean?bean=mocha&access_token=x", nil, ""}, 200, `"bean":"mocha"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := test.send(h)
			if w.Code != test.status || !strings.HasPrefix(w.Body.String(), test.want) && !strings.Contains(w.Body.String(), test.want) {
				t.Errorf("%s %s\n got %d %.300s\nwant %d %s", test.line, test.body, w.Code, w.Body, test.status, test.want)
			}
			if got := w.Header().Get("Content-Type"); got != "application/json" {
				t.Errorf("Content-Type: got %q", got)
			}
			if len(w.Header().Get("X-Request-Id")) != 32 {
				t.Errorf("X-Request-Id: got %q", w.Header().Get("X-Request-Id"))
			}
		})
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	h := newHandler(nil, io.Discard)
	const find = "POST /api/coffee/search"
	for _, test := range []struct {
		name string
		request
		status int
		code   fault.Code
		says   string
	}{
		{"an unknown field", request{find, []string{asJSON}, `{"q":"a","roast":1}`}, 400, fault.Validation, "roast is not a known field"},
		{"another case", request{find, []string{asJSON}, `{"Q":"a"}`}, 400, fault.Validation, "did you mean q?"},
		{"a field given twice", request{find, []string{asJSON}, `{"q":"a","q":"b"}`}, 400, fault.Validation, "q is given twice"},
		{"the wrong type", request{find, []string{asJSON}, `{"q":1}`}, 400, fault.Validation, "q must be a string"},
		{"broken JSON", request{find, []string{asJSON}, `{"q"`}, 400, fault.Validation, "ends too early"},
		{"an empty body", request{find, []string{asJSON}, ``}, 400, fault.Validation, "the input is empty"},
		{"deep JSON", request{find, []string{asJSON}, strings.Repeat("[", 1<<19)}, 400, fault.Validation, "nested deeper"},
		{"a query on a call with a body", request{find + "?q=a", []string{asJSON}, `{"q":"a"}`}, 400, fault.Validation, "q is not a known parameter; the input goes in the body"},
		{"an unknown parameter", request{"GET /api/pricing/bean?bean=a&roast=1", nil, ""}, 400, fault.Validation, "roast is not a known parameter"},
		{"a parameter given twice", request{"GET /api/pricing/bean?bean=a&bean=b", nil, ""}, 400, fault.Validation, "bean is given twice"},
		{"a missing parameter", request{"GET /api/pricing/bean", nil, ""}, 400, fault.Validation, "bean is required: a bean"},
		{"a wildcard given in the query too", request{"GET /api/beans/a/notes?bean=a", nil, ""}, 400, fault.Validation, "bean is given twice"},
		{"a wildcard given in the body too", request{"POST /api/beans/a/notes", []string{asJSON}, `{"bean":"a"}`}, 400, fault.Validation, "bean is given twice"},
		{"a bad escape in the query", request{"GET /api/pricing/bean?bean=%zz", nil, ""}, 400, fault.Validation, "the query is not well formed"},
		{"a query that is not UTF-8", request{"GET /api/pricing/bean?bean=%ff", nil, ""}, 400, fault.Validation, "the query is not UTF-8"},
		{"a path that is not UTF-8", request{"GET /api/beans/%ff/notes", nil, ""}, 400, fault.Validation, "bean must be UTF-8"},
		{"a NUL in the path", request{"GET /api/beans/%00/notes", nil, ""}, 400, fault.Validation, "bean holds a NUL character"},
		{"a form", request{find, []string{"Content-Type: application/x-www-form-urlencoded"}, `q=a`}, 415, fault.UnsupportedMediaType, "Content-Type: application/json"},
		{"JSON called a text", request{find, []string{"Content-Type: text/plain"}, `{"q":"a"}`}, 415, fault.UnsupportedMediaType, "not sent as JSON"},
		{"a broken media type", request{find, []string{"Content-Type: application/json;;="}, `{"q":"a"}`}, 415, fault.UnsupportedMediaType, "not sent as JSON"},
		{"two media types", request{find, []string{asJSON, asJSON}, `{"q":"a"}`}, 415, fault.UnsupportedMediaType, "not sent as JSON"},
		{"another charset", request{find, []string{"Content-Type: application/json; charset=latin1"}, `{"q":"a"}`}, 415, fault.UnsupportedMediaType, "UTF-8"},
		{"a compressed body", request{find, []string{asJSON, "Content-Encoding: gzip"}, `{"q":"a"}`}, 415, fault.UnsupportedMediaType, "compressed"},
		{"a byte too much", request{find, []string{asJSON}, strings.Repeat(" ", 1<<20+1)}, 413, fault.PayloadTooLarge, "1 MiB"},
		{"an unknown path", request{"GET /api/tea", nil, ""}, 404, fault.NotFound, "there is nothing at this path"},
		{"a slash at the end", request{"GET /api/pricing/bean/?bean=a", nil, ""}, 404, fault.NotFound, "there is nothing at this path"},
		{"a path to be cleaned is not cleaned", request{"POST //api/coffee/search", []string{asJSON}, `{"q":"a"}`}, 404, fault.NotFound, "there is nothing at this path"},
		{"dots in a path", request{"GET /api/x/../pricing/bean?bean=a", nil, ""}, 404, fault.NotFound, "there is nothing at this path"},
		{"an unknown thing", request{"GET /api/pricing/bean?bean=none", nil, ""}, 404, fault.NotFound, "there is no such bean; try mocha"},
		{"another method", request{"DELETE /api/coffee/search", nil, ""}, 405, fault.MethodNotAllowed, "use OPTIONS, POST"},
		{"a page cannot be posted to", request{"POST /openapi.json", nil, ""}, 405, fault.MethodNotAllowed, "use GET, HEAD, OPTIONS"},
		{"a failure of ours", request{find, []string{asJSON}, `{"q":"spilled"}`}, 500, fault.Internal, "something failed on our side"},
		{"no token where one is needed", request{"POST /api/bulk/roast", []string{asJSON}, `{"beans":["a"]}`}, 401, fault.AuthenticationRequired, "domains:write"},
		{"a token that may not", request{"POST /api/bulk/roast", []string{asJSON, reader}, `{"beans":["a"]}`}, 403, fault.InsufficientScope, "domains:write"},
		{"an unknown token is never anonymous", request{"GET /api/pricing/bean?bean=a", []string{"Authorization: Bearer stolen"}, ""}, 401, fault.InvalidToken, "unknown"},
		{"two tokens", request{"GET /api/pricing/bean?bean=a", []string{reader, reader}, ""}, 400, fault.Validation, "given twice"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := test.send(h)
			var got middleware.Failure
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatalf("%s: %d %q is not an error body: %v", test.line, w.Code, w.Body, err)
			}
			if w.Code != test.status || got.Error.Code != test.code || !strings.Contains(got.Error.Message, test.says) {
				t.Errorf("%s %.60s\n got %d %s %q\nwant %d %s %q", test.line, test.body, w.Code, got.Error.Code, got.Error.Message, test.status, test.code, test.says)
			}
			if got.Error.RequestID == "" || got.Error.RequestID != w.Header().Get("X-Request-Id") {
				t.Errorf("request id: body %q, header %q", got.Error.RequestID, w.Header().Get("X-Request-Id"))
			}
			challenged := test.code == fault.AuthenticationRequired || test.code == fault.InvalidToken || test.code == fault.InsufficientScope
			if challenge := w.Header().Get("WWW-Authenticate"); (challenge != "") != challenged {
				t.Errorf("WWW-Authenticate: %q", challenge)
			}
			if w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("Access-Control-Allow-Origin") != "*" {
				t.Errorf("headers: %v", w.Header())
			}
		})
	}
}

func TestMethods(t *testing.T) {
	t.Parallel()
	h := newHandler(nil, io.Discard)
	head := request{"HEAD /api/pricing/bean?bean=mocha", nil, ""}.send(h)
	get := request{"GET /api/pricing/bean?bean=mocha", nil, ""}.send(h)
	for _, name := range []string{"Content-Length", "Etag", "Cache-Control", "Content-Type", "Vary"} {
		if got, want := head.Header().Get(name), get.Header().Get(name); got != want || got == "" {
			t.Errorf("%s: HEAD has %q, GET has %q", name, got, want)
		}
	}
	for _, test := range []struct{ path, allow string }{
		{"/api/coffee/search", "OPTIONS, POST"},
		{"/api/pricing/bean", "GET, HEAD, OPTIONS"},
		{"/api/beans/mocha/notes", "GET, HEAD, OPTIONS, POST"},
		{"/openapi.json", "GET, HEAD, OPTIONS"},
	} {
		if w := (request{"OPTIONS " + test.path, nil, ""}).send(h); w.Code != 204 || w.Header().Get("Allow") != test.allow {
			t.Errorf("OPTIONS %s: %d, Allow %q; want 204, %q", test.path, w.Code, w.Header().Get("Allow"), test.allow)
		}
		if w := (request{"PUT " + test.path, nil, ""}).send(h); w.Code != 405 || w.Header().Get("Allow") != test.allow {
			t.Errorf("PUT %s: %d, Allow %q; want 405, %q", test.path, w.Code, w.Header().Get("Allow"), test.allow)
		}
	}
}

func TestCORS(t *testing.T) {
	t.Parallel()
	h := newHandler(nil, io.Discard)
	origin := "Origin: https://elsewhere.test"
	w := request{"OPTIONS /api/coffee/search", []string{origin, "Access-Control-Request-Method: POST", "Access-Control-Request-Headers: authorization, content-type"}, ""}.send(h)
	if got := w.Header(); w.Code != 204 || got.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(got.Get("Access-Control-Allow-Methods"), "POST") ||
		!strings.Contains(got.Get("Access-Control-Allow-Headers"), "Authorization") || got.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("preflight: %d %v", w.Code, got)
	}
	for _, line := range []string{"GET /api/pricing/bean?bean=mocha", "GET /api/pricing/bean", "GET /api", "GET /nowhere"} {
		w := request{line, []string{origin}, ""}.send(h)
		exposed := w.Header().Get("Access-Control-Expose-Headers")
		for _, name := range []string{"WWW-Authenticate", "RateLimit", "RateLimit-Policy", "Retry-After", "X-Request-Id"} {
			if !strings.Contains(exposed+",", name+",") {
				t.Errorf("%s: %s is not exposed: %q", line, name, exposed)
			}
		}
	}
}

func TestNothingAskedIsLogged(t *testing.T) {
	t.Parallel()
	var kept log
	h := newHandler(nil, &kept)
	for _, q := range []request{
		{"POST /api/coffee/search", []string{asJSON, reader}, `{"q":"hush-hush"}`},
		{"GET /api/pricing/bean?bean=hush-hush", nil, ""},
		{"GET /api/pricing/bean?hush-hush=1", nil, ""},
		{"GET /api/beans/hush-hush/notes", nil, ""},
		{"GET /hush-hush", nil, ""},
		{"POST /api/coffee/search", []string{asJSON, "Authorization: Bearer hush-hush"}, `{"q":"a"}`},
	} {
		q.send(h)
	}
	if got := strings.Count(kept.String(), `"msg":"request"`); got != 6 {
		t.Errorf("got %d access lines, want 6:\n%s", got, kept.String())
	}
	if strings.Contains(kept.String(), "hush") || strings.Contains(kept.String(), "reader") {
		t.Errorf("the log holds what was asked:\n%s", kept.String())
	}
}

func nothing[In, Out any](context.Context, In) (out Out, err error) { return out, nil }
