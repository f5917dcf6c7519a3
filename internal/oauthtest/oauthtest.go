// Package oauthtest simulates a user's browser and an OAuth client against a server over HTTP. The browser runs no scripts:
// it posts the forms of the pages that it has received.
package oauthtest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
)

// A Server is the server under test.
type Server struct {
	testing.TB
	Base      string            // its public URL
	Transport http.RoundTripper // to reach it; nil: http.DefaultTransport
}

// ProxyTransport sends requests for any public URL to the address at which a server listens, like a proxy that terminates
// TLS. The Host header stays.
func ProxyTransport(listening string) http.RoundTripper {
	to := strings.TrimPrefix(listening, "http://")
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		out := r.Clone(r.Context())
		if out.Host == "" {
			out.Host = r.URL.Host
		}
		out.URL.Scheme, out.URL.Host = "http", to
		return http.DefaultTransport.RoundTrip(out)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// timeout is how long the server may take for one response.
const timeout = 30 * time.Second

func (s *Server) client() *http.Client {
	return &http.Client{
		Transport: s.Transport, Timeout: timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// An Answer is an HTTP response with its body.
type Answer struct {
	Status int
	Header http.Header
	Text   string
}

// Location is the target of a redirect; the zero URL for any other response.
func (a Answer) Location() *url.URL {
	u, err := url.Parse(a.Header.Get("Location"))
	if err != nil {
		return &url.URL{}
	}
	return u
}

// Get returns a string member of a JSON object.
func (a Answer) Get(member string) string {
	var all map[string]any
	if json.Unmarshal([]byte(a.Text), &all) != nil {
		return ""
	}
	text, _ := all[member].(string)
	return text
}

// send sends a request. Headers are pairs, and an empty value removes one; Host is one of them.
func (s *Server) send(c *http.Client, method, path string, body io.Reader, headers []string) Answer {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), method, s.Base+strings.TrimPrefix(path, s.Base), body)
	if err != nil {
		s.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		switch name, value := headers[i], headers[i+1]; {
		case name == "Host":
			r.Host = value
		case value == "":
			r.Header.Del(name)
		default:
			r.Header.Set(name, value)
		}
	}
	resp, err := c.Do(r)
	if err != nil {
		s.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.Fatalf("%s %s: %v", method, path, err)
	}
	return Answer{resp.StatusCode, resp.Header, string(text)}
}

// Post posts a form without a browser.
func (s *Server) Post(path string, form url.Values, headers ...string) Answer {
	s.Helper()
	headers = append([]string{"Content-Type", "application/x-www-form-urlencoded"}, headers...)
	return s.send(s.client(), http.MethodPost, path, strings.NewReader(form.Encode()), headers)
}

// Get gets a path without a browser.
func (s *Server) Get(path string, headers ...string) Answer {
	s.Helper()
	return s.send(s.client(), http.MethodGet, path, nil, headers)
}

// Register registers a client with the metadata.
func (s *Server) Register(metadata map[string]any, headers ...string) Answer {
	s.Helper()
	body, err := json.Marshal(metadata)
	if err != nil {
		s.Fatal(err)
	}
	headers = append([]string{"Content-Type", "application/json"}, headers...)
	return s.send(s.client(), http.MethodPost, "/api/oauth/register", strings.NewReader(string(body)), headers)
}

// A Client is a registered OAuth client.
type Client struct {
	*Server
	ID       string
	Redirect string // the first one registered
	Verifier string
}

// NewClient registers a client with the redirect URIs; without any, with http://127.0.0.1/cb.
func (s *Server) NewClient(redirects ...string) *Client {
	s.Helper()
	if len(redirects) == 0 {
		redirects = []string{"http://127.0.0.1/cb"}
	}
	made := s.Register(map[string]any{"client_name": "Ember", "redirect_uris": redirects})
	if made.Status != http.StatusCreated || made.Get("client_id") == "" {
		s.Fatalf("register a client: got %d %s", made.Status, made.Text)
	}
	return &Client{s, made.Get("client_id"), redirects[0], rand.Text() + rand.Text()}
}

// Challenge returns the S256 challenge of a verifier (RFC 7636, section 4.2).
func Challenge(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// AuthorizePath returns the path of an authorization request for both scopes, with changes to its parameters: nil removes one.
func (a *Client) AuthorizePath(changes url.Values) string {
	p := url.Values{
		"response_type": {"code"}, "client_id": {a.ID}, "redirect_uri": {a.Redirect}, "state": {"a b&c"},
		"scope": {"pricing:read domains:write"}, "code_challenge": {Challenge(a.Verifier)}, "code_challenge_method": {"S256"},
	}
	for name, values := range changes {
		if p[name] = values; values == nil {
			delete(p, name)
		}
	}
	return "/oauth/authorize?" + p.Encode()
}

// CodeForm returns the form that exchanges a code.
func (a *Client) CodeForm(code string) url.Values {
	return url.Values{
		"grant_type": {"authorization_code"}, "client_id": {a.ID}, "redirect_uri": {a.Redirect}, "code": {code}, "code_verifier": {a.Verifier},
	}
}

// RefreshForm returns the form that exchanges a refresh token.
func (a *Client) RefreshForm(refresh string) url.Values {
	return url.Values{"grant_type": {"refresh_token"}, "client_id": {a.ID}, "refresh_token": {refresh}}
}

// Token posts a form to the token endpoint.
func (s *Server) Token(form url.Values) Answer {
	s.Helper()
	return s.Post("/api/oauth/token", form)
}

// Revoke revokes a token.
func (s *Server) Revoke(token string) {
	s.Helper()
	if a := s.Post("/api/oauth/revoke", url.Values{"token": {token}}); a.Status != http.StatusOK {
		s.Fatalf("revoke: got %d %s", a.Status, a.Text)
	}
}

// Tokens are issued tokens with their scope.
type Tokens struct{ Access, Refresh, Scope string }

// Tokens returns the tokens of a token response.
func (a Answer) Tokens() Tokens {
	return Tokens{a.Get("access_token"), a.Get("refresh_token"), a.Get("scope")}
}

// MustToken exchanges the form for tokens and fails the test on an error.
func (s *Server) MustToken(form url.Values) Tokens {
	s.Helper()
	a := s.Token(form)
	if a.Status != http.StatusOK || a.Get("access_token") == "" || a.Get("refresh_token") == "" {
		s.Fatalf("token: got %d %s", a.Status, a.Text)
	}
	return a.Tokens()
}

// A User is a browser that follows no redirect by itself, with the credentials of its user.
type User struct {
	*Server
	Email    string
	Password string
	Browser  *http.Client
}

// NewUser returns a browser without cookies, with an e-mail address and password of its own.
func (s *Server) NewUser() *User {
	p := &User{s, strings.ToLower(rand.Text()[:8]) + "@people.example", rand.Text(), s.client()}
	p.Browser.Jar, _ = cookiejar.New(nil) // fails only on options
	return p
}

// Open gets a page.
func (p *User) Open(path string, headers ...string) Answer {
	p.Helper()
	return p.send(p.Browser, http.MethodGet, path, nil, headers)
}

// Submit posts a form with the headers of a same-origin page with the referrer policy no-referrer, unless others are given.
func (p *User) Submit(path string, form url.Values, headers ...string) Answer {
	p.Helper()
	all := []string{"Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin", "Origin", "null"}
	return p.send(p.Browser, http.MethodPost, path, strings.NewReader(form.Encode()), append(all, headers...))
}

// SubmitForm submits the first form of a page that posts to the path, with its values and the fields.
func (p *User) SubmitForm(page Answer, path string, fields url.Values) Answer {
	p.Helper()
	form, ok := page.Form(path)
	if !ok {
		p.Fatalf("the page (%d) has no form that posts to %s:\n%s", page.Status, path, page.Text)
	}
	maps.Copy(form, fields)
	return p.Submit(path, form)
}

// Form returns the values of the first form that posts to the path.
func (a Answer) Form(path string) (form url.Values, ok bool) {
	tokens := html.NewTokenizer(strings.NewReader(a.Text))
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			return form, form != nil
		case html.EndTagToken:
			if name, _ := tokens.TagName(); string(name) == "form" && form != nil {
				return form, true
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			tag := tokens.Token()
			attrs := map[string]string{}
			for _, attr := range tag.Attr {
				attrs[attr.Key] = attr.Val
			}
			switch {
			case tag.Data == "form" && attrs["method"] == "post" && attrs["action"] == path:
				form = url.Values{}
			case (attrs["type"] == "radio" || attrs["type"] == "checkbox") && !has(tag, "checked"): // browsers do not send it
			case tag.Data == "input" && form != nil && attrs["name"] != "":
				form.Add(attrs["name"], attrs["value"])
			}
		}
	}
}

// has reports whether a tag has an attribute, with or without a value.
func has(tag html.Token, name string) bool {
	return slices.ContainsFunc(tag.Attr, func(a html.Attribute) bool { return a.Key == name })
}

// SignUp signs up on the sign-up page.
func (p *User) SignUp() *User {
	p.Helper()
	a := p.SubmitForm(p.Open("/signup"), "/signup", url.Values{"email": {p.Email}, "password": {p.Password}})
	if a.Status != http.StatusOK {
		p.Fatalf("sign up: got %d %s", a.Status, a.Text)
	}
	return p
}

// SignIn signs in on the sign-in page.
func (p *User) SignIn() *User {
	p.Helper()
	a := p.SubmitForm(p.Open("/signin"), "/signin", url.Values{"email": {p.Email}, "password": {p.Password}})
	if a.Status != http.StatusSeeOther || a.Location().Path != "/account" {
		p.Fatalf("sign in: got %d to %s\n%s", a.Status, a.Header.Get("Location"), a.Text)
	}
	return p
}

// SignedInUser is a new user with an account and a session.
func (s *Server) SignedInUser() *User {
	s.Helper()
	return s.NewUser().SignUp().SignIn()
}

// Allow opens the client's authorization request and presses Allow. It returns the parameters of the redirect.
func (p *User) Allow(a *Client, changes url.Values) url.Values {
	p.Helper()
	question := p.Open(a.AuthorizePath(changes))
	if question.Status != http.StatusOK {
		p.Fatalf("authorize: got %d to %q\n%s", question.Status, question.Header.Get("Location"), question.Text)
	}
	back := p.SubmitForm(question, "/oauth/authorize", url.Values{"answer": {"allow"}})
	if back.Status != http.StatusSeeOther || !back.Location().Query().Has("code") {
		p.Fatalf("allow: got %d to %q\n%s", back.Status, back.Header.Get("Location"), back.Text)
	}
	return back.Location().Query()
}

// Tokens allows the client's request and returns the tokens that the client receives.
func (p *User) Tokens(a *Client, changes url.Values) Tokens {
	p.Helper()
	return p.MustToken(a.CodeForm(p.Allow(a, changes).Get("code")))
}

// Cookie returns the value of a cookie of the browser; empty if there is none of the name.
func (p *User) Cookie(name string) string {
	u, err := url.Parse(p.Base)
	if err != nil {
		p.Fatal(err)
	}
	for _, c := range p.Browser.Jar.Cookies(u) {
		if c.Name == name {
			return c.Value
		}
	}
	return ""
}

// SignInAgain posts the sign-in form in a browser that is signed in already, for which the page would redirect.
func (p *User) SignInAgain() {
	p.Helper()
	a := p.Submit("/signin", url.Values{"email": {p.Email}, "password": {p.Password}})
	if a.Status != http.StatusSeeOther {
		p.Fatalf("sign in again: got %d\n%s", a.Status, a.Text)
	}
}
