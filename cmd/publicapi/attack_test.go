package main

import (
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/namewharf/namewharf/internal/oauthtest"
)

// oauth is the site as people and applications see it.
func (s *site) oauth(t testing.TB) *oauthtest.Server {
	return &oauthtest.Server{TB: t, Base: s.url}
}

// asks calls the API with a token.
func (s *site) asks(t testing.TB, method, path, body, token string, headers ...string) reply {
	t.Helper()
	return s.do(t, method, path, body, append([]string{"Authorization", "Bearer " + token}, headers...)...)
}

// good reports whether a token is taken by the API.
func (s *site) good(t testing.TB, token string) bool {
	t.Helper()
	r := s.asks(t, "GET", "/api", "", token)
	switch {
	case r.StatusCode == http.StatusOK:
		return true
	case r.StatusCode != http.StatusUnauthorized || r.problem(t).Code != "invalid_token":
		t.Errorf("GET /api: got %d %s, want 200, or 401 with invalid_token", r.StatusCode, r.text)
	}
	return false
}

func wantOAuthError(t testing.TB, what string, got oauthtest.Answer, code string) {
	t.Helper()
	if got.Status != http.StatusBadRequest || got.Get("error") != code || got.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%s: got %d %s, want 400 %s that no cache keeps", what, got.Status, got.Text, code)
	}
}

// attacks on sign-in, against the program. Each is in docs/attacks.md.
var attacks = map[string]func(*site, *testing.T){
	"redirect tricks":               (*site).redirectTricks,
	"PKCE downgrades":               (*site).pkceDowngrades,
	"a code twice":                  (*site).codeTwice,
	"fifty redemptions at once":     (*site).fiftyRedemptions,
	"a refresh token twice":         (*site).refreshTwice,
	"twenty refreshes at once":      (*site).twentyRefreshes,
	"a token at another resource":   (*site).audiences,
	"a token in the query":          (*site).tokenInQuery,
	"two tokens":                    (*site).twoTokens,
	"consent from another site":     (*site).foreignConsent,
	"consent of another session":    (*site).consentOfOthers,
	"consent twice":                 (*site).consentTwice,
	"parameters swapped":            (*site).parameterSwap,
	"a client under our name":       (*site).phishingNames,
	"a redirect without a session":  (*site).openRedirect,
	"a return address of elsewhere": (*site).foreignReturn,
	"a session that was planted":    (*site).sessionFixation,
	"a form of another site":        (*site).foreignForms,
}

func TestAttacks(t *testing.T) {
	t.Parallel()
	s := open(t, "-rate-limits", "off")
	for name, attack := range attacks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			attack(s, t)
		})
	}
}

// The table of attacks names tests that exist, and all of those above.
func TestAttackTable(t *testing.T) {
	t.Parallel()
	root := os.DirFS("../..")
	table, err := fs.ReadFile(root, "docs/attacks.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]string{} // the test files of each package, by its name
	err = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := fs.ReadFile(root, name)
		tests[path.Base(path.Dir(name))] += string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`([a-z]+)\\.(Test\\w+)(?:/([^`]+))?`").FindAllStringSubmatch(string(table), -1)
	rows := map[string]bool{}
	for _, m := range named {
		rows[m[0]] = true
		if text := tests[m[1]]; !strings.Contains(text, "\nfunc "+m[2]+"(t *testing.T)") || !strings.Contains(text, `"`+m[3]) {
			t.Errorf("docs/attacks.md names %s, which is no test", m[0])
		}
	}
	if len(rows) < 40 {
		t.Errorf("docs/attacks.md names %d tests", len(rows))
	}
	for name := range attacks {
		if !rows["`publicapi.TestAttacks/"+name+"`"] {
			t.Errorf("docs/attacks.md does not name the attack %q", name)
		}
	}
	for line := range strings.Lines(string(table)) {
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| attack ") && !strings.HasPrefix(line, "| --- ") && !strings.Contains(line, ".Test") {
			t.Errorf("this row has no test: %s", line)
		}
	}
}

