package testprovider

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/store"
)

// A View is what the provider's page shows of a payment.
type View struct {
	ID        string
	Amount    money.Amount
	Title     string
	Step      Step
	Declined  bool // a card was declined, and the buyer may take another
	ReturnURL string
	CancelURL string
	ExpiresAt time.Time
}

// A Step is what the page asks for.
type Step string

// The steps.
const (
	AskCard    Step = "card"
	AskApprove Step = "approve" // the bank asks for another step: approve or refuse
	Done       Step = "done"    // paid: go back to ReturnURL
	Over       Step = "over"    // cancelled, expired or let go: go back to CancelURL
)

// View returns what the page shows. It fails with [fault.NotFound].
func (p *Provider) View(ctx context.Context, id string) (View, error) {
	a, err := p.read(ctx, id)
	if err != nil {
		return View{}, err
	}
	return a.view(), nil
}

func (a attempt) view() View {
	v := View{
		ID: a.id, Amount: a.amount, Title: a.title, Step: Done, Declined: a.declines > 0,
		ReturnURL: a.returnURL, CancelURL: a.cancelURL, ExpiresAt: a.expires,
	}
	switch a.status {
	case open:
		v.Step = AskCard
	case challenged:
		v.Step = AskApprove
	case void:
		v.Step = Over
	}
	return v
}

// Pay pays with a card, and returns what the page shows then: the way back, a further step, or that the card was declined. It fails
// with [fault.Validation] on number, expiry and cvc, and with [fault.NotFound]. Paying what is paid or over changes nothing.
func (p *Provider) Pay(ctx context.Context, id string, c Card) (View, error) {
	class, err := c.class(p.cfg.Now())
	if err != nil {
		return View{}, err
	}
	switch class {
	case declined:
		return p.decline(ctx, id, open)
	case challenge:
		return p.page(p.changeCard(ctx, id, "challenge", challenged, class, open))
	}
	return p.page(p.changeCard(ctx, id, "authorize", authorized, class, open))
}

// Approve takes the further step that the buyer's bank asked for.
func (p *Provider) Approve(ctx context.Context, id string) (View, error) {
	return p.page(p.change(ctx, id, "authorize", authorized, challenged))
}

// Refuse refuses it: the card is declined.
func (p *Provider) Refuse(ctx context.Context, id string) (View, error) {
	return p.decline(ctx, id, challenged)
}

// Leave ends the attempt because its buyer goes back without paying. What is paid stays so.
func (p *Provider) Leave(ctx context.Context, id string) (View, error) {
	return p.page(p.change(ctx, id, "cancel", void, open, challenged))
}

// page is what the page shows after a change, or where it could not be made.
func (p *Provider) page(a attempt, err error) (View, error) {
	if err != nil && !errors.Is(err, errNot) {
		return View{}, err
	}
	return a.view(), nil
}

// decline notes that a card was declined; the buyer may take another.
func (p *Provider) decline(ctx context.Context, id, from string) (View, error) {
	a, err := p.read(ctx, id)
	if err != nil || a.status != from {
		return p.page(a, err)
	}
	err = p.cfg.DB.Tx(ctx, func(tx store.Tx) error {
		now := p.cfg.Now()
		changed, err := declineAttempt(ctx, tx, id, from, now)
		if err != nil || !changed {
			return err
		}
		return insertNotice(ctx, tx, notice{ID: store.NewID("tnt"), Payment: id, Kind: "decline", created: now})
	})
	if err != nil {
		return View{}, fmt.Errorf("decline a card: %w", err)
	}
	p.hint()
	return p.View(ctx, id)
}
