package partner

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/partner/signature"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// A line is one connection that speaks as little HTTP as it must, so that the load costs little openSecond the server.
type line struct {
	conn net.Conn
	in   *bufio.Reader
	out  []byte
}

func dial(address string) (*line, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &line{conn: conn, in: bufio.NewReader(conn)}, nil
}

// send signs and sends a request and returns the status of the answer, whose body it drops.
func (l *line) send(by signer, method, path, query, body, key string) (int, error) {
	var raw [16]byte
	rand.Read(raw[:])
	nonce := hex.EncodeToString(raw[:])
	at := strconv.FormatInt(time.Now().Unix(), 10)
	canonical, err := signature.Request{Method: method, Path: path, Query: query, Timestamp: at, Nonce: nonce, Body: signature.BodyDigest(method, []byte(body))}.Canonical()
	if err != nil {
		return 0, err
	}
	target := path
	if query != "" {
		target += "?" + query
	}
	l.out = fmt.Appendf(l.out[:0], "%s %s HTTP/1.1\r\nHost: bench\r\n%s: %s\r\n%s: %s\r\n%s: %s\r\n%s: %s\r\n",
		method, target, signature.HeaderKeyID, by.key, signature.HeaderTimestamp, at, signature.HeaderNonce, nonce, signature.HeaderSignature, signature.Sign(by.secret, canonical))
	if method != "GET" {
		l.out = fmt.Appendf(l.out, "Content-Type: application/json\r\nContent-Length: %d\r\n%s: %s\r\n", len(body), signature.HeaderIdempotencyKey, key)
	}
	l.out = append(append(l.out, "\r\n"...), body...)
	if _, err := l.conn.Write(l.out); err != nil {
		return 0, err
	}
	return l.answer()
}

func (l *line) answer() (status int, err error) {
	first, err := l.in.ReadSlice('\n')
	if err != nil || len(first) < 12 {
		return 0, errors.Join(err, errors.New("no status line"))
	}
	if status, err = strconv.Atoi(string(first[9:12])); err != nil {
		return 0, err
	}
	length := -1
	for {
		field, err := l.in.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		if len(field) == 2 {
			break
		}
		if value, ok := bytes.CutPrefix(field, []byte("Content-Length: ")); ok {
			length, err = strconv.Atoi(string(bytes.TrimSpace(value)))
			if err != nil {
				return 0, err
			}
		}
	}
	if length < 0 {
		return 0, errors.New("an answer without a length")
	}
	_, err = l.in.Discard(length)
	return status, err
}

// load sends b.N requests over some connections and reports how many a second, and the latency of the slowest in a
// hundred.
func load(b *testing.B, s *testServer, conns int, send func(l *line, n int) (int, error), want int) {
	b.Helper()
	address := strings.TrimPrefix(s.http.URL, "http://")
	lines := make([]*line, conns)
	for i := range lines {
		l, err := dial(address)
		if err != nil {
			b.Fatal(err)
		}
		defer l.conn.Close()
		lines[i] = l
	}
	took := make([][]time.Duration, conns)
	var wg sync.WaitGroup
	used := cpu(b)
	b.ResetTimer()
	for i, l := range lines {
		wg.Go(func() {
			for n := i; n < b.N; n += conns {
				begun := time.Now()
				status, err := send(l, n)
				if err != nil || status != want {
					b.Errorf("request %d: %d, %v", n, status, err)
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
				path, query, _ := strings.Cut(root+path, "?")
				load(b, s, 128, func(l *line, _ int) (int, error) { return l.send(s.key, "GET", path, query, "", "") }, http.StatusOK)
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
		load(b, s, 64, func(l *line, n int) (int, error) {
			body := fmt.Sprintf(`{"domain":"bench%07d.example","expected_price":9900,"buyer":{"email":"a@b.example"}}`, n)
			return l.send(s.key, "POST", root+"/orders", "", body, "key-"+strconv.Itoa(n))
		}, http.StatusCreated)
	}, real)
}
