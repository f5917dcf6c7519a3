package settlement_test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/ledger"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/partner/admin"
	"github.com/namewharf/namewharf/partner/settlement"
	"github.com/namewharf/namewharf/sale"
	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// Several operators, on PostgreSQL two of them with a connection pool of their own as another process has, settle a month and pay its commissions at the
// same time: there is one statement, one payout, and one payment.
func TestOperatorsAtOnce(t *testing.T) {
	t.Parallel()
	storetest.EachConfig(t, func(t *testing.T, cfg store.Config) {
		w := &walk{
			T: t, cfg: cfg, keys: seal.Random(), rand: rand.New(rand.NewPCG(1, 2)), now: time.Date(2026, 10, 5, 12, 0, 0, 0, time.UTC),
			listed: map[string][]*modelOrder{}, done: map[string]int{},
		}
		w.cfg.Now = func() time.Time { return w.now }
		w.open()
		defer func() { w.db.Close() }()
		w.begin()
		for range 60 {
			w.now = w.now.Add(time.Second)
			w.place()
			w.start()
			w.confirm()
		}
		w.now = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
		operators := []*admin.Operator{w.operator, w.operator}
		if cfg.URL != "" {
			other := storetest.Open(t, w.cfg)
			operators = append(operators, admin.New(other, w.keys, func() time.Time { return w.now }, "other"), admin.New(other, w.keys, func() time.Time { return w.now }, "other"))
		}
		together := func(do func(o *admin.Operator) int) (sum int) {
			var all sync.WaitGroup
			counts := make([]int, len(operators))
			for i, o := range operators {
				all.Go(func() { counts[i] = do(o) })
			}
			all.Wait()
			for _, n := range counts {
				sum += n
			}
			return sum
		}
		live := w.parties[0]
		want := 0
		for _, o := range w.ordersIn(sale.TransferCompleted) {
			if o.env == "LIVE" {
				want++
			}
		}
		settled := together(func(o *admin.Operator) int {
			report, err := o.Settle(t.Context(), settlement.Run{Period: ledger.PeriodOf(w.now.Add(-time.Hour)), Environment: market.Live, Batch: 7})
			if err != nil {
				t.Error(err)
			}
			return report.Settled
		})
		if settled != want || want == 0 {
			t.Errorf("%d orders were settled, want %d", settled, want)
		}
		for _, p := range w.parties {
			if p.env == "LIVE" {
				w.model.close(p.id, p.env, ledger.PeriodOf(w.now.Add(-time.Hour)))
				w.settleAll(p.id, p.env)
			}
		}
		payable := w.payable(live.id, live.env)
		made := together(func(o *admin.Operator) int {
			all, err := o.CreatePayouts(t.Context(), live.id, market.Live, "", false)
			if err != nil {
				t.Error(err)
			}
			return len(all)
		})
		payouts, _, err := w.operator.Payouts(t.Context(), ledger.Filter{})
		if err != nil || made != len(payable) || len(payouts) != made || made == 0 {
			t.Fatalf("%d payouts were made, of %d; there are %d, %v", made, len(payable), len(payouts), err)
		}
		paid := together(func(o *admin.Operator) (n int) {
			for _, p := range payouts {
				switch _, err := o.PayPayout(t.Context(), p.ID, "wire 1"); {
				case err == nil:
					n++
				case !fault.Is(err, fault.Conflict):
					t.Error(err)
				}
			}
			return n
		})
		if paid != made {
			t.Errorf("%d payouts were paid %d times", made, paid)
		}
		for _, d := range payouts {
			for _, p := range payable {
				if p.source == d.Source && p.currency == d.Amount.Currency {
					p.id = d.ID
					w.take(p)
					w.end(p, ledger.PayoutSent)
				}
			}
		}
		w.compare()
	})
}
