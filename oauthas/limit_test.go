package oauthas

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// registerFrom registers a client from an address.
func (d *fixture) registerFrom(address string) answer {
	d.Helper()
	r := httptest.NewRequest(http.MethodPost, registerPath, strings.NewReader(`{"redirect_uris":["https://app.example/cb"]}`))
	r.Header.Set("Content-Type", "application/json")
	r.RemoteAddr = "[" + address + "]:1234"
	return d.do(r)
}

// limited sets limits of registrations.
func limited(l RegistrationLimit) func(*Config) {
	return func(c *Config) { c.NoLimits, c.Registrations = false, l }
}

// wantLimited checks that an answer is 429 with the name of the limit and Retry-After.
func (d *fixture) wantLimited(what string, a answer, says string, wait string) {
	d.Helper()
	d.wantError(what, a, http.StatusTooManyRequests, errTooManyRequests)
	if !strings.Contains(a.get("error_description"), says) || a.header.Get("Retry-After") != wait {
		d.Errorf("%s: got %q, Retry-After %q; want %q and %s", what, a.get("error_description"), a.header.Get("Retry-After"), says, wait)
	}
}

// A /48 has 65 536 /64 networks: together they have the quota of four.
func TestRegistrationsOfOneSite(t *testing.T) {
	t.Parallel()
	d := newSQLiteFixture(t, limited(RegistrationLimit{}))
	accepted := 0
	var last answer
	for i := range 200 {
		if last = d.registerFrom(fmt.Sprintf("2001:db8:1:%x::1", i)); last.status == http.StatusCreated {
			accepted++
		}
	}
	if accepted != 80 {
		t.Errorf("200 networks of one /48: got %d accepted, want 80", accepted)
	}
	d.wantLimited("one more", last, `"registrations-network" of 80 at once and 240 an hour`, "15")
	if a := d.registerFrom("2001:db8:2::1"); a.status != http.StatusCreated {
		t.Errorf("another site: got %d", a.status)
	}
}

// Two servers on one database share the limits of a day; one provider cannot use up all of it.
func TestRegistrationsOfADay(t *testing.T) {
	t.Parallel()
	storetest.EachConfig(t, func(t *testing.T, cfg store.Config) {
		limit := limited(RegistrationLimit{PerDay: 20})
		servers := []*fixture{newFixture(t, storetest.Open(t, cfg), limit), newFixture(t, storetest.Open(t, cfg), limit)}
		n := 0
		register := func(block int) answer {
			n++
			return servers[n%2].registerFrom(fmt.Sprintf("2001:%x:%x::1", block, n))
		}
		for block := range 5 {
			for i := range 4 {
				if a := register(0xd00 + block); a.status != http.StatusCreated {
					t.Fatalf("registration %d of block %d: got %d %s", i, block, a.status, a.body)
				}
			}
			if block < 4 {
				a := register(0xd00 + block)
				servers[0].wantLimited("a fifth of one /32", a, `"registrations-block" of 4 a day`, "21600")
			}
		}
		a := register(0xe00)
		servers[0].wantLimited("the twenty-first", a, `"registrations-all" of 20 a day`, "4320")
		if a := servers[1].registerFrom("::ffff:192.0.2.1"); a.status != http.StatusTooManyRequests || !strings.Contains(a.body, "client metadata document") {
			t.Errorf("IPv4 on the other server: got %d %s, want 429 and what to do", a.status, a.body)
		}
		for _, s := range servers {
			s.clock.advance(24 * time.Hour / 20)
		}
		if a := register(0xe00); a.status != http.StatusCreated {
			t.Errorf("when one has flowed back: got %d %s", a.status, a.body)
		}
		for _, s := range servers {
			s.clock.advance(48 * time.Hour)
		}
		servers[0].mustSweep()
		if got := servers[0].rows("rate_limits"); got != 0 {
			t.Errorf("two days later: got %d buckets, want none", got)
		}
	})
}

// A refused registration stores no row, and does not draw from the shared limit.
func TestRefusedRegistrationsCostTheAskerOnly(t *testing.T) {
	t.Parallel()
	d := newSQLiteFixture(t, limited(RegistrationLimit{PerDay: 1}))
	for range 20 {
		r := httptest.NewRequest(http.MethodPost, registerPath, strings.NewReader(`{}`))
		r.Header.Set("Content-Type", "application/json")
		d.wantError("without redirects", d.do(r), 400, errInvalidRedirect)
	}
	r := httptest.NewRequest(http.MethodPost, registerPath, strings.NewReader(`{}`))
	d.wantError("the twenty-first", d.do(r), 429, errTooManyRequests)
	if a := d.registerFrom("2001:db8::1"); a.status != http.StatusCreated {
		t.Errorf("somebody else: got %d %s", a.status, a.body)
	}
}

