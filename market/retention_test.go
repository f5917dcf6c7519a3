package market_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/market/words"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
	"github.com/namewharf/namewharf/store/sweep"
)

// A process that was away while a listing was withdrawn, and removed after its time, shows it no longer when it is back.
func TestRemovedListingsAreNotMissed(t *testing.T) {
	t.Parallel()
	dir, lexicon := t.TempDir(), words.English()
	synctest.Test(t, func(t *testing.T) {
		db := storetest.Open(t, store.Config{Dir: dir})
		open := func() *market.Market {
			m, err := market.New(t.Context(), market.Config{DB: db, Lexicon: lexicon, Follow: 1000 * time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(m.Close)
			return m
		}
		m := open()
		seller := market.Seller{ID: "acc_ada", Environment: market.Live}
		put(t, db, m, seller, "a.example b.example c.example", 10_000, market.Listed)
		away := open()
		turn(t, db, m, seller, "a.example", market.Withdrawn)
		turn(t, db, m, seller, "b.example", market.Withdrawn)
		pass := func() {
			rules := market.Retention(time.Minute) // which is taken for MinWithdrawn
			if err := sweep.New(sweep.Config{DB: db, Rules: rules, Now: db.Now}).Pass(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		left := func() (n int) {
			err := db.Read(t.Context(), func(tx store.Tx) error {
				return tx.QueryRow(t.Context(), `SELECT COUNT(*) FROM listings`).Scan(&n)
			})
			if err != nil {
				t.Error(err)
			}
			return n
		}
		time.Sleep(market.MinWithdrawn - time.Second)
		if pass(); left() != 3 {
			t.Errorf("%d listings before their time is over", left())
		}
		time.Sleep(2 * time.Second)
		if pass(); left() != 1 {
			t.Errorf("%d listings are left, want the one that is for sale", left())
		}
		if err := away.Refresh(t.Context()); err != nil || away.Len(market.Live) != 1 || m.Len(market.Live) != 1 {
			t.Errorf("the process that was away shows %d listings, %v, want 1 as the other, which shows %d", away.Len(market.Live), err, m.Len(market.Live))
		}
		if away.Version() != m.Version() {
			t.Errorf("versions %d and %d", away.Version(), m.Version())
		}
		put(t, db, m, seller, "a.example", 20_000, market.Listed)
		if err := away.Refresh(t.Context()); err != nil || away.Len(market.Live) != 2 {
			t.Errorf("it does not follow from there: %d, %v", away.Len(market.Live), err)
		}
	})
}
