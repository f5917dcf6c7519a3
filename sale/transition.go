package sale

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/store"
)

// An Action is what is done to an order.
type Action string

// The actions.
const (
	StartTransfer   Action = "start-transfer"
	ConfirmTransfer Action = "confirm-transfer" // the name is at the partner's registrar
	Settle          Action = "settle"
	RefundBuyer     Action = "refund" // in full
	Cancel          Action = "cancel"
	ChargeBack      Action = "charge-back" // the buyer's bank took back what the service collected
	Hold            Action = "hold"        // for manual review
	Clear           Action = "clear"
)

// Schema is the list of actions.
func (Action) Schema() *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, t := range transitions {
		s.Enum = append(s.Enum, string(t.action))
	}
	return s
}

// A stateTransition is a row of the transition table: what an action needs of an order, and what it does to it.
type stateTransition struct {
	action   Action
	from     []State
	reviews  []Review     // needed
	model    PaymentModel // needed; empty: any
	to       State        // empty: the state stays
	review   Review       // empty: the review stays
	event    string       // emitted; empty: none
	step     string       // in the timeline
	reverses bool         // the sale is reversed in the ledger and the name, unless it was delivered, is for sale again
}

var (
	start     = []State{ExternallyPaid, Paid}
	beforeEnd = []State{ExternallyPaid, Paid, TransferInProgress} // before the name is delivered
	unheld    = []Review{"", ReviewDone}
	anyReview = []Review{"", Held, ReviewDone}

	charged = []State{Paid, TransferInProgress, TransferCompleted, Settled}
)

// transitions is the transition table. What is in no row is not allowed.
var transitions = []stateTransition{
	{action: StartTransfer, from: start, reviews: unheld, to: TransferInProgress, event: EventTransferStarted, step: EventTransferStarted},
	{action: ConfirmTransfer, from: []State{TransferInProgress}, reviews: anyReview, to: TransferCompleted, event: EventTransferCompleted, step: EventTransferCompleted},
	{action: Settle, from: []State{TransferCompleted}, reviews: anyReview, to: Settled, event: EventSettled, step: EventSettled},
	{action: RefundBuyer, from: beforeEnd, reviews: anyReview, to: Refunded, event: EventRefunded, step: EventRefunded, reverses: true},
	{action: Cancel, from: beforeEnd, reviews: anyReview, to: Cancelled, event: EventRefunded, step: stepCancelled, reverses: true},
	{action: ChargeBack, from: charged, reviews: anyReview, model: ServiceCollected, to: Refunded, event: EventRefunded, step: stepChargedBack, reverses: true},
	{action: Hold, from: start, reviews: unheld, review: Held, step: stepHeld},
	{action: Clear, from: start, reviews: []Review{Held}, review: ReviewDone, event: EventReviewCleared, step: EventReviewCleared},
}

// Steps that have no event of their own.
const (
	stepHeld        = "order.manual_review_held"
	stepCancelled   = "order.cancelled"
	stepChargedBack = "order.charged_back"
)

func transitionOf(a Action) (stateTransition, bool) {
	i := slices.IndexFunc(transitions, func(t stateTransition) bool { return t.action == a })
	if i < 0 {
		return stateTransition{}, false
	}
	return transitions[i], true
}

// Next is the action that takes an order one state on, towards [Settled]; ok is false at an end.
func (s State) Next() (a Action, ok bool) {
	for _, t := range transitions {
		if t.to != "" && !t.reverses && slices.Contains(t.from, s) {
			return t.action, true
		}
	}
	return "", false
}

// An Actor is who acts on orders.
type Actor struct {
	Name   string // for the audit log
	Reason string // for the audit log and the refund; may be empty
	Party  Party  // whose orders the actor sees; zero: all
}

// Transition does an action to an order within a transaction of the caller, and returns the changed order with its
// timeline. One statement checks and changes the state, so that one of several concurrent actions succeeds. It fails with
// [fault.NotFound] for an order that the actor does not see, and with [fault.Conflict] when the state of the order does not
// allow the action; then nothing is changed.
func (s *Service) Transition(ctx context.Context, tx store.Tx, id string, a Action, by Actor, now time.Time) (Order, error) {
	t, ok := transitionOf(a)
	if !ok {
		return Order{}, fault.Invalid("action", "is not an action of an order")
	}
	o, _, err := s.transition(ctx, tx, id, t, by, now)
	return o, err
}

