package main

import (
	"context"
	"log/slog"

	"github.com/namewharf/namewharf/internal/backend"
	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/store"
)

// sealingKeys are the server's keys, once they are seen to be those of the store.
func (d *desk) sealingKeys(ctx context.Context, db *store.DB) (*seal.Keys, error) {
	given := d.keys
	given.KeysExist = true // others would seal what the service cannot read
	keys, err := given.Keys(d.environ, d.data, slog.New(slog.NewTextHandler(d.stderr, nil)))
	if err != nil {
		return nil, usageError{err}
	}
	if _, err := backend.Secret(ctx, db, keys); err != nil {
		return nil, usageError{err}
	}
	return keys, nil
}
