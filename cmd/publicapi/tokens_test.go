package main

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// Who holds which token gets which answer, through every transport.
func TestTokenHolders(t *testing.T) {
	t.Parallel()
	s := open(t, "-rate-limits", "off")
	oauth := s.oauth(t)
	person, app := oauth.SignedInUser(), oauth.NewClient()
	of := func(scope string) string {
		return person.Tokens(app, url.Values{"scope": {scope}}).Access
	}
	both, prices, domains := of("pricing:read domains:write"), of("pricing:read"), of("domains:write")
	if usual := person.Tokens(app, url.Values{"scope": nil}); usual.Scope != "pricing:read" {
		t.Errorf("without a scope asked for, the token has %q, want pricing:read", usual.Scope)
	}

	t.Run("REST", func(t *testing.T) { s.restScopes(t, both, prices, domains) })
	t.Run("MCP", func(t *testing.T) { s.mcpScopes(t, both, prices, domains) })
	t.Run("the list of endpoints", func(t *testing.T) {
		r := s.do(t, "GET", "/api", "")
		wantChallenge(t, "GET /api without a token", r, http.StatusUnauthorized, "authentication_required",
			`resource_metadata="`+s.url+"/.well-known/oauth-protected-resource", `scope="pricing:read"`)
		if strings.Contains(r.Header.Get("WWW-Authenticate"), "error=") {
			t.Errorf("GET /api without a token: the challenge %q names an error (RFC 6750, section 3.1)", r.Header.Get("WWW-Authenticate"))
		}
		for _, token := range []string{both, prices, domains} {
			if r := s.asks(t, "GET", "/api", "", token); r.StatusCode != http.StatusOK || !strings.Contains(r.text, "/api/domain/search") {
				t.Errorf("GET /api with a token: got %d %s", r.StatusCode, r.text)
			}
		}
		for name, token := range map[string]string{
			"made up": "nw_at_" + strings.Repeat("A", 43), "a refresh token's form": "nw_rt_" + strings.Repeat("A", 43), "too short": both[:20],
			"with one letter changed": both[:len(both)-2] + "!!", "too long": both + both + strings.Repeat("A", 500),
		} {
			wantChallenge(t, "a token that is "+name, s.asks(t, "GET", "/api", "", token), http.StatusUnauthorized, "invalid_token", `error="invalid_token"`)
		}
	})
	t.Run("a session is no token", func(t *testing.T) {
		session := person.Cookie("nw_session")
		for _, path := range []string{"/api", mine, listings + "?sort=price"} {
			r := s.do(t, "GET", path, "", "Cookie", "nw_session="+session)
			wantChallenge(t, path+" with a session's cookie", r, http.StatusUnauthorized, "authentication_required")
			wantChallenge(t, path+" with a session as token", s.asks(t, "GET", path, "", session), http.StatusUnauthorized, "invalid_token")
		}
		if r := s.do(t, "GET", listings+"?limit=1", "", "Cookie", "nw_session="+session); !strings.Contains(r.text, `"masked":true`) {
			t.Errorf("listings with a session's cookie: %s, want masked prices", r.text)
		}
	})
	t.Run("after the last access", func(t *testing.T) {
		tokens := person.Tokens(app, nil)
		oauth.Revoke(tokens.Access)
		wantChallenge(t, "an access token that is revoked", s.asks(t, "GET", listings, "", tokens.Access), http.StatusUnauthorized, "invalid_token", `error="invalid_token"`)
		next := oauth.MustToken(app.RefreshForm(tokens.Refresh))
		if !s.good(t, next.Access) {
			t.Error("the grant went with one of its access tokens")
		}
		apps := person.Open("/account/apps")
		for apps.Status == http.StatusOK && strings.Contains(apps.Text, `name="grant"`) {
			apps = person.SubmitForm(apps, "/account/apps", nil)
		}
		for _, token := range []string{next.Access, both, prices, domains} {
			if s.good(t, token) {
				t.Error("a token is good after its app was disconnected on the page")
			}
		}
	})
}

// wantChallenge holds a refusal against its status, its code and parts of its challenge.
func wantChallenge(t testing.TB, what string, r reply, status int, code string, parts ...string) {
	t.Helper()
	if p := r.problem(t); r.StatusCode != status || p.Code != code {
		t.Errorf("%s: got %d %s, want %d %s", what, r.StatusCode, r.text, status, code)
	}
	wantChallenged(t, what, r, parts...)
}

func wantChallenged(t testing.TB, what string, r reply, parts ...string) {
	t.Helper()
	challenge := r.Header.Get("WWW-Authenticate")
	for _, part := range append(parts, "Bearer ", "resource_metadata=") {
		if !strings.Contains(challenge, part) {
			t.Errorf("%s: the challenge %q lacks %s", what, challenge, part)
		}
	}
}

