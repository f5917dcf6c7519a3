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
type inventory struct{ db *store.DB }

func (i inventory) Offer(ctx context.Context, environment string, domain fqdn.Name) (sale.Listing, error) {
	l, err := market.Find(ctx, i.db, market.Environment(environment), domain)
	return listing(l), err
}

func (i inventory) Sell(ctx context.Context, tx store.Tx, environment string, domain fqdn.Name, now time.Time) (sale.Listing, error) {
	l, err := market.Move(ctx, tx, market.Environment(environment), domain, market.Listed, market.Sold, now)
	return listing(l), err
}

func (i inventory) Relist(ctx context.Context, tx store.Tx, environment string, domain fqdn.Name, now time.Time) error {
	_, err := market.Move(ctx, tx, market.Environment(environment), domain, market.Sold, market.Listed, now)
	return err
}

func listing(l market.Listing) sale.Listing {
	return sale.Listing{ID: l.ID, Price: money.Amount{Cents: l.PriceCents, Currency: l.Currency}}
}

// books are the real ledger.
type books struct{}

func (books) Sold(ctx context.Context, tx store.Tx, p sale.Party, o sale.Order) error {
	owner := ledger.Owner{Partner: o.Partner, Environment: o.Environment}
	return ledger.Post(ctx, tx, ledger.Sold(owner, o.PublicID, o.Price(), ledger.BasisPoints(p.Terms.ServiceBP), o.CreatedAt))
}

func (books) Reverse(ctx context.Context, tx store.Tx, o sale.Order) error {
	kind := ledger.Refund
	if o.Status == sale.Cancelled {
		kind = ledger.Cancellation
	}
	return ledger.Reverse(ctx, tx, ledger.Owner{Partner: o.Partner, Environment: o.Environment}, o.PublicID, kind, o.UpdatedAt)
}

