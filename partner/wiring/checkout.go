package wiring

import (
	"context"
	"time"

	"github.com/namewharf/namewharf/audit"
	"github.com/namewharf/namewharf/event"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/payment"
	"github.com/namewharf/namewharf/payment/checkout"
	"github.com/namewharf/namewharf/referral"
	"github.com/namewharf/namewharf/sale"
	"github.com/namewharf/namewharf/store"
)

// A Checkout configures the checkout of [Services].
type Checkout struct {
	Secret    []byte                                      // signs links; nil: there are none
	Providers map[credential.Environment]payment.Provider // one without a provider takes no payments
	Finish    []payment.Provider                          // with which no payment is started, but earlier ones are finished
	Mail      checkout.Mailer                             // nil: buyers get no receipts
	Observer  payment.Observer                            // nil: none
}

// newCheckout connects the checkout with the sales. Releases is what the sales call.
func newCheckout(cfg Config, sales *sale.Service, links *referral.Service, releases *releases) *checkout.Service {
	providers := map[string]payment.Provider{}
	for env, p := range cfg.Checkout.Providers {
		providers[string(env)] = p
	}
	releases.checkout = checkout.New(checkout.Config{
		DB: cfg.DB, Secret: cfg.Checkout.Secret, BaseURL: cfg.BaseURL, Sales: checkoutSales{cfg, sales}, Referrals: referrals{links},
		Mail: cfg.Checkout.Mail, Providers: providers, Finish: cfg.Checkout.Finish, Observer: cfg.Checkout.Observer,
		Tx: sales.Tx, Events: withOutbox, Now: cfg.Now, Logger: cfg.Logger,
	})
	return releases.checkout
}

// withOutbox runs fn and appends its events at the end.
func withOutbox(ctx context.Context, tx store.Tx, fn func(context.Context) error) error {
	out := &Outbox{}
	if err := fn(WithOutbox(ctx, out)); err != nil {
		return err
	}
	return out.Flush(ctx, tx)
}

// releases give buyers back what the service collected. The checkout is set when it is made, after the sales.
type releases struct{ checkout *checkout.Service }

func (r *releases) Release(ctx context.Context, tx store.Tx, order string) error {
	return r.checkout.Release(ctx, tx, order)
}

// checkoutSales are the sales as package checkout uses them.
type checkoutSales struct {
	cfg   Config
	sales *sale.Service
}

func partyOf(partner, environment string) credential.Party {
	return credential.Party{Partner: partner, Environment: credential.Environment(environment)}
}

func (c checkoutSales) Seller(ctx context.Context, tx store.Tx, partner, environment string) (checkout.Seller, error) {
	row, err := credential.PartnerOf(ctx, tx, partner)
	if err != nil {
		return checkout.Seller{}, err
	}
	now, err := LocalTime(ctx, tx, c.cfg.Now(), partyOf(partner, environment))
	return checkout.Seller{Name: row.Name, Suspended: row.Suspended, Now: now}, err
}

func (c checkoutSales) Price(ctx context.Context, tx store.Tx, environment string, domain fqdn.Name) (money.Amount, error) {
	return c.sales.Price(ctx, tx, environment, domain)
}

func (c checkoutSales) Locked(ctx context.Context, tx store.Tx, partner, environment, quote string, now time.Time) (checkout.Locked, error) {
	q, err := c.sales.Locked(ctx, tx, sale.Party{Partner: partner, Environment: environment}, quote, now)
	return checkout.Locked{Number: q.Number, Domain: q.Domain, Price: q.Price, Expires: q.Expires}, err
}

func (c checkoutSales) QuoteUsed(ctx context.Context, tx store.Tx, number string) (bool, error) {
	return c.sales.QuoteUsed(ctx, tx, number)
}

func (c checkoutSales) CheckEmail(field, email string) error { return sale.CheckEmail(field, email) }