func (s *site) restScopes(t *testing.T, both, prices, domains string) {
	for _, test := range []struct{ name, method, path, body, scope string }{
		{"real prices of a search", "POST", search, `{"q":"brewhaven.com","tlds":["com"],"require_real_prices":true}`, "pricing:read"},
		{"real prices of listings", "GET", listings + "?require_real_prices=true", "", "pricing:read"},
		{"real prices of a batch", "POST", batched, `{"operations":[{"id":"a","op":"market_listings","params":{}}],"require_real_prices":true}`, "pricing:read"},
		{"an order by price", "GET", listings + "?sort=price", "", "pricing:read"},
		{"a lower bound", "GET", listings + "?min_price_cents=100", "", "pricing:read"},
		{"an upper bound", "GET", listings + "?max_price_cents=100000000", "", "pricing:read"},
		{"the portfolio", "GET", "/api/domains", "", "domains:write"},
		{"a name of mine", "POST", "/api/domains", `{"domain":"cobaltpine.org"}`, "domains:write"},
		{"a bulk change", "POST", "/api/domains/bulk/verify", `{"domains":["cobaltpine.org"]}`, "domains:write"},
	} {
		other, one := domains, prices
		if test.scope == "domains:write" {
			other, one = prices, domains
		}
		wantChallenge(t, test.name+" without a token", s.do(t, test.method, test.path, test.body), http.StatusUnauthorized, "authentication_required", `scope="`+test.scope+`"`)
		wantChallenge(t, test.name+" with the other scope", s.asks(t, test.method, test.path, test.body, other), http.StatusForbidden, "insufficient_scope",
			`error="insufficient_scope"`, `scope="`+test.scope+`"`)
		for _, token := range []string{one, both} {
			if r := s.asks(t, test.method, test.path, test.body, token); r.StatusCode != http.StatusOK && r.StatusCode != http.StatusCreated || strings.Contains(r.text, `"masked":true`) {
				t.Errorf("%s with the scope: got %d %s", test.name, r.StatusCode, r.text)
			}
		}
	}
	for _, token := range []string{"", domains} { // the other scope alone shows what no token shows
		headers := []string{}
		if token != "" {
			headers = []string{"Authorization", "Bearer " + token}
		}
		if r := s.do(t, "GET", listings+"?limit=1", "", headers...); !strings.Contains(r.text, `"masked":true`) || strings.Contains(r.text, `"priceCents"`) {
			t.Errorf("listings without pricing:read: %s", r.text)
		}
	}
}

func (s *site) mcpScopes(t *testing.T, both, prices, domains string) {
	call := func(path, era, tool, arguments, token string) reply {
		headers := []string{}
		if token != "" {
			headers = []string{"Authorization", "Bearer " + token}
		}
		return s.mcp(t, path, era, tool, message(era, tool, arguments), headers...)
	}
	const bulk = `{"op":"unlist","domains":["cobaltpine.net"]}`
	for _, era := range []string{modern, legacy} {
		for tool, arguments := range map[string]string{
			"search_domain":   `{"q":"brewhaven.com","tlds":["com"],"require_real_prices":true}`,
			"market_listings": `{"require_real_prices":true,"limit":1}`,
			"batch_lookup":    `{"operations":[{"id":"a","op":"market_listings","params":{"limit":1}}],"require_real_prices":true}`,
		} {
			r := call("/mcp", era, tool, arguments, "")
			if r.StatusCode != http.StatusUnauthorized || strings.Contains(r.Header.Get("WWW-Authenticate"), "error=") {
				t.Errorf("%s in %s without a token: got %d %q", tool, era, r.StatusCode, r.Header.Get("WWW-Authenticate"))
			}
			wantChallenged(t, tool+" without a token", r, s.url+"/.well-known/oauth-protected-resource/mcp\"", `scope="pricing:read"`)
			r = call("/mcp", era, tool, arguments, domains)
			if r.StatusCode != http.StatusForbidden {
				t.Errorf("%s in %s with the other scope: got %d %s, want 403", tool, era, r.StatusCode, r.text)
			}
			wantChallenged(t, tool+" with the other scope", r, `error="insufficient_scope"`, `scope="pricing:read"`)
			for _, path := range []string{"/mcp", "/mcp/signed-in"} {
				if r := call(path, era, tool, arguments, prices); r.StatusCode != http.StatusOK || !strings.Contains(r.text, `priceCents`) || strings.Contains(r.text, `"masked":true`) {
					t.Errorf("%s in %s at %s with a token: got %d %s", tool, era, path, r.StatusCode, r.text)
				}
			}
		}
		r := call("/mcp/signed-in", era, "tld_registration_price", `{"tld":"com"}`, "")
		if r.StatusCode != http.StatusUnauthorized {
			t.Errorf("/mcp/signed-in in %s without a token: got %d", era, r.StatusCode)
		}
		wantChallenged(t, "/mcp/signed-in", r, s.url+"/.well-known/oauth-protected-resource/mcp/signed-in\"", `scope="pricing:read"`)

		wantChallenged(t, "bulk_domains without a token", call("/mcp", era, "bulk_domains", bulk, ""), `scope="domains:write"`)
		r = call("/mcp", era, "bulk_domains", bulk, prices)
		if r.StatusCode != http.StatusForbidden {
			t.Errorf("bulk_domains in %s with the other scope: got %d %s, want 403", era, r.StatusCode, r.text)
		}
		wantChallenged(t, "bulk_domains with the other scope", r, `error="insufficient_scope"`, `scope="domains:write"`)
		if r := call("/mcp", era, "bulk_domains", bulk, both); r.StatusCode != http.StatusOK || !strings.Contains(r.text, `"dry_run":true`) || !strings.Contains(r.text, "not_found") {
			t.Errorf("bulk_domains in %s: got %d %s, want a dry run by default", era, r.StatusCode, r.text)
		}
	}
	// Each document names its own resource.
	oauth := s.oauth(t)
	for _, path := range []string{"", "/api", "/mcp", "/mcp/signed-in"} {
		a := oauth.Get("/.well-known/oauth-protected-resource" + path)
		if a.Get("resource") != s.url+path || !strings.Contains(a.Text, `"bearer_methods_supported":["header"]`) || !strings.Contains(a.Text, `"scopes_supported":["pricing:read"]`) {
			t.Errorf("the document of %s%s: %s", s.url, path, a.Text)
		}
	}
}