// claims are what the orders say about money.
func claims(ctx context.Context, tx store.Tx, after string, limit int) ([]ledger.Claim, error) {
	orders, err := sale.OrdersAfter(ctx, tx, after, limit)
	all := make([]ledger.Claim, len(orders))
	for i, o := range orders {
		all[i] = ledger.Claim{
			Order: o.PublicID, Owner: ledger.Owner{Partner: o.Partner, Environment: o.Environment}, Price: o.Price(),
			Reversed: o.Status == sale.Refunded || o.Status == sale.Cancelled,
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

// auditor is the real audit log.
type auditor struct{ now func() time.Time }

func (a auditor) Record(ctx context.Context, tx store.Tx, by sale.Actor, action, subject string, details map[string]any) error {
	return audit.Author{Name: by.Name, Reason: by.Reason, Now: a.now}.Record(ctx, tx, action, subject, details)
}

// A desk is a sale.Desk in a world of the test's.
type desk struct {
	*sale.Service
	testing.TB
	db    *store.DB
	clock *clock
}

// A clock stands until it is moved.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

var (
	ember = fqdn.MustParse("ember.example")
	party = sale.Party{Partner: "prt_1", Environment: "SANDBOX", Terms: sale.Terms{ServiceBP: 1500}}
	other = sale.Party{Partner: "prt_2", Environment: "SANDBOX", Terms: sale.Terms{ServiceBP: 1500}}
	staff = sale.Actor{Name: "operator ada", Reason: "asked for"}
)

const price = 125000

func eachDesk(t *testing.T, test func(t *testing.T, d *desk)) {
	t.Helper()
	storetest.EachConfig(t, func(t *testing.T, cfg store.Config) {
		c := &clock{at: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)}
		cfg.Now = c.now
		test(t, newDesk(t, storetest.Open(t, cfg), c))
	})
}

// newDesk is a desk with ember.example for sale.
func newDesk(t testing.TB, db *store.DB, c *clock) *desk {
	t.Helper()
	d := &desk{sale.New(sale.Config{DB: db, Inventory: inventory{db}, Books: books{}, Events: events{}, Keys: labeller{}, Audit: auditor{c.now}}), t, db, c}
	d.exec(`CREATE TABLE test_streams (partner TEXT PRIMARY KEY, last BIGINT NOT NULL)`)
	d.exec(`CREATE TABLE test_events (partner TEXT, number BIGINT, kind TEXT, order_id TEXT, status TEXT, at BIGINT, PRIMARY KEY (partner, number))`)
	d.list(ember)
	return d
}

func (d *desk) exec(query string, args ...any) {
	d.Helper()
	if err := d.tx(func(tx store.Tx) error {
		_, err := tx.Exec(context.Background(), query, args...)
		return err
	}); err != nil {
		d.Fatalf("%s: %v", query, err)
	}
}

func (d *desk) tx(f func(store.Tx) error) error { return d.Tx(context.Background(), "SANDBOX", f) }

// list puts names up for sale by the operator.
func (d *desk) list(names ...fqdn.Name) {
	d.Helper()
	for _, name := range names {
		err := d.tx(func(tx store.Tx) error {
			_, err := market.Seller{Environment: market.Sandbox, ID: "acc_1"}.Put(d.Context(), tx, []fqdn.Name{name}, money.USD(price), market.Listed, d.clock.now())
			return err
		})
		if err != nil {
			d.Fatalf("list %s: %v", name, err)
		}
	}
}

// names are n names for sale.
func (d *desk) names(n int) []fqdn.Name {
	d.Helper()
	all := make([]fqdn.Name, n)
	for i := range all {
		all[i] = fqdn.MustParse(fmt.Sprintf("name-%d.example", i))
	}
	err := d.tx(func(tx store.Tx) error {
		_, err := market.Seller{Environment: market.Sandbox, ID: "acc_1"}.Put(context.Background(), tx, all, money.USD(price), market.Listed, d.clock.now())
		return err
	})
	if err != nil {
		d.Fatal(err)
	}
	return all
}

func (d *desk) place(p sale.Party, r sale.Request) (o sale.Order, err error) {
	err = d.tx(func(tx store.Tx) (err error) {
		o, err = d.Place(context.Background(), tx, p, r, d.clock.now())
		return err
	})
	return o, err
}

func (d *desk) mustPlace(p sale.Party, name fqdn.Name) sale.Order {
	d.Helper()
	o, err := d.place(p, sale.Request{Domain: name.String(), ExpectedPrice: price})
	if err != nil {
		d.Fatalf("place an order for %s: %v", name, err)
	}
	return o
}

func (d *desk) act(id string, a sale.Action, by sale.Actor) (o sale.Order, err error) {
	err = d.tx(func(tx store.Tx) (err error) {
		o, err = d.Transition(context.Background(), tx, id, a, by, d.clock.now())
		return err
	})
	return o, err
}

func (d *desk) mustAct(id string, actions ...sale.Action) (o sale.Order) {
	d.Helper()
	for _, a := range actions {
		var err error
		if o, err = d.act(id, a, staff); err != nil {
			d.Fatalf("%s: %v", a, err)
		}
	}
	return o
}

func (d *desk) quote(p sale.Party, name fqdn.Name) sale.Quote {
	d.Helper()
	q, err := d.Quote(d.Context(), p, name, d.clock.now())
	if err != nil {
		d.Fatalf("quote %s: %v", name, err)
	}
	return q
}

// wantCode checks the code of a failure; the empty code is success.
func (d *desk) wantCode(what string, err error, want fault.Code) {
	d.Helper()
	var f *fault.Error
	switch {
	case want == "" && err != nil:
		d.Errorf("%s: got %v, want success", what, err)
	case want != "" && (!errors.As(err, &f) || f.Code != want):
		d.Errorf("%s: got %v, want %s", what, err, want)
	}
}

// dump is all that the desk, the ledger, the market and the events have stored.
func (d *desk) dump() string {
	d.Helper()
	var b strings.Builder
	err := d.db.Read(d.Context(), func(tx store.Tx) error {
		b.Reset()
		for _, table := range []string{
			"orders", "order_timeline", "refunds", "audit_log", "flagged_domains", "quote_keys",
			"postings", "listings", "listing_changes", "test_streams", "test_events",
		} {
			if err := dumpTable(d.Context(), tx, &b, table); err != nil {
				return fmt.Errorf("%s: %w", table, err)
			}
		}
		return nil
	})
	if err != nil {
		d.Fatalf("dump the database: %v", err)
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
func (d *desk) eventsOf(id string) (all []emitted) {
	d.Helper()
	err := d.db.Read(d.Context(), func(tx store.Tx) error {
		all = nil
		rows, err := tx.Query(d.Context(), `SELECT kind, status FROM test_events WHERE order_id = $1 ORDER BY number`, id)
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
		d.Fatal(err)
	}
	return all
}

// count is the result of a query for one number.
func (d *desk) count(query string, args ...any) (n int) {
	d.Helper()
	err := d.db.Read(d.Context(), func(tx store.Tx) error { return tx.QueryRow(d.Context(), query, args...).Scan(&n) })
	if err != nil {
		d.Fatalf("%s: %v", query, err)
	}
	return n
}

// status is where the listing that was changed last stands.
func (d *desk) status(name fqdn.Name) (s string) {
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
func (d *desk) wantRight() {
	d.Helper()
	r, err := ledger.Check(d.Context(), d.db, claims)
	if err != nil || len(r.Violations) > 0 {
		d.Errorf("the ledger: got %v, %v, want no violations", r, err)
	}
}
