// Package testprovider plays a payment provider where no real money moves: in the sandbox and in the demo.
//
// It acts as another company would: what it knows is in tables of its own and survives restarts, it has a page
// where buyers pay (which somebody else draws, with [Provider.View], [Provider.Pay], [Provider.Approve], [Provider.Refuse] and
// [Provider.Leave]), and it sends signed notices. Its cards are those of [Cards]; every other number is refused, real ones above
// all. Card numbers are neither stored nor logged, only how the card behaves.
package testprovider

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/payment"
	"github.com/namewharf/namewharf/store"
)

// Name is stored with payments of this provider.
const Name = "test"

// Config configures a [Provider].
type Config struct {
	DB      *store.DB
	Keys    store.Sealer                // of the secret that signs notices
	PageURL func(payment string) string // where the buyer pays
	Now     func() time.Time            // nil: the store's clock
	Logger  *slog.Logger                // nil: silent
}

// A Provider is the test provider. It is safe for concurrent use.
type Provider struct {
	cfg    Config
	secret []byte
	wake   chan struct{}
}

var (
	_ payment.Provider = (*Provider)(nil)
	_ payment.Disputer = (*Provider)(nil)
)

// New returns the test provider of a database. It panics where something in cfg is missing.
func New(ctx context.Context, cfg Config) (*Provider, error) {
	if cfg.DB == nil || cfg.Keys == nil || cfg.PageURL == nil {
		panic("testprovider: the configuration is not complete")
	}
	if cfg.Now == nil {
		cfg.Now = cfg.DB.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	secret, err := cfg.DB.Secret(ctx, "test provider's notices", cfg.Keys)
	if err != nil {
		return nil, fmt.Errorf("the test provider: %w", err)
	}
	return &Provider{cfg: cfg, secret: secret, wake: make(chan struct{}, 1)}, nil
}

// Name is [Name].
func (p *Provider) Name() string { return Name }

// Statuses of a payment, as this provider knows them.
const (
	open        = "open"
	challenged  = "challenged" // the bank asks the buyer for another step
	authorized  = "authorized"
	captured    = "captured"
	void        = "void"
	refunded    = "refunded"
	disputed    = "disputed"
	chargedBack = "charged_back"
)

// kindDispute is the kind of the notice of a dispute.
const kindDispute = "dispute"

// statuses are the statuses in the words of package payment.
var statuses = map[string]payment.Status{
	open: payment.Open, challenged: payment.Open, authorized: payment.Held, captured: payment.Taken, void: payment.Void,
	refunded: payment.GivenBack, disputed: payment.InDispute, chargedBack: payment.ChargedBack,
}

// Start opens an attempt to pay.
func (p *Provider) Start(ctx context.Context, o payment.Opening) (payment.Opened, error) {
	now := p.cfg.Now()
	err := p.cfg.DB.Tx(ctx, func(tx store.Tx) error {
		return insertAttempt(ctx, tx, attempt{
			id: o.ID, status: open, amount: o.Amount, title: o.Title,
			returnURL: o.ReturnURL, cancelURL: o.CancelURL, expires: o.ExpiresAt, created: now, updated: now,
		})
	})
	if err != nil {
		return payment.Opened{}, broken(err)
	}
	return payment.Opened{Reference: "test_" + o.ID, PageURL: p.cfg.PageURL(o.ID), ExpiresAt: o.ExpiresAt}, nil
}

// Status asks for the status of a payment.
func (p *Provider) Status(ctx context.Context, of payment.Payment) (payment.Report, error) {
	a, err := p.read(ctx, of.ID)
	if err != nil {
		return payment.Report{}, broken(err)
	}
	return a.report(), nil
}

// Capture takes what is held.
func (p *Provider) Capture(ctx context.Context, of payment.Payment) (payment.Report, error) {
	return p.request(ctx, of, "capture", captured, authorized)
}

// Void lets go of what is held, and ends an attempt that is open.
func (p *Provider) Void(ctx context.Context, of payment.Payment) (payment.Report, error) {
	r, err := p.request(ctx, of, "void", void, open, challenged, authorized)
	if errors.Is(err, payment.ErrFinal) {
		return p.Status(ctx, of)
	}
	return r, err
}

// Refund gives back what was taken.
func (p *Provider) Refund(ctx context.Context, of payment.Payment) (payment.Report, error) {
	return p.request(ctx, of, "refund", refunded, captured)
}

// Dispute lets the buyer dispute a payment that was captured, if the card is one that does.
func (p *Provider) Dispute(ctx context.Context, of payment.Payment) error {
	a, err := p.read(ctx, of.ID)
	if err == nil && a.card != disputable {
		err = errNot
	}
	if err == nil {
		_, err = p.change(ctx, of.ID, kindDispute, disputed, captured)
	}
	return broken(err)
}

// EndDispute decides a dispute, for the buyer or not. It fails with [payment.ErrFinal] where there is none.
func (p *Provider) EndDispute(ctx context.Context, id string, forBuyer bool) error {
	to := captured
	if forBuyer {
		to = chargedBack
	}
	_, err := p.change(ctx, id, "dispute ended", to, disputed)
	return broken(err)
}

// request does what a caller of the provider's interface asks for.
func (p *Provider) request(ctx context.Context, of payment.Payment, kind, to string, from ...string) (payment.Report, error) {
	a, err := p.change(ctx, of.ID, kind, to, from...)
	if err != nil {
		return payment.Report{}, broken(err)
	}
	return a.report(), nil
}

// errNot says that the status of a payment does not allow something.
var errNot = errors.New("testprovider: not in this status")

// broken puts a failure in the words of package payment.
func broken(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errNot), fault.Is(err, fault.NotFound):
		return fmt.Errorf("%w: %w", payment.ErrFinal, err)
	}
	return fmt.Errorf("%w: %w", payment.ErrUnavailable, err)
}

