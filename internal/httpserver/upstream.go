package httpserver

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// outcomes are the outcomes of requests to registries that metrics name. Hosts can send others, which count as "other".
var outcomes = map[string]bool{
	"200": true, "400": true, "403": true, "404": true, "429": true, "500": true, "502": true, "503": true, "504": true,
	"404_elsewhere": true, "404_not_json": true, "404_malformed": true, "404_doubtful": true, "404_reserved": true,
	"other_name": true, "not_domain": true, "malformed": true,
	"refused": true, "resting": true, "busy": true, "timeout": true, "too_large": true, "truncated": true, "redirect": true, "network": true,
	"throttled": true, "denied": true, "invalid": true, "reserved": true, "free": true, "registered": true, "unknown": true,
	"delegated": true, "nxdomain": true, "nodata": true, "servfail": true, "wildcard": true, "error": true,
}

// Upstream returns a function that measures and traces requests to registries, by protocol and outcome; a span has the host
// too. Neither has the queried name. A nil tracer traces nothing.
func Upstream(metrics prometheus.Registerer, tracer trace.Tracer) func(ctx context.Context, source, host string) (context.Context, func(code string)) {
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "namewharf_upstream_request_duration_seconds",
		Help:    "Time of a request to a registry, by protocol and outcome.",
		Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	}, []string{"source", "outcome"})
	metrics.MustRegister(seconds)
	return func(ctx context.Context, source, host string) (context.Context, func(string)) {
		begun := time.Now()
		end := func(string) {}
		if tracer != nil {
			var span trace.Span
			ctx, span = tracer.Start(ctx, source, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attribute.String("server.address", host)))
			end = func(code string) {
				span.SetAttributes(attribute.String("outcome", code))
				span.End()
			}
		}
		return ctx, func(code string) {
			end(code)
			if !outcomes[code] {
				code = "other"
			}
			seconds.WithLabelValues(source, code).Observe(time.Since(begun).Seconds())
		}
	}
}
