package httpserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Limits of sending spans: a collector that is slow or down must not delay the program.
const (
	exportTime = 10 * time.Second
	flushTime  = 5 * time.Second
)

// Tracer sends spans over OTLP/HTTP to the collector that OTEL_EXPORTER_OTLP_ENDPOINT names, with the headers of
// OTEL_EXPORTER_OTLP_HEADERS; without an endpoint the tracer is nil. Call flush at the end.
func Tracer(ctx context.Context, program string, environ func(string) (string, bool)) (tracer trace.Tracer, flush func(), err error) {
	endpoint, _ := environ("OTEL_EXPORTER_OTLP_ENDPOINT")
	if endpoint == "" {
		return nil, func() {}, nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, nil, errors.New("OTEL_EXPORTER_OTLP_ENDPOINT must be an http or https URL such as http://127.0.0.1:4318")
	}
	headers, _ := environ("OTEL_EXPORTER_OTLP_HEADERS")
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(&exporter{url: u.JoinPath("v1/traces").String(), headers: headers}),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "namewharf-"+program))),
	)
	return provider.Tracer("github.com/namewharf/namewharf"), func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
		defer cancel()
		_ = provider.Shutdown(ctx)
	}, nil
}

// An exporter sends spans as OTLP over HTTP in protobuf (OTLP specification, "OTLP/HTTP"). OpenTelemetry's own exporter would
// add gRPC to the binary, which is five megabytes.
type exporter struct {
	url, headers string
	client       http.Client
}

// ExportSpans posts the spans as TracesData, which has the encoding of ExportTraceServiceRequest.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	scope := &tracepb.ScopeSpans{Scope: &commonpb.InstrumentationScope{Name: spans[0].InstrumentationScope().Name}}
	for _, s := range spans {
		scope.Spans = append(scope.Spans, wireSpan(s))
	}
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{
		Resource:   &resourcepb.Resource{Attributes: wireAttributes(spans[0].Resource().Attributes())},
		ScopeSpans: []*tracepb.ScopeSpans{scope},
	}}})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, exportTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	for pair := range strings.SplitSeq(e.headers, ",") {
		if name, value, ok := strings.Cut(pair, "="); ok {
			request.Header.Set(strings.TrimSpace(name), strings.TrimSpace(value))
		}
	}
	request.Header.Set("Content-Type", "application/x-protobuf")
	response, err := e.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10)) // so that the connection can be used again
	if response.StatusCode >= 300 {
		return fmt.Errorf("the collector answered with status %d", response.StatusCode)
	}
	return nil
}

// Shutdown does nothing: each export is complete when it returns.
func (e *exporter) Shutdown(context.Context) error { return nil }

func wireSpan(s sdktrace.ReadOnlySpan) *tracepb.Span {
	id, traceID, parent := s.SpanContext().SpanID(), s.SpanContext().TraceID(), s.Parent().SpanID()
	w := &tracepb.Span{
		TraceId: traceID[:], SpanId: id[:], TraceState: s.SpanContext().TraceState().String(),
		Name: s.Name(), Kind: tracepb.Span_SpanKind(s.SpanKind()), Attributes: wireAttributes(s.Attributes()),
		StartTimeUnixNano: uint64(s.StartTime().UnixNano()), EndTimeUnixNano: uint64(s.EndTime().UnixNano()),
	}
	if s.Parent().HasSpanID() {
		w.ParentSpanId = parent[:]
	}
	if s.Status().Code == codes.Error {
		w.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: s.Status().Description}
	}
	return w
}

func wireAttributes(attributes []attribute.KeyValue) []*commonpb.KeyValue {
	all := make([]*commonpb.KeyValue, len(attributes))
	for i, a := range attributes {
		value := &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: a.Value.String()}}
		if a.Value.Type() == attribute.INT64 {
			value.Value = &commonpb.AnyValue_IntValue{IntValue: a.Value.AsInt64()}
		}
		all[i] = &commonpb.KeyValue{Key: string(a.Key), Value: value}
	}
	return all
}
