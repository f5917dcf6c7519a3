package sale_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/namewharf/namewharf/audit"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/ledger"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/sale"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// inventory is the real market's, as a program connects it.
type inventory struct{}

func (inventory) Offer(ctx context.Context, tx store.Tx, environment string, domain fqdn.Name) (sale.Listing, error) {
	l, err := market.FindIn(ctx, tx, market.Environment(environment), domain)
	return listing(l), err
}

func (inventory) Sell(ctx context.Context, tx store.Tx, environment string, domain fqdn.Name, now time.Time) (sale.Listing, error) {
	l, err := market.Move(ctx, tx, market.Environment(environment), domain, market.Listed, market.Sold, now)
	return listing(l), err
}

func (inventory) Relist(ctx context.Context, tx store.Tx, environment string, domain fqdn.Name, now time.Time) error {
	_, err := market.Move(ctx, tx, market.Environment(environment), domain, market.Sold, market.Listed, now)
	return err
}

func listing(l market.Listing) sale.Listing {
	return sale.Listing{ID: l.ID, Price: money.Amount{Cents: l.PriceCents, Currency: l.Currency}}
}

// books are the real ledger.
type books struct{}

func (books) Commission(p sale.Party, m sale.PaymentModel, price money.Amount) money.Amount {
	rate := p.Terms.ServiceBP
	if m == sale.ServiceCollected {
		rate = p.Terms.PartnerBP
	}
	return ledger.BasisPoints(rate).Of(price)
}

func (books) Sold(ctx context.Context, tx store.Tx, p sale.Party, o sale.Order) error {
	owner := ledger.Owner{Partner: o.Partner, Environment: o.Environment}
	if o.PaymentModel == sale.ServiceCollected {
		return ledger.Post(ctx, tx, ledger.Collected(owner, o.PublicID, o.Price(), o.CreatedAt))
	}
	return ledger.Post(ctx, tx, ledger.Sold(owner, o.PublicID, o.Price(), ledger.BasisPoints(p.Terms.ServiceBP), o.CreatedAt))
}

func (books) Completed(context.Context, store.Tx, sale.Order) error { return nil }
func (books) Settled(context.Context, store.Tx, sale.Order) error   { return nil }

func (books) Reverse(ctx context.Context, tx store.Tx, o sale.Order, because sale.Action) error {
	kind := map[sale.Action]ledger.Kind{sale.RefundBuyer: ledger.Refund, sale.Cancel: ledger.Cancellation, sale.ChargeBack: ledger.Chargeback}[because]
	return ledger.Reverse(ctx, tx, ledger.Owner{Partner: o.Partner, Environment: o.Environment}, o.PublicID, kind, o.UpdatedAt)
}

// claims are what the orders say about money.
func claims(ctx context.Context, tx store.Tx, after string, limit int) ([]ledger.Claim, error) {
	orders, err := sale.OrdersAfter(ctx, tx, after, limit)
	all := make([]ledger.Claim, len(orders))
	for i, o := range orders {
		all[i] = ledger.Claim{
			Order: o.PublicID, Owner: ledger.Owner{Partner: o.Partner, Environment: o.Environment}, Price: o.Price(),
			Reversed:  o.Status == sale.Refunded || o.Status == sale.Cancelled,
			Collected: o.PaymentModel == sale.ServiceCollected, Commission: o.CommissionCents,
		}
	}
	return all, err
}

// events are a table, which tests make, with the number of the next event in a row of its own.
type events struct{}

