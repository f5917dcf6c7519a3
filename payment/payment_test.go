package payment_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/payment"
	"github.com/namewharf/namewharf/payment/paymenttest"
	"github.com/namewharf/namewharf/payment/testprovider"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
	"github.com/namewharf/namewharf/store/sweep"
)

// each runs a test with a fixture on each engine.
func each(t *testing.T, test func(t *testing.T, w *fixture)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		makeShop(t, db)
		clock := newClock()
		test(t, newFixture(t, db, clock, testBank(t, db, clock.now)))
	})
}

func TestStartAgain(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *fixture) {
		first := w.start("ember#1")
		if first.State != payment.Started || first.PageURL != "https://pay.example/"+first.ID || first.Todo != payment.ToAwait {
			t.Fatalf("a fresh payment: %+v", first)
		}
		if again := w.start("ember#1"); again.ID != first.ID {
			t.Error("who goes back and presses the button again gets another payment, want the same")
		}
		w.clock.move(payment.AttemptLife - time.Minute)
		second := w.start("ember#1")
		if second.ID == first.ID {
			t.Error("the page of a payment that is about to expire is shown again")
		}
		if got := w.get(first.ID); got.State != payment.Failed {
			t.Errorf("the payment that was replaced is %s, want failed", got.State)
		}
		dearer := request("ember#1")
		dearer.Amount = money.USD(price.Cents + 1)
		third, err := w.service.Start(t.Context(), dearer)
		if err != nil || third.ID == second.ID || third.AmountCents != price.Cents+1 {
			t.Errorf("at another price: %+v, %v; want another payment", third, err)
		}
		if got := w.get(second.ID); got.State != payment.Failed {
			t.Errorf("the payment at the old price is %s, want failed", got.State)
		}
		w.must(w.bank.pay(third.ID))
		done, err := w.service.Start(t.Context(), dearer)
		if err != nil || done.ID != third.ID || done.State != payment.Captured {
			t.Errorf("who paid and presses the button again: %+v, %v; want the payment, captured", done, err)
		}
		w.settle()
		w.check("ember#1")
	})
}

func TestStartFails(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *fixture) {
		live := request("ember#1")
		live.Environment = "LIVE"
		if _, err := w.service.Start(t.Context(), live); !errors.Is(err, payment.ErrNoProvider) || w.service.Takes("LIVE") || !w.service.Takes("SANDBOX") {
			t.Errorf("without a provider: %v", err)
		}
		nothing := request("ember#1")
		nothing.Amount.Cents = 0
		if _, err := w.service.Start(t.Context(), nothing); err == nil {
			t.Error("nothing was to be paid, and that started")
		}
		for _, kind := range []error{payment.ErrUnavailable, payment.ErrUnknown, payment.ErrFinal} {
			w.faulty = func(paymenttest.Call) error { return fmt.Errorf("%w: so it is", kind) }
			if _, err := w.service.Start(t.Context(), request("ember#1")); !errors.Is(err, kind) {
				t.Errorf("got %v, want %v", err, kind)
			}
		}
		w.faulty = nil
		page, _, err := w.service.List(t.Context(), payment.Filter{State: payment.Failed})
		if err != nil || len(page) != 3 || page[0].Failure != "final" || page[2].Failure != "unavailable" || page[0].Todo != payment.ToNothing {
			t.Errorf("payments that were not opened: %+v, %v", page, err)
		}
		if p := w.start("ember#1"); p.State != payment.Started {
			t.Errorf("once the provider is there again: %+v", p)
		}
	})
}

// A provider that holds something else than was asked for is not believed, and nothing is taken.
func TestAnotherAmountIsNotTaken(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *fixture) {
		p := w.start("ember#1")
		w.must(w.bank.pay(p.ID))
		w.must(w.db.Tx(t.Context(), func(tx store.Tx) error {
			_, err := tx.Exec(t.Context(), `UPDATE test_payments SET amount_cents = amount_cents - 1`)
			return err
		}))
		for range 8 {
			if _, err := w.service.Advance(t.Context(), p.ID); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.get(p.ID); got.State != payment.Started || got.Failure != "final" || w.bank.truth(p.ID).taken {
			t.Errorf("got %+v; want a payment that does not move", got)
		}
	})
}

