package middleware

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics count requests by operation and status; never by what was asked.
type Metrics struct {
	registry *prometheus.Registry
	seconds  *prometheus.HistogramVec
	inFlight prometheus.Gauge
}

// NewMetrics returns metrics on a registry of their own, with those of the process and the Go runtime beside them.
func NewMetrics(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "namewharf_http_request_duration_seconds",
			Help:    "Time to answer a request, by operation and status.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"operation", "status"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "namewharf_http_requests_in_flight", Help: "Requests that are being answered.",
		}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "namewharf_build_info", Help: "1, with the version as a label.", ConstLabels: prometheus.Labels{"version": version},
	})
	build.Set(1)
	m.registry.MustRegister(m.seconds, m.inFlight, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Registerer takes the metrics of other parts of the process.
func (m *Metrics) Registerer() prometheus.Registerer { return m.registry }

// Handler serves the metrics for Prometheus. It belongs on a listener of its own, which the public cannot reach.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 10 * time.Second})
}

func (m *Metrics) begin() {
	if m != nil {
		m.inFlight.Inc()
	}
}

func (m *Metrics) end(operation string, status int, elapsed time.Duration) {
	if m == nil {
		return
	}
	m.inFlight.Dec()
	m.seconds.WithLabelValues(operation, statusLabel(status)).Observe(elapsed.Seconds())
}
