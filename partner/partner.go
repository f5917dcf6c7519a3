// Package partner is the partner operations and the signed door they stand behind.
//
// A partner's back end signs each request with the secret of a credential. [API.Verify] holds a request against its
// signature, [API.Admit] lets it through once and as often as its credential may ask, and the operations of [API.Set] do
// the rest. What they sell, post and tell is the business of packages sale, ledger and event; here it is put into one
// transaction, together with the answer that a repetition of the request gets.
//
// Whoever runs the service does so by an [Operator].
package partner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/namewharf/namewharf/audit"
	"github.com/namewharf/namewharf/event"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/partner/admission"
	"github.com/namewharf/namewharf/sale"
	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/store"
)

// Config is what an [API] stands on. DB, Keys and Market are required.
type Config struct {
	DB     *store.DB
	Keys   *seal.Keys // seal secrets; the same in all processes
	Market *market.Market

	Suffixes *fqdn.Suffixes // tell what is registered under what; nil: the last label
	NoLimits bool           // draw nothing from any limit
	Webhooks []netip.Prefix // private addresses to which events may be sent all the same

	Now    func() time.Time // nil: time.Now
	Logger *slog.Logger     // nil: nothing is logged
}

// An API is the partner API. It is safe for concurrent use; any number of them may share a database.
type API struct {
	cfg         Config
	credentials *credentials
	admission   *admission.Admitter
	desk        *sale.Service
	events      *event.Log
	inventory   *inventory
	set         *op.Set

	stop    context.CancelFunc
	running sync.WaitGroup
}

// New returns an API and starts what works in the background: admissions and the courier of events.
// [API.Close] ends it, before the market and the database are closed.
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
	b := newBusiness(cfg.DB, cfg.Keys, cfg.Now, cfg.Logger, cfg.Webhooks, func(s event.Stream) audit.Author {
		return audit.Author{Name: actorOf(s.Partner), Now: cfg.Now}
	})
	a := &API{
		cfg:         cfg,
		credentials: newCredentials(cfg.DB, cfg.Keys, cfg.Now),
		admission:   admission.New(admission.Config{DB: cfg.DB, Now: cfg.Now, NoLimits: cfg.NoLimits}),
		desk:        b.desk,
		events:      b.events,
		inventory:   newInventory(cfg.Market),
	}
	a.set = a.operations()
	ctx, a.stop = context.WithCancel(context.WithoutCancel(ctx))
	a.running.Go(func() { a.admission.Run(ctx) })
	a.running.Go(func() {
		if err := a.events.Deliver(ctx); err != nil && ctx.Err() == nil {
			cfg.Logger.ErrorContext(ctx, "events are no longer delivered", "error", err.Error())
		}
	})
	return a, nil
}

// Close ends what works in the background and waits for it. Requests that are not admitted by then fail.
func (a *API) Close() {
	a.stop()
	a.running.Wait()
	a.inventory.close()
}

// Set is the operations of the partner API. They must be called in a context that [API.Verify] returned.
func (a *API) Set() *op.Set { return a.set }

// operations are those of section 4.1 of the contract, in its order, and what the sandbox has besides.
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
		a.createRefund(),
		a.listEvents(),
		a.putWebhook(),
		a.getWebhook(),
		a.deleteWebhook(),
		a.testWebhook(),
		a.listDeliveries(),
		a.redeliver(),
		a.advanceClock(),
		a.playOrder(),
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

// timeOf is the time by which the party's business goes: a partner that tries things out may have moved it.
func timeOf(ctx context.Context, tx store.Tx, now time.Time, p Party) (time.Time, error) {
	if p.Environment != market.Sandbox {
		return now, nil
	}
	var ahead int64
	if err := tx.QueryRow(ctx, `SELECT sandbox_ahead FROM partners WHERE id = $1`, p.Partner).Scan(&ahead); err != nil {
		return time.Time{}, fmt.Errorf("read a partner's clock: %w", err)
	}
	return now.Add(time.Duration(ahead) * time.Microsecond), nil
}

// time is timeOf outside a transaction.
func (a *API) time(ctx context.Context, p Party) (now time.Time, err error) {
	if p.Environment != market.Sandbox {
		return a.cfg.Now(), nil
	}
	err = a.cfg.DB.Read(ctx, func(tx store.Tx) error {
		now, err = timeOf(ctx, tx, a.cfg.Now(), p)
		return err
	})
	return now, err
}
