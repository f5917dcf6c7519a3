package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/store"
)

// A Period is a calendar month in UTC.
type Period struct{ Start, End time.Time } // Start inclusive, End exclusive

// PeriodOf returns the period of a time.
func PeriodOf(t time.Time) Period {
	t = t.UTC()
	start := time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
	return Period{start, start.AddDate(0, 1, 0)}
}

// ParsePeriod reads a period such as 2026-11.
func ParsePeriod(text string) (Period, error) {
	t, err := time.Parse("2006-01", text)
	if err != nil || t.Year() < 1971 || t.Year() > 9998 {
		return Period{}, errors.New("not a month such as 2026-11")
	}
	return PeriodOf(t), nil
}

// String is the period as [ParsePeriod] reads it.
func (p Period) String() string { return p.Start.Format("2006-01") }

// A LineType says what a line of a statement is about.
type LineType string

// The types of lines.
const (
	SaleLine       LineType = "sale"       // an order that the partner collected
	CommissionLine LineType = "commission" // one that the service collected: nothing is owed, the commission is the partner's
	ReversalLine   LineType = "reversal"   // the opposite of a line of an earlier statement
)

// A Line is a line of a statement.
type Line struct {
	Order    string
	Domain   string
	Type     LineType
	Currency string
	// Gross is the price of the order, Commission what was recorded with it, Owed what the partner owes of it, in cents.
	Gross, Commission, Owed int64
	At                      time.Time // when the order was completed, or reversed
}

// A StatementStatus is the status of a statement.
type StatementStatus string

// The statuses. A statement in preparation is shown to nobody.
const (
	preparing     StatementStatus = "preparing"
	StatementOpen StatementStatus = "open"
	StatementPaid StatementStatus = "paid"
)

// A Statement is what a partner owes for a period in a currency. Gross, Commission and Orders are about the orders that the
// partner collected, Refunded is the price of the orders that are reversed, all in cents.
type Statement struct {
	ID     string // stl_…
	Owner  Owner
	Period Period

	Currency                          string
	Gross, Refunded, Commission, Owed int64
	Orders                            int64 // lines of type sale
	ServiceCollected                  int64 // lines of type commission
	Status                            StatementStatus
	Closed                            time.Time
	Paid                              time.Time // zero: not yet
	Reference                         string    // of the payment; empty: none
}

const statementPrefix = "stl"

