package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"golang.org/x/oauth2"

	"github.com/namewharf/namewharf/internal/programtest"
)

const forSale = "brewhaven.com" // in the demo's market

// A demo is a built cmd/publicapi with -demo, a person who has an account there, and the loopback page of an
// application that people come back to.
type demo struct {
	url             string
	email, password string
	landing         string
}

func newDemo(t *testing.T) *demo {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "publicapi")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../../cmd/publicapi").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	cmd := exec.Command(binary, "-demo", "-addr", "127.0.0.1:0")
	cmd.Dir = t.TempDir()
	program := programtest.StartCommand(t, cmd)
	d := &demo{url: program.Listening()}
	account := regexp.MustCompile(` e-mail (\S+) +password (\S+)$`)
	for d.password == "" && program.Lines.Scan() {
		if found := account.FindStringSubmatch(program.Lines.Text()); found != nil {
			d.email, d.password = found[1], found[2]
		}
	}
	if d.password == "" {
		t.Fatalf("the demo names no account; standard error: %s", program.Stderr())
	}
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "You can close this page.") }))
	t.Cleanup(page.Close)
	d.landing = page.URL + "/callback"
	return d
}

var (
	form   = regexp.MustCompile(`(?s)<form method="post" action="([^"]*)"[^>]*>(.*?)</form>`)
	hidden = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)"`)
)

// allow is what a person does, in a browser without scripts, whom an application sends to an address: sign in, allow
// what is asked, and come back with the answer.
func (d *demo) allow(t *testing.T, via http.RoundTripper, address string) url.Values {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Transport: via, Jar: jar}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	for range 4 {
		if err != nil {
			t.Fatal(err)
		}
		response, err := browser.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		at := response.Request.URL
		if strings.HasPrefix(at.String(), d.landing+"?") {
			return at.Query()
		}
		request, err = d.fill(at, page)
		if err != nil {
			t.Fatalf("at %s: %d, %v", at.Path, response.StatusCode, err)
		}
		request = request.WithContext(t.Context())
	}
	t.Fatal("there is no end of pages")
	return nil
}

// fill sends the first form of a page as a browser does.
func (d *demo) fill(at *url.URL, page []byte) (*http.Request, error) {
	found := form.FindSubmatch(page)
	if found == nil {
		return nil, fmt.Errorf("no form in %s", page)
	}
	values := url.Values{}
	for _, field := range hidden.FindAllSubmatch(found[2], -1) {
		values.Set(html.UnescapeString(string(field[1])), html.UnescapeString(string(field[2])))
	}
	switch fields := string(found[2]); {
	case strings.Contains(fields, `name="password"`):
		values.Set("email", d.email)
		values.Set("password", d.password)
	case strings.Contains(fields, `name="answer" value="allow"`):
		values.Set("answer", "allow")
	default:
		return nil, fmt.Errorf("nothing to allow in %s", page)
	}
	target, err := at.Parse(html.UnescapeString(string(found[1])))
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequest(http.MethodPost, target.String(), strings.NewReader(values.Encode()))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Origin", "null")
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	return request, nil
}

// A wire writes down the requests to the demo, as "METHOD path status".
type wire struct {
	mu   sync.Mutex
	seen []string
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && r.URL.Path != "/callback" {
		line := fmt.Sprintf("%s %s %d", r.Method, r.URL.Path, response.StatusCode)
		if _, secret, ok := r.BasicAuth(); ok {
			line += fmt.Sprintf(" with Basic and the secret %q", secret)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.seen = append(w.seen, line)
	}
	return response, err
}

// want holds what was seen since the last call against a list.
func (w *wire) want(t *testing.T, want ...string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Equal(w.seen, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(w.seen, "\n  "), strings.Join(want, "\n  "))
	}
	w.seen = nil
}

// consent is what a person is led through who is not signed in.
var consent = []string{"GET /oauth/authorize 303", "GET /signin 200", "POST /signin 303", "GET /oauth/authorize 200", "POST /oauth/authorize 303"}