// redirectTricks asks for redirects that look like the registered ones. Not one may become a question, let alone a
// redirect.
func (s *site) redirectTricks(t *testing.T) {
	oauth := s.oauth(t)
	person := oauth.SignedInUser()
	app := oauth.NewClient("https://app.example/cb", "http://127.0.0.1:8000/cb", "cursor://anysphere/cb")
	for _, good := range []string{"https://app.example/cb", "http://127.0.0.1:41234/cb", "http://127.0.0.1/cb", "cursor://anysphere/cb"} {
		if a := person.Open(app.AuthorizePath(url.Values{"redirect_uri": {good}})); a.Status != http.StatusOK {
			t.Errorf("%q, which is registered: got %d, want a question", good, a.Status)
		}
	}
	for name, uri := range map[string][]string{
		"another path":              {"https://app.example/cb2"},
		"a way round":               {"https://app.example/cb/../evil"},
		"a slash more":              {"https://app.example/cb/"},
		"a query more":              {"https://app.example/cb?next=https://evil.example"},
		"a fragment more":           {"https://app.example/cb#evil"},
		"another host behind":       {"https://app.example.evil.example/cb"},
		"another host in front":     {"https://evil.app.example/cb"},
		"the host as a user":        {"https://app.example@evil.example/cb"},
		"a backslash":               {`https://app.example\.evil.example/cb`},
		"capitals":                  {"https://APP.example/cb"},
		"the standard port":         {"https://app.example:443/cb"},
		"http for https":            {"http://app.example/cb"},
		"localhost for the address": {"http://localhost:8000/cb"},
		"another loopback address":  {"http://127.0.0.2:8000/cb"},
		"a user on loopback":        {"http://127.0.0.1:8000@evil.example/cb"},
		"a name below loopback":     {"http://127.0.0.1.evil.example:8000/cb"},
		"an escaped letter":         {"https://app.example/%63b"},
		"a line feed":               {"https://app.example/cb\r\nLocation: https://evil.example"},
		"javascript":                {"javascript:alert(1)//app.example/cb"},
		"another private scheme":    {"vscode://anysphere/cb"},
		"scheme-relative":           {"//app.example/cb"},
		"given twice":               {"https://app.example/cb", "https://evil.example"},
		"left out, with several":    nil,
	} {
		a := person.Open(app.AuthorizePath(url.Values{"redirect_uri": uri}))
		if a.Status != http.StatusBadRequest || a.Header.Get("Location") != "" || strings.Contains(a.Text, "evil.example") {
			t.Errorf("%s, %q: got %d to %q, want a page that leads nowhere and repeats nothing\n%s", name, uri, a.Status, a.Header.Get("Location"), a.Text)
		}
	}
	for name, uri := range map[string]string{
		"javascript": "javascript:alert(1)", "data": "data:text/html,x", "a file": "file:///etc/passwd", "plain http": "http://app.example/cb",
		"a wildcard": "https://*.app.example/cb", "a fragment": "https://app.example/cb#x", "a user": "https://a@app.example/cb",
		"a scheme without a dot": "ember:/cb", "no scheme": "/cb",
	} {
		if a := oauth.Register(map[string]any{"redirect_uris": []string{uri}}); a.Status != http.StatusBadRequest || a.Get("error") != "invalid_redirect_uri" {
			t.Errorf("registering %s, %q: got %d %s, want 400 invalid_redirect_uri", name, uri, a.Status, a.Text)
		}
	}
}

func (s *site) pkceDowngrades(t *testing.T) {
	oauth := s.oauth(t)
	person, app := oauth.SignedInUser(), oauth.NewClient()
	for name, changes := range map[string]url.Values{
		"no challenge":        {"code_challenge": nil, "code_challenge_method": nil},
		"plain":               {"code_challenge": {app.Verifier}, "code_challenge_method": {"plain"}},
		"plain with the hash": {"code_challenge_method": {"plain"}},
		"another method":      {"code_challenge_method": {"S512"}},
		"two methods":         {"code_challenge_method": {"plain", "S256"}},
		"a short challenge":   {"code_challenge": {"A"}},
	} {
		a := person.Open(app.AuthorizePath(changes))
		if to := a.Location(); a.Status != http.StatusSeeOther || to.Query().Get("error") != "invalid_request" || to.Query().Has("code") {
			t.Errorf("%s: got %d to %s, want invalid_request at the application", name, a.Status, to)
		}
	}
	code := person.Allow(app, url.Values{"code_challenge_method": nil}).Get("code")
	for name, verifier := range map[string][]string{"no verifier": nil, "an empty verifier": {""}} {
		form := app.CodeForm(code)
		form["code_verifier"] = verifier
		wantOAuthError(t, name, oauth.Token(form), "invalid_request")
	}
	form := app.CodeForm(code)
	form.Set("code_verifier", oauthtest.Challenge(app.Verifier))
	wantOAuthError(t, "the challenge as verifier", oauth.Token(form), "invalid_grant")
	if !s.good(t, oauth.MustToken(app.CodeForm(code)).Access) {
		t.Error("the verifier of a challenge without a method, which is S256: the token is not good")
	}
}

