package store_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

func TestSecretStaysTheSame(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		keys := labeller{}
		first, err := db.Secret(t.Context(), "a", keys)
		if err != nil || len(first) != 32 {
			t.Fatalf("Secret: %d bytes, %v; want 32", len(first), err)
		}
		again, err := db.Secret(t.Context(), "a", keys)
		if err != nil || !bytes.Equal(first, again) {
			t.Errorf("the second time: %x, %v; want %x", again, err, first)
		}
		other, err := db.Secret(t.Context(), "b", keys)
		if err != nil || bytes.Equal(first, other) {
			t.Errorf("another name: %x, %v; want another secret", other, err)
		}
		if _, err := db.Secret(t.Context(), "a", labeller{'x'}); err == nil {
			t.Error("it opens with another key")
		}
	})
}

// A secret was in the database in clear: a reader of a backup could forge cursors.
func TestSecretsAreSealed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		keys := labeller{'k'}
		stored := func(name string) (value []byte) {
			t.Helper()
			err := db.Read(t.Context(), func(tx store.Tx) error {
				return tx.QueryRow(t.Context(), `SELECT value FROM secrets WHERE name = $1`, name).Scan(&value)
			})
			if err != nil {
				t.Fatal(err)
			}
			return value
		}
		fresh, err := db.Secret(t.Context(), "fresh", keys)
		if value := stored("fresh"); err != nil || bytes.Contains(value, fresh) || len(value) == len(fresh) {
			t.Errorf("a fresh one: %v, %x is in the database as %x", err, fresh, value)
		}
		before := bytes.Repeat([]byte{7}, 32)
		err = db.Tx(t.Context(), func(tx store.Tx) error {
			_, err := tx.Exec(t.Context(), `INSERT INTO secrets (name, value) VALUES ('before', $1)`, before)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			got, err := db.Secret(t.Context(), "before", keys)
			if value := stored("before"); err != nil || !bytes.Equal(got, before) || bytes.Contains(value, before) {
				t.Errorf("one that stood there in clear: got %x, %v, stored %x", got, err, value)
			}
		}
	})
}

// A labeller is a Sealer without security that flips bytes.
type labeller [1]byte

func (l labeller) Seal(plain, context []byte) []byte {
	sealed := append([]byte{l[0]}, context...)
	for _, b := range plain {
		sealed = append(sealed, ^b)
	}
	return sealed
}

func (l labeller) Open(sealed, context []byte) ([]byte, error) {
	turned, ok := bytes.CutPrefix(sealed, append([]byte{l[0]}, context...))
	if !ok {
		return nil, errors.New("sealed by another, or elsewhere")
	}
	plain := make([]byte, len(turned))
	for i, b := range turned {
		plain[i] = ^b
	}
	return plain, nil
}
