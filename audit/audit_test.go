package audit_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/audit"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

func TestLines(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
		clock := func() time.Time { return now }
		ada, bob := audit.Author{Name: "ada", Now: clock}, audit.Author{Name: "bob", Reason: "asked for", Now: clock}
		record := func(a audit.Author, action, subject string, details map[string]any) {
			t.Helper()
			if err := db.Tx(t.Context(), func(tx store.Tx) error { return a.Record(t.Context(), tx, action, subject, details) }); err != nil {
				t.Fatal(err)
			}
			now = now.Add(time.Minute)
		}
		record(ada, "order.hold", "ord_1", nil)
		record(ada, "order.clear", "ord_1", nil)
		record(bob, "orders", "ord_1", nil) // not below "order"
		record(bob, "partner.terms", "prt_1", map[string]any{"before": 1, "after": 2})

		actions := func(f audit.Filter) (all []string) {
			t.Helper()
			lines, err := audit.Lines(t.Context(), db, f)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range lines {
				all = append(all, l.Action)
			}
			return all
		}
		every, err := audit.Lines(t.Context(), db, audit.Filter{})
		if err != nil || len(every) != 4 {
			t.Fatalf("got %+v, %v", every, err)
		}
		first := every[0]
		if first.Actor != "bob" || first.Reason != "asked for" || string(first.Details) != `{"after":2,"before":1}` || !first.At.Equal(now.Add(-time.Minute)) {
			t.Errorf("the newest line is %+v", first)
		}
		for _, c := range []struct {
			name   string
			filter audit.Filter
			want   []string
		}{
			{"all", audit.Filter{}, []string{"partner.terms", "orders", "order.clear", "order.hold"}},
			{"of one", audit.Filter{Actor: "ada"}, []string{"order.clear", "order.hold"}},
			{"a whole action", audit.Filter{Action: "order.hold"}, []string{"order.hold"}},
			{"actions below a word", audit.Filter{Action: "order"}, []string{"order.clear", "order.hold"}},
			{"about one thing", audit.Filter{Subject: "ord_1", Limit: 2}, []string{"orders", "order.clear"}},
			{"since", audit.Filter{Since: every[1].At}, []string{"partner.terms", "orders"}},
			{"the next page", audit.Filter{Before: every[1].ID}, []string{"order.clear", "order.hold"}},
			{"all at once", audit.Filter{Actor: "ada", Action: "order", Subject: "ord_1", Since: every[2].At}, []string{"order.clear"}},
			{"none", audit.Filter{Actor: "' OR 1=1"}, nil},
		} {
			if got := actions(c.filter); !slices.Equal(got, c.want) {
				t.Errorf("%s: got %q, want %q", c.name, got, c.want)
			}
		}
	})
}

// A line is rolled back with its change, and needs an author.
func TestRecordIsPartOfTheChange(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		undone := errors.New("undone")
		by := audit.Author{Name: "ada", Now: time.Now}
		try := func(a audit.Author, details map[string]any, end error) error {
			return db.Tx(t.Context(), func(tx store.Tx) error {
				return errors.Join(a.Record(t.Context(), tx, "domain.flag", "ember.example", details), end)
			})
		}
		for name, err := range map[string]error{
			"a change that fails": try(by, nil, undone),
			"nobody":              try(audit.Author{Now: time.Now}, nil, nil),
			"too much":            try(by, map[string]any{"x": strings.Repeat("x", 9000)}, nil),
			"not JSON":            try(by, map[string]any{"x": func() {}}, nil),
		} {
			if err == nil {
				t.Errorf("%s: got no error", name)
			}
		}
		if lines, err := audit.Lines(context.WithoutCancel(t.Context()), db, audit.Filter{}); err != nil || len(lines) != 0 {
			t.Errorf("got %+v, %v, want no lines", lines, err)
		}
	})
}
