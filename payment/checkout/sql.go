package checkout

import (
	"context"
	"database/sql"
	"time"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/store"
)

// sessionColumns are the columns that scanSession reads.
const sessionColumns = `id, partner, environment, domain, price_cents, currency, quote, quote_cents, quote_currency, quote_expires,
	buyer_email, return_url, cancel_url, external_ref, order_id, status, created_at, expires_at`

func scanSession(scan func(...any) error) (s Session, err error) {
	var domain string
	var quoted, created, expires int64
	err = scan(&s.ID, &s.Partner, &s.Environment, &domain, &s.Price.Cents, &s.Price.Currency, &s.quote.Number, &s.quote.Price.Cents,
		&s.quote.Price.Currency, &quoted, &s.BuyerEmail, &s.ReturnURL, &s.CancelURL, &s.ExternalRef, &s.OrderID, &s.Status,
		&created, &expires)
	if err != nil {
		return Session{}, err
	}
	s.CreatedAt, s.ExpiresAt, s.quote.Expires = store.Time(created), store.Time(expires), store.Time(quoted)
	s.Domain, err = fqdn.Parse(domain)
	s.quote.Domain = s.Domain
	return s, err
}

func insertSession(ctx context.Context, tx store.Tx, s Session) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO checkout_sessions (`+sessionColumns+`, receipt_due, receipt_attempts)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, 0, 0)`,
		s.ID, s.Partner, s.Environment, s.Domain.String(), s.Price.Cents, s.Price.Currency, s.quote.Number, s.quote.Price.Cents,
		s.quote.Price.Currency, store.Micros(s.quote.Expires), s.BuyerEmail, s.ReturnURL, s.CancelURL, s.ExternalRef,
		s.OrderID, s.Status, store.Micros(s.CreatedAt), store.Micros(s.ExpiresAt))
	return err
}

// selectSession fails with [sql.ErrNoRows].
func selectSession(ctx context.Context, tx store.Tx, id string) (Session, error) {
	return scanSession(tx.QueryRow(ctx, `SELECT `+sessionColumns+` FROM checkout_sessions WHERE id = $1`, id).Scan)
}

// setBuyer stores what the form of the page says, of an open session.
func setBuyer(ctx context.Context, tx store.Tx, id, email string) error {
	_, err := tx.Exec(ctx, `UPDATE checkout_sessions SET buyer_email = $2 WHERE id = $1 AND status = 'open'`, id, email)
	return err
}

// setPaid stores the order of a session that is open, and reports whether it was.
func setPaid(ctx context.Context, tx store.Tx, id, order string, price money.Amount) (bool, error) {
	n, err := tx.Exec(ctx, `
		UPDATE checkout_sessions SET status = 'paid', order_id = $2, price_cents = $3, currency = $4 WHERE id = $1 AND status = 'open'`,
		id, order, price.Cents, price.Currency)
	return n == 1, err
}

// refund closes the session of an order that was undone.
func refund(ctx context.Context, tx store.Tx, order string) error {
	_, err := tx.Exec(ctx, `UPDATE checkout_sessions SET status = 'refunded' WHERE order_id = $1 AND order_id <> ''`, order)
	return err
}

// setReceiptDue has the receipt of a session sent at the time.
func setReceiptDue(ctx context.Context, tx store.Tx, id string, at time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE checkout_sessions SET receipt_due = $2 WHERE id = $1 AND buyer_email <> ''`, id, store.Micros(at))
	return err
}

// A receipt is one to be sent.
type receipt struct {
	Session
	attempts int
}

// selectReceipts returns the receipts that are due.
func selectReceipts(ctx context.Context, tx store.Tx, now time.Time, limit int) ([]receipt, error) {
	scan := func(rows *sql.Rows) (r receipt, err error) {
		r.Session, err = scanSession(func(to ...any) error { return rows.Scan(append(to, &r.attempts)...) })
		return r, err
	}
	return store.Collect(ctx, tx, scan, `
		SELECT `+sessionColumns+`, receipt_attempts FROM checkout_sessions WHERE receipt_due > 0 AND receipt_due <= $1
		ORDER BY receipt_due, id LIMIT $2`, store.Micros(now), limit)
}

// postponeReceipt sets when a receipt is tried again; the zero time: never.
func postponeReceipt(ctx context.Context, tx store.Tx, id string, attempts int, next time.Time) error {
	due := int64(0)
	if !next.IsZero() {
		due = store.Micros(next)
	}
	_, err := tx.Exec(ctx, `UPDATE checkout_sessions SET receipt_due = $2, receipt_attempts = $3 WHERE id = $1`, id, due, attempts)
	return err
}
