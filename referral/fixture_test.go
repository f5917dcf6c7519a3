package referral_test

import (
	"context"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/referral"
	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

var (
	ada = referral.Party{Partner: "prt_ada", Environment: "SANDBOX"}
	bea = referral.Party{Partner: "prt_bea", Environment: "SANDBOX"}

	keys = sync.OnceValue(seal.Random)
)

const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"

// A fixture is a service with a clock of the test, whose shares are 5 %.
type fixture struct {
	*testing.T
	*referral.Service
	db *store.DB

	mu    sync.Mutex
	now   time.Time
	ahead map[string]time.Duration // by partner
}

func newFixture(t *testing.T, db *store.DB) *fixture {
	f := &fixture{T: t, db: db, now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), ahead: map[string]time.Duration{}}
	f.Service = f.another()
	for _, partner := range []string{ada.Partner, bea.Partner} {
		f.affiliate(partner)
	}
	return f
}

// another is a service of another process on the same database.
func (f *fixture) another() *referral.Service {
	return referral.New(referral.Config{
		DB: f.db, Books: f, Keys: keys(), Now: f.clock, BaseURL: "https://names.example",
		Clock: func(_ context.Context, _ store.Tx, p referral.Party) (time.Time, error) { return f.local(p), nil },
	})
}

func each(t *testing.T, test func(f *fixture)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, db *store.DB) { test(newFixture(t, db)) })
}

func (f *fixture) clock() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

func (f *fixture) advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

func (f *fixture) local(p referral.Party) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now.Add(f.ahead[p.Partner])
}

func (f *fixture) Referred(_ context.Context, _ store.Tx, _ referral.Party, _ string, price money.Amount, _ time.Time) (money.Amount, error) {
	return money.Amount{Cents: price.Cents / 20, Currency: price.Currency}, nil
}

func (f *fixture) tx(do func(tx store.Tx) error) error { return f.db.Tx(context.Background(), do) }

func (f *fixture) affiliate(partner string) {
	f.Helper()
	if err := f.tx(func(tx store.Tx) error {
		return referral.LinkAccount(f.Context(), tx, partner, "acc_"+partner, f.clock())
	}); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) create(p referral.Party, r referral.Request) (l referral.Link, err error) {
	err = f.tx(func(tx store.Tx) (err error) {
		l, err = f.Create(f.Context(), tx, p, r, f.local(p))
		return err
	})
	return l, err
}

func (f *fixture) mustCreate(p referral.Party) referral.Link {
	f.Helper()
	l, err := f.create(p, referral.Request{Type: referral.Generic})
	if err != nil {
		f.Fatal(err)
	}
	return l
}

func codeOf(l referral.Link) string { return l.URL[strings.LastIndexByte(l.URL, '/')+1:] }

// person is a visitor who counts.
func person(i int) referral.Visitor {
	return referral.Visitor{Address: netip.AddrFrom4([4]byte{203, byte(i >> 16), byte(i >> 8), byte(i)}), UserAgent: firefox, Counts: true}
}

// visit follows a link and returns the cookie.
func (f *fixture) visit(l referral.Link, by referral.Visitor) string {
	f.Helper()
	v, err := f.Visit(f.Context(), codeOf(l), by)
	if err != nil {
		f.Fatal(err)
	}
	return v.Cookie
}

// written has the services write all clicks.
func (f *fixture) written(services ...*referral.Service) {
	f.Helper()
	for _, s := range append(services, f.Service) {
		if err := s.Flush(f.Context()); err != nil {
			f.Error(err)
		}
	}
}

func (f *fixture) count(query string, args ...any) (n int) {
	f.Helper()
	err := f.db.Read(f.Context(), func(tx store.Tx) error { return tx.QueryRow(f.Context(), query, args...).Scan(&n) })
	if err != nil {
		f.Fatal(err)
	}
	return n
}

// buy checks out in a session of a partner and places an order.
func (f *fixture) buy(cookie, checkout, partner string, cents int64, currency string) {
	f.Helper()
	err := f.tx(func(tx store.Tx) error {
		if err := f.Checkout(f.Context(), tx, cookie, referral.Checkout{ID: checkout, Partner: partner, Environment: "SANDBOX"}); err != nil {
			return err
		}
		return f.Attribute(f.Context(), tx, referral.Order{
			ID: "ord_" + checkout, Checkout: checkout, Domain: "brewhaven.example", Price: money.Amount{Cents: cents, Currency: currency},
			BuyerEmail: "jane@example.com",
		})
	})
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) salesOf(p referral.Party) []referral.Sale {
	f.Helper()
	page, err := f.Sales(f.Context(), p, referral.Window{}, nil, 0)
	if err != nil {
		f.Fatal(err)
	}
	return page.Sales
}

func (f *fixture) wantClicks(what string, p referral.Party, total, unique int64) {
	f.Helper()
	c, err := f.Clicks(f.Context(), p, referral.Window{})
	if err != nil || c.Total != total || c.Unique != unique {
		f.Errorf("%s: %d clicks of %d visitors, %v, want %d of %d", what, c.Total, c.Unique, err, total, unique)
	}
}