// A Refund is money given back to a buyer, in the words of the wire.
type Refund struct {
	RefundID    string    `json:"refund_id"`
	Order       Order     `json:"order"`
	AmountCents int64     `json:"amount_cents"`
	Currency    string    `json:"currency"`
	CreatedAt   time.Time `json:"created_at"`

	reason string
}

// MaxReason is the length of a reason in bytes.
const MaxReason = 1000

// Refund refunds an order of the party in full, as [Service.Transition] does, at the request of the partner. It fails with
// [fault.Conflict] for an order that the service collected: its refund is the operator's.
func (s *Service) Refund(ctx context.Context, tx store.Tx, p Party, id, reason string, now time.Time) (Refund, error) {
	if len(reason) > MaxReason {
		return Refund{}, fault.Invalid("reason", "must be at most %d bytes", MaxReason)
	}
	t, _ := transitionOf(RefundBuyer)
	t.model = PartnerCollected
	_, r, err := s.transition(ctx, tx, id, t, Actor{Name: "partner " + p.Partner, Reason: reason, Party: p}, now)
	return r, err
}

// transition is [Service.Transition]; the refund is zero unless the action is [RefundBuyer].
func (s *Service) transition(ctx context.Context, tx store.Tx, id string, t stateTransition, by Actor, now time.Time) (o Order, r Refund, err error) {
	o, err = move(ctx, tx, id, t, by.Party, now)
	if store.IsNoRows(err) {
		return Order{}, Refund{}, s.refusal(ctx, tx, id, t, by.Party)
	}
	if err != nil {
		return Order{}, Refund{}, fmt.Errorf("%s order %s: %w", t.action, id, err)
	}
	if r, err = s.follow(ctx, tx, &o, t, by, o.UpdatedAt); err != nil {
		return Order{}, Refund{}, fault.Wrap(fmt.Sprintf("%s order %s", t.action, id), err)
	}
	return o, r, nil
}

// move changes the state of an order if the transition allows it. The time of the change is now or, if the clock went
// back, that of the last change. It fails with [sql.ErrNoRows] otherwise.
func move(ctx context.Context, tx store.Tx, id string, t stateTransition, p Party, now time.Time) (Order, error) {
	args := []any{id, t.to, t.review, store.Micros(now), TransferCompleted}
	in := func(values ...string) string {
		first := len(args) + 1
		for _, v := range values {
			args = append(args, v)
		}
		return "IN (" + store.Binds(first, len(values)) + ")"
	}
	where := "id = $1 AND status " + in(texts(t.from)...) + " AND review " + in(texts(t.reviews)...)
	if t.model != "" {
		where += " AND payment_model " + in(string(t.model))
	}
	condition, own := ofParty(p, len(args)+1)
	return scanOrder(tx.QueryRow(ctx, `
		UPDATE orders SET
			status = CASE WHEN $2 = '' THEN status ELSE $2 END,
			review = CASE WHEN $3 = '' THEN review ELSE $3 END,
			completed_at = CASE WHEN $2 <> $5 THEN completed_at WHEN updated_at > $4 THEN updated_at ELSE $4 END,
			updated_at = CASE WHEN updated_at > $4 THEN updated_at ELSE $4 END, version = version + 1
		WHERE `+where+` AND `+condition+`
		RETURNING `+orderColumns, append(args, own...)...).Scan)
}

func texts[T ~string](values []T) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = string(v)
	}
	return all
}

