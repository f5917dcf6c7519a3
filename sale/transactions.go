package sale

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/store"
)

// A TransactionFilter says which orders a report is about. Zero fields do not filter.
type TransactionFilter struct {
	Status   State
	Model    PaymentModel
	From, To time.Time // of creation; From inclusive, To exclusive
}

// A Total is the sum of the orders of a report in a currency, whatever their status.
type Total struct {
	Currency        string `json:"currency"`
	GMVCents        int64  `json:"gmv_cents"`
	CommissionCents int64  `json:"commission_cents"`
	Count           int64  `json:"count"`
}

// MostTransactions is how many orders [Service.Transactions] returns at most: more than a page, for exports.
const MostTransactions = 1000

// Transactions returns up to limit orders of the party that the filter selects, the newest first and without timelines, and the
// position of the next. It fails with [fault.Validation] on status for one that there is not.
func (s *Service) Transactions(ctx context.Context, p Party, f TransactionFilter, limit int, after *Position) (all []Order, next *Position, err error) {
	if err := f.check(); err != nil {
		return nil, nil, err
	}
	limit = min(max(limit, 1), MostTransactions)
	c := f.conditions(p)
	c.Newest("created_at", "id", f.From, f.To, after)
	err = s.cfg.DB.Read(ctx, func(tx store.Tx) (err error) {
		all, err = store.Collect(ctx, tx, scanOrderRow, `SELECT `+orderColumns+` FROM orders WHERE `+c.String()+
			fmt.Sprintf(` ORDER BY created_at DESC, id DESC LIMIT %d`, limit+1), c.Args()...)
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("list transactions: %w", err)
	}
	if len(all) > limit {
		all = all[:limit]
		next = &Position{At: store.Micros(all[limit-1].CreatedAt), ID: all[limit-1].PublicID}
	}
	return all, next, nil
}

func (f TransactionFilter) check() error {
	if f.Status != "" && !f.Status.known() {
		return fault.Invalid("status", "is not a state of an order")
	}
	return nil
}

// Totals returns the sums by currency of all orders of the party that the filter selects. Whole days are taken from sums that
// are kept; only the orders of the two days in which the window begins and ends are added up.
func (s *Service) Totals(ctx context.Context, p Party, f TransactionFilter) ([]Total, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	sums := map[string]Total{}
	err := s.cfg.DB.Read(ctx, func(tx store.Tx) error {
		clear(sums)
		return f.sum(ctx, tx, p, sums)
	})
	if err != nil {
		return nil, fmt.Errorf("add up transactions: %w", err)
	}
	all := make([]Total, 0, len(sums))
	for _, t := range sums {
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b Total) int { return strings.Compare(a.Currency, b.Currency) })
	return all, nil
}

// sum adds to the sums by currency.
func (f TransactionFilter) sum(ctx context.Context, tx store.Tx, p Party, sums map[string]Total) error {
	read := func(rows *sql.Rows) error {
		var t Total
		if err := rows.Scan(&t.Currency, &t.Count, &t.GMVCents, &t.CommissionCents); err != nil {
			return err
		}
		was := sums[t.Currency]
		t.Count, t.GMVCents, t.CommissionCents = t.Count+was.Count, t.GMVCents+was.GMVCents, t.CommissionCents+was.CommissionCents
		if t.Count > 0 {
			sums[t.Currency] = t
		}
		return nil
	}
	firstDay, lastDay, edges := f.days()
	if firstDay < lastDay {
		c := f.conditions(p)
		c.Add("day >= ? AND day < ?", firstDay, lastDay)
		err := store.Each(ctx, tx, read, `
			SELECT currency, CAST(SUM(orders) AS BIGINT), CAST(SUM(price_cents) AS BIGINT), CAST(SUM(commission_cents) AS BIGINT)
			FROM order_totals WHERE `+c.String()+` GROUP BY currency`, c.Args()...)
		if err != nil {
			return err
		}
	}
	for _, e := range edges {
		c := f.conditions(p)
		c.Newest("created_at", "id", e.from, e.to, nil)
		err := store.Each(ctx, tx, read, `
			SELECT currency, COUNT(*), CAST(SUM(price_cents) AS BIGINT), CAST(SUM(commission_cents) AS BIGINT)
			FROM orders WHERE `+c.String()+` GROUP BY currency`, c.Args()...)
		if err != nil {
			return err
		}
	}
	return nil
}

// A window is a span of time; from inclusive, to exclusive.
type window struct{ from, to time.Time }

// lastOfAllDays is a day after all others.
const lastOfAllDays = int64(1) << 40

// days splits the window of the filter into the whole days from first up to last, exclusive, and what is left before and behind.
func (f TransactionFilter) days() (first, last int64, edges []window) {
	last = lastOfAllDays
	day := func(n int64) time.Time { return store.Time(n * microsOfDay) }
	if !f.To.IsZero() {
		last = store.Micros(f.To) / microsOfDay
	}
	if !f.From.IsZero() {
		first = (store.Micros(f.From) + microsOfDay - 1) / microsOfDay
		if first > last { // within one day
			return first, last, []window{{f.From, f.To}}
		}
		if from := day(first); f.From.Before(from) {
			edges = append(edges, window{f.From, from})
		}
	}
	if !f.To.IsZero() && day(last).Before(f.To) {
		edges = append(edges, window{day(last), f.To})
	}
	return first, last, edges
}

// conditions are those of the filter, but for its window.
func (f TransactionFilter) conditions(p Party) *store.Conditions {
	c := &store.Conditions{}
	c.Add("partner = ? AND environment = ?", p.Partner, p.Environment)
	if f.Status != "" {
		c.Add("status = ?", f.Status)
	}
	if f.Model != "" {
		c.Add("payment_model = ?", f.Model)
	}
	return c
}

// CompareTotals compares the sums that are kept with the orders, within one snapshot, and returns what is wrong, in words.
func CompareTotals(ctx context.Context, tx store.Tx) ([]string, error) {
	scan := func(rows *sql.Rows) (string, error) {
		var k totalsKey
		var n, price, commission int64
		err := rows.Scan(&k.partner, &k.environment, &k.day, &k.currency, &k.model, &k.status, &n, &price, &commission)
		return fmt.Sprintf("the totals of partner %s in %s on %s of orders %s, %s in %s are not those of the orders: %d orders, %d and %d cents are too many",
			k.partner, k.environment, store.Time(k.day*microsOfDay).Format(time.DateOnly), k.model, k.status, k.currency, n, price, commission), err
	}
	all, err := store.Collect(ctx, tx, scan, `
		SELECT partner, environment, day, currency, payment_model, status,
			CAST(SUM(orders) AS BIGINT), CAST(SUM(price_cents) AS BIGINT), CAST(SUM(commission_cents) AS BIGINT)
		FROM (
			SELECT partner, environment, day, currency, payment_model, status, orders, price_cents, commission_cents FROM order_totals
			UNION ALL
			SELECT partner, environment, created_at / 86400000000, currency, payment_model, status, -1, -price_cents, -commission_cents FROM orders
		) both_sides
		GROUP BY partner, environment, day, currency, payment_model, status
		HAVING SUM(orders) <> 0 OR SUM(price_cents) <> 0 OR SUM(commission_cents) <> 0
		ORDER BY partner, environment, day, currency, payment_model, status`)
	if err != nil {
		return nil, fmt.Errorf("compare the totals of orders: %w", err)
	}
	return all, nil
}
