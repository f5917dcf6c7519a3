package speed_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/namewharf/namewharf/internal/loadgen"
	"github.com/namewharf/namewharf/partner/admin"
	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/store"
)

// Rates of BenchmarkReferral.
const (
	visitRate = 2000 // a second
	visitors  = 20_000
)

// BenchmarkReferral is GET /r/{code} at 2 000 a second beside 500 orders a second (the slowest of a hundred within 5 ms), by
// 20 000 visitors, each of whom is counted once. b.N is orders.
func BenchmarkReferral(b *testing.B) {
	program := built(b)
	eachStore(b, func(b *testing.B, cfg store.Config) {
		s := openShop(b, program, cfg, b.N)
		s.affiliate(b, cfg)
		l, err := loadgen.Dial(s.addr, s.by)
		if err != nil {
			b.Fatal(err)
		}
		defer l.Close()
		a, err := l.Do("POST", loadgen.Root+"/links", `{"type":"generic"}`, "")
		if err != nil || a.Status != 201 {
			b.Fatalf("POST /links: %d %s, %v", a.Status, a.Body, err)
		}
		path := linkPath.FindString(string(a.Body))
		stop, done := make(chan struct{}), make(chan []time.Duration)
		go func() { done <- follow(b, s.addr, path, stop) }()
		s.load(b, 64, 500, order)
		close(stop)
		report(b, "visit-", <-done)
	})
}

// affiliate links the partner of the shop to an account.
func (s *shop) affiliate(b *testing.B, cfg store.Config) {
	b.Helper()
	db, err := store.Open(b.Context(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	operator := admin.New(db, seal.Random(), time.Now, "speed")
	all, err := operator.Partners(b.Context())
	if err == nil {
		err = operator.LinkAffiliate(b.Context(), all[0].ID, "acc_speed")
	}
	if err != nil {
		b.Fatal(err)
	}
}

// linkPath is the path of the link in an answer.
var linkPath = regexp.MustCompile(`/r/[0-9a-z]+`)

// follow visits a link at visitRate until stop is closed, whether the last visits are answered or not, and returns how long
// each took since it was due.
func follow(b *testing.B, addr, path string, stop chan struct{}) (all []time.Duration) {
	due := make(chan int, 10*visitRate)
	var mu sync.Mutex
	var running sync.WaitGroup
	begun := time.Now()
	at := func(n int) time.Time { return begun.Add(time.Duration(n) * time.Second / visitRate) }
	for range 32 {
		running.Go(func() {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				b.Error(err)
				return
			}
			defer conn.Close()
			in := bufio.NewReader(conn)
			var took []time.Duration
			for n := range due {
				fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/%d\r\n\r\n", path, n%visitors)
				resp, err := http.ReadResponse(in, nil)
				if err != nil {
					b.Error(err)
					return
				}
				resp.Body.Close()
				if resp.StatusCode != 302 || resp.Header.Get("Set-Cookie") == "" {
					b.Errorf("GET %s: %d", path, resp.StatusCode)
					return
				}
				took = append(took, time.Since(at(n)))
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, took...)
		})
	}
	for n := 0; ; n++ {
		time.Sleep(time.Until(at(n)))
		select {
		case <-stop:
			close(due)
			running.Wait()
			return all
		default:
			due <- n
		}
	}
}
