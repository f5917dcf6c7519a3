package mcp_test

import (
	"context"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/namewharf/namewharf/serve/mcp"
	"github.com/namewharf/namewharf/serve/middleware"
)

// A bubble fails when a goroutine outlives it.
func TestNothingIsLeftBehind(t *testing.T) {
	t.Parallel()
	withToken := func(era string) string {
		return body(era, "tools/call", map[string]any{"name": "check_domains", "arguments": map[string]any{"to": 5}, "_meta": map[string]any{"progressToken": 1}})
	}
	for _, test := range []struct {
		name string
		text func(era string) string
	}{
		{"a call", func(era string) string { return callBody(era, "search_domain", map[string]any{"q": "a"}) }},
		{"progress", withToken},
		{"a challenge", func(era string) string {
			return callBody(era, "search_domain", map[string]any{"q": "a", "require_real_prices": true})
		}},
		{"a panic", func(era string) string {
			return callBody(era, "search_domain", map[string]any{"q": "a", "fail": "panic"})
		}},
		{"a subscription", func(era string) string {
			return body(era, "subscriptions/listen", map[string]any{"notifications": map[string]any{"toolsListChanged": true}})
		}},
		{"a client who leaves", func(era string) string { return callBody(era, "whois_lookup", map[string]any{"ms": 60_000}) }},
		{"not JSON", func(string) string { return "{" }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, era := range []string{legacy, modern} {
				synctest.Test(t, func(t *testing.T) {
					log := slog.New(slog.DiscardHandler)
					s, err := mcp.New(mcp.Config{
						Set: operations(), Resources: documents{}, Version: "1", Logger: log,
						Middleware: middleware.New(middleware.Config{BaseURL: "http://127.0.0.1", Tokens: verifier{}, Logger: log}),
					})
					if err != nil {
						t.Fatal(err)
					}
					ctx, leave := context.WithTimeout(t.Context(), time.Second)
					defer leave()
					r := request(era).WithContext(ctx)
					r.Body = io.NopCloser(strings.NewReader(test.text(era)))
					r.ContentLength = -1
					r.Header.Del("Mcp-Name")
					r.Header.Del("Mcp-Method")
					if m := decodeMethod(test.text(era)); era == modern && m.Method != "" {
						r.Header.Set("Mcp-Method", m.Method)
						r.Header.Set("Mcp-Name", m.Params.Name)
					}
					begun := time.Now()
					s.Handler("http://127.0.0.1/mcp", false).ServeHTTP(httptest.NewRecorder(), r)
					if took := time.Since(begun); took > time.Second {
						t.Errorf("took %v", took)
					}
				})
			}
		})
	}
}

// At the end of input a running call has 800 ms to finish; a cancelled one 150 ms more, whether it listens or not.
func TestStdioGraces(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		ms   int
		want time.Duration
	}{{0, 0}, {799, 799 * time.Millisecond}, {801, 800 * time.Millisecond}, {60_000, 800 * time.Millisecond}} {
		synctest.Test(t, func(t *testing.T) {
			s, err := mcp.New(mcp.Config{Set: operations(), Version: "1", Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			in := strings.NewReader(callBody(modern, "whois_lookup", map[string]any{"ms": test.ms}))
			if err := s.Stdio(t.Context(), in, io.Discard); err != nil {
				t.Errorf("a call of %d ms: %v", test.ms, err)
			}
			if took := time.Since(begun); took != test.want {
				t.Errorf("a call of %d ms: stdio ended after %v, want %v", test.ms, took, test.want)
			}
		})
	}
}
