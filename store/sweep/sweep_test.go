package sweep_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
	"github.com/namewharf/namewharf/store/sweep"
)

// An observer records its calls.
type observer struct {
	removed map[string]int64
	overdue map[string]time.Duration
	batches []string // the tables, in order
	passes  int
}

func newObserver() *observer {
	return &observer{removed: map[string]int64{}, overdue: map[string]time.Duration{}}
}

func (o *observer) Removed(table string, rows int64) {
	o.removed[table] += rows
	o.batches = append(o.batches, table)
}
func (o *observer) Overdue(table string, oldest time.Duration) { o.overdue[table] = oldest }
func (o *observer) Swept(time.Time)                            { o.passes++ }

func exec(t *testing.T, db *store.DB, query string, args ...any) {
	t.Helper()
	err := db.Tx(t.Context(), func(tx store.Tx) error { _, err := tx.Exec(t.Context(), query, args...); return err })
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func count(t *testing.T, db *store.DB, query string) (n int) {
	t.Helper()
	if err := db.Read(t.Context(), func(tx store.Tx) error { return tx.QueryRow(t.Context(), query).Scan(&n) }); err != nil {
		t.Fatal(err)
	}
	return n
}

// fill makes tables a and b with rows of ages from 1 to n seconds.
func fill(t *testing.T, db *store.DB, now time.Time, sizes map[string]int) {
	t.Helper()
	for table, n := range sizes {
		exec(t, db, `CREATE TABLE `+table+` (id TEXT NOT NULL PRIMARY KEY, at BIGINT NOT NULL, unix BIGINT NOT NULL, kept INTEGER NOT NULL)`)
		var values []string
		for i := range n {
			at := now.Add(-time.Duration(i+1) * time.Second)
			values = append(values, fmt.Sprintf("('%s', %d, %d, %d)", store.IDAt("row", at), store.Micros(at), at.Unix(), i%2))
		}
		exec(t, db, `INSERT INTO `+table+` (id, at, unix, kept) VALUES `+strings.Join(values, ", "))
	}
}

// Rows are removed by age, in every unit, and only those that match the condition.
func TestRules(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		now := time.Now().Truncate(time.Second)
		fill(t, db, now, map[string]int{"by_time": 10, "by_second": 10, "by_id": 10, "by_condition": 10, "set_only": 10, "kept": 10})
		o := newObserver()
		rules := []sweep.Rule{
			{Table: "by_time", Kept: "x", Keep: 5 * time.Second, Key: "id", Age: "at"},
			{Table: "by_second", Kept: "x", Keep: 5 * time.Second, Key: "id", Age: "unix", In: sweep.Seconds},
			{Table: "by_id", Kept: "x", Keep: 5 * time.Second, Key: "id, at", Age: "id", In: sweep.IDs("row")},
			{Table: "by_condition", Kept: "x", Key: "id", Age: "at", Where: "kept = 0"},
			{Table: "set_only", Kept: "x", Keep: 5 * time.Second, Key: "id", Age: "at", Where: "kept = 0", Set: "kept = 7"},
			{Table: "kept", Kept: "for ever"},
		}
		if err := sweep.New(sweep.Config{DB: db, Rules: rules, Now: func() time.Time { return now }, Observer: o}).Pass(t.Context()); err != nil {
			t.Fatal(err)
		}
		for query, want := range map[string]int{
			`SELECT COUNT(*) FROM by_time`: 4, `SELECT COUNT(*) FROM by_second`: 4, `SELECT COUNT(*) FROM by_id`: 4,
			`SELECT COUNT(*) FROM by_condition`: 5, `SELECT COUNT(*) FROM by_condition WHERE kept = 0`: 0,
			`SELECT COUNT(*) FROM set_only`: 10, `SELECT COUNT(*) FROM set_only WHERE kept = 7`: 3, `SELECT COUNT(*) FROM kept`: 10,
		} {
			if got := count(t, db, query); got != want {
				t.Errorf("%s: got %d, want %d", query, got, want)
			}
		}
		if o.removed["by_time"] != 6 || o.overdue["by_time"] != 0 || o.passes != 1 {
			t.Errorf("the observer has %+v", o)
		}
		if _, reported := o.overdue["kept"]; reported {
			t.Error("the age of a table that is not swept is reported")
		}
	})
}

