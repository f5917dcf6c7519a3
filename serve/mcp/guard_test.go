package mcp_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/serve/mcp"
	"github.com/namewharf/namewharf/serve/middleware"
)

func TestSignIn(t *testing.T) {
	t.Parallel()
	s := open(t, option{})
	priced := map[string]any{"q": "acme", "require_real_prices": true}
	missing := `Bearer resource_metadata="` + s.url + `/.well-known/oauth-protected-resource/mcp", scope="pricing:read"`
	for _, test := range []struct {
		name      string
		path      string
		tool      string
		arguments any
		headers   []string
		status    int
		challenge string // begins so
		code      string // in the data of the error; none: a result
	}{
		{"anybody may ask", "/mcp", "search_domain", map[string]any{"q": "acme"}, nil, 200, "", ""},
		{"real prices need a token", "/mcp", "search_domain", priced, nil, 401, missing, "authentication_required"},
		{"with one they come", "/mcp", "search_domain", priced, []string{"Authorization", "Bearer priced"}, 200, "", ""},
		{"the scheme in any case", "/mcp", "search_domain", priced, []string{"Authorization", "bEARER priced"}, 200, "", ""},
		{
			"a token without the scope", "/mcp", "search_domain", priced,
			[]string{"Authorization", "Bearer bare"},
			403,
			`Bearer error="insufficient_scope", error_description="the access token lacks the scope pricing:read; sign in again and ask for it", ` +
				strings.TrimPrefix(missing, "Bearer "), "insufficient_scope",
		},
		{
			"a bad token is never anonymous", "/mcp", "search_domain",
			map[string]any{"q": "acme"},
			[]string{"Authorization", "Bearer nope"},
			401,
			`Bearer error="invalid_token", error_description="the access token is unknown", ` + strings.TrimPrefix(missing, "Bearer "), "invalid_token",
		},
		{
			"another scheme", "/mcp", "search_domain",
			map[string]any{"q": "acme"},
			[]string{"Authorization", "Basic eDp5"},
			401,
			`Bearer error="invalid_token"`, "invalid_token",
		},
		{
			"two headers", "/mcp", "search_domain",
			map[string]any{"q": "acme"},
			[]string{"Authorization", "Bearer priced", "Authorization", "Bearer owner"},
			400,
			"", "validation_error",
		},
		{"a token in the query counts for nothing", "/mcp?access_token=priced", "search_domain", priced, nil, 401, missing, "authentication_required"},
		{
			"writing needs its scope", "/mcp", "bulk_domains",
			map[string]any{"q": "acme"},
			nil, 401,
			strings.Replace(missing, "pricing:read", "domains:write", 1), "authentication_required",
		},
		{
			"and more than the one for prices", "/mcp", "bulk_domains",
			map[string]any{"q": "acme"},
			[]string{"Authorization", "Bearer priced"},
			403,
			`Bearer error="insufficient_scope"`, "insufficient_scope",
		},
		{"the owner may", "/mcp", "bulk_domains", map[string]any{"q": "acme"}, []string{"Authorization", "Bearer owner"}, 200, "", ""},
		{
			"the other address asks at once", "/mcp/signed-in", "search_domain",
			map[string]any{"q": "acme"},
			nil, 401,
			strings.Replace(missing, `/mcp"`, `/mcp/signed-in"`, 1), "authentication_required",
		},
		{"and lets tokens in", "/mcp/signed-in", "search_domain", priced, []string{"Authorization", "Bearer priced"}, 200, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachEra(t, func(t *testing.T, era string) {
				reply := s.post(t, test.path, era, callBody(era, test.tool, test.arguments), test.headers...)
				challenge := reply.Header.Get("Www-Authenticate")
				if reply.StatusCode != test.status || !strings.HasPrefix(challenge, test.challenge) || (challenge == "") != (test.challenge == "") {
					t.Errorf("got %d %q\nwant %d %q", reply.StatusCode, challenge, test.status, test.challenge)
				}
				m := reply.last(t)
				if test.code == "" {
					if asToolResult(t, m).IsError {
						t.Errorf("got %s", reply.text)
					}
					return
				}
				var data middleware.Problem
				if m.Error == nil || json.Unmarshal(m.Error.Data, &data) != nil || string(data.Code) != test.code || data.RequestID == "" {
					t.Errorf("got %s, want the code %s", reply.text, test.code)
				}
			})
		})
	}
}