func TestOperatorsActs(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *fixture) {
		if _, err := w.service.Chargeback(t.Context(), "pmt_none", "ada"); !fault.Is(err, fault.NotFound) {
			t.Errorf("chargeback of nothing: %v", err)
		}
		open := w.start("amber#1")
		if _, err := w.service.Chargeback(t.Context(), open.ID, "ada"); !fault.Is(err, fault.Conflict) {
			t.Errorf("chargeback of what is not paid: %v", err)
		}
		// The provider disputes on request: that is asked of the provider itself, not of the wrapper that fails.
		s := payment.New(payment.Config{
			DB: w.db, Consumer: shop{}, Providers: map[string]payment.Provider{"SANDBOX": w.bank.Provider}, Now: w.clock.now,
		})
		if _, err := s.Dispute(t.Context(), open.ID, "ada"); !fault.Is(err, fault.Conflict) {
			t.Errorf("dispute of what is not paid: %v", err)
		}
		if _, err := w.service.Dispute(t.Context(), open.ID, "ada"); !fault.Is(err, fault.Conflict) {
			t.Errorf("dispute at a provider that does not play it: %v", err)
		}
		p := w.captured("ember#1", browser)
		got, err := s.Dispute(t.Context(), p.ID, "ada")
		if err != nil || got.State != payment.Disputed || got.Todo != payment.ToNothing {
			t.Errorf("dispute: %+v, %v", got, err)
		}
		if got, err = s.Chargeback(t.Context(), p.ID, "ada"); err != nil || got.State != payment.Refunded {
			t.Errorf("chargeback: %+v, %v", got, err)
		}
		if _, err := s.Chargeback(t.Context(), p.ID, "ada"); !fault.Is(err, fault.Conflict) {
			t.Errorf("a second chargeback: %v", err)
		}
		if got, err := s.Check(t.Context(), p.ID); err != nil || got.State != payment.Refunded {
			t.Errorf("what the provider still calls disputed: %+v, %v", got, err)
		}
		ids := w.list(`SELECT what FROM test_calls WHERE payment = $1 ORDER BY what`, p.ID)
		if want := "captured,charged back,disputed,recorded"; strings.Join(ids, ",") != want {
			t.Errorf("the consumer had the calls %v, want %s", ids, want)
		}
	})
}

// Who comes back from the page without paying can still pay in the other tab, until that is cancelled; what is paid is not.
func TestCancelAfterPaying(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *fixture) {
		p := w.start("ember#1")
		w.must(w.bank.pay(p.ID))
		got, err := w.service.Cancel(t.Context(), p.ID)
		if err != nil || got.State != payment.Captured {
			t.Errorf("cancelled after paying: %+v, %v; want the purchase to go on", got, err)
		}
		q := w.start("amber#1")
		if got, err = w.service.Cancel(t.Context(), q.ID); err != nil || got.State != payment.Failed {
			t.Errorf("cancelled: %+v, %v", got, err)
		}
		if err := w.bank.pay(q.ID); err != nil || w.bank.truth(q.ID).held {
			t.Errorf("paid after it was cancelled: %v, %+v", err, w.bank.truth(q.ID))
		}
	})
}

