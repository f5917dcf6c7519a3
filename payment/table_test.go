package payment_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/namewharf/namewharf/internal/racedetector"
	"github.com/namewharf/namewharf/payment"
	"github.com/namewharf/namewharf/payment/paymenttest"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// A delivery is how we hear of what the provider knows.
type delivery string

const (
	browser    delivery = "the browser returns"
	notice     delivery = "the notice arrives"
	twice      delivery = "the notice arrives twice"
	late       delivery = "the notice is late"
	outOfOrder delivery = "notices arrive out of order"
	never      delivery = "the notice never arrives"
)

var deliveries = []delivery{browser, notice, twice, late, outOfOrder, never}

// news is that something happened at the provider.
func (w *fixture) news(id string, d delivery) {
	w.Helper()
	all := w.bank.notices(id)
	switch d {
	case browser:
		w.once("the browser returns", func(s *payment.Service) error {
			_, err := s.Advance(context.Background(), id)
			return err
		})
		return
	case late, never:
		return
	case outOfOrder:
		slices.Reverse(all)
	}
	for _, n := range all {
		w.deliver(n)
		if d == twice {
			w.deliver(n)
		}
	}
}

// deliver sends a notice until it is taken, as providers do.
func (w *fixture) deliver(n sent) {
	w.Helper()
	w.do("notice", func(s *payment.Service) error {
		return s.Notice(context.Background(), w.bank.Name(), n.header, n.body)
	})
}

// A scenario leads a payment to a state.
type scenario struct {
	name  string
	drive func(w *fixture, purchase string, d delivery) payment.Payment
	want  payment.State
	order string // status of the payment's order; empty: it has none
	waits bool   // for the end of the attempt, asking the provider again and again
}

// paid is a payment that is captured.
func (w *fixture) paid(purchase string, d delivery) payment.Payment {
	w.Helper()
	p := w.start(purchase)
	w.must(w.bank.pay(p.ID))
	w.news(p.ID, d)
	return p
}

func (w *fixture) captured(purchase string, d delivery) payment.Payment {
	w.Helper()
	p := w.paid(purchase, d)
	w.settle()
	return p
}

func (w *fixture) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// noCapture keeps the provider from capturing for a while.
func (w *fixture) noCapture() {
	w.faulty = func(c paymenttest.Call) error {
		if c == paymenttest.Capture {
			return payment.ErrUnavailable
		}
		return nil
	}
}

// recorded is a payment with an order, whose money is held and not taken.
func (w *fixture) recorded(purchase string, d delivery) payment.Payment {
	w.Helper()
	w.noCapture()
	p := w.paid(purchase, d)
	for w.get(p.ID).State == payment.Started {
		w.untilDue()
		w.once("reconcile", func(s *payment.Service) error { return s.Reconcile(context.Background()) })
	}
	return p
}

// undo is an operator who cancels the order.
func (w *fixture) undo(p payment.Payment) {
	w.Helper()
	w.do("cancel the order", func(s *payment.Service) error {
		order := w.get(p.ID).OrderID
		err := w.db.Tx(context.Background(), func(tx store.Tx) error {
			if _, err := tx.Exec(context.Background(), `UPDATE test_orders SET status = 'cancelled' WHERE id = $1`, order); err != nil {
				return err
			}
			return s.Release(context.Background(), tx, order)
		})
		if err == nil {
			err = w.crash.point()
		}
		return err
	})
}

