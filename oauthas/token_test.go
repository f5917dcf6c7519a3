package oauthas

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestSignIn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *fixture) {
		client := d.register(appRedirect)
		verifier, challenge := pkce()
		p := params(client, appRedirect, challenge, nil)
		if got := d.authorize(p, SessionRef{}); got != (SignIn{}) {
			t.Fatalf("without a session: got %#v, want SignIn", got)
		}
		consent := d.authorize(p, d.session).(Consent)
		if consent.ClientName != "Ember" || consent.RedirectHost != "app.example" || consent.FormAction != "https://app.example" ||
			consent.ClientHost != "" || len(consent.Scopes) != 1 || consent.Resources[0] != issuer {
			t.Errorf("got the question %+v", consent)
		}
		decision, err := d.Answer(t.Context(), consent.Interaction, d.session, true)
		if err != nil {
			t.Fatal(err)
		}
		q := query(t, decision)
		if q.Get("state") != "xyz" || q.Get("iss") != issuer || len(q) != 3 {
			t.Errorf("got %v, want code, state and iss", q)
		}
		a := d.token(url.Values{
			"grant_type": {"authorization_code"}, "client_id": {client}, "code": {q.Get("code")}, "code_verifier": {verifier},
		})
		if a.status != http.StatusOK || a.get("token_type") != "Bearer" || a.json["expires_in"] != 1800.0 || a.get("scope") != "pricing:read" ||
			a.header.Get("Cache-Control") != "no-store" {
			t.Fatalf("got %d %v %s", a.status, a.header, a.body)
		}
		first := signedInClient{client, a.get("access_token"), a.get("refresh_token")}
		if !wellFormed(first.access, "nw_at_") || !wellFormed(first.refresh, "nw_rt_") || !wellFormed(q.Get("code"), "nw_ac_") {
			t.Errorf("got %+v, want 256 bits behind the prefixes", first)
		}
		caller, err := d.Caller(t.Context(), first.access, apiURL)
		if err != nil || caller.Account != "acc_1" || !caller.Has("pricing:read") || caller.Has("domains:write") {
			t.Errorf("got %+v, %v", caller, err)
		}
		second := d.renew(first)
		d.wantGood("the older access token", first.access, apiURL, true)
		d.wantGood("the younger access token", second.access, apiURL, true)

		grants, err := d.Grants(t.Context(), "acc_1")
		if err != nil || len(grants) != 1 || grants[0].ClientName != "Ember" || grants[0].ClientID != client {
			t.Fatalf("got %+v, %v", grants, err)
		}
		if other, err := d.Grants(t.Context(), "acc_2"); err != nil || len(other) != 0 {
			t.Errorf("another account: got %+v, %v", other, err)
		}
		if err := d.RevokeGrant(t.Context(), "acc_2", grants[0].ID); err == nil {
			t.Error("another account revokes the grant")
		}
		if err := d.RevokeGrant(t.Context(), "acc_1", grants[0].ID); err != nil {
			t.Error(err)
		}
		d.wantGood("after the grant", second.access, apiURL, false)
		d.wantError("after the grant", d.token(second.renewal()), 400, errInvalidGrant)
	})
}

func TestDeny(t *testing.T) {
	t.Parallel()
	d := newSQLiteFixture(t)
	_, challenge := pkce()
	q := d.answerConsent(params(d.register(appRedirect), appRedirect, challenge, nil), false)
	if q.Get("error") != errAccessDenied || q.Get("state") != "xyz" || q.Get("iss") != issuer || q.Has("code") {
		t.Errorf("got %v", q)
	}
}

