package account

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/ratelimit"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// A /48 has 65 536 /64 networks: together they have the quota of four.
func TestLimitsOfASite(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		layers func(*quotas) ratelimit.Layers
		quota  ratelimit.Quota
	}{
		"accounts": {func(l *quotas) ratelimit.Layers { return l.signUps }, signUpQuota},
		"sessions": {func(l *quotas) ratelimit.Layers { return l.sessions }, sessionQuota},
		"mail":     {func(l *quotas) ratelimit.Layers { return l.mailFrom }, mailQuota},
	} {
		l, granted := newQuotas(), 0
		for i := range 10_000 {
			err := l.from(c.layers(l), netip.MustParseAddr(fmt.Sprintf("2001:db8:1:%x::1", i)), name)
			if err == nil {
				granted++
			} else if f := fault.From(err); f.Code != fault.RateLimited || f.Retry <= 0 {
				t.Fatalf("%s: %v, want when to come again", name, err)
			}
		}
		if least, most := siteHosts*c.quota.Burst, siteHosts*c.quota.Burst+10; granted < least || granted > most {
			t.Errorf("%s from 10 000 networks of one /48: got %d, want %d", name, granted, least)
		}
		must(t, name+" from another site", l.from(c.layers(l), netip.MustParseAddr("2001:db8:2::1"), name))
	}
}

// All processes share the count of sign-ups of a day, whether the address had an account or not.
func TestAccountsOfADay(t *testing.T) {
	t.Parallel()
	storetest.EachConfig(t, func(t *testing.T, cfg store.Config) {
		rigs, ctx := []*fixture{newFixture(t, storetest.Open(t, cfg), nil), newFixture(t, storetest.Open(t, cfg), nil)}, t.Context()
		for _, r := range rigs {
			r.limits.day = ratelimit.PerDayShared("accounts", 5)
		}
		signUp := func(i int, email string, block int) error {
			_, err := rigs[i%2].SignUp(ctx, email, passphrase, "", netip.AddrFrom4([4]byte{10, byte(block), 0, byte(i)}))
			return err
		}
		for i := range 5 {
			must(t, "an account", signUp(i, fmt.Sprintf("p%d@names.example", i/2), i))
		}
		err := signUp(6, "q@names.example", 6)
		wantCode(t, "the sixth of five", err, fault.RateLimited)
		if fault.From(err).Retry <= 0 {
			t.Error("it is not said when to come again")
		}
		wantCode(t, "the sixth at the other process", signUp(7, "p0@names.example", 7), fault.RateLimited)
	})
}

func TestSessionsAreLimited(t *testing.T) {
	t.Parallel()
	r, ctx := newFixture(t, storetest.Open(t, store.Config{Dir: t.TempDir()}), nil), t.Context()
	who := r.account("ada@names.example")
	for range sessionQuota.Burst {
		must(t, "count a session", r.limits.from(r.limits.sessions, abroad, ""))
	}
	_, _, err := r.StartSession(ctx, who.ID, abroad, "")
	wantCode(t, "one more session from that address", err, fault.RateLimited)
	_, _, err = r.StartSession(ctx, who.ID, home, "")
	must(t, "a session from another address", err)
}
