package rest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/serve/middleware"
)

// menuOf is an answer of the size of a search: thirteen results, about 2.5 kB.
func menuOf(in searchIn) searchOut {
	out := searchOut{Query: in.Q, At: openedAt}
	for i := range 13 {
		name := fmt.Sprintf("%s of the house, number %d, roasted on the day and ground for you, with a long description to it", in.Q, i)
		out.Results = append(out.Results, cup{Name: name, Price: price{Cents: 300}})
	}
	return out
}

// control is what a plain handler does for the same answer: route, log, decode, look up in an LRU, encode.
func control() http.Handler {
	known, _ := lru.New[bean, searchOut](1024)
	known.Add("mocha", menuOf(searchIn{Q: "mocha"}))
	logger := slog.New(slog.NewJSONHandler(io.Discard, nil))
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/coffee/search", func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		var in searchIn
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		out, ok := known.Get(in.Q)
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(out)
		logger.Info("request", "method", r.Method, "path", r.URL.Path, "status", 200, "elapsed", time.Since(begun))
	})
	return mux
}

// bare only writes the bytes.
func bare() http.Handler {
	body, _ := json.Marshal(menuOf(searchIn{Q: "mocha"}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	})
}

// ours has log, limits, metrics and request ids, as in the program.
func ours() http.Handler {
	set := op.NewSet(time.Now,
		op.Operation[searchIn, searchOut]{
			Name: "search_coffee", Title: "Search", Doc: "Searches.", Route: op.Route{Method: "POST", Path: "/api/coffee/search"}, Limit: op.Lookup,
			Cache:   &op.Cache[searchIn, searchOut]{For: func(searchIn, searchOut) time.Duration { return time.Hour }, View: view},
			Example: searchIn{Q: "mocha"},
			Do:      func(_ context.Context, in searchIn) (searchOut, error) { return menuOf(in), nil },
		},
		op.Operation[searchIn, searchOut]{
			Name: "list_coffee", Title: "List", Doc: "Lists.", Route: op.Route{Method: "GET", Path: "/api/coffee/list"}, Limit: op.Lookup, MaxAge: time.Hour,
			Cache:   &op.Cache[searchIn, searchOut]{For: func(searchIn, searchOut) time.Duration { return time.Hour }},
			Example: searchIn{Q: "mocha"},
			Do:      func(_ context.Context, in searchIn) (searchOut, error) { return menuOf(in), nil },
		})
	limits := middleware.NewLimits(map[op.Class]middleware.Quota{op.Lookup: {Anonymous: 1 << 30, SignedIn: 1 << 30}, op.Read: {Anonymous: 1, SignedIn: 1}}, time.Now)
	return newHandlerOf(set, limits, io.Discard)
}

type contender struct {
	name    string
	handler http.Handler
	request string // as sent on the wire
}

func contenders(b *testing.B) []contender {
	const post = "POST /api/coffee/search HTTP/1.1\r\nHost: beans.test\r\nUser-Agent: bench\r\nContent-Type: application/json\r\nContent-Length: 13\r\nAccept: */*\r\n%s\r\n{\"q\":\"mocha\"}"
	const get = "GET /api/coffee/list?q=mocha HTTP/1.1\r\nHost: beans.test\r\nUser-Agent: bench\r\nAccept: */*\r\n%s\r\n"
	h := ours()
	etag := request{"GET /api/coffee/list?q=mocha", nil, ""}.send(h).Header().Get("ETag")
	if etag == "" {
		b.Fatal("no ETag")
	}
	return []contender{
		{"bare", bare(), fmt.Sprintf(post, "")},
		{"control", control(), fmt.Sprintf(post, "")},
		{"cached", h, fmt.Sprintf(post, "")},
		{"cached-gzip", h, fmt.Sprintf(post, "Accept-Encoding: gzip\r\n")},
		{"get", h, fmt.Sprintf(get, "")},
		{"conditional", h, fmt.Sprintf(get, "If-None-Match: "+etag+"\r\n")},
	}
}

// BenchmarkHandler measures the handlers alone, without a connection.
func BenchmarkHandler(b *testing.B) {
	for _, c := range contenders(b) {
		b.Run(c.name, func(b *testing.B) {
			r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(c.request)))
			if err != nil {
				b.Fatal(err)
			}
			r.RemoteAddr = "192.0.2.1:1234"
			body, _ := io.ReadAll(r.Body)
			b.ReportAllocs()
			for b.Loop() {
				r.Body = io.NopCloser(strings.NewReader(string(body)))
				w := &discard{header: http.Header{}}
				c.handler.ServeHTTP(w, r)
				if w.status != 0 && w.status != 200 && w.status != 304 {
					b.Fatalf("status %d", w.status)
				}
			}
		})
	}
}

// discard has deadlines, as a connection has. Without them each body costs four allocations for errors that say so.
type discard struct {
	header http.Header
	status int
}

func (w *discard) Header() http.Header             { return w.header }
func (w *discard) WriteHeader(status int)          { w.status = status }
func (w *discard) Write(p []byte) (int, error)     { return len(p), nil }
func (w *discard) SetReadDeadline(time.Time) error { return nil }

// BenchmarkWire measures over loopback connections, in CPU time of the whole process: the client's part, which is the
// same for all, is a prepared write and a bounded read.
func BenchmarkWire(b *testing.B) {
	for _, c := range contenders(b) {
		b.Run(c.name, func(b *testing.B) {
			s := httptest.NewServer(c.handler)
			defer s.Close()
			before := cpu()
			var failed atomic.Int64
			b.SetParallelism(8)
			b.RunParallel(func(pb *testing.PB) {
				conn, err := net.Dial("tcp", s.Listener.Addr().String())
				if err != nil {
					b.Error(err)
					return
				}
				defer func() { _ = conn.Close() }()
				from := bufio.NewReader(conn)
				for pb.Next() {
					if !exchange(conn, from, c.request) {
						failed.Add(1)
					}
				}
			})
			b.ReportMetric(float64(cpu()-before)/float64(b.N)/1e3, "cpu-µs/op")
			if failed.Load() > 0 {
				b.Fatalf("%d requests failed", failed.Load())
			}
		})
	}
}

// exchange sends a prepared request and reads the answer as cheaply as can be.
func exchange(conn net.Conn, from *bufio.Reader, request string) bool {
	if _, err := io.WriteString(conn, request); err != nil {
		return false
	}
	length, chunked, first := 0, false, true
	for {
		line, err := from.ReadSlice('\n')
		if err != nil {
			return false
		}
		if first && string(line[9:12]) != "200" && string(line[9:12]) != "304" {
			return false
		}
		first = false
		if n, ok := strings.CutPrefix(string(line), "Content-Length: "); ok {
			_, _ = fmt.Sscan(n, &length)
		}
		chunked = chunked || strings.HasPrefix(string(line), "Transfer-Encoding")
		if len(line) == 2 {
			break
		}
	}
	for chunked {
		line, err := from.ReadSlice('\n')
		if err != nil {
			return false
		}
		var size int
		_, _ = fmt.Sscanf(string(line), "%x", &size)
		_, _ = from.Discard(size + 2)
		if size == 0 {
			return true
		}
	}
	n, err := from.Discard(length)
	return err == nil && n == length
}

func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
