package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/internal/oauthtest"
	"github.com/namewharf/namewharf/internal/programtest"
)

// offer asks for the real price of a name that the demo sells. It asks no registry.
const offer = `{"q":"brewhaven.com","limit":1,"require_real_prices":true}`

// callHTTP calls a tool over HTTP with a token, or without one.
func callHTTP(t *testing.T, address, tool, arguments, token string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", address, strings.NewReader(call(tool, arguments)))
	if err != nil {
		t.Fatal(err)
	}
	r.Close = true
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(text)
}

// wantPrice calls for a real price at an address, and checks whether the token is taken there.
func wantPrice(t *testing.T, what, address, token string, good bool) {
	t.Helper()
	resp, text := callHTTP(t, address, "market_listings", offer, token)
	if good && (resp.StatusCode != http.StatusOK || !strings.Contains(text, `"priceCents":1850000`)) {
		t.Errorf("%s: got %d %s, want the real price", what, resp.StatusCode, text)
	}
	challenge := resp.Header.Get("WWW-Authenticate")
	if !good && (resp.StatusCode != http.StatusUnauthorized || !strings.Contains(challenge, `error="invalid_token"`)) {
		t.Errorf("%s: got %d %q, want 401 with invalid_token", what, resp.StatusCode, challenge)
	}
}

// wantDocument checks the metadata of a resource.
func wantDocument(t *testing.T, at *oauthtest.Server, path, resource, issuer string) {
	t.Helper()
	a := at.Get("/.well-known/oauth-protected-resource" + path)
	var document struct {
		Resource string
		Servers  []string `json:"authorization_servers"`
	}
	if err := json.Unmarshal([]byte(a.Text), &document); err != nil || a.Status != http.StatusOK || document.Resource != resource ||
		len(document.Servers) != 1 || document.Servers[0] != issuer {
		t.Errorf("the document of %s: got %d %s, want that resource and the server %s", resource, a.Status, a.Text, issuer)
	}
}

// By itself the server signs people in.
func TestOwnIssuer(t *testing.T) {
	t.Parallel()
	p, _ := start(t, nil, "-demo", "-http", "127.0.0.1:0", "-rate-limits", "off")
	base := p.Listening()
	oauth := &oauthtest.Server{TB: t, Base: base}
	for _, path := range []string{"", "/mcp", "/mcp/signed-in"} {
		wantDocument(t, oauth, path, base+path, base)
	}
	metadata := oauth.Get("/.well-known/oauth-authorization-server")
	if metadata.Get("issuer") != base || metadata.Get("token_endpoint") != base+"/api/oauth/token" {
		t.Errorf("the server's metadata: %d %s", metadata.Status, metadata.Text)
	}
	resp, text := callHTTP(t, base+"/mcp", "market_listings", offer, "")
	if challenge := resp.Header.Get("WWW-Authenticate"); resp.StatusCode != http.StatusUnauthorized ||
		!strings.Contains(challenge, `resource_metadata="`+base+`/.well-known/oauth-protected-resource/mcp"`) || !strings.Contains(challenge, `scope="pricing:read"`) {
		t.Errorf("real prices without a token: got %d %q %s, want a challenge", resp.StatusCode, challenge, text)
	}
	person := oauth.SignedInUser()
	for _, resource := range []string{"", base, base + "/mcp", base + "/mcp/signed-in"} {
		changes := url.Values{"resource": {resource}}
		if resource == "" {
			changes = nil
		}
		tokens := person.Tokens(oauth.NewClient(), changes)
		wantPrice(t, "a token for "+resource+" at /mcp", base+"/mcp", tokens.Access, true)
		wantPrice(t, "a token for "+resource+" at /mcp/signed-in", base+"/mcp/signed-in", tokens.Access, true)
		oauth.Revoke(tokens.Refresh)
		wantPrice(t, "a token that is revoked", base+"/mcp", tokens.Access, false)
	}
	tokens := person.Tokens(oauth.NewClient(), nil)
	if resp, text := callHTTP(t, base+"/mcp", "bulk_domains", `{"op":"verify","domains":["cobaltpine.com"]}`, tokens.Access); resp.StatusCode != http.StatusOK || !strings.Contains(text, "not_found") {
		t.Errorf("bulk_domains: got %d %s", resp.StatusCode, text)
	}
	if a := person.Open("/style.css"); a.Status != http.StatusOK {
		t.Errorf("the style of the pages: got %d", a.Status)
	}
}

