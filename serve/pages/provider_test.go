package pages_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/namewharf/namewharf/account"
	"github.com/namewharf/namewharf/internal/oidctest"
	"github.com/namewharf/namewharf/serve/pages"
)

// visitProvider goes to the provider from a link of ours, and comes back.
func (p *user) visitProvider(t *testing.T, provider *oidctest.Provider, link string) page {
	t.Helper()
	out := p.open(link)
	p.want("to the provider", out, http.StatusSeeOther)
	back := provider.FollowAuthorize(t, out.header.Get("Location"))
	return p.open(back.RequestURI())
}

func TestProviderLeadsBack(t *testing.T) {
	t.Parallel()
	provider := oidctest.Start(t)
	w := newServer(t, withProvider(provider))
	for what, c := range map[string]struct {
		back string
		kept bool
	}{
		"nothing asked for":          {"/account", true},
		"a page":                     {"/account/apps", true},
		"a request of 4 KiB":         {authorizeURL("x", "http://127.0.0.1/cb") + "&x=" + strings.Repeat("a", 4<<10), true},
		"one with escapes all along": {authorizeURL("x", "http://127.0.0.1/cb") + "&x=" + strings.Repeat("%2F", 3800), true},
		"one beyond what is kept":    {authorizeURL("x", "http://127.0.0.1/cb") + "&x=" + strings.Repeat("a", 13<<10), false},
	} {
		want := c.back
		if !c.kept {
			want = "/account"
		}
		p := w.newUser()
		link := "/signin/with/example?" + url.Values{"return": {c.back}}.Encode()
		p.wantTo(what, p.visitProvider(t, provider, link), want)
		u, _ := url.Parse(w.base)
		if cookies := p.Jar.Cookies(u); len(cookies) != 1 {
			t.Errorf("%s: got the cookies %v afterwards, want the session", what, cookies)
		}
	}
	p := w.newUser()
	p.open("/signin/with/example?" + url.Values{"return": {"/account/apps?x=" + strings.Repeat("a", 9<<10)}}.Encode())
	p.wantTo("a short way after a long one", p.visitProvider(t, provider, "/signin/with/example?return=%2Faccount%2Fapps"), "/account/apps")
}

func TestProviderFailures(t *testing.T) {
	t.Parallel()
	provider := oidctest.Start(t)
	w := newServer(t, func(a *account.Config, c *pages.Config) {
		withProvider(provider)(a, c)
		a.Signup, c.Signup = account.Closed, account.Closed
	})
	p := w.newUser()
	p.want("a stranger where sign-up is closed", p.visitProvider(t, provider, "/signin/with/example"), http.StatusForbidden, "Sign-up is closed")
	p.want("no such provider", p.open("/signin/with/nobody"), http.StatusNotFound)
	p.want("without a flow", p.open("/signin/with/example/callback?code=x&state=y"), http.StatusForbidden, `role="alert"`)
	p.open("/signin/with/example")
	p.want("declined, for another attempt", p.open("/signin/with/example/callback?error=access_denied&state=y"), http.StatusForbidden, "another attempt")
}

func TestLinkedAccounts(t *testing.T) {
	t.Parallel()
	provider := oidctest.Start(t)
	w := newServer(t, withProvider(provider))
	p := w.newUser()
	p.visitProvider(t, provider, "/signin/with/example")
	safe := p.open("/account/security")
	p.want("linked by signing up", safe, http.StatusOK, "Unlink<span", "Set a password", "was created <bdi>at Example")
	form := url.Values{"provider": {safe.field("provider")}, "subject": {safe.field("subject")}}
	foreign := p.request("/account/security/unlink", form)
	foreign.Header.Set("Sec-Fetch-Site", "cross-site")
	p.want("unlink from elsewhere", p.send(foreign), http.StatusForbidden, "sent from another site")
	p.want("unlink the last means without a warning", p.post("/account/security/unlink", form), http.StatusConflict, "a link by mail is all that remains", `name="warned"`)
	form.Set("warned", "yes")
	for range 2 { // what is gone already is what was wanted
		p.want("unlink", p.post("/account/security/unlink", form), http.StatusOK, "is unlinked", "An account elsewhere was unlinked")
	}
}

func TestWrongMethod(t *testing.T) {
	t.Parallel()
	w := newServer(t, withNames(t, &fakeNetwork{}))
	p := w.signedInUser()
	for path, allow := range map[string]string{
		"/signin":                  "GET, HEAD, POST",
		"/signup":                  "GET, HEAD, POST",
		"/signin/link":             "GET, HEAD, POST",
		"/signin/passkey/begin":    "POST",
		"/signin/with/x":           "GET, HEAD",
		"/oauth/authorize":         "GET, HEAD, POST",
		"/account":                 "GET, HEAD",
		"/account/domains":         "GET, HEAD, POST",
		"/account/domains/bulk":    "GET, HEAD, POST",
		"/account/security/link":   "GET, HEAD, POST",
		"/account/security/unlink": "GET, HEAD, POST",
		"/account/passkeys/remove": "GET, HEAD, POST",
		"/passkey.js":              "GET, HEAD",
	} {
		r := p.request(path, nil)
		r.Method = http.MethodDelete
		got := p.send(r)
		p.want("DELETE "+path, got, http.StatusMethodNotAllowed, "does not take the method DELETE")
		if a := got.header.Get("Allow"); a != allow {
			t.Errorf("DELETE %s: got Allow %q, want %q", path, a, allow)
		}
	}
	p.want("DELETE of no page", func() page {
		r := p.request("/account/nothing", nil)
		r.Method = http.MethodDelete
		return p.send(r)
	}(), http.StatusNotFound)
}
