package settlement_test

import (
	"flag"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/namewharf/namewharf/audit"
	"github.com/namewharf/namewharf/event"
	"github.com/namewharf/namewharf/ledger"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/partner/admin"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/partner/settlement"
	"github.com/namewharf/namewharf/partner/wiring"
	"github.com/namewharf/namewharf/sale"
	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

var benchOrders = flag.Int("bench-orders", 1_000_000, "orders of the benchmarks")

// afterMonth is when the month of the benchmarks is over.
var afterMonth = time.Date(2026, 12, 1, 1, 0, 0, 0, time.UTC)

// eachStore runs a benchmark with a partner of LIVE on each engine.
func eachStore(b *testing.B, bench func(b *testing.B, db *store.DB, sales *sale.Service, operator *admin.Operator, partner string)) {
	for _, engine := range []store.Engine{store.SQLite, store.Postgres} {
		b.Run(string(engine), func(b *testing.B) {
			cfg := store.Config{Dir: b.TempDir()}
			if engine == store.Postgres {
				cfg = store.Config{URL: storetest.Postgres(b)}
			}
			db := storetest.Open(b, cfg)
			keys, now := seal.Random(), func() time.Time { return afterMonth }
			sales := wiring.New(wiring.Config{
				DB: db, Keys: keys, Now: now, Logger: slog.New(slog.DiscardHandler),
				Author: func(event.Stream) audit.Author { return audit.Author{Name: "bench", Now: now} },
			}).Sales
			operator := admin.New(db, keys, now, "bench")
			p, err := operator.CreatePartner(b.Context(), "P", credential.DefaultTerms())
			if err != nil {
				b.Fatal(err)
			}
			bench(b, db, sales, operator, p.ID)
		})
	}
}

// seedOrders makes completed orders of a partner, spread over the time before [afterMonth].
func seedOrders(b *testing.B, db *store.DB, partner string, span time.Duration) {
	b.Helper()
	step := span.Microseconds() / int64(*benchOrders)
	exec := func(query string, args ...any) {
		b.Helper()
		err := db.Tx(b.Context(), func(tx store.Tx) error {
			_, err := tx.Exec(b.Context(), query, args...)
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	first := store.Micros(afterMonth.Add(-time.Hour)) - span.Microseconds()
	const atOnce = 20_000
	for from := 0; from < *benchOrders; from += atOnce {
		exec(`
		INSERT INTO orders (id, partner, environment, domain, listing_id, status, review, payment_model, price_cents, currency, quote,
			external_payment_ref, buyer_email, buyer_name, buyer_country, return_url, cancel_url, created_at, updated_at, completed_at, version, commission_cents)
		WITH RECURSIVE seq(n) AS (SELECT CAST($5 AS BIGINT) UNION ALL SELECT n + 1 FROM seq WHERE n < CAST($1 AS BIGINT) - 1)
		SELECT 'ord_06h04jtrb1v373g3b' || (100000000 + n), CAST($2 AS TEXT), 'LIVE', 'name' || n || '.com', 'lst_06h04jtrb1v373g3b' || (100000000 + n), 'TRANSFER_COMPLETED', '',
			'partner_collected', 9999, 'USD', '', '', 'buyer@example.com', '', '', '', '',
			CAST($3 AS BIGINT) + n * CAST($4 AS BIGINT), CAST($3 AS BIGINT) + n * CAST($4 AS BIGINT), CAST($3 AS BIGINT) + n * CAST($4 AS BIGINT), 4, 1500
		FROM seq`, min(from+atOnce, *benchOrders), partner, first, step, from)
	}
	exec(`
		INSERT INTO order_totals (partner, environment, day, currency, payment_model, status, orders, price_cents, commission_cents)
		SELECT partner, environment, created_at / 86400000000, currency, payment_model, status,
			COUNT(*), CAST(SUM(price_cents) AS BIGINT), CAST(SUM(commission_cents) AS BIGINT)
		FROM orders GROUP BY partner, environment, created_at / 86400000000, currency, payment_model, status`)
}

// BenchmarkSettlement settles a month with a million completed orders (60 s on SQLite, with the memory of one batch).
func BenchmarkSettlement(b *testing.B) {
	eachStore(b, func(b *testing.B, db *store.DB, _ *sale.Service, operator *admin.Operator, partner string) {
		seedOrders(b, db, partner, 29*24*time.Hour)
		var before, peak runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		most, calls := uint64(0), 0
		b.ResetTimer()
		report, err := operator.Settle(b.Context(), settlement.Run{
			Period: ledger.PeriodOf(afterMonth.Add(-24 * time.Hour)), Environment: market.Live,
			Progress: func(int, int) {
				if calls++; calls%50 == 0 {
					runtime.ReadMemStats(&peak)
					most = max(most, peak.HeapInuse)
				}
			},
		})
		b.StopTimer()
		if err != nil || report.Settled != *benchOrders || len(report.Statements) != 1 {
			b.Fatalf("got %+v, %v", report, err)
		}
		b.ReportMetric(float64(*benchOrders)/b.Elapsed().Seconds(), "orders/s")
		b.ReportMetric(float64(max(most, before.HeapInuse)-before.HeapInuse)/(1<<20), "MB")
	})
}

// BenchmarkTotals adds up windows of a year with a million orders, whose ends are in the middle of days (p99 100 ms).
func BenchmarkTotals(b *testing.B) {
	eachStore(b, func(b *testing.B, db *store.DB, sales *sale.Service, _ *admin.Operator, partner string) {
		const year = 364 * 24 * time.Hour
		seedOrders(b, db, partner, year)
		party := sale.Party{Partner: partner, Environment: "LIVE"}
		random := rand.New(rand.NewPCG(1, 2))
		var times []time.Duration
		for b.Loop() {
			from := afterMonth.Add(-time.Hour - year + time.Duration(random.Int64N(int64(year/2))))
			f := sale.TransactionFilter{From: from, To: from.Add(time.Duration(random.Int64N(int64(year / 2))))}
			began := time.Now()
			if _, err := sales.Totals(b.Context(), party, f); err != nil {
				b.Fatal(err)
			}
			times = append(times, time.Since(began))
		}
		slices.Sort(times)
		b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "p99-ms")
	})
}
