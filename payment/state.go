package payment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/namewharf/namewharf/store"
)

// A State is the state of a payment in our database.
type State string

// The states.
const (
	Started    State = "started"    // the buyer may pay
	Authorized State = "authorized" // the money is held
	Captured   State = "captured"   // the money is taken, for an order
	Voided     State = "voided"     // what was held was let go: somebody else had the purchase, or the order was undone
	Failed     State = "failed"     // the buyer did not pay, or what was held could not be taken
	Refunded   State = "refunded"   // what was taken went back to the buyer
	Disputed   State = "disputed"   // the buyer's bank asks for it back
)

// States are all states.
func States() []State {
	return []State{Started, Authorized, Captured, Voided, Failed, Refunded, Disputed}
}

// A Todo is what is still to be done about a payment.
type Todo string

// The todos.
const (
	ToNothing Todo = ""
	ToStart   Todo = "start"   // the provider is asked to open a page; given up when that was cut short, as no buyer can have paid
	ToAwait   Todo = "await"   // the buyer pays or does not
	ToCapture Todo = "capture" // what is held is taken, for the order
	ToRelease Todo = "release" // the buyer gets it all back: what is held is voided, what was taken is refunded
	ToCheck   Todo = "check"   // the provider is asked whether something changed

	unchanged Todo = "unchanged" // in rules: ToRelease stays, anything else was done
)

// A trigger moves a payment: a [Status] that the provider reports, or one of these.
type trigger = Status

const (
	opening   trigger = "opened"      // the provider waits for the buyer
	losing    trigger = "lost"        // the money is held, and the purchase is somebody else's
	refusing  trigger = "refused"     // the provider does not capture what it holds
	releasing trigger = "release"     // the order was undone
	leaving   trigger = "leave"       // the buyer cancelled
	charging  trigger = "charge back" // an operator says that a dispute was lost
)

// A rule is one move of a payment.
type rule struct {
	from   State
	todo   []Todo
	on     trigger
	to     State
	next   Todo
	effect effect
}

// An effect is the call of the consumer in the transaction of a move.
type effect func(ctx context.Context, c Consumer, tx store.Tx, p Payment, by string) error

var (
	idle    = []Todo{ToNothing, ToCheck}
	settled = []Todo{ToNothing, ToCheck, ToRelease}
)

// rules is the whole state machine. What is in no row changes nothing.
var rules = []rule{
	// Before there is money.
	{Started, []Todo{ToStart}, opening, Started, ToAwait, nil},
	{Started, []Todo{ToStart, ToAwait, ToRelease}, Void, Failed, ToNothing, nil},
	{Started, []Todo{ToAwait}, leaving, Started, ToRelease, nil},
	// The money is held: for an order, or for none.
	{Started, []Todo{ToAwait}, Held, Authorized, ToCapture, callRecord},
	{Started, []Todo{ToAwait}, losing, Authorized, ToRelease, nil},
	{Started, []Todo{ToRelease}, Held, Authorized, ToRelease, nil},
	// An order and its capture.
	{Authorized, []Todo{ToCapture}, Taken, Captured, ToNothing, callCaptured},
	{Authorized, []Todo{ToCapture}, Void, Failed, ToNothing, callUncaptured},
	{Authorized, []Todo{ToCapture}, refusing, Failed, ToRelease, callUncaptured},
	{Authorized, []Todo{ToCapture}, releasing, Authorized, ToRelease, nil},
	// The buyer gets it back.
	{Authorized, []Todo{ToRelease}, Void, Voided, ToNothing, nil},
	{Authorized, []Todo{ToRelease}, Taken, Captured, ToRelease, nil},
	{Captured, idle, releasing, Captured, ToRelease, nil},
	{Captured, []Todo{ToRelease}, GivenBack, Refunded, ToNothing, nil},
	{Captured, idle, GivenBack, Refunded, ToNothing, callRefunded},
	// Disputes.
	{Captured, settled, InDispute, Disputed, unchanged, callDisputed},
	{Disputed, settled, Taken, Captured, unchanged, callDisputeWon},
	{Disputed, idle, releasing, Disputed, ToRelease, nil},
	{Disputed, []Todo{ToRelease}, GivenBack, Refunded, ToNothing, nil},
	{Disputed, idle, GivenBack, Refunded, ToNothing, callRefunded},
	{Captured, settled, ChargedBack, Refunded, ToNothing, callChargedBack},
	{Disputed, settled, ChargedBack, Refunded, ToNothing, callChargedBack},
	{Captured, settled, charging, Refunded, ToNothing, callChargedBack},
	{Disputed, settled, charging, Refunded, ToNothing, callChargedBack},
	// Money turns up where none should be: it is let go.
	{Failed, idle, Held, Failed, ToRelease, nil},
	{Failed, []Todo{ToRelease}, Void, Failed, ToNothing, nil},
	{Failed, settled, Taken, Captured, ToRelease, nil},
	{Voided, idle, Held, Voided, ToRelease, nil},
	{Voided, []Todo{ToRelease}, Void, Voided, ToNothing, nil},
	{Voided, settled, Taken, Captured, ToRelease, nil},
}

