package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"github.com/namewharf/namewharf/store"
)

// A Preview adds up the statements that a settlement would make, without making them.
type Preview struct {
	owner  Owner
	period Period
	sums   map[string]*Statement // by currency
}

// NewPreview returns an empty preview for an owner and a period.
func NewPreview(o Owner, p Period) *Preview { return &Preview{o, p, map[string]*Statement{}} }

// Add adds lines, but for those of orders that are in a statement already and only wait to be settled.
func (r *Preview) Add(ctx context.Context, tx store.Tx, lines []Line) error {
	if len(lines) == 0 {
		return nil
	}
	args := make([]any, len(lines))
	for i, l := range lines {
		args[i] = l.Order
	}
	in, err := store.Collect(ctx, tx, store.ScanOne[string], `
		SELECT l.order_id FROM settlement_lines l JOIN settlements s ON s.id = l.settlement_id
		WHERE s.status <> 'preparing' AND l.type <> 'reversal' AND l.order_id IN (`+store.Binds(1, len(args))+`)`, args...)
	if err != nil {
		return fmt.Errorf("look for lines of orders: %w", err)
	}
	for _, l := range lines {
		if !slices.Contains(in, l.Order) {
			r.add(l)
		}
	}
	return nil
}

// AddReversals adds the reversals that wait for a statement.
func (r *Preview) AddReversals(ctx context.Context, tx store.Tx) error {
	read := func(rows *sql.Rows) error {
		l := Line{Type: ReversalLine}
		if err := rows.Scan(&l.Currency, &l.Gross, &l.Commission, &l.Owed); err != nil {
			return err
		}
		r.add(l)
		return nil
	}
	return store.Each(ctx, tx, read, `
		SELECT currency, gross_cents, commission_cents, owed_cents FROM settlement_lines
		WHERE settlement_id = '' AND partner = $1 AND environment = $2 AND at < $3`, r.owner.Partner, r.owner.Environment, store.Micros(r.period.End))
}

func (r *Preview) add(l Line) {
	s := r.sums[l.Currency]
	if s == nil {
		s = &Statement{Owner: r.owner, Period: r.period, Currency: l.Currency}
		r.sums[l.Currency] = s
	}
	s.add(l)
}

// Statements returns what was added up, in the order of the currencies.
func (r *Preview) Statements() []Statement {
	all := make([]Statement, 0, len(r.sums))
	for _, currency := range slices.Sorted(maps.Keys(r.sums)) {
		all = append(all, *r.sums[currency])
	}
	return all
}
