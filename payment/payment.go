// Package payment takes money from buyers by a provider: it is held first, taken once there is an order, and let go where
// there is none.
//
// A [Service] stores a row for each [Payment], which is one attempt of a buyer to pay for one purchase. The buyer pays on a page
// of the [Provider]. When the money is held, the [Consumer] makes the order in the transaction that notes it; after its commit
// the money is taken. Who comes too late for a purchase gets nothing and pays nothing: what is held is voided, never taken and
// refunded. So there is never a capture without an order, and no order stays without its capture: when a capture finally fails,
// because the authorisation lapsed or the bank refuses, the consumer cancels the order in the transaction that notes it.
//
// The browser that returns, the provider's notice and the reconciliation of [Service.Run] all lead to [Service.Advance], which
// asks the provider for the status of the payment and does what is still to be done. It may be called at any time, by any caller, any
// number of times at once.
//
// Times are those of the provider's world, the real clock: a partner's test clock does not move a provider.
package payment

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/store"
)

// A Payment is one attempt of a buyer to pay.
type Payment struct {
	ID          string    `json:"payment_id"` // pmt_…
	Partner     string    `json:"partner_id"`
	Environment string    `json:"environment"` // SANDBOX or LIVE
	Purchase    string    `json:"purchase"`    // what is paid for, in the consumer's words
	OrderID     string    `json:"order_id,omitempty"`
	Provider    string    `json:"provider"`
	Reference   string    `json:"provider_reference,omitempty"`
	Charge      string    `json:"provider_charge,omitempty"`
	State       State     `json:"state"`
	Todo        Todo      `json:"todo,omitempty"`
	AmountCents int64     `json:"amount_cents"` // minor units of the currency (ISO 4217)
	Currency    string    `json:"currency"`
	PageURL     string    `json:"-"` // of the provider, where the buyer pays
	Attempts    int       `json:"attempts,omitempty"`
	Failure     string    `json:"failure,omitempty"` // of the last attempt: declined, unavailable, unknown, final, internal
	NextTry     time.Time `json:"next_try,omitzero"` // while something is to be done
	ExpiresAt   time.Time `json:"expires_at"`        // after this the buyer can pay no more
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
}

// Amount is what is paid.
func (p Payment) Amount() money.Amount {
	return money.Amount{Cents: p.AmountCents, Currency: p.Currency}
}

// Lost reports whether the buyer's money was held, or taken, without an order for it: it is or will be let go.
func (p Payment) Lost() bool { return p.OrderID == "" && p.State != Started && p.State != Failed }

// Live reports whether the payment is or may become the one that pays for its purchase.
func (p Payment) Live() bool {
	switch p.State {
	case Started:
		return p.Todo == ToStart || p.Todo == ToAwait
	case Authorized, Captured, Disputed:
		return p.OrderID != "" && p.Todo != ToRelease
	}
	return false
}

// ErrLost is what [Consumer.Record] fails with when the purchase cannot be had any more.
var ErrLost = errors.New("payment: the purchase is lost to somebody else")

// A Consumer is who needs the money. Each method is called within the transaction that moves the payment, for each move once:
// what it writes is committed if and only if the move is. It must not call the [Service] but for [Service.Release], waits for nothing
// but the database, and may run more than once, as functions given to [store.DB.Tx] do. An error undoes the move, which is tried
// again later.
type Consumer interface {
	// Record makes the order for a payment whose money is held, and returns its id. When it fails with [ErrLost], nothing of
	// what it wrote is committed, and the money is let go.
	Record(ctx context.Context, tx store.Tx, p Payment) (order string, err error)
	// Captured is called when the money was taken.
	Captured(ctx context.Context, tx store.Tx, p Payment) error
	// Uncaptured cancels the order: its money could not be taken and never will be.
	Uncaptured(ctx context.Context, tx store.Tx, p Payment) error
	// Refunded cancels the order: somebody gave the money back at the provider. It is not called for what [Service.Release]
	// asked for.
	Refunded(ctx context.Context, tx store.Tx, p Payment) error
	// Disputed is called when the buyer's bank asks for the money back.
	Disputed(ctx context.Context, tx store.Tx, p Payment, by string) error
	// DisputeWon is called when it no longer does.
	DisputeWon(ctx context.Context, tx store.Tx, p Payment) error
	// ChargedBack undoes the order, whatever its state: the buyer's bank took the money back. The order may be undone already.
	ChargedBack(ctx context.Context, tx store.Tx, p Payment, by string) error
}