func ruleFor(from State, todo Todo, on trigger) (rule, bool) {
	i := slices.IndexFunc(rules, func(r rule) bool {
		return r.from == from && r.on == on && slices.Contains(r.todo, todo)
	})
	if i < 0 {
		return rule{}, false
	}
	return rules[i], true
}

// implied is the next thing that must have happened to a payment of the state when its provider reports the status: money
// that was taken was held before, and what is disputed was taken.
func implied(from State, at Status) Status {
	switch from {
	case Started:
		if at == Taken || at == InDispute {
			return Held
		}
		if at == GivenBack || at == ChargedBack { // all of it happened behind our back
			return Void
		}
	case Authorized, Failed, Voided:
		if at == InDispute || at == GivenBack || at == ChargedBack {
			return Taken
		}
	}
	return at
}

// A change is what comes with a move.
type change struct {
	opened  Opened
	charge  string
	failure string
	by      string
	again   bool // there is more to find out
}

// move applies the rule for the trigger to a payment as it was read, in a transaction of its own, and returns it as it is
// afterwards. Ok is false when no rule holds, or somebody else moved the payment meanwhile.
func (s *Service) move(ctx context.Context, p Payment, on trigger, c change) (moved Payment, ok bool, err error) {
	err = s.tx(ctx, p, func(tx store.Tx) error {
		moved, ok, err = s.moveIn(ctx, tx, p, on, c)
		return err
	})
	if errors.Is(err, ErrLost) && on == Held {
		return s.move(ctx, p, losing, c)
	}
	if err != nil {
		return p, false, fmt.Errorf("%s payment %s: %w", on, p.ID, err)
	}
	if !ok {
		return p, false, nil
	}
	if moved.State != p.State {
		s.cfg.Observer.Moved(p.State, moved)
	}
	return moved, true, nil
}

// moveIn is move within a transaction.
func (s *Service) moveIn(ctx context.Context, tx store.Tx, p Payment, on trigger, c change) (moved Payment, ok bool, err error) {
	r, ok := ruleFor(p.State, p.Todo, on)
	if !ok {
		return p, false, nil
	}
	next := r.next
	if next == unchanged {
		if next = ToNothing; p.Todo == ToRelease {
			next = ToRelease
		}
	}
	if next == ToNothing && c.again {
		next = ToCheck
	}
	moved, err = updatePayment(ctx, tx, p, r.to, next, c, s.cfg.Now())
	if store.IsNoRows(err) {
		return p, false, nil
	}
	if err != nil {
		return p, false, err
	}
	if r.effect == nil {
		return moved, true, nil
	}
	if err := r.effect(ctx, s.cfg.Consumer, tx, moved, c.by); err != nil {
		return p, false, err
	}
	if moved, err = selectPayment(ctx, tx, p.ID); err != nil { // with its order
		return p, false, err
	}
	return moved, true, nil
}

func callRecord(ctx context.Context, c Consumer, tx store.Tx, p Payment, _ string) error {
	order, err := c.Record(ctx, tx, p)
	if err != nil {
		return err
	}
	if order == "" {
		return errors.New("the consumer made no order")
	}
	return setOrder(ctx, tx, p.ID, order)
}

func callCaptured(ctx context.Context, c Consumer, tx store.Tx, p Payment, _ string) error {
	return c.Captured(ctx, tx, p)
}

func callUncaptured(ctx context.Context, c Consumer, tx store.Tx, p Payment, _ string) error {
	return c.Uncaptured(ctx, tx, p)
}

func callRefunded(ctx context.Context, c Consumer, tx store.Tx, p Payment, _ string) error {
	if p.OrderID == "" {
		return nil
	}
	return c.Refunded(ctx, tx, p)
}

func callDisputed(ctx context.Context, c Consumer, tx store.Tx, p Payment, by string) error {
	if p.OrderID == "" {
		return nil
	}
	return c.Disputed(ctx, tx, p, by)
}

func callDisputeWon(ctx context.Context, c Consumer, tx store.Tx, p Payment, _ string) error {
	if p.OrderID == "" {
		return nil
	}
	return c.DisputeWon(ctx, tx, p)
}

func callChargedBack(ctx context.Context, c Consumer, tx store.Tx, p Payment, by string) error {
	if p.OrderID == "" {
		return nil
	}
	return c.ChargedBack(ctx, tx, p, by)
}

// Waits between attempts of what failed: they double from the first to the longest.
const (
	firstWait   = time.Second
	longestWait = 10 * time.Minute
	stuckAfter  = 6 // failures in a row, about a minute; and after each doubling
)

// backOff is the wait after so many failures in a row.
func backOff(failures int) time.Duration {
	wait := firstWait
	for ; failures > 1 && wait < longestWait; failures-- {
		wait *= 2
	}
	return min(wait, longestWait)
}

// stuck reports whether so many failures in a row are a reason for an alarm.
func stuck(failures int) bool {
	for ; failures > stuckAfter && failures%2 == 0; failures /= 2 {
	}
	return failures == stuckAfter
}

// lookAgain is how long to wait until a provider is asked again about a buyer who has not paid: the longer ago the payment
// began, the longer.
func lookAgain(age time.Duration) time.Duration {
	return min(max(age/2, 15*time.Second), 5*time.Minute)
}
