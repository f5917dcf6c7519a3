package oauthas

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

func TestCodeReplay(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *fixture) {
		p := d.code(nil)
		a := d.token(p)
		first := signedInClient{p.Get("client_id"), a.get("access_token"), a.get("refresh_token")}
		wrong := maps.Clone(p)
		wrong["code_verifier"], _ = func() ([]string, string) { v, c := pkce(); return []string{v}, c }()
		for range maxCodeFailures + 1 {
			d.wantError("a replay with a wrong verifier", d.token(wrong), 400, errInvalidGrant)
		}
		d.wantGood("after replays that prove nothing", first.access, apiURL, true)
		first = d.renew(first)
		d.clock.advance(time.Hour)
		first = d.renew(first)
		d.wantError("a replay with the verifier", d.token(p), 400, errInvalidGrant)
		d.wantGood("after the replay", first.access, apiURL, false)
		d.wantError("after the replay", d.token(first.renewal()), 400, errInvalidGrant)
	})
}

func TestFiveWrongVerifiersInvalidateTheCode(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *fixture) {
		for tries, want := range map[int]int{maxCodeFailures - 1: http.StatusOK, maxCodeFailures: http.StatusBadRequest} {
			p := d.code(nil)
			for range tries {
				wrong := maps.Clone(p)
				verifier, _ := pkce()
				wrong.Set("code_verifier", verifier)
				d.wantError("a wrong verifier", d.token(wrong), 400, errInvalidGrant)
			}
			if a := d.token(p); a.status != want {
				t.Errorf("the right verifier after %d wrong ones: got %d, want %d", tries, a.status, want)
			}
		}
	})
}

func TestPKCEDowngrades(t *testing.T) {
	t.Parallel()
	d := newSQLiteFixture(t)
	client := d.register(appRedirect)
	verifier, challenge := pkce()
	for name, changes := range map[string]url.Values{
		"no challenge":                 {"code_challenge": nil, "code_challenge_method": nil},
		"plain":                        {"code_challenge": {verifier}, "code_challenge_method": {"plain"}},
		"plain with the hash":          {"code_challenge_method": {"plain"}},
		"another method":               {"code_challenge_method": {"none"}},
		"two methods":                  {"code_challenge_method": {"plain", "S256"}},
		"two challenges":               {"code_challenge": {challenge, verifier}},
		"a challenge of one character": {"code_challenge": {"A"}},
	} {
		q := query(t, d.authorize(params(client, appRedirect, challenge, changes), d.session))
		if q.Get("error") != errInvalidRequest {
			t.Errorf("%s: got %v, want %s", name, q, errInvalidRequest)
		}
	}
	// Without a method, the challenge is S256: the challenge itself does not redeem it.
	q := d.answerConsent(params(client, appRedirect, challenge, url.Values{"code_challenge_method": nil}), true)
	p := url.Values{"grant_type": {"authorization_code"}, "client_id": {client}, "code": {q.Get("code")}}
	d.wantError("no verifier", d.token(p), 400, errInvalidRequest)
	p.Set("code_verifier", "")
	d.wantError("an empty verifier", d.token(p), 400, errInvalidRequest)
	p.Set("code_verifier", challenge)
	d.wantError("the challenge as verifier", d.token(p), 400, errInvalidGrant)
	p.Set("code_verifier", verifier)
	if a := d.token(p); a.status != http.StatusOK {
		t.Errorf("the verifier: got %d %s", a.status, a.body)
	}
}

// race sends the same request n times at once and returns the answers that succeeded.
func (d *fixture) race(n int, p url.Values) (good []answer) {
	d.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	start := make(chan struct{})
	for range n {
		wg.Go(func() {
			<-start
			a := d.token(p)
			mu.Lock()
			defer mu.Unlock()
			if a.status == http.StatusOK {
				good = append(good, a)
			} else if a.status != http.StatusBadRequest || a.get("error") != errInvalidGrant {
				d.Errorf("got %d %s, want %s", a.status, a.body, errInvalidGrant)
			}
		})
	}
	close(start)
	wg.Wait()
	return good
}

