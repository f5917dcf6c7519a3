package middleware_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/serve/middleware"
)

const (
	base = "https://names.test"
	api  = base + "/api"
)

// verifier knows one token.
type verifier struct{}

func (verifier) Caller(_ context.Context, token, resource string) (op.Caller, error) {
	switch {
	case token == "good" && resource == api:
		return op.Caller{Account: "acc_1", Scopes: []string{"pricing:read"}}, nil
	case token == "broken":
		return op.Caller{}, errors.New("dial tcp 10.0.0.1: refused")
	}
	return middleware.NoTokens.Caller(context.Background(), token, resource)
}

// logged collects log lines.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) lines(t *testing.T) (lines []map[string]any) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.b.String()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("log line %q: %v", line, err)
		}
		lines = append(lines, m)
	}
	return lines
}

func newStack(cfg middleware.Config) (*middleware.Stack, *logged) {
	log := &logged{}
	cfg.BaseURL, cfg.Tokens, cfg.DefaultScope = base, verifier{}, "pricing:read"
	cfg.Logger = slog.New(slog.NewJSONHandler(log, nil))
	return middleware.New(cfg), log
}

func TestCaller(t *testing.T) {
	t.Parallel()
	mw, _ := newStack(middleware.Config{})
	for _, test := range []struct {
		name    string
		headers []string
		account string
		code    fault.Code
	}{
		{"no header", nil, "", ""},
		{"a good token", []string{"Bearer good"}, "acc_1", ""},
		{"the scheme in another case", []string{"bEARER good"}, "acc_1", ""},
		{"spaces around the token", []string{"Bearer  good "}, "acc_1", ""},
		{"two headers", []string{"Bearer good", "Bearer good"}, "", fault.Validation},
		{"an unknown token", []string{"Bearer bad"}, "", fault.InvalidToken},
		{"an empty header", []string{""}, "", fault.InvalidToken},
		{"no token", []string{"Bearer"}, "", fault.InvalidToken},
		{"padding alone", []string{"Bearer =="}, "", fault.InvalidToken},
		{"two tokens", []string{"Bearer good good"}, "", fault.InvalidToken},
		{"another scheme", []string{"Basic Z29vZDo="}, "", fault.InvalidToken},
		{"characters no token has", []string{"Bearer go\"od"}, "", fault.InvalidToken},
		{"too long", []string{"Bearer " + strings.Repeat("a", 513)}, "", fault.InvalidToken},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest("GET", "/api?access_token=good", nil)
			r.Header["Authorization"] = test.headers
			caller, err := mw.Caller(r, api)
			if caller.Account != test.account || (test.code == "") != (err == nil) || err != nil && !fault.Is(err, test.code) {
				t.Errorf("Caller(%q): got %q, %v; want %q, %s", test.headers, caller.Account, err, test.account, test.code)
			}
		})
	}
}

func TestTokensAreGoodAtOneResource(t *testing.T) {
	t.Parallel()
	mw, _ := newStack(middleware.Config{})
	r := httptest.NewRequest("GET", "/mcp", nil)
	r.Header.Set("Authorization", "Bearer good")
	if _, err := mw.Caller(r, base+"/mcp"); !fault.Is(err, fault.InvalidToken) {
		t.Errorf("Caller at another resource: got %v, want %s", err, fault.InvalidToken)
	}
}

func TestChallenge(t *testing.T) {
	t.Parallel()
	mw, _ := newStack(middleware.Config{})
	for _, test := range []struct {
		name, resource string
		err            *fault.Error
		want           string
	}{
		{
			"no token", api, fault.New(fault.AuthenticationRequired, "sign in"),
			`Bearer resource_metadata="https://names.test/.well-known/oauth-protected-resource/api", scope="pricing:read"`,
		},
		{
			"nothing failed", base, nil,
			`Bearer resource_metadata="https://names.test/.well-known/oauth-protected-resource", scope="pricing:read"`,
		},
		{
			"a bad token", base + "/mcp/signed-in", fault.New(fault.InvalidToken, "the \"token\" is ünknown\n"),
			`Bearer error="invalid_token", error_description="the 'token' is nknown", resource_metadata="https://names.test/.well-known/oauth-protected-resource/mcp/signed-in", scope="pricing:read"`,
		},
		{
			"too little scope", api, fault.New(fault.InsufficientScope, "no").WithScope("domains:write"),
			`Bearer error="insufficient_scope", error_description="no", resource_metadata="https://names.test/.well-known/oauth-protected-resource/api", scope="domains:write"`,
		},
	} {
		if got := mw.Challenge(test.resource, test.err); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, got, test.want)
		}
	}
}

