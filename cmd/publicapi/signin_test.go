package main

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/internal/oauthtest"
	"github.com/namewharf/namewharf/internal/programtest"
	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// public is the base URL of a site behind a proxy which terminates TLS.
const public = "https://names.example"

// openPublic opens such a site, with all limits, and with no network allowed that is not public. Callers say in
// X-Forwarded-For who they are.
func openPublic(t *testing.T) (*site, *oauthtest.Server) {
	t.Helper()
	reg := newRegistry(t)
	var file map[string]any
	if err := json.Unmarshal(reg.File(), &file); err != nil {
		t.Fatal(err)
	}
	delete(file, "allow_private_cidrs")
	raw, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	s := openOn(t, reg, raw, "-base-url", public, "-trusted-proxies", "127.0.0.0/8")
	return s, &oauthtest.Server{TB: t, Base: public, Transport: oauthtest.ProxyTransport(s.url)}
}

// Sign-in as the world sees it: over https, with all limits.
func TestPublicSite(t *testing.T) {
	t.Parallel()
	s, oauth := openPublic(t)
	in := func(t *testing.T) *oauthtest.Server {
		return &oauthtest.Server{TB: t, Base: public, Transport: oauth.Transport}
	}
	for name, test := range map[string]func(*testing.T, *site, *oauthtest.Server){
		"cookies":                    secureCookies,
		"a forged Host":              forgedHost,
		"a flood of registrations":   registrationFlood,
		"guessing a password":        passwordGuessing,
		"a document on this machine": privateDocument,
		"the issuer in answers":      issuerInAnswer,
		"scripts of other origins":   otherOrigins,
		"limits of who is signed in": signedInLimits,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, s, in(t))
		})
	}
}

func secureCookies(t *testing.T, _ *site, oauth *oauthtest.Server) {
	person := oauth.NewUser().SignUp()
	a := person.Submit("/signin", url.Values{"email": {person.Email}, "password": {person.Password}}, "X-Forwarded-For", "192.0.2.10")
	cookies := a.Header.Values("Set-Cookie")
	if len(cookies) != 1 {
		t.Fatalf("signing in sets %q, want one cookie", cookies)
	}
	for _, part := range []string{"__Host-nw_session=nw_ss_", "; Path=/", "; HttpOnly", "; Secure", "; SameSite=Lax", "; Max-Age=2592000"} {
		if !strings.Contains(cookies[0], part) {
			t.Errorf("the cookie %q lacks %q", cookies[0], part)
		}
	}
	if strings.Contains(cookies[0], "Domain=") {
		t.Errorf("the cookie %q is for other hosts too", cookies[0])
	}
	token := person.Cookie("__Host-nw_session")
	if a := oauth.Get("/account", "Cookie", "nw_session="+token); a.Status != http.StatusSeeOther {
		t.Errorf("the session in a cookie that other hosts can set: got %d, want the sign-in page", a.Status)
	}
	if a := person.Open("/account"); a.Status != http.StatusOK {
		t.Errorf("the account: got %d", a.Status)
	}
	out := person.SubmitForm(person.Open("/signout"), "/signout", nil)
	if c := strings.Join(out.Header.Values("Set-Cookie"), " "); !strings.Contains(c, "__Host-nw_session=;") || !strings.Contains(c, "Max-Age=0") {
		t.Errorf("signing out sets %q, want the cookie removed", c)
	}
}