// A table with many rows to remove does not delay the others, nor does a failing one.
func TestTablesTakeTurns(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t, store.Config{Dir: t.TempDir()})
	now := time.Now()
	fill(t, db, now, map[string]int{"large": 3000, "small": 3})
	o := newObserver()
	rules := []sweep.Rule{
		{Table: "absent", Kept: "x", Key: "id", Age: "at"},
		{Table: "large", Kept: "x", Key: "id", Age: "at"},
		{Table: "small", Kept: "x", Key: "id", Age: "at"},
		{Table: "broken", Kept: "x", Plan: func(context.Context, store.Tx, time.Time, int) (sweep.Removal, error) {
			return func(context.Context, store.Tx) (int64, error) { return 0, errors.New("no") }, nil
		}},
	}
	err := sweep.New(sweep.Config{DB: db, Rules: rules, Observer: o}).Pass(t.Context())
	if err == nil || !strings.Contains(err.Error(), "absent") || !strings.Contains(err.Error(), "broken") {
		t.Errorf("got %v, want what failed", err)
	}
	if o.removed["large"] != 3000 || slices.Index(o.batches, "small") != 1 || len(o.batches) < 6 {
		t.Errorf("removed %v in the order %v", o.removed, o.batches)
	}
}

// A pass ends with its context, between two batches.
func TestPassEnds(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t, store.Config{Dir: t.TempDir()})
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	rules := []sweep.Rule{{Table: "endless", Kept: "x", Plan: func(context.Context, store.Tx, time.Time, int) (sweep.Removal, error) {
		return func(context.Context, store.Tx) (int64, error) {
			if n++; n == 3 {
				cancel()
			}
			return 1, nil
		}, nil
	}}}
	if err := sweep.New(sweep.Config{DB: db, Rules: rules}).Pass(ctx); !errors.Is(err, context.Canceled) || n != 3 {
		t.Errorf("after %d batches: %v", n, err)
	}
}

// The first pass comes soon after the start, the next ones a minute apart; an idle pass writes nothing.
func TestRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := storetest.Open(t, store.Config{Dir: t.TempDir()})
		o := newObserver()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute+20*time.Second)
		defer cancel()
		began := time.Now()
		first := time.Duration(0)
		rules := []sweep.Rule{{Table: "things", Kept: "x", Plan: func(context.Context, store.Tx, time.Time, int) (sweep.Removal, error) {
			if first == 0 {
				first = time.Since(began)
			}
			return nil, nil
		}}}
		sweep.New(sweep.Config{DB: db, Rules: rules, Observer: o}).Run(ctx)
		if first > 20*time.Second || o.passes < 9 || o.passes > 11 {
			t.Errorf("the first pass after %v, %d in ten minutes", first, o.passes)
		}
	})
}

func TestRulesThatAreNotComplete(t *testing.T) {
	t.Parallel()
	plan := func(context.Context, store.Tx, time.Time, int) (sweep.Removal, error) { return nil, nil }
	for name, rule := range map[string]sweep.Rule{
		"no table":           {Kept: "x"},
		"no words":           {Table: "a"},
		"a key without age":  {Table: "a", Kept: "x", Key: "id"},
		"an age without key": {Table: "a", Kept: "x", Age: "at"},
		"two ways":           {Table: "a", Kept: "x", Key: "id", Age: "at", Plan: plan},
		"less than no time":  {Table: "a", Kept: "x", Key: "id", Age: "at", Keep: -1},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: it is taken", name)
				}
			}()
			sweep.New(sweep.Config{Rules: []sweep.Rule{rule}})
		}()
	}
}

func ExampleRule() {
	rules := []sweep.Rule{
		{Table: "things", Kept: "for ever"},
		{Table: "sessions", Kept: "until they expire", Key: "hash", Age: "expires"},
	}
	for _, r := range rules {
		fmt.Printf("%s: %s\n", r.Table, r.Kept)
	}
	// Output:
	// things: for ever
	// sessions: until they expire
}
