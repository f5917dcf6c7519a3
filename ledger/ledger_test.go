package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/ledger"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

var (
	owner   = ledger.Owner{Partner: "prt_1", Environment: "LIVE"}
	another = ledger.Owner{Partner: "prt_2", Environment: "LIVE"}
	noon    = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
)

// post adds an entry in a transaction of its own.
func post(t testing.TB, db *store.DB, e ledger.Entry) error {
	t.Helper()
	return db.Tx(t.Context(), func(tx store.Tx) error { return ledger.Post(t.Context(), tx, e) })
}

func reverse(t testing.TB, db *store.DB, o ledger.Owner, order string, kind ledger.Kind) error {
	t.Helper()
	return db.Tx(t.Context(), func(tx store.Tx) error { return ledger.Reverse(t.Context(), tx, o, order, kind, noon) })
}

func mustPost(t testing.TB, db *store.DB, e ledger.Entry) {
	t.Helper()
	if err := post(t, db, e); err != nil {
		t.Fatalf("post %+v: %v", e, err)
	}
}

func balances(t testing.TB, db *store.DB, o ledger.Owner) (all []ledger.Posting) {
	t.Helper()
	err := db.Read(t.Context(), func(tx store.Tx) (err error) {
		all, err = ledger.Balances(t.Context(), tx, o)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func balance(t testing.TB, db *store.DB, o ledger.Owner, account ledger.Account, currency string) (sum money.Amount) {
	t.Helper()
	err := db.Read(t.Context(), func(tx store.Tx) (err error) {
		sum, err = ledger.Balance(t.Context(), tx, o, account, currency)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

func TestCommissionIsRoundedHalfAwayFromZero(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cents int64
		rate  ledger.BasisPoints
		want  int64
	}{
		{10000, 1500, 1500},
		{1, 1500, 0},          // 0.15
		{3, 1500, 0},          // 0.45
		{10, 500, 1},          // 0.5
		{-10, 500, -1},        // -0.5
		{30, 500, 2},          // 1.5
		{-30, 500, -2},        // -1.5
		{333, 1500, 50},       // 49.95
		{9, 500, 0},           // 0.45
		{99999, 1, 10},        // 9.9999
		{49, 100, 0},          // 0.49
		{50, 100, 1},          // 0.5
		{12345, 0, 0},         // nothing is kept back
		{12345, 10000, 12345}, // everything
		{money.MaxCents, 10000, money.MaxCents},
		{-money.MaxCents, 9999, -999900000000},
	} {
		got := c.rate.Of(money.USD(c.cents))
		if got != money.USD(c.want) {
			t.Errorf("%d basis points of %d cents: got %v, want %d cents", c.rate, c.cents, got, c.want)
		}
	}
}

// What is computed with integers is what the exact fraction rounds to.
func TestCommissionAgreesWithFractions(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		cents, rate := r.Int64N(2*money.MaxCents)-money.MaxCents, ledger.BasisPoints(r.Int64N(10_001))
		exact := big.NewRat(cents, 10_000)
		exact.Mul(exact, new(big.Rat).SetInt64(int64(rate)))
		want, _ := new(big.Int).SetString(exact.FloatString(0), 10) // rounds half away from zero
		if got := rate.Of(money.USD(cents)); got.Cents != want.Int64() {
			t.Fatalf("%d basis points of %d cents: got %d, want %d", rate, cents, got.Cents, want)
		}
	}
}

func TestASaleIsPosted(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustPost(t, db, ledger.Sold(owner, "ord_1", money.USD(10001), 1500, noon))
		mustPost(t, db, ledger.Sold(owner, "ord_2", money.Amount{Cents: 500, Currency: "EUR"}, 0, noon))
		mustPost(t, db, ledger.Sold(another, "ord_3", money.USD(700), ledger.Whole, noon))
		for _, c := range []struct {
			owner ledger.Owner
			want  []ledger.Posting
		}{
			{owner, []ledger.Posting{
				{Account: ledger.PartnerReceivable, Amount: money.Amount{Cents: 500, Currency: "EUR"}},
				{Account: ledger.PartnerReceivable, Amount: money.USD(8501)},
				{Account: ledger.RetainedCommission, Amount: money.USD(1500)},
				{Account: ledger.SalesProceeds, Amount: money.Amount{Cents: -500, Currency: "EUR"}},
				{Account: ledger.SalesProceeds, Amount: money.USD(-10001)},
			}},
			{another, []ledger.Posting{
				{Account: ledger.RetainedCommission, Amount: money.USD(700)},
				{Account: ledger.SalesProceeds, Amount: money.USD(-700)},
			}},
			{ledger.Owner{Partner: "prt_1", Environment: "SANDBOX"}, nil},
		} {
			if got := balances(t, db, c.owner); !reflect.DeepEqual(got, c.want) {
				t.Errorf("balances of %v: got %v, want %v", c.owner, got, c.want)
			}
		}
		if got := balance(t, db, owner, ledger.PartnerReceivable, "USD"); got != money.USD(8501) {
			t.Errorf("got %v, want 85.01 USD", got)
		}
		if got := balance(t, db, owner, ledger.PartnerReceivable, "GBP"); got != (money.Amount{Currency: "GBP"}) {
			t.Errorf("a currency without postings: got %v, want 0.00 GBP", got)
		}
	})
}

func TestPostRefuses(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		two := func(a, b money.Amount) []ledger.Posting {
			return []ledger.Posting{{Account: ledger.PartnerReceivable, Amount: a}, {Account: ledger.SalesProceeds, Amount: b}}
		}
		for name, change := range map[string]func(*ledger.Entry){
			"no postings":            func(e *ledger.Entry) { e.Postings = nil },
			"one posting":            func(e *ledger.Entry) { e.Postings = e.Postings[:1] },
			"a sum other than zero":  func(e *ledger.Entry) { e.Postings = two(money.USD(5), money.USD(-4)) },
			"two currencies for one": func(e *ledger.Entry) { e.Postings = two(money.USD(5), money.Amount{Cents: -5, Currency: "EUR"}) },
			"a posting of nothing": func(e *ledger.Entry) {
				e.Postings = append(e.Postings, ledger.Posting{Account: "x", Amount: money.USD(0)})
			},
			"no currency":    func(e *ledger.Entry) { e.Postings = two(money.Amount{Cents: 5}, money.Amount{Cents: -5}) },
			"no account":     func(e *ledger.Entry) { e.Postings[0].Account = "" },
			"no owner":       func(e *ledger.Entry) { e.Owner.Partner = "" },
			"no environment": func(e *ledger.Entry) { e.Owner.Environment = "" },
			"no kind":        func(e *ledger.Entry) { e.Kind = "" },
			"no time":        func(e *ledger.Entry) { e.At = time.Time{} },
			"sums beyond an integer": func(e *ledger.Entry) {
				e.Postings = append(two(money.USD(1<<62), money.USD(1<<62)), two(money.USD(1<<62), money.USD(1<<62))...)
			},
		} {
			e := ledger.Sold(owner, "ord_1", money.USD(100), 1500, noon)
			change(&e)
			if err := post(t, db, e); err == nil {
				t.Errorf("%s: posted, want a refusal", name)
			}
		}
		if got := balances(t, db, owner); len(got) > 0 {
			t.Errorf("after refusals: got balances %v, want none", got)
		}
	})
}

func TestASaleIsPostedOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustPost(t, db, ledger.Sold(owner, "ord_1", money.USD(100), 1500, noon))
		for _, again := range []ledger.Entry{
			ledger.Sold(owner, "ord_1", money.USD(100), 1500, noon),
			ledger.Sold(another, "ord_1", money.USD(900), 0, noon), // with fewer lines
		} {
			if err := post(t, db, again); !errors.Is(err, ledger.ErrPosted) {
				t.Errorf("post the sale again: got %v, want ErrPosted", err)
			}
		}
		r, err := ledger.Check(t.Context(), db, nil)
		if err != nil || r.Entries != 1 || r.Postings != 3 || len(r.Violations) > 0 {
			t.Errorf("got %v, %v, want one entry of 3 postings and no violation", r, err)
		}
	})
}

func TestAReversalIsTheExactOpposite(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustPost(t, db, ledger.Sold(owner, "ord_1", money.USD(333), 1500, noon))
		mustPost(t, db, ledger.Sold(owner, "ord_2", money.USD(777), 1500, noon))
		before := balances(t, db, owner)
		mustPost(t, db, ledger.Sold(owner, "ord_3", money.USD(12345), 999, noon))
		for _, c := range []struct {
			what  string
			owner ledger.Owner
			order string
			kind  ledger.Kind
			want  error
		}{
			{"another's sale", another, "ord_3", ledger.Refund, ledger.ErrNothing},
			{"a sale that was not", owner, "ord_9", ledger.Refund, ledger.ErrNothing},
			{"no order", owner, "", ledger.Refund, ledger.ErrNothing},
			{"a sale", owner, "ord_3", ledger.Refund, nil},
			{"a sale that is refunded", owner, "ord_3", ledger.Refund, ledger.ErrPosted},
			{"a sale that is refunded, by cancelling it", owner, "ord_3", ledger.Cancellation, ledger.ErrPosted},
		} {
			if err := reverse(t, db, c.owner, c.order, c.kind); !errors.Is(err, c.want) {
				t.Errorf("reverse %s: got %v, want %v", c.what, err, c.want)
			}
			if c.want == nil {
				if got := balances(t, db, owner); !reflect.DeepEqual(got, before) {
					t.Errorf("after the reversal: got %v, want %v", got, before)
				}
			}
		}
		if err := reverse(t, db, owner, "ord_1", ledger.Sale); err == nil {
			t.Error("reverse with another sale: got success, want a refusal")
		}
	})
}