func TestEveryRequestOfTheOtherAddressIsChallenged(t *testing.T) {
	t.Parallel()
	s := open(t, option{})
	for _, text := range []string{body(legacy, "initialize", nil), body(legacy, "tools/list", nil), `{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{`, ``} {
		reply := s.post(t, "/mcp/signed-in", legacy, text)
		if reply.StatusCode != 401 || reply.Header.Get("Www-Authenticate") == "" {
			t.Errorf("%q: got %d %s, want 401 and a challenge", text, reply.StatusCode, reply.text)
		}
	}
	reply := s.do(t, http.MethodGet, "/mcp/signed-in", "", "")
	if reply.StatusCode != 401 {
		t.Errorf("GET: got %d, want 401", reply.StatusCode)
	}
}

func TestGuard(t *testing.T) {
	t.Parallel()
	s := open(t, option{cfg: mcp.Config{AllowedOrigins: []string{"https://chat.example"}, AllowedHosts: []string{"mcp.example"}}})
	ask := callBody(legacy, "search_domain", map[string]any{"q": "acme"})
	long := strings.Repeat(" ", 256<<10-len(ask))
	for _, test := range []struct {
		name    string
		method  string
		text    string
		headers []string
		status  int
	}{
		{"no origin", "POST", ask, nil, 200},
		{"our own origin", "POST", ask, []string{"Origin", s.url}, 200},
		{"a loopback origin", "POST", ask, []string{"Origin", "http://localhost:6274"}, 200},
		{"a named origin", "POST", ask, []string{"Origin", "https://chat.example"}, 200},
		{"a named host as origin of another scheme", "POST", ask, []string{"Origin", "http://chat.example"}, 403},
		{"a foreign origin", "POST", ask, []string{"Origin", "https://evil.example"}, 403},
		{"a sandboxed page", "POST", ask, []string{"Origin", "null"}, 403},
		{"a name that looks like loopback", "POST", ask, []string{"Origin", "http://localhost.evil.example"}, 403},
		{"two origins", "POST", ask, []string{"Origin", s.url, "Origin", "https://evil.example"}, 403},
		{"a rebound name", "POST", ask, []string{"Host", "evil.example"}, 403},
		{"a named host", "POST", ask, []string{"Host", "mcp.example"}, 200},
		{"loopback under another name", "POST", ask, []string{"Host", "localhost:1"}, 200},
		{"at the limit", "POST", ask + long, nil, 200},
		{"over the limit", "POST", ask + long + " ", nil, 413},
		{"not JSON by its type", "POST", ask, []string{"Content-Type", "", "Content-Type", "text/plain"}, 415},
		{"a type with parameters", "POST", ask, []string{"Content-Type", "", "Content-Type", "application/json; charset=utf-8"}, 200},
		{"a legacy stream to listen on", "GET", "", nil, 405},
		{"the end of a session", "DELETE", "", nil, 405},
		{"HEAD", "HEAD", "", nil, 405},
		{"a method nobody has", "PUT", ask, nil, 405},
		{"a batch", "POST", "[" + ask + "]", nil, 400},
		{"not JSON", "POST", "{", nil, 400},
		{"nothing", "POST", "", nil, 400},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			reply := s.do(t, test.method, "/mcp", legacy, test.text, test.headers...)
			if reply.StatusCode != test.status {
				t.Errorf("got %d %.200s, want %d", reply.StatusCode, reply.text, test.status)
			}
			if test.status == 405 && reply.Header.Get("Allow") != "POST, OPTIONS" {
				t.Errorf("Allow: got %q", reply.Header.Get("Allow"))
			}
			if test.status >= 400 && test.method != "HEAD" {
				if m := reply.last(t); m.Error == nil || m.Error.Message == "" {
					t.Errorf("got %s, want a JSON-RPC error", reply.text)
				}
			}
		})
	}
}