// follow records a transition and runs its effects: timeline, refund, ledger, relisting, audit, and the event last.
func (s *Service) follow(ctx context.Context, tx store.Tx, o *Order, t stateTransition, by Actor, now time.Time) (refund Refund, err error) {
	if err := insertSteps(ctx, tx, o.PublicID, o.version, Step{At: now, Type: t.step, Status: o.Status}); err != nil {
		return Refund{}, err
	}
	if err := addTimelines(ctx, tx, []*Order{o}); err != nil {
		return Refund{}, err
	}
	before := o.statusBefore()
	if err := addTotals(ctx, tx, *o, before, o.Status); err != nil {
		return Refund{}, err
	}
	if t.action == RefundBuyer {
		refund = Refund{
			RefundID: store.NewID("ref"), Order: *o, AmountCents: o.SalePriceCents, Currency: o.Currency, CreatedAt: o.UpdatedAt,
			reason: by.Reason,
		}
		if err := insertRefund(ctx, tx, refund); err != nil {
			return Refund{}, err
		}
	}
	if t.reverses {
		if err := s.cfg.Books.Reverse(ctx, tx, *o, t.action); err != nil {
			return Refund{}, err
		}
		if err := s.relist(ctx, tx, *o, now); err != nil {
			return Refund{}, err
		}
		if err := s.release(ctx, tx, *o, t); err != nil {
			return Refund{}, err
		}
	}
	switch {
	case o.Status == before: // a review
	case o.Status == TransferCompleted:
		err = s.cfg.Books.Completed(ctx, tx, *o)
	case o.Status == Settled:
		err = s.cfg.Books.Settled(ctx, tx, *o)
	}
	if err != nil {
		return Refund{}, err
	}
	if err := s.audit(ctx, tx, by, "order."+string(t.action), o.PublicID, o.lastMove()); err != nil {
		return Refund{}, err
	}
	if t.event == "" {
		return refund, nil
	}
	return refund, s.emit(ctx, tx, t.event, *o, now)
}

// statusBefore is the status before the last step of the timeline, empty if there is none.
func (o Order) statusBefore() State {
	if n := len(o.Timeline); n > 1 {
		return o.Timeline[n-2].Status
	}
	return ""
}

// lastMove is what the last step changed, for the audit log.
func (o Order) lastMove() map[string]any {
	details := map[string]any{"after": o.Status}
	if before := o.statusBefore(); before != "" {
		details["before"] = before
	}
	if o.Review != "" {
		details["review"] = o.Review
	}
	return details
}

// release gives the buyer of a reversed order back what the service collected. After a chargeback the bank has done that.
func (s *Service) release(ctx context.Context, tx store.Tx, o Order, t stateTransition) error {
	if o.PaymentModel != ServiceCollected || t.action == ChargeBack || s.cfg.Payments == nil {
		return nil
	}
	return s.cfg.Payments.Release(ctx, tx, o.PublicID)
}

// relist puts the name of a reversed order up for sale again, unless it was delivered to the buyer, or was sold or listed
// again meanwhile.
func (s *Service) relist(ctx context.Context, tx store.Tx, o Order, now time.Time) error {
	if !o.CompletedAt.IsZero() {
		return nil
	}
	held, err := sold(ctx, tx, o.Environment, o.Domain, o.PublicID)
	if err != nil || held {
		return err
	}
	domain, err := fqdn.Parse(o.Domain)
	if err != nil {
		return fmt.Errorf("the domain of an order %w", err)
	}
	if err := s.cfg.Inventory.Relist(ctx, tx, o.Environment, domain, now); !notForSale(err) {
		return err
	}
	return nil
}

// refusal is the fault that says why an order was not changed.
func (s *Service) refusal(ctx context.Context, tx store.Tx, id string, t stateTransition, p Party) error {
	o, err := selectOrder(ctx, tx, p, id)
	switch {
	case store.IsNoRows(err):
		return errNoOrder()
	case err != nil:
		return fmt.Errorf("read an order: %w", err)
	case !slices.Contains(t.from, o.Status):
		return fault.New(fault.Conflict, "the order is %s, which does not allow %s", o.Status, t.action)
	case t.model != "" && t.model != o.PaymentModel:
		return fault.New(fault.Conflict, "the order is %s, which does not allow %s", o.PaymentModel, t.action)
	case o.Review == Held:
		return fault.New(fault.Conflict, "the order is held for review, which does not allow %s", t.action).
			WithHint("wait for the event %s", EventReviewCleared)
	}
	return fault.New(fault.Conflict, "the order is not held for review")
}

func (s *Service) emit(ctx context.Context, tx store.Tx, kind string, o Order, at time.Time) error {
	return s.cfg.Events.Emit(ctx, tx, o.Party(), kind, o.eventData(), at)
}

func (o Order) eventData() EventData {
	o.Buyer, o.ReturnURL, o.CancelURL, o.Timeline = Buyer{}, "", "", nil
	return EventData{Order: o}
}
