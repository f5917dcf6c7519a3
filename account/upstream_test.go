package account

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/internal/oidctest"
	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

func withProvider(p *oidctest.Provider) func(*Config) {
	return func(c *Config) {
		c.OIDC = []Provider{{ID: "example", Name: "Example", Issuer: p.URL, ClientID: oidctest.Client, ClientSecret: oidctest.Secret}}
	}
}

// pass completes a sign-in at the provider.
func (r *fixture) pass(t *testing.T, p *oidctest.Provider, accountID, invite string) (Account, error) {
	t.Helper()
	var link Session
	if accountID != "" {
		link = r.signedIn(t, accountID)
	}
	address, flow, err := r.BeginUpstream(t.Context(), "example", link, invite)
	must(t, "begin", err)
	back := p.FollowAuthorize(t, address)
	want(t, "redirect", back.Path, CallbackPath("example"))
	signIn, err := r.FinishUpstream(t.Context(), "example", flow, back.Query(), link, home)
	return signIn.Account, err
}

// signedIn is a fresh session of the account.
func (r *fixture) signedIn(t *testing.T, accountID string) Session {
	t.Helper()
	_, s, err := r.StartSession(t.Context(), accountID, home, "Browser/1")
	must(t, "start a session", err)
	return s
}

func TestUpstreamMakesAnAccountAndFindsItAgain(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		p := oidctest.Start(t)
		r, ctx := newFixture(t, db, withProvider(p)), t.Context()
		want(t, "button", r.Providers()[0], Button{"example", "Example"})
		made, err := r.pass(t, p, "", "")
		must(t, "the first time", err)
		want(t, "address", made.Email, "ada@names.example")
		want(t, "verified", made.Verified, true)
		p.Claims["email"], p.Claims["email_verified"] = "moved@names.example", false
		again, err := r.pass(t, p, "", "")
		must(t, "the second time, with another address", err)
		want(t, "account", again, made)
		_, err = r.SignIn(ctx, made.Email, "", home)
		wantCode(t, "sign in without a password", err, fault.AuthenticationRequired)
		has, err := r.HasPassword(ctx, made.ID)
		must(t, "has a password", err)
		want(t, "has a password", has, false)
		must(t, "set the first password", r.ChangePassword(ctx, r.fresh(made.ID), "", passphrase, home))
		_, err = r.SignIn(ctx, made.Email, passphrase, home)
		must(t, "sign in by password", err)
		want(t, "discoveries", p.DiscoveryRequests(), 1)
	})
}

func TestUpstreamFindsTheAccountOfAnAddress(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		p := oidctest.Start(t)
		r, ctx := newFixture(t, db, withProvider(p)), t.Context()
		who := r.account("ada@names.example")
		p.Claims["email_verified"] = false
		_, err := r.pass(t, p, "", "")
		wantCode(t, "an address that the provider has not verified", err, fault.Forbidden)
		delete(p.Claims, "email_verified")
		_, err = r.pass(t, p, "", "")
		wantCode(t, "an address of which the provider says nothing", err, fault.Forbidden)
		p.Claims["email_verified"] = "true"
		in, err := r.pass(t, p, "", "")
		must(t, "a verified one", err)
		want(t, "account", in, who)
		_, err = r.SignIn(ctx, who.Email, passphrase, home)
		must(t, "the password stays", err)
	})
}

// An unverified account is claimed by the person who proves to own the address.
func TestUpstreamTakesAnUnverifiedAccount(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		p := oidctest.Start(t)
		r, ctx := newFixture(t, db, withProvider(p)), t.Context()
		thief, err := r.SignUp(ctx, "ada@names.example", passphrase, "", abroad)
		must(t, "the thief signs up", err)
		session := r.session(thief.ID)
		in, err := r.pass(t, p, "", "")
		must(t, "the owner comes", err)
		want(t, "account", in.ID, thief.ID)
		want(t, "verified", in.Verified, true)
		_, err = r.SignIn(ctx, "ada@names.example", passphrase, abroad)
		wantCode(t, "the thief's password", err, fault.AuthenticationRequired)
		_, err = r.Session(ctx, session)
		wantCode(t, "the thief's session", err, fault.AuthenticationRequired)
	})
}

