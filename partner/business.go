package partner

import (
	"context"
	"log/slog"
	"net/netip"
	"time"

	"github.com/namewharf/namewharf/audit"
	"github.com/namewharf/namewharf/event"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/ledger"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/sale"
	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/store"
)

// A business is what partners' requests and an operator's commands act on: sales, with the market, the ledger and the
// event log joined to them.
type business struct {
	desk   *sale.Service
	events *event.Log
}

// newBusiness joins them. The author is who changes the webhooks of a stream, for the audit log.
func newBusiness(db *store.DB, keys *seal.Keys, now func() time.Time, log *slog.Logger, allow []netip.Prefix, author func(event.Stream) audit.Author) business {
	events := event.New(event.Config{
		DB: db, Now: now, Logger: log, Allow: allow, Secrets: keys,
		Audit: func(ctx context.Context, tx store.Tx, s event.Stream, action, subject string, details map[string]any) error {
			return author(s).Record(ctx, tx, action, subject, details)
		},
	})
	return business{
		events: events,
		desk: sale.New(sale.Config{
			DB: db, Inventory: shelf{db}, Books: books{}, Events: emitter{events}, Audit: auditor{now},
			Keys: keys, Now: now,
		}),
	}
}

// An auditor is the audit log as sales write to it.
type auditor struct{ now func() time.Time }

func (a auditor) Record(ctx context.Context, tx store.Tx, by sale.Actor, action, subject string, details map[string]any) error {
	return audit.Author{Name: by.Name, Reason: by.Reason, Now: a.now}.Record(ctx, tx, action, subject, details)
}

// actorOf is the name of a partner in the audit log.
func actorOf(partnerID string) string { return "partner " + partnerID }

// seller is the party as package sale knows it.
func (p Party) seller() sale.Party {
	return sale.Party{
		Partner: p.Partner, Environment: string(p.Environment),
		Terms: sale.Terms{ServiceBP: int64(p.Terms.Rates.Service), ReviewLimitCents: p.Terms.ReviewLimitCents},
	}
}

// stream is the party as package event knows it.
func (p Party) stream() event.Stream {
	return event.Stream{Partner: p.Partner, Environment: string(p.Environment)}
}

// A shelf is the market as the inventory of sales.
type shelf struct{ db *store.DB }

func (s shelf) Offer(ctx context.Context, environment string, domain fqdn.Name) (sale.Listing, error) {
	return onShelf(market.Find(ctx, s.db, Environment(environment), domain))
}

func (s shelf) Sell(ctx context.Context, tx store.Tx, environment string, domain fqdn.Name, now time.Time) (sale.Listing, error) {
	return onShelf(market.Move(ctx, tx, Environment(environment), domain, market.Listed, market.Sold, now))
}

func (s shelf) Relist(ctx context.Context, tx store.Tx, environment string, domain fqdn.Name, now time.Time) error {
	_, err := market.Move(ctx, tx, Environment(environment), domain, market.Sold, market.Listed, now)
	return err
}

func onShelf(l market.Listing, err error) (sale.Listing, error) {
	return sale.Listing{ID: l.ID, Price: money.Amount{Cents: l.PriceCents, Currency: l.Currency}}, err
}

// books are the ledger as sales post to it.
type books struct{}

func (books) Sold(ctx context.Context, tx store.Tx, p sale.Party, o sale.Order) error {
	return ledger.Post(ctx, tx, ledger.Sold(owner(p), o.PublicID, o.Price(), ledger.BasisPoints(p.Terms.ServiceBP), o.CreatedAt))
}

func (books) Reverse(ctx context.Context, tx store.Tx, o sale.Order) error {
	kind := ledger.Refund
	if o.Status == sale.Cancelled {
		kind = ledger.Cancellation
	}
	return ledger.Reverse(ctx, tx, owner(o.Party()), o.PublicID, kind, o.UpdatedAt)
}

func owner(p sale.Party) ledger.Owner {
	return ledger.Owner{Partner: p.Partner, Environment: p.Environment}
}

// An emitter is the event log as sales emit to it.
type emitter struct{ log *event.Log }

func (e emitter) Emit(ctx context.Context, tx store.Tx, p sale.Party, kind string, data sale.EventData, at time.Time) error {
	return emit(ctx, tx, true, func(ctx context.Context, tx store.Tx) error {
		_, err := e.log.Append(ctx, tx, event.Stream{Partner: p.Partner, Environment: p.Environment}, kind, data, at)
		return err
	})
}

// claims are what the orders say about money, for the ledger to be held against.
func claims(ctx context.Context, tx store.Tx, after string, limit int) ([]ledger.Claim, error) {
	orders, err := sale.OrdersAfter(ctx, tx, after, limit)
	all := make([]ledger.Claim, len(orders))
	for i, o := range orders {
		all[i] = ledger.Claim{
			Order: o.PublicID, Owner: owner(o.Party()), Price: o.Price(),
			Reversed: o.Status == sale.Refunded || o.Status == sale.Cancelled,
		}
	}
	return all, err
}
