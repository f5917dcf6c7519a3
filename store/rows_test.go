package store_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"testing"

	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

func TestCollect(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		ctx := context.Background()
		read := func(scan func(*sql.Rows) (string, error), query string, args ...any) (all []string, err error) {
			err = db.Read(ctx, func(tx store.Tx) error {
				all, err = store.Collect(ctx, tx, scan, query, args...)
				return err
			})
			return all, err
		}
		values := `SELECT name FROM (SELECT CAST($1 AS TEXT) AS name UNION ALL SELECT CAST($2 AS TEXT)) AS t ORDER BY name`
		if got, err := read(store.ScanOne[string], values, "b", "a"); err != nil || !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("Collect = %q, %v; want the rows in their order", got, err)
		}
		if got, err := read(store.ScanOne[string], values+` LIMIT 0`, "b", "a"); err != nil || got == nil || len(got) > 0 {
			t.Errorf("Collect without rows = %#v, %v; want an empty slice", got, err)
		}
		fails := errors.New("scan fails")
		calls := 0
		got, err := read(func(*sql.Rows) (string, error) { calls++; return "x", fails }, values, "b", "a")
		if !errors.Is(err, fails) || got != nil || calls != 1 {
			t.Errorf("Collect = %q, %v after %d calls; want the error of the first scan and nothing else", got, err, calls)
		}
	})
}

func TestBinds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		first, n int
		want     string
	}{{1, 0, ""}, {1, 1, "$1"}, {9, 3, "$9, $10, $11"}} {
		if got := store.Binds(test.first, test.n); got != test.want {
			t.Errorf("Binds(%d, %d) = %q, want %q", test.first, test.n, got, test.want)
		}
	}
}