// forgedHost names other hosts in the headers that say where a request went to.
func forgedHost(t *testing.T, s *site, oauth *oauthtest.Server) {
	const evil = "evil.example"
	forged := []string{"Host", evil, "X-Forwarded-Host", evil, "X-Forwarded-Proto", "http", "Forwarded", "host=" + evil, "X-Forwarded-For", "192.0.2.11"}
	for _, path := range []string{
		"/.well-known/oauth-authorization-server", "/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/api",
		"/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource/mcp/signed-in", "/api", listings + "?limit=1",
		"/signin", "/signup", "/forgot", "/.well-known/api-catalog", "/llms.txt",
	} {
		good, got := oauth.Get(path, "X-Forwarded-For", "192.0.2.11"), oauth.Get(path, forged...)
		if got.Status != good.Status || masked(got.Text) != masked(good.Text) {
			t.Errorf("%s under a forged host differs:\n%d %s\nwant\n%d %s", path, got.Status, got.Text, good.Status, good.Text)
		}
		if strings.Contains(got.Text+fmt.Sprint(got.Header), evil) {
			t.Errorf("%s under a forged host repeats it: %v\n%s", path, got.Header, got.Text)
		}
	}
	if r := s.do(t, "POST", "/mcp/signed-in", `{}`, "X-Forwarded-Host", evil); strings.Contains(fmt.Sprint(r.Header), evil) {
		t.Errorf("the challenge of /mcp/signed-in is %v", r.Header)
	}
	for _, resource := range []string{"", "/api", "/mcp", "/mcp/signed-in"} {
		a := oauth.Get("/.well-known/oauth-protected-resource"+resource, forged...)
		if a.Get("resource") != public+resource || !strings.Contains(a.Text, `"authorization_servers":["`+public+`"]`) {
			t.Errorf("the document of %s: got %s", public+resource, a.Text)
		}
	}
	if a := oauth.Get("/.well-known/oauth-authorization-server", forged...); a.Get("issuer") != public || a.Get("token_endpoint") != public+"/api/oauth/token" {
		t.Errorf("the issuer under a forged host: %s", a.Text)
	}
	person := oauth.NewUser().SignUp()
	page := person.Open("/forgot", forged...)
	person.Submit("/forgot", url.Values{"email": {person.Email}}, forged...)
	link := s.mailed(t, person.Email, "/reset")
	if page.Status != http.StatusOK || !strings.HasPrefix(link, public+"/reset?token=") {
		t.Errorf("the link that was mailed under a forged host is %q", link)
	}
}

// mailed waits for the mail to a person with a link to the path, in the log where it goes without a server, and
// returns the link.
func (s *site) mailed(t testing.TB, to, path string) string {
	t.Helper()
	for begun := time.Now(); time.Since(begun) < 20*time.Second; time.Sleep(5 * time.Millisecond) {
		for line := range strings.Lines(s.log.String()) {
			if !strings.Contains(line, "mail") || !strings.Contains(line, to) {
				continue
			}
			for word := range strings.FieldsFuncSeq(line, func(r rune) bool { return strings.ContainsRune(" \n\\\"", r) }) {
				if u, err := url.Parse(strings.TrimPrefix(word, "n")); err == nil && u.Path == path && u.Query().Get("token") != "" {
					return u.String()
				}
			}
		}
	}
	t.Fatalf("no mail to %s with a link to %s came within 20 s", to, path)
	return ""
}

func registrationFlood(t *testing.T, _ *site, oauth *oauthtest.Server) {
	metadata := map[string]any{"redirect_uris": []string{"https://app.example/cb"}}
	for i := range 20 {
		if a := oauth.Register(metadata, "X-Forwarded-For", "192.0.2.12"); a.Status != http.StatusCreated {
			t.Fatalf("registration %d: got %d %s", i+1, a.Status, a.Text)
		}
	}
	a := oauth.Register(metadata, "X-Forwarded-For", "192.0.2.12")
	wait, err := strconv.Atoi(a.Header.Get("Retry-After"))
	if a.Status != http.StatusTooManyRequests || err != nil || wait < 1 || wait > 60 || a.Get("error") == "" {
		t.Errorf("registration 21: got %d, Retry-After %q, %s; want 429 and up to a minute", a.Status, a.Header.Get("Retry-After"), a.Text)
	}
	for _, other := range []string{"192.0.2.13", "2001:db8:1::1"} {
		if a := oauth.Register(metadata, "X-Forwarded-For", other); a.Status != http.StatusCreated {
			t.Errorf("from %s meanwhile: got %d, want 201", other, a.Status)
		}
	}
	if a := oauth.Register(map[string]any{"redirect_uris": []string{"https://app.example/" + strings.Repeat("a", 17<<10)}}, "X-Forwarded-For", "192.0.2.13"); a.Status != http.StatusRequestEntityTooLarge {
		t.Errorf("a registration of 17 KiB: got %d, want 413", a.Status)
	}
}

