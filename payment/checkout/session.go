package checkout

import (
	"context"
	"fmt"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/store"
)

// A Session is one name for one buyer.
type Session struct {
	ID          string // chk_…
	Partner     string
	Environment string
	Domain      fqdn.Name
	Price       money.Amount // when it was made; what was paid once it is paid
	BuyerEmail  string
	ReturnURL   string
	CancelURL   string
	ExternalRef string // the partner's; empty: none
	OrderID     string // once it is paid
	Status      Status
	CreatedAt   time.Time // by the partner's clock, as ExpiresAt
	ExpiresAt   time.Time

	quote Locked // without a number: none
}

// A Status is the state of a session.
type Status string

// The states.
const (
	Open     Status = "open"
	Paid     Status = "paid"
	Refunded Status = "refunded" // the order was undone
	Expired  Status = "expired"  // in no row: an open session whose time is over
)

// idPrefix is that of sessions.
const idPrefix = "chk"

// A Request asks for a session: of a name at its price, or of a quote.
type Request struct {
	Partner     string
	Environment string
	Domain      string
	QuoteID     string
	BuyerEmail  string // may be empty: the page asks for it
	ReturnURL   string
	CancelURL   string
	ExternalRef string // may be empty; one order has it
}

// Create makes a session within a transaction of the caller. It fails with
//   - [fault.Validation] naming the field;
//   - [fault.NotFound] for a name that was never for sale, and [fault.Conflict] for one that is sold;
//   - [fault.QuoteExpired], and [fault.Conflict] for a quote or an external reference that an order has;
//   - [fault.PaymentUnavailable] where no payment provider is configured.
func (s *Service) Create(ctx context.Context, tx store.Tx, r Request, now time.Time) (Session, error) {
	if err := s.cfg.Sales.Check(ctx, tx, r); err != nil {
		return Session{}, err
	}
	session := Session{
		ID: store.NewID(idPrefix), Partner: r.Partner, Environment: r.Environment, BuyerEmail: r.BuyerEmail,
		ReturnURL: r.ReturnURL, CancelURL: r.CancelURL, ExternalRef: r.ExternalRef, Status: Open,
		CreatedAt: store.Time(store.Micros(now)), ExpiresAt: now.Add(SessionLife).Truncate(time.Second),
	}
	var err error
	if r.Domain != "" {
		if session.Domain, err = fqdn.Parse(r.Domain); err == nil {
			err = session.Domain.Registrable()
		}
		if err != nil {
			return Session{}, fault.Invalid("domain", "%s", err)
		}
	}
	switch {
	case r.QuoteID != "":
		if err := s.takeQuote(ctx, tx, &session, r.QuoteID, now); err != nil {
			return Session{}, err
		}
	case r.Domain == "":
		return Session{}, fault.Invalid("domain", "is required where there is no quote_id")
	}
	if session.Price, err = s.price(ctx, tx, session, now); err != nil {
		return Session{}, err
	}
	if !s.Takes(r.Environment) {
		return Session{}, errNoPayments()
	}
	if err := insertSession(ctx, tx, session); err != nil {
		return Session{}, fmt.Errorf("make a checkout session: %w", err)
	}
	return session, nil
}

func errNoPayments() error {
	return fault.New(fault.PaymentUnavailable, "no payment provider is configured for this environment").
		WithHint("collect the payment yourself and record the sale with POST /orders")
}

func (s *Service) takeQuote(ctx context.Context, tx store.Tx, session *Session, id string, now time.Time) error {
	q, err := s.cfg.Sales.Locked(ctx, tx, session.Partner, session.Environment, id, now)
	if err != nil {
		return err
	}
	if !session.Domain.IsZero() && session.Domain != q.Domain {
		return fault.Invalid("domain", "must be that of the quote, or left out")
	}
	switch used, err := s.cfg.Sales.QuoteUsed(ctx, tx, q.Number); {
	case err != nil:
		return err
	case used:
		return fault.New(fault.Conflict, "the quote was used by an order").WithHint("ask for a new quote with POST /quotes")
	}
	session.quote, session.Domain = q, q.Domain
	return nil
}

// price is what the session costs now: the price of its quote while that holds, else the listing's. It fails as [Sales.Price] does
// for a name that is not for sale, with a quote too.
func (s *Service) price(ctx context.Context, tx store.Tx, session Session, now time.Time) (money.Amount, error) {
	price, err := s.cfg.Sales.Price(ctx, tx, session.Environment, session.Domain)
	if err != nil || session.quote.Number == "" || !now.Before(session.quote.Expires) {
		return price, err
	}
	used, err := s.cfg.Sales.QuoteUsed(ctx, tx, session.quote.Number)
	if err == nil && !used {
		price = session.quote.Price
	}
	return price, err
}

// Get returns a session of the partner, open ones with their price of now. It fails with [fault.NotFound].
func (s *Service) Get(ctx context.Context, partner, environment, id string) (Session, error) {
	var session Session
	err := s.cfg.DB.Read(ctx, func(tx store.Tx) error {
		var seller Seller
		var err error
		if session, seller, err = s.find(ctx, tx, id, partner, environment); err != nil {
			return err
		}
		if session.Status != Open {
			return nil
		}
		price, err := s.price(ctx, tx, session, seller.Now)
		switch {
		case err == nil:
			session.Price = price
		case !notForSale(err):
			return err
		}
		if !seller.Now.Before(session.ExpiresAt) {
			session.Status = Expired
		}
		return nil
	})
	return session, fault.Wrap("read a checkout session", err)
}

// find reads a session and its partner. It fails with [fault.NotFound].
func (s *Service) find(ctx context.Context, tx store.Tx, id, partner, environment string) (Session, Seller, error) {
	none := fault.New(fault.NotFound, "there is no such checkout session")
	if _, ok := store.IDTime(idPrefix, id); !ok {
		return Session{}, Seller{}, none
	}
	session, err := selectSession(ctx, tx, id)
	if store.IsNoRows(err) || err == nil && (session.Partner != partner || session.Environment != environment) {
		return Session{}, Seller{}, none
	}
	if err != nil {
		return Session{}, Seller{}, err
	}
	seller, err := s.cfg.Sales.Seller(ctx, tx, partner, environment)
	return session, seller, err
}

// notForSale reports whether an error says that a name is not for sale.
func notForSale(err error) bool {
	return fault.Is(err, fault.NotFound) || fault.Is(err, fault.Conflict)
}
