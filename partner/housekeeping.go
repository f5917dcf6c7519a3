package partner

import (
	"context"
	"time"

	"github.com/namewharf/namewharf/store"
)

// Housekeeping removes what is over. Nothing depends on it but the size of the database.
const (
	housekeepingEvery = time.Minute // nonces live for minutes
	housekeepingLease = "partner housekeeping"
	removedAtOnce     = 500                   // rows a transaction, so that others need not wait
	removalPause      = 10 * time.Millisecond // between transactions
)

// removals delete at most $2 rows that were over by the time that at gives.
var removals = []struct {
	at    func(now time.Time) int64
	query string
}{
	{
		func(now time.Time) int64 { return now.Unix() },
		`DELETE FROM partner_nonces WHERE number IN (
			SELECT number FROM partner_nonces
			WHERE expires_at < $1 AND number < (SELECT MAX(number) FROM partner_nonces) ORDER BY number LIMIT $2)`,
	},
	{
		store.Micros,
		`DELETE FROM partner_limits WHERE bucket IN (SELECT bucket FROM partner_limits WHERE full_at <= $1 ORDER BY full_at LIMIT $2)`,
	},
	{
		func(now time.Time) int64 { return store.Micros(now.Add(-AnswerLife)) },
		`DELETE FROM partner_answers WHERE id IN (SELECT id FROM partner_answers WHERE created_at <= $1 ORDER BY created_at LIMIT $2)`,
	},
}

func (a *API) housekeeping(ctx context.Context) {
	a.cfg.DB.Regularly(ctx, housekeepingLease, housekeepingEvery, a.tidy, func(err error) {
		a.cfg.Logger.ErrorContext(ctx, "partner housekeeping failed", "error", err.Error())
	})
}

// tidy removes what is over, in transactions of bounded size.
func (a *API) tidy(ctx context.Context) error {
	for _, removal := range removals {
		for {
			var n int64
			err := a.cfg.DB.Tx(ctx, func(tx store.Tx) (err error) {
				n, err = tx.Exec(ctx, removal.query, removal.at(a.cfg.Now()), removedAtOnce)
				return err
			})
			if err != nil {
				return err
			}
			if n < removedAtOnce {
				break
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(removalPause):
			}
		}
	}
	return nil
}
