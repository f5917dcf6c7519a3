package ledger_test

import (
	"fmt"
	"testing"

	"github.com/namewharf/namewharf/ledger"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// benchEngines runs the benchmark on each engine. The PostgreSQL server that the tests start has fsync off, so its figures
// show what the code costs, not the disk.
func benchEngines(b *testing.B, bench func(b *testing.B, db *store.DB)) {
	b.Run("sqlite", func(b *testing.B) { bench(b, storetest.Open(b, store.Config{Dir: b.TempDir()})) })
	b.Run("postgres", func(b *testing.B) { bench(b, storetest.Open(b, store.Config{URL: storetest.Postgres(b)})) })
}

// BenchmarkPost is the posting of a sale, without the commit: that is shared with the order's other writes.
func BenchmarkPost(b *testing.B) {
	benchEngines(b, func(b *testing.B, db *store.DB) {
		err := db.Tx(b.Context(), func(tx store.Tx) error {
			b.ReportAllocs()
			for b.Loop() {
				if err := ledger.Post(b.Context(), tx, ledger.Sold(owner, store.NewID("ord"), money.USD(100), 1500, noon)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	})
}

// BenchmarkCheck is the check of ten thousand orders, the time given for one.
func BenchmarkCheck(b *testing.B) {
	const orders = 10_000
	benchEngines(b, func(b *testing.B, db *store.DB) {
		err := db.Tx(b.Context(), func(tx store.Tx) error {
			for i := range orders {
				if err := ledger.Post(b.Context(), tx, ledger.Sold(owner, fmt.Sprintf("ord_%05d", i), money.USD(100), 1500, noon)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if r, err := ledger.Check(b.Context(), db, nil); err != nil || r.Entries != orders || len(r.Violations) > 0 {
				b.Fatal(r, err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/orders, "ns/order")
	})
}
