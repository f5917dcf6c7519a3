package market

import (
	"context"
	"database/sql"
	"time"

	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/sweep"
)

// MinWithdrawn is how long a withdrawn listing is kept at least, so that all processes that follow the changes see that it
// was withdrawn.
const MinWithdrawn = time.Hour

// Retention says how long the rows of this package's tables live. Withdrawn listings are kept for
// a while, [MinWithdrawn] at least.
func Retention(withdrawn time.Duration) []sweep.Rule {
	withdrawn = max(withdrawn, MinWithdrawn)
	return []sweep.Rule{
		{
			Table: "listings", Kept: "as long as the name is for sale or its order is kept; withdrawn ones 400 days (`-keep-listings`)",
			Keep: withdrawn, Plan: planListings,
		},
		{Table: "listing_changes", Kept: "for ever: one row for each environment"},
		{Table: "listing_removals", Kept: "for ever: one row for each environment"},
	}
}

// planListings finds withdrawn listings. That they are removed is written down: a process that has not followed the
// changes for so long must not go on from where it was.
func planListings(ctx context.Context, tx store.Tx, over time.Time, limit int) (sweep.Removal, error) {
	var one int
	err := tx.QueryRow(ctx, `SELECT 1 FROM listings WHERE status = 'withdrawn' AND updated_at <= $1 LIMIT 1`, store.Micros(over)).Scan(&one)
	if store.IsNoRows(err) {
		return nil, nil
	}
	return func(ctx context.Context, tx store.Tx) (int64, error) { return removeListings(ctx, tx, over, limit) }, err
}

func removeListings(ctx context.Context, tx store.Tx, over time.Time, limit int) (removed int64, err error) {
	last := map[Environment]int64{}
	read := func(rows *sql.Rows) error {
		var env Environment
		var change int64
		err := rows.Scan(&env, &change)
		last[env] = max(last[env], change)
		removed++
		return err
	}
	err = store.Each(ctx, tx, read, `
		DELETE FROM listings WHERE id IN (
			SELECT id FROM listings WHERE status = 'withdrawn' AND updated_at <= $1 ORDER BY updated_at LIMIT $2)
		RETURNING environment, change`, store.Micros(over), limit)
	if err != nil {
		return 0, err
	}
	for _, env := range environments { // in the same order in all processes, so that they cannot deadlock
		if last[env] == 0 {
			continue
		}
		_, err := tx.Exec(ctx, `UPDATE listing_removals SET change = $1 WHERE environment = $2 AND change < $1`, last[env], env)
		if err != nil {
			return 0, err
		}
	}
	return removed, nil
}

// removedUpTo is the last change among those of listings that were removed.
func removedUpTo(ctx context.Context, tx store.Tx, env Environment) (change int64, err error) {
	err = tx.QueryRow(ctx, `SELECT change FROM listing_removals WHERE environment = $1`, env).Scan(&change)
	return change, err
}
