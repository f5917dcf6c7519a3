package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/store"
)

// A Filter says which rows of a list to return, the newest first. Zero fields do not filter; the zero Owner is all owners.
type Filter struct {
	Owner    Owner
	From, To time.Time // From inclusive, To exclusive
	Status   string
	Source   Source
	Limit    int       // 1 to MaxPage; 0: DefaultPage
	After    *Position // from the page before; nil: from the start
}

// Limits of a page.
const (
	DefaultPage = 25
	MaxPage     = 100
)

// A Position is a place between two rows of a list.
type Position = store.Position

// listed says how a list is read: its columns, its table and the column that it is in the order of.
type listed[T any] struct {
	columns, table, at, id string
	scan                   func(*sql.Rows) (T, error)
	position               func(T) Position
	also                   string // a condition with a ? for the value; empty: none
	value                  any
	most                   int // rows a page; 0: MaxPage
}

// page reads a page of the rows that f selects, and the position of the next.
func (l listed[T]) page(ctx context.Context, tx store.Tx, f Filter) (all []T, next *Position, err error) {
	most := max(l.most, MaxPage)
	if f.Limit < 0 || f.Limit > most {
		return nil, nil, fault.Invalid("limit", "must be from 1 to %d", most)
	}
	if f.Limit == 0 {
		f.Limit = DefaultPage
	}
	var c store.Conditions
	if l.also != "" {
		c.Add(l.also, l.value)
	}
	if f.Owner != (Owner{}) {
		c.Add("environment = ?", f.Owner.Environment)
		if f.Owner.Partner != "" {
			c.Add("partner = ?", f.Owner.Partner)
		}
	}
	if f.Status != "" {
		c.Add("status = ?", f.Status)
	}
	if f.Source != "" {
		c.Add("source = ?", f.Source)
	}
	c.Newest(l.at, l.id, f.From, f.To, f.After)
	all, err = store.Collect(ctx, tx, l.scan, fmt.Sprintf(`SELECT %s FROM %s WHERE %s ORDER BY %s DESC, %s DESC LIMIT %s`,
		l.columns, l.table, &c, l.at, l.id, c.Bind(f.Limit+1)), c.Args()...)
	if err != nil {
		return nil, nil, fmt.Errorf("list %s: %w", l.table, err)
	}
	if len(all) > f.Limit {
		all = all[:f.Limit]
		next = new(l.position(all[f.Limit-1]))
	}
	return all, next, nil
}

// Statements returns a page of statements by the beginning of their periods. It fails with [fault.Validation] on limit.
func Statements(ctx context.Context, tx store.Tx, f Filter) ([]Statement, *Position, error) {
	return listed[Statement]{
		columns: statementColumns, table: "settlements", at: "period_start", id: "id", scan: scanStatementRow, also: "status <> ?", value: preparing,
		position: func(s Statement) Position { return Position{At: store.Micros(s.Period.Start), ID: s.ID} },
	}.page(ctx, tx, f)
}

// StatementOf returns a statement of the owner, or of any if that is zero. It fails with [fault.NotFound].
func StatementOf(ctx context.Context, tx store.Tx, o Owner, id string) (Statement, error) {
	return selectStatement(ctx, tx, o, id)
}

// MostLines is how many lines of a statement [Lines] returns at most: more than a page, for exports.
const MostLines = 1000

// Lines returns a page of the lines of a statement, the newest first. The statement must be one of the caller's. It fails with
// [fault.Validation] on limit.
func Lines(ctx context.Context, tx store.Tx, statement string, limit int, after *Position) ([]Line, *Position, error) {
	scan := func(rows *sql.Rows) (l Line, err error) {
		var at int64
		err = rows.Scan(&l.Order, &l.Domain, &l.Type, &l.Currency, &l.Gross, &l.Commission, &l.Owed, &at)
		l.At = store.Time(at)
		return l, err
	}
	return listed[Line]{
		columns: "order_id, domain, type, currency, gross_cents, commission_cents, owed_cents, at", table: "settlement_lines",
		at: "at", id: "order_id", also: "settlement_id = ?", value: statement, scan: scan, most: MostLines,
		position: func(l Line) Position { return Position{At: store.Micros(l.At), ID: l.Order} },
	}.page(ctx, tx, Filter{Limit: limit, After: after})
}