func TestUpstreamIsLinkedToAnAccount(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		p := oidctest.Start(t)
		r := newFixture(t, db, withProvider(p))
		p.Claims["email"], p.Claims["email_verified"] = "elsewhere@other.example", false
		who, other := r.account("ada@names.example"), r.account("bob@names.example")
		in, err := r.pass(t, p, who.ID, "")
		must(t, "link", err)
		want(t, "account", in, who)
		in, err = r.pass(t, p, "", "")
		must(t, "sign in there", err)
		want(t, "account", in, who)
		_, err = r.pass(t, p, other.ID, "")
		wantCode(t, "link to a second account", err, fault.Conflict)
	})
}

func TestUpstreamIsUnlinked(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		p := oidctest.Start(t)
		r, ctx := newFixture(t, db, withProvider(p)), t.Context()
		p.Claims["email"], p.Claims["email_verified"] = "elsewhere@other.example", false
		who, other := r.account("ada@names.example"), r.account("bob@names.example")
		_, err := r.pass(t, p, who.ID, "")
		must(t, "link", err)
		links, err := r.Identities(ctx, who.ID)
		must(t, "identities", err)
		if len(links) != 1 || links[0].Provider != "example" || links[0].Name != "Example" || links[0].Subject != "person-1" || links[0].Linked.IsZero() {
			t.Fatalf("identities: got %+v", links)
		}
		err = r.Unlink(ctx, r.fresh(other.ID), "example", "person-1", true, home)
		wantCode(t, "unlink another's", err, fault.NotFound)
		must(t, "unlink", r.Unlink(ctx, r.fresh(who.ID), "example", "person-1", true, home))
		err = r.Unlink(ctx, r.fresh(who.ID), "example", "person-1", true, home)
		wantCode(t, "unlink again", err, fault.NotFound)
		_, err = r.pass(t, p, "", "")
		wantCode(t, "sign in there", err, fault.Forbidden)
		log, err := r.Log(ctx, who.ID, 1)
		must(t, "log", err)
		want(t, "log", log[0].What, ProviderUnlinked)
	})
}

func TestUpstreamKeepsTheSignUpMode(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		p := oidctest.Start(t)
		closed := newFixture(t, db, func(c *Config) { withProvider(p)(c); c.Signup = Closed })
		_, err := closed.pass(t, p, "", "")
		wantCode(t, "a stranger where sign-up is closed", err, fault.Forbidden)
		invited := newFixture(t, db, func(c *Config) { withProvider(p)(c); c.Signup = Invite })
		_, err = invited.pass(t, p, "", "")
		wantCode(t, "a stranger without an invitation", err, fault.Forbidden)
		address, err := invited.Invite(t.Context())
		must(t, "invite", err)
		_, err = invited.pass(t, p, "", tokenIn(t, address, SignUpPath, InviteParameter))
		must(t, "a stranger with one", err)
		_, err = closed.pass(t, p, "", "")
		must(t, "the same person where sign-up is closed", err)
	})
}

