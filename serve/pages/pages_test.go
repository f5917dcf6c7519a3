package pages_test

import (
	"crypto/x509"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/account"
	"github.com/namewharf/namewharf/account/portfolio"
	"github.com/namewharf/namewharf/oauthas"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/serve/middleware"
	"github.com/namewharf/namewharf/serve/pages"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

func TestConsentWithoutScripts(t *testing.T) {
	t.Parallel()
	w := newServer(t, nil)
	p := w.newUser()
	p.signUp(ada)
	const redirect = "http://127.0.0.1:49152/cb"
	request := authorizeURL(w.registerClient("http://127.0.0.1/cb"), redirect)

	away := p.open(request)
	p.want("not signed in", away, http.StatusSeeOther)
	form := p.open(away.header.Get("Location"))
	p.want("sign-in page", form, http.StatusOK, `<label for="email">`, `<label for="password">`)
	if policy := form.header.Get("Content-Security-Policy"); !strings.Contains(policy, "form-action 'self' http://127.0.0.1:49152;") {
		t.Errorf("the sign-in page's policy %q does not name where it may end", policy)
	}
	in := p.signIn(ada, form.field("return"))
	back, err := url.Parse(in.header.Get("Location"))
	if err != nil || back.Path != "/oauth/authorize" || back.Host != "" || back.Query().Get("state") != "a b&c" {
		t.Fatalf("after sign-in: got %d to %v, want the request again", in.status, back)
	}
	question := p.open(in.header.Get("Location"))
	p.want("question", question, http.StatusOK, "Ember &lt;b&gt;", "127.0.0.1:49152", ada, "The name is not verified", "See marketplace prices",
		`<button name="answer" value="deny">Deny</button>`, `<button name="answer" value="allow">Allow</button>`)
	if policy := question.header.Get("Content-Security-Policy"); !strings.Contains(policy, "form-action 'self' http://127.0.0.1:49152") {
		t.Errorf("the consent page's policy %q does not name the redirect", policy)
	}

	allow := url.Values{"interaction": {question.field("interaction")}, "answer": {"allow"}}
	stranger := p.request("/oauth/authorize", allow)
	stranger.Header.Set("Sec-Fetch-Site", "cross-site")
	p.want("the answer from elsewhere", p.send(stranger), http.StatusForbidden, "sent from another site")
	other := w.newUser()
	p.want("the answer in no session", other.post("/oauth/authorize", allow), http.StatusBadRequest)

	done := p.post("/oauth/authorize", allow)
	p.want("allow", done, http.StatusSeeOther)
	u, _ := url.Parse(done.header.Get("Location"))
	if q := u.Query(); !strings.HasPrefix(u.String(), redirect+"?") || q.Get("code") == "" || q.Get("state") != "a b&c" || q.Get("iss") != w.base {
		t.Errorf("allow: got %s, want a code at %s", u, redirect)
	}
	p.want("the answer a second time", p.post("/oauth/authorize", allow), http.StatusBadRequest, "answered already")

	question = p.open(request)
	denied := p.post("/oauth/authorize", url.Values{"interaction": {question.field("interaction")}, "answer": {"deny"}})
	if u, _ := url.Parse(denied.header.Get("Location")); u.Query().Get("error") != "access_denied" || u.Query().Has("code") {
		t.Errorf("deny: got %s, want access_denied", u)
	}

	w.redeem(u.Query().Get("code"), request)
	apps := p.open("/account/apps")
	p.want("apps", apps, http.StatusOK, "Ember &lt;b&gt;", "Last used", "Disconnect")
	p.want("revoke", p.post("/account/apps", url.Values{"grant": {apps.field("grant")}}), http.StatusOK, "No app is connected")
}

// The application chooses its name freely, but not the host of its document or its redirect URI.
func TestConsentSaysWhoAsks(t *testing.T) {
	t.Parallel()
	const far = "https://xn--bcher-kva.example/cb"
	var document []byte
	site := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(document)
	}))
	t.Cleanup(site.Close)
	id := site.URL + "/app.json"
	document, err := json.Marshal(map[string]any{"client_id": id, "client_name": "Ember", "redirect_uris": []string{far}, "token_endpoint_auth_method": "none"})
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(site.Certificate())
	fetch := oauthas.DocumentClient([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, roots)
	w := newServerWith(t, environment{fetch: fetch}, nil)
	p := w.signedInUser()
	host := strings.TrimPrefix(site.URL, "https://")
	got := p.open(authorizeURL(id, far) + "&scope=pricing%3Aread+domains%3Awrite")
	p.want("of a document", got, http.StatusOK, "calls itself <strong><bdi>Ember</bdi></strong>", "The name is not verified", "<code>"+host+"</code>",
		"<code>xn--bcher-kva.example</code>", ada, "See marketplace prices", "Manage your domain names")
	got = p.open(authorizeURL(w.registerNamedClient("", far), far))
	p.want("without a name", got, http.StatusOK, "An app without a name asks", "<code>xn--bcher-kva.example</code>")
	if strings.Contains(got.text, "Described by") {
		t.Errorf("an app that registered itself is described by somebody:\n%s", got.text)
	}
}

