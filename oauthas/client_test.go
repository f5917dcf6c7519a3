package oauthas

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// TestOAuth2Library signs in and refreshes with golang.org/x/oauth2 in its default configuration, which tries both a Basic
// header without a secret and client_id in the body.
func TestOAuth2Library(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	d := newFixture(t, storetest.Open(t, store.Config{Dir: t.TempDir()}), func(c *Config) {
		c.Issuer, c.Resources, c.Now = server.URL, []string{server.URL + "/api"}, time.Now
	})
	mux.Handle("/", d.Handler())
	const redirect = "http://127.0.0.1/cb"
	ctx := context.WithValue(t.Context(), oauth2.HTTPClient, server.Client())
	for name, style := range map[string]oauth2.AuthStyle{
		"found out": oauth2.AuthStyleAutoDetect, "Basic": oauth2.AuthStyleInHeader, "in the body": oauth2.AuthStyleInParams,
	} {
		cfg := oauth2.Config{
			ClientID: d.register(redirect), RedirectURL: "http://127.0.0.1:43210/cb", Scopes: []string{"pricing:read"},
			Endpoint: oauth2.Endpoint{AuthURL: server.URL + AuthorizePath, TokenURL: server.URL + tokenPath, AuthStyle: style},
		}
		verifier := oauth2.GenerateVerifier()
		to, err := url.Parse(cfg.AuthCodeURL("state", oauth2.S256ChallengeOption(verifier)))
		if err != nil {
			t.Fatal(err)
		}
		q := d.answerConsent(to.Query(), true)
		token, err := cfg.Exchange(ctx, q.Get("code"), oauth2.VerifierOption(verifier))
		if err != nil {
			t.Errorf("%s: exchange: %v", name, err)
			continue
		}
		if left := time.Until(token.Expiry); left < AccessLife-time.Minute || left > AccessLife {
			t.Errorf("%s: the token is good for %v, want about %v", name, left, AccessLife)
		}
		d.wantGood(name, token.AccessToken, server.URL+"/api", true)
		first := token.RefreshToken
		token.Expiry = time.Now().Add(-time.Minute)
		token, err = cfg.TokenSource(ctx, token).Token()
		if err != nil {
			t.Errorf("%s: refresh: %v", name, err)
			continue
		}
		if token.RefreshToken == first {
			t.Errorf("%s: the refresh token was not rotated", name)
		}
		d.wantGood(name+", refreshed", token.AccessToken, server.URL+"/api", true)
	}
}
