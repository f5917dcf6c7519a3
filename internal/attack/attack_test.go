package main

import (
	"strings"
	"testing"
)

// Each attack runs at its small size against the built program. The bounds on memory and on unserved requests also hold on a
// loaded machine.
func TestAttacks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program, err := build(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, within := range map[string]struct {
		megabytes int64   // above what the server held before
		unserved  float64 // part of the honest client's requests
	}{
		"bodies":  {megabytes: 60, unserved: 0.1},
		"hashing": {megabytes: 150, unserved: 0.1},
		"tarpits": {megabytes: 60, unserved: 0.1},

		"registrations": {megabytes: 60, unserved: 0.1},
	} {
		t.Run(name, func(t *testing.T) { // one after the other: each is a load
			r, err := attacks[name].execute(t.Context(), program, t.TempDir(), small)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("\n%s", r)
			if r.memoryGrowth() > within.megabytes*1e6 {
				t.Errorf("the attack took %d bytes, want at most %d MB", r.memoryGrowth(), within.megabytes)
			}
			asked := len(r.latencies) + r.failed
			if asked == 0 || float64(r.failed) > within.unserved*float64(asked) {
				t.Errorf("%d of %d honest requests were not served", r.failed, asked)
			}
			if tried := len(r.signIns) + r.failedSignIns; float64(r.failedSignIns) > within.unserved*float64(tried) {
				t.Errorf("%d of %d honest sign-ins did not go on", r.failedSignIns, tried)
			}
			if name == "registrations" {
				wantBoundedRegistrations(t, r)
			}
		})
	}
	if len(names()) == 0 {
		t.Error("there are no attacks")
	}
}

// wantBoundedRegistrations fails the test unless registrations from one site are limited and the honest ones succeed.
func wantBoundedRegistrations(t *testing.T, r *report) {
	t.Helper()
	const created, site = "201 Created", "from many /64s of one /48: "
	if got := r.outcomes[site+created]; got == 0 || got > 90 || r.outcomes[site+"429 Too Many Requests"] == 0 { // 80, and what flows back
		t.Errorf("one /48 made %d registrations", got)
	}
	served := 0
	for outcome, n := range r.outcomes {
		if status, honest := strings.CutPrefix(outcome, honestPrefix); !honest {
			continue
		} else if !strings.HasPrefix(status, created) {
			t.Errorf("%d × %s", n, outcome)
		}
		served += n
	}
	if served == 0 || r.rows == 0 {
		t.Errorf("%d honest registrations, %d rows", served, r.rows)
	}
}