func TestBadRequestsDoNotRedirect(t *testing.T) {
	t.Parallel()
	w := newServer(t, nil)
	p := w.signedInUser()
	known := w.registerClient("https://app.example/cb")
	for what, path := range map[string]string{
		"unknown client":        authorizeURL("nobody", "https://app.example/cb"),
		"unregistered redirect": authorizeURL(known, "https://app.example/other"),
		"no parameters":         "/oauth/authorize",
	} {
		got := p.open(path)
		p.want(what, got, http.StatusBadRequest, `role="alert"`)
		if l := got.header.Get("Location"); l != "" {
			t.Errorf("%s: got a redirect to %s", what, l)
		}
	}
	silent := w.newUser().open(authorizeURL(known, "https://app.example/cb") + "&prompt=none")
	p.want("prompt=none with nobody there", silent, http.StatusBadRequest)
	got := p.open(authorizeURL(known, "https://app.example/cb") + "&scope=all")
	if l := got.header.Get("Location"); !strings.HasPrefix(l, "https://app.example/cb?error=invalid_scope") {
		t.Errorf("bad scope of a signed-in person: got %d to %q", got.status, l)
	}
}

func TestReturnsToOwnPathsOnly(t *testing.T) {
	t.Parallel()
	w := newServer(t, nil)
	p := w.signedInUser()
	for back, want := range map[string]string{
		"":                             "/account",
		"/account/apps":                "/account/apps",
		"/account/domains?after=a.com": "/account/domains?after=a.com",
		"/oauth/authorize?x=%2F%2Fa":   "/oauth/authorize?x=%2F%2Fa",
		"//evil.example":               "/account",
		"///evil.example/account":      "/account",
		`/\evil.example`:               "/account",
		"/\t/evil.example":             "/account",
		"https://evil.example/account": "/account",
		"https:/account":               "/account",
		"javascript:alert(1)":          "/account",
		"/account/../signout":          "/account",
		"/account/%2e%2e/signout":      "/account",
		"/account#x":                   "/account",
		"/signout":                     "/account",
		"/account@evil.example":        "/account",
		"/\r\nX: y":                    "/account",
	} {
		p.wantTo("sign in for "+back, p.signIn(ada, back), want)
		p.wantTo("signed in already for "+back, p.open("/signin?"+url.Values{"return": {back}}.Encode()), want)
	}
}

func TestAccountsAreNotRevealed(t *testing.T) {
	t.Parallel()
	w := newServer(t, nil)
	w.newUser().signUp(ada)
	const nobody = "bob@names.example"
	for what, do := range map[string]func(p *user, email string) page{
		"wrong password": func(p *user, email string) page {
			return p.post("/signin", url.Values{"email": {email}, "password": {"not the one"}})
		},
		"link":  func(p *user, email string) page { return p.post("/signin/mail", url.Values{"email": {email}}) },
		"reset": func(p *user, email string) page { return p.post("/forgot", url.Values{"email": {email}}) },
		"sign-up": func(p *user, email string) page {
			return p.post("/signup", url.Values{"email": {email}, "password": {"three calm herons"}})
		},
	} {
		known, unknown := do(w.newUser(), ada), do(w.newUser(), nobody)
		if what == "sign-up" {
			unknown = do(w.newUser(), "fresh@names.example")
			unknown.text = strings.ReplaceAll(unknown.text, "fresh@names.example", nobody)
		}
		known.text = strings.ReplaceAll(known.text, ada, nobody)
		if known.status != unknown.status || known.text != unknown.text || !slices.Equal(cookies(known), cookies(unknown)) {
			t.Errorf("%s: a known address gets %d %v\n%s\nan unknown one %d %v\n%s", what,
				known.status, known.header, known.text, unknown.status, unknown.header, unknown.text)
		}
	}
}

// cookies lists the cookies that a page sets, with secrets replaced by their length.
func cookies(p page) []string {
	all := slices.Clone(p.header["Set-Cookie"])
	for i, c := range all {
		all[i] = regexp.MustCompile(`_[\w-]{43};`).ReplaceAllString(c, "_SECRET;")
	}
	return all
}