// Prepare adds lines to the statements of an owner for a period that are in preparation, within a transaction of the caller. An
// order that has a line is left out. Nobody sees the statements until [Close].
func Prepare(ctx context.Context, tx store.Tx, o Owner, p Period, lines []Line) error {
	fresh, err := withoutLines(ctx, tx, lines)
	if err != nil {
		return err
	}
	sums := map[string]*Statement{} // by currency
	of := make([]string, len(fresh))
	for i, l := range fresh {
		s := sums[l.Currency]
		if s == nil {
			s = &Statement{Owner: o, Period: p, Currency: l.Currency}
			if s.ID, err = preparation(ctx, tx, o, p, l.Currency); err != nil {
				return fmt.Errorf("prepare a statement: %w", err)
			}
			sums[l.Currency] = s
		}
		of[i] = s.ID
		s.add(l)
	}
	if err := insertLines(ctx, tx, o, of, fresh); err != nil {
		return fmt.Errorf("add lines to a statement: %w", err)
	}
	for _, s := range sums {
		if err := addToPreparation(ctx, tx, *s); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the statements of an owner for a period that are in preparation, within a transaction of the caller, and
// returns them. Reversals that wait for a statement and are from before the period's end come in. What is owed is posted.
func Close(ctx context.Context, tx store.Tx, o Owner, p Period, at time.Time) ([]Statement, error) {
	currencies, err := waitingCurrencies(ctx, tx, o, p)
	if err != nil {
		return nil, err
	}
	for _, currency := range currencies {
		s := Statement{Owner: o, Period: p, Currency: currency}
		if s.ID, err = preparation(ctx, tx, o, p, currency); err != nil {
			return nil, err
		}
		if err := takeReversals(ctx, tx, &s); err != nil {
			return nil, fmt.Errorf("take reversals into a statement: %w", err)
		}
		if err := addToPreparation(ctx, tx, s); err != nil {
			return nil, err
		}
	}
	all, err := preparations(ctx, tx, o, p)
	if err != nil {
		return nil, fmt.Errorf("read statements in preparation: %w", err)
	}
	for i := range all {
		all[i].Status, all[i].Closed = StatementOpen, store.Time(store.Micros(at))
		if err := closeStatement(ctx, tx, all[i]); err != nil {
			return nil, fmt.Errorf("close statement %s: %w", all[i].ID, err)
		}
		if err := all[i].post(ctx, tx, all[i].ID, Settlement, StatementsDue, PartnerReceivable, at); err != nil {
			return nil, fmt.Errorf("post statement %s: %w", all[i].ID, err)
		}
	}
	return all, removeEmpty(ctx, tx, o, p)
}

// post adds an entry of what is owed by a statement, from one account to another.
func (s Statement) post(ctx context.Context, tx store.Tx, id string, kind Kind, debit, credit Account, at time.Time) error {
	if s.Owed == 0 {
		return nil
	}
	e := Entry{ID: id, Kind: kind, Owner: s.Owner, At: at}
	e.add(debit, s.Currency, s.Owed)
	e.add(credit, s.Currency, -s.Owed)
	return Post(ctx, tx, e)
}

// SettleAlone makes a statement of one order, unless a statement has the order, and allows its commissions to be paid out,
// within a transaction of the caller in which the order becomes settled. A line of it in a preparation is moved.
func SettleAlone(ctx context.Context, tx store.Tx, o Owner, l Line, at time.Time) error {
	before, prepared, err := lineOf(ctx, tx, l.Order)
	if err != nil && !store.IsNoRows(err) {
		return err
	}
	if before.Status == preparing {
		if err := removeLine(ctx, tx, before, prepared); err != nil {
			return err
		}
	}
	if before.Status == preparing || before.Status == "" {
		s := Statement{ID: store.NewID(statementPrefix), Owner: o, Period: PeriodOf(l.At), Currency: l.Currency, Status: StatementOpen, Closed: at}
		s.add(l)
		if err := insertStatement(ctx, tx, s); err != nil {
			return fmt.Errorf("make a statement: %w", err)
		}
		if err := insertLines(ctx, tx, o, []string{s.ID}, []Line{l}); err != nil {
			return fmt.Errorf("make a statement: %w", err)
		}
		if err := s.post(ctx, tx, s.ID, Settlement, StatementsDue, PartnerReceivable, at); err != nil {
			return err
		}
	}
	_, err = tx.Exec(ctx, `
		UPDATE commissions SET payable_at = $1 WHERE order_id = $2 AND order_id <> '' AND state = 'pending' AND payable_at = 0`,
		store.Micros(at), l.Order)
	if err != nil {
		return fmt.Errorf("allow commissions to be paid out: %w", err)
	}
	return nil
}

// add adds a line to the sums, which are also the columns of the table.
func (s *Statement) add(l Line) {
	s.Owed += l.Owed
	switch l.Type {
	case SaleLine:
		s.Gross, s.Commission, s.Orders = s.Gross+l.Gross, s.Commission+l.Commission, s.Orders+1
	case CommissionLine:
		s.ServiceCollected++
	case ReversalLine:
		s.Refunded -= l.Gross
	}
}

// ReverseLine takes an order back from its statement, within a transaction of the caller in which the order is reversed: a line
// in preparation is removed; for one of a statement that is closed there will be a reversal in the next statement. An order
// without a line needs none.
func ReverseLine(ctx context.Context, tx store.Tx, o Owner, order string, at time.Time) error {
	s, l, err := lineOf(ctx, tx, order)
	switch {
	case store.IsNoRows(err):
		return nil
	case err != nil:
		return err
	case s.Status == preparing:
		return removeLine(ctx, tx, s, l)
	}
	l.Type, l.At = ReversalLine, at
	l.Gross, l.Commission, l.Owed = -l.Gross, -l.Commission, -l.Owed
	return insertLines(ctx, tx, o, []string{""}, []Line{l})
}

// MarkPaid says that an open statement was paid, within a transaction of the caller, and returns it. It fails with
// [fault.NotFound], with [fault.Conflict] for one that is paid, and with [fault.Validation] on reference.
func MarkPaid(ctx context.Context, tx store.Tx, id, reference string, at time.Time) (Statement, error) {
	if err := checkReference("reference", reference); err != nil {
		return Statement{}, err
	}
	s, err := selectStatement(ctx, tx, Owner{}, id)
	switch {
	case err != nil:
		return Statement{}, err
	case s.Status == StatementPaid:
		return Statement{}, fault.New(fault.Conflict, "the statement is paid already, by %s", s.Reference)
	}
	s.Status, s.Paid, s.Reference = StatementPaid, store.Time(store.Micros(at)), reference
	if err := payStatement(ctx, tx, s); err != nil {
		return Statement{}, fmt.Errorf("mark statement %s as paid: %w", id, err)
	}
	return s, s.post(ctx, tx, id+":paid", SettlementPaid, Cash, StatementsDue, at)
}
