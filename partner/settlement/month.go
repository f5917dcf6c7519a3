package settlement

import (
	"context"
	"time"

	"github.com/namewharf/namewharf/ledger"
	"github.com/namewharf/namewharf/partner/wiring"
	"github.com/namewharf/namewharf/sale"
	"github.com/namewharf/namewharf/store"
)

// A month is a run for one partner.
type month struct {
	*Run
	party    sale.Party
	progress *progress
	settled  int // orders

	statements []ledger.Statement // that were closed
}

func (m *month) owner() ledger.Owner {
	return ledger.Owner{Partner: m.party.Partner, Environment: m.party.Environment}
}

// settle settles the partner's month.
func (m *month) settle(ctx context.Context, now time.Time) error {
	if m.DryRun {
		return m.preview(ctx)
	}
	if err := m.settleOrders(ctx, now); err != nil { // of an interrupted run
		return err
	}
	if err := m.prepare(ctx); err != nil {
		return err
	}
	var statements []ledger.Statement
	settled := 0
	err := m.Sales.Tx(ctx, m.party.Environment, func(tx store.Tx) (err error) {
		if statements, err = ledger.Close(ctx, tx, m.owner(), m.Period, now); err != nil {
			return err
		}
		for _, s := range statements {
			details := map[string]any{
				"partner": s.Owner.Partner, "period": s.Period.String(), "currency": s.Currency, "owed_cents": s.Owed,
				"orders": s.Orders, "service_collected": s.ServiceCollected,
			}
			if err := m.By.Record(ctx, tx, "settlement.close", s.ID, details); err != nil {
				return err
			}
		}
		settled, _, err = m.settleNext(ctx, tx, now) // so that a small month is one transaction
		return err
	})
	if err != nil {
		return err
	}
	m.statements = statements
	m.count(settled)
	return m.settleOrders(ctx, now)
}

// prepare collects the lines of the statements.
func (m *month) prepare(ctx context.Context) error {
	var after, next sale.Position
	for more := true; more; after = next {
		err := m.DB.Tx(ctx, func(tx store.Tx) error {
			orders, err := sale.Unsettled(ctx, tx, m.party, m.Period.Start, m.Period.End, after, m.Batch)
			if more = len(orders) == m.Batch; err != nil || len(orders) == 0 {
				return err
			}
			lines := linesOf(orders)
			if err := ledger.Prepare(ctx, tx, m.owner(), m.Period, lines); err != nil {
				return err
			}
			last := orders[len(orders)-1]
			next = sale.Position{At: store.Micros(last.CompletedAt), ID: last.PublicID}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// settleOrders settles the orders of the partner's closed statements, in batches.
func (m *month) settleOrders(ctx context.Context, now time.Time) error {
	for more := true; more; {
		settled := 0
		err := m.Sales.Tx(ctx, m.party.Environment, func(tx store.Tx) (err error) {
			settled, more, err = m.settleNext(ctx, tx, now)
			return err
		})
		if err != nil {
			return err
		}
		m.count(settled)
	}
	return nil
}

// settleNext settles a batch; more is false when nothing was left.
func (m *month) settleNext(ctx context.Context, tx store.Tx, now time.Time) (settled int, more bool, err error) {
	rest, more, err := ledger.Settling(ctx, tx, m.owner())
	if err != nil || !more {
		return 0, false, err
	}
	ids, err := rest.Next(ctx, tx, m.Batch, now)
	if err != nil {
		return 0, false, err
	}
	settled, err = m.Sales.SettleAll(ctx, tx, m.party, ids, now)
	return settled, true, err
}

func (m *month) count(settled int) {
	m.settled += settled
	m.progress.add(settled)
}

// preview adds up the statements that would be made, and stores nothing.
func (m *month) preview(ctx context.Context) error {
	sums := ledger.NewPreview(m.owner(), m.Period)
	err := m.DB.Read(ctx, func(tx store.Tx) error {
		var after sale.Position
		for {
			orders, err := sale.Unsettled(ctx, tx, m.party, m.Period.Start, m.Period.End, after, m.Batch)
			if err != nil {
				return err
			}
			if err := sums.Add(ctx, tx, linesOf(orders)); err != nil {
				return err
			}
			m.count(len(orders))
			if len(orders) < m.Batch {
				return sums.AddReversals(ctx, tx)
			}
			last := orders[len(orders)-1]
			after = sale.Position{At: store.Micros(last.CompletedAt), ID: last.PublicID}
		}
	})
	m.settled, m.statements = 0, sums.Statements()
	return err
}

func linesOf(orders []sale.Order) []ledger.Line {
	lines := make([]ledger.Line, len(orders))
	for i, o := range orders {
		lines[i] = wiring.Line(o)
	}
	return lines
}
