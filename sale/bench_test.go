package sale_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/sale"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// benchOnEachEngine runs the benchmark on each engine. The PostgreSQL server that the tests start has fsync off, so its figures
// show what the code costs, not the disk.
func benchOnEachEngine(b *testing.B, bench func(b *testing.B, s *fixture)) {
	c := &clock{at: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)}
	b.Run("sqlite", func(b *testing.B) {
		bench(b, newFixture(b, storetest.Open(b, store.Config{Dir: b.TempDir(), Now: c.now}), c))
	})
	b.Run("postgres", func(b *testing.B) {
		bench(b, newFixture(b, storetest.Open(b, store.Config{URL: storetest.Postgres(b), Now: c.now}), c))
	})
}

// cpu is the time that this process has used so far.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkPlace is the durable recording of a sale with the real market and ledger, by some callers at once.
func BenchmarkPlace(b *testing.B) {
	for _, callers := range []int{1, 32} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			benchOnEachEngine(b, func(b *testing.B, s *fixture) {
				names := s.names(b.N)
				ctx := context.Background()
				var next atomic.Int64
				var wg sync.WaitGroup
				before := cpu(b)
				b.ResetTimer()
				for range callers {
					wg.Go(func() {
						for i := next.Add(1) - 1; i < int64(b.N); i = next.Add(1) - 1 {
							err := s.Tx(ctx, party.Environment, func(tx store.Tx) error {
								_, err := s.Place(ctx, tx, party, sale.Request{
									Domain: names[i].String(), ExpectedPrice: price, ExternalPaymentRef: names[i].String(),
									Buyer: sale.Buyer{Email: "buyer@example.com"},
								}, s.clock.now())
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
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "orders/s")
				b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(b.N), "cpu-µs/order")
			})
		})
	}
}

// BenchmarkQuote is the quoting of a price: one read, one signature.
func BenchmarkQuote(b *testing.B) {
	benchOnEachEngine(b, func(b *testing.B, s *fixture) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Quote(b.Context(), party, ember, s.clock.now()); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkOrder is the reading of an order with its timeline.
func BenchmarkOrder(b *testing.B) {
	benchOnEachEngine(b, func(b *testing.B, s *fixture) {
		o := s.mustPlace(party, ember)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Order(b.Context(), party, o.PublicID); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkList is the reading of a page of orders with their timelines, of ten thousand.
func BenchmarkList(b *testing.B) {
	benchOnEachEngine(b, func(b *testing.B, s *fixture) {
		names := s.names(10_000)
		if err := s.tx(func(tx store.Tx) error { return placeAll(tx, s, names) }); err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			page, err := s.List(b.Context(), party, sale.Filter{})
			if err != nil || len(page.Orders) != sale.DefaultPage {
				b.Fatalf("got %d orders, %v", len(page.Orders), err)
			}
		}
	})
}

func placeAll(tx store.Tx, s *fixture, names []fqdn.Name) error {
	for _, name := range names {
		if _, err := s.Place(context.Background(), tx, party, sale.Request{Domain: name.String(), ExpectedPrice: price}, s.clock.now()); err != nil {
			return err
		}
	}
	return nil
}
