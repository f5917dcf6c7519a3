package pages_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"html"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/namewharf/namewharf/account"
	"github.com/namewharf/namewharf/account/portfolio"
	"github.com/namewharf/namewharf/egress"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/oauthas"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/serve/middleware"
	"github.com/namewharf/namewharf/serve/pages"
	"github.com/namewharf/namewharf/serve/rest"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
	"github.com/namewharf/namewharf/tools"
)

const (
	ada        = "ada@names.example"
	passphrase = "seven brave otters"
	verifier   = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk" // RFC 7636, appendix B
)

// mailbox is a Mailer that stores mail.
type mailbox chan account.Message

func (b mailbox) Send(_ context.Context, m account.Message) error {
	b <- m
	return nil
}

// link waits for a mail and returns the link to path in it.
func (b mailbox) link(t *testing.T, path string) string {
	t.Helper()
	for {
		select {
		case m := <-b:
			for word := range strings.FieldsSeq(m.Text) {
				if u, err := url.Parse(word); err == nil && u.Path == path {
					return word
				}
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("no mail with a link to %s came within 10 s", path)
		}
	}
}

// A server has accounts, pages and an authorization server.
type server struct {
	*testing.T
	base     string
	accounts *account.Accounts
	oauth    *oauthas.Server
	mail     mailbox
	names    pages.Portfolios // may be nil
	dns      *fakeNetwork     // of the names
}

func newServer(t *testing.T, change func(*account.Config, *pages.Config)) *server {
	t.Helper()
	return newServerWith(t, environment{}, change)
}

// environment has settings that only some tests need.
type environment struct {
	limits *middleware.Limits
	fetch  *egress.Client // of client metadata documents
}

func newServerWith(t *testing.T, around environment, change func(*account.Config, *pages.Config)) *server {
	t.Helper()
	ctx, quiet := t.Context(), slog.New(slog.DiscardHandler)
	db := storetest.Open(t, store.Config{Dir: t.TempDir()})
	s := httptest.NewUnstartedServer(nil)
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	w := &server{T: t, base: "http://localhost:" + port, mail: make(mailbox, 100)}
	accounts := account.Config{DB: db, BaseURL: w.base, Mail: w.mail, Unlimited: true}
	var cfg pages.Config
	if change != nil {
		change(&accounts, &cfg)
	}
	accounts.OnRevokeAll = func(ctx context.Context, tx store.Tx, id string) error { return w.oauth.RevokeAll(ctx, tx, id) }
	if names, ok := cfg.Portfolios.(*portfolio.Portfolio); ok {
		accounts.OnDelete, accounts.Holds = names.RemoveAll, names.Holds
	}
	var err error
	if w.oauth, err = oauthas.New(ctx, oauthas.Config{
		DB: db, Issuer: w.base, Resources: []string{w.base, w.base + "/api"}, NoLimits: true, Logger: quiet,
		Fetch: around.fetch,
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.oauth.Close)
	if w.accounts, err = account.New(ctx, accounts); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.accounts.Close)
	cfg.Accounts, cfg.OAuth, w.names = w.accounts, w.oauth, cfg.Portfolios
	cfg.Middleware = middleware.New(middleware.Config{BaseURL: w.base, Tokens: w.oauth, Limits: around.limits, Logger: quiet})
	mux := http.NewServeMux()
	site := pages.New(cfg)
	for _, pattern := range pages.Patterns() {
		mux.Handle(pattern, site)
	}
	mux.Handle("/api/oauth/", w.oauth.Handler())
	mux.Handle("/", rest.New(rest.Config{Middleware: cfg.Middleware, Set: op.NewSet(time.Now), Version: "1.0.0"}))
	s.Config.Handler = mux
	s.Start()
	t.Cleanup(s.Close)
	return w
}

// A fakeNetwork answers for DNS and the registry as a test sets it.
type fakeNetwork struct {
	mu  sync.Mutex
	txt map[fqdn.Name][]string
}

// withNames gives a server portfolios on a fake network.
func withNames(t *testing.T, w *fakeNetwork) func(*account.Config, *pages.Config) {
	return func(a *account.Config, c *pages.Config) {
		m, err := market.New(t.Context(), market.Config{DB: a.DB})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(m.Close)
		c.Portfolios = portfolio.New(portfolio.Config{
			DB: a.DB, Suffixes: fqdn.NewSuffixes([]string{"com"}, nil), DNS: w, Registry: w, Market: tools.MarketOf(m, a.DB.Now),
		})
	}
}

// TXT implements [portfolio.Resolver].
func (w *fakeNetwork) TXT(_ context.Context, label string, name fqdn.Name) ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if label != portfolio.ProofLabel {
		return nil, errors.New("another label was asked for")
	}
	return w.txt[name], nil
}

// publish sets the TXT record of a proof.
func (w *fakeNetwork) publish(name, value string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.txt == nil {
		w.txt = map[fqdn.Name][]string{}
	}
	w.txt[fqdn.MustParse(name)] = []string{value}
}

// Registration implements [portfolio.Registry].
func (w *fakeNetwork) Registration(context.Context, fqdn.Name, bool) (portfolio.Registration, error) {
	return portfolio.Registration{
		Registrar: "Harbour Registrar", RegistrarID: "9999",
		Created: time.Date(2019, 3, 4, 0, 0, 0, 0, time.UTC), Expires: time.Date(2028, 3, 4, 0, 0, 0, 0, time.UTC),
	}, nil
}