func TestAddress(t *testing.T) {
	t.Parallel()
	mw, _ := newStack(middleware.Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}})
	for _, test := range []struct {
		name, peer string
		forwarded  []string
		want       string
	}{
		{"a direct client", "192.0.2.1:5000", nil, "192.0.2.1"},
		{"what a stranger forwards is ignored", "192.0.2.1:5000", []string{"198.51.100.7"}, "192.0.2.1"},
		{"IPv6 by its /64", "[2001:db8:1:2:3:4:5:6]:5000", nil, "2001:db8:1:2::"},
		{"IPv4 in IPv6", "[::ffff:192.0.2.1]:5000", nil, "192.0.2.1"},
		{"a link-local zone", "[fe80::1%eth0]:5000", nil, "fe80::"},
		{"behind a proxy", "10.0.0.1:5000", []string{"192.0.2.9"}, "192.0.2.9"},
		{"the last stranger counts, not the first", "10.0.0.1:5000", []string{"203.0.113.5, 192.0.2.9, 10.0.0.2"}, "192.0.2.9"},
		{"several headers are one list", "10.0.0.1:5000", []string{"203.0.113.5", "192.0.2.9", "10.0.0.2"}, "192.0.2.9"},
		{"with a port", "10.0.0.1:5000", []string{"192.0.2.9:1234"}, "192.0.2.9"},
		{"IPv6 with a port", "10.0.0.1:5000", []string{"[2001:db8::1]:1234"}, "2001:db8::"},
		{"rubbish ends the walk", "10.0.0.1:5000", []string{"192.0.2.9, unknown, 10.0.0.2"}, "10.0.0.2"},
		{"an empty header", "10.0.0.1:5000", []string{""}, "10.0.0.1"},
		{"proxies alone", "[fd00::1]:5000", []string{"10.0.0.7"}, "10.0.0.7"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = test.peer
		r.Header["X-Forwarded-For"] = test.forwarded
		if got := mw.ClientIP(r).String(); got != test.want {
			t.Errorf("%s: Address(%s, %q) = %s, want %s", test.name, test.peer, test.forwarded, got, test.want)
		}
	}
}

func TestErrorBody(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, accept string
		err          error
		status       int
		header, body string
	}{
		{
			"a field at fault", "", fault.Invalid("q", "is required"), 400, "application/json",
			`{"error":{"code":"validation_error","message":"q is required","request_id":"ID","details":[{"field":"q","reason":"is required"}]}}`,
		},
		{
			"no field at fault", "*/*", fault.New(fault.NotFound, "there is no <such> suffix").WithHint("try com"), 404, "application/json",
			`{"error":{"code":"not_found","message":"there is no <such> suffix; try com","request_id":"ID"}}`,
		},
		{
			"an error of ours keeps its text", "", errors.New("select from secrets: refused"), 500, "application/json",
			`{"error":{"code":"internal_error","message":"something failed on our side; retry with exponential back-off, and send us the request id if it lasts","request_id":"ID"}}`,
		},
		{
			"a problem document", "application/problem+json, application/json;q=0.9", fault.Invalid("q", "is required"), 400, "application/problem+json",
			`{"type":"https://names.test/docs#validation_error","title":"Invalid request","status":400,"detail":"q is required","code":"validation_error","request_id":"ID","details":[{"field":"q","reason":"is required"}]}`,
		},
		{
			"a problem document that is wanted less", "application/problem+json;q=0.5, application/json", fault.Invalid("q", "is required"), 400, "application/json",
			`{"error":{"code":"validation_error","message":"q is required","request_id":"ID","details":[{"field":"q","reason":"is required"}]}}`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			mw, log := newStack(middleware.Config{})
			h := mw.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("ETag", `"x"`)
				w.Header().Set("Cache-Control", "public")
				mw.WriteError(w, r, api, test.err)
			}))
			w := httptest.NewRecorder()
			r := httptest.NewRequest("GET", "/", nil)
			if test.accept != "" {
				r.Header.Set("Accept", test.accept)
			}
			h.ServeHTTP(w, r)
			want := strings.ReplaceAll(test.body, "ID", w.Header().Get("X-Request-Id")) + "\n"
			if w.Code != test.status || w.Header().Get("Content-Type") != test.header || w.Body.String() != want {
				t.Errorf("got %d %s\n%swant %d %s\n%s", w.Code, w.Header().Get("Content-Type"), w.Body, test.status, test.header, want)
			}
			if w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("ETag") != "" {
				t.Errorf("an error may be cached: %v", w.Header())
			}
			if ours := len(log.lines(t)) == 2; ours != (test.status == 500) {
				t.Errorf("log: %v", log.lines(t))
			}
		})
	}
}

