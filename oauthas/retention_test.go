package oauthas

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/sweep"
)

// rows counts the rows of a table.
func (d *fixture) rows(table string) (n int) {
	d.Helper()
	err := d.cfg.DB.Read(d.Context(), func(tx store.Tx) error {
		return tx.QueryRow(d.Context(), `SELECT COUNT(*) FROM `+table).Scan(&n)
	})
	if err != nil {
		d.Fatal(err)
	}
	return n
}

func (d *fixture) mustSweep() {
	d.Helper()
	if err := sweep.New(sweep.Config{DB: d.cfg.DB, Rules: append(Retention(), sweep.Store()...), Now: d.cfg.Now}).Pass(d.Context()); err != nil {
		d.Fatal(err)
	}
}

func TestUnusedClientsAreRemoved(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *fixture) {
		unused := d.register(appRedirect)
		p := d.signInClient(nil)
		revoked := d.signInClient(nil)
		want := func(when, client string, want bool) {
			t.Helper()
			d.mustSweep()
			_, err := d.client(t.Context(), client, netip.Addr{})
			if want && err != nil || !want && !errors.Is(err, errUnknownClient) {
				t.Errorf("%s: got %v, want the client there: %v", when, err, want)
			}
		}
		d.clock.advance(UnusedLife - time.Second)
		want("before 7 days", unused, true)
		if a := d.form(revokePath, map[string][]string{"token": {revoked.refresh}}); a.status != 200 {
			t.Fatalf("revoke: got %d", a.status)
		}
		d.clock.advance(time.Second)
		want("after 7 days", unused, false)
		want("after 7 days with a grant", p.client, true)
		want("just after its grant was revoked", revoked.client, true)
		d.clock.advance(UnusedLife)
		want("7 days after its grant was revoked", revoked.client, false)
		d.clock.advance(RefreshLife)
		want("when its grant has expired", p.client, true)
		d.clock.advance(UnusedLife)
		want("7 days after its grant has expired", p.client, false)
	})
}

func TestExpiredRowsAreRemoved(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *fixture) {
		p := d.signInClient(nil)
		for range 3 {
			p = d.renew(p)
		}
		d.code(nil) // not redeemed
		_, challenge := pkce()
		d.authorize(params(p.client, appRedirect, challenge, nil), d.session)
		for table, want := range map[string]int{"oauth_access": 4, "oauth_refresh": 4, "oauth_grants": 1, "oauth_codes": 2, "oauth_interactions": 1} {
			if got := d.rows(table); got != want {
				t.Errorf("%s: got %d rows, want %d", table, got, want)
			}
		}
		d.clock.advance(AccessLife)
		d.mustSweep()
		for table, want := range map[string]int{"oauth_access": 0, "oauth_refresh": 4, "oauth_grants": 1, "oauth_codes": 1, "oauth_interactions": 0} {
			if got := d.rows(table); got != want {
				t.Errorf("%s after half an hour: got %d rows, want %d", table, got, want)
			}
		}
		d.clock.advance(GrantLife + 2*time.Hour)
		d.mustSweep()
		d.clock.advance(UnusedLife)
		d.mustSweep()
		for _, table := range []string{"oauth_access", "oauth_refresh", "oauth_grants", "oauth_codes", "oauth_interactions", "oauth_clients", "oauth_consents"} {
			if got := d.rows(table); got != 0 {
				t.Errorf("%s in the end: got %d rows, want none", table, got)
			}
		}
	})
}
