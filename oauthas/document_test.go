package oauthas

import (
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A documentServer is an https server on loopback with the documents of clients.
type documentServer struct {
	*httptest.Server
	fetches atomic.Int64
	conns   atomic.Int64
	serve   http.HandlerFunc
}

func newDocumentServer(t testing.TB) *documentServer {
	t.Helper()
	l := &documentServer{}
	l.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.fetches.Add(1)
		l.serve(w, r)
	}))
	l.Config.ErrorLog = log.New(io.Discard, "", 0)
	l.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			l.conns.Add(1)
		}
	}
	l.StartTLS()
	t.Cleanup(l.Close)
	return l
}

// roots trusts the server.
func (l *documentServer) roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(l.Certificate())
	return pool
}

// allow lets the server fetch from loopback.
func (l *documentServer) allow(c *Config) {
	c.Fetch = DocumentClient([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, l.roots())
}

// describe serves a valid document for every path, changed by the function.
func (l *documentServer) describe(headers http.Header, change func(string) string) {
	l.serve = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		maps.Copy(w.Header(), headers)
		text := fmt.Sprintf(`{"client_id":%q,"client_name":"Ember","redirect_uris":["https://app.example/cb","http://localhost/cb","com.example.app:/cb"],`+
			`"token_endpoint_auth_method":"none","logo_uri":"https://app.example/logo.png"}`, l.URL+r.URL.RequestURI())
		if change != nil {
			text = change(text)
		}
		io.WriteString(w, text)
	}
}

func TestSignInWithDocument(t *testing.T) {
	t.Parallel()
	l := newDocumentServer(t)
	l.describe(http.Header{"Cache-Control": {"max-age=3600"}}, nil)
	each(t, func(t *testing.T, d *fixture) {
		id := l.URL + "/client.json?engine=" + string(d.cfg.DB.Engine())
		verifier, challenge := pkce()
		p := params(id, appRedirect, challenge, nil)
		consent, ok := d.authorize(p, d.session).(Consent)
		if !ok || consent.ClientHost != strings.TrimPrefix(l.URL, "https://") || consent.ClientName != "Ember" || consent.ClientID != id {
			t.Fatalf("got %#v", consent)
		}
		q := d.answerConsent(p, true)
		a := d.token(url.Values{
			"grant_type": {"authorization_code"}, "client_id": {id}, "code": {q.Get("code")},
			"code_verifier": {verifier}, "redirect_uri": {appRedirect},
		})
		if a.status != http.StatusOK {
			t.Fatalf("got %d %s", a.status, a.body)
		}
		d.renew(signedInClient{id, a.get("access_token"), a.get("refresh_token")})

		// Consent is remembered for the same request only.
		if q := query(t, d.authorize(p, d.session)); q.Get("code") == "" || q.Get("state") != "xyz" {
			t.Errorf("the same again: got %v, want a code", q)
		}
		if q := query(t, d.authorize(params(id, appRedirect, challenge, url.Values{"prompt": {"none"}}), d.session)); q.Get("code") == "" {
			t.Errorf("prompt=none: got %v, want a code", q)
		}
		for name, changes := range map[string]url.Values{
			"prompt=consent":   {"prompt": {"consent"}},
			"another scope":    {"scope": {"domains:write"}},
			"another resource": {"resource": {mcpURL}},
			"localhost":        {"redirect_uri": {"http://localhost:5000/cb"}},
			"private scheme":   {"redirect_uri": {"com.example.app:/cb"}},
		} {
			for range 2 { // the second time, too
				p := params(id, appRedirect, challenge, changes)
				_, ok := d.authorize(p, d.session).(Consent)
				if !ok {
					t.Errorf("%s: got no question", name)
					break
				}
				if name == "localhost" || name == "private scheme" || name == "prompt=consent" {
					d.answerConsent(p, true)
				}
			}
		}
		other := SessionRef{ID: "ses_9", AccountID: "acc_9"}
		if got, ok := d.authorize(p, other).(Consent); !ok {
			t.Errorf("another account: got %#v, want a question", got)
		}
		grants, err := d.Grants(t.Context(), "acc_1")
		if err != nil || len(grants) != 1 || grants[0].ClientHost != consent.ClientHost {
			t.Fatalf("got %+v, %v", grants, err)
		}
		if err := d.RevokeGrant(t.Context(), "acc_1", grants[0].ID); err != nil {
			t.Fatal(err)
		}
		if got, ok := d.authorize(p, d.session).(Consent); !ok {
			t.Errorf("after the grant was revoked: got %#v, want a question", got)
		}
	}, l.allow)
}

