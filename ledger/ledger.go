// Package ledger is the postings, and the balances that are sums of them.
//
// Double entry, append-only, integer cents: what happens to money is an [Entry], a set of postings that sum to zero in
// each currency. Entries are added by [Post] and [Reverse] and never change; the schema refuses changes. A balance
// is a sum of postings and is stored nowhere, so it cannot be wrong by itself; [Check] shows that the postings are right.
package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/store"
)

// An Owner is the party whose business an entry is about: a partner in an environment. Its postings sum to zero too.
type Owner struct {
	Partner     string
	Environment string // SANDBOX or LIVE
}

// An Account is a heading under which postings are summed: what is owed to the service is above zero (debit), what the
// service owes to others or has earned below (credit).
type Account string

// The chart of accounts. Each is kept by owner and currency.
const (
	// PartnerReceivable is what the partner owes the service: of each sale that it collected, the price less what it
	// retains. Settlements take from it.
	PartnerReceivable Account = "partner_receivable"
	// RetainedCommission is the commission kept back from sales that the partner collected: what a sale costs.
	RetainedCommission Account = "retained_commission"
	// SalesProceeds is the price of what was sold, from which sellers and the service's own share are paid.
	SalesProceeds Account = "sales_proceeds"
	// Cash is the money that the service took less what it paid: prices that it collected, statements that were paid, payouts.
	Cash Account = "cash"
	// StatementsDue is what the partner owes by its statements that are not paid.
	StatementsDue Account = "statements_due"
	// CommissionCost is what the commissions of the partner cost the service.
	CommissionCost Account = "commission_cost"
	// CommissionAccrued is what the partner earns of sales that are not completed.
	CommissionAccrued Account = "commission_accrued"
	// CommissionPending is what the partner has earned and is in no payout.
	CommissionPending Account = "commission_pending"
	// PayoutsDue is what is in payouts that are not paid.
	PayoutsDue Account = "payouts_due"
)

// A Kind says what an entry is about. An order has at most one entry of a kind.
type Kind string

// The kinds of entries.
const (
	Sale         Kind = "sale"
	Refund       Kind = "refund"       // the exact opposite of a sale, given back at a partner's or an operator's word
	Cancellation Kind = "cancellation" // the same for a sale that an operator cancelled
	Chargeback   Kind = "chargeback"   // the same for a sale whose payment the buyer's bank took back

	Accrual        Kind = "commission_accrued"
	Maturity       Kind = "commission_pending"  // the sale of a commission is completed
	Reversal       Kind = "commission_reversed" // the sale of a commission is reversed
	Payout         Kind = "payout_created"
	PayoutPaid     Kind = "payout_paid"
	PayoutFailed   Kind = "payout_failed"
	Settlement     Kind = "settlement" // a statement is made
	SettlementPaid Kind = "settlement_paid"
)

// reversals are the kinds that reverse a sale.
var reversals = []Kind{Refund, Cancellation, Chargeback}

// A Posting is one line of an entry: an amount above zero is a debit, one below a credit, none is zero.
type Posting struct {
	Account Account
	Amount  money.Amount
}

// An Entry is something that happened to money.
type Entry struct {
	ID       string // set by [Post] where it is empty
	Kind     Kind
	Owner    Owner
	Order    string // the order that it is about; empty: none
	At       time.Time
	Postings []Posting
}

// ErrPosted says that the order has an entry of this kind, or has been reversed.
var ErrPosted = errors.New("ledger: posted already")

// ErrNothing says that there is nothing to reverse.
var ErrNothing = errors.New("ledger: nothing is posted for the order")

