package wiring

import (
	"context"
	"time"

	"github.com/namewharf/namewharf/audit"
	"github.com/namewharf/namewharf/brokerage"
	"github.com/namewharf/namewharf/event"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/ledger"
	"github.com/namewharf/namewharf/lookup"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/sale"
	"github.com/namewharf/namewharf/store"
)

// Brokerage is what the brokerage needs of a program that opens cases. A program that only changes them needs none of it.
type Brokerage struct {
	Registry brokerage.Registry // nil: domains of LIVE are undetermined
	Sites    *brokerage.Sites   // the same
	NoLimits bool               // on offers in a time
}

// brokerageFee is the service's fee on the agreed price of a deal.
const brokerageFee ledger.BasisPoints = 1500

func newCases(cfg Config, sales *sale.Service, events *event.Log) *brokerage.Service {
	return brokerage.New(brokerage.Config{
		DB: cfg.DB, Market: listings{}, Registry: cfg.Brokerage.Registry, Sites: cfg.Brokerage.Sites, Books: deals{}, Events: caseEvents{events},
		Audit: caseAuditor{cfg.Now}, Keys: cfg.Keys, Tx: sales.Tx, BaseURL: cfg.BaseURL, NoLimits: cfg.Brokerage.NoLimits,
		Clock: func(ctx context.Context, tx store.Tx, p brokerage.Party) (time.Time, error) {
			return LocalTime(ctx, tx, cfg.Now(), credential.Party{Partner: p.Partner, Environment: credential.Environment(p.Environment)})
		},
	})
}

// Broker returns the party as package brokerage knows it.
func Broker(p credential.Party) brokerage.Party {
	return brokerage.Party{Partner: p.Partner, Environment: string(p.Environment)}
}

// listings is the market as package brokerage uses it.
type listings struct{}

func (listings) Listed(ctx context.Context, tx store.Tx, environment string, domain fqdn.Name) (bool, error) {
	return market.IsListed(ctx, tx, market.Environment(environment), domain)
}

// Registry is the look-up service as package brokerage uses it.
func Registry(l *lookup.Service) brokerage.Registry { return registry{l} }

type registry struct{ lookup *lookup.Service }

func (r registry) Registration(ctx context.Context, domain fqdn.Name) brokerage.Registration {
	a, err := r.lookup.Domain(ctx, domain)
	if err != nil {
		return brokerage.Registration{}
	}
	var found brokerage.Registration
	switch a.Status {
	case lookup.Registered, lookup.Expiring:
		found.State = brokerage.IsRegistered
	case lookup.Available, lookup.Reserved:
		found.State = brokerage.NotRegistered
	}
	for _, n := range a.Record.Nameservers {
		found.Nameservers = append(found.Nameservers, n.Host)
	}
	return found
}

// deals is the ledger as package brokerage uses it.
type deals struct{}

func (deals) Completed(ctx context.Context, tx store.Tx, p brokerage.Party, caseID string, price money.Amount, at time.Time) (money.Amount, error) {
	rate, err := rateOf(ctx, tx, p.Partner, "broker_bp")
	if err != nil {
		return money.Amount{}, err
	}
	share := rate.Of(brokerageFee.Of(price))
	_, err = ledger.Accrue(ctx, tx, ledger.Commission{
		Owner: ledger.Owner{Partner: p.Partner, Environment: p.Environment}, Source: ledger.Brokerage, Case: caseID, Amount: share, At: at,
	})
	return share, err
}

// caseEvents is the event log as package brokerage uses it.
type caseEvents struct{ log *event.Log }

func (e caseEvents) Emit(ctx context.Context, tx store.Tx, p brokerage.Party, kind string, data brokerage.EventData, at time.Time) error {
	return Emit(ctx, tx, false, func(ctx context.Context, tx store.Tx) error {
		_, err := e.log.Append(ctx, tx, event.Stream{Partner: p.Partner, Environment: p.Environment}, kind, data, at)
		return err
	})
}

// caseAuditor records in the audit log what happens to cases.
type caseAuditor struct{ now func() time.Time }

func (a caseAuditor) Record(ctx context.Context, tx store.Tx, by brokerage.Actor, action, subject string, details map[string]any) error {
	return audit.Author{Name: by.Name, Reason: by.Reason, Now: a.now}.Record(ctx, tx, action, subject, details)
}