func (s *site) codeTwice(t *testing.T) {
	oauth := s.oauth(t)
	person, app := oauth.SignedInUser(), oauth.NewClient()
	form := app.CodeForm(person.Allow(app, nil).Get("code"))
	tokens := oauth.MustToken(form)
	thief := app.CodeForm(form.Get("code"))
	thief.Set("code_verifier", strings.Repeat("x", 43))
	for range 6 {
		wantOAuthError(t, "the code again with a wrong verifier", oauth.Token(thief), "invalid_grant")
	}
	if !s.good(t, tokens.Access) {
		t.Error("a thief without the verifier ended the grant")
	}
	wantOAuthError(t, "the code again with the verifier", oauth.Token(form), "invalid_grant")
	if s.good(t, tokens.Access) {
		t.Error("the access token outlived the second use of its code")
	}
	wantOAuthError(t, "the refresh token after it", oauth.Token(app.RefreshForm(tokens.Refresh)), "invalid_grant")
	other := oauth.NewClient()
	form = app.CodeForm(person.Allow(app, nil).Get("code"))
	stolen := other.CodeForm(form.Get("code"))
	stolen.Set("code_verifier", app.Verifier)
	wantOAuthError(t, "the code at another client", oauth.Token(stolen), "invalid_grant")
}

// race sends one request to the token endpoint n times at once and returns the tokens of those that succeed.
func race(t *testing.T, n int, form url.Values, at ...*oauthtest.Server) (won []oauthtest.Tokens) {
	t.Helper()
	answers := make([]oauthtest.Answer, n)
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range answers {
		all.Go(func() {
			<-start
			answers[i] = at[i%len(at)].Token(form)
		})
	}
	close(start)
	all.Wait()
	for _, a := range answers {
		if a.Status == http.StatusOK {
			won = append(won, a.Tokens())
		} else {
			wantOAuthError(t, "one that lost", a, "invalid_grant")
		}
	}
	return won
}

func (s *site) fiftyRedemptions(t *testing.T) {
	oauth := s.oauth(t)
	person, app := oauth.SignedInUser(), oauth.NewClient()
	won := race(t, 50, app.CodeForm(person.Allow(app, nil).Get("code")), oauth)
	if len(won) != 1 {
		t.Fatalf("got %d tokens for one code, want 1", len(won))
	}
	if s.good(t, won[0].Access) {
		t.Error("the winner's token is good, although its code was used twice")
	}
}

func (s *site) refreshTwice(t *testing.T) {
	oauth := s.oauth(t)
	person, app := oauth.SignedInUser(), oauth.NewClient()
	first := person.Tokens(app, nil)
	second := oauth.MustToken(app.RefreshForm(first.Refresh))
	third := oauth.MustToken(app.RefreshForm(second.Refresh))
	if !s.good(t, third.Access) {
		t.Fatal("the token after two rotations is not good")
	}
	wantOAuthError(t, "the first refresh token again", oauth.Token(app.RefreshForm(first.Refresh)), "invalid_grant")
	for i, tokens := range []oauthtest.Tokens{first, second, third} {
		if s.good(t, tokens.Access) {
			t.Errorf("access token %d is good after the reuse", i+1)
		}
		wantOAuthError(t, "refreshing after the reuse", oauth.Token(app.RefreshForm(tokens.Refresh)), "invalid_grant")
	}
	if page := person.Open("/account/security"); !strings.Contains(page.Text, "a refresh token was used twice") {
		t.Errorf("the security log does not tell the owner:\n%s", page.Text)
	}
}

func (s *site) twentyRefreshes(t *testing.T) {
	oauth := s.oauth(t)
	app := oauth.NewClient()
	won := race(t, 20, app.RefreshForm(oauth.SignedInUser().Tokens(app, nil).Refresh), oauth)
	if len(won) != 1 {
		t.Fatalf("got %d successors of one refresh token, want 1", len(won))
	}
	if s.good(t, won[0].Access) {
		t.Error("the winner's token is good, although its predecessor was used twice")
	}
}

