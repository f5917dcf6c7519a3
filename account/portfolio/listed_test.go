package portfolio_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/namewharf/namewharf/account/portfolio"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/store"
)

// claim adds names to a portfolio and, if published is set, their proofs to the DNS.
func (b *fixture) claim(t *testing.T, account string, published bool, names ...string) {
	t.Helper()
	for _, name := range named(names...) {
		claim, err := b.Add(t.Context(), account, name)
		if err != nil {
			t.Fatal(err)
		}
		if published {
			b.set(func() { b.txt[name] = append(b.txt[name], claim.Proof) })
		}
	}
}

// price returns the price of a name in a portfolio, and the price that the market shows.
func (b *fixture) price(t *testing.T, account, name string) (own, shown int64) {
	t.Helper()
	claims, _, err := b.List(t.Context(), account, fqdn.Name{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(claims, func(c portfolio.Claim) bool { return c.Domain.String() == name })
	offer, _ := b.market.Get(market.Live, fqdn.MustParse(name))
	return claims[at].Price.Cents, offer.PriceCents
}

// A name that somebody else had for sale was taken as the account's own offer: list and verify succeeded, and the market
// still showed the other offer.
func TestANameThatIsListedAlready(t *testing.T) {
	t.Parallel()
	eachFixture(t, func(t *testing.T, b *fixture) {
		list := func(cents int64, names ...string) portfolio.Change {
			return portfolio.Change{Op: portfolio.List, Names: named(names...), Price: money.USD(cents)}
		}
		b.own(t, "acc_ada", "a.com") // for sale at 100
		if _, err := b.market.Import(t.Context(), strings.NewReader("domain,price_cents\nours.com,5\nlate.com,6\n"), market.ImportOptions{Environment: market.Live}); err != nil {
			t.Fatal(err)
		}
		b.claim(t, "acc_bob", true, "a.com", "ours.com")
		errs, err := b.Apply(t.Context(), "acc_bob", list(7, "a.com", "ours.com"))
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{"by another seller", "operator of this service"} {
			if !fault.Is(errs[i], fault.Conflict) || !strings.Contains(errs[i].Error(), want) || !strings.Contains(errs[i].Error(), "verify") {
				t.Errorf("got %v, want a conflict that says %q and what to do", errs[i], want)
			}
		}
		if own, shown := b.price(t, "acc_bob", "a.com"); own != 0 || shown != 100 {
			t.Errorf("a.com: bob's price %d, for sale at %d; want none, and ada's", own, shown)
		}
		// The proof decides who may list.
		equal(t, "verify", b.apply(t, "acc_bob", portfolio.Change{Op: portfolio.Verify, Names: named("a.com", "ours.com")}), "ok, ok")
		equal(t, "list", b.apply(t, "acc_bob", list(7, "a.com", "ours.com")), "ok, conflict")
		if own, shown := b.price(t, "acc_bob", "a.com"); own != 7 || shown != 7 {
			t.Errorf("a.com: bob's price %d, for sale at %d; want his", own, shown)
		}
		// ada's own offer is suspended; it is no offer beside bob's.
		equal(t, "ada lists again", b.apply(t, "acc_ada", list(8, "a.com")), "conflict")
		equal(t, "ada's price", b.apply(t, "acc_ada", portfolio.Change{Op: portfolio.SetPrice, Names: named("a.com"), Price: money.USD(8)}), "conflict")
	})
}

// An offer that waits for its proof ends where the operator lists the name meanwhile.
func TestAnOfferThatCameTooLate(t *testing.T) {
	t.Parallel()
	eachFixture(t, func(t *testing.T, b *fixture) {
		b.claim(t, "acc_bob", true, "late.com")
		equal(t, "list", b.apply(t, "acc_bob", portfolio.Change{Op: portfolio.List, Names: named("late.com"), Price: money.USD(7)}), "ok")
		if _, err := b.market.Import(t.Context(), strings.NewReader("domain,price_cents\nlate.com,6\n"), market.ImportOptions{Environment: market.Live}); err != nil {
			t.Fatal(err)
		}
		equal(t, "verify", b.apply(t, "acc_bob", portfolio.Change{Op: portfolio.Verify, Names: named("late.com")}), "ok")
		if own, shown := b.price(t, "acc_bob", "late.com"); own != 0 || shown != 6 {
			t.Errorf("bob's price %d, for sale at %d; want none, and the operator's", own, shown)
		}
		events, err := b.Log(t.Context(), "acc_bob", 1)
		if err != nil || events[0].Kind != portfolio.Unlisted || !strings.Contains(events[0].Detail, "operator of this service") {
			t.Errorf("event: %+v, %v", events, err)
		}
	})
}

// A dry run of every op on names in every state has the same result for each name as the run.
func TestDryRunsAgreeWithRuns(t *testing.T) {
	t.Parallel()
	eachFixture(t, func(t *testing.T, b *fixture) {
		all := []string{
			"pending.com", "proven.com", "listed.com", "offered.com", "suspended.com", "sold.com", "ada.com", "ours.com",
			"unproven.com", "gone.com", "missing.com", "moved.com",
		}
		account := 0
		// prepare makes an account with names in every state.
		prepare := func() string {
			t.Helper()
			account++
			me := "acc_" + string(rune('a'+account))
			b.set(func() { clear(b.txt); clear(b.registrations); b.down = nil })
			if err := b.db.Tx(t.Context(), func(tx store.Tx) error {
				for _, table := range []string{"listings", "portfolio", "portfolio_events"} {
					if _, err := tx.Exec(t.Context(), `DELETE FROM `+table); err != nil {
						return err
					}
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			b.own(t, "acc_other", "ada.com")
			if _, err := b.market.Import(t.Context(), strings.NewReader("domain,price_cents\nours.com,5\n"), market.ImportOptions{Environment: market.Live}); err != nil {
				t.Fatal(err)
			}
			b.own(t, me, "listed.com", "suspended.com", "sold.com", "gone.com", "moved.com")
			b.claim(t, me, true, "proven.com", "pending.com", "offered.com", "ours.com", "ada.com")
			b.claim(t, me, false, "unproven.com")
			equal(t, "verify", b.apply(t, me, portfolio.Change{Op: portfolio.Verify, Names: named("proven.com")}), "ok")
			equal(t, "offer", b.apply(t, me, portfolio.Change{Op: portfolio.List, Names: named("offered.com"), Price: money.USD(3)}), "ok")
			if err := b.db.Tx(t.Context(), func(tx store.Tx) error {
				if _, err := tx.Exec(t.Context(), `UPDATE listings SET status = 'sold' WHERE domain = 'sold.com'`); err != nil {
					return err
				}
				if _, err := tx.Exec(t.Context(), `UPDATE listings SET status = 'suspended' WHERE domain = 'suspended.com'`); err != nil {
					return err
				}
				_, err := tx.Exec(t.Context(), `UPDATE portfolio SET status = 'suspended' WHERE domain = 'suspended.com'`)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			b.set(func() {
				b.registrations[fqdn.MustParse("gone.com")] = portfolio.Registration{Ended: true}
				b.registrations[fqdn.MustParse("moved.com")] = portfolio.Registration{RegistrarID: "2"}
			})
			return me
		}
		for _, down := range []error{nil, fault.New(fault.Unavailable, "nobody answers"), errors.New("the roof is on fire")} {
			for _, op := range []portfolio.Op{portfolio.List, portfolio.SetPrice, portfolio.Unlist, portfolio.Verify, portfolio.Refresh, portfolio.Remove} {
				me := prepare()
				b.set(func() { b.down = down })
				change := portfolio.Change{Op: op, Names: named(all...)}
				if op == portfolio.List || op == portfolio.SetPrice {
					change.Price = money.USD(9)
				}
				before := b.contents(t)
				change.DryRun = true
				dry := b.apply(t, me, change)
				equal(t, string(op)+": what the dry run left", b.contents(t), before)
				again := b.apply(t, me, change)
				change.DryRun = false
				done := b.apply(t, me, change)
				equal(t, string(op), dry, done)
				equal(t, string(op)+" as a dry run again", again, done)
			}
		}
	})
}

// contents is everything that a change could write.
func (b *fixture) contents(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := b.db.Read(t.Context(), func(tx store.Tx) error {
		for _, query := range []string{
			`SELECT domain || ' ' || status || ' ' || seller_id || ' ' || CAST(price_cents AS TEXT) FROM listings ORDER BY domain, seller_id, status`,
			`SELECT account_id || ' ' || domain || ' ' || status || ' ' || proof || ' ' || CAST(checked_at AS TEXT) FROM portfolio ORDER BY account_id, domain`,
			`SELECT id FROM portfolio_events ORDER BY id`,
		} {
			rows, err := tx.Query(t.Context(), query)
			if err != nil {
				return err
			}
			for rows.Next() {
				var line string
				if err := rows.Scan(&line); err != nil {
					return err
				}
				all.WriteString(line + "\n")
			}
			if err := errors.Join(rows.Err(), rows.Close()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
