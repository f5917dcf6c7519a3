package partner

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/namewharf/namewharf/internal/loadgen"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/partner/signature"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// load sends b.N requests over some connections and reports requests per second and the 99th percentile of the latency.
func load(b *testing.B, s *testServer, conns int, send func(c *loadgen.Conn, n int) (loadgen.Response, error), want int) {
	b.Helper()
	address := strings.TrimPrefix(s.http.URL, "http://")
	clients := make([]*loadgen.Conn, conns)
	for i := range clients {
		c, err := loadgen.Dial(address, signature.Credential{KeyID: s.key.key, Secret: s.key.secret})
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		clients[i] = c
	}
	took := make([][]time.Duration, conns)
	var wg sync.WaitGroup
	used := cpu(b)
	b.ResetTimer()
	for i, c := range clients {
		wg.Go(func() {
			for n := i; n < b.N; n += conns {
				begun := time.Now()
				response, err := send(c, n)
				if err != nil || response.Status != want {
					b.Errorf("request %d: %d, %v", n, response.Status, err)
					return
				}
				took[i] = append(took[i], time.Since(begun))
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64((cpu(b)-used).Microseconds())/float64(b.N), "cpu-µs/op")
	all := slices.Concat(took...)
	slices.Sort(all)
	if len(all) > 0 {
		b.ReportMetric(float64(len(all))/b.Elapsed().Seconds(), "req/s")
		b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-ms")
	}
}

// cpu is the time that this process has used, of all its threads.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// many is a file of n listings.
func many(n int) string {
	var b strings.Builder
	b.WriteString("domain,price_cents,floor_price_cents,currency\n")
	for i := range n {
		fmt.Fprintf(&b, "bench%07d.example,9900,7900,USD\n", i)
	}
	return b.String()
}

func real(s *options) { s.Now = time.Now }

func benchEach(b *testing.B, run func(b *testing.B, s *testServer), tweaks ...func(*options)) {
	b.Run("sqlite", func(b *testing.B) {
		run(b, open(b, storetest.Open(b, store.Config{Dir: b.TempDir()}), tweaks...))
	})
	b.Run("postgres", func(b *testing.B) {
		run(b, open(b, storetest.Open(b, store.Config{URL: storetest.Postgres(b)}), tweaks...))
	})
}

func BenchmarkSignedGet(b *testing.B) {
	for _, path := range []string{"/availability?domain=brewhaven.example", "/domains/brewhaven.example"} {
		b.Run(strings.Split(path, "/")[1][:7], func(b *testing.B) {
			benchEach(b, func(b *testing.B, s *testServer) {
				load(b, s, 128, func(c *loadgen.Conn, _ int) (loadgen.Response, error) { return c.Do("GET", root+path, "", "") }, http.StatusOK)
			}, real)
		})
	}
}

func BenchmarkOrders(b *testing.B) {
	benchEach(b, func(b *testing.B, s *testServer) {
		if _, err := market.Import(b.Context(), s.db, strings.NewReader(many(b.N)), market.ImportOptions{Environment: market.Sandbox}); err != nil {
			b.Fatal(err)
		}
		if err := s.api.cfg.Market.Refresh(b.Context()); err != nil {
			b.Fatal(err)
		}
		load(b, s, 64, func(c *loadgen.Conn, n int) (loadgen.Response, error) {
			body := fmt.Sprintf(`{"domain":"bench%07d.example","expected_price":9900,"buyer":{"email":"a@b.example"}}`, n)
			return c.Do("POST", root+"/orders", body, "key-"+strconv.Itoa(n))
		}, http.StatusCreated)
	}, real)
}
