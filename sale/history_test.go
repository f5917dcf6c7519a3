package sale_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/sale"
)

// Whatever parties and operators do at the same time, the books balance, a name has at most one active sale, and it is for
// sale exactly while it has none.
func TestRandomHistories(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, s *fixture) {
		names := s.names(12)
		var mu sync.Mutex
		var placed []string
		var wg sync.WaitGroup
		for worker := range 6 {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(5, uint64(worker)))
				p := party
				p.Partner, p.Terms.ServiceBP = fmt.Sprint("prt_", worker%3), int64(r.IntN(10_001))
				for range 60 {
					var err error
					mu.Lock()
					known := placed
					mu.Unlock()
					switch n := r.IntN(10); {
					case n < 4 || len(known) == 0:
						var o sale.Order
						o, err = s.place(p, sale.Request{Domain: names[r.IntN(len(names))].String(), ExpectedPrice: price})
						if err == nil {
							mu.Lock()
							placed = append(placed, o.PublicID)
							mu.Unlock()
						}
					case n < 5:
						_, err = s.Try(context.Background(), p, sale.Request{Domain: names[r.IntN(len(names))].String(), ExpectedPrice: price}, s.clock.now())
					default:
						_, err = s.act(known[r.IntN(len(known))], actions[r.IntN(len(actions))], staff)
					}
					if f := (*fault.Error)(nil); err != nil && (!errors.As(err, &f) || f.Code != fault.Conflict) {
						t.Errorf("got %v, want success or a conflict", err)
					}
				}
			})
		}
		wg.Wait()
		s.wantRight()
		const active = `status NOT IN ('REFUNDED', 'CANCELLED')`
		if n := s.count(`SELECT COUNT(*) FROM (SELECT domain FROM orders WHERE ` + active + ` GROUP BY domain HAVING COUNT(*) > 1) AS twice`); n != 0 {
			t.Errorf("got %d names with more than one active sale, want none", n)
		}
		for _, name := range names {
			sold := s.count(`SELECT COUNT(*) FROM orders WHERE domain = $1 AND `+active, name.String())
			listed := s.count(`SELECT COUNT(*) FROM listings WHERE domain = $1 AND status = 'listed'`, name.String())
			if sold+listed != 1 {
				t.Errorf("%s: got %d active sales and %d listings, want one of both together", name, sold, listed)
			}
		}
		events := s.count(`SELECT COUNT(*) FROM test_events`)
		steps := s.count(`SELECT COUNT(*) FROM order_timeline WHERE type <> 'order.manual_review_held'`)
		if events != steps || s.count(`SELECT CAST(SUM(last) AS BIGINT) FROM test_streams`) != events {
			t.Errorf("got %d events, want %d, one for each step but holds", events, steps)
		}
	})
}