func TestDocumentsThatAreRefused(t *testing.T) {
	t.Parallel()
	_, challenge := pkce()
	replace := func(old, replacement string) func(*documentServer) {
		return func(l *documentServer) {
			l.describe(nil, func(s string) string {
				if !strings.Contains(s, old) {
					panic("nothing to replace")
				}
				return strings.Replace(s, old, replacement, 1)
			})
		}
	}
	for _, c := range []struct {
		name  string
		serve func(*documentServer)
	}{
		{"another client_id", replace(`/client.json`, `/other.json`)},
		{"no client_id", replace(`"client_id"`, `"x"`)},
		{"a secret method", replace(`"none"`, `"client_secret_post"`)},
		{"a key method", replace(`"none"`, `"private_key_jwt"`)},
		{"a secret", replace(`"logo_uri"`, `"client_secret":"s","logo_uri"`)},
		{"no redirects", replace(`"redirect_uris"`, `"x"`)},
		{"a bad redirect", replace(`com.example.app:/cb`, `javascript:alert(1)`)},
		{"our name", replace(`Ember`, `Namewharf`)},
		{"our name in small capitals", replace(`Ember`, `ɴᴀᴍᴇᴡʜᴀʀꜰ`)},
		{"a name in two alphabets", replace(`Ember`, `Емber`)},
		{"no JSON", func(l *documentServer) { l.describe(nil, func(string) string { return "<html>" }) }},
		{"too large", func(l *documentServer) {
			l.describe(nil, func(s string) string { return s + strings.Repeat(" ", maxDocument) })
		}},
		{"another type", func(l *documentServer) { l.describe(http.Header{"Content-Type": {"text/html"}}, nil) }},
		{"a redirect", func(l *documentServer) {
			l.serve = func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, l.URL+"/elsewhere", http.StatusFound)
			}
		}},
		{"not found", func(l *documentServer) { l.serve = http.NotFound }},
		{"a broken answer", func(l *documentServer) {
			l.serve = func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Content-Length", "100")
				io.WriteString(w, "{")
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newDocumentServer(t)
			c.serve(l)
			d := newSQLiteFixture(t, l.allow)
			p := params(l.URL+"/client.json", appRedirect, challenge, nil)
			for _, session := range []SessionRef{d.session, {}} {
				if got, ok := d.authorize(p, session).(ErrorPage); !ok || got.Status != http.StatusBadRequest {
					t.Errorf("got %#v, want a page with 400", got)
				}
			}
			if n := l.fetches.Load(); n != 2 {
				t.Errorf("got %d fetches, want one for each request: neither followed nor remembered", n)
			}
			l.describe(nil, nil)
			if got, ok := d.authorize(p, d.session).(Consent); !ok {
				t.Errorf("once it is mended: got %#v, want a question", got)
			}
		})
	}
}

func TestDocumentsAreKeptAsTheySay(t *testing.T) {
	t.Parallel()
	_, challenge := pkce()
	for _, c := range []struct {
		name    string
		headers http.Header
		after   time.Duration
		want    int64 // fetches
	}{
		{"max-age", http.Header{"Cache-Control": {"public, max-age=60"}}, 59 * time.Second, 1},
		{"max-age is over", http.Header{"Cache-Control": {"max-age=60"}}, time.Minute, 2},
		{"max-age of a week is a day", http.Header{"Cache-Control": {"max-age=604800"}}, 24 * time.Hour, 2},
		{"nearly a day", http.Header{"Cache-Control": {"max-age=604800"}}, 24*time.Hour - time.Second, 1},
		{"age counts", http.Header{"Cache-Control": {"max-age=60"}, "Age": {"50"}}, 11 * time.Second, 2},
		{"expires", http.Header{"Expires": {"Sat, 21 Nov 2026 12:01:00 GMT"}}, 59 * time.Second, 1},
		{"expires is over", http.Header{"Expires": {"Sat, 21 Nov 2026 12:01:00 GMT"}}, time.Minute, 2},
		{"no-store", http.Header{"Cache-Control": {"no-store, max-age=60"}}, 0, 2},
		{"no-cache", http.Header{"Cache-Control": {"no-cache"}}, 0, 2},
		{"nothing", nil, 0, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newDocumentServer(t)
			l.describe(c.headers, nil)
			d := newSQLiteFixture(t, l.allow)
			p := params(l.URL+"/client.json", appRedirect, challenge, nil)
			d.authorize(p, d.session)
			d.clock.advance(c.after)
			d.authorize(p, d.session)
			if got := l.fetches.Load(); got != c.want {
				t.Errorf("got %d fetches, want %d", got, c.want)
			}
		})
	}
}

