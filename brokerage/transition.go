package brokerage

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/store"
)

// An Action is what the operator does to a case.
type Action string

// The actions.
const (
	Contact   Action = "contact"   // the owner was written to
	Negotiate Action = "negotiate" // the owner answered
	Agree     Action = "agree"     // on a price
	Complete  Action = "complete"  // the domain has changed hands
	Close     Action = "close"     // without a deal
)

// A stateTransition is a row of the transition table.
type stateTransition struct {
	action Action
	from   []State
	to     State
}

// transitions is the transition table. What is in no row is not allowed.
var transitions = []stateTransition{
	{Contact, []State{Open}, Contacted},
	{Negotiate, []State{Contacted}, Negotiating},
	{Agree, []State{Negotiating}, Agreed},
	{Complete, []State{Agreed}, Completed},
	{Close, []State{Open, Contacted, Negotiating, Agreed}, Closed},
}

// Next is the action that takes a case one state on, towards [Completed]; ok is false at an end.
func (s State) Next() (a Action, ok bool) {
	for _, t := range transitions {
		if t.action != Close && slices.Contains(t.from, s) {
			return t.action, true
		}
	}
	return "", false
}

// A Change is an action with what belongs to it.
type Change struct {
	Action      Action
	PriceCents  int64  // of [Agree], in the currency of the case
	PublicNote  string // for the buyer and the partner
	PrivateNote string // for operators
}

func (c Change) check(by Actor) error {
	switch {
	case c.Action == Agree && (c.PriceCents < 1 || c.PriceCents > money.MaxCents):
		return fault.Invalid("price_cents", "must be from 1 to %d", int64(money.MaxCents))
	case c.Action != Agree && c.PriceCents != 0:
		return fault.Invalid("price_cents", "belongs to %s only", Agree)
	case c.Action == Close && by.Reason == "":
		return fault.Invalid("reason", "is required to close a case")
	}
	if err := checkNote("public_note", c.PublicNote); err != nil {
		return err
	}
	return checkNote("note", c.PrivateNote)
}

// Transition does an action to a case within a transaction of the caller, and returns the changed case with its timeline. One
// statement checks and changes the state, so that one of several concurrent actions succeeds. Completing a case posts the
// partner's share and emits [EventCompleted]. It fails with [fault.NotFound] for a case that the actor does not see, with
// [fault.Validation], and with [fault.Conflict] when the state of the case does not allow the action.
func (s *Service) Transition(ctx context.Context, tx store.Tx, id string, change Change, by Actor, now time.Time) (Case, error) {
	c, err := s.transition(ctx, tx, id, change, by, now)
	return c, fault.Wrap(fmt.Sprintf("%s case %s", change.Action, id), err)
}

func (s *Service) transition(ctx context.Context, tx store.Tx, id string, change Change, by Actor, now time.Time) (Case, error) {
	at := slices.IndexFunc(transitions, func(t stateTransition) bool { return t.action == change.Action })
	if at < 0 {
		return Case{}, fault.Invalid("action", "is not an action of a case")
	}
	t := transitions[at]
	if err := change.check(by); err != nil {
		return Case{}, err
	}
	before, err := selectCase(ctx, tx, by.Party, id)
	if err != nil {
		return Case{}, caseError("read a case", err)
	}
	c, err := moveCase(ctx, tx, id, t.from, t.to, change.PriceCents, now)
	if store.IsNoRows(err) {
		return Case{}, fault.New(fault.Conflict, "the case is %s, which does not allow %s", before.Status, change.Action)
	}
	if err != nil {
		return Case{}, err
	}
	details := map[string]any{"before": before.Status, "after": c.Status}
	if c.Status == Agreed {
		details["price"] = c.price().String()
	}
	if c.Status == Completed {
		if err := s.complete(ctx, tx, &c); err != nil {
			return Case{}, err
		}
		details["share"] = money.Amount{Cents: c.PartnerShareCents, Currency: c.Currency}.String()
	}
	step := Step{At: c.UpdatedAt, Status: c.Status, Note: change.PublicNote, Private: change.PrivateNote}
	if err := insertStep(ctx, tx, id, c.version, step); err != nil {
		return Case{}, err
	}
	if c.Timeline, err = selectSteps(ctx, tx, id); err != nil {
		return Case{}, err
	}
	if err := s.cfg.Audit.Record(ctx, tx, by, "brokerage."+string(change.Action), id, details); err != nil {
		return Case{}, err
	}
	if c.Status != Completed {
		return c, nil
	}
	return c, s.cfg.Events.Emit(ctx, tx, c.Party(), EventCompleted, EventData{CaseData{
		CaseID: c.CaseID, Domain: c.Domain, Tier: c.Tier, Status: c.Status, PriceCents: c.PriceCents,
		PartnerShareCents: c.PartnerShareCents, Currency: c.Currency,
	}}, c.UpdatedAt)
}

func (c Case) price() money.Amount { return money.Amount{Cents: c.PriceCents, Currency: c.Currency} }

// complete posts the partner's share and notes it in the case.
func (s *Service) complete(ctx context.Context, tx store.Tx, c *Case) error {
	share, err := s.cfg.Books.Completed(ctx, tx, c.Party(), c.CaseID, c.price(), c.UpdatedAt)
	if err != nil {
		return err
	}
	c.PartnerShareCents = share.Cents
	_, err = tx.Exec(ctx, `UPDATE brokerage_cases SET share_cents = $1 WHERE id = $2`, share.Cents, c.CaseID)
	return err
}
