package testprovider

import (
	"context"
	"database/sql"
	"time"

	"github.com/namewharf/namewharf/store"
)

const attemptColumns = `id, status, card, declines, amount_cents, currency, title, return_url, cancel_url, expires_at, created_at, updated_at`

// insertAttempt adds an attempt unless it is there.
func insertAttempt(ctx context.Context, tx store.Tx, a attempt) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO test_payments (`+attemptColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
		ON CONFLICT DO NOTHING`,
		a.id, a.status, a.card, a.declines, a.amount.Cents, a.amount.Currency, a.title, a.returnURL, a.cancelURL,
		store.Micros(a.expires), store.Micros(a.created), store.Micros(a.updated))
	return err
}

// selectAttempt fails with [sql.ErrNoRows].
func selectAttempt(ctx context.Context, tx store.Tx, id string) (a attempt, err error) {
	var expires, created, updated int64
	err = tx.QueryRow(ctx, `SELECT `+attemptColumns+` FROM test_payments WHERE id = $1`, id).Scan(
		&a.id, &a.status, &a.card, &a.declines, &a.amount.Cents, &a.amount.Currency, &a.title, &a.returnURL, &a.cancelURL,
		&expires, &created, &updated)
	a.expires, a.created, a.updated = store.Time(expires), store.Time(created), store.Time(updated)
	return a, err
}

// moveAttempt moves an attempt whose status is in from, and notes how its card behaves if that is not empty.
func moveAttempt(ctx context.Context, tx store.Tx, id, to, card string, from []string, now time.Time) (changed bool, err error) {
	args := []any{id, to, card, store.Micros(now)}
	binds := store.Binds(len(args)+1, len(from))
	for _, f := range from {
		args = append(args, f)
	}
	n, err := tx.Exec(ctx, `
		UPDATE test_payments SET status = $2, card = CASE WHEN $3 = '' THEN card ELSE $3 END, updated_at = $4
		WHERE id = $1 AND status IN (`+binds+`)`, args...)
	return n == 1, err
}

func declineAttempt(ctx context.Context, tx store.Tx, id, from string, now time.Time) (changed bool, err error) {
	n, err := tx.Exec(ctx, `
		UPDATE test_payments SET status = 'open', card = '', declines = declines + 1, updated_at = $3
		WHERE id = $1 AND status = $2`, id, from, store.Micros(now))
	return n == 1, err
}

// disputeDelay is after which a dispute is noticed: who plays it is to record it under his own name first.
const disputeDelay = 5 * time.Second

func insertNotice(ctx context.Context, tx store.Tx, n notice) error {
	due := n.created
	if n.Kind == kindDispute {
		due = due.Add(disputeDelay)
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO test_payment_notices (id, payment, kind, sent, attempts, due_at, created_at) VALUES ($1, $2, $3, 0, 0, $4, $5)`,
		n.ID, n.Payment, n.Kind, store.Micros(due), store.Micros(n.created))
	return err
}

const noticeColumns = `id, payment, kind, attempts, due_at, created_at`

func noticesOf(ctx context.Context, tx store.Tx, payment string) ([]notice, error) {
	return selectNotices(ctx, tx, `SELECT `+noticeColumns+` FROM test_payment_notices WHERE payment = $1 ORDER BY id`, payment)
}

func dueNotices(ctx context.Context, tx store.Tx, now time.Time, limit int) ([]notice, error) {
	return selectNotices(ctx, tx, `
		SELECT `+noticeColumns+` FROM test_payment_notices WHERE sent = 0 AND due_at <= $1 ORDER BY due_at, id LIMIT $2`,
		store.Micros(now), limit)
}

func selectNotices(ctx context.Context, tx store.Tx, query string, args ...any) ([]notice, error) {
	return store.Collect(ctx, tx, func(rows *sql.Rows) (n notice, err error) {
		var created int64
		err = rows.Scan(&n.ID, &n.Payment, &n.Kind, &n.attempts, &n.due, &created)
		n.created = store.Time(created)
		return n, err
	}, query, args...)
}

// claimNotice takes an attempt to send a notice that is as n says, so that others leave it alone until next.
func claimNotice(ctx context.Context, tx store.Tx, n notice, next time.Time) (claimed bool, err error) {
	changed, err := tx.Exec(ctx, `
		UPDATE test_payment_notices SET attempts = attempts + 1, due_at = $3 WHERE id = $1 AND due_at = $2 AND sent = 0`,
		n.ID, n.due, store.Micros(next))
	return changed == 1, err
}

func noticeSent(ctx context.Context, tx store.Tx, id string) error {
	_, err := tx.Exec(ctx, `UPDATE test_payment_notices SET sent = 1 WHERE id = $1`, id)
	return err
}