// Clients in Go log in by themselves, and see real prices.
func TestClientsLogIn(t *testing.T) {
	t.Parallel()
	d := newDemo(t)
	for _, style := range []struct {
		name   string
		style  oauth2.AuthStyle
		suffix string
	}{
		{"x/oauth2 that finds out the style", oauth2.AuthStyleAutoDetect, ` with Basic and the secret ""`},
		{"x/oauth2 with parameters", oauth2.AuthStyleInParams, ""},
	} {
		t.Run(style.name, func(t *testing.T) { testOAuth2(t, d, style.style, "POST /api/oauth/token 200"+style.suffix) })
	}
	for era, greeting := range map[string][]string{"2025-11-25": {"200", "202"}, "2026-07-28": {"200"}} {
		t.Run("mcp-go from the start, "+era, func(t *testing.T) { testFromTheStart(t, d, era, greeting) })
		t.Run("mcp-go in mid-conversation, "+era, func(t *testing.T) { testMidConversation(t, d, era, greeting) })
	}
}

func testOAuth2(t *testing.T, d *demo, style oauth2.AuthStyle, token string) {
	w := &wire{}
	ctx := context.WithValue(t.Context(), oauth2.HTTPClient, &http.Client{Transport: w})
	config := oauth2.Config{
		ClientID: d.register(t), RedirectURL: d.landing, Scopes: []string{"pricing:read"},
		Endpoint: oauth2.Endpoint{AuthURL: d.url + "/oauth/authorize", TokenURL: d.url + "/api/oauth/token", AuthStyle: style},
	}
	verifier := oauth2.GenerateVerifier()
	answer := d.allow(t, w, config.AuthCodeURL("state", oauth2.S256ChallengeOption(verifier)))
	if answer.Get("state") != "state" || answer.Get("iss") != d.url {
		t.Fatalf("the answer has state %q, iss %q", answer.Get("state"), answer.Get("iss"))
	}
	first, err := config.Exchange(ctx, answer.Get("code"), oauth2.VerifierOption(verifier))
	if err != nil {
		t.Fatal(err)
	}
	w.want(t, append(slices.Clone(consent), token)...)

	ended := *first
	ended.Expiry = time.Now().Add(-time.Minute)
	response, err := config.Client(ctx, &ended).Get(d.url + "/api/market/listings?q=" + forSale)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var listings struct {
		Masked bool `json:"prices_masked"`
	}
	if err := json.NewDecoder(response.Body).Decode(&listings); err != nil || listings.Masked {
		t.Errorf("listings: got %d, masked %t, %v", response.StatusCode, listings.Masked, err)
	}
	w.want(t, token, "GET /api/market/listings 200")
}

// register is what x/oauth2 leaves to others.
func (d *demo) register(t *testing.T) (clientID string) {
	t.Helper()
	response, err := http.Post(d.url+"/api/oauth/register", "application/json", strings.NewReader(fmt.Sprintf(`{"redirect_uris":[%q]}`, d.landing)))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var registered struct {
		ClientID string `json:"client_id"`
	}
	if err := json.NewDecoder(response.Body).Decode(&registered); err != nil || registered.ClientID == "" {
		t.Fatalf("register: got %d, %v", response.StatusCode, err)
	}
	return registered.ClientID
}

// discovered is what mcp-go does between the challenge and the sign-in.
var discovered = []string{"GET /.well-known/oauth-authorization-server 200", "POST /api/oauth/register 201"}

// posts are requests to an endpoint with these statuses.
func posts(path string, statuses ...string) (lines []string) {
	for _, status := range statuses {
		lines = append(lines, "POST "+path+" "+status)
	}
	return lines
}