func TestSessionCookie(t *testing.T) {
	t.Parallel()
	w := newServer(t, nil)
	p := w.signedInUser()
	first := p.cookie()
	in := p.signIn(ada, "")
	set := in.header.Get("Set-Cookie")
	for _, part := range []string{"nw_session=nw_ss_", "Path=/", "HttpOnly", "SameSite=Lax", "Max-Age=2592000"} {
		if !strings.Contains(set, part) {
			t.Errorf("cookie: got %q, want it to have %s", set, part)
		}
	}
	if strings.Contains(set, "Secure") || strings.Contains(set, "Domain") {
		t.Errorf("cookie over http on loopback: got %q", set)
	}
	if _, err := w.accounts.Session(t.Context(), first); err == nil || p.cookie() == first {
		t.Error("the session from before a sign-in is good after it")
	}
	token := p.cookie()
	p.want("sign out", p.post("/signout", nil), http.StatusOK, "You are signed out")
	if _, err := w.accounts.Session(t.Context(), token); err == nil || p.cookie() != "" {
		t.Error("the session is good after the sign-out")
	}
	p.wantTo("account without a session", p.open("/account/apps"), "/signin?return=%2Faccount%2Fapps")
	p.wantTo("form without a session", p.post("/account/security/password", nil), "/signin?return=%2Faccount%2Fsecurity")
}

