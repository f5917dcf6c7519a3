package httpserver_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/namewharf/namewharf/internal/httpserver"
)

func TestTracerPostsSpansToTheCollector(t *testing.T) {
	t.Parallel()
	got := make(chan *tracepb.TracesData, 1)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var data tracepb.TracesData
		if err != nil || proto.Unmarshal(body, &data) != nil || r.URL.Path != "/v1/traces" || r.Header.Get("X-Key") != "abc" || r.Header.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("got %s %v, %v", r.URL.Path, r.Header, err)
		}
		got <- &data
	}))
	defer collector.Close()
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL, "OTEL_EXPORTER_OTLP_HEADERS": "x-key=abc"}
	tracer, flush, err := httpserver.Tracer(t.Context(), "test", func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	ctx, parent := tracer.Start(t.Context(), "outer", trace.WithSpanKind(trace.SpanKindServer))
	_, child := tracer.Start(ctx, "inner")
	child.SetAttributes(attribute.Int("status", 500))
	child.SetStatus(codes.Error, "broken")
	child.End()
	parent.End()
	flush()
	data := <-got
	spans := data.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans()
	if len(spans) != 2 || spans[0].GetName() != "inner" || string(spans[0].GetParentSpanId()) != string(spans[1].GetSpanId()) ||
		spans[0].GetStatus().GetCode() != tracepb.Status_STATUS_CODE_ERROR || spans[0].GetAttributes()[0].GetValue().GetIntValue() != 500 ||
		spans[1].GetKind() != tracepb.Span_SPAN_KIND_SERVER || spans[1].GetEndTimeUnixNano() < spans[1].GetStartTimeUnixNano() {
		t.Errorf("got %v", spans)
	}
}

func TestWithoutACollectorThereIsNoTracer(t *testing.T) {
	t.Parallel()
	tracer, flush, err := httpserver.Tracer(t.Context(), "test", func(string) (string, bool) { return "", false })
	if err != nil || tracer != nil {
		t.Errorf("got %v, %v", tracer, err)
	}
	flush()
	if _, _, err := httpserver.Tracer(t.Context(), "test", func(string) (string, bool) { return "collector:4318", true }); err == nil {
		t.Error("an endpoint that is no URL is taken")
	}
}