// audiences shows tokens to transports that they are not for.
func (s *site) audiences(t *testing.T) {
	oauth := s.oauth(t)
	person, app := oauth.SignedInUser(), oauth.NewClient()
	routes := map[string]func(token string) reply{
		"/api": func(token string) reply { return s.asks(t, "GET", "/api", "", token) },
		"/mcp": func(token string) reply { return s.whoami(t, "/mcp", token) },
		"/mcp/signed-in": func(token string) reply {
			return s.whoami(t, "/mcp/signed-in", token)
		},
	}
	for _, test := range []struct {
		resource []string
		good     map[string]bool
	}{
		{nil, map[string]bool{"/api": true, "/mcp": true, "/mcp/signed-in": true}},
		{[]string{s.url}, map[string]bool{"/api": true, "/mcp": true, "/mcp/signed-in": true}},
		{[]string{s.url + "/api"}, map[string]bool{"/api": true}},
		{[]string{s.url + "/mcp"}, map[string]bool{"/mcp": true, "/mcp/signed-in": true}},
		{[]string{s.url + "/mcp/signed-in"}, map[string]bool{"/mcp": true, "/mcp/signed-in": true}},
		{[]string{s.url + "/api", s.url + "/mcp"}, map[string]bool{"/api": true, "/mcp": true, "/mcp/signed-in": true}},
	} {
		tokens := person.Tokens(app, url.Values{"resource": test.resource})
		for path, call := range routes {
			r := call(tokens.Access)
			if good := r.StatusCode == http.StatusOK; good != test.good[path] || !good && r.StatusCode != http.StatusUnauthorized {
				t.Errorf("a token for %q at %s: got %d %s, want good: %v", test.resource, path, r.StatusCode, r.text, test.good[path])
			}
			challenge, document := r.Header.Get("WWW-Authenticate"), `resource_metadata="`+s.url+"/.well-known/oauth-protected-resource"+path+`"`
			if path == "/api" { // whose challenge names the document of all transports, or its own
				document = `resource_metadata="` + s.url + "/.well-known/oauth-protected-resource"
			}
			if !test.good[path] && (!strings.Contains(challenge, `error="invalid_token"`) || !strings.Contains(challenge, document)) {
				t.Errorf("a token for %q at %s: the challenge is %q, want invalid_token and %s", test.resource, path, challenge, document)
			}
		}
	}
	for _, foreign := range []string{"https://evil.example/api", s.url + "/other", s.url + ".evil.example", s.url + "/api#x", "api"} {
		a := person.Open(app.AuthorizePath(url.Values{"resource": {foreign}}))
		if a.Location().Query().Get("error") != "invalid_target" {
			t.Errorf("asking for a token for %q: got %d to %s, want invalid_target", foreign, a.Status, a.Location())
		}
	}
	narrow := app.RefreshForm(person.Tokens(app, url.Values{"resource": {s.url + "/mcp"}}).Refresh)
	narrow.Set("resource", s.url+"/api")
	wantOAuthError(t, "refreshing into another resource", oauth.Token(narrow), "invalid_target")
	tokens := person.Tokens(app, nil)
	if r := s.asks(t, "GET", "/api", "", tokens.Refresh); r.StatusCode != http.StatusUnauthorized {
		t.Errorf("a refresh token at the API: got %d, want 401", r.StatusCode)
	}
}

// whoami is a call that costs nothing outside, at an MCP address.
func (s *site) whoami(t testing.TB, path, token string) reply {
	t.Helper()
	const tool = "tld_registration_price"
	return s.mcp(t, path, modern, tool, message(modern, tool, `{"tld":"com"}`), "Authorization", "Bearer "+token)
}