func TestErrorsDoNotRedirectWithoutSession(t *testing.T) {
	t.Parallel()
	d := newSQLiteFixture(t)
	client := d.register(appRedirect)
	_, challenge := pkce()
	for name, changes := range map[string]url.Values{
		"a bad response type":      {"response_type": {"token"}},
		"no challenge":             {"code_challenge": nil},
		"a foreign resource":       {"resource": {"https://evil.example"}},
		"an unknown scope":         {"scope": {"admin"}},
		"a silent question":        {"prompt": {"none"}},
		"an unknown client":        {"client_id": {"client_unknown"}},
		"a client with NUL":        {"client_id": {"client\x00"}},
		"a client twice":           {"client_id": {client, client}},
		"no client":                {"client_id": nil},
		"another redirect":         {"redirect_uri": {"https://evil.example/cb"}},
		"a document elsewhere":     {"client_id": {"http://evil.example/client.json"}},
		"a document without path":  {"client_id": {"https://evil.example"}},
		"a document with dot path": {"client_id": {"https://evil.example/a/../b"}},
	} {
		p := params(client, appRedirect, challenge, changes)
		if got, ok := d.authorize(p, SessionRef{}).(ErrorPage); !ok || got.Status != http.StatusBadRequest {
			t.Errorf("%s: got %#v, want a page with 400", name, got)
		}
	}
	for name, c := range map[string]struct {
		changes url.Values
		code    string
	}{
		"a bad response type": {url.Values{"response_type": {"token"}}, errResponseType},
		"no challenge":        {url.Values{"code_challenge": nil}, errInvalidRequest},
		"a foreign resource":  {url.Values{"resource": {"https://evil.example"}}, errInvalidTarget},
		"an unknown scope":    {url.Values{"scope": {"admin"}}, errInvalidScope},
		"a silent question":   {url.Values{"prompt": {"none"}}, errConsentRequired},
	} {
		q := query(t, d.authorize(params(client, appRedirect, challenge, c.changes), d.session))
		if q.Get("error") != c.code || q.Get("state") != "xyz" || q.Get("iss") != issuer {
			t.Errorf("%s, signed in: got %v, want %s", name, q, c.code)
		}
	}
}

func TestTokenRequestsThatAreRefused(t *testing.T) {
	t.Parallel()
	d := newSQLiteFixture(t)
	p := d.code(nil)
	for _, c := range []struct {
		name    string
		changes url.Values
		status  int
		code    string
	}{
		{"no grant type", url.Values{"grant_type": nil}, 400, errInvalidRequest},
		{"another grant type", url.Values{"grant_type": {"client_credentials"}}, 400, errGrantType},
		{"the password", url.Values{"grant_type": {"password"}}, 400, errGrantType},
		{"no client", url.Values{"client_id": nil}, 400, errInvalidRequest},
		{"an unknown client", url.Values{"client_id": {"client_unknown"}}, 401, errInvalidClient},
		{"a secret", url.Values{"client_secret": {"s"}}, 401, errInvalidClient},
		{"no code", url.Values{"code": nil}, 400, errInvalidRequest},
		{"no verifier", url.Values{"code_verifier": nil}, 400, errInvalidRequest},
		{"another code", url.Values{"code": {newSecret(codePrefix)}}, 400, errInvalidGrant},
		{"a malformed code", url.Values{"code": {"x"}}, 400, errInvalidGrant},
		{"an access token as code", url.Values{"code": {newSecret(accessPrefix)}}, 400, errInvalidGrant},
		{"another redirect", url.Values{"redirect_uri": {"https://evil.example/cb"}}, 400, errInvalidGrant},
		{"a foreign resource", url.Values{"resource": {"https://evil.example"}}, 400, errInvalidTarget},
		{"a repeated parameter", url.Values{"code": {p.Get("code"), p.Get("code")}}, 400, errInvalidRequest},
		{"a repeated unknown parameter", url.Values{"x": {"1", "2"}}, 400, errInvalidRequest},
		{"a refresh without a token", url.Values{"grant_type": {"refresh_token"}}, 400, errInvalidRequest},
		{"a refresh with a code", url.Values{"grant_type": {"refresh_token"}, "refresh_token": p["code"]}, 400, errInvalidGrant},
	} {
		changed := url.Values{}
		for _, set := range []url.Values{p, c.changes} {
			maps.Copy(changed, set)
		}
		d.wantError(c.name, d.token(changed), c.status, c.code)
	}
	d.wantError("JSON", d.post(tokenPath, "application/json", `{"grant_type":"authorization_code"}`), 400, errInvalidRequest)
	d.wantError("no content type", d.post(tokenPath, "", p.Encode()), 400, errInvalidRequest)
	d.wantError("in the query", d.post(tokenPath+"?"+p.Encode(), "application/x-www-form-urlencoded", ""), 400, errInvalidRequest)
	d.wantError("a query beside the body", d.post(tokenPath+"?x=1", "application/x-www-form-urlencoded", p.Encode()), 400, errInvalidRequest)
	d.wantError("a bad escape", d.post(tokenPath, "application/x-www-form-urlencoded", "a=%zz"), 400, errInvalidRequest)
	d.wantError("a semicolon", d.post(tokenPath, "application/x-www-form-urlencoded", "a=1;b=2"), 400, errInvalidRequest)
	d.wantError("too large", d.post(tokenPath, "application/x-www-form-urlencoded", "a="+strings.Repeat("a", maxBody)), 413, errInvalidRequest)
	d.wantError("GET", d.get(tokenPath+"?"+p.Encode()), 405, errInvalidRequest)

	if a := d.token(p); a.status != http.StatusOK {
		t.Errorf("the code after all of it (one failed redemption): got %d %s", a.status, a.body)
	}
}