func TestParallelRedemptions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *fixture) {
		good := d.race(50, d.code(nil))
		if len(good) != 1 {
			t.Fatalf("50 redemptions at once: got %d good, want 1", len(good))
		}
		d.wantGood("the winner, whose code was used twice", good[0].get("access_token"), apiURL, false)
	})
}

func TestParallelRefreshes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *fixture) {
		good := d.race(20, d.signInClient(nil).renewal())
		if len(good) != 1 {
			t.Fatalf("20 refreshes at once: got %d good, want 1", len(good))
		}
		d.wantGood("the winner, whose predecessor was used twice", good[0].get("access_token"), apiURL, false)
	})
}

func TestParallelRefreshesWithGrace(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *fixture) {
		good := d.race(20, d.signInClient(nil).renewal())
		if len(good) != 20 {
			t.Fatalf("20 refreshes at once: got %d good, want all", len(good))
		}
		for _, a := range good {
			if a.get("refresh_token") != good[0].get("refresh_token") {
				t.Fatal("got two successors")
			}
		}
	}, func(c *Config) { c.RefreshGrace = time.Minute })
}

func TestRefreshReuse(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var kinds []EventKind
	each(t, func(t *testing.T, d *fixture) {
		first := d.signInClient(nil)
		second := d.renew(first)
		third := d.renew(second)
		d.wantGood("before", third.access, apiURL, true)
		other := first.renewal()
		other.Set("client_id", d.register(appRedirect))
		d.wantError("another client", d.token(other), 400, errInvalidGrant)
		d.wantGood("after another client's try", third.access, apiURL, true)
		d.wantError("the first again", d.token(first.renewal()), 400, errInvalidGrant)
		for i, p := range []signedInClient{first, second, third} {
			d.wantGood("after reuse", p.access, apiURL, false)
			d.wantError("after reuse", d.token(p.renewal()), 400, errInvalidGrant)
			_ = i
		}
	}, func(c *Config) {
		c.Record = func(_ context.Context, e Event) {
			mu.Lock()
			defer mu.Unlock()
			kinds = append(kinds, e.Kind)
		}
	})
	t.Cleanup(func() {
		if got := len(kinds); got == 0 {
			t.Error("nothing was recorded")
		}
	})
}