func (s *site) tokenInQuery(t *testing.T) {
	oauth := s.oauth(t)
	app := oauth.NewClient()
	tokens := oauth.SignedInUser().Tokens(app, nil)
	if r := s.do(t, "GET", "/api?access_token="+tokens.Access, ""); r.StatusCode != http.StatusUnauthorized {
		t.Errorf("GET /api with the token in its query: got %d %s, want 401", r.StatusCode, r.text)
	}
	without, with := s.do(t, "GET", listings+"?limit=1&q=brewhaven.com", ""), s.do(t, "GET", listings+"?limit=1&q=brewhaven.com&access_token="+tokens.Access, "")
	if with.StatusCode != http.StatusOK || with.text != without.text || !strings.Contains(with.text, `"masked":true`) {
		t.Errorf("listings with the token in the query: got %d %s, want what nobody's gets: %s", with.StatusCode, with.text, without.text)
	}
	if r := s.do(t, "GET", "/api/domains?access_token="+tokens.Access, ""); r.StatusCode != http.StatusUnauthorized {
		t.Errorf("the portfolio with the token in the query: got %d %s, want 401", r.StatusCode, r.text)
	}
	r := s.mcp(t, "/mcp/signed-in?access_token="+tokens.Access, modern, "market_listings", message(modern, "market_listings", `{}`))
	if r.StatusCode != http.StatusUnauthorized {
		t.Errorf("/mcp/signed-in with the token in the query: got %d %s, want 401", r.StatusCode, r.text)
	}
	r = s.mcp(t, "/mcp?access_token="+tokens.Access, modern, "market_listings", message(modern, "market_listings", `{"limit":1}`))
	if !strings.Contains(r.text, `"masked":true`) || strings.Contains(r.text, `"priceCents"`) {
		t.Errorf("/mcp with the token in the query: got %d %s, want masked prices", r.StatusCode, r.text)
	}
	if a := oauth.Post("/api/oauth/token?"+app.RefreshForm(tokens.Refresh).Encode(), nil); a.Status != http.StatusBadRequest {
		t.Errorf("refreshing by the query: got %d %s, want 400", a.Status, a.Text)
	}
	if log := s.log.String(); strings.Contains(log, tokens.Access) || strings.Contains(log, tokens.Refresh) {
		t.Error("a token of a query is in the log")
	}
}

func (s *site) twoTokens(t *testing.T) {
	oauth := s.oauth(t)
	tokens := oauth.SignedInUser().Tokens(oauth.NewClient(), nil)
	for _, second := range []string{"Bearer " + tokens.Access, "Bearer nope", "Basic eDp5", ""} {
		for _, path := range []string{"/api", "/api/domains", listings} {
			r := s.asks(t, "GET", path, "", tokens.Access, "Authorization", second)
			if r.StatusCode != http.StatusBadRequest || r.problem(t).Code != "validation_error" {
				t.Errorf("%s with a second header %.10q: got %d %s, want 400", path, second, r.StatusCode, r.text)
			}
		}
		for _, path := range []string{"/mcp", "/mcp/signed-in"} {
			r := s.mcp(t, path, legacy, "market_listings", message(legacy, "market_listings", `{}`),
				"Authorization", "Bearer "+tokens.Access, "Authorization", second)
			if r.StatusCode != http.StatusBadRequest {
				t.Errorf("%s with a second header %.10q: got %d %s, want 400", path, second, r.StatusCode, r.text)
			}
		}
	}
	if r := s.do(t, "GET", "/api", "", "Authorization", "bEARER "+tokens.Access); r.StatusCode != http.StatusOK {
		t.Errorf("the scheme in another case: got %d, want 200", r.StatusCode)
	}
	for _, header := range []string{"Bearer", "Bearer ", tokens.Access, "Token " + tokens.Access, "Bearer " + tokens.Access + " x", "Bearer " + tokens.Access + ",x"} {
		if r := s.do(t, "GET", listings, "", "Authorization", header); r.StatusCode != http.StatusUnauthorized {
			t.Errorf("a malformed header is anonymous: got %d for %d bytes, want 401", r.StatusCode, len(header))
		}
	}
}

func wantPage(t testing.TB, what string, got oauthtest.Answer, status int) {
	t.Helper()
	if got.Status != status || got.Header.Get("Location") != "" {
		t.Errorf("%s: got %d to %q, want a page of status %d\n%s", what, got.Status, got.Header.Get("Location"), status, got.Text)
	}
}

// allowed is the form that answers yes to a question, as a page of it has it.
func allowed(t testing.TB, question oauthtest.Answer) url.Values {
	t.Helper()
	form, ok := question.Form("/oauth/authorize")
	if !ok {
		t.Fatalf("no question: %d %s", question.Status, question.Text)
	}
	form.Set("answer", "allow")
	return form
}

