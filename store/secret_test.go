package store_test

import (
	"bytes"
	"testing"

	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

func TestSecretStaysTheSame(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		first, err := db.Secret(t.Context(), "a")
		if err != nil || len(first) != 32 {
			t.Fatalf("Secret: %d bytes, %v; want 32", len(first), err)
		}
		again, err := db.Secret(t.Context(), "a")
		if err != nil || !bytes.Equal(first, again) {
			t.Errorf("the second time: %x, %v; want %x", again, err, first)
		}
		other, err := db.Secret(t.Context(), "b")
		if err != nil || bytes.Equal(first, other) {
			t.Errorf("another name: %x, %v; want another secret", other, err)
		}
	})
}
