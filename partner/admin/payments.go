package admin

import (
	"context"

	"github.com/namewharf/namewharf/audit"
	"github.com/namewharf/namewharf/event"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/partner/wiring"
	"github.com/namewharf/namewharf/payment"
	"github.com/namewharf/namewharf/payment/testprovider"
)

// Payments is a page of the payments for checkout sessions, the newest first, those that lost included, and the id to go on after.
func (o *Operator) Payments(ctx context.Context, f payment.Filter) ([]payment.Payment, string, error) {
	return o.services.Checkout.Payments().List(ctx, f)
}

// Payment is a payment. It fails with [fault.NotFound].
func (o *Operator) Payment(ctx context.Context, id string) (payment.Payment, error) {
	return o.services.Checkout.Payments().Get(ctx, id)
}

// Dispute plays the buyer's bank, which asks for the money of a payment by the test provider back. It fails with [fault.NotFound], and
// with [fault.Conflict] for a payment that cannot be disputed.
func (o *Operator) Dispute(ctx context.Context, id string) (payment.Payment, error) {
	provider, err := testprovider.New(ctx, testprovider.Config{
		DB: o.db, Keys: o.keys, Now: o.now, PageURL: func(id string) string { return id },
	})
	if err != nil {
		return payment.Payment{}, err
	}
	services := wiring.New(wiring.Config{
		DB: o.db, Keys: o.keys, Now: o.now, Logger: o.logger, Author: func(event.Stream) audit.Author { return o.by },
		Checkout: wiring.Checkout{Finish: []payment.Provider{provider}},
	})
	p, err := services.Checkout.Payments().Dispute(ctx, id, o.by.Name)
	return p, fault.Wrap("dispute a payment", err)
}

// Chargeback notes that a dispute about a payment was lost: its order is undone, whatever its state. It fails with [fault.NotFound],
// and with [fault.Conflict] for a payment that was not captured or went back already.
func (o *Operator) Chargeback(ctx context.Context, id string) (payment.Payment, error) {
	p, err := o.services.Checkout.Payments().Chargeback(ctx, id, o.by.Name)
	return p, fault.Wrap("charge a payment back", err)
}
