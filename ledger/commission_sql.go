package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/namewharf/namewharf/store"
)

// commissionColumns are the columns that scanCommission reads.
const commissionColumns = `id, partner, environment, source, order_id, case_id, reverses, amount_cents, currency, state, at, payout_id`

func scanCommission(rows *sql.Rows) (c Commission, err error) {
	var at int64
	err = rows.Scan(&c.ID, &c.Owner.Partner, &c.Owner.Environment, &c.Source, &c.Order, &c.Case, &c.Reverses,
		&c.Amount.Cents, &c.Amount.Currency, &c.State, &at, &c.Payout)
	c.At = store.Time(at)
	return c, err
}

// insertCommission adds a commission; payable is when it may be paid out, zero: not yet. It fails with [ErrPosted] when the
// order or the case has one.
func insertCommission(ctx context.Context, tx store.Tx, c Commission, payable time.Time) error {
	pending := time.Time{}
	if c.State == Pending {
		pending = c.At
	}
	n, err := tx.Exec(ctx, `
		INSERT INTO commissions (`+commissionColumns+`, pending_at, payable_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, '', $12, $13) ON CONFLICT DO NOTHING`,
		c.ID, c.Owner.Partner, c.Owner.Environment, c.Source, c.Order, c.Case, c.Reverses, c.Amount.Cents, c.Amount.Currency,
		c.State, store.Micros(c.At), store.Micros(pending), store.Micros(payable))
	switch {
	case err != nil:
		return fmt.Errorf("add a commission: %w", err)
	case n == 0:
		return ErrPosted
	}
	return addToDay(ctx, tx, c, c.Amount.Cents)
}

// microsOfDay is a day in microseconds.
const microsOfDay = int64(24 * time.Hour / time.Microsecond)

// addToDay adds cents to the sum of the day on which a commission accrued.
func addToDay(ctx context.Context, tx store.Tx, c Commission, cents int64) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO commission_days (partner, environment, currency, day, cents) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (partner, environment, currency, day) DO UPDATE SET cents = commission_days.cents + excluded.cents`,
		c.Owner.Partner, c.Owner.Environment, c.Amount.Currency, store.Micros(c.At)/microsOfDay, cents)
	if err != nil {
		return fmt.Errorf("add to a day's commissions: %w", err)
	}
	return nil
}

// commissionsOf reads the commissions of an order, negative ones first.
func commissionsOf(ctx context.Context, tx store.Tx, order string) ([]Commission, error) {
	return store.Collect(ctx, tx, scanCommission, `
		SELECT `+commissionColumns+` FROM commissions WHERE order_id = $1 AND order_id <> '' ORDER BY amount_cents, id`, order)
}

func setPending(ctx context.Context, tx store.Tx, c Commission, now time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE commissions SET state = 'pending', pending_at = $1 WHERE id = $2`, store.Micros(now), c.ID)
	return err
}

func setReversed(ctx context.Context, tx store.Tx, c Commission) error {
	if _, err := tx.Exec(ctx, `UPDATE commissions SET state = 'reversed' WHERE id = $1`, c.ID); err != nil {
		return err
	}
	return addToDay(ctx, tx, c, -c.Amount.Cents)
}
