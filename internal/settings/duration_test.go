package settings

import (
	"testing"
	"time"
)

func TestDuration(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"400d": 400 * day, "90d": 90 * day, "36h": 36 * time.Hour, "1d12h": 36 * time.Hour, "30m": 30 * time.Minute, "1d0h": day,
		"": 0, "0": 0, "0d": 0, "-1d": 0, "1d-1h": 0, "d": 0, "1": 0, "1.5d": 0, "1d+1h": 0, "-5h": 0, "999999999d": 0, "forever": 0, "106751d24h": 0,
	} {
		var d Duration
		err := d.Set(text)
		if d.Duration != want || (err == nil) != (want > 0) {
			t.Errorf("%q: got %v, %v, want %v", text, d.Duration, err, want)
		}
	}
	d := Duration{least: time.Hour}
	if err := d.Set("59m"); err == nil {
		t.Error("less than the least is taken")
	}
}

// Parsing a printed duration returns the same duration.
func FuzzDuration(f *testing.F) {
	for _, seed := range []string{"400d", "1d12h", "36h", "1h0m0.5s", "x", "d"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var d, again Duration
		if d.Set(text) != nil {
			return
		}
		if err := again.Set(d.String()); err != nil || again.Duration != d.Duration {
			t.Errorf("%q is printed as %q, which is %v, %v", text, d.String(), again.Duration, err)
		}
	})
}