var scenarios = []scenario{
	{"started, and the buyer never pays", func(w *fixture, purchase string, d delivery) payment.Payment {
		p := w.start(purchase)
		w.news(p.ID, d)
		return p
	}, payment.Failed, "", true},
	{"started, and cancelled", func(w *fixture, purchase string, d delivery) payment.Payment {
		p := w.start(purchase)
		w.once("cancel", func(s *payment.Service) error {
			_, err := s.Cancel(context.Background(), p.ID)
			return err
		})
		w.news(p.ID, d)
		return p
	}, payment.Failed, "", false},
	{"started, and declined", func(w *fixture, purchase string, d delivery) payment.Payment {
		p := w.start(purchase)
		w.must(w.bank.decline(p.ID))
		w.news(p.ID, d)
		return p
	}, payment.Failed, "", true},
	{"authorized", (*fixture).paid, payment.Captured, "captured", false},
	{"authorized after a decline", func(w *fixture, purchase string, d delivery) payment.Payment {
		p := w.start(purchase)
		w.must(w.bank.decline(p.ID))
		w.news(p.ID, d)
		w.must(w.bank.pay(p.ID))
		w.news(p.ID, d)
		return p
	}, payment.Captured, "captured", false},
	{"authorized, and the name is gone", func(w *fixture, purchase string, d delivery) payment.Payment {
		p := w.start(purchase)
		w.must(w.db.Tx(context.Background(), func(tx store.Tx) error {
			_, err := tx.Exec(context.Background(), `INSERT INTO test_orders (id, name, payment, status) VALUES ($1, $2, $3, 'captured')`,
				"other "+purchase, purchase, "other "+purchase)
			return err
		}))
		w.must(w.bank.pay(p.ID))
		w.news(p.ID, d)
		return p
	}, payment.Voided, "", false},
	{"authorized, and the provider refuses the capture", func(w *fixture, purchase string, d delivery) payment.Payment {
		w.faulty = func(c paymenttest.Call) error {
			if c == paymenttest.Capture {
				return payment.ErrDeclined
			}
			return nil
		}
		return w.paid(purchase, d)
	}, payment.Failed, "cancelled", false},
	{"authorized, and the authorisation lapses", func(w *fixture, purchase string, d delivery) payment.Payment {
		p := w.recorded(purchase, d)
		_, err := w.bank.Void(context.Background(), w.get(p.ID))
		w.must(err)
		w.faulty = func(c paymenttest.Call) error {
			if c == paymenttest.Capture {
				return payment.ErrFinal
			}
			return nil
		}
		w.news(p.ID, d)
		return p
	}, payment.Failed, "cancelled", false},
	{"authorized, and the order is cancelled", func(w *fixture, purchase string, d delivery) payment.Payment {
		p := w.recorded(purchase, d)
		w.undo(p)
		w.faulty = nil
		w.news(p.ID, d)
		return p
	}, payment.Voided, "cancelled", false},
	{"captured, and the order is cancelled", func(w *fixture, purchase string, d delivery) payment.Payment {
		p := w.captured(purchase, d)
		w.undo(p)
		w.news(p.ID, d)
		return p
	}, payment.Refunded, "cancelled", false},
	{"captured behind our back, and the order is cancelled", func(w *fixture, purchase string, d delivery) payment.Payment {
		p := w.recorded(purchase, d)
		_, err := w.bank.Capture(context.Background(), w.get(p.ID))
		w.must(err)
		w.undo(p)
		w.faulty = nil
		w.news(p.ID, d)
		return p
	}, payment.Refunded, "cancelled", false},
	{"captured, and refunded at the provider", func(w *fixture, purchase string, d delivery) payment.Payment {
		p := w.captured(purchase, d)
		_, err := w.bank.Refund(context.Background(), w.get(p.ID))
		w.must(err)
		w.deliverLater(p, d)
		return p
	}, payment.Refunded, "refunded", false},
	{"disputed", func(w *fixture, purchase string, d delivery) payment.Payment {
		p := w.captured(purchase, d)
		w.must(w.bank.dispute(p.ID))
		w.deliverLater(p, d)
		return p
	}, payment.Disputed, "disputed", false},
	{"disputed, and won", func(w *fixture, purchase string, d delivery) payment.Payment {
		p := w.captured(purchase, d)
		w.must(w.bank.dispute(p.ID))
		w.deliverLater(p, d)
		w.must(w.bank.endDispute(p.ID, false))
		w.deliverLater(p, d)
		return p
	}, payment.Captured, "won", false},
	{"disputed, and lost", func(w *fixture, purchase string, d delivery) payment.Payment {
		p := w.captured(purchase, d)
		w.must(w.bank.dispute(p.ID))
		w.deliverLater(p, d)
		w.must(w.bank.endDispute(p.ID, true))
		w.deliverLater(p, d)
		return p
	}, payment.Refunded, "charged back", false},
	{"disputed, and an operator says that it is lost", func(w *fixture, purchase string, d delivery) payment.Payment {
		p := w.captured(purchase, d)
		w.must(w.bank.dispute(p.ID))
		w.deliverLater(p, d)
		w.must(w.bank.endDispute(p.ID, true))
		w.do("charge back", func(s *payment.Service) error {
			if w.get(p.ID).State == payment.Refunded { // by the process that died
				return nil
			}
			_, err := s.Chargeback(context.Background(), p.ID, "ada")
			return err
		})
		return p
	}, payment.Refunded, "charged back", false},
}

