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

// Regularly calls do at intervals until ctx ends, each time in one of the processes on the database: the one that gets the
// named lease. What do fails with is handed to failed, unless ctx has ended, and does not keep it from being called again.
func (db *DB) Regularly(ctx context.Context, name string, every time.Duration, do func(context.Context) error, failed func(error)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		held, err := db.Lease(ctx, name, every/2)
		if err == nil && held {
			err = do(ctx)
		}
		if err != nil && ctx.Err() == nil {
			failed(err)
		}
	}
}
