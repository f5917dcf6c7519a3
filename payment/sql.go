package payment

import (
	"context"
	"database/sql"
	"time"

	"github.com/namewharf/namewharf/store"
)

// paymentColumns are the columns that scanPayment reads.
const paymentColumns = `id, partner, environment, purchase, order_id, provider, reference, charge, state, todo, amount_cents, currency,
	page_url, attempts, failure, next_try, expires_at, created_at, updated_at`

func scanPayment(scan func(...any) error) (p Payment, err error) {
	var next, expires, created, updated int64
	err = scan(&p.ID, &p.Partner, &p.Environment, &p.Purchase, &p.OrderID, &p.Provider, &p.Reference, &p.Charge, &p.State, &p.Todo,
		&p.AmountCents, &p.Currency, &p.PageURL, &p.Attempts, &p.Failure, &next, &expires, &created, &updated)
	p.NextTry, p.ExpiresAt, p.CreatedAt, p.UpdatedAt = store.Time(next), store.Time(expires), store.Time(created), store.Time(updated)
	if p.Todo == ToNothing {
		p.NextTry = time.Time{}
	}
	return p, err
}

// collect returns the payments that a query finds.
func collect(ctx context.Context, tx store.Tx, query string, args ...any) ([]Payment, error) {
	return store.Collect(ctx, tx, func(rows *sql.Rows) (Payment, error) { return scanPayment(rows.Scan) }, query, args...)
}

func insertPayment(ctx context.Context, tx store.Tx, p Payment) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO payments (`+paymentColumns+`)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)`,
		p.ID, p.Partner, p.Environment, p.Purchase, p.OrderID, p.Provider, p.Reference, p.Charge, p.State, p.Todo,
		p.AmountCents, p.Currency, p.PageURL, p.Attempts, p.Failure,
		store.Micros(p.NextTry), store.Micros(p.ExpiresAt), store.Micros(p.CreatedAt), store.Micros(p.UpdatedAt))
	return err
}

// selectPayment fails with [sql.ErrNoRows].
func selectPayment(ctx context.Context, tx store.Tx, id string) (Payment, error) {
	return scanPayment(tx.QueryRow(ctx, `SELECT `+paymentColumns+` FROM payments WHERE id = $1`, id).Scan)
}

// paymentOfOrder fails with [sql.ErrNoRows].
func paymentOfOrder(ctx context.Context, tx store.Tx, order string) (Payment, error) {
	return scanPayment(tx.QueryRow(ctx, `SELECT `+paymentColumns+` FROM payments WHERE order_id = $1 AND order_id <> ''`, order).Scan)
}

// paymentsOf are the last payments for a purchase, the newest first.
func paymentsOf(ctx context.Context, tx store.Tx, purchase string) ([]Payment, error) {
	return collect(ctx, tx, `SELECT `+paymentColumns+` FROM payments WHERE purchase = $1 ORDER BY id DESC LIMIT 100`, purchase)
}

// paymentOfNotice finds the payment that a notice is about. It fails with [sql.ErrNoRows].
func paymentOfNotice(ctx context.Context, tx store.Tx, provider string, n Notice) (Payment, error) {
	if n.Payment != "" {
		return scanPayment(tx.QueryRow(ctx, `SELECT `+paymentColumns+` FROM payments WHERE id = $1 AND provider = $2`, n.Payment, provider).Scan)
	}
	return scanPayment(tx.QueryRow(ctx, `
		SELECT `+paymentColumns+` FROM payments WHERE provider = $1 AND charge = $2 AND charge <> '' ORDER BY id LIMIT 1`,
		provider, n.Charge).Scan)
}

// updatePayment moves a payment that is as p says. It fails with [sql.ErrNoRows] where it is not any more.
func updatePayment(ctx context.Context, tx store.Tx, p Payment, to State, next Todo, c change, now time.Time) (Payment, error) {
	opened := c.opened
	if opened.ExpiresAt.IsZero() {
		opened.ExpiresAt = p.ExpiresAt
	}
	due := now
	if next == ToAwait {
		due = now.Add(lookAgain(0))
	}
	return scanPayment(tx.QueryRow(ctx, `
		UPDATE payments SET
			state = $4, todo = CASE WHEN $5 = '' AND next_try <> $13 THEN 'check' ELSE $5 END, attempts = 0, failure = $6, next_try = $7, updated_at = $8, expires_at = $9,
			reference = CASE WHEN $10 = '' THEN reference ELSE $10 END,
			page_url = CASE WHEN $11 = '' THEN page_url ELSE $11 END,
			charge = CASE WHEN $12 = '' THEN charge ELSE $12 END
		WHERE id = $1 AND state = $2 AND todo = $3
		RETURNING `+paymentColumns,
		p.ID, p.State, p.Todo, to, next, c.failure, store.Micros(due), store.Micros(now), store.Micros(opened.ExpiresAt),
		opened.Reference, opened.PageURL, c.charge, store.Micros(p.NextTry)).Scan)
}

func setOrder(ctx context.Context, tx store.Tx, id, order string) error {
	_, err := tx.Exec(ctx, `UPDATE payments SET order_id = $2 WHERE id = $1`, id, order)
	return err
}

// updateSchedule stores the attempts of a payment that is as p says.
func updateSchedule(ctx context.Context, tx store.Tx, p Payment) error {
	_, err := tx.Exec(ctx, `
		UPDATE payments SET attempts = $4, failure = $5, next_try = $6 WHERE id = $1 AND state = $2 AND todo = $3`,
		p.ID, p.State, p.Todo, p.Attempts, p.Failure, store.Micros(p.NextTry))
	return err
}

// clearCheck notes that a payment was checked, unless a notice came after p was read.
func clearCheck(ctx context.Context, tx store.Tx, p Payment) error {
	_, err := tx.Exec(ctx, `
		UPDATE payments SET todo = '', attempts = 0, failure = '' WHERE id = $1 AND todo = 'check' AND next_try = $2`, p.ID, store.Micros(p.NextTry))
	return err
}

// markDue has a payment looked at now. It changes next_try, by which those who read the payment before know that their look is
// not enough.
func markDue(ctx context.Context, tx store.Tx, id string, now time.Time) error {
	_, err := tx.Exec(ctx, `
		UPDATE payments SET todo = CASE WHEN todo = '' THEN 'check' ELSE todo END, next_try = CASE WHEN next_try = $2 THEN $2 + 1 ELSE $2 END
		WHERE id = $1 AND todo <> 'start'`, id, store.Micros(now))
	return err
}

// markWaiting has all payments that wait for their buyers looked at now.
func markWaiting(ctx context.Context, tx store.Tx, now time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE payments SET next_try = $1 WHERE todo = 'await' AND next_try > $1`, store.Micros(now))
	return err
}

