package rest_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/serve/middleware"
	"github.com/namewharf/namewharf/serve/rest"
)

// A guard lets in who says the word, and writes down what it is asked.
type guard struct{ asked []string }

func (g *guard) Verify(r *http.Request, body func(bool) ([sha256.Size]byte, error)) (context.Context, error) {
	g.asked = append(g.asked, "verify "+r.Method+" "+r.URL.Path)
	if r.Method != http.MethodGet {
		known := r.Header.Get("X-Word") != ""
		digest, err := body(known)
		if err != nil {
			return nil, err
		}
		g.asked = append(g.asked, digestText(digest))
	}
	if r.Header.Get("X-Word") != "beans" {
		return nil, fault.New(fault.InvalidSignature, "that is not the word").WithSigned("beans")
	}
	return op.WithCaller(r.Context(), op.Caller{Key: "key", Scopes: strings.Fields(r.Header.Get("X-Scopes"))}), nil
}

func digestText(digest [sha256.Size]byte) string { return "body " + hex.EncodeToString(digest[:4]) }

func bodyText(body string) string { return digestText(sha256.Sum256([]byte(body))) }

func (g *guard) Admit(_ *http.Request, o *op.Op, h http.Header) error {
	name := "nothing"
	if o != nil {
		name = o.Name
	}
	g.asked = append(g.asked, "admit "+name)
	h.Set("RateLimit", `"x";r=1;t=1`)
	return nil
}

type cupID struct {
	Cup bean `json:"cup"`
}

// A cupboard runs what fills a cup, and takes the full one for one that was filled before.
type cupboard struct{}

func (cupboard) Once(ctx context.Context, r op.Repeatable, effect func(context.Context, struct{}, time.Time) (any, error)) (op.Answer, error) {
	out, err := effect(ctx, struct{}{}, time.Now())
	if err != nil {
		return op.Answer{}, err
	}
	body, err := r.Encode(out)
	return op.Answer{JSON: body, Status: 200, Repeated: out.(*cup).Name == "full"}, err
}

func (cupboard) Outside(context.Context, op.Repeatable, func(context.Context) (any, error)) (op.Answer, error) {
	return op.Answer{}, errors.New("not used")
}

func (cupboard) DryRun(context.Context, op.Repeatable, func(context.Context) (any, error)) (op.Answer, error) {
	return op.Answer{}, errors.New("not used")
}

