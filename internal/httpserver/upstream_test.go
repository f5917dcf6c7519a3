package httpserver_test

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/namewharf/namewharf/internal/httpserver"
)

func TestUpstreamCountsOutcomesWithinBounds(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	around := httpserver.Upstream(registry, nil)
	for _, code := range []string{"200", "200", "299", "made up by a host"} {
		_, done := around(t.Context(), "rdap", "rdap.example")
		done(code)
	}
	families, err := registry.Gather()
	if err != nil || len(families) != 1 {
		t.Fatalf("got %v, %v", families, err)
	}
	got := map[string]uint64{}
	for _, m := range families[0].GetMetric() {
		var labels []string
		for _, l := range m.GetLabel() {
			labels = append(labels, l.GetValue())
		}
		got[strings.Join(labels, " ")] = m.GetHistogram().GetSampleCount()
	}
	if len(got) != 2 || got["200 rdap"] != 2 || got["other rdap"] != 2 {
		t.Errorf("got %v, want two of 200 and two of other", got)
	}
}
