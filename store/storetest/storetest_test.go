package storetest_test

import (
	"testing"
	"time"

	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

func TestEachDatabaseIsFresh(t *testing.T) {
	t.Parallel()
	for range 2 {
		storetest.Each(t, func(t *testing.T, db *store.DB) {
			held, err := db.Lease(t.Context(), "only", time.Hour)
			if err != nil || !held {
				t.Fatalf("lease in a fresh database: got %v, %v; want true, nil", held, err)
			}
		})
	}
}