// publicapi starts the public API that signs people in for others on the store of a directory.
func publicapi(t *testing.T, data string, args ...string) *oauthtest.Server {
	t.Helper()
	program := filepath.Join(t.TempDir(), "publicapi")
	build := exec.Command("go", "build", "-o", program, "../publicapi")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building publicapi: %v\n%s", err, out)
	}
	const base = "http://127.0.0.1:8080"
	args = append([]string{"-demo", "-data", data, "-addr", "127.0.0.1:0", "-base-url", base, "-rate-limits", "off"}, args...)
	p := programtest.StartCommand(t, exec.Command(program, args...))
	return &oauthtest.Server{TB: t, Base: base, Transport: oauthtest.ProxyTransport(p.Listening())}
}

// here is the base URL of a server whose people sign in at the public API.
const here = "http://127.0.0.1:8081"

// With -issuer people sign in at the public API.
func TestIssuerElsewhere(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	issuer := publicapi(t, data, "-extra-resources", here+"/mcp")
	in := func(test func(*testing.T, *oauthtest.Server, string)) func(*testing.T) {
		return func(t *testing.T) {
			t.Parallel()
			test(t, &oauthtest.Server{TB: t, Base: issuer.Base, Transport: issuer.Transport}, data)
		}
	}
	t.Run("over HTTP", in(issuerOfHTTP))
	t.Run("on stdio", in(issuerOfStdio))
}

