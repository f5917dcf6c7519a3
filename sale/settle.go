package sale

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/namewharf/namewharf/store"
)

// Unsettled returns up to limit orders of the party whose names were delivered in a window and that are not settled, in the
// order of their delivery and without timelines, after a position.
func Unsettled(ctx context.Context, tx store.Tx, p Party, from, to time.Time, after Position, limit int) ([]Order, error) {
	if after.ID == "" {
		after.At = store.Micros(from) // and any id
	}
	// One lower bound alone: with two, SQLite may take the other for where it begins in the index.
	all, err := store.Collect(ctx, tx, scanOrderRow, `
		SELECT `+orderColumns+` FROM orders
		WHERE partner = $1 AND environment = $2 AND status = 'TRANSFER_COMPLETED' AND (completed_at, id) > ($3, $4) AND completed_at < $5
		ORDER BY completed_at, id LIMIT $6`,
		p.Partner, p.Environment, after.At, after.ID, store.Micros(to), limit)
	if err != nil {
		return nil, fmt.Errorf("read orders that are not settled: %w", err)
	}
	return all, nil
}

// UnsettledCounts returns how many such orders each party of an environment has.
func UnsettledCounts(ctx context.Context, tx store.Tx, environment string, from, to time.Time) (map[string]int, error) {
	all := map[string]int{}
	read := func(rows *sql.Rows) error {
		var partner string
		var n int
		err := rows.Scan(&partner, &n)
		all[partner] = n
		return err
	}
	err := store.Each(ctx, tx, read, `
		SELECT partner, COUNT(*) FROM orders
		WHERE environment = $1 AND status = 'TRANSFER_COMPLETED' AND completed_at >= $2 AND completed_at < $3 GROUP BY partner`,
		environment, store.Micros(from), store.Micros(to))
	if err != nil {
		return nil, fmt.Errorf("count orders that are not settled: %w", err)
	}
	return all, nil
}

// SettleAll settles those of a party's orders whose names are delivered, within a transaction of the caller, and returns how
// many. It does what [Service.Transition] does with [Settle], but for the books and the audit log: the caller has the orders in
// a statement.
func (s *Service) SettleAll(ctx context.Context, tx store.Tx, p Party, ids []string, now time.Time) (int, error) {
	if len(ids) == 0 {
		return 0, nil
	}
	args := []any{store.Micros(now), p.Partner, p.Environment}
	for _, id := range ids {
		args = append(args, id)
	}
	// By expressions, which no index has, the rows are found by their ids: by the index of unsettled orders, each batch would read
	// the whole month.
	orders, err := store.Collect(ctx, tx, scanOrderRow, `
		UPDATE orders SET status = 'SETTLED', updated_at = CASE WHEN updated_at > $1 THEN updated_at ELSE $1 END, version = version + 1
		WHERE partner || '' = $2 AND environment || '' = $3 AND status || '' = 'TRANSFER_COMPLETED' AND id IN (`+store.Binds(4, len(ids))+`)
		RETURNING `+orderColumns, args...)
	if err != nil {
		return 0, fmt.Errorf("settle orders: %w", err)
	}
	if len(orders) == 0 {
		return 0, nil
	}
	slices.SortFunc(orders, func(a, b Order) int { return strings.Compare(a.PublicID, b.PublicID) })
	if err := insertSettledSteps(ctx, tx, orders); err != nil {
		return 0, fmt.Errorf("settle orders: %w", err)
	}
	if err := moveTotals(ctx, tx, orders, TransferCompleted, Settled); err != nil {
		return 0, err
	}
	data := make([]EventData, len(orders))
	for i, o := range orders {
		data[i] = o.eventData()
	}
	if err := s.cfg.Events.EmitAll(ctx, tx, p, EventSettled, data, now); err != nil {
		return 0, fmt.Errorf("emit the events of settled orders: %w", err)
	}
	return len(orders), nil
}

// insertSettledSteps appends the step of being settled to the timelines.
func insertSettledSteps(ctx context.Context, tx store.Tx, orders []Order) error {
	rows := make([][]any, len(orders))
	for i, o := range orders {
		rows[i] = []any{o.PublicID, o.version, store.Micros(o.UpdatedAt), EventSettled, Settled}
	}
	_, err := store.InsertAll(ctx, tx, `INSERT INTO order_timeline (order_id, version, at, type, status)`, "", rows)
	return err
}

// moveTotals counts orders in the totals of another status than before.
func moveTotals(ctx context.Context, tx store.Tx, orders []Order, before, after State) error {
	sums := map[totalsKey]totals{}
	for _, o := range orders {
		k := o.totalsKey(after)
		t := sums[k]
		sums[k] = totals{t.orders + 1, t.price + o.SalePriceCents, t.commission + o.CommissionCents}
	}
	for k, t := range sums {
		if err := k.add(ctx, tx, t); err != nil {
			return err
		}
		k.status = before
		if err := k.add(ctx, tx, totals{-t.orders, -t.price, -t.commission}); err != nil {
			return err
		}
	}
	return nil
}