// An attempt is what the provider knows of a payment.
type attempt struct {
	id, status, card            string
	declines                    int
	amount                      money.Amount
	title, returnURL, cancelURL string
	expires, created, updated   time.Time
}

func (a attempt) report() payment.Report {
	r := payment.Report{Status: statuses[a.status]}
	if r.Status != payment.Open && r.Status != payment.Void {
		r.Amount, r.Charge = a.amount, "charge_"+a.id
	}
	return r
}

// read returns an attempt; one whose time is over is void. It fails with [fault.NotFound].
func (p *Provider) read(ctx context.Context, id string) (a attempt, err error) {
	if _, ok := store.IDTime("pmt", id); !ok { // what strangers write into the address of the page
		return attempt{}, errNoPayment()
	}
	err = p.cfg.DB.Read(ctx, func(tx store.Tx) error {
		a, err = selectAttempt(ctx, tx, id)
		return err
	})
	if store.IsNoRows(err) {
		return attempt{}, errNoPayment()
	}
	if err != nil {
		return attempt{}, fmt.Errorf("read an attempt to pay: %w", err)
	}
	if (a.status == open || a.status == challenged) && !p.cfg.Now().Before(a.expires) {
		a.status = void
	}
	return a, nil
}

func errNoPayment() error { return fault.New(fault.NotFound, "there is no such payment") }

// change moves an attempt, with a notice of the kind, and returns it; nothing changes where it is there already. It fails with
// errNot and with [fault.NotFound].
func (p *Provider) change(ctx context.Context, id, kind, to string, from ...string) (attempt, error) {
	return p.changeCard(ctx, id, kind, to, "", from...)
}

func (p *Provider) changeCard(ctx context.Context, id, kind, to, card string, from ...string) (a attempt, err error) {
	a, err = p.read(ctx, id)
	if err != nil || a.status == to {
		return a, err
	}
	if a.status == void { // it may have been only a moment ago, by the clock
		return a, errNot
	}
	changed := false
	err = p.cfg.DB.Tx(ctx, func(tx store.Tx) error {
		now := p.cfg.Now()
		changed, err = moveAttempt(ctx, tx, id, to, card, from, now)
		if err != nil || !changed {
			return err
		}
		return insertNotice(ctx, tx, notice{ID: store.NewID("tnt"), Payment: id, Kind: kind, created: now})
	})
	if err != nil {
		return attempt{}, fmt.Errorf("change an attempt to pay: %w", err)
	}
	if a, err = p.read(ctx, id); err != nil {
		return attempt{}, err
	}
	if !changed && a.status != to {
		return a, errNot
	}
	p.hint()
	return a, nil
}

// Notice reads a notice of this provider.
func (p *Provider) Notice(header http.Header, body []byte) (payment.Notice, error) {
	return p.verify(header, body, p.cfg.Now())
}