func TestPostingsCannotBeChanged(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustPost(t, db, ledger.Sold(owner, "ord_1", money.USD(100), 1500, noon))
		for _, query := range []string{
			`UPDATE postings SET cents = cents + 1 WHERE line = 1`,
			`UPDATE postings SET at = 0`,
			`DELETE FROM postings WHERE line = 1`,
			`DELETE FROM postings`,
		} {
			err := db.Tx(t.Context(), func(tx store.Tx) error {
				_, err := tx.Exec(t.Context(), query)
				return err
			})
			if err == nil || !strings.Contains(err.Error(), "never") {
				t.Errorf("%s: got %v, want a refusal by the schema", query, err)
			}
		}
	})
}

// Whatever is sold and given back, in any order and with refusals in between, each owner's postings sum to zero and to what
// a simple model says.
func TestRandomHistories(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r := rand.New(rand.NewPCG(3, 4))
		type sale struct {
			owner    ledger.Owner
			price    money.Amount
			rate     ledger.BasisPoints
			reversed bool
		}
		orders := map[string]*sale{}
		owners := []ledger.Owner{owner, another, {Partner: "prt_1", Environment: "SANDBOX"}}
		ctx := context.Background()
		err := db.Tx(ctx, func(tx store.Tx) error {
			clear(orders)
			for range 600 {
				order := fmt.Sprintf("ord_%03d", r.IntN(300))
				s, at := orders[order], noon.Add(time.Duration(r.IntN(1e6))*time.Second)
				if s == nil {
					s = &sale{owners[r.IntN(len(owners))], money.Amount{Cents: 1 + r.Int64N(1e9), Currency: []string{"USD", "EUR"}[r.IntN(2)]}, ledger.BasisPoints(r.IntN(10_001)), false}
					orders[order] = s
					if err := ledger.Post(ctx, tx, ledger.Sold(s.owner, order, s.price, s.rate, at)); err != nil {
						return err
					}
					continue
				}
				err := ledger.Reverse(ctx, tx, s.owner, order, []ledger.Kind{ledger.Refund, ledger.Cancellation}[r.IntN(2)], at)
				if want := s.reversed; errors.Is(err, ledger.ErrPosted) != want || !want && err != nil {
					return fmt.Errorf("reverse %s, reversed before %t: %w", order, want, err)
				}
				s.reversed = true
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		want := map[ledger.Owner]map[string]int64{} // receivable by currency
		for _, s := range orders {
			if want[s.owner] == nil {
				want[s.owner] = map[string]int64{}
			}
			if !s.reversed {
				want[s.owner][s.price.Currency] += s.price.Cents - s.rate.Of(s.price).Cents
			}
		}
		for o, currencies := range want {
			for currency, cents := range currencies {
				if got := balance(t, db, o, ledger.PartnerReceivable, currency); got.Cents != cents {
					t.Errorf("%v owes: got %v, want %v", o, got, money.Amount{Cents: cents, Currency: currency})
				}
			}
		}
		report, err := ledger.Check(ctx, db, func(_ context.Context, _ store.Tx, after string, limit int) (all []ledger.Claim, err error) {
			for _, order := range slices.Sorted(maps.Keys(orders)) {
				if order > after && len(all) < min(limit, 70) { // some parts
					s := orders[order]
					all = append(all, ledger.Claim{Order: order, Owner: s.owner, Price: s.price, Reversed: s.reversed, Commission: s.rate.Of(s.price).Cents})
				}
			}
			return all, nil
		})
		if err != nil || len(report.Violations) > 0 || report.Orders != len(orders) {
			t.Errorf("got %v, %v, want %d orders and no violation", report, err, len(orders))
		}
	})
}
