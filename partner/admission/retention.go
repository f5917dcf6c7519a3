package admission

import (
	"context"
	"time"

	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/sweep"
)

// Retention returns the rules by which rows of this package's tables are deleted.
func Retention() []sweep.Rule {
	return []sweep.Rule{
		{Table: "partner_limits", Kept: "until the bucket is full again, a minute at most", Key: "bucket", Age: "full_at"},
		{Table: "partner_nonces", Kept: "until no request with them could be valid, ten minutes at most", Plan: planNonces},
	}
}

// planNonces finds the groups of nonces that have expired. The last group stays, because the numbers continue from it.
func planNonces(ctx context.Context, tx store.Tx, over time.Time, limit int) (sweep.Removal, error) {
	rows, err := tx.Query(ctx, `
		SELECT number, expires_at FROM partner_nonces
		WHERE number < (SELECT MAX(number) FROM partner_nonces) ORDER BY number LIMIT $1`, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var last int64
	for rows.Next() {
		var number, expires int64
		if err := rows.Scan(&number, &expires); err != nil {
			return nil, err
		}
		if expires >= over.Unix() {
			break
		}
		last = number
	}
	if err := rows.Err(); err != nil || last == 0 {
		return nil, err
	}
	return func(ctx context.Context, tx store.Tx) (int64, error) {
		return tx.Exec(ctx, `DELETE FROM partner_nonces WHERE number <= $1`, last)
	}, nil
}