// passwordGuessing guesses from one address. Each guess takes longer, the answers say nothing, and the owner gets in.
func passwordGuessing(t *testing.T, _ *site, oauth *oauthtest.Server) {
	owner := oauth.NewUser().SignUp()
	guess := func(email, password, from string) (oauthtest.Answer, time.Duration) {
		begun := time.Now()
		a := oauth.NewUser().Submit("/signin", url.Values{"email": {email}, "password": {password}}, "X-Forwarded-For", from)
		return a, time.Since(begun)
	}
	var last oauthtest.Answer
	for i := range 7 {
		a, took := guess(owner.Email, "wrong guess number "+strconv.Itoa(i), "192.0.2.14")
		if a.Status == http.StatusSeeOther || a.Status >= 500 {
			t.Fatalf("guess %d: got %d", i+1, a.Status)
		}
		if slow := i >= 5; slow && took < 250*time.Millisecond {
			t.Errorf("guess %d took %v, want it slowed down", i+1, took)
		}
		last = a
	}
	unknown, _ := guess("nobody@people.example", "wrong guess", "192.0.2.15")
	if blank(last.Text, owner.Email) != blank(unknown.Text, "nobody@people.example") || last.Status != unknown.Status {
		t.Errorf("a wrong password and an unknown address differ:\n%d %s\n%d %s", last.Status, last.Text, unknown.Status, unknown.Text)
	}
	if a, took := guess(owner.Email, owner.Password, "192.0.2.16"); a.Status != http.StatusSeeOther {
		t.Errorf("the owner after the guesses: got %d after %v, want to be signed in", a.Status, took)
	}
}

// blank takes a text out of a page.
func blank(page, text string) string { return strings.ReplaceAll(page, text, "") }

// privateDocument has the server fetch what only it can reach.
func privateDocument(t *testing.T, _ *site, oauth *oauthtest.Server) {
	asked := make(chan string, 10)
	host := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.Path }))
	defer host.Close()
	app := &oauthtest.Client{Server: oauth, Redirect: "https://app.example/cb", Verifier: strings.Repeat("v", 43)}
	for _, id := range []string{
		host.URL + "/client", "https://localhost:" + host.URL[strings.LastIndex(host.URL, ":")+1:] + "/client", "https://169.254.169.254/latest/meta-data",
		"https://10.0.0.1/client", "https://[::1]/client", "https://[::ffff:127.0.0.1]/client", "https://0.0.0.0/client", "https://2130706433/client",
		"http://127.0.0.1/client", "file:///etc/passwd",
	} {
		a := oauth.Get(app.AuthorizePath(url.Values{"client_id": {id}}))
		wantPage(t, id, a, http.StatusBadRequest)
		if strings.Contains(a.Text, "refused") || strings.Contains(a.Text, "timeout") {
			t.Errorf("%s: the page tells what stands there:\n%s", id, a.Text)
		}
	}
	select {
	case path := <-asked:
		t.Errorf("the server asked this machine for %s", path)
	default:
	}
}

func issuerInAnswer(t *testing.T, _ *site, oauth *oauthtest.Server) {
	person := oauth.SignedInUser()
	app := oauth.NewClient("https://app.example/cb")
	if q := person.Allow(app, nil); q.Get("iss") != public || q.Get("state") != "a b&c" {
		t.Errorf("got %v, want the issuer %s (RFC 9207) and the state", q, public)
	}
	if q := person.Open(app.AuthorizePath(url.Values{"scope": {"everything"}})).Location().Query(); q.Get("iss") != public || q.Get("error") != "invalid_scope" {
		t.Errorf("an error: got %v, want the issuer in it", q)
	}
}

