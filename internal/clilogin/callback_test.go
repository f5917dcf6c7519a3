package clilogin

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

const issuer = "https://names.example"

// startCallbackServer starts a callback server, until the end of the test.
func startCallbackServer(t *testing.T, needIss bool) *callbackServer {
	t.Helper()
	d, err := newCallbackServer(issuer, needIss)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.close)
	return d
}

// pending reports whether no answer was taken yet.
func (d *callbackServer) pending() bool {
	select {
	case a := <-d.answers:
		d.answers <- a
		return false
	default:
		return true
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	mixed, none := "wrong authorization server", "has no code"
	for _, test := range []struct {
		name    string
		needIss bool
		query   url.Values // with the right state
		code    string
		err     string // a part of it
	}{
		{"a code", true, url.Values{"code": {"c"}, "iss": {issuer}}, "c", ""},
		{"a code of a server without iss", false, url.Values{"code": {"c"}}, "c", ""},
		{"a code without the promised iss", true, url.Values{"code": {"c"}}, "", mixed},
		{"an empty iss", false, url.Values{"code": {"c"}, "iss": {""}}, "", mixed},
		{"another iss", true, url.Values{"code": {"c"}, "iss": {"https://evil.example"}}, "", mixed},
		{"another iss that was not promised", false, url.Values{"code": {"c"}, "iss": {"https://evil.example"}}, "", mixed},
		{"an iss that looks alike", true, url.Values{"code": {"c"}, "iss": {issuer + "/"}}, "", mixed},
		{"a refusal of wrong authorization server", true, url.Values{"error": {"access_denied"}, "iss": {"https://evil.example"}}, "", mixed},
		{"no", true, url.Values{"error": {"access_denied"}, "iss": {issuer}}, "", "access was denied"},
		{"a refusal", true, url.Values{"error": {"invalid_scope"}, "iss": {issuer}}, "", "refused (invalid_scope)"},
		{"a refusal with a code", true, url.Values{"error": {"server_error"}, "code": {"c"}, "iss": {issuer}}, "", "refused (server_error)"},
		{"a refusal in a bandit's words", true, url.Values{"error": {"\x1b[2J pay"}, "iss": {issuer}}, "", "refused"},
		{"an empty refusal", true, url.Values{"error": {""}, "code": {"c"}, "iss": {issuer}}, "", "refused"},
		{"nothing", true, url.Values{"iss": {issuer}}, "", none},
		{"a code that is none", true, url.Values{"code": {"a b"}, "iss": {issuer}}, "", none},
		{"an endless code", true, url.Values{"code": {strings.Repeat("c", 9000)}, "iss": {issuer}}, "", none},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := startCallbackServer(t, test.needIss)
			test.query.Set("state", d.state)
			p, err := visit(d.redirect + "?" + test.query.Encode())
			if err != nil || p.status != http.StatusOK || strings.Contains(p.text, "Thank you") != (test.err == "") {
				t.Errorf("got %+v, %v", p, err)
			}
			code, err := d.wait(t.Context())
			switch {
			case code != test.code || (err == nil) != (test.err == ""):
				t.Errorf("got %q, %v; want %q", code, err, test.code)
			case err != nil && (!strings.Contains(err.Error(), test.err) || strings.ContainsAny(err.Error(), "\x1b[")):
				t.Errorf("got %v, want %s", err, test.err)
			}
		})
	}
}

// Any program on this computer, and any page in the browser, can send requests to the port. They must change nothing.
func TestForgedRequests(t *testing.T) {
	t.Parallel()
	d := startCallbackServer(t, true)
	good := url.Values{"code": {"c"}, "iss": {issuer}, "state": {d.state}}.Encode()
	for _, test := range []struct {
		name, method, host, target string
		status                     int
	}{
		{"no state", "GET", "", "/callback?code=c&iss=" + issuer, 400},
		{"an empty state", "GET", "", "/callback?code=c&state=&iss=" + issuer, 400},
		{"another state", "GET", "", "/callback?code=c&state=guess&iss=" + issuer, 400},
		{"a part of the state", "GET", "", "/callback?code=c&iss=" + issuer + "&state=" + d.state[:40], 400},
		{"two states", "GET", "", "/callback?" + good + "&state=guess", 400},
		{"two codes", "GET", "", "/callback?" + good + "&code=d", 400},
		{"two issuers", "GET", "", "/callback?" + good + "&iss=x", 400},
		{"a broken query", "GET", "", "/callback?" + good + "&%zz", 400},
		{"another path", "GET", "", "/?" + good, 404},
		{"a path below", "GET", "", "/callback/?" + good, 404},
		{"POST", "POST", "", "/callback?" + good, 405},
		{"HEAD", "HEAD", "", "/callback?" + good, 405},
		{"a name that leads here", "GET", "evil.example", "/callback?" + good, 421},
		{"localhost", "GET", "localhost:1", "/callback?" + good, 421},
	} {
		r, err := http.NewRequest(test.method, strings.TrimSuffix(d.redirect, callbackPath)+test.target, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = test.host
		response, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if response.StatusCode != test.status || strings.Contains(string(body), "guess") {
			t.Errorf("%s: got %d %s, want %d", test.name, response.StatusCode, body, test.status)
		}
		wantStrict(t, response.Header)
		if !d.pending() {
			t.Fatalf("%s: was taken for the answer", test.name)
		}
	}
	p, err := visit(d.redirect + "?" + good)
	if err != nil || p.status != http.StatusOK || d.pending() {
		t.Fatalf("the answer: got %+v, %v", p, err)
	}
	wantStrict(t, p.header)
	if p, err := visit(d.redirect + "?" + good); err != nil || p.status != http.StatusBadRequest {
		t.Errorf("the answer again: got %+v, %v; want 400", p, err)
	}
	if code, err := d.wait(t.Context()); code != "c" || err != nil {
		t.Errorf("got %q, %v", code, err)
	}
}

func wantStrict(t *testing.T, h http.Header) {
	t.Helper()
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
		"Content-Type":            "text/html; charset=utf-8", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
		"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Access-Control-Allow-Origin": "",
	} {
		if got := h.Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// FuzzCallback tests the callback server with forged requests: it accepts nothing without the state, and a code only from the
// issuer.
func FuzzCallback(f *testing.F) {
	f.Add("/callback", "code=c&iss=https%3A%2F%2Fnames.example&state=s")
	f.Add("/callback", "state=s&error=access_denied")
	f.Add("/callback", "state=s;code=c")
	f.Add("//callback", "state=s&state=s")
	f.Fuzz(func(t *testing.T, path, query string) {
		d := &callbackServer{redirect: "http://127.0.0.1:1" + callbackPath, state: "s", issuer: issuer, needIss: true, answers: make(chan callbackResult, 1)}
		w := httptest.NewRecorder()
		d.ServeHTTP(w, &http.Request{Method: http.MethodGet, Host: "127.0.0.1:1", URL: &url.URL{Path: path, RawQuery: query}})
		values, _ := url.ParseQuery(query)
		if !d.pending() && (values.Get("state") != "s" || w.Code != http.StatusOK) {
			t.Errorf("%q?%q was taken with status %d", path, query, w.Code)
		}
		if !d.pending() {
			if a := <-d.answers; a.err == nil && (values.Get("iss") != issuer || a.code != values.Get("code") || a.code == "") {
				t.Errorf("%q gave the code %q", query, a.code)
			}
		}
	})
}
