package event_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/namewharf/namewharf/event"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// benchEach runs a benchmark on both engines.
func benchEach(b *testing.B, bench func(b *testing.B, db *store.DB)) {
	b.Run("sqlite", func(b *testing.B) { bench(b, storetest.Open(b, store.Config{Dir: b.TempDir()})) })
	b.Run("postgres", func(b *testing.B) { bench(b, storetest.Open(b, store.Config{URL: storetest.Postgres(b)})) })
}

// BenchmarkAppend is the append of an event, with a hundred events in each transaction.
func BenchmarkAppend(b *testing.B) {
	benchEach(b, func(b *testing.B, db *store.DB) {
		d := newLog(b, db)
		d.register(acme, "http://127.0.0.1:1/")
		const each = 100
		for b.Loop() {
			d.appendAtOnce(acme, each)
		}
		b.ReportMetric(b.Elapsed().Seconds()*1e6/float64(b.N*each), "µs/event")
	})
}

// appendAtOnce appends n events in one transaction.
func (d *fixture) appendAtOnce(s event.Stream, n int) {
	d.Helper()
	data := map[string]any{"order": map[string]any{
		"public_id": "ord_06bq2k00000000000000000000", "domain": "brewhaven.example", "status": "EXTERNALLY_PAID",
		"sale_price_cents": 249900, "currency": "USD",
	}}
	err := d.db.Tx(d.Context(), func(tx store.Tx) error {
		for range n {
			if _, err := d.Append(d.Context(), tx, s, "order.recorded", data, time.Now()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		d.Fatal(err)
	}
}

// BenchmarkDeliver is the delivery of a backlog to fast receivers in this process: 1 iteration is one delivery.
func BenchmarkDeliver(b *testing.B) {
	for _, endpoints := range []int{1, 20} {
		b.Run(fmt.Sprintf("endpoints=%d", endpoints), func(b *testing.B) {
			benchEach(b, func(b *testing.B, db *store.DB) {
				var got atomic.Int64
				done := make(chan struct{})
				d := newLog(b, db)
				for i := range endpoints {
					r := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
						if got.Add(1) == int64(b.N) {
							close(done)
						}
					}))
					b.Cleanup(r.Close)
					s := event.Stream{Partner: fmt.Sprintf("prt_%d", i), Environment: "LIVE"}
					d.register(s, r.URL)
					d.appendAtOnce(s, b.N/endpoints+1)
				}
				b.ResetTimer()
				d.start()
				<-done
				b.StopTimer()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "deliveries/s")
			})
		})
	}
}

// BenchmarkFirstAttempt is how long after its commit an event arrives, at 200 events a second over ten partners: 1
// iteration is one event. With hanging, that many endpoints that never answer have a backlog.
func BenchmarkFirstAttempt(b *testing.B) {
	for _, hanging := range []int{0, 100} {
		b.Run(fmt.Sprintf("hanging=%d", hanging), func(b *testing.B) {
			benchEach(b, func(b *testing.B, db *store.DB) { firstAttempts(b, db, hanging) })
		})
	}
}

func firstAttempts(b *testing.B, db *store.DB, hanging int) {
	const partners = 10
	var mu sync.Mutex
	committed, arrived := map[string]time.Time{}, map[string]time.Time{}
	note := func(times map[string]time.Time, id string) {
		now := time.Now()
		mu.Lock()
		defer mu.Unlock()
		if _, ok := times[id]; !ok {
			times[id] = now
		}
	}
	r := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		note(arrived, req.Header.Get("X-Service-Event-Id"))
	}))
	b.Cleanup(r.Close)
	h := newHanging(b)
	d := newLog(b, db)
	for i := range hanging {
		s := event.Stream{Partner: fmt.Sprintf("prt_hang_%d", i), Environment: "LIVE"}
		d.register(s, h.URL)
		d.appendAtOnce(s, 50)
	}
	var streams []event.Stream
	for i := range partners {
		s := event.Stream{Partner: fmt.Sprintf("prt_%d", i), Environment: "LIVE"}
		d.register(s, r.URL)
		streams = append(streams, s)
	}
	d.start()
	b.ResetTimer()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	var wg sync.WaitGroup
	for i := range b.N {
		<-tick.C
		wg.Go(func() {
			e := d.append(streams[i%partners], 1)[0]
			note(committed, e.ID)
		})
	}
	wg.Wait()
	d.eventually(func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(arrived) == len(committed)
	}, func() { b.Fatalf("%d of %d events arrived", len(arrived), len(committed)) })
	b.StopTimer()
	var waits []time.Duration
	for id, at := range committed {
		waits = append(waits, arrived[id].Sub(at))
	}
	slices.Sort(waits)
	for _, p := range []int{50, 99} {
		b.ReportMetric(float64(waits[(len(waits)-1)*p/100].Microseconds())/1000, fmt.Sprintf("ms-p%d", p))
	}
}

// newHanging starts a receiver that accepts everything and answers nothing.
func newHanging(t testing.TB) *receiver {
	return newReceiver(t, func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() })
}
