package clilogin

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/namewharf/namewharf/fault"
)

func (w *fixture) send(l *Login, method, at string, body io.Reader) (int, string, error) {
	w.Helper()
	r, err := http.NewRequestWithContext(w.Context(), method, at, body)
	if err != nil {
		w.Fatal(err)
	}
	response, err := (&http.Client{Transport: l.Transport()}).Do(r)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

func TestTransport(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	dir := t.TempDir()
	l := w.login(dir)
	want := func(what string, body io.Reader, status int, text string) {
		t.Helper()
		if gotStatus, got, err := w.send(l, "POST", w.base+"/api/echo", body); err != nil || gotStatus != status || got != text {
			t.Errorf("%s: got %d %q, %v; want %d %q", what, gotStatus, got, err, status, text)
		}
	}
	want("not signed in", strings.NewReader("hello"), 200, "POST nobody hello")
	w.signedIn(dir)
	want("signed in meanwhile", strings.NewReader("hello"), 200, "POST acc_1 [pricing:read] hello")
	w.revoke(w.token(l))
	want("the token was revoked", strings.NewReader("hello"), 200, "POST acc_1 [pricing:read] hello")
	w.revoke(w.token(l))
	want("the token was revoked, and there is no body", nil, 200, "POST acc_1 [pricing:read] ")
	w.revoke(w.token(l))
	want("the token was revoked, and the body cannot be had again", io.MultiReader(strings.NewReader("hello")), 401, "")
	want("the next request", strings.NewReader("hello"), 200, "POST acc_1 [pricing:read] hello")
	if n := w.count("/api/oauth/token refresh_token"); n != 3 {
		t.Errorf("got %d renewals, want 3", n)
	}
	grants, err := w.oauth.Grants(t.Context(), ada.AccountID)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.oauth.RevokeGrant(t.Context(), ada.AccountID, grants[0].ID); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		body := &closed{Reader: strings.NewReader("hello")}
		if _, _, err := w.send(l, "POST", w.base+"/api/echo", body); !fault.Is(err, fault.InvalidToken) || body.n == 0 {
			t.Errorf("the sign-in has ended: got %v, the body closed %d times", err, body.n)
		}
	}
	if err := l.SignOut(t.Context()); err != nil {
		t.Fatal(err)
	}
	want("signed out", strings.NewReader("hello"), 200, "POST nobody hello")
}

type closed struct {
	io.Reader
	n int
}

func (c *closed) Close() error { c.n++; return nil }

// revoke ends an access token and leaves its grant.
func (w *fixture) revoke(token string) {
	w.Helper()
	response, err := http.PostForm(w.base+"/api/oauth/revoke", url.Values{"token": {token}})
	if err != nil || response.StatusCode != http.StatusOK {
		w.Fatalf("revoke: %v", err)
	}
	_ = response.Body.Close()
}

// The token goes only to its resource, also after a redirect.
func TestTokenGoesToItsResourceOnly(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	l := w.signedIn(t.TempDir())
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if h := r.Header.Get("Authorization"); h != "" {
			t.Errorf("%s was sent %q", r.URL, h[:min(len(h), 10)])
		}
	}))
	t.Cleanup(elsewhere.Close)
	if _, _, err := w.send(l, "GET", elsewhere.URL+"/api/echo", nil); err != nil {
		t.Error(err)
	}
	home := strings.TrimPrefix(w.base, "http://")
	for at, covered := range map[string]bool{
		w.base + "/api": true, w.base + "/api/": true, w.base + "/api/domain/search?q=a": true, "http://" + strings.ToUpper(home) + "/api": true,
		w.base: false, w.base + "/": false, w.base + "/apis": false, w.base + "/mcp": false, w.base + "/%61pi/x": false,
		"https://" + home + "/api": false, "http://127.0.0.1/api": false, "http://" + home + ".evil.example/api": false,
	} {
		u, err := url.Parse(at)
		if err != nil {
			continue // such as a port with a name behind it
		}
		if got := l.covers(u); got != covered {
			t.Errorf("%s: covered %v, want %v", at, got, covered)
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), "GET", w.base+"/api/echo", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer mine")
	response, err := l.Transport().RoundTrip(r)
	if err != nil || response.StatusCode != http.StatusUnauthorized || r.Header.Get("Authorization") != "Bearer mine" {
		t.Errorf("a token of the caller's own: got %v, %v; want it to be sent, and rejected", response, err)
	}
	_ = response.Body.Close()
	cut := w.login(t.TempDir(), func(o *Options) { o.Transport = offline{} })
	if _, _, err := w.send(cut, "GET", w.base+"/api/echo", nil); err == nil || errors.Is(err, ErrNotSignedIn) {
		t.Errorf("without a network: got %v", err)
	}
}
