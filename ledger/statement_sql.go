package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/store"
)

// statementColumns are the columns that scanStatement reads.
const statementColumns = `id, partner, environment, period_start, period_end, currency, status, gross_cents, refunded_cents,
	commission_cents, owed_cents, orders, service_collected, closed_at, paid_at, reference`

func scanStatement(scan func(...any) error) (s Statement, err error) {
	var start, end, closed, paid int64
	err = scan(&s.ID, &s.Owner.Partner, &s.Owner.Environment, &start, &end, &s.Currency, &s.Status, &s.Gross, &s.Refunded,
		&s.Commission, &s.Owed, &s.Orders, &s.ServiceCollected, &closed, &paid, &s.Reference)
	s.Period = Period{store.Time(start), store.Time(end)}
	s.Closed, s.Paid = store.Time(closed), store.Time(paid)
	return s, err
}

func scanStatementRow(rows *sql.Rows) (Statement, error) { return scanStatement(rows.Scan) }

func insertStatement(ctx context.Context, tx store.Tx, s Statement) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO settlements (`+statementColumns+`, settling, settled_at, settled_order)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, 0, '', 0, 0, '')`,
		s.ID, s.Owner.Partner, s.Owner.Environment, store.Micros(s.Period.Start), store.Micros(s.Period.End), s.Currency, s.Status,
		s.Gross, s.Refunded, s.Commission, s.Owed, s.Orders, s.ServiceCollected, store.Micros(s.Closed))
	return err
}

// preparation finds the statement in preparation, or makes it.
func preparation(ctx context.Context, tx store.Tx, o Owner, p Period, currency string) (id string, err error) {
	err = tx.QueryRow(ctx, `
		SELECT id FROM settlements WHERE partner = $1 AND environment = $2 AND period_start = $3 AND currency = $4 AND status = 'preparing'`,
		o.Partner, o.Environment, store.Micros(p.Start), currency).Scan(&id)
	if !store.IsNoRows(err) {
		return id, err
	}
	s := Statement{ID: store.NewID(statementPrefix), Owner: o, Period: p, Currency: currency, Status: preparing}
	return s.ID, insertStatement(ctx, tx, s)
}

// insertLines adds lines to the statements of the ids, but for those of orders that have a line of the type.
func insertLines(ctx context.Context, tx store.Tx, o Owner, ids []string, lines []Line) error {
	rows := make([][]any, len(lines))
	for i, l := range lines {
		rows[i] = []any{
			ids[i], store.Micros(l.At), l.Order, l.Type, o.Partner, o.Environment, l.Domain, l.Gross, l.Commission, l.Owed, l.Currency,
		}
	}
	_, err := store.InsertAll(ctx, tx, `
		INSERT INTO settlement_lines (settlement_id, at, order_id, type, partner, environment, domain, gross_cents, commission_cents,
			owed_cents, currency)`, `ON CONFLICT DO NOTHING`, rows)
	return err
}

// waitingCurrencies are the currencies of reversals that wait for a statement.
func waitingCurrencies(ctx context.Context, tx store.Tx, o Owner, p Period) ([]string, error) {
	return store.Collect(ctx, tx, store.ScanOne[string], `
		SELECT DISTINCT currency FROM settlement_lines
		WHERE settlement_id = '' AND partner = $1 AND environment = $2 AND at < $3 ORDER BY currency`,
		o.Partner, o.Environment, store.Micros(p.End))
}

// takeReversals moves the reversals of the statement's owner and currency that wait into it, and adds them to its sums.
func takeReversals(ctx context.Context, tx store.Tx, s *Statement) error {
	read := func(rows *sql.Rows) error {
		l := Line{Type: ReversalLine}
		err := rows.Scan(&l.Gross, &l.Commission, &l.Owed)
		s.add(l)
		return err
	}
	return store.Each(ctx, tx, read, `
		UPDATE settlement_lines SET settlement_id = $1
		WHERE settlement_id = '' AND partner = $2 AND environment = $3 AND at < $4 AND currency = $5
		RETURNING gross_cents, commission_cents, owed_cents`,
		s.ID, s.Owner.Partner, s.Owner.Environment, store.Micros(s.Period.End), s.Currency)
}

// addToPreparation adds to the sums of a statement in preparation.
func addToPreparation(ctx context.Context, tx store.Tx, s Statement) error {
	_, err := tx.Exec(ctx, `
		UPDATE settlements SET gross_cents = gross_cents + $1, refunded_cents = refunded_cents + $2, commission_cents = commission_cents + $3,
			owed_cents = owed_cents + $4, orders = orders + $5, service_collected = service_collected + $6
		WHERE id = $7 AND status = 'preparing'`,
		s.Gross, s.Refunded, s.Commission, s.Owed, s.Orders, s.ServiceCollected, s.ID)
	if err != nil {
		return fmt.Errorf("add to a statement: %w", err)
	}
	return nil
}

// preparations are the statements in preparation that have lines.
func preparations(ctx context.Context, tx store.Tx, o Owner, p Period) ([]Statement, error) {
	return store.Collect(ctx, tx, scanStatementRow, `
		SELECT `+statementColumns+` FROM settlements
		WHERE partner = $1 AND environment = $2 AND period_start = $3 AND status = 'preparing' AND orders + service_collected + refunded_cents > 0
		ORDER BY currency`, o.Partner, o.Environment, store.Micros(p.Start))
}

// withoutLines are the lines of orders that have none yet.
func withoutLines(ctx context.Context, tx store.Tx, lines []Line) ([]Line, error) {
	if len(lines) == 0 {
		return nil, nil
	}
	args := make([]any, len(lines))
	for i, l := range lines {
		args[i] = l.Order
	}
	have, err := store.Collect(ctx, tx, store.ScanOne[string], `
		SELECT order_id FROM settlement_lines WHERE type IN ('sale', 'commission') AND order_id IN (`+store.Binds(1, len(args))+`)`, args...)
	if err != nil {
		return nil, fmt.Errorf("look for lines of orders: %w", err)
	}
	if len(have) == 0 {
		return lines, nil
	}
	return slices.DeleteFunc(slices.Clone(lines), func(l Line) bool { return slices.Contains(have, l.Order) }), nil
}

// sumsOfLines are the sums of a statement by its lines l, in the order of its columns; see [Statement.add].
const sumsOfLines = `
			CAST(SUM(CASE WHEN l.type = 'sale' THEN l.gross_cents ELSE 0 END) AS BIGINT) AS gross,
			CAST(SUM(CASE WHEN l.type = 'reversal' THEN -l.gross_cents ELSE 0 END) AS BIGINT) AS refunded,
			CAST(SUM(CASE WHEN l.type = 'sale' THEN l.commission_cents ELSE 0 END) AS BIGINT) AS commission,
			CAST(SUM(l.owed_cents) AS BIGINT) AS owed,
			SUM(CASE WHEN l.type = 'sale' THEN 1 ELSE 0 END) AS orders,
			SUM(CASE WHEN l.type = 'commission' THEN 1 ELSE 0 END) AS collected`

func closeStatement(ctx context.Context, tx store.Tx, s Statement) error {
	settling := 0
	if s.Orders+s.ServiceCollected > 0 {
		settling = 1
	}
	_, err := tx.Exec(ctx, `UPDATE settlements SET status = 'open', closed_at = $1, settling = $2 WHERE id = $3`,
		store.Micros(s.Closed), settling, s.ID)
	return err
}

// removeEmpty removes what is still in preparation: it has no lines.
func removeEmpty(ctx context.Context, tx store.Tx, o Owner, p Period) error {
	_, err := tx.Exec(ctx, `DELETE FROM settlements WHERE partner = $1 AND environment = $2 AND period_start = $3 AND status = 'preparing'`,
		o.Partner, o.Environment, store.Micros(p.Start))
	return err
}

// lineOf is the line with which an order was settled, or is about to be, and the id, the currency and the status of its
// statement. It fails with [sql.ErrNoRows].
func lineOf(ctx context.Context, tx store.Tx, order string) (s Statement, l Line, err error) {
	var at int64
	err = tx.QueryRow(ctx, `
		SELECT s.id, s.status, l.order_id, l.domain, l.type, l.currency, l.gross_cents, l.commission_cents, l.owed_cents, l.at
		FROM settlement_lines l JOIN settlements s ON s.id = l.settlement_id
		WHERE l.order_id = $1 AND l.type IN ('sale', 'commission')`, order).
		Scan(&s.ID, &s.Status, &l.Order, &l.Domain, &l.Type, &l.Currency, &l.Gross, &l.Commission, &l.Owed, &at)
	l.At, s.Currency = store.Time(at), l.Currency
	return s, l, err
}

// removeLine removes a line of a statement in preparation.
func removeLine(ctx context.Context, tx store.Tx, s Statement, l Line) error {
	if _, err := tx.Exec(ctx, `DELETE FROM settlement_lines WHERE settlement_id = $1 AND order_id = $2`, s.ID, l.Order); err != nil {
		return fmt.Errorf("remove a line of a statement: %w", err)
	}
	var sums Statement
	sums.add(l)
	return addToPreparation(ctx, tx, Statement{
		ID: s.ID, Gross: -sums.Gross, Commission: -sums.Commission, Owed: -sums.Owed, Orders: -sums.Orders, ServiceCollected: -sums.ServiceCollected,
	})
}

func payStatement(ctx context.Context, tx store.Tx, s Statement) error {
	_, err := tx.Exec(ctx, `UPDATE settlements SET status = $1, paid_at = $2, reference = $3 WHERE id = $4`,
		s.Status, store.Micros(s.Paid), s.Reference, s.ID)
	return err
}

// selectStatement reads a statement of the owner, or of any if that is zero. It fails with [fault.NotFound].
func selectStatement(ctx context.Context, tx store.Tx, o Owner, id string) (Statement, error) {
	s, err := scanStatement(tx.QueryRow(ctx, `
		SELECT `+statementColumns+` FROM settlements
		WHERE id = $1 AND status <> 'preparing' AND ($2 = '' OR partner = $2 AND environment = $3)`,
		id, o.Partner, o.Environment).Scan)
	if store.IsNoRows(err) {
		return Statement{}, fault.New(fault.NotFound, "there is no such statement")
	}
	if err != nil {
		return Statement{}, fmt.Errorf("read a statement: %w", err)
	}
	return s, nil
}

// Unfinished are the owners in an environment for whom a run has something to end: lines in preparation for the period, orders
// of closed statements that are not settled yet, or reversals from before the period's end that wait for a statement.
func Unfinished(ctx context.Context, tx store.Tx, environment string, p Period) ([]Owner, error) {
	scan := func(rows *sql.Rows) (Owner, error) {
		o := Owner{Environment: environment}
		err := rows.Scan(&o.Partner)
		return o, err
	}
	return store.Collect(ctx, tx, scan, `
		SELECT partner FROM settlements WHERE environment = $1 AND (settling = 1 OR status = 'preparing' AND period_start = $2)
		UNION SELECT partner FROM settlement_lines WHERE settlement_id = '' AND environment = $1 AND at < $3 ORDER BY partner`,
		environment, store.Micros(p.Start), store.Micros(p.End))
}

// A Rest is a statement of which not all orders are settled yet.
type Rest struct {
	Statement string
	at        int64 // up to the line with these, they are
	order     string
}

// Settling finds an owner's statement of which not all orders are settled yet; ok is false when there is none.
func Settling(ctx context.Context, tx store.Tx, o Owner) (r Rest, ok bool, err error) {
	err = tx.QueryRow(ctx, `
		SELECT id, settled_at, settled_order FROM settlements WHERE partner = $1 AND environment = $2 AND settling = 1 ORDER BY id LIMIT 1`,
		o.Partner, o.Environment).Scan(&r.Statement, &r.at, &r.order)
	if store.IsNoRows(err) {
		return Rest{}, false, nil
	}
	return r, err == nil, err
}

// Next returns the next orders of the statement, at most limit of them, and notes that they are settled and that their commissions can be
// paid out, within the transaction of the caller in which they become so.
func (r Rest) Next(ctx context.Context, tx store.Tx, limit int, at time.Time) ([]string, error) {
	last := r
	scan := func(rows *sql.Rows) (string, error) {
		err := rows.Scan(&last.at, &last.order)
		return last.order, err
	}
	orders, err := store.Collect(ctx, tx, scan, `
		SELECT at, order_id FROM settlement_lines
		WHERE settlement_id = $1 AND (at, order_id) > ($2, $3) AND type IN ('sale', 'commission') ORDER BY at, order_id LIMIT $4`,
		r.Statement, r.at, r.order, limit)
	if err != nil {
		return nil, err
	}
	settling := 1
	if len(orders) < limit {
		settling = 0
	}
	if _, err := tx.Exec(ctx, `UPDATE settlements SET settling = $1, settled_at = $2, settled_order = $3 WHERE id = $4`,
		settling, last.at, last.order, r.Statement); err != nil {
		return nil, err
	}
	_, err = tx.Exec(ctx, `
		UPDATE commissions SET payable_at = $1
		WHERE state = 'pending' AND payable_at = 0 AND order_id <> '' AND order_id IN (
			SELECT order_id FROM settlement_lines
			WHERE settlement_id = $2 AND (at, order_id) > ($3, $4) AND (at, order_id) <= ($5, $6) AND type IN ('sale', 'commission'))`,
		store.Micros(at), r.Statement, r.at, r.order, last.at, last.order)
	return orders, err
}
