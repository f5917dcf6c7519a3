package oauthas

import (
	"net/url"
	"slices"
	"strings"
	"testing"
)

func defaultRules(t testing.TB) redirectRules {
	t.Helper()
	rules, err := newRedirectRules(defaultSchemes)
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

func TestRedirectsThatMayBeRegistered(t *testing.T) {
	t.Parallel()
	rules := defaultRules(t)
	for _, c := range []struct {
		name, uri string
		want      bool
	}{
		{"https", "https://app.example/cb", true},
		{"https with a query", "https://app.example/cb?tenant=1", true},
		{"https with a port", "https://app.example:8443/cb", true},
		{"https without a path", "https://app.example", true},
		{"https on an A-label", "https://xn--bcher-kva.example/cb", true},
		{"https on an address", "https://[2001:db8::1]/cb", true},
		{"loopback IPv4", "http://127.0.0.1/cb", true},
		{"loopback IPv4 with a port", "http://127.0.0.1:33418/", true},
		{"loopback IPv6", "http://[::1]/cb", true},
		{"localhost", "http://localhost:6274/oauth/callback", true},
		{"private scheme with a dot", "com.example.app:/oauth", true},
		{"private scheme with an authority", "com.example.app://oauth/cb", true},
		{"allowed scheme", "cursor://anysphere.cursor-retrieval/oauth/cb", true},
		{"allowed scheme with a dash", "vscode-insiders://ms.vscode/cb", true},

		{"nothing", "", false},
		{"relative", "/cb", false},
		{"without a scheme", "app.example/cb", false},
		{"scheme-relative", "//app.example/cb", false},
		{"http elsewhere", "http://app.example/cb", false},
		{"http on a name that begins like loopback", "http://localhost.evil.example/cb", false},
		{"http on an address that begins like loopback", "http://127.0.0.1.evil.example/cb", false},
		{"http on another loopback address", "http://127.0.0.2/cb", false},
		{"http on a short address", "http://127.1/cb", false},
		{"http on a number", "http://2130706433/cb", false},
		{"http on localhost with a dot", "http://localhost./cb", false},
		{"http on upper-case localhost", "http://LOCALHOST/cb", false},
		{"http behind a user", "http://127.0.0.1@evil.example/cb", false},
		{"http behind a user and a port", "http://127.0.0.1:80@evil.example/cb", false},
		{"http with a bad port", "http://127.0.0.1:99999/cb", false},
		{"http with an empty port", "http://127.0.0.1:/cb", false},
		{"http on a mapped address", "http://[::ffff:127.0.0.1]/cb", false},
		{"fragment", "https://app.example/cb#x", false},
		{"empty fragment", "https://app.example/cb#", false},
		{"user", "https://user@app.example/cb", false},
		{"user and password", "https://u:p@app.example/cb", false},
		{"empty user", "https://@app.example/cb", false},
		{"wildcard host", "https://*.app.example/cb", false},
		{"wildcard path", "https://app.example/*", false},
		{"backslash", `https://app.example\@evil.example/cb`, false},
		{"space", "https://app.example/a b", false},
		{"line feed", "https://app.example/cb\nLocation: x", false},
		{"Unicode", "https://bücher.example/cb", false},
		{"escaped host", "https://app%2eexample/cb", false},
		{"no host", "https:///cb", false},
		{"opaque https", "https:app.example/cb", false},
		{"empty label", "https://app..example/cb", false},
		{"port 0", "https://app.example:0/cb", false},
		{"javascript", "javascript:alert(1)", false},
		{"javascript in capitals", "JavaScript:alert(1)", false},
		{"data", "data:text/html,x", false},
		{"vbscript", "vbscript:x", false},
		{"file", "file:///etc/passwd", false},
		{"blob", "blob:https://app.example/1", false},
		{"about", "about:blank", false},
		{"ws", "ws://app.example/cb", false},
		{"wss", "wss://app.example/cb", false},
		{"ftp", "ftp://app.example/cb", false},
		{"mailto", "mailto:a@app.example", false},
		{"private scheme without a dot", "myapp://cb", false},
		{"allowed scheme with a user", "cursor://user@cb", false},
		{"too long", "https://app.example/" + strings.Repeat("a", maxRedirectSize), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if err := rules.check(c.uri); (err == nil) != c.want {
				t.Errorf("%q: got %v, want accepted: %v", c.uri, err, c.want)
			}
		})
	}
}

func TestRedirectsOfOneClient(t *testing.T) {
	t.Parallel()
	rules := defaultRules(t)
	if err := rules.checkAll(nil); err == nil {
		t.Error("no redirect: got no error")
	}
	ten := slices.Repeat([]string{"https://app.example/cb"}, maxRedirects)
	if err := rules.checkAll(ten); err != nil {
		t.Errorf("%d redirects: got %v", len(ten), err)
	}
	if err := rules.checkAll(append(ten, ten[0])); err == nil {
		t.Errorf("%d redirects: got no error", len(ten)+1)
	}
}

func TestSchemesThatNoConfigurationAllows(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"javascript", "data", "file", "http", "Cursor", "", "a b", "1a"} {
		if _, err := newRedirectRules([]string{s}); err == nil {
			t.Errorf("allow the scheme %q: got no error", s)
		}
	}
}