// insertNotice stores the id of a notice, and reports whether it is the first time.
func insertNotice(ctx context.Context, tx store.Tx, provider, id string, now time.Time) (fresh bool, err error) {
	n, err := tx.Exec(ctx, `
		INSERT INTO payment_notices (provider, id, received_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
		provider, id, store.Micros(now))
	return n == 1, err
}

// A due is a payment about which something is to be done now.
type due struct{ id, provider string }

// selectDue returns up to limit of them: first those about which something must be done, then those that only wait.
func selectDue(ctx context.Context, tx store.Tx, now time.Time, limit int) ([]due, error) {
	scan := func(rows *sql.Rows) (d due, err error) {
		err = rows.Scan(&d.id, &d.provider)
		return d, err
	}
	return store.Collect(ctx, tx, scan, `
		SELECT id, provider FROM payments WHERE todo <> '' AND next_try <= $1
		ORDER BY CASE WHEN todo = 'await' THEN 1 ELSE 0 END, next_try, id LIMIT $2`, store.Micros(now), limit)
}

// selectPayments reads one payment more than a page holds.
func selectPayments(ctx context.Context, tx store.Tx, f Filter) ([]Payment, error) {
	var c store.Conditions
	for column, value := range map[string]string{
		"order_id": f.Order, "purchase": f.Purchase, "partner": f.Partner, "environment": f.Environment, "state": string(f.State),
	} {
		if value != "" {
			c.Add(column+" = ?", value)
		}
	}
	if f.After != "" {
		c.Add("id < ?", f.After)
	}
	return collect(ctx, tx, `SELECT `+paymentColumns+` FROM payments WHERE `+c.String()+` ORDER BY id DESC LIMIT `+c.Bind(f.Limit+1), c.Args()...)
}