func (c checkoutSales) Check(ctx context.Context, tx store.Tx, r checkout.Request) error {
	if err := sale.CheckURL("return_url", r.ReturnURL); err != nil {
		return err
	}
	if err := sale.CheckURL("cancel_url", r.CancelURL); err != nil {
		return err
	}
	if r.BuyerEmail != "" {
		if err := sale.CheckEmail("buyer_email", r.BuyerEmail); err != nil {
			return err
		}
	}
	if err := sale.CheckReference("external_ref", r.ExternalRef); err != nil || r.ExternalRef == "" {
		return err
	}
	used, err := c.sales.ReferenceUsed(ctx, tx, sale.Party{Partner: r.Partner, Environment: r.Environment}, r.ExternalRef)
	if err == nil && used {
		err = fault.New(fault.Conflict, "an order has this external_ref").WithField("external_ref", "is that of an order").
			WithHint("find it with GET /orders, or send another reference")
	}
	return err
}

func (c checkoutSales) Record(ctx context.Context, tx store.Tx, s checkout.Sale) (string, error) {
	row, err := credential.PartnerOf(ctx, tx, s.Session.Partner)
	if err != nil {
		return "", err
	}
	party := partyOf(s.Session.Partner, s.Session.Environment)
	party.Terms = row.Terms
	o, err := c.sales.Record(ctx, tx, Seller(party), sale.Collected{
		Domain: s.Session.Domain, Price: s.Price, Quote: s.Quote, Buyer: sale.Buyer{Email: s.Session.BuyerEmail},
		ReturnURL: s.Session.ReturnURL, CancelURL: s.Session.CancelURL, ExternalPaymentRef: s.Session.ExternalRef,
	}, s.Now)
	return o.PublicID, err
}

func (c checkoutSales) Undo(ctx context.Context, tx store.Tx, s checkout.Session, why checkout.Undoing) error {
	party := partyOf(s.Partner, s.Environment)
	now, err := LocalTime(ctx, tx, c.cfg.Now(), party)
	if err != nil {
		return err
	}
	action := sale.RefundBuyer
	switch {
	case why.ChargedBack:
		action = sale.ChargeBack
	case why.Uncaptured:
		action = sale.Cancel
	}
	by := sale.Actor{Name: why.By, Reason: c.reason(why.By, why.Reason), Party: Seller(party)}
	_, err = c.sales.Transition(ctx, tx, s.OrderID, action, by, now)
	if fault.Is(err, fault.Conflict) { // it was undone already, or the name was delivered before the money went back
		return c.Note(ctx, tx, why.By, "order."+string(action)+"_ignored", s.OrderID, map[string]any{"reason": why.Reason})
	}
	return err
}

func (c checkoutSales) Note(ctx context.Context, tx store.Tx, by, action, order string, details map[string]any) error {
	return audit.Author{Name: by, Reason: c.reason(by, ""), Now: c.cfg.Now}.Record(ctx, tx, action, order, details)
}

// reason returns the reason that the operator gave if it is the operator who acts, else the given one.
func (c checkoutSales) reason(by, otherwise string) string {
	if author := c.cfg.Author(event.Stream{}); author.Name == by && author.Reason != "" {
		return author.Reason
	}
	return otherwise
}

// referrals are the tracked links as package checkout uses them.
type referrals struct{ links *referral.Service }

func (r referrals) Began(ctx context.Context, tx store.Tx, cookie string, s checkout.Session) error {
	return r.links.Checkout(ctx, tx, cookie, referral.Checkout{ID: s.ID, Partner: s.Partner, Environment: s.Environment})
}

func (r referrals) Sold(ctx context.Context, tx store.Tx, order string, s checkout.Sale) error {
	return r.links.Attribute(ctx, tx, referral.Order{
		ID: order, Checkout: s.Session.ID, Domain: s.Session.Domain.String(), Price: s.Price, BuyerEmail: s.Session.BuyerEmail,
	})
}
