package storetest_test

import (
	"testing"

	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

func TestEachDatabaseIsFresh(t *testing.T) {
	t.Parallel()
	for range 2 {
		storetest.Each(t, func(t *testing.T, db *store.DB) {
			err := db.Tx(t.Context(), func(tx store.Tx) error {
				_, err := tx.Exec(t.Context(), `INSERT INTO leases (name, owner, expires) VALUES ('only', '', 0)`)
				return err
			})
			if err != nil {
				t.Fatalf("a row in a fresh database: %v", err)
			}
		})
	}
}
