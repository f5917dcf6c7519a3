package main

import (
	"testing"
)

// Each attack runs at its small size against the program as it ships. The bounds are such as hold on a machine that has
// other work to do: how much memory it takes, and that others are served meanwhile.
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
		"bodies":  {megabytes: 120, unserved: 0.1},
		"tarpits": {megabytes: 60, unserved: 0.1},
	} {
		t.Run(name, func(t *testing.T) { // one after the other: each is a load
			r, err := attacks[name].carryOut(t.Context(), program, t.TempDir(), small)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("\n%s", r)
			if r.above() > within.megabytes*1e6 {
				t.Errorf("the attack took %d bytes, want at most %d MB", r.above(), within.megabytes)
			}
			asked := len(r.waits) + r.failed
			if asked == 0 || float64(r.failed) > within.unserved*float64(asked) {
				t.Errorf("%d of %d honest requests were not served", r.failed, asked)
			}
			if tried := len(r.signIns) + r.noSignIns; float64(r.noSignIns) > within.unserved*float64(tried) {
				t.Errorf("%d of %d honest sign-ins did not go on", r.noSignIns, tried)
			}
		})
	}
	if len(names()) == 0 {
		t.Error("there are no attacks")
	}
}
