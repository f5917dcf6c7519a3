package payment_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/namewharf/namewharf/payment"
	"github.com/namewharf/namewharf/payment/paymenttest"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// TestTwoBuyersOneName lets two buyers pay for one name at once, a hundred times, while the browser, the notice and the
// reconciliation of two processes all come at once: one order, one void, and nobody is charged who has no order.
func TestTwoBuyersOneName(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		makeShop(t, db)
		clock := newClock()
		bank := testBank(t, db, clock.now)
		processes := []*fixture{newFixture(t, db, clock, bank), newFixture(t, db, clock, bank)}
		const rounds, buyers = 100, 2
		var all sync.WaitGroup
		turns := make(chan struct{}, 8) // rounds at once
		for round := range rounds {
			turns <- struct{}{}
			all.Go(func() {
				defer func() { <-turns }()
				var paid [buyers]string
				var wg sync.WaitGroup
				for i := range buyers {
					wg.Go(func() {
						p, err := processes[i].service.Start(t.Context(), request(fmt.Sprintf("name%d#%d", round, i)))
						if err != nil {
							t.Errorf("start: %v", err)
							return
						}
						paid[i] = p.ID
						if err := bank.pay(p.ID); err != nil {
							t.Errorf("pay: %v", err)
						}
					})
				}
				wg.Wait()
				for i, id := range paid {
					for _, w := range processes {
						wg.Go(func() {
							if _, err := w.service.Advance(context.Background(), id); err != nil {
								t.Errorf("advance: %v", err)
							}
						})
					}
					wg.Go(func() {
						for _, n := range bank.notices(id) {
							if err := processes[i].service.Notice(context.Background(), bank.Name(), n.header, n.body); err != nil {
								t.Errorf("notice: %v", err)
							}
						}
					})
				}
				wg.Wait()
			})
		}
		all.Wait()
		processes[0].settle()
		for round := range rounds {
			captured, voided := 0, 0
			for i := range buyers {
				purchase := fmt.Sprintf("name%d#%d", round, i)
				processes[0].check(purchase)
				page, _, err := processes[0].service.List(t.Context(), payment.Filter{Purchase: purchase})
				if err != nil || len(page) != 1 {
					t.Fatalf("payments of %s: %v, %v", purchase, page, err)
				}
				at := bank.truth(page[0].ID)
				switch {
				case page[0].State == payment.Captured && at.taken && !at.back:
					captured++
				case page[0].State == payment.Voided && !at.taken && !at.held:
					voided++
				}
			}
			orders := processes[0].list(`SELECT status FROM test_orders WHERE name = $1`, fmt.Sprintf("name%d", round))
			if captured != 1 || voided != 1 || len(orders) != 1 || orders[0] != "captured" {
				t.Errorf("round %d: %d captured, %d voided, orders %v; want one of each", round, captured, voided, orders)
			}
		}
	})
}

// A notice that comes while the provider is asked about an earlier one is not lost: what it is about is asked for again.
func TestNoticeDuringACheck(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		makeShop(t, db)
		clock := newClock()
		w := newFixture(t, db, clock, testBank(t, db, clock.now))
		p := w.captured("ember#1", notice)
		provider := &paymenttest.Faulty{Provider: w.bank.Provider}
		s := payment.New(payment.Config{DB: db, Consumer: shop{}, Providers: map[string]payment.Provider{"SANDBOX": provider}, Now: w.clock.now})
		told := make(chan error, 1)
		provider.After = func(c paymenttest.Call, id string) error {
			provider.After = nil
			w.must(w.bank.dispute(id))
			all := w.bank.notices(id)
			last := all[len(all)-1]
			before := len(w.list(`SELECT id FROM payment_notices`))
			go func() { told <- s.Notice(context.Background(), provider.Name(), last.header, last.body) }()
			for len(w.list(`SELECT id FROM payment_notices`)) == before {
				time.Sleep(time.Millisecond)
			}
			return nil
		}
		if _, err := s.Check(t.Context(), p.ID); err != nil {
			t.Fatal(err)
		}
		if err := <-told; err != nil {
			t.Fatal(err)
		}
		if got := w.get(p.ID); got.State != payment.Disputed {
			t.Errorf("the payment is %s, todo %q; want disputed", got.State, got.Todo)
		}
	})
}

// A chargeback beside a check that begins and ends meanwhile is a chargeback.
func TestChargebackBesideACheck(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		makeShop(t, db)
		clock := newClock()
		w := newFixture(t, db, clock, testBank(t, db, clock.now))
		p := w.captured("ember#1", notice)
		beside := true
		set := func(todo string) {
			w.must(db.Tx(context.Background(), func(tx store.Tx) error {
				_, err := tx.Exec(context.Background(), `UPDATE payments SET todo = $1`, todo)
				return err
			}))
		}
		s := payment.New(payment.Config{
			DB: db, Consumer: shop{}, Providers: map[string]payment.Provider{"SANDBOX": w.bank.Provider}, Now: w.clock.now,
			Tx: func(ctx context.Context, _ string, fn func(store.Tx) error) error {
				if beside {
					beside = false
					set("check")
					defer set("")
				}
				return db.Tx(ctx, fn)
			},
		})
		if got, err := s.Chargeback(t.Context(), p.ID, "ada"); err != nil || got.State != payment.Refunded {
			t.Errorf("got %s, %v; want refunded", got.State, err)
		}
	})
}