// check refuses an entry that is incomplete or does not sum to zero in each currency.
func (e Entry) check() error {
	switch {
	case e.Kind == "" || e.Owner.Partner == "" || e.Owner.Environment == "" || e.At.IsZero():
		return errors.New("ledger: the entry is not complete")
	case len(e.Postings) < 2:
		return errors.New("ledger: an entry has at least two postings")
	}
	sums := make(map[string]int64, 1)
	for _, p := range e.Postings {
		if p.Account == "" || p.Amount.Cents == 0 || p.Amount.Currency == "" {
			return errors.New("ledger: a posting has an account, an amount other than zero and a currency")
		}
		sum := sums[p.Amount.Currency] + p.Amount.Cents
		if overflows(sums[p.Amount.Currency], p.Amount.Cents) {
			return errors.New("ledger: the entry is too large")
		}
		sums[p.Amount.Currency] = sum
	}
	for currency, sum := range sums {
		if sum != 0 {
			return fmt.Errorf("ledger: the entry does not balance: %s is left over", money.Amount{Cents: sum, Currency: currency})
		}
	}
	return nil
}

func overflows(a, b int64) bool { return b > 0 && a+b < a || b < 0 && a+b > a }

// Post adds an entry within a transaction of the caller. It refuses one that does not balance, and fails with [ErrPosted]
// when the order has an entry of the kind.
func Post(ctx context.Context, tx store.Tx, e Entry) error {
	if err := e.check(); err != nil {
		return err
	}
	if e.ID == "" {
		e.ID = store.NewID("ent")
	}
	const shared = 6
	args := []any{e.ID, e.Kind, e.Owner.Partner, e.Owner.Environment, e.Order, store.Micros(e.At)}
	var values strings.Builder
	for i, p := range e.Postings {
		if i > 0 {
			values.WriteString(", ")
		}
		n := shared + 4*i
		fmt.Fprintf(&values, "($1, $%d, $2, $3, $4, $5, $%d, $%d, $%d, $6)", n+1, n+2, n+3, n+4)
		args = append(args, i+1, p.Account, p.Amount.Cents, p.Amount.Currency)
	}
	n, err := tx.Exec(ctx, `
		INSERT INTO postings (entry_id, line, kind, partner, environment, order_id, account, cents, currency, at)
		VALUES `+values.String()+` ON CONFLICT DO NOTHING`, args...)
	return added(n, err, len(e.Postings))
}

// added says how adding the postings of one entry went: all or, where they conflict with others, none. Part of them is
// a conflict too; the error makes the caller's transaction take them back.
func added(n int64, err error, want int) error {
	switch {
	case err != nil:
		return fmt.Errorf("add postings: %w", err)
	case n != int64(want):
		return ErrPosted
	}
	return nil
}

// Reverse posts the exact opposite of an order's sale, as an entry of the given kind, within a transaction of the caller.
// It fails with [ErrNothing] when the order has no sale and with [ErrPosted] when it is reversed already.
func Reverse(ctx context.Context, tx store.Tx, owner Owner, order string, kind Kind, at time.Time) error {
	if !slices.Contains(reversals, kind) {
		return fmt.Errorf("ledger: a sale is not reversed by a %s", kind)
	}
	e := Entry{Kind: kind, Owner: owner, Order: order, At: at}
	reversed := false
	read := func(rows *sql.Rows) error {
		var was Kind
		var p Posting
		err := rows.Scan(&was, &p.Account, &p.Amount.Cents, &p.Amount.Currency)
		switch {
		case slices.Contains(reversals, was):
			reversed = true
		case was == Sale:
			p.Amount.Cents = -p.Amount.Cents
			e.Postings = append(e.Postings, p)
		}
		return err
	}
	err := store.Each(ctx, tx, read, `
		SELECT kind, account, cents, currency FROM postings
		WHERE order_id = $1 AND order_id <> '' AND partner = $2 AND environment = $3 ORDER BY kind, line`,
		order, owner.Partner, owner.Environment)
	if err != nil {
		return fmt.Errorf("read what was posted: %w", err)
	}
	if reversed {
		return ErrPosted
	}
	if len(e.Postings) == 0 {
		return ErrNothing
	}
	return Post(ctx, tx, e)
}
