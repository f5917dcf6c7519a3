package store_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// Every draw of two handles on one database sees the draws before it.
func TestBucketIsShared(t *testing.T) {
	t.Parallel()
	storetest.EachConfig(t, func(t *testing.T, cfg store.Config) {
		handles := []*store.DB{storetest.Open(t, cfg), storetest.Open(t, cfg)}
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		draw := func(ctx context.Context, db *store.DB) error {
			return db.Tx(ctx, func(tx store.Tx) error {
				return store.Bucket(ctx, tx, "registrations", func(fullAt time.Time) (time.Time, error) {
					if fullAt.IsZero() {
						fullAt = start
					}
					return fullAt.Add(time.Second), nil
				})
			})
		}
		var draws sync.WaitGroup
		for i := range 20 {
			draws.Go(func() {
				if err := draw(t.Context(), handles[i%2]); err != nil {
					t.Error(err)
				}
			})
		}
		draws.Wait()
		read := func() (at time.Time) {
			refuse := errors.New("no")
			err := handles[0].Tx(t.Context(), func(tx store.Tx) error {
				return store.Bucket(t.Context(), tx, "registrations", func(fullAt time.Time) (time.Time, error) { at = fullAt; return at, refuse })
			})
			if !errors.Is(err, refuse) {
				t.Errorf("got %v, want what draw failed with", err)
			}
			return at
		}
		if got, want := read(), start.Add(20*time.Second); !got.Equal(want) {
			t.Errorf("after 20 draws: got %v, want %v", got, want)
		}
	})
}
