package middleware

import (
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// trace begins the span of a request below the caller's own, if it sent one, and returns what ends it. The span
// bears the operation as its name and no path, query or address: otelhttp, which records those, is not used, because
// a path can hold the name that somebody asks about.
func (mw *Stack) trace(rec *accessRecord, r *http.Request) (end func()) {
	if mw.cfg.Tracer == nil {
		return func() {}
	}
	ctx := propagation.TraceContext{}.Extract(rec.Context, propagation.HeaderCarrier(r.Header))
	ctx, span := mw.cfg.Tracer.Start(ctx, r.Method, trace.WithSpanKind(trace.SpanKindServer))
	rec.Context = ctx
	return func() {
		span.SetName(rec.operation)
		span.SetAttributes(
			attribute.String("request.id", rec.id),
			attribute.String("caller.class", rec.caller),
			attribute.Int("http.response.status_code", rec.status),
		)
		if rec.status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}