// otherOrigins is an application in a browser, which may use what programs use and read no page of a person.
func otherOrigins(t *testing.T, s *site, oauth *oauthtest.Server) {
	const origin = "https://app.example"
	wantCORS := func(what string, h http.Header, open bool) {
		t.Helper()
		allowed := h.Values("Access-Control-Allow-Origin")
		if open && (len(allowed) != 1 || allowed[0] != "*") || !open && len(allowed) > 0 || h.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: Access-Control-Allow-Origin %q, want any origin: %v; credentials %q", what, allowed, open, h.Get("Access-Control-Allow-Credentials"))
		}
	}
	for _, path := range []string{"/api/oauth/register", "/api/oauth/token", "/api/oauth/revoke", "/api", "/api/domains"} {
		r := s.do(t, "OPTIONS", path, "", "Origin", origin, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,content-type")
		wantCORS("the preflight of "+path, r.Header, true)
		if names := strings.ToLower(r.Header.Get("Access-Control-Allow-Headers")); r.StatusCode != http.StatusNoContent || !strings.Contains(names, "authorization") || !strings.Contains(names, "content-type") {
			t.Errorf("the preflight of %s: got %d %v", path, r.StatusCode, r.Header)
		}
	}
	for _, path := range []string{
		"/.well-known/oauth-authorization-server", "/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/api",
		"/.well-known/oauth-protected-resource/mcp", "/api", listings + "?limit=1", "/api/oauth/token",
		"/.well-known/oauth-protected-resource/nosuch", "/.well-known/oauth-authorization-server/mcp", "/.well-known/openid-configuration", "/api/oauth/nosuch",
	} {
		wantCORS(path, oauth.Get(path, "Origin", origin).Header, true)
	}
	refused := oauth.Post("/api/oauth/token", url.Values{"grant_type": {"x"}}, "Origin", origin)
	wantCORS("a refusal of the token endpoint", refused.Header, true)
	for _, path := range []string{"/signin", "/signup", "/signout", "/forgot", "/reset?token=x", "/account", "/account/domains", "/oauth/authorize", "/passkey.js"} {
		wantCORS(path, oauth.Get(path, "Origin", origin).Header, false)
		wantCORS("the preflight of "+path, s.do(t, "OPTIONS", path, "", "Origin", origin, "Access-Control-Request-Method", "POST").Header, false)
	}
	for name, a := range map[string]oauthtest.Answer{
		"GET":             oauth.Get("/api/oauth/token?grant_type=refresh_token"),
		"JSON":            oauth.Post("/api/oauth/token", url.Values{"grant_type": {"refresh_token"}}, "Content-Type", "application/json"),
		"parameter twice": oauth.Post("/api/oauth/token", url.Values{"grant_type": {"refresh_token", "refresh_token"}}),
		"17 KiB":          oauth.Post("/api/oauth/token", url.Values{"grant_type": {strings.Repeat("a", 17<<10)}}),
	} {
		want := map[string]int{"GET": http.StatusMethodNotAllowed, "17 KiB": http.StatusRequestEntityTooLarge}[name]
		if want == 0 {
			want = http.StatusBadRequest
		}
		if a.Status != want || a.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("the token endpoint with %s: got %d %v %s, want %d", name, a.Status, a.Header, a.Text, want)
		}
	}
}

// signedInLimits counts by account, wherever it calls from, and by more than a stranger has.
func signedInLimits(t *testing.T, s *site, oauth *oauthtest.Server) {
	app := oauth.NewClient("https://app.example/cb")
	one, two := oauth.SignedInUser().Tokens(app, nil).Access, oauth.SignedInUser().Tokens(app, nil).Access
	twenty := `{"domains":["a_b"` + strings.Repeat(`,"a_b"`, 199) + `]}` // look-ups without a question to a server
	spend := func(token, from string) int {
		headers := []string{"X-Forwarded-For", from}
		if token != "" {
			headers = append(headers, "Authorization", "Bearer "+token)
		}
		return left(s.do(t, "POST", check, twenty, headers...), "lookup")
	}
	for _, test := range []struct {
		name, token, from string
		want              int // of a full bucket
	}{
		{"a stranger", "", "192.0.2.40", 40},
		{"an account at the same address", one, "192.0.2.40", 280},
		{"another account there", two, "192.0.2.40", 280},
		{"a stranger at the next address", "", "192.0.2.41", 40},
	} {
		if got := spend(test.token, test.from); got != test.want {
			t.Errorf("%s: %d look-ups are left, want %d", test.name, got, test.want)
		}
	}
	for range 4 {
		spend(one, "192.0.2.40")
	}
	if got := spend(one, "192.0.2.42"); got < 0 || got >= 280 { // five come back in a second
		t.Errorf("the account elsewhere: %d look-ups are left, want those that it left here", got)
	}
	read := s.do(t, "POST", batched, twentyPrices(), "X-Forwarded-For", "192.0.2.40", "Authorization", "Bearer "+two)
	if got := left(read, "read"); got != 1480 {
		t.Errorf("an account: %d reads are left, want 1480", got)
	}
}