// deliverLater delivers a notice that no caller waits for. A provider repeats a notice until it is taken; where it never is, an operator
// looks.
func (w *fixture) deliverLater(p payment.Payment, d delivery) {
	w.Helper()
	switch d {
	case late:
		w.clock.move(3 * time.Hour)
		w.news(p.ID, notice)
	case browser, never:
		w.do("an operator looks", func(s *payment.Service) error {
			_, err := s.Check(context.Background(), p.ID)
			return err
		})
	default:
		w.news(p.ID, d)
	}
	w.settle()
}

// run leads one payment through a scenario, and says how many points there were at which the process could have died.
func (c scenario) run(w *fixture, purchase string, d delivery) (points int) {
	w.Helper()
	w.faulty = nil
	counting := w.crash
	p := c.drive(w, purchase, d)
	w.settle()
	w.faulty = nil
	if d == late {
		w.news(p.ID, notice)
		w.settle()
	}
	points = counting.n
	got := w.get(p.ID)
	if got.State != c.want {
		w.Errorf("the payment is %s, want %s", got.State, c.want)
	}
	var order string
	if all := w.list(`SELECT status FROM test_orders WHERE payment = $1`, p.ID); len(all) > 0 {
		order = all[0]
	}
	if order != c.order {
		w.Errorf("the order is %q, want %q", order, c.order)
	}
	w.check(purchase)
	before := w.dump(purchase) // everything once more changes nothing
	w.news(p.ID, outOfOrder)
	w.news(p.ID, twice)
	w.news(p.ID, browser)
	w.settle()
	if after := w.dump(purchase); after != before {
		w.Errorf("what was said again changed something:\n%s\nbefore:\n%s", after, before)
	}
	return points
}

// TestEveryStateHoweverWeHearOfIt leads payments to every state, hears of it in every way, and lets the process die before and
// after every write and every call. Whatever happens, what must be true at the end is.
func TestEveryStateHoweverWeHearOfIt(t *testing.T) {
	t.Parallel()
	for _, c := range scenarios {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, func(t *testing.T, db *store.DB) {
				makeShop(t, db)
				clock := newClock()
				c.runAll(t, db, clock, testBank(t, db, clock.now), deliveries)
			})
			t.Run("stripe", func(t *testing.T) {
				t.Parallel()
				db := storetest.Open(t, store.Config{Temporary: true})
				makeShop(t, db)
				clock := newClock()
				c.runAll(t, db, clock, stripeBank(t, clock.now), []delivery{browser, notice, outOfOrder})
			})
		})
	}
}

func (c scenario) runAll(t *testing.T, db *store.DB, clock *clock, b bank, all []delivery) {
	t.Helper()
	for _, d := range all {
		purchase := 0
		next := func() string { purchase++; return fmt.Sprintf("%s %d", d, purchase) }
		t.Run(string(d), func(t *testing.T) {
			points := c.run(newFixture(t, db, clock, b), next(), d)
			if points < 4 {
				t.Fatalf("%d points, want at least those of the start", points)
			}
			if c.waits { // the further points are those of one look after another
				points = min(points, 24)
			}
			step := 1
			if racedetector.Enabled { // several times slower: each way to hear of it tries other points
				step = len(deliveries)
			}
			for at := 1 + slices.Index(deliveries, d)%step; at <= points && !t.Failed(); at += step {
				t.Run(fmt.Sprintf("and the process dies at %d of %d", at, points), func(t *testing.T) {
					w := newFixture(t, db, clock, b)
					w.crash.at = at
					c.run(w, next(), d)
				})
			}
		})
	}
}

// TestPollingFindsWhatNobodyTold: money that is held is noticed although neither the browser nor a notice comes.
func TestPollingFindsWhatNobodyTold(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		makeShop(t, db)
		clock := newClock()
		w := newFixture(t, db, clock, testBank(t, db, clock.now))
		p := w.start("ember#1")
		clock.move(10 * time.Minute)
		w.must(w.service.Reconcile(t.Context()))
		w.must(w.bank.pay(p.ID))
		clock.move(5 * time.Minute)
		w.must(w.service.Reconcile(t.Context()))
		if got := w.get(p.ID); got.State != payment.Captured {
			t.Errorf("five minutes after it was paid the payment is %s", got.State)
		}
	})
}
