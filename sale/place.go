package sale

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/store"
)

// A Request asks for a sale to be recorded, at the price of a quote or at the current price of a name. If both are given
// they must agree.
type Request struct {
	QuoteID            string
	Domain             string
	ExpectedPrice      int64 // cents; 0: not given
	SalePriceCents     int64 // alias of ExpectedPrice
	Currency           string
	Buyer              Buyer
	ReturnURL          string
	CancelURL          string
	ExternalPaymentRef string // unique to the party
}

// Place records a sale that the partner collected, within a transaction of the caller. It marks the listing as sold, posts to
// the ledger and emits the event. It fails with
//   - [fault.Validation] naming the field, for what is malformed or contradicts itself, and on quote_id for a quote that
//     is forged or of another party, without saying which;
//   - [fault.QuoteExpired] for a quote of more than [QuoteLife] ago;
//   - [fault.NotFound] for a name that was never for sale, and [fault.Conflict] for one that is sold;
//   - [fault.Conflict] for a quote or an external reference that another order has;
//   - [fault.PriceMismatch] for another price or currency than the current one, which is in the details.
func (s *Service) Place(ctx context.Context, tx store.Tx, p Party, r Request, now time.Time) (Order, error) {
	return s.place(ctx, tx, p, r, PartnerCollected, now)
}

// PlacePaid is [Service.Place] for a sale that the service collected: the order starts as [Paid].
func (s *Service) PlacePaid(ctx context.Context, tx store.Tx, p Party, r Request, now time.Time) (Order, error) {
	return s.place(ctx, tx, p, r, ServiceCollected, now)
}

func (s *Service) place(ctx context.Context, tx store.Tx, p Party, r Request, m PaymentModel, now time.Time) (Order, error) {
	w, err := s.check(ctx, tx, p, r, now)
	if err != nil {
		return Order{}, fault.Wrap("check an order", err)
	}
	listing, err := s.cfg.Inventory.Sell(ctx, tx, p.Environment, w.domain, now)
	if notForSale(err) {
		return Order{}, s.whyNotForSale(ctx, tx, p.Environment, w.domain)
	}
	if err != nil {
		return Order{}, fmt.Errorf("sell %s: %w", w.domain, err)
	}
	price := listing.Price
	if w.quote.number != "" {
		price = w.quote.price
	}
	if err := w.agree(price); err != nil {
		return Order{}, err
	}
	status := ExternallyPaid
	if m == ServiceCollected {
		status = Paid
	}
	return s.record(ctx, tx, p, Order{
		Domain: w.domain.String(), ListingID: listing.ID, Status: status, SalePriceCents: price.Cents, Currency: price.Currency,
		PaymentModel: m, ExternalPaymentRef: r.ExternalPaymentRef, Buyer: r.Buyer, ReturnURL: r.ReturnURL, CancelURL: r.CancelURL,
		quote: w.quote.number,
	}, now)
}

// A Collected is a sale whose price the service collected from the buyer.
type Collected struct {
	Domain             fqdn.Name
	Price              money.Amount // what the buyer paid
	Quote              string       // number of the quote that the price is from; empty: none
	Buyer              Buyer
	ReturnURL          string
	CancelURL          string
	ExternalPaymentRef string // unique to the party
}

