package front

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"go.opentelemetry.io/otel/trace"
)

// flushTime is how long the last spans may take to leave.
const flushTime = 5 * time.Second

// Tracer sends spans to the collector that OTEL_EXPORTER_OTLP_ENDPOINT names (OpenTelemetry specification,
// "OTLP exporter"); without it there is no tracer. Call flush at the end.
func Tracer(ctx context.Context, program string, environ func(string) (string, bool)) (tracer trace.Tracer, flush func(), err error) {
	if endpoint, ok := environ("OTEL_EXPORTER_OTLP_ENDPOINT"); !ok || endpoint == "" {
		return nil, func() {}, nil
	}
	exporter, err := otlptracehttp.New(ctx) // reads the environment itself
	if err != nil {
		return nil, nil, fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT: %w", err)
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter),
		sdktrace.WithResource(resource.NewSchemaless(semconv.ServiceName("namewharf-"+program))),
	)
	return provider.Tracer("github.com/namewharf/namewharf"), func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
		defer cancel()
		_ = provider.Shutdown(ctx) // a collector that is gone must not keep the program
	}, nil
}