func (s *site) foreignConsent(t *testing.T) {
	oauth := s.oauth(t)
	person, app := oauth.SignedInUser(), oauth.NewClient()
	question := person.Open(app.AuthorizePath(nil))
	form := allowed(t, question)
	for name, headers := range map[string][]string{
		"another site":            {"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"},
		"another site, no origin": {"Sec-Fetch-Site", "cross-site", "Origin", ""},
		"a sibling host":          {"Sec-Fetch-Site", "same-site", "Origin", "https://evil.names.example"},
		"an old browser":          {"Sec-Fetch-Site", "", "Origin", "https://evil.example"},
		"an old browser, null":    {"Sec-Fetch-Site", "", "Origin", "null"},
	} {
		wantPage(t, name, person.Submit("/oauth/authorize", form, headers...), http.StatusForbidden)
	}
	policy := question.Header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "frame-ancestors 'none'") || question.Header.Get("X-Frame-Options") != "DENY" {
		t.Errorf("the question may be framed: %v", question.Header)
	}
	if !strings.Contains(policy, "form-action 'self' http://127.0.0.1") || !strings.Contains(policy, "default-src 'none'") {
		t.Errorf("the question's policy is %q", policy)
	}
	if a := oauth.Get(app.AuthorizePath(nil), "Origin", "https://evil.example"); a.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("pages of others may read the authorization endpoint: %v", a.Header)
	}
	if a := person.Submit("/oauth/authorize", form); a.Status != http.StatusSeeOther || !a.Location().Query().Has("code") {
		t.Errorf("our own form after all that: got %d to %s, want a code", a.Status, a.Location())
	}
}

func (s *site) consentOfOthers(t *testing.T) {
	oauth := s.oauth(t)
	victim, attacker, app := oauth.SignedInUser(), oauth.SignedInUser(), oauth.NewClient()
	form := allowed(t, attacker.Open(app.AuthorizePath(nil)))
	wantPage(t, "the attacker's question answered in the victim's session", victim.Submit("/oauth/authorize", form), http.StatusBadRequest)
	wantPage(t, "answered by nobody", oauth.NewUser().Submit("/oauth/authorize", form), http.StatusBadRequest)
	second := oauth.NewUser()
	second.Email, second.Password = attacker.Email, attacker.Password
	second.SignIn()
	wantPage(t, "answered in another session of the same person", second.Submit("/oauth/authorize", form), http.StatusBadRequest)
	for _, forged := range []string{"", "x", "nw_in_" + strings.Repeat("A", 43)} {
		wantPage(t, "a forged question", victim.Submit("/oauth/authorize", url.Values{"interaction": {forged}, "answer": {"allow"}}), http.StatusBadRequest)
	}
	if a := attacker.Submit("/oauth/authorize", form); !a.Location().Query().Has("code") {
		t.Errorf("answered where it was asked: got %d, want a code", a.Status)
	}
}

func (s *site) consentTwice(t *testing.T) {
	oauth := s.oauth(t)
	person, app := oauth.SignedInUser(), oauth.NewClient()
	form := allowed(t, person.Open(app.AuthorizePath(nil)))
	var codes sync.Map
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			if a := person.Submit("/oauth/authorize", form); a.Location().Query().Has("code") {
				codes.Store(a.Location().Query().Get("code"), true)
			}
		})
	}
	all.Wait()
	n := 0
	codes.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("five answers at once: got %d codes, want 1", n)
	}
	wantPage(t, "the answer again", person.Submit("/oauth/authorize", form), http.StatusBadRequest)
	denied := allowed(t, person.Open(app.AuthorizePath(nil)))
	denied.Set("answer", "deny")
	if q := person.Submit("/oauth/authorize", denied).Location().Query(); q.Get("error") != "access_denied" || q.Get("state") != "a b&c" || q.Get("iss") != s.url {
		t.Errorf("deny: got %v, want access_denied with state and issuer", q)
	}
	denied.Set("answer", "allow")
	wantPage(t, "allow after deny", person.Submit("/oauth/authorize", denied), http.StatusBadRequest)
	if a := person.Open(app.AuthorizePath(nil)); a.Status != http.StatusOK {
		t.Errorf("a client that registered itself is not asked about again: got %d to %s", a.Status, a.Location())
	}
}