// Record records a sale that the service collected, as [Service.Place] does one that the party collected. The price is that of r: the
// buyer was shown it, even if the listing costs something else since. It fails with [fault.NotFound] and [fault.Conflict] where the
// name is not for sale any more, and with [fault.Conflict] for a quote or an external reference that another order has.
func (s *Service) Record(ctx context.Context, tx store.Tx, p Party, r Collected, now time.Time) (Order, error) {
	if r.Price.Cents <= 0 || r.Price.Cents > money.MaxCents || r.Price.Currency == "" || r.Domain.IsZero() {
		return Order{}, errors.New("record a sale: it is not complete")
	}
	listing, err := s.cfg.Inventory.Sell(ctx, tx, p.Environment, r.Domain, now)
	if notForSale(err) {
		return Order{}, s.whyNotForSale(ctx, tx, p.Environment, r.Domain)
	}
	if err != nil {
		return Order{}, fmt.Errorf("sell %s: %w", r.Domain, err)
	}
	return s.record(ctx, tx, p, Order{
		Domain: r.Domain.String(), ListingID: listing.ID, Status: Paid, SalePriceCents: r.Price.Cents, Currency: r.Price.Currency,
		PaymentModel: ServiceCollected, ExternalPaymentRef: r.ExternalPaymentRef, Buyer: r.Buyer, ReturnURL: r.ReturnURL, CancelURL: r.CancelURL,
		quote: r.Quote,
	}, now)
}

// record writes a fresh order, posts it and emits its event.
func (s *Service) record(ctx context.Context, tx store.Tx, p Party, o Order, now time.Time) (Order, error) {
	o.CommissionCents = s.cfg.Books.Commission(p, o.PaymentModel, o.Price()).Cents
	o, err := insert(ctx, tx, p, o, now)
	if err != nil {
		return Order{}, fault.Wrap("record an order", err)
	}
	if err := s.cfg.Books.Sold(ctx, tx, p, o); err != nil {
		return Order{}, fmt.Errorf("post the sale of order %s: %w", o.PublicID, err)
	}
	if err := s.emit(ctx, tx, EventRecorded, o, now); err != nil {
		return Order{}, fmt.Errorf("emit the event of order %s: %w", o.PublicID, err)
	}
	return o, nil
}

// errDryRun rolls back the transaction of a dry run.
var errDryRun = errors.New("dry run")

// Try is a dry run of [Service.Place]: it fails where Place would, and else returns the order that Place would record,
// without an id. It stores nothing: it places the order in a transaction of its own and rolls that back.
func (s *Service) Try(ctx context.Context, p Party, r Request, now time.Time) (Order, error) {
	var o Order
	err := s.Tx(ctx, p.Environment, func(tx store.Tx) (err error) {
		if o, err = s.Place(ctx, tx, p, r, now); err != nil {
			return err
		}
		return errDryRun
	})
	if !errors.Is(err, errDryRun) {
		return Order{}, err
	}
	o.PublicID = ""
	return o, nil
}

// wanted is what a request asks for, checked as far as that is possible without the listing.
type wanted struct {
	domain     fqdn.Name
	quote      quote        // without a number: none
	price      money.Amount // each part may be zero: not given
	priceField string       // that the price came in
}

// check reads a request.
func (s *Service) check(ctx context.Context, tx store.Tx, p Party, r Request, now time.Time) (w wanted, err error) {
	w.price = money.Amount{Cents: r.ExpectedPrice, Currency: r.Currency}
	w.priceField = "expected_price"
	if r.SalePriceCents != 0 {
		if r.ExpectedPrice != 0 && r.ExpectedPrice != r.SalePriceCents {
			return wanted{}, fault.Invalid("sale_price_cents", "must be equal to expected_price, or left out")
		}
		w.price.Cents, w.priceField = r.SalePriceCents, "sale_price_cents"
	}
	if w.price.Cents < 0 || w.price.Cents > money.MaxCents {
		return wanted{}, fault.Invalid(w.priceField, "must be from 1 to %d", int64(money.MaxCents))
	}
	if err := r.checkDetails(); err != nil {
		return wanted{}, err
	}
	if r.Domain != "" {
		if w.domain, err = fqdn.Parse(r.Domain); err == nil {
			err = w.domain.Registrable()
		}
		if err != nil {
			return wanted{}, fault.Invalid("domain", "%s", err)
		}
	}
	if r.QuoteID == "" {
		switch {
		case r.Domain == "":
			return wanted{}, fault.Invalid("domain", "is required where there is no quote_id")
		case w.price.Cents == 0:
			return wanted{}, fault.Invalid("expected_price", "is required where there is no quote_id")
		}
		return w, nil
	}
	if w.quote, err = s.keys.read(ctx, tx, p, r.QuoteID); err != nil {
		return wanted{}, err
	}
	switch {
	case r.Domain != "" && w.domain != w.quote.domain:
		return wanted{}, fault.Invalid("domain", "must be that of the quote, or left out")
	case !now.Before(w.quote.expires):
		return wanted{}, w.quote.expired(now)
	}
	w.domain = w.quote.domain
	return w, nil
}