func (events) Emit(ctx context.Context, tx store.Tx, p sale.Party, kind string, data sale.EventData, at time.Time) error {
	var n int64
	err := tx.QueryRow(ctx, `
		INSERT INTO test_streams (partner, last) VALUES ($1, 1)
		ON CONFLICT (partner) DO UPDATE SET last = test_streams.last + 1 RETURNING last`, p.Partner+p.Environment).Scan(&n)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO test_events (partner, number, kind, order_id, status, at) VALUES ($1, $2, $3, $4, $5, $6)`,
		p.Partner+p.Environment, n, kind, data.Order.PublicID, data.Order.Status, store.Micros(at))
	return err
}

func (e events) EmitAll(ctx context.Context, tx store.Tx, p sale.Party, kind string, data []sale.EventData, at time.Time) error {
	for _, d := range data {
		if err := e.Emit(ctx, tx, p, kind, d, at); err != nil {
			return err
		}
	}
	return nil
}

// auditor is the real audit log.
type auditor struct{ now func() time.Time }

func (a auditor) Record(ctx context.Context, tx store.Tx, by sale.Actor, action, subject string, details map[string]any) error {
	return audit.Author{Name: by.Name, Reason: by.Reason, Now: a.now}.Record(ctx, tx, action, subject, details)
}

// A fixture is a sale.Service on a database of the test.
type fixture struct {
	*sale.Service
	testing.TB
	db    *store.DB
	clock *clock
}

// A clock shows the same time until the test moves it.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) move(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(by)
}

var (
	ember = fqdn.MustParse("ember.example")
	party = sale.Party{Partner: "prt_1", Environment: "SANDBOX", Terms: sale.Terms{ServiceBP: 1500}}
	other = sale.Party{Partner: "prt_2", Environment: "SANDBOX", Terms: sale.Terms{ServiceBP: 1500}}
	staff = sale.Actor{Name: "operator ada", Reason: "asked for"}
)

const price = 125000

func onEachEngine(t *testing.T, test func(t *testing.T, s *fixture)) {
	t.Helper()
	storetest.EachConfig(t, func(t *testing.T, cfg store.Config) {
		c := &clock{at: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)}
		cfg.Now = c.now
		test(t, newFixture(t, storetest.Open(t, cfg), c))
	})
}

// newFixture makes a fixture with ember.example for sale.
func newFixture(t testing.TB, db *store.DB, c *clock) *fixture {
	t.Helper()
	s := &fixture{sale.New(sale.Config{DB: db, Inventory: inventory{}, Books: books{}, Events: events{}, Keys: labeller{}, Audit: auditor{c.now}}), t, db, c}
	s.exec(`CREATE TABLE test_streams (partner TEXT PRIMARY KEY, last BIGINT NOT NULL)`)
	s.exec(`CREATE TABLE test_events (partner TEXT, number BIGINT, kind TEXT, order_id TEXT, status TEXT, at BIGINT, PRIMARY KEY (partner, number))`)
	s.list(ember)
	return s
}

func (s *fixture) exec(query string, args ...any) {
	s.Helper()
	if err := s.tx(func(tx store.Tx) error {
		_, err := tx.Exec(context.Background(), query, args...)
		return err
	}); err != nil {
		s.Fatalf("%s: %v", query, err)
	}
}

func (s *fixture) tx(f func(store.Tx) error) error { return s.Tx(context.Background(), "SANDBOX", f) }

// list puts names up for sale by the operator.
func (s *fixture) list(names ...fqdn.Name) {
	s.Helper()
	for _, name := range names {
		err := s.tx(func(tx store.Tx) error {
			_, err := market.Seller{Environment: market.Sandbox, ID: "acc_1"}.Put(s.Context(), tx, []fqdn.Name{name}, money.USD(price), market.Listed, s.clock.now())
			return err
		})
		if err != nil {
			s.Fatalf("list %s: %v", name, err)
		}
	}
}

// names are n names for sale.
func (s *fixture) names(n int) []fqdn.Name {
	s.Helper()
	all := make([]fqdn.Name, n)
	for i := range all {
		all[i] = fqdn.MustParse(fmt.Sprintf("name-%d.example", i))
	}
	err := s.tx(func(tx store.Tx) error {
		_, err := market.Seller{Environment: market.Sandbox, ID: "acc_1"}.Put(context.Background(), tx, all, money.USD(price), market.Listed, s.clock.now())
		return err
	})
	if err != nil {
		s.Fatal(err)
	}
	return all
}

func (s *fixture) place(p sale.Party, r sale.Request) (o sale.Order, err error) {
	err = s.tx(func(tx store.Tx) (err error) {
		o, err = s.Place(context.Background(), tx, p, r, s.clock.now())
		return err
	})
	return o, err
}

func (s *fixture) mustPlace(p sale.Party, name fqdn.Name) sale.Order {
	s.Helper()
	o, err := s.place(p, sale.Request{Domain: name.String(), ExpectedPrice: price})
	if err != nil {
		s.Fatalf("place an order for %s: %v", name, err)
	}
	return o
}

func (s *fixture) mustPlacePaid(p sale.Party, name fqdn.Name) (o sale.Order) {
	s.Helper()
	err := s.tx(func(tx store.Tx) (err error) {
		o, err = s.PlacePaid(context.Background(), tx, p, sale.Request{Domain: name.String(), ExpectedPrice: price}, s.clock.now())
		return err
	})
	if err != nil {
		s.Fatalf("place a paid order for %s: %v", name, err)
	}
	return o
}

func (s *fixture) act(id string, a sale.Action, by sale.Actor) (o sale.Order, err error) {
	err = s.tx(func(tx store.Tx) (err error) {
		o, err = s.Transition(context.Background(), tx, id, a, by, s.clock.now())
		return err
	})
	return o, err
}

func (s *fixture) mustAct(id string, actions ...sale.Action) (o sale.Order) {
	s.Helper()
	for _, a := range actions {
		var err error
		if o, err = s.act(id, a, staff); err != nil {
			s.Fatalf("%s: %v", a, err)
		}
	}
	return o
}

func (s *fixture) quote(p sale.Party, name fqdn.Name) sale.Quote {
	s.Helper()
	q, err := s.Quote(s.Context(), p, name, s.clock.now())
	if err != nil {
		s.Fatalf("quote %s: %v", name, err)
	}
	return q
}

// wantCode checks the code of a failure; the empty code is success.
func (s *fixture) wantCode(what string, err error, want fault.Code) {
	s.Helper()
	var f *fault.Error
	switch {
	case want == "" && err != nil:
		s.Errorf("%s: got %v, want success", what, err)
	case want != "" && (!errors.As(err, &f) || f.Code != want):
		s.Errorf("%s: got %v, want %s", what, err, want)
	}
}

// dump is all that the fixture, the ledger, the market and the events have stored.
func (s *fixture) dump() string {
	s.Helper()
	var b strings.Builder
	err := s.db.Read(s.Context(), func(tx store.Tx) error {
		b.Reset()
		for _, table := range []string{
			"orders", "order_timeline", "refunds", "audit_log", "flagged_domains", "quote_keys",
			"order_totals", "postings", "listings", "listing_changes", "test_streams", "test_events",
		} {
			if err := dumpTable(s.Context(), tx, &b, table); err != nil {
				return fmt.Errorf("%s: %w", table, err)
			}
		}
		return nil
	})
	if err != nil {
		s.Fatalf("dump the database: %v", err)
	}
	return b.String()
}

func dumpTable(ctx context.Context, tx store.Tx, b *strings.Builder, table string) error {
	rows, err := tx.Query(ctx, `SELECT * FROM `+table+` ORDER BY 1, 2`)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			return err
		}
		fmt.Fprint(b, table)
		for i, v := range values {
			fmt.Fprintf(b, " %s=%v", columns[i], *v.(*any))
		}
		b.WriteByte('\n')
	}
	return rows.Err()
}

// An emitted event.
type emitted struct {
	kind   string
	status sale.State
}

// eventsOf are the events of an order, in their order.
func (s *fixture) eventsOf(id string) (all []emitted) {
	s.Helper()
	err := s.db.Read(s.Context(), func(tx store.Tx) error {
		all = nil
		rows, err := tx.Query(s.Context(), `SELECT kind, status FROM test_events WHERE order_id = $1 ORDER BY number`, id)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var e emitted
			if err := rows.Scan(&e.kind, &e.status); err != nil {
				return err
			}
			all = append(all, e)
		}
		return rows.Err()
	})
	if err != nil {
		s.Fatal(err)
	}
	return all
}

// count is the result of a query for one number.
func (s *fixture) count(query string, args ...any) (n int) {
	s.Helper()
	err := s.db.Read(s.Context(), func(tx store.Tx) error { return tx.QueryRow(s.Context(), query, args...).Scan(&n) })
	if err != nil {
		s.Fatalf("%s: %v", query, err)
	}
	return n
}

// status is the status of the listing that was changed last.
func (d *fixture) status(name fqdn.Name) (s string) {
	d.Helper()
	err := d.db.Read(d.Context(), func(tx store.Tx) error {
		return tx.QueryRow(d.Context(), `SELECT status FROM listings WHERE domain = $1 ORDER BY change DESC LIMIT 1`, name.String()).Scan(&s)
	})
	if err != nil {
		d.Fatalf("the listing of %s: %v", name, err)
	}
	return s
}

// wantRight checks the ledger against the orders.
func (s *fixture) wantRight() {
	s.Helper()
	r, err := ledger.Check(s.Context(), s.db, claims)
	if err != nil || len(r.Violations) > 0 {
		s.Errorf("the ledger: got %v, %v, want no violations", r, err)
	}
}
