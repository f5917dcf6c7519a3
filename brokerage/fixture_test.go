package brokerage_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/namewharf/namewharf/brokerage"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

var (
	ada   = brokerage.Party{Partner: "prt_ada", Environment: "SANDBOX"}
	bea   = brokerage.Party{Partner: "prt_bea", Environment: "SANDBOX"}
	alive = brokerage.Party{Partner: "prt_ada", Environment: "LIVE"}
	staff = brokerage.Actor{Name: "grace", Reason: "ticket 4711"}
)

var keys = sync.OnceValue(seal.Random)

// A fixture is a service whose neighbours are played by the test.
type fixture struct {
	*testing.T
	*brokerage.Service
	db *store.DB

	mu       sync.Mutex
	now      time.Time
	listed   map[string]bool
	registry brokerage.Registration
	events   []brokerage.EventData
	audit    []string
	fail     error // of events
}

func newFixture(t *testing.T, db *store.DB, tweaks ...func(*brokerage.Config)) *fixture {
	f := &fixture{T: t, db: db, now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), listed: map[string]bool{}}
	cfg := brokerage.Config{
		DB: db, Market: f, Registry: f, Books: f, Events: f, Audit: auditor{f}, Keys: keys(), BaseURL: "https://names.example",
		Clock: func(context.Context, store.Tx, brokerage.Party) (time.Time, error) { return f.clock(), nil },
	}
	for _, tweak := range tweaks {
		tweak(&cfg)
	}
	f.Service = brokerage.New(cfg)
	return f
}

// each runs a test on both engines.
func each(t *testing.T, test func(f *fixture), tweaks ...func(*brokerage.Config)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, db *store.DB) { test(newFixture(t, db, tweaks...)) })
}

func (f *fixture) clock() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(time.Second)
	return f.now
}

func (f *fixture) Listed(_ context.Context, _ store.Tx, environment string, domain fqdn.Name) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.listed[environment+" "+domain.String()], nil
}

func (f *fixture) Registration(context.Context, fqdn.Name) brokerage.Registration { return f.registry }

// Completed gives the partner 20 % of 15 %.
func (f *fixture) Completed(_ context.Context, _ store.Tx, _ brokerage.Party, _ string, price money.Amount, _ time.Time) (money.Amount, error) {
	return money.Amount{Cents: price.Cents * 3 / 100, Currency: price.Currency}, nil
}

func (f *fixture) Emit(_ context.Context, _ store.Tx, _ brokerage.Party, kind string, data brokerage.EventData, _ time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if kind != brokerage.EventCompleted {
		return errors.New("another event: " + kind)
	}
	f.events = append(f.events, data)
	return f.fail
}

type auditor struct{ *fixture }

func (a auditor) Record(_ context.Context, _ store.Tx, by brokerage.Actor, action, _ string, _ map[string]any) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.audit = append(a.audit, by.Name+" "+action)
	return nil
}

func request(domain string, tier brokerage.Tier) brokerage.Request {
	return brokerage.Request{Domain: fqdn.MustParse(domain), Tier: tier, BuyerEmail: "buyer@shop.example", Budget: money.Amount{Cents: 500_000, Currency: "EUR"}}
}

func (f *fixture) open(ctx context.Context, p brokerage.Party, r brokerage.Request) (c brokerage.Case, err error) {
	err = f.db.Tx(ctx, func(tx store.Tx) (err error) {
		c, err = f.Open(ctx, tx, p, r, f.clock())
		return err
	})
	return c, err
}

func (f *fixture) mustOpen(domain string, tier brokerage.Tier) brokerage.Case {
	f.Helper()
	c, err := f.open(f.Context(), ada, request(domain, tier))
	if err != nil {
		f.Fatalf("open a case for %s: %v", domain, err)
	}
	return c
}

func (f *fixture) act(id string, change brokerage.Change, by brokerage.Actor) (c brokerage.Case, err error) {
	err = f.db.Tx(f.Context(), func(tx store.Tx) (err error) {
		c, err = f.Transition(f.Context(), tx, id, change, by, f.clock())
		return err
	})
	return c, err
}

func (f *fixture) mustAct(id string, changes ...brokerage.Change) (c brokerage.Case) {
	f.Helper()
	for _, change := range changes {
		var err error
		if c, err = f.act(id, change, staff); err != nil {
			f.Fatalf("%s: %v", change.Action, err)
		}
	}
	return c
}

// wantCode checks the code of a failure; the empty code is success.
func (f *fixture) wantCode(what string, err error, want fault.Code) {
	f.Helper()
	var got *fault.Error
	switch {
	case want == "" && err != nil:
		f.Errorf("%s: got %v, want success", what, err)
	case want != "" && (!errors.As(err, &got) || got.Code != want):
		f.Errorf("%s: got %v, want %s", what, err, want)
	}
}