// The number of unused clients is limited: the oldest is evicted first, but none within the first hour, in which a user may
// be reading the consent page, and none that is in use.
func TestUnusedClientsAreEvicted(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *fixture) {
		there := func(what, id string, want bool) {
			t.Helper()
			if _, err := d.client(t.Context(), id, netip.Addr{}); (err == nil) != want {
				t.Errorf("%s: %v, want it there: %v", what, err, want)
			}
		}
		var ids []string
		register := func() answer {
			a := d.registerFrom(fmt.Sprintf("2001:db8:%x::1", len(ids)))
			ids = append(ids, a.get("client_id"))
			return a
		}
		code := d.code(nil)
		d.clock.advance(time.Second)
		if a := d.token(code); a.status != http.StatusOK {
			t.Fatalf("redeem: got %d", a.status)
		}
		asked := d.register(appRedirect)
		for range 4 {
			d.clock.advance(time.Minute)
			register()
		}
		d.wantLimited("a sixth within the hour", register(), "too many clients registered within the hour", "3360")
		d.clock.advance(UnusedGrace - 4*time.Minute - time.Second)
		_, challenge := pkce()
		consent := d.authorize(params(asked, appRedirect, challenge, nil), d.session).(Consent)
		d.wantLimited("before the oldest is an hour old", register(), "too many clients registered within the hour", "60")
		d.clock.advance(2 * time.Minute)
		if a := register(); a.status != http.StatusCreated {
			t.Fatalf("an hour later: got %d %s", a.status, a.body)
		}
		there("the oldest unused one", ids[0], false)
		there("the next", ids[1], true)
		there("one that a person is asked about", asked, true)
		there("one with a grant", code.Get("client_id"), true)
		if _, err := d.Answer(t.Context(), consent.Interaction, d.session, true); err != nil {
			t.Error(err)
		}
		if got := d.rows("oauth_clients"); got != 6 {
			t.Errorf("got %d clients, want the five unused ones and the one in use", got)
		}
	}, limited(RegistrationLimit{Unused: 5}))
}

func TestNegativeLimitsAreRefused(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t, store.Config{Dir: t.TempDir()})
	if _, err := New(t.Context(), Config{DB: db, Issuer: issuer, Registrations: RegistrationLimit{PerDay: -1}}); err == nil {
		t.Error("a negative limit is accepted")
	}
}

// A site with many networks cannot guess without limit, and good requests succeed meanwhile.
func TestFailuresOfASite(t *testing.T) {
	t.Parallel()
	d := newSQLiteFixture(t, limited(RegistrationLimit{}))
	guess := func(address string, p url.Values) answer {
		r := httptest.NewRequest(http.MethodPost, tokenPath, strings.NewReader(p.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.RemoteAddr = "[" + address + "]:1234"
		return d.do(r)
	}
	wrong := url.Values{"grant_type": {"refresh_token"}, "client_id": {"x"}, "refresh_token": {newSecret(refreshPrefix)}}
	failures := 0
	var last answer
	for i := range 1000 {
		if last = guess(fmt.Sprintf("2001:db8:1:%x::1", i%100), wrong); last.status != http.StatusTooManyRequests {
			failures++
		}
	}
	if failures != 480 {
		t.Errorf("got %d failures, want 480", failures)
	}
	d.wantLimited("one more", last, `"failures-network"`, "1")
	p := d.signInClient(nil)
	for i := range 200 { // more than may fail, and all of them good
		code := d.code(nil)
		if a := guess("2001:db8:2::1", code); a.status != http.StatusOK {
			t.Fatalf("redemption %d: got %d %s", i, a.status, a.body)
		}
		d.clock.advance(time.Minute)
	}
	if a := guess("2001:db8:2::1", p.renewal()); a.status != http.StatusOK {
		t.Errorf("a refresh of elsewhere: got %d %s", a.status, a.body)
	}
}

func TestInteractionsAreLimited(t *testing.T) {
	t.Parallel()
	d := newSQLiteFixture(t, limited(RegistrationLimit{}))
	_, challenge := pkce()
	p := params(d.register(appRedirect), appRedirect, challenge, nil)
	asked := 0
	for range 300 {
		_, err := d.Authorize(t.Context(), AuthorizeRequest{Params: p, Session: d.session})
		if err == nil {
			asked++
		} else if !fault.Is(err, fault.RateLimited) || fault.From(err).Retry != 18*time.Second {
			t.Fatalf("got %v, want %s and when to come again", err, fault.RateLimited)
		}
	}
	if asked != 200 {
		t.Errorf("asked %d times, want 200", asked)
	}
	other := SessionRef{ID: "ses_2", AccountID: "acc_2"}
	if _, err := d.Authorize(t.Context(), AuthorizeRequest{Params: p, Session: other}); err != nil {
		t.Errorf("another account: %v", err)
	}
}
