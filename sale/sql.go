package sale

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/store"
)

// orderColumns are the columns that scanOrder reads.
const orderColumns = `id, partner, environment, domain, listing_id, status, review, payment_model, price_cents, currency, quote,
	external_payment_ref, buyer_email, buyer_name, buyer_country, return_url, cancel_url, created_at, updated_at, completed_at, version,
	commission_cents`

func scanOrder(scan func(...any) error) (o Order, err error) {
	var created, updated, completed int64
	err = scan(&o.PublicID, &o.Partner, &o.Environment, &o.Domain, &o.ListingID, &o.Status, &o.Review, &o.PaymentModel,
		&o.SalePriceCents, &o.Currency, &o.quote, &o.ExternalPaymentRef, &o.Buyer.Email, &o.Buyer.Name, &o.Buyer.Country,
		&o.ReturnURL, &o.CancelURL, &created, &updated, &completed, &o.version, &o.CommissionCents)
	o.CreatedAt, o.UpdatedAt, o.CompletedAt = store.Time(created), store.Time(updated), store.Time(completed)
	return o, err
}

// insertOrder adds an order and returns its review, which is held when the order is, or when its domain is flagged. It
// fails with [sql.ErrNoRows] when its quote or its reference was used before.
func insertOrder(ctx context.Context, tx store.Tx, o Order) (review Review, err error) {
	err = tx.QueryRow(ctx, `
		INSERT INTO orders (`+orderColumns+`)
		VALUES ($1, $2, $3, $4, $5, $6,
			CASE WHEN EXISTS (SELECT 1 FROM flagged_domains WHERE domain = $4) THEN 'held' ELSE $7 END,
			$8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, 0, $20, $21)
		ON CONFLICT DO NOTHING RETURNING review`,
		o.PublicID, o.Partner, o.Environment, o.Domain, o.ListingID, o.Status, o.Review, o.PaymentModel,
		o.SalePriceCents, o.Currency, o.quote, o.ExternalPaymentRef, o.Buyer.Email, o.Buyer.Name, o.Buyer.Country,
		o.ReturnURL, o.CancelURL, store.Micros(o.CreatedAt), store.Micros(o.UpdatedAt), o.version, o.CommissionCents).Scan(&review)
	return review, err
}

