// Package wiring connects the packages of sales and brokerage to the market, the ledger, the event log and the audit log. The
// partner API and the operator's commands work on these services.
package wiring

import (
	"context"
	"log/slog"
	"net/netip"
	"time"

	"github.com/namewharf/namewharf/audit"
	"github.com/namewharf/namewharf/brokerage"
	"github.com/namewharf/namewharf/event"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/payment/checkout"
	"github.com/namewharf/namewharf/referral"
	"github.com/namewharf/namewharf/sale"
	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/store"
)

// Services are the sale service, the checkout, the brokerage, the referrals and the event log, connected with the market, the ledger and the audit log.
type Services struct {
	Sales    *sale.Service
	Checkout *checkout.Service
	Cases    *brokerage.Service
	Links    *referral.Service
	Events   *event.Log
}

// Config configures [Services]. Allow and what is behind it may be empty.
type Config struct {
	DB     *store.DB
	Keys   *seal.Keys
	Now    func() time.Time
	Logger *slog.Logger
	Allow  []netip.Prefix                  // private addresses to which webhooks may be sent
	Author func(event.Stream) audit.Author // who changes the webhook of a stream, for the audit log

	BaseURL   string // prefix of links, without a slash at the end; needed by programs that make links
	Brokerage Brokerage
	Checkout  Checkout // the zero one starts no payments
}

// New returns the services.
func New(cfg Config) Services {
	events := event.New(event.Config{
		DB: cfg.DB, Now: cfg.Now, Logger: cfg.Logger, Allow: cfg.Allow, Secrets: cfg.Keys,
		Audit: func(ctx context.Context, tx store.Tx, s event.Stream, action, subject string, details map[string]any) error {
			return cfg.Author(s).Record(ctx, tx, action, subject, details)
		},
	})
	refunds := &releases{}
	sales := sale.New(sale.Config{
		DB: cfg.DB, Inventory: inventory{}, Books: postings{cfg.Now}, Events: eventLog{events}, Audit: auditor{cfg.Now},
		Payments: refunds, Keys: cfg.Keys, Now: cfg.Now,
	})
	links := newLinks(cfg)
	return Services{
		Events: events, Sales: sales, Checkout: newCheckout(cfg, sales, links, refunds), Cases: newCases(cfg, sales, events), Links: links,
	}
}

// An auditor records what sales do in the audit log.
type auditor struct{ now func() time.Time }

func (a auditor) Record(ctx context.Context, tx store.Tx, by sale.Actor, action, subject string, details map[string]any) error {
	return audit.Author{Name: by.Name, Reason: by.Reason, Now: a.now}.Record(ctx, tx, action, subject, details)
}

// ActorName returns the name of a partner in the audit log.
func ActorName(partnerID string) string { return "partner " + partnerID }

// Seller returns the party as package sale knows it.
func Seller(p credential.Party) sale.Party {
	return sale.Party{
		Partner: p.Partner, Environment: string(p.Environment),
		Terms: sale.Terms{
			ServiceBP: int64(p.Terms.Rates.Service), PartnerBP: int64(p.Terms.Rates.Partner), ReviewLimitCents: p.Terms.ReviewLimitCents,
		},
	}
}

// Stream returns the event stream of a party.
func Stream(p credential.Party) event.Stream {
	return event.Stream{Partner: p.Partner, Environment: string(p.Environment)}
}

// An inventory is the market as package sale uses it.
type inventory struct{}

func (inventory) Offer(ctx context.Context, tx store.Tx, environment string, domain fqdn.Name) (sale.Listing, error) {
	return listing(market.FindIn(ctx, tx, market.Environment(environment), domain))
}

func (inventory) Sell(ctx context.Context, tx store.Tx, environment string, domain fqdn.Name, now time.Time) (sale.Listing, error) {
	return listing(market.Move(ctx, tx, market.Environment(environment), domain, market.Listed, market.Sold, now))
}

func (inventory) Relist(ctx context.Context, tx store.Tx, environment string, domain fqdn.Name, now time.Time) error {
	_, err := market.Move(ctx, tx, market.Environment(environment), domain, market.Sold, market.Listed, now)
	return err
}

func listing(l market.Listing, err error) (sale.Listing, error) {
	return sale.Listing{ID: l.ID, Price: money.Amount{Cents: l.PriceCents, Currency: l.Currency}}, err
}

// An eventLog is the event log as package sale uses it.
type eventLog struct{ log *event.Log }

func (e eventLog) Emit(ctx context.Context, tx store.Tx, p sale.Party, kind string, data sale.EventData, at time.Time) error {
	return Emit(ctx, tx, true, func(ctx context.Context, tx store.Tx) error {
		_, err := e.log.Append(ctx, tx, event.Stream{Partner: p.Partner, Environment: p.Environment}, kind, data, at)
		return err
	})
}

func (e eventLog) EmitAll(ctx context.Context, tx store.Tx, p sale.Party, kind string, data []sale.EventData, at time.Time) error {
	return Emit(ctx, tx, true, func(ctx context.Context, tx store.Tx) error {
		all := make([]any, len(data))
		for i, d := range data {
			all[i] = d
		}
		return e.log.AppendAll(ctx, tx, event.Stream{Partner: p.Partner, Environment: p.Environment}, kind, all, at)
	})
}