func TestUnboundedBodyIsCut(t *testing.T) {
	t.Parallel()
	s := open(t, option{})
	r, err := http.NewRequestWithContext(t.Context(), "POST", s.url+"/mcp", struct{ *strings.Reader }{strings.NewReader(strings.Repeat(" ", 300<<10))})
	if err != nil {
		t.Fatal(err)
	}
	r.ContentLength = -1
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a body of unknown length: got %d, want 413", resp.StatusCode)
	}
}

func TestCORS(t *testing.T) {
	t.Parallel()
	s := open(t, option{})
	ours := "http://localhost:6274"
	reply := s.do(t, http.MethodOptions, "/mcp", "", "", "Origin", ours, "Access-Control-Request-Method", "POST")
	h := reply.Header
	if reply.StatusCode != 204 || h.Get("Access-Control-Allow-Origin") != ours || h.Get("Access-Control-Allow-Methods") != "POST, OPTIONS" ||
		!strings.Contains(h.Get("Access-Control-Allow-Headers"), "Authorization") || h.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("preflight: got %d %v", reply.StatusCode, h)
	}
	reply = s.do(t, http.MethodOptions, "/mcp", "", "", "Origin", "https://evil.example", "Access-Control-Request-Method", "POST")
	if reply.StatusCode != 403 || reply.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("preflight of a foreign page: got %d %v", reply.StatusCode, reply.Header)
	}
	reply = s.call(t, legacy, "search_domain", map[string]any{"q": "a", "require_real_prices": true}, "Origin", ours)
	if h := reply.Header; h.Get("Access-Control-Allow-Origin") != ours || !strings.Contains(h.Get("Access-Control-Expose-Headers"), "WWW-Authenticate") {
		t.Errorf("a page must be able to read the challenge: got %v", h)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	eachEra(t, func(t *testing.T, era string) {
		s := open(t, option{limits: map[op.Class]middleware.Quota{op.Lookup: {Anonymous: 2, SignedIn: 3}, op.Read: {Anonymous: 4, SignedIn: 5}}})
		find := func(headers ...string) *reply {
			return s.call(t, era, "search_domain", map[string]any{"q": "acme"}, headers...)
		}
		if reply := find(); reply.result(t).IsError || reply.Header.Get("RateLimit") == "" {
			t.Errorf("the first call: %s", reply.text)
		}
		if reply := s.call(t, era, "search_domain", map[string]any{}); !strings.Contains(reply.text, "q is required") {
			t.Errorf("a refused call: %s", reply.text)
		}
		reply := find()
		if text := reply.result(t).Content[0].Text; !reply.result(t).IsError || !strings.Contains(text, "\ncode: rate_limited\nretry after: ") {
			t.Errorf("over the limit (a refused call counts): got %q", text)
		}
		if reply := find("Authorization", "Bearer priced"); reply.result(t).IsError {
			t.Errorf("a signed-in caller has a budget of its own: %s", reply.text)
		}
		for i := range 5 {
			reply := s.post(t, "/mcp", era, body(era, "tools/list", nil))
			if limited := reply.StatusCode == 429 && reply.Header.Get("Retry-After") != ""; limited != (i == 4) {
				t.Errorf("list %d: got %d, Retry-After %q", i, reply.StatusCode, reply.Header.Get("Retry-After"))
			}
		}
		if reply := s.call(t, era, "no_such_tool", map[string]any{}); reply.StatusCode != 429 {
			t.Errorf("an unknown tool draws too: got %d %s", reply.StatusCode, reply.text)
		}
	})
}

// Without sessions, mcp-go would let one client cancel the call of another that happens to have the same id.
func TestACallCannotBeCancelledByOthers(t *testing.T) {
	t.Parallel()
	s := open(t, option{})
	done := make(chan *reply, 1)
	go func() { done <- s.call(t, legacy, "whois_lookup", map[string]any{"ms": 300}) }()
	for range 20 {
		reply := s.post(t, "/mcp", legacy, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
		if reply.StatusCode != http.StatusAccepted {
			t.Fatalf("got %d, want 202", reply.StatusCode)
		}
	}
	if got := <-done; got.result(t).IsError {
		t.Errorf("the call of another client was cancelled: %s", got.text)
	}
}