// parameterSwap answers a question with other parameters than it was asked with.
func (s *site) parameterSwap(t *testing.T) {
	oauth := s.oauth(t)
	person, app, evil := oauth.SignedInUser(), oauth.NewClient("https://app.example/cb"), oauth.NewClient("https://evil.example/cb")
	form := allowed(t, person.Open(app.AuthorizePath(url.Values{"scope": {"pricing:read"}, "resource": {s.url + "/mcp"}})))
	swapped, err := url.ParseQuery(strings.TrimPrefix(evil.AuthorizePath(url.Values{"scope": {"pricing:read domains:write"}, "resource": {s.url}}), "/oauth/authorize?"))
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(swapped, form)
	a := person.Submit("/oauth/authorize?"+url.Values{"redirect_uri": {evil.Redirect}}.Encode(), swapped)
	to := a.Location()
	if a.Status != http.StatusSeeOther || to.Host != "app.example" || to.Query().Get("code") == "" {
		t.Fatalf("got %d to %s, want a code at the redirect that was shown", a.Status, to)
	}
	wantOAuthError(t, "the code at the other client", oauth.Token(evil.CodeForm(to.Query().Get("code"))), "invalid_grant")
	redemption := app.CodeForm(to.Query().Get("code"))
	redemption.Set("redirect_uri", evil.Redirect)
	wantOAuthError(t, "the code with another redirect", oauth.Token(redemption), "invalid_grant")
	tokens := oauth.MustToken(app.CodeForm(person.Allow(app, url.Values{"scope": {"pricing:read"}, "resource": {s.url + "/mcp"}}).Get("code")))
	if tokens.Scope != "pricing:read" || s.good(t, tokens.Access) {
		t.Errorf("got the scope %q, good at the API: want what was shown", tokens.Scope)
	}
	wider := app.RefreshForm(tokens.Refresh)
	wider.Set("scope", "pricing:read domains:write")
	wantOAuthError(t, "refreshing into more scope", oauth.Token(wider), "invalid_scope")
}

func (s *site) phishingNames(t *testing.T) {
	oauth := s.oauth(t)
	for name, text := range map[string]string{
		"our own":                      "Namewharf",
		"ours in capitals":             "NAMEWHARF Support",
		"ours with a Cyrillic a":       "N\u0430mewharf",
		"ours with spaces":             "n a m e w h a r f",
		"ours in small capitals":       "ɴᴀᴍᴇᴡʜᴀʀꜰ",
		"ours with a Lisu letter":      "ꓠamewharf",
		"ours with a Cherokee letter":  "NameᎳharf",
		"ours with a letterlike sign":  "Nam℮wharf",
		"two alphabets":                "G\u043e\u043egle",
		"Cyrillic that reads as Latin": "\u0430\u0440\u0440\u04cf\u0435",
		"a right-to-left override":     "Ember \u202egnp.exe",
		"a zero-width space":           "Em\u200bber",
		"a line feed":                  "Ember\nVerified by your bank",
		"a hundred and one characters": strings.Repeat("a", 101),
	} {
		a := oauth.Register(map[string]any{"client_name": text, "redirect_uris": []string{"https://app.example/cb"}})
		if a.Status != http.StatusBadRequest || a.Get("error") != "invalid_client_metadata" {
			t.Errorf("%s, %q: got %d %s, want 400 invalid_client_metadata", name, text, a.Status, a.Text)
		}
	}
	made := oauth.Register(map[string]any{
		"client_name": `Bank <script>alert(1)</script>`, "redirect_uris": []string{"https://xn--80ak6aa92e.com/cb"},
		"client_secret": "x", "software_id": "unknown members are ignored",
	})
	app := &oauthtest.Client{Server: oauth, ID: made.Get("client_id"), Redirect: "https://xn--80ak6aa92e.com/cb", Verifier: strings.Repeat("v", 43)}
	if made.Status != http.StatusCreated || made.Get("client_secret") != "" {
		t.Fatalf("register: got %d %s, want 201 without a secret", made.Status, made.Text)
	}
	page := oauth.SignedInUser().Open(app.AuthorizePath(nil)).Text
	for _, want := range []string{"Bank &lt;script&gt;", "The name is not verified", "<code>xn--80ak6aa92e.com</code>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the question lacks %q:\n%s", want, page)
		}
	}
}

// openRedirect sends people who are not signed in to addresses of the attacker's choice.
func (s *site) openRedirect(t *testing.T) {
	oauth := s.oauth(t)
	evil := oauth.NewClient("https://evil.example/cb")
	for name, changes := range map[string]url.Values{
		"a bad scope":         {"scope": {"everything"}},
		"a bad resource":      {"resource": {"https://evil.example"}},
		"a bad response type": {"response_type": {"token"}},
		"no challenge":        {"code_challenge": nil},
		"prompt=none":         {"prompt": {"none"}},
		"no client":           {"client_id": nil},
		"an unknown client":   {"client_id": {"client_unknown"}},
		"an unknown redirect": {"redirect_uri": {"https://other.example/"}},
	} {
		wantPage(t, name, oauth.Get(evil.AuthorizePath(changes)), http.StatusBadRequest)
	}
	a := oauth.Get(evil.AuthorizePath(nil))
	if to := a.Location(); a.Status != http.StatusSeeOther || to.Host != "" || to.Path != "/signin" {
		t.Errorf("a good request: got %d to %s, want our sign-in page", a.Status, to)
	}
}

