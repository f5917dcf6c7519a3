package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// A changing sealer encrypts with the first sealer and decrypts with any. It may stop in the middle.
type changing struct {
	all   []labeller
	opens int // after which stop is called
	stop  func()
}

func (c *changing) Seal(plain, context []byte) []byte { return c.all[0].Seal(plain, context) }

func (c *changing) Open(sealed, context []byte) ([]byte, error) {
	if c.opens--; c.opens == 0 {
		c.stop()
	}
	for _, l := range c.all {
		if plain, err := l.Open(sealed, context); err == nil {
			return plain, nil
		}
	}
	return nil, errors.New("sealed by none of these")
}

// Rows are encrypted again during concurrent writes, and an interruption loses nothing.
func TestResealGoesOnWhereItWasInterrupted(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		const rows = 250
		before, after, lost := labeller{'b'}, labeller{'a'}, labeller{'x'}
		secrets := map[string][]byte{}
		for i := range rows {
			name := fmt.Sprintf("secret %d", i)
			secret, err := db.Secret(t.Context(), name, before)
			if err != nil {
				t.Fatal(err)
			}
			secrets[name] = secret
		}
		if _, err := db.Secret(t.Context(), "lost", lost); err != nil {
			t.Fatal(err)
		}
		s := store.SealedSecrets()
		count := func(want map[string]int) {
			t.Helper()
			got, err := s.Count(t.Context(), db, 1)
			if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("rows by key: got %v, %v, want %v", got, err, want)
			}
		}
		count(map[string]int{"b": rows, "x": 1})

		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		done, _, err := s.Reseal(ctx, db, &changing{all: []labeller{after, before}, opens: 150, stop: stop}, after[:])
		if err == nil || done == 0 || done >= rows {
			t.Fatalf("interrupted: %d rows, %v; want some of %d and a failure", done, err, rows)
		}
		var wg sync.WaitGroup
		left := make([]int, 2)
		for i := range left { // two operators at once
			wg.Go(func() {
				n, bad, err := s.Reseal(t.Context(), db, &changing{all: []labeller{after, before}}, after[:])
				if err != nil || bad != 1 {
					t.Errorf("once more: %d rows that do not open, %v; want 1", bad, err)
				}
				left[i] = n
			})
		}
		wg.Wait()
		if done+left[0]+left[1] != rows {
			t.Errorf("sealed %d, then %v, of %d", done, left, rows)
		}
		count(map[string]int{"a": rows, "x": 1})
		for name, want := range secrets {
			if got, err := db.Secret(t.Context(), name, after); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%s: got %x, %v, want %x", name, got, err, want)
			}
		}
	})
}