func testFromTheStart(t *testing.T, d *demo, era string, greeting []string) {
	const path = "/mcp/signed-in"
	w := &wire{}
	store := client.NewMemoryTokenStore()
	c := dial(t, w, era, d.url+path, d.oauth(w, client.OAuthConfig{TokenStore: store}))
	handler := client.GetOAuthHandler(initialize(t, c))
	if handler == nil {
		t.Fatal("the client does not ask for a sign-in")
	}
	d.logIn(t, w, handler)
	if err := initialize(t, c); err != nil {
		t.Fatal(err)
	}
	if masked, err := search(t, c, false); err != nil || masked {
		t.Fatalf("search: masked %t, %v", masked, err)
	}
	w.want(t, slices.Concat([]string{"GET /.well-known/oauth-protected-resource/mcp/signed-in 200"}, discovered, consent,
		[]string{"POST /api/oauth/token 200"}, posts(path, greeting...), posts(path, "200"))...)

	token, err := store.GetToken(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ended := *token
	ended.ExpiresAt = time.Now().Add(-time.Minute)
	if err := store.SaveToken(t.Context(), &ended); err != nil {
		t.Fatal(err)
	}
	if masked, err := search(t, c, true); err != nil || masked {
		t.Fatalf("search with a token that ended: masked %t, %v", masked, err)
	}
	w.want(t, "POST /api/oauth/token 200", "POST "+path+" 200")
}

// mcp-go's client with OAuth sends nothing without a token. So an application begins with one without OAuth, which says
// where the sign-in begins.
func testMidConversation(t *testing.T, d *demo, era string, greeting []string) {
	const path = "/mcp"
	w := &wire{}
	nobody := dial(t, w, era, d.url+path)
	if err := initialize(t, nobody); err != nil {
		t.Fatal(err)
	}
	if masked, err := search(t, nobody, false); err != nil || !masked {
		t.Fatalf("search by nobody: masked %t, %v", masked, err)
	}
	_, err := search(t, nobody, true)
	metadata := client.GetResourceMetadataURL(err)
	if !client.IsAuthorizationRequiredError(err) || metadata != d.url+"/.well-known/oauth-protected-resource/mcp" {
		t.Fatalf("search for real prices by nobody: got %v, with the metadata at %q", err, metadata)
	}
	w.want(t, slices.Concat(posts(path, greeting...), posts(path, "200", "401"))...)

	c := dial(t, w, era, d.url+path, d.oauth(w, client.OAuthConfig{ProtectedResourceMetadataURL: metadata}))
	handler := client.GetOAuthHandler(initialize(t, c))
	if handler == nil {
		t.Fatal("the client does not ask for a sign-in")
	}
	d.logIn(t, w, handler)
	if err := initialize(t, c); err != nil {
		t.Fatal(err)
	}
	if masked, err := search(t, c, true); err != nil || masked {
		t.Fatalf("search: masked %t, %v", masked, err)
	}
	w.want(t, slices.Concat([]string{"GET /.well-known/oauth-protected-resource/mcp 200"}, discovered, consent,
		[]string{"POST /api/oauth/token 200"}, posts(path, greeting...), posts(path, "200"))...)
}

// oauth is the option that makes mcp-go's client one with OAuth.
func (d *demo) oauth(w *wire, config client.OAuthConfig) transport.StreamableHTTPCOption {
	config.RedirectURI, config.PKCEEnabled, config.HTTPClient = d.landing, true, &http.Client{Transport: w}
	return transport.WithHTTPOAuth(config)
}

func dial(t *testing.T, w *wire, era, address string, options ...transport.StreamableHTTPCOption) *client.Client {
	t.Helper()
	over, err := transport.NewStreamableHTTP(address, append(options, transport.WithHTTPBasicClient(&http.Client{Transport: w}))...)
	if err != nil {
		t.Fatal(err)
	}
	c := client.NewClient(over, client.WithProtocolVersion(era))
	t.Cleanup(func() { _ = c.Close() })
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// logIn is what an application does with the handler that mcp-go leaves it.
func (d *demo) logIn(t *testing.T, w *wire, handler *transport.OAuthHandler) {
	t.Helper()
	if err := handler.RegisterClient(t.Context(), "Ember"); err != nil {
		t.Fatal(err)
	}
	verifier, err := client.GenerateCodeVerifier()
	if err != nil {
		t.Fatal(err)
	}
	state, err := client.GenerateState()
	if err != nil {
		t.Fatal(err)
	}
	address, err := handler.GetAuthorizationURL(t.Context(), state, client.GenerateCodeChallenge(verifier))
	if err != nil {
		t.Fatal(err)
	}
	answer := d.allow(t, w, address)
	if err := handler.ProcessAuthorizationResponse(t.Context(), answer.Get("code"), answer.Get("state"), verifier); err != nil {
		t.Fatal(err)
	}
}

func initialize(t *testing.T, c *client.Client) error {
	t.Helper()
	_, err := c.Initialize(t.Context(), mcp.InitializeRequest{Params: mcp.InitializeParams{
		ClientInfo: mcp.Implementation{Name: "ember", Version: "1"},
	}})
	return err
}

// search asks for the name that is for sale.
func search(t *testing.T, c *client.Client, real bool) (masked bool, err error) {
	t.Helper()
	var request mcp.CallToolRequest
	request.Params.Name = "search_domain"
	request.Params.Arguments = map[string]any{"q": forSale, "require_real_prices": real}
	result, err := c.CallTool(t.Context(), request)
	if err != nil {
		return false, err
	}
	content, ok := result.StructuredContent.(map[string]any)
	masked, known := content["prices_masked"].(bool)
	if result.IsError || !ok || !known {
		t.Fatalf("search: got %+v", result)
	}
	return masked, nil
}
