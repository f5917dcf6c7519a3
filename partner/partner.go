// Package partner is the partner API: its operations, the signatures and rate limits of its requests, and idempotency keys.
//
// A partner's server signs each request with the secret of a credential. [API.Verify] checks the signature, [API.Admit]
// refuses replays and enforces the rate limits, and the operations of [API.Set] do the rest. A write changes orders, ledger
// and events in one transaction, and stores its answer in it for repetitions of the request.
//
// Package signature signs requests, package admission stores nonces and rate limits, package credential looks credentials
// up, and package admin is what the operator does with partners.
package partner

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/namewharf/namewharf/audit"
	"github.com/namewharf/namewharf/brokerage"
	"github.com/namewharf/namewharf/event"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/partner/admission"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/partner/wiring"
	"github.com/namewharf/namewharf/payment"
	"github.com/namewharf/namewharf/payment/checkout"
	"github.com/namewharf/namewharf/payment/testprovider"
	"github.com/namewharf/namewharf/referral"
	"github.com/namewharf/namewharf/sale"
	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/store"
)

// Config configures an [API]. DB, Keys and Market are required.
type Config struct {
	DB     *store.DB
	Keys   *seal.Keys // seal secrets; the same in all processes
	Market *market.Market

	Suffixes *fqdn.Suffixes // public suffixes; nil: the last label is the suffix
	BaseURL  string         // the public address of the service, without a slash at the end; the prefix of links

	Registry brokerage.Registry // says which domains are registered; nil: domains of LIVE are undetermined for the brokerage
	Sites    *brokerage.Sites   // looks at their home pages; nil: the same

	NoLimits bool           // enforce no rate limit
	Webhooks []netip.Prefix // private addresses to which webhooks may be sent

	Payments     payment.Provider // takes payments of LIVE; nil: there are none
	TestPayments bool             // without Payments, the test provider takes those of LIVE too
	Receipts     checkout.Mailer  // nil: buyers get none

	Now    func() time.Time // nil: time.Now
	Logger *slog.Logger     // nil: nothing is logged
}

// An API is the partner API. It is safe for concurrent use; any number of them may share a database.
type API struct {
	cfg         Config
	credentials *credential.Cache
	admission   *admission.Admitter
	sales       *sale.Service
	cases       *brokerage.Service
	links       *referral.Service
	checkout    *checkout.Service
	events      *event.Log
	inventory   *inventory
	set         *op.Set

	testPayments *testprovider.Provider
	sold         chan struct{} // a payment sold a name, or gave one back

	stop    context.CancelFunc
	running sync.WaitGroup
}

// New returns an API and starts its background work: admissions, payments and the delivery of events. Call [API.Close] before the
// market and the database are closed.
func New(ctx context.Context, cfg Config) (*API, error) {
	if cfg.DB == nil || cfg.Keys == nil || cfg.Market == nil {
		return nil, errors.New("partner: a database, keys and a market are needed")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Suffixes == nil {
		cfg.Suffixes = fqdn.NewSuffixes(nil, nil)
	}
	a := &API{cfg: cfg, inventory: newInventory(cfg.Market), sold: make(chan struct{}, 1)}
	payments, err := a.checkoutConfig(ctx)
	if err != nil {
		return nil, err
	}
	services := wiring.New(wiring.Config{
		DB: cfg.DB, Keys: cfg.Keys, Now: cfg.Now, Logger: cfg.Logger, Allow: cfg.Webhooks, Checkout: payments,
		Author: func(s event.Stream) audit.Author {
			return audit.Author{Name: wiring.ActorName(s.Partner), Now: cfg.Now}
		},
		BaseURL:   cfg.BaseURL,
		Brokerage: wiring.Brokerage{Registry: cfg.Registry, Sites: cfg.Sites, NoLimits: cfg.NoLimits},
	})
	a.credentials = credential.NewCache(cfg.DB, cfg.Keys, cfg.Now)
	a.admission = admission.New(admission.Config{DB: cfg.DB, Now: cfg.Now, NoLimits: cfg.NoLimits})
	a.sales, a.events, a.checkout = services.Sales, services.Events, services.Checkout
	a.cases, a.links = services.Cases, services.Links
	if err := a.links.Prepare(ctx); err != nil { // checkouts read their cookies in a transaction
		return nil, err
	}
	a.set = a.operations()
	ctx, a.stop = context.WithCancel(context.WithoutCancel(ctx))
	a.running.Go(func() { a.admission.Run(ctx) })
	a.running.Go(func() { a.links.Run(ctx) })
	a.running.Go(func() {
		if err := a.events.Deliver(ctx); err != nil && ctx.Err() == nil {
			cfg.Logger.ErrorContext(ctx, "events are no longer delivered", "error", err.Error())
		}
	})
	a.running.Go(func() { a.checkout.Run(ctx) })
	a.running.Go(func() { a.testPayments.Run(ctx, a.checkout.Payments().Notice) })
	a.running.Go(func() { a.followPayments(ctx) })
	return a, nil
}

// Close stops the background work and waits for it. Requests that are not admitted by then fail.
func (a *API) Close() {
	a.stop()
	a.running.Wait()
	a.inventory.close()
}

// Cases returns the brokerage, for the buyers' progress pages.
func (a *API) Cases() *brokerage.Service { return a.cases }

// Links returns the tracked links, for visits of them and for checkouts.
func (a *API) Links() *referral.Service { return a.links }

// Set returns the operations of the partner API. They need a context that [API.Verify] returned.
func (a *API) Set() *op.Set { return a.set }

// operations returns those of section 4.1 of the contract, in its order, then those of the sandbox.
func (a *API) operations() *op.Set {
	set := op.NewSet(a.cfg.Now,
		a.searchDomains(),
		a.getDomain(),
		a.availability(),
		a.pricing(),
		a.createQuote(),
		a.createOrder(),
		a.listOrders(),
		a.getOrder(),
		a.listSettlements(),
		a.getSettlement(),
		a.listTransactions(),
		a.listPayouts(),
		a.listCases(),
		a.createRefund(),
		a.createCheckout(),
		a.getCheckout(),
		a.eligibility(),
		a.createCase(),
		a.getCase(),
		a.createLink(),
		a.listLinks(),
		a.clicks(),
		a.referredSales(),
		a.myCommissions(),
		a.myPayouts(),
		a.analytics(),
		a.listEvents(),
		a.putWebhook(),
		a.getWebhook(),
		a.deleteWebhook(),
		a.testWebhook(),
		a.listDeliveries(),
		a.redeliver(),
		a.advanceClock(),
		a.sandboxTransition(),
		a.sandboxCaseTransition(),
	)
	for _, o := range set.All() {
		if o.Route.Method == http.MethodPost && o.Idempotency == op.None {
			panic("partner: " + o.Name + " is a POST that honours no idempotency key")
		}
	}
	return set
}

// Paths of the partner API.
const (
	root     = "/api/partner/v1"
	webhooks = "/api/partner/webhooks"
)

// time returns the time of a party, see [wiring.LocalTime].
func (a *API) time(ctx context.Context, p credential.Party) (now time.Time, err error) {
	if p.Environment != market.Sandbox {
		return a.cfg.Now(), nil
	}
	err = a.cfg.DB.Read(ctx, func(tx store.Tx) error {
		now, err = wiring.LocalTime(ctx, tx, a.cfg.Now(), p)
		return err
	})
	return now, err
}
