package market_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/market/words"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// What the operator sees of the inventory, and how a name is taken off sale under the eyes of a running program.
func TestInventory(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		m, err := market.New(t.Context(), market.Config{DB: db, Lexicon: words.English()})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		for env, names := range map[market.Environment]string{market.Live: "beta.com\nalpha.co.uk\ngamma.com", market.Sandbox: "beta.com"} {
			csv := "domain,price_cents\n" + strings.ReplaceAll(names, "\n", ",1000\n") + ",1000\n"
			if _, err := m.Import(t.Context(), strings.NewReader(csv), market.ImportOptions{Environment: env}); err != nil {
				t.Fatal(err)
			}
		}
		beta := fqdn.MustParse("beta.com")
		withdraw := func(env market.Environment) error {
			return db.Tx(t.Context(), func(tx store.Tx) error {
				l, err := market.Withdraw(t.Context(), tx, env, beta, db.Now())
				if err == nil && (l.Status != market.Withdrawn || l.PriceCents != 1000) {
					t.Errorf("withdrawn: got %+v", l)
				}
				return err
			})
		}
		if err := withdraw(market.Live); err != nil {
			t.Fatal(err)
		}
		if err := m.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, found := m.Get(market.Live, beta); found {
			t.Error("the name is still for sale")
		}
		if _, found := m.Get(market.Sandbox, beta); !found {
			t.Error("the name is gone from the other environment too")
		}
		if err := withdraw(market.Live); !fault.Is(err, fault.NotFound) {
			t.Errorf("withdrawn again: got %v, want %s", err, fault.NotFound)
		}
		if err := db.Tx(t.Context(), func(tx store.Tx) error {
			_, err := market.Move(t.Context(), tx, market.Sandbox, beta, market.Listed, market.Suspended, db.Now())
			return err
		}); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			filter market.InventoryFilter
			want   []string
		}{
			{market.InventoryFilter{Limit: 10}, []string{"alpha.co.uk LIVE listed", "beta.com SANDBOX suspended", "beta.com LIVE withdrawn", "gamma.com LIVE listed"}},
			{market.InventoryFilter{Limit: 1}, []string{"alpha.co.uk LIVE listed"}},
			{market.InventoryFilter{Limit: 10, Environment: market.Sandbox}, []string{"beta.com SANDBOX suspended"}},
			{market.InventoryFilter{Limit: 10, Status: market.Listed}, []string{"alpha.co.uk LIVE listed", "gamma.com LIVE listed"}},
			{market.InventoryFilter{Limit: 10, TLD: "co.uk"}, []string{"alpha.co.uk LIVE listed"}},
			{market.InventoryFilter{Limit: 10, TLD: "k"}, nil},
			{market.InventoryFilter{Limit: 10, Domain: "gamma.com"}, []string{"gamma.com LIVE listed"}},
		} {
			found, err := market.Inventory(t.Context(), db, c.filter)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, l := range found {
				got = append(got, l.Domain.String()+" "+string(l.Environment)+" "+string(l.Status))
			}
			slices.Sort(got)
			slices.Sort(c.want)
			if !slices.Equal(got, c.want) {
				t.Errorf("%+v: got %q, want %q", c.filter, got, c.want)
			}
		}
		if err := withdraw(market.Sandbox); err != nil {
			t.Errorf("a suspended listing: %v", err)
		}
		for _, bad := range []market.InventoryFilter{{}, {Limit: market.MaxInventory + 1}, {Limit: 1, Status: "gone"}, {Limit: 1, Environment: "TEST"}} {
			if _, err := market.Inventory(t.Context(), db, bad); !fault.Is(err, fault.Validation) {
				t.Errorf("%+v: got %v, want %s", bad, err, fault.Validation)
			}
		}
	})
}
