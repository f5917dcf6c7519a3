package speed_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/namewharf/namewharf/internal/loadgen"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/partner/admin"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/partner/signature"
	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/store"
)

// A shop is the program, in a process of its own and without limits, with names for sale and a partner who sells them.
type shop struct {
	addr string
	pid  int
	by   signature.Credential
}

// openShop opens a shop on a store until the end of the benchmark.
func openShop(b *testing.B, program string, cfg store.Config, names int) *shop {
	b.Helper()
	s := &shop{}
	keys := filepath.Join(b.TempDir(), seal.FileName)
	s.stock(b, cfg, keys, names)
	cmd := exec.Command(program, append(onStore(b, cfg), "-addr", "127.0.0.1:0", "-bootstrap-url", "off", "-rate-limits", "off",
		"-server-key-file", keys, "-webhook-allow-private", "127.0.0.0/8")...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	log, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0) // each log line is a write, as in service
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			b.Errorf("publicapi: %v", err)
		}
	})
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		b.Fatal("the program says nothing")
	}
	s.addr, s.pid = strings.TrimPrefix(lines.Text(), "listening on http://"), cmd.Process.Pid
	return s
}

// stock makes the partner and its names.
func (s *shop) stock(b *testing.B, cfg store.Config, keyFile string, names int) {
	b.Helper()
	db, err := store.Open(b.Context(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	keys, err := seal.Load(keyFile, nil)
	if err != nil {
		b.Fatal(err)
	}
	operator := admin.New(db, keys, time.Now, "speed")
	p, err := operator.CreatePartner(b.Context(), "Example Registrar", credential.DefaultTerms())
	if err != nil {
		b.Fatal(err)
	}
	if err := operator.Approve(b.Context(), p.ID); err != nil {
		b.Fatal(err)
	}
	if s.by, err = operator.CreateCredential(b.Context(), p.ID, market.Live, strings.Join(credential.Scopes, ",")); err != nil {
		b.Fatal(err)
	}
	var csv bytes.Buffer
	csv.WriteString("domain,price_cents,floor_price_cents,currency\n")
	for n := range names {
		fmt.Fprintf(&csv, "%s,9900,9900,USD\n", lot(n))
	}
	if _, err := market.Import(b.Context(), db, &csv, market.ImportOptions{Environment: market.Live}); err != nil {
		b.Fatal(err)
	}
}

// lot is a name that is for sale.
func lot(n int) string { return fmt.Sprintf("lot%07d.com", n) }

// cpu is the time, user and system, that the process has used, where /proc tells it.
func (s *shop) cpu(b *testing.B) time.Duration {
	b.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.pid))
	if err != nil {
		b.Skip("there is no /proc to read the CPU time from")
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	ticks := 0
	for _, field := range fields[11:13] {
		n, err := strconv.Atoi(field)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100 // USER_HZ, which is 100 on Linux
}

// A task is one request of a load, on a connection of its worker.
type task func(l *loadgen.Conn, n int) error

// order places an order of a name.
func order(l *loadgen.Conn, n int) error {
	body := fmt.Sprintf(`{"domain":%q,"expected_price":9900,"currency":"USD","buyer":{"email":"buyer@mail.example"}}`, lot(n))
	a, err := l.Do("POST", loadgen.Root+"/orders", body, uuid.NewString())
	if err == nil && a.Status != 201 {
		err = fmt.Errorf("POST /orders: %d %s", a.Status, a.Body)
	}
	return err
}

func availability(l *loadgen.Conn, _ int) error {
	a, err := l.Do("GET", loadgen.Root+"/availability?domain="+lot(0), "", "")
	if err == nil && (a.Status != 200 || !bytes.Contains(a.Body, []byte(`"available":true`))) {
		err = fmt.Errorf("GET /availability: %d %s", a.Status, a.Body)
	}
	return err
}

// load has workers do b.N deeds: each the next when its last is done, or at a rate that waits for none where one is
// given. It reports the requests a second, the time of the slowest of two and of a hundred since a task was due, and the
// CPU time of the server.
func (s *shop) load(b *testing.B, workers, rate int, do task) {
	b.Helper()
	due := make(chan time.Time, b.N)
	numbers := make(chan int, b.N)
	for n := range b.N {
		numbers <- n
	}
	close(numbers)
	lines := make([]*loadgen.Conn, workers)
	for i := range lines {
		l, err := loadgen.Dial(s.addr, s.by)
		if err != nil {
			b.Fatal(err)
		}
		defer l.Close()
		lines[i] = l
	}
	took := make([][]time.Duration, workers)
	var wg sync.WaitGroup
	used := s.cpu(b)
	b.ResetTimer()
	begun := time.Now()
	go func() {
		defer close(due)
		for n := range b.N {
			at := begun
			if rate > 0 {
				at = begun.Add(time.Duration(n) * time.Second / time.Duration(rate))
				time.Sleep(time.Until(at))
			}
			due <- at
		}
	}()
	for i, l := range lines {
		wg.Go(func() {
			for at := range due {
				if rate == 0 {
					at = time.Now()
				}
				if err := do(l, <-numbers); err != nil {
					b.Error(err)
					return
				}
				took[i] = append(took[i], time.Since(at))
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64((s.cpu(b)-used).Microseconds())/float64(b.N), "cpu-µs/op")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
	report(b, "", slices.Concat(took...))
}

// report reports the slowest of two and of a hundred.
func report(b *testing.B, prefix string, took []time.Duration) {
	b.Helper()
	if len(took) == 0 {
		return
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, prefix+"p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, prefix+"p99-ms")
}

// BenchmarkOrders is POST /orders, signed and durable, as fast as 64 partners ask (at least 2 000 a second on SQLite).
func BenchmarkOrders(b *testing.B) {
	program := built(b)
	eachStore(b, func(b *testing.B, cfg store.Config) {
		openShop(b, program, cfg, b.N).load(b, 64, 0, order)
	})
}

// BenchmarkSteadyOrders is POST /orders at 500 a second, whether the last ones are answered or not (the slowest of a
// hundred within 25 ms).
func BenchmarkSteadyOrders(b *testing.B) {
	program := built(b)
	eachStore(b, func(b *testing.B, cfg store.Config) {
		openShop(b, program, cfg, b.N).load(b, 64, 500, order)
	})
}

// BenchmarkSignedGet is GET /availability, whose nonce is stored (at least 15 000 a second).
func BenchmarkSignedGet(b *testing.B) {
	program := built(b)
	eachStore(b, func(b *testing.B, cfg store.Config) {
		openShop(b, program, cfg, 1).load(b, 128, 0, availability)
	})
}

// BenchmarkFirstWebhook is how long after an order's time, which is before its commit, its event reaches a receiver that
// answers at once, at 200 orders a second (the slowest of a hundred within 250 ms).
func BenchmarkFirstWebhook(b *testing.B) {
	program := built(b)
	eachStore(b, func(b *testing.B, cfg store.Config) {
		s := openShop(b, program, cfg, b.N)
		var mu sync.Mutex
		var took []time.Duration
		receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			at := time.Now()
			var e struct {
				CreatedAt time.Time `json:"created_at"`
			}
			body, err := io.ReadAll(r.Body)
			if err == nil {
				err = json.Unmarshal(body, &e)
			}
			if err != nil || r.Header.Get("X-Service-Delivery-Attempt") != "1" {
				b.Errorf("a webhook at attempt %s: %v", r.Header.Get("X-Service-Delivery-Attempt"), err)
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, at.Sub(e.CreatedAt))
		}))
		defer receiver.Close()
		line, err := loadgen.Dial(s.addr, s.by)
		if err != nil {
			b.Fatal(err)
		}
		defer line.Close()
		a, err := line.Do("PUT", "/api/partner/webhooks", fmt.Sprintf(`{"url":%q,"secret":"0123456789abcdef"}`, receiver.URL), "")
		if err != nil || a.Status != 200 {
			b.Fatalf("PUT webhooks: %d %s, %v", a.Status, a.Body, err)
		}
		s.load(b, 64, 200, order)
		all := func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(took) >= b.N
		}
		for deadline := time.Now().Add(10 * time.Second); !all() && time.Now().Before(deadline); {
			time.Sleep(10 * time.Millisecond)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(took) != b.N {
			b.Errorf("got %d webhooks for %d orders", len(took), b.N)
		}
		report(b, "webhook-", took)
	})
}
