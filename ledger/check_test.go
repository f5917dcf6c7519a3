package ledger_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/namewharf/namewharf/ledger"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// A line is a posting as it is in the table, which a defective program may have written.
type line struct {
	entry, kind, partner, order, account string
	number                               int
	cents                                int64
	at                                   int64
}

func plant(t *testing.T, db *store.DB, lines ...line) {
	t.Helper()
	err := db.Tx(t.Context(), func(tx store.Tx) error {
		for _, l := range lines {
			if _, err := tx.Exec(t.Context(), `
				INSERT INTO postings (entry_id, line, kind, partner, environment, order_id, account, cents, currency, at)
				VALUES ($1, $2, $3, $4, 'LIVE', $5, $6, $7, 'USD', $8)`,
				l.entry, l.number, l.kind, l.partner, l.order, l.account, l.cents, l.at); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestCheckFinds(t *testing.T) {
	t.Parallel()
	good := func(order string) ledger.Entry { return ledger.Sold(owner, order, money.USD(100), 1500, noon) }
	claim := func(order string) ledger.Claim {
		return ledger.Claim{Order: order, Owner: owner, Price: money.USD(100), Commission: 15}
	}
	for name, c := range map[string]struct {
		plant  []line
		post   []ledger.Entry
		refund []string
		claims []ledger.Claim
		want   []string // what each violation says, in order
	}{
		"nothing in an empty ledger": {},
		"nothing in a right one": {
			post: []ledger.Entry{good("ord_1"), good("ord_2")}, refund: []string{"ord_2"},
			claims: []ledger.Claim{claim("ord_1"), {Order: "ord_2", Owner: owner, Price: money.USD(100), Reversed: true, Commission: 15}},
		},
		"an entry that does not balance, and its currency": {
			plant: []line{{"ent_1", "sale", "prt_1", "", "a", 1, 5, 1}, {"ent_1", "sale", "prt_1", "", "b", 2, -4, 1}},
			want:  []string{"entry ent_1: currency USD: the postings do not sum to zero: 0.01 USD", "all postings of partner prt_1 in LIVE"},
		},
		"entries that balance one another only": {
			plant: []line{{"ent_1", "sale", "prt_1", "", "a", 1, 5, 1}, {"ent_2", "sale", "prt_1", "", "b", 1, -5, 1}},
			want:  []string{"entry ent_1: currency USD: the postings do not sum", "entry ent_2: currency USD: the postings do not sum"},
		},
		"an entry of two owners": {
			plant: []line{{"ent_1", "sale", "prt_1", "", "a", 1, 5, 1}, {"ent_1", "sale", "prt_2", "", "b", 2, -5, 1}},
			want:  []string{"entry ent_1: the postings do not belong together", "partner prt_1", "partner prt_2"},
		},
		"an entry of two times": {
			plant: []line{{"ent_1", "sale", "prt_1", "", "a", 1, 5, 1}, {"ent_1", "sale", "prt_1", "", "b", 2, -5, 2}},
			want:  []string{"entry ent_1: the postings do not belong together"},
		},
		"an entry that misses a line": {
			plant: []line{{"ent_1", "sale", "prt_1", "", "a", 1, 5, 1}, {"ent_1", "sale", "prt_1", "", "b", 3, -5, 1}},
			want:  []string{"entry ent_1: the postings do not belong together"},
		},
		"an order without postings": {
			claims: []ledger.Claim{claim("ord_1")},
			want:   []string{"order ord_1: currency USD: the order has no postings"},
		},
		"postings without an order": {
			post: []ledger.Entry{good("ord_1"), good("ord_2"), good("ord_3")}, claims: []ledger.Claim{claim("ord_2")},
			want: []string{"order ord_1: there are postings, but no such order", "order ord_3: there are postings, but no such order"},
		},
		"an order of another party": {
			post: []ledger.Entry{good("ord_1")}, claims: []ledger.Claim{{Order: "ord_1", Owner: another, Price: money.USD(100)}},
			want: []string{"order ord_1: currency USD: the postings are another party's"},
		},
		"another price": {
			post: []ledger.Entry{good("ord_1")}, claims: []ledger.Claim{{Order: "ord_1", Owner: owner, Price: money.USD(101)}},
			want: []string{"order ord_1: currency USD: the postings are not those of its price, 1.01 USD"},
		},
		"another currency": {
			post: []ledger.Entry{good("ord_1")}, claims: []ledger.Claim{{Order: "ord_1", Owner: owner, Price: money.Amount{Cents: 100, Currency: "EUR"}}},
			want: []string{"order ord_1: currency EUR: the postings are not those of its price"},
		},
		"a refund without a reversal": {
			post: []ledger.Entry{good("ord_1")}, claims: []ledger.Claim{{Order: "ord_1", Owner: owner, Price: money.USD(100), Reversed: true, Commission: 15}},
			want: []string{"order ord_1: currency USD: the order was given back, but its sale is not reversed"},
		},
		"a reversal without a refund": {
			post: []ledger.Entry{good("ord_1")}, refund: []string{"ord_1"}, claims: []ledger.Claim{claim("ord_1")},
			want: []string{"order ord_1: currency USD: the sale is reversed, but the order is not"},
		},
		"a reversal of something else": {
			post: []ledger.Entry{good("ord_1"), {Kind: ledger.Refund, Owner: owner, Order: "ord_1", At: noon, Postings: []ledger.Posting{
				{Account: ledger.PartnerReceivable, Amount: money.USD(-100)}, {Account: ledger.SalesProceeds, Amount: money.USD(100)},
			}}},
			claims: []ledger.Claim{{Order: "ord_1", Owner: owner, Price: money.USD(100), Reversed: true, Commission: 15}},
			want:   []string{"order ord_1: currency USD: the reversal is not the opposite of the sale"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, func(t *testing.T, db *store.DB) {
				for _, e := range c.post {
					mustPost(t, db, e)
				}
				for _, order := range c.refund {
					if err := reverse(t, db, owner, order, ledger.Refund); err != nil {
						t.Fatal(err)
					}
				}
				plant(t, db, c.plant...)
				var claims ledger.Claims
				if c.claims != nil {
					claims = func(_ context.Context, _ store.Tx, after string, _ int) ([]ledger.Claim, error) {
						for _, one := range c.claims {
							if one.Order > after {
								return []ledger.Claim{one}, nil
							}
						}
						return nil, nil
					}
				}
				got, err := ledger.Check(t.Context(), db, claims)
				if err != nil {
					t.Fatal(err)
				}
				if len(got.Violations) != len(c.want) {
					t.Fatalf("got %v, want %d violations: %q", got, len(c.want), c.want)
				}
				for i, v := range got.Violations {
					if !strings.Contains(v.String(), c.want[i]) {
						t.Errorf("violation %d: got %q, want %q", i, v, c.want[i])
					}
				}
			})
		})
	}
}

func TestCheckFailsWhereOrdersCannotBeRead(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		_, err := ledger.Check(t.Context(), db, func(context.Context, store.Tx, string, int) ([]ledger.Claim, error) { return nil, broken })
		if !errors.Is(err, broken) {
			t.Errorf("got %v, want the failure of the claims", err)
		}
	})
}