// Documents of clients, on a machine that the configuration allows.
func TestClientDocuments(t *testing.T) {
	t.Parallel()
	var host *httptest.Server
	host = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		document := fmt.Sprintf(`{"client_id":%q,"client_name":"Quay","redirect_uris":["https://app.example/cb"]}`, host.URL+r.URL.Path)
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/good", http.StatusFound)
			return
		case "/other":
			document = strings.Replace(document, "/other", "/good", 1)
		case "/large":
			document += strings.Repeat(" ", 5<<10)
		case "/secret":
			document = strings.Replace(document, "{", `{"client_secret":"x",`, 1)
		case "/page":
			w.Header().Set("Content-Type", "text/html")
		case "/missing":
			w.WriteHeader(http.StatusNotFound)
		case "/slow":
			<-r.Context().Done()
			return
		case "/phish":
			document = strings.Replace(document, "Quay", "Namewharf", 1)
		}
		fmt.Fprint(w, document)
	}))
	defer host.Close()
	ca := write(t, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: host.Certificate().Raw})))
	reg := newRegistry(t)
	var file map[string]any
	if err := json.Unmarshal(reg.File(), &file); err != nil {
		t.Fatal(err)
	}
	file["ca_file"] = ca
	raw, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	s := openOn(t, reg, raw, "-rate-limits", "off")
	oauth := s.oauth(t)
	person := oauth.SignedInUser()
	ask := func(path string) oauthtest.Answer {
		app := &oauthtest.Client{Server: oauth, ID: host.URL + path, Redirect: "https://app.example/cb", Verifier: strings.Repeat("v", 43)}
		return person.Open(app.AuthorizePath(nil))
	}
	type late struct {
		oauthtest.Answer
		took time.Duration
	}
	slow := make(chan late, 1)
	go func() {
		begun := time.Now()
		a := ask("/slow")
		slow <- late{a, time.Since(begun)}
	}()
	good := ask("/good")
	if good.Status != http.StatusOK || !strings.Contains(good.Text, "Quay") || !strings.Contains(good.Text, strings.TrimPrefix(host.URL, "https://")) {
		t.Errorf("a good document: got %d, want a question that names the client and its host\n%s", good.Status, good.Text)
	}
	for _, path := range []string{"/moved", "/other", "/large", "/secret", "/page", "/missing", "/phish"} {
		wantPage(t, path, ask(path), http.StatusBadRequest)
	}
	app := &oauthtest.Client{Server: oauth, ID: host.URL + "/good", Redirect: "https://app.example/cb", Verifier: strings.Repeat("v", 43)}
	if !s.good(t, person.Tokens(app, nil).Access) {
		t.Error("the token of a client with a document is not good")
	}
	given := <-slow
	wantPage(t, "/slow", given.Answer, http.StatusBadRequest)
	if given.took < 4*time.Second || given.took > 5*time.Second+4*patience {
		t.Errorf("a document that does not come: given up after %v, want 5 s", given.took)
	}
	if again := ask("/good"); again.Status != http.StatusSeeOther || !again.Location().Query().Has("code") {
		t.Errorf("asked again: got %d, want the consent remembered", again.Status)
	}
}

// Two processes on one store see what the other does.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	storetest.EachConfig(t, func(t *testing.T, cfg store.Config) {
		reg := newRegistry(t)
		file := write(t, "registry.json", string(reg.File()))
		key := filepath.Join(t.TempDir(), seal.FileName) // the same for both
		var p *programtest.Program
		start := func() *site {
			args := []string{"-addr", "127.0.0.1:0", "-server-key-file", key, "-base-url", "http://127.0.0.1:8080", "-rate-limits", "off", "-registry", file, "-bootstrap-url", "off"}
			if cfg.URL != "" {
				args = append(args, "-db", cfg.URL, "-data", t.TempDir())
			} else {
				args = append(args, "-data", cfg.Dir)
			}
			p = programtest.Start(t, nil, args...)
			return &site{url: p.Listening(), client: &http.Client{Transport: &http.Transport{}, Timeout: 20 * time.Second}}
		}
		there := start()
		here := start()
		defer here.client.CloseIdleConnections()
		defer there.client.CloseIdleConnections()
		oauth := here.oauth(t)
		person, app := oauth.SignedInUser(), oauth.NewClient()
		tokens := person.Tokens(app, nil)
		for range 3 { // which the second process remembers
			if !there.good(t, tokens.Access) {
				t.Fatal("the other process does not know the token")
			}
		}
		oauth.Revoke(tokens.Refresh)
		revoked := time.Now()
		if here.good(t, tokens.Access) {
			t.Error("the token is good after its revocation where that was")
		}
		for asked := time.Now(); there.good(t, tokens.Access); asked = time.Now() {
			if asked.Sub(revoked) > 2*time.Second {
				t.Fatal("the token is good elsewhere 2 s after its revocation")
			}
			time.Sleep(20 * time.Millisecond)
		}
		t.Logf("seen elsewhere after %v", time.Since(revoked).Round(time.Millisecond))
		wantOAuthError(t, "refreshing elsewhere", there.oauth(t).Token(app.RefreshForm(tokens.Refresh)), "invalid_grant")

		both := []*oauthtest.Server{oauth, there.oauth(t)}
		if won := race(t, 20, app.CodeForm(person.Allow(app, nil).Get("code")), both...); len(won) != 1 {
			t.Errorf("20 redemptions at two processes: got %d tokens, want 1", len(won))
		}
		if won := race(t, 20, app.RefreshForm(person.Tokens(app, nil).Refresh), both...); len(won) != 1 {
			t.Errorf("20 refreshes at two processes: got %d successors, want 1", len(won))
		}
		if a := there.oauth(t).Get("/account", "Cookie", "nw_session="+person.Cookie("nw_session")); a.Status != http.StatusOK {
			t.Errorf("the session at the other process: got %d", a.Status)
		}
		if cfg.URL != "" { // PostgreSQL takes text only
			oddBytes(t, oauth, person, app)
		}
		if log := p.Stderr(); strings.Contains(log, "internal error") || strings.Contains(log, "request failed") {
			t.Errorf("odd bytes were errors of ours:\n%s", log)
		}
		person.SubmitForm(person.Open("/signout"), "/signout", nil)
	})
}

