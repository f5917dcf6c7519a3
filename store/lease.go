package store

import (
	"context"
	"fmt"
	"time"
)

// Lease takes the named lease for this handle until ttl from now, or prolongs it if this handle has it,
// and reports whether it is held. Of several processes one holds a lease at a time, as long as their
// clocks agree to well within ttl: give it some times longer than the work between two calls.
func (db *DB) Lease(ctx context.Context, name string, ttl time.Duration) (held bool, err error) {
	now := db.Now()
	err = db.Tx(ctx, func(tx Tx) error {
		n, err := tx.Exec(ctx, `
			INSERT INTO leases (name, owner, expires) VALUES ($1, $2, $3)
			ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, expires = excluded.expires
			WHERE leases.owner = excluded.owner OR leases.expires <= $4`,
			name, db.owner, Micros(now.Add(ttl)), Micros(now))
		held = n == 1
		return err
	})
	if err != nil {
		return false, fmt.Errorf("take lease %s: %w", name, err)
	}
	return held, nil
}

// Release gives the named lease back before its time, if this handle has it.
func (db *DB) Release(ctx context.Context, name string) error {
	err := db.Tx(ctx, func(tx Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM leases WHERE name = $1 AND owner = $2`, name, db.owner)
		return err
	})
	if err != nil {
		return fmt.Errorf("release lease %s: %w", name, err)
	}
	return nil
}