func TestBasicWithAnEmptySecret(t *testing.T) {
	t.Parallel()
	d := newSQLiteFixture(t)
	send := func(p url.Values, headers ...string) answer {
		r := httptest.NewRequest(http.MethodPost, tokenPath, strings.NewReader(p.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for _, h := range headers {
			r.Header.Add("Authorization", h)
		}
		return d.do(r)
	}
	basic := func(id, secret string) string {
		r := &http.Request{Header: http.Header{}}
		r.SetBasicAuth(id, secret)
		return r.Header.Get("Authorization")
	}
	p := d.code(nil)
	client := p.Get("client_id")
	both := url.Values{}
	maps.Copy(both, p)
	p.Del("client_id")
	d.wantError("a secret", send(p, basic(client, "s")), 401, errInvalidClient)
	if got := send(p, basic(client, "s")).header.Get("WWW-Authenticate"); !strings.HasPrefix(got, "Basic ") {
		t.Errorf("a secret: got WWW-Authenticate %q, want Basic", got)
	}
	d.wantError("another scheme", send(p, "Bearer x"), 401, errInvalidClient)
	d.wantError("a bad escape", send(p, basic("%zz", "")), 401, errInvalidClient)
	d.wantError("no client", send(p, basic("", "")), 401, errInvalidClient)
	d.wantError("two headers", send(p, basic(client, ""), basic(client, "")), 400, errInvalidRequest)
	d.wantError("two clients", send(both, basic("client_other", "")), 400, errInvalidRequest)
	d.wantError("an unknown client", send(p, basic("client_other", "")), 401, errInvalidClient)
	if a := send(p, basic(url.QueryEscape(client), "")); a.status != http.StatusOK {
		t.Errorf("an empty secret: got %d %s, want 200", a.status, a.body)
	}
	if a := send(d.code(nil)); a.status != http.StatusOK {
		t.Errorf("in the form: got %d %s, want 200", a.status, a.body)
	}
}

func TestLifetimes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *fixture) {
		p := d.code(nil)
		d.clock.advance(CodeLife)
		d.wantError("a code after 60 s", d.token(p), 400, errInvalidGrant)
		p = d.code(nil)
		d.clock.advance(CodeLife - time.Microsecond)
		a := d.token(p)
		if a.status != http.StatusOK {
			t.Fatalf("a code before 60 s: got %d %s", a.status, a.body)
		}
		tokens := signedInClient{p.Get("client_id"), a.get("access_token"), a.get("refresh_token")}
		d.clock.advance(AccessLife - time.Microsecond)
		d.wantGood("an access token before 30 minutes", tokens.access, apiURL, true)
		d.clock.advance(time.Microsecond)
		d.wantGood("an access token after 30 minutes", tokens.access, apiURL, false)

		d.clock.advance(RefreshLife - AccessLife - time.Microsecond)
		tokens = d.renew(tokens)
		d.clock.advance(RefreshLife)
		d.wantError("a refresh token after 30 days", d.token(tokens.renewal()), 400, errInvalidGrant)

		tokens = d.signInClient(nil)
		began := d.clock.Now()
		for range 7 {
			d.clock.advance(25 * 24 * time.Hour)
			tokens = d.renew(tokens)
		}
		d.clock.advance(began.Add(GrantLife).Sub(d.clock.Now()) - time.Minute)
		a = d.token(tokens.renewal())
		if a.status != http.StatusOK || a.json["expires_in"] != 60.0 {
			t.Errorf("a minute before the end of the grant: got %d %s, want a token for 60 s", a.status, a.body)
		}
		tokens.access, tokens.refresh = a.get("access_token"), a.get("refresh_token")
		d.clock.advance(time.Minute)
		d.wantGood("at the end of the grant", tokens.access, apiURL, false)
		d.wantError("at the end of the grant", d.token(tokens.renewal()), 400, errInvalidGrant)
	})
}

