package store_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// benchEngines runs the benchmark on each engine. The PostgreSQL server that the tests start has fsync off,
// so its figures show what the code costs, not the disk.
func benchEngines(b *testing.B, bench func(b *testing.B, db *store.DB)) {
	b.Run("sqlite", func(b *testing.B) { bench(b, storetest.Open(b, store.Config{Dir: b.TempDir()})) })
	b.Run("postgres", func(b *testing.B) { bench(b, storetest.Open(b, store.Config{URL: storetest.Postgres(b)})) })
}

func makeTable(tb testing.TB, db *store.DB) {
	tb.Helper()
	execute(tb, db, `CREATE TABLE things (id TEXT PRIMARY KEY, n BIGINT NOT NULL)`)
}

func execute(tb testing.TB, db *store.DB, query string, args ...any) {
	tb.Helper()
	err := db.Tx(tb.Context(), func(tx store.Tx) error {
		_, err := tx.Exec(tb.Context(), query, args...)
		return err
	})
	if err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
}

// BenchmarkTx is a small durable transaction (an insert and an update), with some callers at once.
func BenchmarkTx(b *testing.B) {
	for _, callers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			benchEngines(b, func(b *testing.B, db *store.DB) {
				makeTable(b, db)
				ctx := context.Background()
				var next atomic.Int64
				var wg sync.WaitGroup
				b.ResetTimer()
				for range callers {
					wg.Go(func() {
						for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
							id := store.NewID("bench")
							err := db.Tx(ctx, func(tx store.Tx) error {
								if _, err := tx.Exec(ctx, `INSERT INTO things (id, n) VALUES ($1, $2)`, id, i); err != nil {
									return err
								}
								_, err := tx.Exec(ctx, `UPDATE things SET n = n + 1 WHERE id = $1`, id)
								return err
							})
							if err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tx/s")
			})
		})
	}
}

// BenchmarkRead is the look-up of one row by its key, as a request does it: with a context that can end.
func BenchmarkRead(b *testing.B) {
	benchEngines(b, func(b *testing.B, db *store.DB) {
		makeTable(b, db)
		for i := range 1000 {
			execute(b, db, `INSERT INTO things (id, n) VALUES ($1, $2)`, fmt.Sprint("thing_", i), i)
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			i++
			id := fmt.Sprint("thing_", i%1000)
			var n int64
			err := db.Read(ctx, func(tx store.Tx) error {
				return tx.QueryRow(ctx, `SELECT n FROM things WHERE id = $1`, id).Scan(&n)
			})
			if err != nil || n != int64(i%1000) {
				b.Fatalf("read %s: got %d, %v", id, n, err)
			}
		}
	})
}