// Payouts returns a page of payouts by their creation. It fails with [fault.Validation] on limit.
func Payouts(ctx context.Context, tx store.Tx, f Filter) ([]Disbursement, *Position, error) {
	return listed[Disbursement]{
		columns: payoutColumns, table: "payouts", at: "created_at", id: "id", scan: scanPayout,
		position: func(d Disbursement) Position { return Position{At: store.Micros(d.Created), ID: d.ID} },
	}.page(ctx, tx, f)
}

// PaidTotals returns the sums by currency of an owner's payouts that are paid and were created in a window, whose ends may be
// zero.
func PaidTotals(ctx context.Context, tx store.Tx, o Owner, from, to time.Time) ([]money.Amount, error) {
	scan := func(rows *sql.Rows) (a money.Amount, err error) {
		err = rows.Scan(&a.Currency, &a.Cents)
		return a, err
	}
	all, err := store.Collect(ctx, tx, scan, `
		SELECT currency, CAST(SUM(amount_cents) AS BIGINT) FROM payouts
		WHERE partner = $1 AND environment = $2 AND status = 'paid' AND created_at >= $3 AND ($4 = 0 OR created_at < $4)
		GROUP BY currency ORDER BY currency`, o.Partner, o.Environment, store.Micros(from), store.Micros(to))
	if err != nil {
		return nil, fmt.Errorf("add up payouts: %w", err)
	}
	return all, nil
}

// A Balanced is a commission with the balance of its owner after it.
type Balanced struct {
	Commission
	Balance int64 // cents of all commissions up to this one in its currency that are not reversed
}

// Commissions returns a page of an owner's commissions by the time at which they accrued, with the running balance. It fails
// with [fault.Validation] on limit.
func Commissions(ctx context.Context, tx store.Tx, f Filter) ([]Balanced, *Position, error) {
	all, next, err := listed[Commission]{
		columns: commissionColumns, table: "commissions", at: "at", id: "id", scan: scanCommission,
		position: func(c Commission) Position { return Position{At: store.Micros(c.At), ID: c.ID} },
	}.page(ctx, tx, f)
	if err != nil {
		return nil, nil, err
	}
	balanced, balances := make([]Balanced, len(all)), map[string]int64{}
	for i, c := range all {
		balance, known := balances[c.Amount.Currency]
		if !known {
			if balance, err = balanceAt(ctx, tx, c); err != nil {
				return nil, nil, err
			}
		}
		balanced[i] = Balanced{c, balance}
		if c.State != Reversed {
			balance -= c.Amount.Cents
		}
		balances[c.Amount.Currency] = balance // of the one before in this currency
	}
	return balanced, next, nil
}

// balanceAt is the running balance after a commission, in its currency.
func balanceAt(ctx context.Context, tx store.Tx, c Commission) (balance int64, err error) {
	at := store.Micros(c.At)
	day := at / microsOfDay
	err = tx.QueryRow(ctx, `
		SELECT CAST((SELECT COALESCE(SUM(cents), 0) FROM commission_days
				WHERE partner = $1 AND environment = $2 AND currency = $3 AND day < $4) AS BIGINT) +
			CAST((SELECT COALESCE(SUM(amount_cents), 0) FROM commissions
				WHERE partner = $1 AND environment = $2 AND at >= $5 AND (at, id) <= ($6, $7) AND currency = $3 AND state <> 'reversed') AS BIGINT)`,
		c.Owner.Partner, c.Owner.Environment, c.Amount.Currency, day, day*microsOfDay, at, c.ID).Scan(&balance)
	if err != nil {
		return 0, fmt.Errorf("add up commissions: %w", err)
	}
	return balance, nil
}
