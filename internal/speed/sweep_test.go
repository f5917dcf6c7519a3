package speed_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/store"
)

// oldRows is how many rows are over when the program starts.
const oldRows = 1_000_000

// BenchmarkSteadyOrdersBesideSweep is POST /orders at 500 a second while a million events whose time is over are removed
// (the slowest of a hundred within 25 ms). Compare it with BenchmarkSteadyOrders.
func BenchmarkSteadyOrdersBesideSweep(b *testing.B) {
	program := built(b)
	eachStore(b, func(b *testing.B, cfg store.Config) {
		rows := oldRows
		if b.N == 1 { // the benchmark's own first try
			rows = 1000
		}
		db, err := store.Open(b.Context(), cfg)
		if err != nil {
			b.Fatal(err)
		}
		defer db.Close()
		addOldEvents(b, db, rows)
		left := func() (n int) {
			err := db.Read(b.Context(), func(tx store.Tx) error {
				return tx.QueryRow(b.Context(), `SELECT COUNT(*) FROM events WHERE partner = 'prt_old'`).Scan(&n)
			})
			if err != nil {
				b.Fatal(err)
			}
			return n
		}
		s := openShop(b, program, cfg, b.N)
		for deadline := time.Now().Add(20 * time.Second); left() == rows; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				b.Fatal("nothing is removed")
			}
		}
		before := left()
		s.load(b, 64, 500, order)
		after := left()
		if b.N > 1 && after <= 1 {
			b.Errorf("all %d rows were gone before the orders were done: ask for fewer", rows)
		}
		b.ReportMetric(float64(before-after)/b.Elapsed().Seconds(), "removed/s")
	})
}

// addOldEvents makes events of more than 400 days ago.
func addOldEvents(b *testing.B, db *store.DB, n int) {
	b.Helper()
	const atOnce = 1000
	then := time.Now().Add(-500 * 24 * time.Hour)
	for first := 0; first < n; first += atOnce {
		var values strings.Builder
		for i := first; i < min(n, first+atOnce); i++ {
			if i > first {
				values.WriteString(", ")
			}
			fmt.Fprintf(&values, `('prt_old', 'LIVE', %d, '%s', 'order.recorded', '{"order":{"public_id":"ord_06bqexample0000000000000000"}}', 1)`,
				i+1, store.IDAt("evt", then.Add(time.Duration(i)*time.Millisecond)))
		}
		err := db.Tx(b.Context(), func(tx store.Tx) error {
			_, err := tx.Exec(b.Context(), `INSERT INTO events (partner, environment, number, id, type, data, created_at) VALUES `+values.String())
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