func TestNotices(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *fixture) {
		p := w.start("ember#1")
		w.must(w.bank.pay(p.ID))
		n := w.bank.notices(p.ID)[0]
		for name, c := range map[string]struct {
			provider string
			n        sent
			want     error
		}{
			"of a provider that is not configured": {"stripe", n, payment.ErrNoProvider},
			"not signed":                           {"test", sent{nil, n.body}, payment.ErrSignature},
			"with another body":                    {"test", sent{n.header, append([]byte(" "), n.body...)}, payment.ErrSignature},
			"too long":                             {"test", sent{n.header, make([]byte, payment.MaxNotice+1)}, payment.ErrSignature},
		} {
			if err := w.service.Notice(t.Context(), c.provider, c.n.header, c.n.body); !errors.Is(err, c.want) {
				t.Errorf("a notice %s: got %v, want %v", name, err, c.want)
			}
		}
		w.clock.move(payment.NoticeTolerance + time.Second)
		if err := w.service.Notice(t.Context(), "test", n.header, n.body); !errors.Is(err, payment.ErrSignature) {
			t.Errorf("a notice that was signed too long ago: %v", err)
		}
		if got := w.get(p.ID); got.State != payment.Started {
			t.Fatalf("what nobody signed moved the payment: %+v", got)
		}
		n = w.bank.notices(p.ID)[0]
		for range 2 {
			if err := w.service.Notice(t.Context(), "test", n.header, n.body); err != nil {
				t.Error(err)
			}
		}
		if got, kept := w.get(p.ID), len(w.list(`SELECT id FROM payment_notices`)); got.State != payment.Captured || kept != 1 {
			t.Errorf("after a notice: %+v, %d kept", got, kept)
		}
	})
}

func TestList(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *fixture) {
		var ids []string
		for i := range 5 {
			ids = append(ids, w.start(fmt.Sprintf("name%d#1", i)).ID)
		}
		got := ""
		for after := ""; ; {
			page, next, err := w.service.List(t.Context(), payment.Filter{Limit: 2, After: after, Partner: "prt_1", Environment: "SANDBOX"})
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range page {
				got = p.ID + " " + got
			}
			if after = next; next == "" {
				break
			}
		}
		if want := strings.Join(ids, " ") + " "; got != want {
			t.Errorf("page by page: %s, want %s", got, want)
		}
		for _, id := range []string{"", "pmt_none", "pmt_\x00", "\xff", "ord_" + ids[0][4:], strings.Repeat("x", 1<<16)} {
			if _, err := w.service.Advance(t.Context(), id); !fault.Is(err, fault.NotFound) {
				t.Errorf("%.20q: %v", id, err)
			}
		}
		for _, f := range []payment.Filter{{Limit: -1}, {Limit: 101}, {State: "paid"}, {Order: "\x00"}, {After: "\xff"}} {
			if _, _, err := w.service.List(t.Context(), f); !fault.Is(err, fault.Validation) {
				t.Errorf("%+v: %v", f, err)
			}
		}
		w.must(w.bank.pay(ids[0]))
		p, err := w.service.Advance(t.Context(), ids[0])
		w.must(err)
		if page, _, err := w.service.List(t.Context(), payment.Filter{Order: p.OrderID}); err != nil || len(page) != 1 || page[0].ID != p.ID {
			t.Errorf("of an order: %+v, %v", page, err)
		}
		if page, _, err := w.service.List(t.Context(), payment.Filter{Partner: "prt_2"}); err != nil || len(page) != 0 {
			t.Errorf("of another partner: %+v, %v", page, err)
		}
	})
}

func TestRetention(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *fixture) {
		bought := w.captured("ember#1", notice)
		left := w.start("amber#1")
		w.settle()
		pass := func() {
			rules := append(payment.Retention(), testprovider.Retention()...)
			w.must(sweep.New(sweep.Config{DB: w.db, Rules: rules, Now: w.clock.now}).Pass(t.Context()))
		}
		const day = 24 * time.Hour
		w.clock.move(30*day - time.Hour)
		pass()
		if n := len(w.list(`SELECT id FROM payment_notices`)); n == 0 {
			t.Error("notices are forgotten too soon")
		}
		w.clock.move(2 * time.Hour)
		pass()
		if n := len(w.list(`SELECT id FROM payment_notices`)) + len(w.list(`SELECT id FROM test_payment_notices`)); n != 0 {
			t.Errorf("%d notices are left", n)
		}
		w.clock.move(370 * day)
		pass()
		if got := w.list(`SELECT id FROM payments`); len(got) != 1 || got[0] != bought.ID {
			t.Errorf("payments that are left: %v; want that of the order, not %s", got, left.ID)
		}
		if n := len(w.list(`SELECT id FROM test_payments`)); n != 0 {
			t.Errorf("the test provider keeps %d payments", n)
		}
	})
}

