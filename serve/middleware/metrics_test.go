package middleware_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"

	"github.com/namewharf/namewharf/serve/middleware"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	m := middleware.NewMetrics("1.2.3")
	mw, _ := newStack(middleware.Config{Metrics: m})
	h := mw.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		middleware.Note(r.Context(), "search_domain", "")
		w.WriteHeader(http.StatusTeapot)
	}))
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/secret-name", nil))
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, line := range []string{
		`namewharf_http_request_duration_seconds_count{operation="search_domain",status="418"} 1`,
		`namewharf_http_requests_in_flight 0`,
		`namewharf_build_info{version="1.2.3"} 1`,
		`go_goroutines`, `process_open_fds`,
	} {
		if !strings.Contains(w.Body.String(), line) {
			t.Errorf("the metrics lack %s", line)
		}
	}
	if strings.Contains(w.Body.String(), "secret-name") {
		t.Error("the metrics hold what was asked")
	}
}

func TestNestedWrapsAreOne(t *testing.T) {
	t.Parallel()
	mw, log := newStack(middleware.Config{})
	var inner string
	h := mw.Wrap(mw.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { inner = middleware.RequestID(r.Context()) })))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	if lines := log.lines(t); len(lines) != 1 || lines[0]["id"] != inner || w.Header().Get("X-Request-Id") != inner {
		t.Errorf("log %v, inner id %s, header %v", lines, inner, w.Header())
	}
}

// tracer notes the spans it is asked for.
type tracer struct {
	embedded.Tracer
	spans []*span
}

type span struct {
	trace.Span
	name   string
	parent trace.SpanContext
	ended  bool
}

func (t *tracer) Start(ctx context.Context, name string, _ ...trace.SpanStartOption) (context.Context, trace.Span) {
	s := &span{Span: trace.SpanFromContext(context.Background()), name: name, parent: trace.SpanContextFromContext(ctx)}
	t.spans = append(t.spans, s)
	return trace.ContextWithSpan(ctx, s), s
}

func (s *span) SetName(name string)        { s.name = name }
func (s *span) End(...trace.SpanEndOption) { s.ended = true }

func TestTrace(t *testing.T) {
	t.Parallel()
	var spans tracer
	mw, _ := newStack(middleware.Config{Tracer: &spans})
	h := mw.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		middleware.Note(r.Context(), "search_domain", "")
		if trace.SpanFromContext(r.Context()) != spans.spans[0] {
			t.Error("the span is not in the context")
		}
	}))
	r := httptest.NewRequest("GET", "/secret-name", nil)
	r.Header.Set("Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	h.ServeHTTP(httptest.NewRecorder(), r)
	if len(spans.spans) != 1 {
		t.Fatalf("got %d spans, want 1", len(spans.spans))
	}
	if s := spans.spans[0]; s.name != "search_domain" || !s.ended || s.parent.TraceID().String() != "4bf92f3577b34da6a3ce929d0e0e4736" {
		t.Errorf("span %q, ended %t, below %s", s.name, s.ended, s.parent.TraceID())
	}
}