// ByProvider is who disputes and charges back when no operator does.
const ByProvider = "provider"

// An Observer follows what payments do, for metrics. It must not block.
type Observer interface {
	Moved(from State, p Payment) // after the commit
	Failed(p Payment)            // an attempt of what is to be done
	Stuck(p Payment)             // many attempts in a row failed: somebody should look
}

// Config configures a [Service].
type Config struct {
	DB        *store.DB
	Consumer  Consumer
	Providers map[string]Provider // by environment; one without a provider takes no payments
	Finish    []Provider          // with which no payment is started, but earlier ones are finished
	// Tx runs the transactions that move payments. It should be that of the consumer's orders, which on PostgreSQL lets those of an
	// environment take turns; nil is that of DB.
	Tx       func(ctx context.Context, environment string, fn func(store.Tx) error) error
	Now      func() time.Time // nil: the store's clock
	Logger   *slog.Logger     // nil: silent
	Observer Observer         // nil: none
}

// A Service takes payments. It is safe for concurrent use.
type Service struct {
	cfg       Config
	providers map[string]Provider // by name
	locks     locks
	wake      chan struct{}
}

// New returns a service. It panics where something in cfg is missing, or two providers have one name.
func New(cfg Config) *Service {
	if cfg.DB == nil || cfg.Consumer == nil {
		panic("payment: the configuration is not complete")
	}
	if cfg.Tx == nil {
		cfg.Tx = func(ctx context.Context, _ string, fn func(store.Tx) error) error { return cfg.DB.Tx(ctx, fn) }
	}
	if cfg.Now == nil {
		cfg.Now = cfg.DB.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Observer == nil {
		cfg.Observer = noObserver{}
	}
	s := &Service{cfg: cfg, providers: map[string]Provider{}, wake: make(chan struct{}, 1)}
	for _, p := range cfg.Providers {
		s.add(p)
	}
	for _, p := range cfg.Finish {
		s.add(p)
	}
	return s
}

func (s *Service) add(p Provider) {
	if other, ok := s.providers[p.Name()]; ok && other != p {
		panic("payment: two providers are named " + p.Name())
	}
	s.providers[p.Name()] = p
}

type noObserver struct{}

func (noObserver) Moved(State, Payment) {}
func (noObserver) Failed(Payment)       {}
func (noObserver) Stuck(Payment)        {}

// ErrNoProvider is the failure of a call that needs a provider where none is configured.
var ErrNoProvider = errors.New("payment: no payment provider is configured")

// Takes reports whether payments can be started in the environment.
func (s *Service) Takes(environment string) bool { return s.cfg.Providers[environment] != nil }

// A Request asks for money.
type Request struct {
	Partner     string
	Environment string // SANDBOX or LIVE
	Purchase    string // what is paid for; one is paid once
	Amount      money.Amount
	Title       string // what the buyer reads at the provider, one line
	Email       string // of the buyer, for the provider's form; may be empty; it is not stored
	// Pages are the addresses to which the buyer's browser comes back from the provider: after it paid, and otherwise. Both name
	// the payment, so that the consumer can call [Service.Advance] and [Service.Cancel].
	Pages func(payment string) (returned, cancelled string)
}

// reuse is for how long a page must be good still for a buyer to be sent there again.
const reuse = 5 * time.Minute

// Start begins a payment and returns it, to send the buyer to its PageURL. Where the same purchase is being paid for at the same
// price already, Start returns that payment; where it is paid, too: it is then in a later state than [Started], and the buyer is
// done. A payment in progress at another price is cancelled.
//
// It fails with [ErrNoProvider], and with what [Provider.Start] failed with: after [ErrUnavailable] and [ErrUnknown] the buyer
// may try again in a minute, after [ErrFinal] the amount or the currency cannot be paid there. Then nothing can be paid.
func (s *Service) Start(ctx context.Context, r Request) (Payment, error) {
	provider := s.cfg.Providers[r.Environment]
	if provider == nil {
		return Payment{}, ErrNoProvider
	}
	if r.Amount.Cents <= 0 || r.Amount.Cents > money.MaxCents || r.Purchase == "" || r.Pages == nil {
		return Payment{}, errors.New("start a payment: the request is not complete")
	}
	if p, found, err := s.current(ctx, r, provider.Name()); err != nil || found {
		return p, err
	}
	now := s.cfg.Now()
	p := Payment{
		ID: store.NewID(idPrefix), Partner: r.Partner, Environment: r.Environment, Purchase: r.Purchase, Provider: provider.Name(),
		State: Started, Todo: ToStart, AmountCents: r.Amount.Cents, Currency: r.Amount.Currency,
		NextTry: now.Add(abandoned), ExpiresAt: now.Add(AttemptLife), CreatedAt: now, UpdatedAt: now,
	}
	if err := s.tx(ctx, p, func(tx store.Tx) error { return insertPayment(ctx, tx, p) }); err != nil {
		return Payment{}, fmt.Errorf("start a payment: %w", err)
	}
	returned, cancelled := r.Pages(p.ID)
	call, cancel := context.WithTimeout(ctx, CallTime)
	defer cancel()
	opened, err := provider.Start(call, Opening{
		ID: p.ID, Amount: r.Amount, Title: r.Title, Email: r.Email,
		ReturnURL: returned, CancelURL: cancelled, ExpiresAt: p.ExpiresAt,
	})
	if err != nil {
		if _, _, moved := s.move(context.WithoutCancel(ctx), p, Void, change{failure: failureOf(err)}); moved != nil {
			err = errors.Join(err, moved) // reconciliation ends it
		}
		return Payment{}, fmt.Errorf("start payment %s with %s: %w", p.ID, p.Provider, err)
	}
	p, ok, err := s.move(ctx, p, opening, change{opened: opened})
	if err == nil && !ok {
		err = errors.New("it took too long and was given up")
	}
	if err != nil {
		return Payment{}, fmt.Errorf("start payment %s: %w", p.ID, err)
	}
	return p, nil
}

// current finds the payment of the same purchase that is in progress or through.
func (s *Service) current(ctx context.Context, r Request, provider string) (p Payment, found bool, err error) {
	var all []Payment
	err = s.cfg.DB.Read(ctx, func(tx store.Tx) error {
		all, err = paymentsOf(ctx, tx, r.Purchase)
		return err
	})
	if err != nil {
		return Payment{}, false, fmt.Errorf("payments of a purchase: %w", err)
	}
	for _, p := range all {
		if !p.Live() || p.Todo == ToStart {
			continue
		}
		if p, err = s.Advance(ctx, p.ID); err != nil {
			return Payment{}, false, err
		}
		same := p.Amount() == r.Amount && p.Provider == provider && p.ExpiresAt.Sub(s.cfg.Now()) > reuse
		switch {
		case p.Live() && (p.State != Started || same):
			return p, true, nil
		case p.Live():
			if _, err := s.Cancel(ctx, p.ID); err != nil {
				return Payment{}, false, err
			}
		}
	}
	return Payment{}, false, nil
}

// idPrefix is that of payments.
const idPrefix = "pmt"

// isID reports whether a text has the form of a payment's id; others come from strangers.
func isID(text string) bool {
	_, ok := store.IDTime(idPrefix, text)
	return ok
}

// Get returns a payment. It fails with [fault.NotFound].
func (s *Service) Get(ctx context.Context, id string) (p Payment, err error) {
	if !isID(id) {
		return Payment{}, errNoPayment()
	}
	err = s.cfg.DB.Read(ctx, func(tx store.Tx) error {
		p, err = selectPayment(ctx, tx, id)
		return err
	})
	if store.IsNoRows(err) {
		return Payment{}, errNoPayment()
	}
	if err != nil {
		return Payment{}, fmt.Errorf("read payment %s: %w", id, err)
	}
	return p, nil
}

// tx runs a transaction that moves a payment.
func (s *Service) tx(ctx context.Context, p Payment, fn func(store.Tx) error) error {
	return s.cfg.Tx(ctx, p.Environment, fn)
}