// watcher counts calls.
type watcher struct{ failed, stuck []payment.Payment }

func (*watcher) Moved(payment.State, payment.Payment) {}
func (w *watcher) Failed(p payment.Payment)           { w.failed = append(w.failed, p) }
func (w *watcher) Stuck(p payment.Payment)            { w.stuck = append(w.stuck, p) }

// TestWaits shows in time that does not pass: how long a provider that is down is left alone, who is told of it, and that the
// work goes on by itself.
func TestWaits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(newClock().now())) // when cards are good that expire in 2034
		db, err := store.Open(t.Context(), store.Config{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		makeShop(t, db)
		b := testBank(t, db, time.Now)
		down, calls := false, []time.Duration{}
		began := time.Now()
		faulty := &paymenttest.Faulty{Provider: b.Provider, Before: func(c paymenttest.Call, _ string) error {
			if c == paymenttest.Capture && down {
				calls = append(calls, time.Since(began).Round(time.Second))
				return fmt.Errorf("%w: connection refused", payment.ErrUnavailable)
			}
			return nil
		}}
		told := &watcher{}
		var logged strings.Builder
		s := payment.New(payment.Config{
			DB: db, Consumer: shop{}, Providers: map[string]payment.Provider{"SANDBOX": faulty}, Observer: told,
			Logger: slog.New(slog.NewTextHandler(&logged, nil)),
		})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); s.Run(ctx) }()
		defer func() { stop(); <-done }()

		p, err := s.Start(ctx, request("ember#1"))
		if err != nil {
			t.Fatal(err)
		}
		if err := b.pay(p.ID); err != nil {
			t.Fatal(err)
		}
		down, began = true, time.Now()
		if p, err = s.Advance(ctx, p.ID); err != nil || p.State != payment.Authorized || p.Failure != "unavailable" {
			t.Fatalf("the provider is down: %+v, %v", p, err)
		}
		time.Sleep(2 * time.Hour)
		if n := len(calls); n < 15 || n > 30 {
			t.Errorf("in two hours it was asked %d times, at %v", n, calls)
		}
		for i, want := range []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second} {
			if i < len(calls) && (calls[i] < want || calls[i] > want+3*time.Second) {
				t.Errorf("asked at %v; want waits that double from a second on", calls)
				break
			}
		}
		if n := len(told.stuck); n != 2 { // after 6 and 12 failures
			t.Errorf("told %d times that it is stuck, want 2", n)
		}
		if text := logged.String(); !strings.Contains(text, "stuck") || !strings.Contains(text, p.ID) {
			t.Errorf("the log: %s", text)
		}
		down = false
		time.Sleep(11 * time.Minute)
		if p, err = s.Get(ctx, p.ID); err != nil || p.State != payment.Captured {
			t.Errorf("after it is back: %+v, %v", p, err)
		}
		// A buyer whose browser and whose notice never come is noticed, and one who never pays is given up.
		q, err := s.Start(ctx, request("amber#1"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if err := b.pay(q.ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if q, err = s.Get(ctx, q.ID); err != nil || q.State != payment.Captured {
			t.Errorf("a minute after it was paid: %+v, %v", q, err)
		}
		r, err := s.Start(ctx, request("opal#1"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(payment.AttemptLife + 5*time.Minute)
		if r, err = s.Get(ctx, r.ID); err != nil || r.State != payment.Failed {
			t.Errorf("after its time: %+v, %v", r, err)
		}
	})
}