// TestDocumentsFromInside requests documents at internal addresses.
func TestDocumentsFromInside(t *testing.T) {
	t.Parallel()
	l := newDocumentServer(t)
	l.describe(nil, nil)
	d := newSQLiteFixture(t, func(c *Config) { c.Fetch = DocumentClient(nil, l.roots()) })
	_, challenge := pkce()
	_, port, _ := strings.Cut(strings.TrimPrefix(l.URL, "https://"), ":")
	for _, id := range []string{
		l.URL + "/client.json",
		"https://localhost:" + port + "/client.json",
		"https://[::1]:" + port + "/client.json",
		"https://[::ffff:127.0.0.1]:" + port + "/client.json",
		"https://127.1:" + port + "/client.json",
		"https://2130706433:" + port + "/client.json",
		"https://0x7f000001:" + port + "/client.json",
		"https://0.0.0.0:" + port + "/client.json",
		"https://127.0.0.1/client.json",
		"https://10.0.0.1/client.json",
		"https://192.168.0.1/client.json",
		"https://172.16.0.1/client.json",
		"https://100.64.0.1/client.json",
		"https://169.254.169.254/latest/meta-data",
		"https://[fd00:ec2::254]/latest/meta-data",
		"https://[fe80::1]/client.json",
		"https://[64:ff9b::7f00:1]/client.json",
		"https://user@127.0.0.1:" + port + "/client.json",
		"https://127.0.0.1:" + port + "/client.json#x",
		"http://127.0.0.1:" + port + "/client.json",
		"file:///etc/passwd",
	} {
		got, ok := d.authorize(params(id, appRedirect, challenge, nil), d.session).(ErrorPage)
		if !ok || got.Status != http.StatusBadRequest {
			t.Errorf("%s: got %#v, want a page with 400", id, got)
		}
		if strings.Contains(got.Text+got.Detail, "refused") || strings.Contains(got.Detail, "127.0.0.1") {
			t.Errorf("%s: the page tells what is there: %+v", id, got)
		}
	}
	if n := l.conns.Load(); n != 0 {
		t.Errorf("got %d connections, want none", n)
	}
}

func TestSlowDocument(t *testing.T) {
	t.Parallel()
	l := newDocumentServer(t)
	release := make(chan struct{})
	l.serve = func(http.ResponseWriter, *http.Request) { <-release }
	d := newSQLiteFixture(t, l.allow)
	_, challenge := pkce()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := d.Authorize(ctx, AuthorizeRequest{Params: params(l.URL+"/client.json", appRedirect, challenge, nil), Session: d.session})
	if err == nil || ctx.Err() == nil {
		t.Errorf("got %v, want the end of the context", err)
	}
	close(release)
}

func TestOneFetchForMany(t *testing.T) {
	t.Parallel()
	l := newDocumentServer(t)
	l.describe(http.Header{"Cache-Control": {"max-age=60"}}, nil)
	d := newSQLiteFixture(t, l.allow)
	_, challenge := pkce()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, ok := d.authorize(params(l.URL+"/client.json", appRedirect, challenge, nil), d.session).(Consent); !ok {
				t.Error("got no question")
			}
		})
	}
	wg.Wait()
	if n := l.fetches.Load(); n != 1 {
		t.Errorf("got %d fetches, want 1", n)
	}
}

func FuzzDocumentID(f *testing.F) {
	f.Add("https://app.example/client.json")
	f.Add("https://app.example/a/../b?x=1")
	f.Add("https://u@app.example:8443/%2e%2e/")
	f.Fuzz(func(t *testing.T, id string) {
		if checkDocumentID(id) != nil {
			return
		}
		u, err := url.Parse(id)
		if err != nil || u.Scheme != "https" || u.User != nil || u.Fragment != "" || len(u.Path) < 2 || documentHost(id) == "" {
			t.Fatalf("%q is accepted", id)
		}
		for segment := range strings.SplitSeq(u.Path, "/") {
			if segment == "." || segment == ".." {
				t.Fatalf("%q is accepted", id)
			}
		}
	})
}