func TestErrorHeaders(t *testing.T) {
	t.Parallel()
	mw, _ := newStack(middleware.Config{})
	w := httptest.NewRecorder()
	mw.WriteError(w, httptest.NewRequest("GET", "/", nil), api, fault.New(fault.RateLimited, "slow").WithRetry(1500*time.Millisecond))
	if got := w.Header().Get("Retry-After"); w.Code != 429 || got != "2" {
		t.Errorf("rate limited: %d, Retry-After %q; want 429, 2", w.Code, got)
	}
	for _, test := range []struct {
		code       fault.Code
		status     int
		challenged bool
	}{
		{fault.AuthenticationRequired, 401, true},
		{fault.InvalidToken, 401, true},
		{fault.InsufficientScope, 403, true},
		{fault.Forbidden, 403, false},
		{fault.InvalidSignature, 401, false},
	} {
		w := httptest.NewRecorder()
		mw.WriteError(w, httptest.NewRequest("GET", "/", nil), api, fault.New(test.code, "no"))
		if got := w.Header().Get("WWW-Authenticate"); w.Code != test.status || (got != "") != test.challenged {
			t.Errorf("%s: %d, challenge %q; want %d, %t", test.code, w.Code, got, test.status, test.challenged)
		}
	}
}

func TestAccessLog(t *testing.T) {
	t.Parallel()
	mw, log := newStack(middleware.Config{Metrics: middleware.NewMetrics("1.0.0")})
	h := mw.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		middleware.Note(r.Context(), "search_domain", "")
		if _, err := mw.Caller(r, api); err != nil {
			mw.WriteError(w, r, api, err)
			return
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, "hello")
	}))
	r := httptest.NewRequest("POST", "/api/secret-name.com?q=secret-name", strings.NewReader("secret-name"))
	r.Header.Set("Authorization", "Bearer good")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	lines := log.lines(t)
	if len(lines) != 1 {
		t.Fatalf("got %d lines, want 1: %v", len(lines), lines)
	}
	line := lines[0]
	want := map[string]any{"msg": "request", "id": w.Header().Get("X-Request-Id"), "caller": "account", "operation": "search_domain", "status": 201.0, "bytes": 5.0}
	for k, v := range want {
		if line[k] != v {
			t.Errorf("%s: got %v, want %v", k, line[k], v)
		}
	}
	for _, secret := range []string{"secret-name", "good"} {
		if strings.Contains(log.b.String(), secret) {
			t.Errorf("the log holds %q: %s", secret, log.b.String())
		}
	}
}

func TestPanic(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		handler http.HandlerFunc
		status  int // 0: the connection is cut
	}{
		{"before anything was written", func(http.ResponseWriter, *http.Request) { panic("secret-name") }, 500},
		{"with an error of the runtime", func(http.ResponseWriter, *http.Request) { panic(any("secret-name").(error)) }, 500},
		{"in the middle of an answer", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "half")
			panic("secret-name")
		}, 0},
		{"to cut the connection", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			mw, log := newStack(middleware.Config{})
			s := httptest.NewServer(mw.Wrap(test.handler))
			defer s.Close()
			res, err := http.Get(s.URL)
			if err == nil {
				_, err = io.ReadAll(res.Body)
				_ = res.Body.Close()
			}
			if (err != nil) != (test.status == 0) {
				t.Fatalf("got error %v, want status %d", err, test.status)
			}
			if err == nil && res.StatusCode != test.status {
				t.Errorf("got %d, want %d", res.StatusCode, test.status)
			}
			s.Close()
			if strings.Contains(log.b.String(), "secret-name") {
				t.Errorf("the log holds what the panic said: %s", log.b.String())
			}
			if last := log.lines(t); last[len(last)-1]["msg"] != "request" {
				t.Errorf("no access line: %v", last)
			}
		})
	}
}