func TestNarrowing(t *testing.T) {
	t.Parallel()
	d := newSQLiteFixture(t)
	both := url.Values{"scope": {"pricing:read domains:write"}}
	p := d.signInClient(both)
	narrow := p.renewal()
	narrow.Set("scope", "domains:write")
	narrow.Set("resource", mcpURL)
	a := d.token(narrow)
	if a.status != http.StatusOK || a.get("scope") != "domains:write" {
		t.Fatalf("got %d %s, want domains:write", a.status, a.body)
	}
	d.wantGood("narrowed to /mcp", a.get("access_token"), signedInURL, true)
	d.wantGood("narrowed to /mcp", a.get("access_token"), apiURL, false)
	wide := signedInClient{p.client, "", a.get("refresh_token")}.renewal()
	wide["resource"] = []string{apiURL, mcpURL}
	a = d.token(wide)
	if a.status != http.StatusOK || a.get("scope") != "pricing:read domains:write" {
		t.Fatalf("all that was granted: got %d %s", a.status, a.body)
	}
	d.wantGood("two resources", a.get("access_token"), apiURL, true)
	d.wantGood("two resources", a.get("access_token"), mcpURL, true)
}

func TestRevocation(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *fixture) {
		revoke := func(token, client string) {
			t.Helper()
			if a := d.form(revokePath, url.Values{"token": {token}, "client_id": {client}, "token_type_hint": {"x"}}); a.status != http.StatusOK {
				t.Errorf("got %d %s, want 200", a.status, a.body)
			}
		}
		p, other := d.signInClient(nil), d.signInClient(nil)
		revoke("unknown", p.client)
		revoke(newSecret(accessPrefix), p.client)
		revoke(newSecret(refreshPrefix), p.client)
		revoke(p.access, other.client)
		revoke(p.refresh, other.client)
		d.wantGood("after another client's revocation", p.access, apiURL, true)

		revoke(p.access, p.client)
		d.wantGood("a revoked access token", p.access, apiURL, false)
		used := p
		p = d.renew(p)
		d.wantGood("its grant lives on", p.access, apiURL, true)

		revoke(p.refresh, p.client)
		d.wantGood("its grant was revoked", p.access, apiURL, false)
		d.wantError("its grant was revoked", d.token(p.renewal()), 400, errInvalidGrant)
		d.wantError("its grant was revoked", d.token(used.renewal()), 400, errInvalidGrant)
		d.wantGood("another grant", other.access, apiURL, true)
		d.wantError("no token", d.form(revokePath, url.Values{"client_id": {p.client}}), 400, errInvalidRequest)
	})
}

func TestGrace(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *fixture) {
		first := d.signInClient(nil)
		second := d.renew(first)
		d.clock.advance(9 * time.Second)
		again := d.renew(first)
		if again.refresh != second.refresh {
			t.Error("within the grace: got another successor")
		}
		d.wantGood("the access token beside it", again.access, apiURL, true)
		d.clock.advance(time.Second)
		third := d.renew(second)
		d.wantGood("the chain goes on", third.access, apiURL, true)
		d.wantError("the predecessor once its successor was used", d.token(first.renewal()), 400, errInvalidGrant)
		d.wantGood("after that", third.access, apiURL, false)

		first = d.signInClient(nil)
		second = d.renew(first)
		d.clock.advance(10 * time.Second)
		d.wantError("after the grace", d.token(first.renewal()), 400, errInvalidGrant)
		d.wantGood("after that", second.access, apiURL, false)
	}, func(c *Config) { c.RefreshGrace = 10 * time.Second })
}
