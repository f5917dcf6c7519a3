package oauthas

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

func testAudience(t testing.TB) audience {
	t.Helper()
	a, err := newAudience(issuer, []string{issuer, apiURL, mcpURL, signedInURL, away})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAuthorizationRequests(t *testing.T) {
	t.Parallel()
	a := testAudience(t)
	app := client{id: "client_1", name: "Ember", redirects: []string{appRedirect}}
	_, challenge := pkce()
	for _, c := range []struct {
		name    string
		changes url.Values
		code    string // empty: accepted
		want    func(request) bool
	}{
		{"plain", nil, "", func(r request) bool {
			return r.Scope == "pricing:read" && r.Resource == issuer && r.Challenge == challenge && string(r.State) == "xyz"
		}},
		{"no method means S256", url.Values{"code_challenge_method": nil}, "", nil},
		{"an empty method is an absent one", url.Values{"code_challenge_method": {""}}, "", nil},
		{"no state", url.Values{"state": nil}, "", func(r request) bool { return len(r.State) == 0 }},
		{"any state", url.Values{"state": {"a b&c=d#e\x00\xff%41+"}}, "", func(r request) bool { return string(r.State) == "a b&c=d#e\x00\xff%41+" }},
		{"unknown parameters", url.Values{"nonce": {"1", "2"}, "audience": {"x"}}, "", nil},
		{"both scopes in any order", url.Values{"scope": {"domains:write pricing:read"}}, "", func(r request) bool { return r.Scope == "pricing:read domains:write" }},
		{"one scope twice", url.Values{"scope": {"pricing:read pricing:read"}}, "", func(r request) bool { return r.Scope == "pricing:read" }},
		{"a resource", url.Values{"resource": {mcpURL}}, "", func(r request) bool { return r.Resource == mcpURL }},
		{"two resources", url.Values{"resource": {mcpURL, apiURL, mcpURL}}, "", func(r request) bool { return r.Resource == apiURL+" "+mcpURL }},
		{"the base with a slash", url.Values{"resource": {issuer + "/"}}, "", func(r request) bool { return r.Resource == issuer }},
		{"a resource with capitals and its port", url.Values{"resource": {"HTTPS://Names.Example:443/api"}}, "", func(r request) bool { return r.Resource == apiURL }},
		{"a resource elsewhere", url.Values{"resource": {away}}, "", func(r request) bool { return r.Resource == away }},
		{"prompt none", url.Values{"prompt": {"none"}}, "", func(r request) bool { return r.silent && !r.asked }},
		{"prompt consent", url.Values{"prompt": {"consent"}}, "", func(r request) bool { return !r.silent && r.asked }},

		{"no response type", url.Values{"response_type": nil}, errInvalidRequest, nil},
		{"token", url.Values{"response_type": {"token"}}, errResponseType, nil},
		{"code and token", url.Values{"response_type": {"code token"}}, errResponseType, nil},
		{"response type twice", url.Values{"response_type": {"code", "code"}}, errInvalidRequest, nil},
		{"state twice", url.Values{"state": {"a", "b"}}, errInvalidRequest, nil},
		{"state too long", url.Values{"state": {strings.Repeat("s", maxState+1)}}, errInvalidRequest, nil},
		{"scope twice", url.Values{"scope": {"pricing:read", "pricing:read"}}, errInvalidRequest, nil},
		{"unknown scope", url.Values{"scope": {"pricing:read admin"}}, errInvalidScope, nil},
		{"no challenge", url.Values{"code_challenge": nil}, errInvalidRequest, nil},
		{"an empty challenge", url.Values{"code_challenge": {""}}, errInvalidRequest, nil},
		{"challenge twice", url.Values{"code_challenge": {challenge, challenge}}, errInvalidRequest, nil},
		{"plain challenge", url.Values{"code_challenge_method": {"plain"}}, errInvalidRequest, nil},
		{"s256 in small letters", url.Values{"code_challenge_method": {"s256"}}, errInvalidRequest, nil},
		{"method twice", url.Values{"code_challenge_method": {"S256", "plain"}}, errInvalidRequest, nil},
		{"a short challenge", url.Values{"code_challenge": {challenge[1:]}}, errInvalidRequest, nil},
		{"a long challenge", url.Values{"code_challenge": {challenge + "A"}}, errInvalidRequest, nil},
		{"a padded challenge", url.Values{"code_challenge": {challenge[1:] + "="}}, errInvalidRequest, nil},
		{"a foreign resource", url.Values{"resource": {"https://evil.example/api"}}, errInvalidTarget, nil},
		{"one foreign resource of two", url.Values{"resource": {apiURL, "https://evil.example/api"}}, errInvalidTarget, nil},
		{"a path below a resource", url.Values{"resource": {apiURL + "/v2"}}, errInvalidTarget, nil},
		{"a resource with a fragment", url.Values{"resource": {apiURL + "#x"}}, errInvalidTarget, nil},
		{"a resource with a query", url.Values{"resource": {apiURL + "?x"}}, errInvalidTarget, nil},
		{"a relative resource", url.Values{"resource": {"/api"}}, errInvalidTarget, nil},
		{"prompt none with another", url.Values{"prompt": {"none consent"}}, errInvalidRequest, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, refusal := checkRequest(a, app, appRedirect, params(app.id, appRedirect, challenge, c.changes))
			switch {
			case c.code == "" && refusal != nil:
				t.Errorf("%v: got %v, want it accepted", c.changes, *refusal)
			case c.code != "" && (refusal == nil || refusal.code != c.code):
				t.Errorf("%v: got %v, want %s", c.changes, refusal, c.code)
			case c.want != nil && !c.want(got):
				t.Errorf("%v: got %+v", c.changes, got)
			}
		})
	}
}