// oddBytes sends what a database may choke on wherever people and applications may send something.
func oddBytes(t *testing.T, oauth *oauthtest.Server, person *oauthtest.User, app *oauthtest.Client) {
	t.Helper()
	want := func(where, value string, a oauthtest.Answer) {
		t.Helper()
		if a.Status >= http.StatusInternalServerError {
			t.Errorf("%s with %.20q: got %d", where, value, a.Status)
		}
	}
	for _, value := range []string{"a\x00b", "\xed\xa0\x80", strings.Repeat("a", 30_000)} {
		for path, fields := range map[string][]string{
			"/signin": {"email", "password"}, "/signup": {"email"}, "/signin/mail": {"email"}, "/forgot": {"email"},
			"/signin/link": {"token"}, "/verify": {"token"}, "/reset": {"token", "password"}, "/account/apps": {"grant"}, "/account/sessions": {"session"},
			"/account/domains": {"domain", "do", "price"}, "/account/passkeys/remove": {"passkey"}, "/account/security/password": {"current"},
			"/account/security/link": {"provider"}, "/oauth/authorize": {"interaction", "answer", "client_id"},
		} {
			for _, field := range fields {
				form := url.Values{"email": {person.Email}, "password": {"long enough to be one"}, "do": {"add"}, "domain": {"cobaltpine.com"}}
				form.Set(field, value)
				want("the "+field+" of "+path, value, person.Submit(path, form, "User-Agent", "odd \xff agent"))
			}
		}
		for _, form := range []url.Values{app.CodeForm("x"), app.RefreshForm("x")} {
			for field := range form {
				odd := maps.Clone(form)
				odd.Set(field, value)
				want("the "+field+" of the token endpoint", value, oauth.Token(odd))
			}
		}
		want("revocation", value, oauth.Post("/api/oauth/revoke", url.Values{"token": {value}, "client_id": {value}}))
		for _, member := range []string{"client_name", "software_id"} {
			want("the "+member+" of a registration", value, oauth.Register(map[string]any{"redirect_uris": []string{"https://app.example/cb"}, member: value}))
		}
		want("the redirect of a registration", value, oauth.Register(map[string]any{"redirect_uris": []string{"https://app.example/" + value}}))
		if len(value) > 1000 {
			continue // the address would be too long
		}
		for _, parameter := range []string{"client_id", "redirect_uri", "state", "scope", "resource", "prompt", "code_challenge", "nonce"} {
			want("the "+parameter+" of authorize", value, person.Open(app.AuthorizePath(url.Values{parameter: {value}})))
		}
		for _, path := range []string{"/account/domains?after=", "/signin?return=", "/signin/link?token=", "/signup?invite=", "/signin/with/", "/signin/callback/"} {
			want(path, value, person.Open(path+url.QueryEscape(value)))
		}
		if !strings.Contains(value, "\x00") { // which no header can hold
			want("a cookie", value, oauth.Get("/account", "Cookie", "nw_session="+value))
		}
	}
}