func TestUpstreamAnswersThatAreRefused(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		p := oidctest.Start(t)
		r, ctx := newFixture(t, db, withProvider(p)), t.Context()
		stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		must(t, "make a key", err)
		spoilToken := func(claim string, value any) func(url.Values) {
			return func(url.Values) { p.Override = map[string]any{claim: value} }
		}
		tests := []struct {
			name  string
			spoil func(url.Values)
			want  fault.Code
		}{
			{"another state", func(q url.Values) { q.Set("state", "x") }, fault.InvalidToken},
			{"no state", func(q url.Values) { q.Del("state") }, fault.InvalidToken},
			{"another issuer", func(q url.Values) { q.Set("iss", "https://evil.example") }, fault.InvalidToken},
			{"the person declines", func(q url.Values) { q.Set("error", "access_denied") }, fault.Forbidden},
			{"a made-up code", func(q url.Values) { q.Set("code", "x") }, fault.Unavailable},
			{"no code", func(q url.Values) { q.Del("code") }, fault.Unavailable},
			{"an ID token for another client", spoilToken("aud", "other"), fault.Unavailable},
			{"an ID token of another issuer", spoilToken("iss", "https://evil.example"), fault.Unavailable},
			{"an ID token that has expired", spoilToken("exp", time.Now().Add(-time.Hour).Unix()), fault.Unavailable},
			{"an ID token for another attempt", spoilToken("nonce", "x"), fault.Unavailable},
			{"an ID token with another signature", func(url.Values) { p.Signer = stranger }, fault.Unavailable},
			{"a token endpoint that fails", func(url.Values) { p.Down = true }, fault.Unavailable},
			{"an address that is none", spoilToken("email", "ada@names.example\r\nBcc: x@y.example"), fault.Forbidden},
		}
		for _, tt := range tests {
			address, flow, err := r.BeginUpstream(ctx, "example", Session{}, "")
			must(t, "begin", err)
			q := p.FollowAuthorize(t, address).Query()
			tt.spoil(q)
			_, err = r.FinishUpstream(ctx, "example", flow, q, Session{}, home)
			wantCode(t, tt.name, err, tt.want)
			if code := q.Get("code"); err != nil && len(code) > 10 && strings.Contains(err.Error(), code) {
				t.Errorf("%s: the error holds the code: %v", tt.name, err)
			}
			p.Override, p.Signer, p.Down = nil, nil, false
		}

		address, flow, err := r.BeginUpstream(ctx, "example", Session{}, "")
		must(t, "begin", err)
		_, otherFlow, err := r.BeginUpstream(ctx, "example", Session{}, "")
		must(t, "begin another", err)
		q := p.FollowAuthorize(t, address).Query()
		_, err = r.FinishUpstream(ctx, "example", otherFlow, q, Session{}, home)
		wantCode(t, "the answer in another browser", err, fault.InvalidToken)
		_, err = r.FinishUpstream(ctx, "example", flow, q, Session{}, home)
		must(t, "the answer", err)
		_, err = r.FinishUpstream(ctx, "example", flow, q, Session{}, home)
		wantCode(t, "the answer again", err, fault.InvalidToken)
		_, _, err = r.BeginUpstream(ctx, "unknown", Session{}, "")
		wantCode(t, "an unknown provider", err, fault.NotFound)
	})
}

// A flow that links an account was valid in any browser and for any account; the key to forge one was in the database.
func TestAFlowLinksInItsSessionOnly(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		p := oidctest.Start(t)
		r, ctx := newFixture(t, db, withProvider(p)), t.Context()
		p.Claims["email"], p.Claims["email_verified"] = "elsewhere@other.example", false
		ada, bob := r.account("ada@names.example"), r.account("bob@names.example")
		own := r.signedIn(t, ada.ID)
		for name, present := range map[string]Session{
			"no session": {}, "another session of the account": r.signedIn(t, ada.ID), "somebody else's session": r.signedIn(t, bob.ID),
		} {
			address, flow, err := r.BeginUpstream(ctx, "example", own, "")
			must(t, "begin", err)
			q := p.FollowAuthorize(t, address).Query()
			_, err = r.FinishUpstream(ctx, "example", flow, q, present, home)
			wantCode(t, name, err, fault.InvalidToken)
			in, err := r.FinishUpstream(ctx, "example", flow, q, own, home)
			must(t, "its own session, after "+name, err)
			want(t, "account", in.Account, ada)
		}
		address, flow, err := r.BeginUpstream(ctx, "example", Session{}, "")
		must(t, "begin to sign in", err)
		in, err := r.FinishUpstream(ctx, "example", flow, p.FollowAuthorize(t, address).Query(), own, home)
		must(t, "a sign-in where somebody is signed in already", err)
		want(t, "account", in.Account, ada)
	})
}

