package market_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

func domains(names string) []fqdn.Name {
	var all []fqdn.Name
	for n := range strings.FieldsSeq(names) {
		all = append(all, fqdn.MustParse(n))
	}
	return all
}

// in runs f in a transaction and makes the result visible.
func in(t *testing.T, db *store.DB, m *market.Market, f func(store.Tx) error) {
	t.Helper()
	if err := db.Tx(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	if err := m.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// refusals is the refused names in order.
func refusals(refused map[fqdn.Name]error) string {
	var all []string
	for name, err := range refused {
		if !fault.Is(err, fault.Conflict) {
			all = append(all, fmt.Sprint(err))
		}
		all = append(all, name.String())
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func put(t *testing.T, db *store.DB, m *market.Market, s market.Seller, names string, cents int64, to market.Status) (refused string) {
	t.Helper()
	in(t, db, m, func(tx store.Tx) error {
		r, err := s.Put(t.Context(), tx, domains(names), money.USD(cents), to, db.Now())
		refused = refusals(r)
		return err
	})
	return refused
}

func turn(t *testing.T, db *store.DB, m *market.Market, s market.Seller, names string, to market.Status) (refused string) {
	t.Helper()
	in(t, db, m, func(tx store.Tx) error {
		r, err := s.Turn(t.Context(), tx, domains(names), to, db.Now())
		refused = refusals(r)
		return err
	})
	return refused
}

// open is the seller's open listings as "domain status cents", in order.
func open(t *testing.T, db *store.DB, s market.Seller, names string) string {
	t.Helper()
	all := map[string]string{}
	err := db.Read(t.Context(), func(tx store.Tx) error {
		found, err := s.Open(t.Context(), tx, domains(names))
		for _, l := range found {
			all[l.Domain.String()] = fmt.Sprintf("%s %s %d", l.Domain, l.Status, l.PriceCents)
			if l.SellerID != s.ID || l.FloorPriceCents != l.PriceCents || l.ListedAt.IsZero() {
				t.Errorf("listing %+v", l)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		lines = append(lines, all[name])
	}
	return strings.Join(lines, ", ")
}

func TestSellerOffersNames(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		m := stall(t, db)
		list(t, m, "taken.example,100,,,,", "other.example,100,,,,")
		ada, bob := market.Seller{Environment: market.Live, ID: "acc_ada"}, market.Seller{Environment: market.Live, ID: "acc_bob"}
		const all = "a.example b.example taken.example"
		want := func(what, got, want string) {
			t.Helper()
			if got != want {
				t.Errorf("%s: got %q, want %q", what, got, want)
			}
		}
		visible := func() string {
			p, err := m.List(t.Context(), market.Filter{Environment: market.Live, Sort: market.Name})
			if err != nil {
				t.Fatal(err)
			}
			return strings.Join(names(p.Listings), " ")
		}

		want("pending beside a listed one", put(t, db, m, ada, all, 500, market.Pending), "taken.example")
		want("pending is not for sale", visible(), "other.example taken.example")
		want("listed, but for what another lists", put(t, db, m, ada, all, 600, market.Listed), "taken.example")
		want("open", open(t, db, ada, all), "a.example listed 600, b.example listed 600")
		want("for sale", visible(), "a.example b.example other.example taken.example")
		if o, ok := m.Get(market.Live, fqdn.MustParse("a.example")); !ok || o.PriceCents != 600 || o.Currency != "USD" {
			t.Errorf("a.example: %+v, %v", o, ok)
		}
		want("of another seller", open(t, db, bob, all), "")
		want("another price, which unlists nothing", put(t, db, m, ada, "a.example", 700, market.Pending), "")
		want("open", open(t, db, ada, all), "a.example listed 700, b.example listed 600")
		want("listed by another account", put(t, db, m, bob, "a.example c.example", 5, market.Listed), "a.example")
		want("turned by who does not offer it", turn(t, db, m, bob, "a.example taken.example", market.Withdrawn), "")
		want("for sale", visible(), "a.example b.example c.example other.example taken.example")

		want("suspended", turn(t, db, m, ada, "a.example none.example", market.Suspended), "")
		want("for sale", visible(), "b.example c.example other.example taken.example")
		want("then listed by another", put(t, db, m, bob, "a.example", 5, market.Listed), "")
		want("shown again", turn(t, db, m, ada, all, market.Listed), "a.example taken.example")
		want("after the other withdrew it", turn(t, db, m, bob, "a.example", market.Withdrawn)+turn(t, db, m, ada, "a.example", market.Listed), "")
		want("withdrawn", turn(t, db, m, ada, "b.example taken.example", market.Withdrawn), "")
		want("open", open(t, db, ada, all), "a.example listed 700")
		want("for sale", visible(), "a.example c.example other.example taken.example")
		want("offered anew", put(t, db, m, ada, "b.example", 9, market.Listed), "")

		if err := move(t, m, db, "a.example", market.Listed, market.Sold); err != nil {
			t.Fatal(err)
		}
		want("what was sold", put(t, db, m, ada, "a.example b.example", 9, market.Listed), "a.example")
		want("what another sold", put(t, db, m, bob, "a.example", 9, market.Listed), "")
	})
}

func TestImportLeavesTheListingsOfSellersAlone(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		m := stall(t, db)
		ada := market.Seller{Environment: market.Live, ID: "acc_ada"}
		put(t, db, m, ada, "a.example", 500, market.Listed)
		put(t, db, m, ada, "b.example", 500, market.Pending)
		file := "domain,price_cents\na.example,5\nb.example,5\n"
		r, err := m.Import(t.Context(), strings.NewReader(file), market.ImportOptions{Environment: market.Live, Partial: true})
		if err != nil || r.Created != 1 || len(r.Bad) != 1 || r.Bad[0].Line != 2 || r.Bad[0].Column != "domain" {
			t.Errorf("import = %+v, %v; want line 2 bad and b.example listed", r, err)
		}
		if got := open(t, db, ada, "a.example b.example"); got != "a.example listed 500, b.example pending 500" {
			t.Errorf("the seller's listings: %s", got)
		}
	})
}

func TestSellerOffersAThousandNames(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		m := stall(t, db)
		var all []string
		for i := range 1000 {
			all = append(all, fmt.Sprintf("name%d.example", i))
		}
		s := market.Seller{Environment: market.Live, ID: "acc_1"}
		version := m.Version()
		if refused := put(t, db, m, s, strings.Join(all, " "), 5, market.Listed); refused != "" || m.Len(market.Live) != 1000 || m.Version() != version+1 {
			t.Errorf("refused %q, %d for sale, version %d after %d; want none, 1000, the next", refused, m.Len(market.Live), m.Version(), version)
		}
		if refused := turn(t, db, m, s, strings.Join(all, " "), market.Withdrawn); refused != "" || m.Len(market.Live) != 0 {
			t.Errorf("refused %q, %d for sale; want none, none", refused, m.Len(market.Live))
		}
		put(t, db, m, s, "", 5, market.Listed)
		if m.Version() != version+2 {
			t.Error("offering nothing changes the version")
		}
	})
}

func TestSellerIsNamed(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t, store.Config{Temporary: true})
	for _, s := range []market.Seller{{Environment: market.Live}, {ID: "acc_1"}} {
		err := db.Tx(t.Context(), func(tx store.Tx) error {
			_, err := s.Turn(t.Context(), tx, domains("a.example"), market.Withdrawn, db.Now())
			return err
		})
		if err == nil {
			t.Errorf("%+v withdraws the operator's listings", s)
		}
	}
}