// agree refuses a request with another price or currency than the current one.
func (w wanted) agree(price money.Amount) error {
	of := "the current listing price"
	if w.quote.number != "" {
		of = "the price of the quote"
	}
	mismatch := fault.New(fault.PriceMismatch, "the price sent is not %s, %d in cents of %s", of, price.Cents, price.Currency).
		WithHint("send that price, or ask for a quote")
	wrong := false
	if w.price.Cents != 0 && w.price.Cents != price.Cents {
		mismatch, wrong = mismatch.WithField(w.priceField, fmt.Sprintf("must be %d, %s", price.Cents, of)), true
	}
	if w.price.Currency != "" && w.price.Currency != price.Currency {
		mismatch, wrong = mismatch.WithField("currency", fmt.Sprintf("must be %s, in which %s is %d", price.Currency, of, price.Cents)), true
	}
	if wrong {
		return mismatch
	}
	return nil
}

// insert writes the order and the beginning of its timeline.
func insert(ctx context.Context, tx store.Tx, p Party, o Order, now time.Time) (Order, error) {
	now = store.Time(store.Micros(now))
	o.PublicID, o.Partner, o.Environment = store.NewID("ord"), p.Partner, p.Environment
	o.CreatedAt, o.UpdatedAt, o.version = now, now, stepsAtStart
	if p.Terms.ReviewLimitCents > 0 && o.SalePriceCents > p.Terms.ReviewLimitCents {
		o.Review = Held
	}
	var err error
	if o.Review, err = insertOrder(ctx, tx, o); store.IsNoRows(err) {
		used, err := quoteUsed(ctx, tx, o.quote)
		switch {
		case err != nil:
			return Order{}, err
		case used:
			return Order{}, fault.New(fault.Conflict, "the quote was used by another order").WithHint("ask for a new quote with POST /quotes")
		}
		return Order{}, fault.New(fault.Conflict, "another order has this external_payment_ref").
			WithField("external_payment_ref", "is that of another order").
			WithHint("find it with GET /orders, or send another reference")
	}
	if err != nil {
		return Order{}, err
	}
	if err := addTotals(ctx, tx, o, "", o.Status); err != nil {
		return Order{}, err
	}
	o.Timeline = []Step{{At: now, Type: EventRecorded, Status: o.Status}}
	if o.Review == Held {
		o.Timeline = append(o.Timeline, Step{At: now, Type: stepHeld, Status: o.Status})
	}
	return o, insertSteps(ctx, tx, o.PublicID, 1, o.Timeline...)
}

// stepsAtStart is the most steps that a timeline begins with.
const stepsAtStart = 2

// notForSale reports whether an inventory says that a name is not for sale.
func notForSale(err error) bool {
	return fault.Is(err, fault.NotFound) || fault.Is(err, fault.Conflict)
}

// whyNotForSale is the fault that says why a name is not for sale.
func (s *Service) whyNotForSale(ctx context.Context, tx store.Tx, environment string, domain fqdn.Name) error {
	held, err := sold(ctx, tx, environment, domain.String(), "")
	switch {
	case err != nil:
		return fmt.Errorf("find out why a name is not for sale: %w", err)
	case held:
		return fault.New(fault.Conflict, "the domain is sold").WithHint("look for another with GET /domains/search")
	}
	return fault.New(fault.NotFound, "the domain is not listed for sale")
}