func quoteUsed(ctx context.Context, tx store.Tx, quote string) (used bool, err error) {
	if quote == "" {
		return false, nil
	}
	err = tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM orders WHERE quote = $1 AND quote <> '')`, quote).Scan(&used)
	return used, err
}

func referenceUsed(ctx context.Context, tx store.Tx, p Party, reference string) (used bool, err error) {
	err = tx.QueryRow(ctx, `SELECT EXISTS (
		SELECT 1 FROM orders WHERE partner = $1 AND environment = $2 AND external_payment_ref = $3 AND external_payment_ref <> '')`,
		p.Partner, p.Environment, reference).Scan(&used)
	return used, err
}

// sold reports whether an order holds the domain, other than the one with the id.
func sold(ctx context.Context, tx store.Tx, environment, domain, except string) (held bool, err error) {
	err = tx.QueryRow(ctx, `
		SELECT EXISTS (SELECT 1 FROM orders
			WHERE environment = $1 AND domain = $2 AND id <> $3 AND status NOT IN ('REFUNDED', 'CANCELLED'))`,
		environment, domain, except).Scan(&held)
	return held, err
}

// ofParty is the condition that an order is the party's, with binds from the given number on.
func ofParty(p Party, first int) (condition string, args []any) {
	if p.all() {
		return "1 = 1", nil
	}
	return fmt.Sprintf("partner = $%d AND environment = $%d", first, first+1), []any{p.Partner, p.Environment}
}

// selectOrder reads an order of the party. It fails with [sql.ErrNoRows].
func selectOrder(ctx context.Context, tx store.Tx, p Party, id string) (Order, error) {
	condition, args := ofParty(p, 2)
	return scanOrder(tx.QueryRow(ctx, `SELECT `+orderColumns+` FROM orders WHERE id = $1 AND `+condition,
		append([]any{id}, args...)...).Scan)
}

// BuyerOf reads the buyer of an order; zero if it has been removed.
func BuyerOf(ctx context.Context, tx store.Tx, order string) (b Buyer, err error) {
	err = tx.QueryRow(ctx, `SELECT buyer_email, buyer_name, buyer_country FROM orders WHERE id = $1`, order).Scan(&b.Email, &b.Name, &b.Country)
	if err != nil && !store.IsNoRows(err) {
		return Buyer{}, fmt.Errorf("read the buyer of an order: %w", err)
	}
	return b, nil
}

// selectOrders reads one order more than a page holds.
func selectOrders(ctx context.Context, tx store.Tx, p Party, f Filter) ([]Order, error) {
	var c store.Conditions
	if !p.all() {
		c.Add("partner = ? AND environment = ?", p.Partner, p.Environment)
	}
	if f.Status != "" {
		c.Add("status = ?", f.Status)
	}
	if !f.Domain.IsZero() {
		c.Add("domain = ?", f.Domain.String())
	}
	c.Newest("created_at", "id", f.From, f.To, f.After)
	return store.Collect(ctx, tx, scanOrderRow, `SELECT `+orderColumns+` FROM orders WHERE `+c.String()+
		` ORDER BY created_at DESC, id DESC LIMIT `+c.Bind(f.Limit+1), c.Args()...)
}

func scanOrderRow(rows *sql.Rows) (Order, error) { return scanOrder(rows.Scan) }

// insertSteps appends steps to an order's timeline, numbered from first on.
func insertSteps(ctx context.Context, tx store.Tx, order string, first int, steps ...Step) error {
	args := []any{order}
	var values strings.Builder
	for i, s := range steps {
		if i > 0 {
			values.WriteString(", ")
		}
		n := len(args)
		fmt.Fprintf(&values, "($1, $%d, $%d, $%d, $%d)", n+1, n+2, n+3, n+4)
		args = append(args, first+i, store.Micros(s.At), s.Type, s.Status)
	}
	_, err := tx.Exec(ctx, `INSERT INTO order_timeline (order_id, version, at, type, status) VALUES `+values.String(), args...)
	return err
}

// addTimelines reads the timelines of the orders.
func addTimelines(ctx context.Context, tx store.Tx, orders []*Order) error {
	if len(orders) == 0 {
		return nil
	}
	byID := make(map[string]*Order, len(orders))
	args := make([]any, len(orders))
	for i, o := range orders {
		byID[o.PublicID], args[i] = o, o.PublicID
	}
	read := func(rows *sql.Rows) error {
		var id string
		var at int64
		var s Step
		if err := rows.Scan(&id, &at, &s.Type, &s.Status); err != nil {
			return err
		}
		s.At = store.Time(at)
		byID[id].Timeline = append(byID[id].Timeline, s)
		return nil
	}
	return store.Each(ctx, tx, read, `
		SELECT order_id, at, type, status FROM order_timeline WHERE order_id IN (`+store.Binds(1, len(orders))+`)
		ORDER BY order_id, version`, args...)
}

func insertRefund(ctx context.Context, tx store.Tx, r Refund) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO refunds (id, order_id, amount_cents, currency, reason, created_at) VALUES ($1, $2, $3, $4, $5, $6)`,
		r.RefundID, r.Order.PublicID, r.AmountCents, r.Currency, r.reason, store.Micros(r.CreatedAt))
	return err
}

// flag flags a domain or takes the flag away, and reports whether that changed anything.
func flag(ctx context.Context, tx store.Tx, domain fqdn.Name, on bool, at int64) (changed bool, err error) {
	var n int64
	if on {
		n, err = tx.Exec(ctx, `INSERT INTO flagged_domains (domain, created_at) VALUES ($1, $2) ON CONFLICT DO NOTHING`, domain.String(), at)
	} else {
		n, err = tx.Exec(ctx, `DELETE FROM flagged_domains WHERE domain = $1`, domain.String())
	}
	return n > 0, err
}

// OrdersAfter returns up to limit orders of all parties whose ids are greater than after, in the order of their ids and
// without timelines, for checks of all orders within one snapshot.
func OrdersAfter(ctx context.Context, tx store.Tx, after string, limit int) ([]Order, error) {
	all, err := store.Collect(ctx, tx, scanOrderRow, `SELECT `+orderColumns+` FROM orders WHERE id > $1 ORDER BY id LIMIT $2`, after, limit)
	if err != nil {
		return nil, fmt.Errorf("read all orders: %w", err)
	}
	return all, nil
}
