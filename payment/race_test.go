package payment_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/namewharf/namewharf/payment"
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