// TestOtherProcessesSeeRevocation has two servers on one database, the second of which has cached the token.
func TestOtherProcessesSeeRevocation(t *testing.T) {
	t.Parallel()
	storetest.EachConfig(t, func(t *testing.T, cfg store.Config) {
		real := func(c *Config) { c.Now = time.Now }
		here := newFixture(t, storetest.Open(t, cfg), real)
		there := newFixture(t, storetest.Open(t, cfg), real)
		p := here.signInClient(nil)
		for range 3 {
			there.wantGood("before", p.access, apiURL, true)
		}
		if a := here.form(revokePath, url.Values{"token": {p.refresh}, "client_id": {p.client}}); a.status != http.StatusOK {
			t.Fatalf("revoke: got %d", a.status)
		}
		here.wantGood("at once here", p.access, apiURL, false)
		revoked := time.Now()
		for {
			if _, err := there.Caller(t.Context(), p.access, apiURL); err != nil {
				break
			}
			if time.Since(revoked) > 2*time.Second {
				t.Fatal("still good elsewhere after 2 s")
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Logf("seen elsewhere after %v", time.Since(revoked).Round(time.Millisecond))
		there.wantError("elsewhere", there.token(p.renewal()), 400, errInvalidGrant)
	})
}

func TestAudienceCrossing(t *testing.T) {
	t.Parallel()
	d := newSQLiteFixture(t)
	for _, c := range []struct {
		resource []string
		good     []string
		bad      []string
	}{
		{nil, []string{issuer, apiURL, mcpURL, signedInURL}, []string{away, "https://evil.example/api"}},
		{[]string{issuer}, []string{apiURL, mcpURL, signedInURL}, []string{away}},
		{[]string{issuer + "/"}, []string{apiURL, mcpURL}, []string{away}},
		{[]string{apiURL}, []string{apiURL}, []string{issuer, mcpURL, signedInURL, away}},
		{[]string{mcpURL}, []string{mcpURL, signedInURL}, []string{issuer, apiURL, away}},
		{[]string{signedInURL}, []string{mcpURL, signedInURL}, []string{issuer, apiURL, away}},
		{[]string{away}, []string{away}, []string{issuer, apiURL, mcpURL, signedInURL}},
	} {
		p := d.signInClient(url.Values{"resource": c.resource})
		for _, token := range []string{p.access, d.renew(p).access} {
			for _, r := range c.good {
				d.wantGood(strings.Join(c.resource, " "), token, r, true)
			}
			for _, r := range c.bad {
				d.wantGood(strings.Join(c.resource, " "), token, r, false)
			}
		}
	}
	p := d.signInClient(url.Values{"resource": {mcpURL}})
	d.wantGood("a refresh token", p.refresh, mcpURL, false)
	crossing := p.renewal()
	crossing.Set("resource", apiURL)
	d.wantError("a refresh for another resource", d.token(crossing), 400, errInvalidTarget)
	d.renew(p) // which the refusal did not use up
}

// TestParameterSwap answers a consent page with forged forms.
func TestParameterSwap(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *fixture) {
		client := d.register(appRedirect)
		_, challenge := pkce()
		p := params(client, appRedirect, challenge, nil)
		consent := d.authorize(p, d.session).(Consent)
		again := d.authorize(p, d.session).(Consent)
		for name, session := range map[string]SessionRef{
			"no session":                    {},
			"another session":               {ID: "ses_2", AccountID: "acc_1"},
			"another person":                {ID: "ses_2", AccountID: "acc_2"},
			"another person in the session": {ID: "ses_1", AccountID: "acc_2"},
			"a session without an account":  {ID: "ses_1"},
		} {
			got, err := d.Answer(t.Context(), consent.Interaction, session, true)
			if _, ok := got.(ErrorPage); !ok || err != nil {
				t.Errorf("%s: got %#v, %v, want a page", name, got, err)
			}
		}
		for _, id := range []string{"", "x", newSecret(interactionPrefix), consent.Interaction[:len(consent.Interaction)-1] + "!"} {
			got, err := d.Answer(t.Context(), id, d.session, true)
			if _, ok := got.(ErrorPage); !ok || err != nil {
				t.Errorf("the interaction %q: got %#v, %v, want a page", id, got, err)
			}
		}
		got, err := d.Answer(t.Context(), consent.Interaction, d.session, true)
		if err != nil || query(t, got).Get("code") == "" {
			t.Fatalf("got %#v, %v, want a code", got, err)
		}
		for _, allow := range []bool{true, false} {
			got, err := d.Answer(t.Context(), consent.Interaction, d.session, allow)
			if _, ok := got.(ErrorPage); !ok || err != nil {
				t.Errorf("a second answer: got %#v, %v, want a page", got, err)
			}
		}
		d.clock.advance(InteractionLife)
		got, err = d.Answer(t.Context(), again.Interaction, d.session, true)
		if _, ok := got.(ErrorPage); !ok || err != nil {
			t.Errorf("a late answer: got %#v, %v, want a page", got, err)
		}
	})
}

func TestDoubleAnswerAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *fixture) {
		_, challenge := pkce()
		consent := d.authorize(params(d.register(appRedirect), appRedirect, challenge, nil), d.session).(Consent)
		var mu sync.Mutex
		codes := 0
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				got, err := d.Answer(t.Context(), consent.Interaction, d.session, true)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
				}
				if _, ok := got.(Redirect); ok {
					codes++
				}
			})
		}
		wg.Wait()
		if codes != 1 {
			t.Errorf("ten answers at once: got %d codes, want 1", codes)
		}
	})
}

