package store_test

import (
	"testing"

	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

func TestInsertAll(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		for _, n := range []int{0, 1, 199, 200, 201, 1000} {
			err := db.Tx(t.Context(), func(tx store.Tx) error {
				if _, err := tx.Exec(t.Context(), `CREATE TABLE numbers (n BIGINT PRIMARY KEY, text TEXT)`); err != nil {
					return err
				}
				rows := make([][]any, n)
				for i := range rows {
					rows[i] = []any{i, "x"}
				}
				for _, want := range []int64{int64(n), 0} { // the second time all of them conflict
					got, err := store.InsertAll(t.Context(), tx, `INSERT INTO numbers (n, text)`, `ON CONFLICT DO NOTHING`, rows)
					if err != nil || got != want {
						t.Errorf("%d rows: got %d, %v, want %d", n, got, err, want)
					}
				}
				var count, sum int64
				err := tx.QueryRow(t.Context(), `SELECT COUNT(*), CAST(COALESCE(SUM(n), 0) AS BIGINT) FROM numbers WHERE text = 'x'`).Scan(&count, &sum)
				if err != nil || count != int64(n) || sum != int64(n)*int64(n-1)/2 {
					t.Errorf("%d rows: there are %d, whose sum is %d, %v", n, count, sum, err)
				}
				_, err = tx.Exec(t.Context(), `DROP TABLE numbers`)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}
