package mcp_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/serve/mcp"
	"github.com/namewharf/namewharf/serve/middleware"
)

// answerOf is an answer of the size of a search.
type answerOf struct {
	Results []answerRow `json:"results"`
}

type answerRow struct {
	Domain     string `json:"domain"`
	Status     string `json:"status"`
	Confidence string `json:"confidence"`
	PriceCents int64  `json:"priceCents"`
}

func searchLike(context.Context, askIn) (answerOf, error) {
	rows := make([]answerRow, 13)
	for i := range rows {
		rows[i] = answerRow{"example" + strconv.Itoa(i) + ".com", "likely_available", "registry", 1099}
	}
	return answerOf{rows}, nil
}

// served is a handler with the whole middleware around it, as it is in service: limits, log, metrics.
func served(b *testing.B) http.Handler {
	b.Helper()
	set := op.NewSet(time.Now, op.Operation[askIn, answerOf]{
		Name: "search_domain", Title: "Search", Doc: "Searches.", Route: route("search"), Tool: true, Limit: op.Lookup, Example: askIn{Q: "acme"},
		Do:    searchLike,
		Cache: &op.Cache[askIn, answerOf]{For: func(askIn, answerOf) time.Duration { return time.Hour }},
	})
	d := middleware.New(middleware.Config{
		BaseURL: "http://127.0.0.1", Tokens: middleware.NoTokens, Logger: slog.New(slog.NewJSONHandler(io.Discard, nil)), Metrics: middleware.NewMetrics("1"),
		Limits: middleware.NewLimits(map[op.Class]middleware.Quota{op.Lookup: {Anonymous: 1 << 30, SignedIn: 1}, op.Read: {Anonymous: 1 << 30, SignedIn: 1}}, time.Now),
	})
	s, err := mcp.New(mcp.Config{Set: set, Version: "1", Middleware: d, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	return s.Handler("http://127.0.0.1/mcp", false)
}

// bare is mcp-go alone with a tool that answers with a body of that size.
func bare(size int) http.Handler {
	s := server.NewMCPServer("namewharf", "1")
	text := mcpgo.NewToolResultText(strings.Repeat("x", size))
	s.AddTool(mcpgo.NewTool("search_domain", mcpgo.WithString("q")), func(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		return &mcpgo.CallToolResult{Content: text.Content}, nil
	})
	return server.NewStreamableHTTPServer(s, server.WithStateLess(true))
}

func request(era string) *http.Request {
	r := httptest.NewRequest("POST", "http://127.0.0.1/mcp", strings.NewReader(callBody(era, "search_domain", map[string]any{"q": "acme"})))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Mcp-Protocol-Version", era)
	if era == modern {
		r.Header.Set("Mcp-Method", "tools/call")
		r.Header.Set("Mcp-Name", "search_domain")
	}
	return r
}

func bodySize(b *testing.B, h http.Handler, era string) int {
	b.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, request(era))
	if w.Code != http.StatusOK || strings.Contains(w.Body.String(), `"isError"`) {
		b.Fatalf("got %d %s", w.Code, w.Body)
	}
	return w.Body.Len()
}

// BenchmarkCall measures a tools/call over HTTP on loopback, with the client's share, and reports the CPU time of the
// whole process: ours beside bare mcp-go with an answer of the same size.
func BenchmarkCall(b *testing.B) {
	for _, era := range []string{legacy, modern} {
		ours := served(b)
		size := bodySize(b, ours, era)
		padding := size - bodySize(b, bare(0), era)
		for name, h := range map[string]http.Handler{"namewharf": ours, "bare": bare(padding)} {
			if got := bodySize(b, h, era); got < size-8 || got > size+8 {
				b.Fatalf("%s answers with %d bytes, want %d", name, got, size)
			}
			b.Run(era+"/"+name, func(b *testing.B) { benchmarkHTTP(b, h, era) })
		}
	}
}

func benchmarkHTTP(b *testing.B, h http.Handler, era string) {
	web := httptest.NewServer(h)
	defer web.Close()
	text := callBody(era, "search_domain", map[string]any{"q": "acme"})
	template := request(era)
	b.ReportAllocs()
	before := cpu(b)
	for b.Loop() {
		r, err := http.NewRequestWithContext(b.Context(), "POST", web.URL+"/mcp", strings.NewReader(text))
		if err != nil {
			b.Fatal(err)
		}
		r.Header = template.Header
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
			b.Fatal(resp.StatusCode, err)
		}
		_ = resp.Body.Close()
	}
	b.ReportMetric(float64(cpu(b)-before)/1e3/float64(b.N), "cpu-µs/op")
}

// BenchmarkHandler is the same without the network and the client, which would blur the difference.
func BenchmarkHandler(b *testing.B) {
	for _, era := range []string{legacy, modern} {
		ours := served(b)
		padding := bodySize(b, ours, era) - bodySize(b, bare(0), era)
		for name, h := range map[string]http.Handler{"namewharf": ours, "bare": bare(padding)} {
			b.Run(era+"/"+name, func(b *testing.B) {
				r := request(era)
				text := callBody(era, "search_domain", map[string]any{"q": "acme"})
				b.ReportAllocs()
				before := cpu(b)
				for b.Loop() {
					r.Body = io.NopCloser(strings.NewReader(text))
					w := &discard{header: http.Header{}}
					h.ServeHTTP(w, r)
					if w.status != http.StatusOK {
						b.Fatal(w.status)
					}
				}
				b.ReportMetric(float64(cpu(b)-before)/1e3/float64(b.N), "cpu-µs/op")
			})
		}
	}
}

// discard has deadlines, as a connection has. Without them each body costs four allocations for errors that say so.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header             { return d.header }
func (d *discard) WriteHeader(status int)          { d.status = status }
func (d *discard) Write(p []byte) (int, error)     { return len(p), nil }
func (d *discard) Flush()                          {}
func (d *discard) SetReadDeadline(time.Time) error { return nil }

// cpu is the CPU time that the process has used.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
