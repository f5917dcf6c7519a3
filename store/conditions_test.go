package store_test

import (
	"database/sql"
	"slices"
	"testing"
	"time"

	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// Pages of a window, one after the other, show each row once, the newest first, whatever the conditions.
func TestConditions(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		ctx, noon := t.Context(), time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
		err := db.Tx(ctx, func(tx store.Tx) error {
			if _, err := tx.Exec(ctx, `CREATE TABLE test_rows (id TEXT, kind TEXT, at BIGINT)`); err != nil {
				return err
			}
			rows := [][]any{}
			for i, id := range []string{"a", "b", "c", "d", "e", "f"} { // two of each time
				rows = append(rows, []any{id, []string{"odd", "even"}[i%2], store.Micros(noon.Add(time.Duration(i/2) * time.Hour))})
			}
			_, err := store.InsertAll(ctx, tx, `INSERT INTO test_rows (id, kind, at)`, "", rows)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		list := func(kind string, from, to time.Time) (ids []string) {
			var after *store.Position
			for range 10 {
				var c store.Conditions
				if kind != "" {
					c.Add("(kind = ? OR kind = ?)", kind, kind)
				}
				c.Newest("at", "id", from, to, after)
				scan := func(rows *sql.Rows) (p store.Position, err error) {
					err = rows.Scan(&p.At, &p.ID)
					return p, err
				}
				var page []store.Position
				err := db.Read(ctx, func(tx store.Tx) (err error) {
					page, err = store.Collect(ctx, tx, scan, `SELECT at, id FROM test_rows WHERE `+c.String()+` ORDER BY at DESC, id DESC LIMIT `+c.Bind(2), c.Args()...)
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range page {
					ids, after = append(ids, p.ID), &p
				}
				if len(page) < 2 {
					break
				}
			}
			return ids
		}
		for _, test := range []struct {
			kind     string
			from, to time.Time
			want     []string
		}{
			{"", time.Time{}, time.Time{}, []string{"f", "e", "d", "c", "b", "a"}},
			{"odd", time.Time{}, time.Time{}, []string{"e", "c", "a"}},
			{"", noon.Add(time.Hour), time.Time{}, []string{"f", "e", "d", "c"}},
			{"", time.Time{}, noon.Add(2 * time.Hour), []string{"d", "c", "b", "a"}},
			{"even", noon.Add(time.Hour), noon.Add(2 * time.Hour), []string{"d"}},
		} {
			if got := list(test.kind, test.from, test.to); !slices.Equal(got, test.want) {
				t.Errorf("%s from %v to %v: %q, want %q", test.kind, test.from, test.to, got, test.want)
			}
		}
	})
}
