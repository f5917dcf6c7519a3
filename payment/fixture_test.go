package payment_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/payment"
	"github.com/namewharf/namewharf/payment/paymenttest"
	"github.com/namewharf/namewharf/payment/stripe"
	"github.com/namewharf/namewharf/payment/stripe/stripetest"
	"github.com/namewharf/namewharf/payment/testprovider"
	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/store"
)

// keys are those of all tests of this binary.
var keys = sync.OnceValue(seal.Random)

// A clock stands until it is moved.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)} }

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

// A shop is a consumer that sells names, each once. A purchase is a name and a buyer: "ember#1".
type shop struct{}

const shopTables = `
	CREATE TABLE test_orders (id TEXT PRIMARY KEY, name TEXT NOT NULL, payment TEXT NOT NULL UNIQUE, status TEXT NOT NULL);
	CREATE UNIQUE INDEX test_orders_one ON test_orders (name) WHERE status NOT IN ('cancelled', 'refunded', 'charged back');
	CREATE TABLE test_calls (payment TEXT NOT NULL, what TEXT NOT NULL);
	CREATE INDEX test_calls_payment ON test_calls (payment)`

func makeShop(t testing.TB, db *store.DB) {
	t.Helper()
	for query := range strings.SplitSeq(shopTables, ";") {
		if err := db.Tx(t.Context(), func(tx store.Tx) error {
			_, err := tx.Exec(t.Context(), query)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
}

func (shop) Record(ctx context.Context, tx store.Tx, p payment.Payment) (string, error) {
	name, _, _ := strings.Cut(p.Purchase, "#")
	id := store.NewID("ord")
	// What is written before the loss is known must not be kept.
	if _, err := tx.Exec(ctx, `INSERT INTO test_calls (payment, what) VALUES ($1, 'recorded')`, p.ID); err != nil {
		return "", err
	}
	n, err := tx.Exec(ctx, `
		INSERT INTO test_orders (id, name, payment, status) VALUES ($1, $2, $3, 'recorded')
		ON CONFLICT (name) WHERE status NOT IN ('cancelled', 'refunded', 'charged back') DO NOTHING`, id, name, p.ID)
	if err == nil && n == 0 {
		return "", fmt.Errorf("name %s is sold: %w", name, payment.ErrLost)
	}
	return id, err
}

// noteCall notes a call of the consumer, and sets the status of the order.
func noteCall(ctx context.Context, tx store.Tx, p payment.Payment, what string) error {
	if _, err := tx.Exec(ctx, `INSERT INTO test_calls (payment, what) VALUES ($1, $2)`, p.ID, what); err != nil {
		return err
	}
	n, err := tx.Exec(ctx, `
		UPDATE test_orders SET status = $2 WHERE id = $1 AND (status NOT IN ('cancelled', 'refunded') OR $2 = 'charged back')`, p.OrderID, what)
	if err == nil && n != 1 && what != "disputed" && what != "captured" {
		return fmt.Errorf("%s: order %q is not there", what, p.OrderID)
	}
	return err
}

func (shop) Captured(ctx context.Context, tx store.Tx, p payment.Payment) error {
	return noteCall(ctx, tx, p, "captured")
}

func (shop) Uncaptured(ctx context.Context, tx store.Tx, p payment.Payment) error {
	return noteCall(ctx, tx, p, "cancelled")
}

func (shop) Refunded(ctx context.Context, tx store.Tx, p payment.Payment) error {
	return noteCall(ctx, tx, p, "refunded")
}

func (shop) Disputed(ctx context.Context, tx store.Tx, p payment.Payment, _ string) error {
	return noteCall(ctx, tx, p, "disputed")
}

func (shop) DisputeWon(ctx context.Context, tx store.Tx, p payment.Payment) error {
	return noteCall(ctx, tx, p, "won")
}

func (shop) ChargedBack(ctx context.Context, tx store.Tx, p payment.Payment, _ string) error {
	return noteCall(ctx, tx, p, "charged back")
}

// A bank is a provider and the people before it.
type bank struct {
	payment.Provider
	pay, decline, dispute func(id string) error
	endDispute            func(id string, forBuyer bool) error
	notices               func(id string) []sent
	truth                 func(id string) truth
}

type sent struct {
	header http.Header
	body   []byte
}

// truth is where the money is.
type truth struct{ held, taken, back bool }

var goodCard = testprovider.Card{Number: "4000 0000 0000 0259", Expiry: "12/34", CVC: "123"}

// testBank is the test provider.
func testBank(t testing.TB, db *store.DB, now func() time.Time) bank {
	t.Helper()
	return testBankOf(t, db, keys(), now)
}

func testBankOf(t testing.TB, db *store.DB, keys *seal.Keys, now func() time.Time) bank {
	t.Helper()
	ctx := context.Background()
	p, err := testprovider.New(ctx, testprovider.Config{
		DB: db, Keys: keys, Now: now, PageURL: func(id string) string { return "https://pay.example/" + id },
	})
	if err != nil {
		t.Fatal(err)
	}
	pay := func(id, number string) error {
		card := goodCard
		card.Number = number
		_, err := p.Pay(ctx, id, card)
		return err
	}
	return bank{
		Provider:   p,
		pay:        func(id string) error { return pay(id, "4000 0000 0000 0259") },
		decline:    func(id string) error { return pay(id, "4000 0000 0000 0002") },
		dispute:    func(id string) error { return p.Dispute(ctx, payment.Payment{ID: id}) },
		endDispute: func(id string, forBuyer bool) error { return p.EndDispute(ctx, id, forBuyer) },
		notices: func(id string) (all []sent) {
			signed, err := p.Notices(ctx, id)
			if err != nil {
				t.Error(err)
			}
			for _, s := range signed {
				all = append(all, sent{s.Header, s.Body})
			}
			return all
		},
		truth: func(id string) truth {
			r, err := p.Status(ctx, payment.Payment{ID: id})
			if errors.Is(err, payment.ErrFinal) {
				return truth{}
			}
			if err != nil {
				t.Error(err)
			}
			back := r.Status == payment.GivenBack || r.Status == payment.ChargedBack
			return truth{r.Status == payment.Held, r.Status == payment.Taken || r.Status == payment.InDispute || back, back}
		},
	}
}

// stripeBank is Stripe, played by a server of ours.
func stripeBank(t testing.TB, now func() time.Time) bank {
	t.Helper()
	s := stripetest.New(now)
	t.Cleanup(s.Close)
	p, err := stripe.New(stripe.Config{Key: stripetest.Key, WebhookSecret: stripetest.WebhookSecret, APIBase: s.URL, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return bank{
		Provider: p, pay: s.Pay, decline: s.Decline, dispute: s.Dispute, endDispute: s.CloseDispute,
		notices: func(id string) (all []sent) {
			for _, n := range s.Notices(id) {
				all = append(all, sent{n.Header, n.Body})
			}
			return all
		},
		truth: func(id string) truth {
			st, _ := s.State(id)
			return truth{st.Intent == "requires_capture", st.Intent == "succeeded", st.Refunded || st.Dispute == "lost"}
		},
	}
}

// errCrash is what everything fails with in a process that died.
var errCrash = errors.New("the process died")

// A crasher ends a process at a point: before or after a transaction, before or after a call of the provider.
type crasher struct {
	mu   sync.Mutex
	at   int // the point; 0: never
	n    int
	dead bool
}

func (c *crasher) point() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n++; c.n == c.at {
		c.dead = true
	}
	if c.dead {
		return errCrash
	}
	return nil
}

// A fixture is a service with its consumer and a bank.
type fixture struct {
	testing.TB
	db      *store.DB
	clock   *clock
	bank    bank
	faulty  func(c paymenttest.Call) error // what calls of the provider fail with
	crash   *crasher
	service *payment.Service
}

func newFixture(t testing.TB, db *store.DB, c *clock, b bank) *fixture {
	w := &fixture{TB: t, db: db, clock: c, bank: b, crash: &crasher{}}
	w.restart()
	return w
}

// restart is another process after the last one died.
func (w *fixture) restart() {
	crash, turn := w.crash, make(chan struct{}, 1)
	provider := &paymenttest.Faulty{
		Provider: w.bank.Provider,
		Before: func(c paymenttest.Call, _ string) error {
			if err := crash.point(); err != nil {
				return err
			}
			if w.faulty != nil {
				return w.faulty(c)
			}
			return nil
		},
		After: func(paymenttest.Call, string) error { return crash.point() },
	}
	w.service = payment.New(payment.Config{
		DB: w.db, Consumer: shop{}, Providers: map[string]payment.Provider{"SANDBOX": provider}, Now: w.clock.now,
		Tx: func(ctx context.Context, _ string, fn func(store.Tx) error) error {
			if err := crash.point(); err != nil {
				return err
			}
			turn <- struct{}{} // as orders do on PostgreSQL
			err := w.db.Tx(ctx, fn)
			<-turn
			if err != nil {
				return err
			}
			return crash.point()
		},
	})
}

// do does something, and if the process dies of it, again in another process.
func (w *fixture) do(what string, f func(s *payment.Service) error) {
	w.Helper()
	err := f(w.service)
	if w.crash.dead {
		w.crash = &crasher{}
		w.restart()
		err = f(w.service)
	}
	if err != nil {
		w.Fatalf("%s: %v", what, err)
	}
}

// once does something, and if the process dies of it, nobody asks again.
func (w *fixture) once(what string, f func(s *payment.Service) error) {
	w.Helper()
	err := f(w.service)
	if w.crash.dead {
		w.crash = &crasher{}
		w.restart()
		return
	}
	if err != nil {
		w.Fatalf("%s: %v", what, err)
	}
}

var price = money.USD(125_000)

func request(purchase string) payment.Request {
	return payment.Request{
		Partner: "prt_1", Environment: "SANDBOX", Purchase: purchase, Amount: price, Title: "ember.example",
		Email: "ada@example.com", Pages: func(id string) (string, string) { return "https://w.example/back/" + id, "https://w.example/no/" + id },
	}
}

// start starts a payment, and again if the process dies.
func (w *fixture) start(purchase string) (p payment.Payment) {
	w.Helper()
	w.do("start", func(s *payment.Service) (err error) {
		p, err = s.Start(context.Background(), request(purchase))
		return err
	})
	return p
}

func (w *fixture) get(id string) payment.Payment {
	w.Helper()
	p, err := w.service.Get(context.Background(), id)
	if err != nil {
		w.Fatal(err)
	}
	return p
}

// settle reconciles until nothing is to be done but to wait for buyers who may still pay; at the most for a day.
func (w *fixture) settle() {
	w.Helper()
	for end := w.clock.now().Add(24 * time.Hour); ; w.untilDue() {
		w.once("reconcile", func(s *payment.Service) error { return s.Reconcile(context.Background()) })
		b, err := w.service.Backlog(context.Background())
		if err != nil {
			w.Fatal(err)
		}
		if b.Waiting+b.Due == 0 {
			return
		}
		if w.clock.now().After(end) {
			w.Fatalf("after a day there is still something to be done: %+v", b)
		}
	}
}

// untilDue moves the clock to when something is to be done.
func (w *fixture) untilDue() {
	w.Helper()
	var next int64
	w.must(w.db.Read(context.Background(), func(tx store.Tx) error {
		return tx.QueryRow(context.Background(), `SELECT COALESCE(MIN(next_try), 0) FROM payments WHERE todo <> ''`).Scan(&next)
	}))
	w.clock.move(max(0, store.Time(next).Sub(w.clock.now())))
}

// dump is all that is kept about a purchase, without what goes by the clock.
func (w *fixture) dump(purchase string) string {
	w.Helper()
	var b strings.Builder
	err := w.db.Read(context.Background(), func(tx store.Tx) error {
		b.Reset()
		for _, query := range []string{
			`SELECT 'payment', id, state || ' ' || todo || ' ' || order_id || ' ' || failure FROM payments WHERE purchase = $1 ORDER BY id`,
			`SELECT 'order', id, payment || ' ' || status FROM test_orders
				WHERE payment IN (SELECT id FROM payments WHERE purchase = $1) ORDER BY id`,
			`SELECT 'call', payment, what FROM test_calls WHERE payment IN (SELECT id FROM payments WHERE purchase = $1) ORDER BY payment, what`,
		} {
			rows, err := tx.Query(context.Background(), query, purchase)
			if err != nil {
				return err
			}
			for rows.Next() {
				var kind, id, rest string
				if err := rows.Scan(&kind, &id, &rest); err != nil {
					return errors.Join(err, rows.Close())
				}
				fmt.Fprintln(&b, kind, id, rest)
			}
			if err := rows.Close(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		w.Fatal(err)
	}
	return b.String()
}

// list is the strings that a query finds.
func (w *fixture) list(query string, args ...any) (all []string) {
	w.Helper()
	err := w.db.Read(context.Background(), func(tx store.Tx) (err error) {
		all, err = store.Collect(context.Background(), tx, store.ScanOne[string], query, args...)
		return err
	})
	if err != nil {
		w.Fatalf("%s: %v", query, err)
	}
	return all
}

// check is what must be true of every payment when nothing is to be done about it.
func (w *fixture) check(purchase string) {
	w.Helper()
	page, _, err := w.service.List(context.Background(), payment.Filter{Purchase: purchase, Limit: payment.MaxPage})
	if err != nil {
		w.Fatal(err)
	}
	for _, p := range page {
		at := w.bank.truth(p.ID)
		orders := w.list(`SELECT status FROM test_orders WHERE payment = $1`, p.ID)
		active := slices.ContainsFunc(orders, func(s string) bool { return s == "recorded" || s == "captured" || s == "disputed" || s == "won" })
		switch {
		case p.Todo != payment.ToNothing:
			w.Errorf("%s is %s: %s is still to be done, after %d failures (%s) next at %v; it is %v",
				p.ID, p.State, p.Todo, p.Attempts, p.Failure, p.NextTry, w.clock.now())
		case at.held:
			w.Errorf("%s is %s, and the money is still held", p.ID, p.State)
		case at.taken && !at.back && !active && p.State != payment.Refunded:
			w.Errorf("%s is %s: the money was taken and kept without an order", p.ID, p.State)
		case active && (!at.taken || at.back):
			w.Errorf("%s is %s: there is an order without its money, %+v", p.ID, p.State, at)
		case active && slices.Contains(orders, "recorded"):
			w.Errorf("%s is %s: the consumer had no call for the capture", p.ID, p.State)
		case len(orders) > 1 || (len(orders) == 1) != (p.OrderID != ""):
			w.Errorf("%s: %d orders, and order %q", p.ID, len(orders), p.OrderID)
		}
		for _, what := range []string{"recorded", "captured", "cancelled", "refunded", "disputed", "won", "charged back"} {
			if n := len(w.list(`SELECT what FROM test_calls WHERE payment = $1 AND what = $2`, p.ID, what)); n > 1 {
				w.Errorf("%s: the consumer had %d calls that it is %s", p.ID, n, what)
			}
		}
	}
}
