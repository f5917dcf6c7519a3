// Package checkout is the checkout sessions: links by which partners send their buyers to the service's own checkout, and the orders
// that follow from their payments.
//
// A [Session] is one name for one buyer, good for [SessionLife]. Its link carries a signed token and leads to a page, which
// [Service.View], [Service.Pay], [Service.Return] and [Service.Cancel] serve. When the buyer's money is held, the order is recorded in
// the transaction that moves the payment, and the money is taken after its commit.
//
// Sessions expire by the clock of their partner, which in the sandbox may be ahead of the real one; payments follow the real clock.
package checkout

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/payment"
	"github.com/namewharf/namewharf/store"
)

// Times of a checkout.
const (
	SessionLife = 7 * 24 * time.Hour // the contract's
	OfferLife   = 15 * time.Minute   // for which the form of the page fixes the price
)

// OwnPartner is the id of the built-in partner, whose sessions are those of the service's own pages.
const OwnPartner = "house"

// Environments, as in the other packages.
const (
	sandbox = "SANDBOX"
)

// A Seller is the partner of a session, as the page and the clock need it.
type Seller struct {
	Name      string    // what the buyer reads
	Suspended bool      // its sessions are closed
	Now       time.Time // by its clock
}

// A Locked is the price that a quote of a partner locks.
type Locked struct {
	Number  string
	Domain  fqdn.Name
	Price   money.Amount
	Expires time.Time // by the partner's clock
}

// Sales are the quotes and orders of partners. A failure must not end the transaction unless it is one of the database.
type Sales interface {
	// Seller returns the partner. It fails with [fault.NotFound].
	Seller(ctx context.Context, tx store.Tx, partner, environment string) (Seller, error)
	// Price is what a name costs now. It fails with [fault.NotFound] or [fault.Conflict] for one that is not for sale.
	Price(ctx context.Context, tx store.Tx, environment string, domain fqdn.Name) (money.Amount, error)
	// Locked reads a quote. It fails with [fault.Validation] and [fault.QuoteExpired].
	Locked(ctx context.Context, tx store.Tx, partner, environment, quote string, now time.Time) (Locked, error)
	// QuoteUsed reports whether an order was placed with the quote of a number.
	QuoteUsed(ctx context.Context, tx store.Tx, number string) (bool, error)
	// Check fails with [fault.Validation] for addresses, an e-mail address or a reference that an order does not take, and with
	// [fault.Conflict] for a reference that an order has.
	Check(ctx context.Context, tx store.Tx, r Request) error
	// CheckEmail fails with [fault.Validation] on the field.
	CheckEmail(field, email string) error
	// Record records the order. It fails with [fault.NotFound] or [fault.Conflict] where that is not possible any more.
	Record(ctx context.Context, tx store.Tx, s Sale) (order string, err error)
	// Undo undoes an order whose money did not come or went back, for a reason of the kind. It does nothing for one that is undone.
	Undo(ctx context.Context, tx store.Tx, s Session, why Undoing) error
	// Note writes to the audit log what happened to the payment of an order.
	Note(ctx context.Context, tx store.Tx, by, action, order string, details map[string]any) error
}

// A Sale is what an order is recorded from.
type Sale struct {
	Session Session
	Price   money.Amount // what the buyer paid
	Quote   string       // number of the quote that the price is from; empty: none
	Now     time.Time    // by the partner's clock
}

// An Undoing is why an order is undone.
type Undoing struct {
	By          string // who says so, for the audit log
	Reason      string
	ChargedBack bool
	Uncaptured  bool // the money could not be taken; otherwise it was taken and went back
}

// Referrals attribute sales to tracked links.
type Referrals interface {
	// Began notes that a browser goes on to pay for a session, with the value of its cookie of a link; empty: it has none.
	Began(ctx context.Context, tx store.Tx, cookie string, s Session) error
	// Sold attributes an order of a session, in the order's transaction.
	Sold(ctx context.Context, tx store.Tx, order string, s Sale) error
}

// A Mailer sends a plain-text mail to one recipient. It returns once the mail server has accepted it; its errors do not hold the text.
type Mailer func(ctx context.Context, to, subject, text string) error

// Config configures a [Service]. DB and Sales are required.
type Config struct {
	DB        *store.DB
	Secret    []byte // signs links and offers, the same in all processes; nil: there are none
	BaseURL   string // of the service, without a slash at its end
	Sales     Sales
	Referrals Referrals                   // nil: nothing is attributed
	Mail      Mailer                      // nil: buyers get no receipts
	Providers map[string]payment.Provider // by environment; one without a provider takes no payments
	Finish    []payment.Provider          // with which no payment is started, but earlier ones are finished
	Observer  payment.Observer
	// Tx runs the transactions that record and undo orders, see [payment.Config].
	Tx func(ctx context.Context, environment string, fn func(store.Tx) error) error
	// Events runs fn, which records or undoes an order, and appends its events at the end; nil: fn alone.
	Events func(ctx context.Context, tx store.Tx, fn func(context.Context) error) error
	Now    func() time.Time // nil: the store's clock
	Logger *slog.Logger     // nil: nothing is logged
}

// A Service is the checkout of a service. It is safe for concurrent use.
type Service struct {
	cfg      Config
	payments *payment.Service
	wake     chan struct{} // for receipts
}

// New returns a service. It panics where something in cfg is missing.
func New(cfg Config) *Service {
	if cfg.DB == nil || cfg.Sales == nil {
		panic("checkout: the configuration is not complete")
	}
	if cfg.Events == nil {
		cfg.Events = func(ctx context.Context, _ store.Tx, fn func(context.Context) error) error { return fn(ctx) }
	}
	if cfg.Now == nil {
		cfg.Now = cfg.DB.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Referrals == nil {
		cfg.Referrals = noReferrals{}
	}
	s := &Service{cfg: cfg, wake: make(chan struct{}, 1)}
	s.payments = payment.New(payment.Config{
		DB: cfg.DB, Consumer: consumer{s}, Providers: cfg.Providers, Finish: cfg.Finish, Tx: cfg.Tx, Now: cfg.Now,
		Logger: cfg.Logger, Observer: cfg.Observer,
	})
	return s
}

type noReferrals struct{}

func (noReferrals) Began(context.Context, store.Tx, string, Session) error { return nil }
func (noReferrals) Sold(context.Context, store.Tx, string, Sale) error     { return nil }

// Payments are the payments of sessions.
func (s *Service) Payments() *payment.Service { return s.payments }

// Takes reports whether payments can be started in the environment.
func (s *Service) Takes(environment string) bool { return s.payments.Takes(environment) }

// Run finishes payments and sends receipts until ctx ends. Any number of processes may run it on one database.
func (s *Service) Run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { s.payments.Run(ctx) })
	if s.cfg.Mail != nil {
		running.Go(func() { s.sendReceipts(ctx) })
	}
	running.Wait()
}

// Release gives the buyer of an order that was undone the money back, within the transaction that undoes it.
func (s *Service) Release(ctx context.Context, tx store.Tx, order string) error {
	if err := refund(ctx, tx, order); err != nil {
		return fmt.Errorf("close the session of order %s: %w", order, err)
	}
	return s.payments.Release(ctx, tx, order)
}