func TestStateSurvivesStorage(t *testing.T) {
	t.Parallel()
	in := request{State: []byte("a\x00\xff<>&é"), RedirectURI: appRedirect + "?tenant=a%20b"}
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var out request
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	got := out.answerURL(issuer, url.Values{"code": {"c"}})
	if !strings.HasPrefix(got, in.RedirectURI+"&") {
		t.Errorf("got %q, want the redirect untouched", got)
	}
	u, _ := url.Parse(got)
	if q := u.Query(); q.Get("state") != string(in.State) || q.Get("iss") != issuer || q.Get("code") != "c" || q.Get("tenant") != "a b" {
		t.Errorf("got %v, want state, iss, code and tenant", q)
	}
}

func TestTokenAudience(t *testing.T) {
	t.Parallel()
	a := testAudience(t)
	for _, c := range []struct {
		granted string
		good    []string
	}{
		{issuer, []string{issuer, apiURL, mcpURL, signedInURL, apiURL + "x"}}, // everything below the base
		{apiURL, []string{apiURL}},
		{mcpURL, []string{mcpURL, signedInURL}},
		{signedInURL, []string{mcpURL, signedInURL}},
		{away, []string{away, away + "/signed-in"}},
		{apiURL + " " + mcpURL, []string{apiURL, mcpURL, signedInURL}},
	} {
		for _, target := range []string{issuer, apiURL, mcpURL, signedInURL, away, away + "/signed-in", issuer + ".evil", apiURL + "x", "https://evil.example/api"} {
			want := false
			for _, g := range c.good {
				want = want || g == target
			}
			if got := a.accepts(c.granted, target); got != want {
				t.Errorf("a token for %q at %s: got %v, want %v", c.granted, target, got, want)
			}
		}
	}
}

func FuzzAuthorizationRequest(f *testing.F) {
	_, challenge := pkce()
	f.Add(params("c", appRedirect, challenge, nil).Encode())
	f.Add(params("c", appRedirect, challenge, url.Values{"resource": {mcpURL, apiURL}, "prompt": {"none"}, "scope": {"domains:write"}}).Encode())
	f.Add("state=a&state=b&response_type=code")
	a := testAudience(f)
	app := client{id: "c", redirects: []string{appRedirect}}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := url.ParseQuery(text)
		if err != nil {
			return
		}
		req, refusal := checkRequest(a, app, appRedirect, p)
		to := req
		to.RedirectURI = appRedirect
		answered, err := url.Parse(to.answerURL(issuer, url.Values{}))
		if err != nil || answered.Host != "app.example" || answered.Query().Get("state") != string(req.State) {
			t.Fatalf("%q leads to %v, %v", text, answered, err)
		}
		if refusal != nil {
			return
		}
		if len(req.Challenge) != challengeLength || req.Scope == "" || req.Resource == "" || req.RedirectURI != appRedirect {
			t.Fatalf("%q is accepted as %+v", text, req)
		}
		for name, values := range p {
			for _, once := range authorizeParams {
				if name == once && len(values) > 1 {
					t.Fatalf("%q is accepted with %s twice", text, name)
				}
			}
		}
	})
}
