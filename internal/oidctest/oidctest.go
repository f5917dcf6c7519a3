// Package oidctest is a small OpenID provider on loopback for tests: discovery, keys, authorization with PKCE, and a token
// endpoint that follows OpenID Connect Core.
package oidctest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// A Provider is a server with one client. Its user has the Claims and always consents.
type Provider struct {
	*httptest.Server

	Claims   map[string]any    // of the user: sub, email, email_verified
	SignedIn time.Time         // auth_time; max_age=0 sets it to now; zero: left out
	Override map[string]any    // claims that replace others, to break the ID token
	Signer   *ecdsa.PrivateKey // of ID tokens; nil: the published one
	Down     bool              // the token endpoint fails

	key               *ecdsa.PrivateKey
	mu                sync.Mutex
	codes             map[string]url.Values
	discoveryRequests int
	tokenRequests     int
}

// The credentials of the only client.
const (
	Client = "wharf"
	Secret = "a secret between two servers"
)

// Start starts a provider and closes it at the end of the test. Its fields may be changed between requests.
func Start(t testing.TB) *Provider {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := &Provider{key: key, codes: map[string]url.Values{}, Claims: map[string]any{"sub": "person-1", "email": "Ada@names.example", "email_verified": true}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.discovery)
	mux.HandleFunc("GET /keys", p.keys)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

// DiscoveryRequests returns the number of requests for the discovery document.
func (p *Provider) DiscoveryRequests() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.discoveryRequests
}

// TokenRequests returns the number of requests to the token endpoint.
func (p *Provider) TokenRequests() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tokenRequests
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}

func (p *Provider) discovery(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.discoveryRequests++
	writeJSON(w, http.StatusOK, map[string]any{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
		"id_token_signing_alg_values_supported": []string{"ES256"}, "response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
	})
}

func (p *Provider) keys(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: p.key.Public(), KeyID: "1", Algorithm: "ES256", Use: "sig"}}})
}

func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("client_id") != Client || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("nonce") == "" || q.Get("scope") != "openid email" {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	p.mu.Lock()
	p.codes[code] = q
	p.mu.Unlock()
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {p.URL}}.Encode(), http.StatusFound)
}

func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tokenRequests++
	if p.Down {
		writeJSON(w, http.StatusInternalServerError, map[string]string{})
		return
	}
	id, secret, basic := r.BasicAuth()
	if !basic {
		id, secret = r.FormValue("client_id"), r.FormValue("client_secret")
	} else {
		secret, _ = url.QueryUnescape(secret)
	}
	if id != Client || secret != Secret {
		writeJSON(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
		return
	}
	asked, ok := p.codes[r.FormValue("code")]
	delete(p.codes, r.FormValue("code"))
	challenge := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	if !ok || r.FormValue("redirect_uri") != asked.Get("redirect_uri") || base64.RawURLEncoding.EncodeToString(challenge[:]) != asked.Get("code_challenge") {
		writeJSON(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant", "error_description": "the code " + r.FormValue("code")})
		return
	}
	claims := map[string]any{"iss": p.URL, "aud": Client, "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(), "nonce": asked.Get("nonce")}
	if asked.Get("max_age") == "0" && !p.SignedIn.IsZero() {
		p.SignedIn = time.Now()
	}
	if !p.SignedIn.IsZero() {
		claims["auth_time"] = p.SignedIn.Unix()
	}
	maps.Copy(claims, p.Claims)
	maps.Copy(claims, p.Override)
	key := p.key
	if p.Signer != nil {
		key = p.Signer
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "1"}}, nil)
	if err != nil {
		panic(err)
	}
	text, _ := json.Marshal(claims)
	signed, err := signer.Sign(text)
	if err != nil {
		panic(err)
	}
	idToken, _ := signed.CompactSerialize()
	writeJSON(w, http.StatusOK, map[string]any{"access_token": rand.Text(), "token_type": "Bearer", "expires_in": 60, "id_token": idToken})
}

// FollowAuthorize opens the authorization URL and returns the provider's redirect back.
func (p *Provider) FollowAuthorize(t testing.TB, address string) *url.URL {
	t.Helper()
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := browser.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	back, err := resp.Location()
	if err != nil {
		t.Fatalf("the provider answers %s without a redirect", resp.Status)
	}
	return back
}