func (s *site) foreignReturn(t *testing.T) {
	oauth := s.oauth(t)
	person := oauth.NewUser().SignUp()
	signIn := func(application string) string {
		return "/signin?" + url.Values{"return": {application}}.Encode()
	}
	evil := []string{
		"https://evil.example/", "//evil.example/account", `/\evil.example`, `\\evil.example`, "/account/../../evil.example", "/account\r\nX: y",
		"javascript:alert(1)", "/oauth/authorize/../../signout", "/signout", "https:evil.example", "/%2f%2fevil.example", " /account", "/account#https://evil.example",
	}
	for _, application := range evil {
		if form, _ := person.Open(signIn(application)).Form("/signin"); form.Get("return") != "/account" {
			t.Errorf("return=%q: the sign-in page leads to %q, want /account", application, form.Get("return"))
		}
	}
	credentials := url.Values{"email": {person.Email}, "password": {person.Password}, "return": {evil[1]}}
	if a := person.Submit("/signin", credentials); a.Status != http.StatusSeeOther || a.Header.Get("Location") != "/account" {
		t.Errorf("a forged form: got %d to %q, want /account", a.Status, a.Header.Get("Location"))
	}
	for _, application := range evil {
		if a := person.Open(signIn(application)); a.Status != http.StatusSeeOther || a.Header.Get("Location") != "/account" {
			t.Errorf("return=%q once signed in: got %d to %q, want /account", application, a.Status, a.Header.Get("Location"))
		}
	}
}

func (s *site) sessionFixation(t *testing.T) {
	oauth := s.oauth(t)
	const cookie = "nw_session"
	attacker := oauth.SignedInUser()
	planted := attacker.Cookie(cookie)
	victim := oauth.NewUser().SignUp()
	u, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"the attacker's session": planted, "a made-up session": "nw_ss_" + strings.Repeat("A", 43)} {
		victim.Browser.Jar.SetCookies(u, []*http.Cookie{{Name: cookie, Value: value, Path: "/"}})
		a := victim.Submit("/signin", url.Values{"email": {victim.Email}, "password": {victim.Password}})
		if got := victim.Cookie(cookie); a.Status != http.StatusSeeOther || got == value || got == "" {
			t.Errorf("%s: got %d, another session: %v; want a new one", name, a.Status, got != value)
		}
	}
	if a := attacker.Open("/account"); a.Status == http.StatusOK && strings.Contains(a.Text, victim.Email) {
		t.Error("the planted session is the victim's now")
	}
	old := victim.Cookie(cookie)
	victim.SignInAgain()
	stale := oauth.Get("/account", "Cookie", cookie+"="+old)
	if stale.Status != http.StatusSeeOther {
		t.Errorf("the session before another sign-in: got %d, want the sign-in page", stale.Status)
	}
	last := victim.Cookie(cookie)
	victim.SubmitForm(victim.Open("/signout"), "/signout", nil)
	if a := oauth.Get("/account", "Cookie", cookie+"="+last); a.Status != http.StatusSeeOther {
		t.Errorf("the session after signing out: got %d, want the sign-in page", a.Status)
	}
}

// foreignForms posts every form of an account from another site.
func (s *site) foreignForms(t *testing.T) {
	oauth := s.oauth(t)
	person := oauth.SignedInUser()
	for _, path := range []string{
		"/signin", "/signup", "/signout", "/signin/mail", "/signin/link", "/forgot", "/reset", "/verify", "/account/apps", "/account/sessions",
		"/account/domains", "/account/security/password", "/account/security/verify", "/account/passkeys/remove", "/account/passkeys/begin",
		"/account/security/link", "/account/security/unlink", "/account/export", "/account/delete", "/signin/again", "/signin/again/mail",
	} {
		form := url.Values{"email": {person.Email}, "password": {person.Password}, "do": {"add"}, "domain": {"cobaltpine.com"}, "session": {"all"}}
		a := person.Submit(path, form, "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example")
		if a.Status != http.StatusForbidden {
			t.Errorf("%s: got %d, want 403", path, a.Status)
		}
	}
	if a := person.Open("/account/domains"); a.Status != http.StatusOK || strings.Contains(a.Text, "cobaltpine.com") {
		t.Errorf("afterwards: got %d, want the account as it was\n%s", a.Status, a.Text)
	}
}
