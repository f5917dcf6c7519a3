package portfolio

import (
	"testing"
	"time"
)

func TestChangedHands(t *testing.T) {
	t.Parallel()
	day := func(n int) time.Time { return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC).AddDate(0, 0, n) }
	proven := day(100)
	known := Registration{RegistrarID: "1", Registrar: "One", Created: day(0), Expires: day(365)}
	change := func(f func(*Registration)) Registration {
		r := known
		f(&r)
		return r
	}
	for _, c := range []struct {
		what        string
		before, now Registration
		want        bool
	}{
		{"nothing changed", known, known, false},
		{"nothing known before", Registration{}, known, false},
		{"nothing known now", known, Registration{}, false},
		{"renewed", known, change(func(r *Registration) { r.Expires = day(2 * 365) }), false},
		{"expires, and was not renewed", known, change(func(r *Registration) { r.Expires = day(365) }), false},
		{"dates of another publisher", known, change(func(r *Registration) { r.Created, r.Expires = day(1), day(364) }), false},
		{"the registrar has another name", known, change(func(r *Registration) { r.Registrar = "One, Inc." }), false},
		{"a registrar without its number", known, change(func(r *Registration) { r.RegistrarID = "" }), false},
		{"the same name in capitals", Registration{Registrar: "One"}, Registration{Registrar: "ONE"}, false},
		{"ended", known, Registration{Ended: true}, true},
		{"ended, with nothing known before", Registration{}, Registration{Ended: true}, true},
		{"another registrar", known, change(func(r *Registration) { r.RegistrarID = "2" }), true},
		{"another registrar without a number", Registration{Registrar: "One"}, Registration{Registrar: "Two"}, true},
		{"registered after the proof", Registration{}, Registration{Created: day(101)}, true},
		{"registered before the proof, and later than before", known, change(func(r *Registration) { r.Created = day(50) }), true},
		{"expires sooner", known, change(func(r *Registration) { r.Expires = day(300) }), true},
	} {
		if got := changedHands(c.before, c.now, proven); (got != "") != c.want {
			t.Errorf("%s: changedHands(%+v, %+v) = %q, want a reason: %v", c.what, c.before, c.now, got, c.want)
		}
	}
}

func TestRegistrationKeepsWhatIsNotSaidAgain(t *testing.T) {
	t.Parallel()
	before := Registration{RegistrarID: "1", Registrar: "One", Created: time.Unix(1, 0), Expires: time.Unix(2, 0)}
	if got := (Registration{}).or(before); got != before {
		t.Errorf("got %+v, want %+v", got, before)
	}
	if got := (Registration{Registrar: "Two", Expires: time.Unix(3, 0)}).or(before); got.RegistrarID != "" || got.Registrar != "Two" || got.Created != before.Created {
		t.Errorf("got %+v; a registrar's number and name belong together", got)
	}
}