func TestHostSpoofing(t *testing.T) {
	t.Parallel()
	d := newSQLiteFixture(t)
	for path, members := range map[string][]string{
		serverDocument:                      {"issuer", "token_endpoint", "registration_endpoint", "authorization_endpoint"},
		resourceDocument:                    {"resource"},
		resourceDocument + "/api":           {"resource"},
		resourceDocument + "/mcp":           {"resource"},
		resourceDocument + "/mcp/signed-in": {"resource"},
	} {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Host = "evil.example"
		r.Header.Set("X-Forwarded-Host", "evil.example")
		r.Header.Set("Forwarded", "host=evil.example")
		a := d.do(r)
		if a.status != http.StatusOK || strings.Contains(a.body, "evil") {
			t.Errorf("%s: got %d %s", path, a.status, a.body)
		}
		for _, m := range members {
			if !strings.HasPrefix(a.get(m), issuer) {
				t.Errorf("%s: got %s %q, want it below %s", path, m, a.get(m), issuer)
			}
		}
	}
}

func TestConsentIsRememberedForDocumentsOnly(t *testing.T) {
	t.Parallel()
	d := newSQLiteFixture(t)
	_, challenge := pkce()
	client := d.register(appRedirect)
	d.answerConsent(params(client, appRedirect, challenge, nil), true)
	if got, ok := d.authorize(params(client, appRedirect, challenge, nil), d.session).(Consent); !ok {
		t.Errorf("a registered client again: got %#v, want a question", got)
	}
}

func TestPasswordChangeEndsEverything(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *fixture) {
		p := d.signInClient(nil)
		pending := d.code(nil)
		_, challenge := pkce()
		consent := d.authorize(params(p.client, appRedirect, challenge, nil), d.session).(Consent)
		d.wantGood("before", p.access, apiURL, true)
		err := d.cfg.DB.Tx(t.Context(), func(tx store.Tx) error { return d.RevokeAll(t.Context(), tx, "acc_1") })
		if err != nil {
			t.Fatal(err)
		}
		d.FlushTokenCache()
		d.wantGood("after", p.access, apiURL, false)
		d.wantError("after", d.token(p.renewal()), 400, errInvalidGrant)
		d.wantError("a code from before", d.token(pending), 400, errInvalidGrant)
		got, err := d.Answer(t.Context(), consent.Interaction, d.session, true)
		if _, ok := got.(ErrorPage); !ok || err != nil {
			t.Errorf("a question from before: got %#v, %v, want a page", got, err)
		}
	})
}

// TestLimitsOfOneAccount opens and answers very many consent pages.
func TestLimitsOfOneAccount(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *fixture) {
		client := d.register(appRedirect)
		verifier, challenge := pkce()
		p := params(client, appRedirect, challenge, nil)
		for range maxInteractions + 5 {
			d.clock.advance(time.Millisecond)
			d.authorize(p, d.session)
		}
		if got := d.rows("oauth_interactions"); got != maxInteractions {
			t.Errorf("questions: got %d, want %d", got, maxInteractions)
		}
		var first, last answer
		for i := range maxGrants + 1 {
			d.clock.advance(time.Millisecond)
			q := d.answerConsent(p, true)
			last = d.token(url.Values{
				"grant_type": {"authorization_code"}, "client_id": {client}, "code": {q.Get("code")}, "code_verifier": {verifier},
			})
			if i == 0 {
				first = last
			}
		}
		if got := d.rows("oauth_grants"); got != maxGrants {
			t.Errorf("grants: got %d, want %d", got, maxGrants)
		}
		d.wantGood("the oldest", first.get("access_token"), apiURL, false)
		d.wantGood("the youngest", last.get("access_token"), apiURL, true)
	})
}