// registerClient registers an application.
func (w *server) registerClient(redirects ...string) string {
	return w.registerNamedClient("Ember <b>", redirects...)
}

func (w *server) registerNamedClient(name string, redirects ...string) string {
	w.Helper()
	body, _ := json.Marshal(map[string]any{"client_name": name, "redirect_uris": redirects})
	resp, err := http.Post(w.base+"/api/oauth/register", "application/json", strings.NewReader(string(body)))
	if err != nil {
		w.Fatal(err)
	}
	defer resp.Body.Close()
	var made struct {
		ClientID string `json:"client_id"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&made); err != nil || made.ClientID == "" {
		w.Fatalf("register: %d, %v", resp.StatusCode, err)
	}
	return made.ClientID
}

// authorizeURL is the path of an authorization request.
func authorizeURL(client, redirect string) string {
	sum := sha256.Sum256([]byte(verifier))
	return "/oauth/authorize?" + url.Values{
		"response_type": {"code"}, "client_id": {client}, "redirect_uri": {redirect}, "state": {"a b&c"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])},
	}.Encode()
}

// A user is a browser without scripts that follows no redirect by itself.
type user struct {
	*server
	http.Client
}

func (w *server) newUser() *user {
	jar, _ := cookiejar.New(nil)
	return &user{w, http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// A page is a received page.
type page struct {
	status int
	header http.Header
	text   string
}

func (p *user) send(r *http.Request) page {
	p.Helper()
	resp, err := p.Do(r)
	if err != nil {
		p.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		p.Fatal(err)
	}
	return page{resp.StatusCode, resp.Header, string(body)}
}

func (p *user) open(path string) page {
	p.Helper()
	r, err := http.NewRequest(http.MethodGet, p.base+strings.TrimPrefix(path, p.base), nil)
	if err != nil {
		p.Fatal(err)
	}
	return p.send(r)
}

func (p *user) request(path string, form url.Values) *http.Request {
	r, err := http.NewRequest(http.MethodPost, p.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		p.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("Origin", "null") // as browsers do below no-referrer
	return r
}

func (p *user) post(path string, form url.Values) page {
	p.Helper()
	return p.send(p.request(path, form))
}

func (p *user) signUp(email string) page {
	p.Helper()
	return p.post("/signup", url.Values{"email": {email}, "password": {passphrase}})
}

func (p *user) signIn(email, back string) page {
	p.Helper()
	return p.post("/signin", url.Values{"email": {email}, "password": {passphrase}, "return": {back}})
}

// signedInUser returns a user with a session.
func (w *server) signedInUser() *user {
	w.Helper()
	p := w.newUser()
	p.want("sign up", p.signUp(ada), http.StatusOK, "then sign in")
	p.want("sign in", p.signIn(ada, ""), http.StatusSeeOther)
	return p
}

// want checks the status and texts of a page, and the rules for all pages.
func (p *user) want(what string, got page, status int, texts ...string) {
	p.Helper()
	if got.status != status {
		p.Errorf("%s: got %d, want %d\n%s", what, got.status, status, got.text)
	}
	for _, text := range texts {
		if !strings.Contains(got.text, text) {
			p.Errorf("%s: the page lacks %q:\n%s", what, text, got.text)
		}
	}
	policy := got.header.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"} {
		if !strings.Contains(policy, part) {
			p.Errorf("%s: the policy %q lacks %s", what, policy, part)
		}
	}
	for name, value := range map[string]string{
		"Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "X-Frame-Options": "DENY",
		"X-Content-Type-Options": "nosniff", "Access-Control-Allow-Origin": "",
	} {
		if h := got.header.Get(name); h != value {
			p.Errorf("%s: got %s %q, want %q", what, name, h, value)
		}
	}
}

// wantTo checks the redirect of a page.
func (p *user) wantTo(what string, got page, to string) {
	p.Helper()
	p.want(what, got, http.StatusSeeOther)
	if l := got.header.Get("Location"); l != to {
		p.Errorf("%s: got a redirect to %q, want %q", what, l, to)
	}
}

var hidden = regexp.MustCompile(`name="(\w+)" value="([^"]*)"`)

// field is the first value in a form with the name.
func (p page) field(name string) string {
	for _, m := range hidden.FindAllStringSubmatch(p.text, -1) {
		if m[1] == name {
			return html.UnescapeString(m[2])
		}
	}
	return ""
}

// redeem exchanges a code for tokens.
func (w *server) redeem(code, request string) {
	w.Helper()
	u, _ := url.Parse(request)
	resp, err := http.PostForm(w.base+"/api/oauth/token", url.Values{
		"grant_type": {"authorization_code"}, "client_id": {u.Query().Get("client_id")}, "code": {code}, "code_verifier": {verifier},
	})
	if err != nil || resp.StatusCode != http.StatusOK {
		w.Fatalf("redeem: got %v, %v", resp, err)
	}
	resp.Body.Close()
}

func (p *user) cookie() string {
	u, _ := url.Parse(p.base)
	for _, c := range p.Jar.Cookies(u) {
		if c.Name == "nw_session" {
			return c.Value
		}
	}
	return ""
}
