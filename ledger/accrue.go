package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/store"
)

// A Source is what a commission is for.
type Source string

// The sources.
const (
	ServiceCollected Source = "service_collected" // the partner's share of a sale that the service collected
	Brokerage        Source = "brokerage"         // the partner's share of the service's fee of a brokerage deal
	Referral         Source = "referral"          // the partner's share of a sale that it referred
)

// Sources are all sources.
func Sources() []Source { return []Source{ServiceCollected, Brokerage, Referral} }

// A CommissionState is the state of a commission.
type CommissionState string

// The states. A commission is paid out when its payout is paid; while its payout is created it is pending.
const (
	Accrued  CommissionState = "accrued"  // sold
	Pending  CommissionState = "pending"  // the transfer is completed
	PaidOut  CommissionState = "paid_out" // in a payout that is paid
	Reversed CommissionState = "reversed" // its sale was reversed before it was in a payout
)

// A Commission is what a partner earns, an entry of its commission ledger. The amount is above zero, but for an entry that
// takes back one that is in a payout.
type Commission struct {
	ID       string // com_…
	Owner    Owner  // who earns it
	Source   Source
	Order    string // of which it is a share; empty: none
	Case     string // the brokerage case of which it is a share; empty: none
	Amount   money.Amount
	At       time.Time // by the owner's clock
	State    CommissionState
	Reverses string // the entry that this negative one takes back; empty: none
	Payout   string // that it is in; empty: none
}

// Accrue records a commission within a transaction of the caller and returns it with its id and state. It reads the owner, the
// source, the order or the case, the amount and the time. A share of a sale is [Accrued] and follows its order by
// [OrderCompleted], settlements and [OrderReversed]; a share of a brokerage deal is [Pending] at once, and can be paid
// out. A commission of zero is none: it is not recorded, and the zero Commission is returned. Accrue fails with [ErrPosted]
// when the order has a commission of the source, or the case has one.
func Accrue(ctx context.Context, tx store.Tx, c Commission) (Commission, error) {
	if c.Amount.Cents == 0 {
		return Commission{}, nil
	}
	shareOfCase := c.Source == Brokerage
	if c.Amount.Cents < 0 || (c.Order == "") != shareOfCase || (c.Case == "") == shareOfCase {
		return Commission{}, errors.New("ledger: a commission is above zero, and a share of one order or, of source brokerage, of one case")
	}
	c.ID, c.State, c.Reverses, c.Payout = store.NewID(commissionPrefix), Accrued, "", ""
	account, payable := CommissionAccrued, time.Time{}
	if shareOfCase {
		c.State, account, payable = Pending, CommissionPending, c.At
	}
	if err := insertCommission(ctx, tx, c, payable); err != nil {
		return Commission{}, err
	}
	return c, c.post(ctx, tx, Accrual, CommissionCost, account, c.At)
}

const commissionPrefix = "com"

// post adds the entry of a commission, from one account to another. A commission has at most one entry of a kind.
func (c Commission) post(ctx context.Context, tx store.Tx, kind Kind, debit, credit Account, at time.Time) error {
	amount := max(c.Amount.Cents, -c.Amount.Cents)
	e := Entry{ID: c.ID + ":" + string(kind), Kind: kind, Owner: c.Owner, At: at}
	e.add(debit, c.Amount.Currency, amount)
	e.add(credit, c.Amount.Currency, -amount)
	return Post(ctx, tx, e)
}

// A Clock is the time of an owner: in the sandbox each partner has its own.
type Clock func(ctx context.Context, tx store.Tx, o Owner) (time.Time, error)

// OrderCompleted makes the commissions of an order pending, because its name was delivered, within a transaction of the
// caller.
func OrderCompleted(ctx context.Context, tx store.Tx, order string, clock Clock) error {
	return eachOfOrder(ctx, tx, order, clock, func(c Commission, now time.Time) error {
		if c.State != Accrued {
			return nil
		}
		if err := setPending(ctx, tx, c, now); err != nil {
			return err
		}
		return c.post(ctx, tx, Maturity, CommissionAccrued, CommissionPending, now)
	})
}

// OrderReversed takes the commissions of an order back, because it was refunded, cancelled or charged back, within a
// transaction of the caller: those that are in no payout are [Reversed]; for others there is a negative entry, which a
// later payout takes off. What was taken back stays so: a second call does nothing.
func OrderReversed(ctx context.Context, tx store.Tx, order string, clock Clock) error {
	taken := map[string]bool{}
	return eachOfOrder(ctx, tx, order, clock, func(c Commission, now time.Time) error {
		switch {
		case c.Reverses != "": // these come first
			taken[c.Reverses] = true
			return nil
		case c.State == Reversed || taken[c.ID]:
			return nil
		case c.Payout != "":
			return c.takeBack(ctx, tx, now)
		}
		account := CommissionAccrued
		if c.State == Pending {
			account = CommissionPending
		}
		if err := setReversed(ctx, tx, c); err != nil {
			return err
		}
		return c.post(ctx, tx, Reversal, account, CommissionCost, now)
	})
}

// takeBack adds the negative entry for a commission that is in a payout.
func (c Commission) takeBack(ctx context.Context, tx store.Tx, now time.Time) error {
	back := Commission{
		ID: store.NewID(commissionPrefix), Owner: c.Owner, Source: c.Source, Order: c.Order, Case: c.Case,
		Amount: money.Amount{Cents: -c.Amount.Cents, Currency: c.Amount.Currency}, At: now, State: Pending, Reverses: c.ID,
	}
	if err := insertCommission(ctx, tx, back, now); err != nil {
		return err
	}
	return back.post(ctx, tx, Reversal, CommissionPending, CommissionCost, now)
}

// eachOfOrder calls do for the commissions of an order, those that take others back first, with the time of their owners.
func eachOfOrder(ctx context.Context, tx store.Tx, order string, clock Clock, do func(c Commission, now time.Time) error) error {
	all, err := commissionsOf(ctx, tx, order)
	if err != nil {
		return fmt.Errorf("read the commissions of an order: %w", err)
	}
	for _, c := range all {
		now, err := clock(ctx, tx, c.Owner)
		if err != nil {
			return err
		}
		if err := do(c, now); err != nil {
			return fmt.Errorf("commission %s: %w", c.ID, err)
		}
	}
	return nil
}