// A flow was valid until the provider had answered: it could be tried with many codes, or many times at once.
func TestFlowIsUsedBeforeTheProviderIsAsked(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		p := oidctest.Start(t)
		r, ctx := newFixture(t, db, withProvider(p)), t.Context()
		address, flow, err := r.BeginUpstream(ctx, "example", Session{}, "")
		must(t, "begin", err)
		q := p.FollowAuthorize(t, address).Query()
		_, err = r.FinishUpstream(ctx, "example", flow, url.Values{"state": q["state"], "code": {"guessed"}}, Session{}, home)
		wantCode(t, "a made-up code", err, fault.Unavailable)
		existed := p.TokenRequests()
		_, err = r.FinishUpstream(ctx, "example", flow, q, Session{}, home)
		wantCode(t, "the right one after it", err, fault.InvalidToken)
		want(t, "further requests to the token endpoint", p.TokenRequests()-existed, 0)

		address, flow, err = r.BeginUpstream(ctx, "example", Session{}, "")
		must(t, "begin", err)
		q = p.FollowAuthorize(t, address).Query()
		won := make(chan bool, 20)
		for range cap(won) {
			go func() {
				_, err := r.FinishUpstream(ctx, "example", flow, q, Session{}, home)
				won <- err == nil
			}()
		}
		n := 0
		for range cap(won) {
			if <-won {
				n++
			}
		}
		want(t, "of twenty at once signed in", n, 1)
		want(t, "further requests to the token endpoint", p.TokenRequests()-existed, 1)
	})
}

// A backup of the database is not enough to forge or open a flow.
func TestFlowsAreSealedOutsideTheDatabase(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		p := oidctest.Start(t)
		keys := seal.Random()
		r := newFixture(t, db, func(c *Config) { withProvider(p)(c); c.Keys = keys })
		other := newFixture(t, db, withProvider(p)) // on the same database, without the key
		address, flow, err := r.BeginUpstream(t.Context(), "example", Session{}, "")
		must(t, "begin", err)
		q := p.FollowAuthorize(t, address).Query()
		_, err = other.FinishUpstream(t.Context(), "example", flow, q, Session{}, home)
		wantCode(t, "without the key", err, fault.InvalidToken)
		must(t, "look for keys", db.Read(t.Context(), func(tx store.Tx) error {
			var n int
			err := tx.QueryRow(t.Context(), `SELECT COUNT(*) FROM secrets`).Scan(&n)
			want(t, "keys in the database", n, 0)
			return err
		}))
		same := newFixture(t, db, func(c *Config) { withProvider(p)(c); c.Keys = keys })
		_, err = same.FinishUpstream(t.Context(), "example", flow, q, Session{}, home)
		must(t, "another process with the key", err)
	})
}

func TestUpstreamThatIsDown(t *testing.T) {
	t.Parallel()
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for range 64 << 10 {
			if _, err := w.Write([]byte(strings.Repeat(" ", 1<<10))); err != nil {
				return
			}
		}
	}))
	t.Cleanup(broken.Close)
	gone := httptest.NewServer(nil)
	gone.Close()
	for name, issuer := range map[string]string{"endless": broken.URL, "gone": gone.URL} {
		r := newFixture(t, storetest.Open(t, store.Config{Dir: t.TempDir()}), func(c *Config) {
			c.OIDC = []Provider{{ID: "example", Issuer: issuer, ClientID: oidctest.Client}}
		})
		_, _, err := r.BeginUpstream(t.Context(), "example", Session{}, "")
		wantCode(t, name, err, fault.Unavailable)
	}
}

func TestProvidersThatCannotWork(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t, store.Config{Dir: t.TempDir()})
	good := Provider{ID: "a", Issuer: "https://issuer.example", ClientID: "c"}
	bad := map[string][]Provider{
		"no client":          {{ID: "a", Issuer: "https://issuer.example"}},
		"plain http":         {{ID: "a", Issuer: "http://issuer.example", ClientID: "c"}},
		"no issuer":          {{ID: "a", ClientID: "c"}},
		"id with a slash":    {{ID: "a/b", Issuer: "https://issuer.example", ClientID: "c"}},
		"no id":              {{Issuer: "https://issuer.example", ClientID: "c"}},
		"two of the same id": {good, good},
	}
	for name, providers := range bad {
		if a, err := New(t.Context(), Config{DB: db, BaseURL: "https://names.example", OIDC: providers}); err == nil {
			a.Close()
			t.Errorf("%s: no error", name)
		}
	}
}