// issuerOfHTTP has tokens for one of the two servers, and shows them to both.
func issuerOfHTTP(t *testing.T, issuer *oauthtest.Server, data string) {
	p, _ := start(t, nil, "-data", data, "-http", "127.0.0.1:0", "-base-url", here, "-issuer", issuer.Base+"/", "-rate-limits", "off")
	listening := p.Listening()
	server := &oauthtest.Server{TB: t, Base: here, Transport: oauthtest.ProxyTransport(listening)}
	for _, path := range []string{"", "/mcp", "/mcp/signed-in"} {
		wantDocument(t, server, path, here+path, issuer.Base)
	}
	for _, path := range []string{"/.well-known/oauth-authorization-server", "/signin", "/oauth/authorize", "/account"} {
		if a := server.Get(path); a.Status != http.StatusNotFound {
			t.Errorf("%s at a server whose people sign in elsewhere: got %d, want 404", path, a.Status)
		}
	}
	resp, _ := callHTTP(t, listening+"/mcp/signed-in", "market_listings", offer, "")
	if challenge := resp.Header.Get("WWW-Authenticate"); !strings.Contains(challenge, `resource_metadata="`+here+`/.well-known/oauth-protected-resource/mcp/signed-in"`) {
		t.Errorf("the challenge is %q", challenge)
	}
	person, app := issuer.SignedInUser(), issuer.NewClient()
	token := func(resource ...string) oauthtest.Tokens {
		return person.Tokens(app, url.Values{"resource": resource})
	}
	api := func(what, token string, good bool) {
		t.Helper()
		a := issuer.Get("/api", "Authorization", "Bearer "+token)
		if good && a.Status != http.StatusOK || !good && a.Status != http.StatusUnauthorized {
			t.Errorf("%s: got %d %s, want it good: %v", what, a.Status, a.Text, good)
		}
	}
	ours := token(here + "/mcp")
	wantPrice(t, "our token at /mcp", listening+"/mcp", ours.Access, true)
	wantPrice(t, "our token at /mcp/signed-in", listening+"/mcp/signed-in", ours.Access, true)
	api("our token at the public API", ours.Access, false)
	for _, resources := range [][]string{nil, {issuer.Base}, {issuer.Base + "/api"}, {issuer.Base + "/mcp"}} {
		theirs := token(resources...)
		wantPrice(t, "a token for "+strings.Join(resources, " ")+" at our /mcp", listening+"/mcp", theirs.Access, false)
		api("a token for "+strings.Join(resources, " ")+" at the public API", theirs.Access, !strings.HasSuffix(strings.Join(resources, " "), "/mcp"))
	}
	both := token(here+"/mcp", issuer.Base+"/api")
	wantPrice(t, "a token for both at /mcp", listening+"/mcp", both.Access, true)
	api("a token for both at the public API", both.Access, true)

	issuer.Revoke(ours.Refresh)
	revoked := time.Now()
	for asked := revoked; ; asked = time.Now() {
		resp, _ := callHTTP(t, listening+"/mcp", "tld_registration_price", `{"tld":"com"}`, ours.Access)
		if resp.StatusCode == http.StatusUnauthorized {
			break
		}
		if asked.Sub(revoked) > 2*time.Second {
			t.Fatal("the token is good here 2 s after its revocation there")
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// issuerOfStdio has the token in the environment, where it is good as long as its grant is.
func issuerOfStdio(t *testing.T, issuer *oauthtest.Server, data string) {
	person, app := issuer.SignedInUser(), issuer.NewClient()
	tokens := person.Tokens(app, nil)
	stdio := func(token string) (p *programtest.Program) {
		p, _ = start(t, []string{"NAMEWHARF_TOKEN=" + token}, "-data", data, "-issuer", issuer.Base)
		return p
	}
	p := stdio(tokens.Access)
	for _, arguments := range []string{offer, `{"q":"brewhaven.com","sort":"price"}`} {
		if answer := ask(t, p, call("market_listings", arguments)); !strings.Contains(answer, `"priceCents":1850000`) || strings.Contains(answer, "•") {
			t.Errorf("market_listings %s: got %s, want the real price", arguments, answer)
		}
	}
	if answer := ask(t, p, call("bulk_domains", `{"op":"verify","domains":["cobaltpine.com"]}`)); !strings.Contains(answer, "not_found") {
		t.Errorf("bulk_domains: got %s", answer)
	}
	issuer.Revoke(tokens.Refresh)
	var answer string
	for revoked := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		asked := time.Now()
		if answer = ask(t, p, call("market_listings", offer)); !strings.Contains(answer, "priceCents\":1850000") {
			break
		}
		if asked.Sub(revoked) > 2*time.Second {
			t.Fatal("the token is good 2 s after its revocation")
		}
	}
	if !strings.Contains(answer, `"isError":true`) || !strings.Contains(answer, "NAMEWHARF_TOKEN") || !strings.Contains(answer, "invalid_token") || strings.Contains(answer, tokens.Access) {
		t.Errorf("after the revocation: got %s, want to be asked to sign in", answer)
	}
	if answer := ask(t, p, call("tld_registration_price", `{"tld":"com"}`)); !strings.Contains(answer, "NAMEWHARF_TOKEN") {
		t.Errorf("what needs no token, with a bad one: got %s, want to be asked to sign in, never an anonymous answer", answer)
	}
	api := person.Tokens(app, url.Values{"resource": {issuer.Base + "/api"}})
	for name, token := range map[string]string{"for the API": api.Access, "a refresh token": api.Refresh} {
		p := stdio(token)
		_ = p.Stdin.Close()
		if stdout, status := p.Wait(); status != 2 || stdout != "" || !strings.HasPrefix(p.Stderr(), "mcp: NAMEWHARF_TOKEN: ") || strings.Contains(p.Stderr(), token) {
			t.Errorf("starting with a token that is %s: status %d, %q, %s", name, status, stdout, p.Stderr())
		}
	}
}