// kitchen is a handler that fills a cup once.
func kitchen(g *guard, limits *middleware.Limits) http.Handler {
	fill := op.Operation[cupID, cup]{
		Name: "fill_cup", Title: "Fill", Doc: "Fills a cup.", Limit: op.Read, Scope: "fill", Effect: op.Writes, Idempotency: op.Optional,
		Route: op.Route{Method: "POST", Path: "/api/partner/cups/{cup}/fill", Status: 201, Also: 200},
		Kept: op.Once(cupboard{}, func(_ context.Context, _ struct{}, in cupID, _ time.Time) (cup, error) {
			return cup{Name: string(in.Cup)}, nil
		}),
		Example: cupID{"mug"},
	}
	mw := middleware.New(middleware.Config{BaseURL: base, Tokens: middleware.NoTokens, Limits: limits, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	return rest.New(rest.Config{Middleware: mw, Set: shop(), Version: "1", Partner: &rest.Partner{Set: op.NewSet(time.Now, fill), Signatures: g}})
}

// A signed request is asked for its signature, its turn, its scope and its input, in this order.
func TestSigned(t *testing.T) {
	t.Parallel()
	const fill = "POST /api/partner/cups/mug/fill"
	for _, test := range []struct {
		name, line, headers, body string
		status                    int
		code                      fault.Code
		asked                     []string
	}{
		{"in order", fill, "X-Word: beans,X-Scopes: fill", "", 200, "", []string{"verify POST /api/partner/cups/mug/fill", bodyText(""), "admit fill_cup"}},
		{"an empty object", fill, "X-Word: beans,X-Scopes: fill", "{}", 200, "", []string{"verify POST /api/partner/cups/mug/fill", bodyText("{}"), "admit fill_cup"}},
		{"without the word", fill, "X-Scopes: fill", "{", 401, fault.InvalidSignature, []string{"verify POST /api/partner/cups/mug/fill", bodyText("{")}},
		{"without the scope", fill, "X-Word: beans,Content-Type: text/plain", "{", 403, fault.Forbidden, []string{"verify POST /api/partner/cups/mug/fill", bodyText("{"), "admit fill_cup"}},
		{"a text", fill, "X-Word: beans,X-Scopes: fill,Content-Type: text/plain", "{}", 415, fault.UnsupportedMediaType, []string{"verify POST /api/partner/cups/mug/fill", bodyText("{}"), "admit fill_cup"}},
		{"an unknown field", fill, "X-Word: beans,X-Scopes: fill", `{"milk":1}`, 400, fault.Validation, []string{"verify POST /api/partner/cups/mug/fill", bodyText(`{"milk":1}`), "admit fill_cup"}},
		{"another method", "GET /api/partner/cups/mug/fill", "X-Word: beans", "", 405, fault.MethodNotAllowed, []string{"verify GET /api/partner/cups/mug/fill", "admit nothing"}},
		{"an unknown path", "GET /api/partner/spoons", "X-Word: beans", "", 404, fault.NotFound, []string{"verify GET /api/partner/spoons", "admit nothing"}},
		{"an unknown path without the word", "GET /api/partner/spoons", "", "", 401, fault.InvalidSignature, []string{"verify GET /api/partner/spoons"}},
		{"a path that is not clean", "POST /api/partner//cups/mug/fill", "X-Word: beans", "", 404, fault.NotFound, []string{"verify POST /api/partner//cups/mug/fill", bodyText(""), "admit nothing"}},
		{"a long body", fill, "X-Word: beans", strings.Repeat(" ", 1<<20+1), 413, fault.PayloadTooLarge, nil},
		{"an unsigned preflight", "OPTIONS /api/partner/cups/mug/fill", "Origin: https://a.example,Access-Control-Request-Method: POST", "", 401, fault.InvalidSignature, []string{"verify OPTIONS /api/partner/cups/mug/fill", bodyText("")}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := &guard{}
			w := signedSend(kitchen(g, nil), test.line, test.headers, test.body)
			if w.Code != test.status || test.code != "" && !strings.Contains(w.Body.String(), `"code":"`+string(test.code)+`"`) {
				t.Errorf("got %d %s, want %d %s", w.Code, w.Body, test.status, test.code)
			}
			if !slices.Equal(g.asked, test.asked) {
				t.Errorf("asked %q, want %q", g.asked, test.asked)
			}
			if w.Header().Get("Access-Control-Allow-Origin") != "" {
				t.Error("pages of other origins may read it")
			}
		})
	}
}

func signedSend(h http.Handler, line, headers, body string) *httptest.ResponseRecorder {
	method, path, _ := strings.Cut(line, " ")
	r := httptest.NewRequest(method, base+path, strings.NewReader(body))
	for header := range strings.SplitSeq(headers, ",") {
		if name, value, ok := strings.Cut(header, ": "); ok {
			r.Header.Set(name, value)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// What was answered before says so, and what should have been signed is shown where it is known.
func TestSignedAnswers(t *testing.T) {
	t.Parallel()
	h := kitchen(&guard{}, nil)
	if w := signedSend(h, "POST /api/partner/cups/full/fill", "X-Word: beans,X-Scopes: fill", ""); w.Header().Get("Idempotency-Replayed") != "true" {
		t.Errorf("a repetition: %v", w.Header())
	}
	if w := signedSend(h, "POST /api/partner/cups/mug/fill", "X-Word: beans,X-Scopes: fill", ""); w.Header().Get("Idempotency-Replayed") != "" || w.Header().Get("Cache-Control") != "private, no-store" {
		t.Errorf("the first time: %v", w.Header())
	}
	if w := signedSend(h, "POST /api/partner/cups/mug/fill", "", ""); !strings.Contains(w.Body.String(), `"canonical_string":"beans"`) {
		t.Errorf("not shown: %s", w.Body)
	}
}

// A request whose signature does not hold costs its address, which says nothing any more when that is used up.
func TestSignedBudget(t *testing.T) {
	t.Parallel()
	h := kitchen(&guard{}, middleware.NewLimits(map[op.Class]middleware.Quota{op.Unsigned: {Anonymous: 2, SignedIn: 2}}, time.Now))
	for i, want := range []int{401, 401, 429, 429} {
		if w := signedSend(h, "GET /api/partner/spoons", "", ""); w.Code != want || want == 429 && w.Header().Get("Retry-After") == "" {
			t.Errorf("request %d: got %d %v, want %d", i, w.Code, w.Header(), want)
		}
	}
	if w := signedSend(h, "POST /api/partner/cups/mug/fill", "X-Word: beans,X-Scopes: fill", ""); w.Code != 200 {
		t.Errorf("who says the word: %d %s", w.Code, w.Body)
	}
}