// TestRedirectTricks sends authorization requests with redirect URIs that resemble the registered ones.
func TestRedirectTricks(t *testing.T) {
	t.Parallel()
	d := newSQLiteFixture(t)
	client := d.register("https://app.example/cb", "http://127.0.0.1:8000/cb", "http://localhost/cb", "cursor://anysphere/cb")
	_, challenge := pkce()
	for _, c := range []struct {
		name, uri string
		want      bool
	}{
		{"the registered one", "https://app.example/cb", true},
		{"another port on loopback", "http://127.0.0.1:41234/cb", true},
		{"no port on loopback", "http://127.0.0.1/cb", true},
		{"a port on localhost", "http://localhost:5555/cb", true},
		{"a private scheme", "cursor://anysphere/cb", true},

		{"another path", "https://app.example/cb2", false},
		{"a longer path", "https://app.example/cb/../evil", false},
		{"a slash more", "https://app.example/cb/", false},
		{"a query more", "https://app.example/cb?next=https://evil.example", false},
		{"a fragment more", "https://app.example/cb#evil", false},
		{"another host below", "https://app.example.evil.example/cb", false},
		{"a host above", "https://evil.app.example/cb", false},
		{"the host as a user", "https://app.example@evil.example/cb", false},
		{"the host in a user's password", "https://x:app.example@evil.example/cb", false},
		{"a backslash", `https://app.example\.evil.example/cb`, false},
		{"capitals", "https://APP.example/cb", false},
		{"the standard port", "https://app.example:443/cb", false},
		{"another port", "https://app.example:444/cb", false},
		{"http for https", "http://app.example/cb", false},
		{"https for loopback http", "https://127.0.0.1:8000/cb", false},
		{"localhost for the address", "http://localhost:8000/cb2", false},
		{"another loopback spelling", "http://[::1]:8000/cb", false},
		{"a loopback address with a user", "http://127.0.0.1:8000@evil.example/cb", false},
		{"a name below loopback", "http://127.0.0.1.evil.example:8000/cb", false},
		{"an escaped slash", "https://app.example%2fcb", false},
		{"an escaped letter", "https://app.example/%63b", false},
		{"a line feed", "https://app.example/cb\r\nSet-Cookie: a=b", false},
		{"a tab", "https://app.example/cb\t", false},
		{"a space before", " https://app.example/cb", false},
		{"javascript", "javascript://app.example/cb", false},
		{"another private scheme", "vscode://anysphere/cb", false},
		{"another authority of the private scheme", "cursor://evil/cb", false},
		{"a full-width dot", "https://app．example/cb", false},
		{"scheme-relative", "//app.example/cb", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := params(client, c.uri, challenge, nil)
			switch got := d.authorize(p, d.session).(type) {
			case Consent:
				if !c.want || got.RedirectURI != c.uri {
					t.Errorf("%q: got a question with %q, want one: %v", c.uri, got.RedirectURI, c.want)
				}
			case ErrorPage:
				if c.want || got.Status != 400 {
					t.Errorf("%q: got a page %v, want a question: %v", c.uri, got, c.want)
				}
			default:
				t.Errorf("%q: got %#v, want a question or a page", c.uri, got)
			}
		})
	}
	t.Run("repeated", func(t *testing.T) {
		t.Parallel()
		p := params(client, "", challenge, url.Values{"redirect_uri": {"https://app.example/cb", "https://evil.example"}})
		if got, ok := d.authorize(p, d.session).(ErrorPage); !ok {
			t.Errorf("got %#v, want a page", got)
		}
	})
	t.Run("absent with several registered", func(t *testing.T) {
		t.Parallel()
		p := params(client, "", challenge, url.Values{"redirect_uri": nil})
		if got, ok := d.authorize(p, d.session).(ErrorPage); !ok {
			t.Errorf("got %#v, want a page", got)
		}
	})
}

func FuzzRedirect(f *testing.F) {
	for _, s := range []string{"https://app.example/cb?x=1", "http://127.0.0.1:80/cb", "http://[::1]", "http://localhost:1/", "com.example.app:/x", "cursor://a"} {
		f.Add(s, s)
	}
	rules := defaultRules(f)
	f.Fuzz(func(t *testing.T, registered, requested string) {
		if rules.check(registered) != nil {
			return
		}
		u, err := url.Parse(registered)
		if err != nil || u.User != nil || u.Fragment != "" || slices.Contains(neverSchemes[:9], u.Scheme) {
			t.Fatalf("%q is accepted", registered)
		}
		if u.Scheme == "http" && !loopbackHost(u.Hostname()) {
			t.Fatalf("%q is accepted, plain http elsewhere", registered)
		}
		to := targetOf(registered)
		if to.display == "" || to.origin == "" {
			t.Fatalf("%q: got no target to show: %+v", registered, to)
		}
		if !matchRedirect(registered, registered) {
			t.Fatalf("%q does not match itself", registered)
		}
		if registered == requested || !matchRedirect(registered, requested) {
			return
		}
		// Only the port of a loopback address may differ.
		v, err := url.Parse(requested)
		if err != nil || u.Scheme != "http" || v.Scheme != "http" || u.Hostname() != v.Hostname() || u.RequestURI() != v.RequestURI() || v.User != nil {
			t.Fatalf("%q matches %q", requested, registered)
		}
	})
}