func TestSecureCookie(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t, store.Config{Dir: t.TempDir()})
	accounts, err := account.New(t.Context(), account.Config{DB: db, BaseURL: "https://names.example", Unlimited: true})
	if err != nil {
		t.Fatal(err)
	}
	defer accounts.Close()
	oauth, err := oauthas.New(t.Context(), oauthas.Config{DB: db, Issuer: "https://names.example", Resources: []string{"https://names.example"}})
	if err != nil {
		t.Fatal(err)
	}
	defer oauth.Close()
	if _, err := accounts.Create(t.Context(), ada, passphrase); err != nil {
		t.Fatal(err)
	}
	site := pages.New(pages.Config{
		Accounts: accounts, OAuth: oauth,
		Middleware: middleware.New(middleware.Config{BaseURL: "https://names.example", Tokens: oauth, Logger: slog.New(slog.DiscardHandler)}),
	})
	r := httptest.NewRequest(http.MethodPost, "/signin", strings.NewReader(url.Values{"email": {ada}, "password": {passphrase}}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	got := httptest.NewRecorder()
	site.ServeHTTP(got, r)
	set := got.Header().Get("Set-Cookie")
	if !strings.HasPrefix(set, "__Host-nw_session=") || !strings.Contains(set, "; Secure") || strings.Contains(set, "Domain") {
		t.Errorf("cookie over https: got %q", set)
	}
}

func TestFormsOfOthersAreRefused(t *testing.T) {
	t.Parallel()
	w := newServer(t, nil)
	p := w.signedInUser()
	for _, path := range []string{
		"/signup", "/signin", "/signout", "/signin/mail", "/signin/link", "/verify", "/forgot", "/reset", "/account/apps", "/account/sessions",
		"/account/security/password", "/account/security/link", "/account/passkeys/remove", "/account/passkeys/begin", "/signin/passkey/finish",
		"/account/security/unlink", "/account/export", "/account/delete", "/signin/again", "/signin/again/mail",
	} {
		for _, site := range []string{"cross-site", "same-site"} {
			r := p.request(path, url.Values{"email": {ada}, "password": {passphrase}, "session": {"all"}})
			r.Header.Set("Sec-Fetch-Site", site)
			p.want(site+" "+path, p.send(r), http.StatusForbidden, "othing was changed")
		}
	}
	p.want("still signed in", p.open("/account"), http.StatusOK, ada)
}

func TestLinksByMail(t *testing.T) {
	t.Parallel()
	w := newServer(t, nil)
	p := w.signedInUser()
	verify := w.mail.link(t, account.VerifyPath)
	for range 2 { // a mail scanner looks first
		p.want("link", p.open(verify), http.StatusOK, "Confirm</button>")
	}
	token := url.Values{"token": {p.open(verify).field("token")}}
	p.want("verify", p.post("/verify", token), http.StatusOK, "address is confirmed", ">confirmed<")
	p.want("verify again", p.post("/verify", token), http.StatusForbidden, "Ask for another")

	other := w.newUser()
	other.want("ask for a link", other.post("/signin/mail", url.Values{"email": {ada}}), http.StatusOK, "we sent a link")
	link := other.open(w.mail.link(t, account.LinkPath))
	other.wantTo("use the link", other.post("/signin/link", url.Values{"token": {link.field("token")}}), "/account")
	other.want("by the link", other.open("/account/sessions"), http.StatusOK, "This browser", "Another browser")

	other.post("/forgot", url.Values{"email": {ada}})
	reset := other.open(w.mail.link(t, account.ResetPath)).field("token")
	bad := other.post("/reset", url.Values{"token": {reset}, "password": {"short"}})
	other.want("bad password", bad, http.StatusBadRequest, `aria-invalid="true"`, "The password must be at least 8 characters.", "<title>Error: ")
	fresh := url.Values{"token": {reset}, "password": {"three calm herons"}}
	other.want("reset", other.post("/reset", fresh), http.StatusOK, "The password is set")
	p.wantTo("signed out by it", p.open("/account"), "/signin")
	p.want("the old password", p.signIn(ada, ""), http.StatusForbidden, "password is wrong")
}

func TestAccountPages(t *testing.T) {
	t.Parallel()
	w := newServer(t, nil)
	p := w.signedInUser()
	p.want("overview", p.open("/account"), http.StatusOK, ada, "not confirmed yet", `aria-current="page"`)
	p.want("passkeys", p.open("/account/passkeys"), http.StatusOK, "Add a passkey", "/passkey.js")
	p.want("security", p.open("/account/security"), http.StatusOK, "The account was created", "with a password")
	p.want("unknown", p.open("/account/nothing"), http.StatusNotFound, "There is no such page.")
	p.want("no domains here", p.open("/account/domains"), http.StatusNotFound)
	wrong := p.post("/account/security/password", url.Values{"current": {"not the one"}, "password": {"three calm herons"}})
	p.want("wrong current password", wrong, http.StatusForbidden, "password is wrong")
	before := p.cookie()
	changed := p.post("/account/security/password", url.Values{"current": {passphrase}, "password": {"three calm herons"}})
	p.want("change", changed, http.StatusOK, "The password is changed")
	if _, err := w.accounts.Session(t.Context(), before); err == nil {
		t.Error("the session is good after the password changed")
	}
}

func TestSignUpModes(t *testing.T) {
	t.Parallel()
	t.Run("closed", func(t *testing.T) {
		t.Parallel()
		p := newServer(t, func(a *account.Config, c *pages.Config) { a.Signup, c.Signup = account.Closed, account.Closed }).newUser()
		p.want("page", p.open("/signup"), http.StatusOK, "Sign-up is closed")
		p.want("post", p.signUp(ada), http.StatusForbidden, "Sign-up is closed")
	})
	t.Run("invite", func(t *testing.T) {
		t.Parallel()
		p := newServer(t, func(a *account.Config, c *pages.Config) { a.Signup, c.Signup = account.Invite, account.Invite }).newUser()
		p.want("page", p.open("/signup"), http.StatusOK, "needs an invitation")
		link, err := p.accounts.Invite(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		form := url.Values{"email": {ada}, "password": {passphrase}, "invite": {p.open(link).field("invite")}}
		p.want("with it", p.post("/signup", form), http.StatusOK, "then sign in")
		form.Set("email", "bob@names.example")
		p.want("with it again", p.post("/signup", form), http.StatusForbidden, "invitation")
	})
}

// Unlimited proof checks would let one user overload the DNS client for all.
func TestProofChecksAreLimited(t *testing.T) {
	t.Parallel()
	limits := middleware.NewLimits(map[op.Class]middleware.Quota{op.Lookup: {Anonymous: 1, SignedIn: 2}, op.Read: {Anonymous: 100, SignedIn: 100}, op.Page: {Anonymous: 100, SignedIn: 100}}, time.Now)
	w := newServerWith(t, environment{limits: limits}, withNames(t, &fakeNetwork{}))
	p := w.signedInUser()
	one := url.Values{"domain": {"ember.com"}, "do": {"add"}}
	p.want("add", p.post("/account/domains", one), http.StatusOK, "is on your list")
	one.Set("do", "verify")
	for range 2 {
		p.want("verify", p.post("/account/domains", one), http.StatusConflict, "not in the DNS")
	}
	many := url.Values{"names": {"ember.com"}, "op": {"verify"}, "do": {"preview"}}
	for what, got := range map[string]page{"one": p.post("/account/domains", one), "many": p.post("/account/domains/bulk", many)} {
		p.want(what+" beyond the limit", got, http.StatusTooManyRequests, `role="alert"`)
		if got.header.Get("Retry-After") == "" {
			t.Errorf("%s beyond the limit: there is no Retry-After", what)
		}
	}
	many.Set("op", "remove")
	p.want("without queries", p.post("/account/domains/bulk", many), http.StatusOK, "1 of 1 would succeed")
}

// A form that adds a thousand names draws as much as a thousand forms with one, even if it fails.
func TestAddingNamesIsCharged(t *testing.T) {
	t.Parallel()
	limits := middleware.NewLimits(map[op.Class]middleware.Quota{
		op.Read: {Anonymous: 10, SignedIn: 10}, op.Page: {Anonymous: 100, SignedIn: 20},
	}, time.Now)
	w := newServerWith(t, environment{limits: limits}, withNames(t, &fakeNetwork{}))
	p := w.signedInUser()
	many := url.Values{"names": {strings.Repeat("ember.com ", 8)}, "op": {"add"}, "do": {"preview"}}
	p.want("eight of ten", p.post("/account/domains/bulk", many), http.StatusOK, "8 of 8 would succeed")
	p.want("eight more", p.post("/account/domains/bulk", many), http.StatusTooManyRequests, `role="alert"`)
	one := url.Values{"domain": {"ember.com"}, "do": {"add"}}
	p.want("the ninth", p.post("/account/domains", one), http.StatusOK, "is on your list")
	p.want("the tenth", p.post("/account/domains", one), http.StatusOK, "is on your list")
	p.want("the eleventh", p.post("/account/domains", one), http.StatusTooManyRequests, `role="alert"`)
	bad := url.Values{"domain": {"a b"}, "do": {"add"}}
	for range 30 {
		if got := p.post("/account/domains", bad); got.status == http.StatusTooManyRequests {
			return
		}
	}
	t.Error("30 forms that failed: none is refused for its rate")
}

func TestPricesAsAPersonWritesThem(t *testing.T) {
	t.Parallel()
	w := newServer(t, withNames(t, &fakeNetwork{}))
	p := w.signedInUser()
	p.post("/account/domains", url.Values{"domain": {"ember.com"}, "do": {"add"}})
	for price, shown := range map[string]string{
		"1200": "1,200.00 USD", "1200.5": "1,200.50 USD", " 1,200.50 ": "1,200.50 USD", "1,234,567": "1,234,567.00 USD", "0.01": "0.01 USD",
		"12,50": "", "1,2000": "", "1.200,50": "", "0": "", "-5": "", "1e3": "", "": "", "$5": "", "1.234": "",
	} {
		got := p.post("/account/domains", url.Values{"domain": {"ember.com"}, "do": {"list"}, "price": {price}})
		if shown == "" {
			p.want("price "+price, got, http.StatusBadRequest, "must be an amount", `aria-invalid="true"`)
			continue
		}
		p.want("price "+price, got, http.StatusOK, ">"+shown+"<")
	}
}

func TestManyNames(t *testing.T) {
	t.Parallel()
	w := newServer(t, withNames(t, &fakeNetwork{}))
	p := w.signedInUser()
	var names strings.Builder
	for i := range portfolio.MaxChange {
		fmt.Fprintf(&names, "%060d.com\r\n", i)
	}
	form := url.Values{"names": {names.String()}, "op": {"add"}, "do": {"apply"}}
	p.want("a thousand", p.post("/account/domains/bulk", form), http.StatusOK, "1000 of 1000 succeeded")
	p.want("their list", p.open("/account/domains"), http.StatusOK, "More names")
	p.want("one of a later page", p.post("/account/domains", url.Values{"domain": {"zebra.com"}, "do": {"add"}}), http.StatusOK, "_namewharf.zebra.com")
	for what, c := range map[string]struct {
		name, value, text string
	}{
		"too many":   {"names", names.String() + "one.com", "may hold 1000 names; these are 1001"},
		"none":       {"names", " , ", "is empty"},
		"no op":      {"op", "sell", "has no action"},
		"no price":   {"op", "list", "must be an amount"},
		"too little": {"op", "set_price", "must be an amount"},
	} {
		bad := url.Values{"names": {"one.com"}, "op": {"add"}, "do": {"apply"}}
		bad.Set(c.name, c.value)
		p.want(what, p.post("/account/domains/bulk", bad), http.StatusBadRequest, c.text)
	}
	form.Set("names", strings.Repeat("a", 600<<10))
	p.want("too large", p.post("/account/domains/bulk", form), http.StatusRequestEntityTooLarge, "too large")
}
