package store

import (
	"context"
	"fmt"
	"time"
)

// Bucket updates a token bucket that all processes of the database share, stored as the time at which it is full again. It
// calls draw with that time, zero for an unused bucket, and stores the time that draw returns. The row is locked until the
// transaction ends: use several buckets always in the same order.
func Bucket(ctx context.Context, tx Tx, name string, draw func(fullAt time.Time) (time.Time, error)) error {
	var micros int64
	err := tx.QueryRow(ctx, `
		INSERT INTO rate_limits (name, full_at) VALUES ($1, 0)
		ON CONFLICT (name) DO UPDATE SET full_at = rate_limits.full_at RETURNING full_at`, name).Scan(&micros)
	if err != nil {
		return fmt.Errorf("read the bucket %s: %w", name, err)
	}
	var fullAt time.Time
	if micros != 0 {
		fullAt = Time(micros)
	}
	if fullAt, err = draw(fullAt); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `UPDATE rate_limits SET full_at = $2 WHERE name = $1`, name, Micros(fullAt)); err != nil {
		return fmt.Errorf("write the bucket %s: %w", name, err)
	}
	return nil
}
