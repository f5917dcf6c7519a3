package market_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// stall opens a market on the database until the end of the test.
func stall(t testing.TB, db *store.DB) *market.Market {
	t.Helper()
	m, err := market.New(t.Context(), market.Config{DB: db, Follow: 20 * time.Millisecond})
	if err != nil {
		t.Fatalf("open the market: %v", err)
	}
	t.Cleanup(m.Close)
	return m
}

const header = "domain,price_cents,floor_price_cents,currency,description,keywords\n"

// list imports the rows into LIVE.
func list(t testing.TB, m *market.Market, rows ...string) market.Report {
	t.Helper()
	r, err := m.Import(t.Context(), strings.NewReader(header+strings.Join(rows, "\n")), market.ImportOptions{Environment: market.Live})
	if err != nil {
		t.Fatalf("import: %v", err)
	}
	if len(r.Bad) > 0 {
		t.Fatalf("import: bad rows: %v", r.Bad)
	}
	return r
}

func names(listings []market.Listing) []string {
	out := []string{}
	for _, l := range listings {
		out = append(out, l.Domain.String())
	}
	return out
}

func TestListingIsFoundAtOnceAndElsewhereSoon(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		here, there := stall(t, db), stall(t, db)
		version := here.Version()
		list(t, here, "Ember.example,250000,200000,EUR,A warm name,fire; glow")
		domain := fqdn.MustParse("ember.example")

		got, ok := here.Get(market.Live, domain)
		if !ok || got.Domain != domain || got.PriceCents != 250000 || got.Currency != "EUR" || got.ListedAt.IsZero() {
			t.Errorf("Get(LIVE, ember.example) = %+v, %v; want the offer", got, ok)
		}
		if here.Version() == version {
			t.Errorf("version is %d before and after a listing", version)
		}
		if _, ok := here.Get(market.Sandbox, domain); ok {
			t.Error("a LIVE listing is visible in SANDBOX")
		}
		full, err := here.Listing(t.Context(), market.Live, domain)
		if err != nil {
			t.Fatal(err)
		}
		if full.FloorPriceCents != 200000 || full.Description != "A warm name" || !slices.Equal(full.Keywords, []string{"fire", "glow"}) || full.Status != market.Listed || full.ID == "" {
			t.Errorf("Listing = %+v", full)
		}
		deadline := time.Now().Add(5 * time.Second)
		for {
			if _, ok := there.Get(market.Live, domain); ok {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("another process does not see the listing")
			}
			time.Sleep(5 * time.Millisecond)
		}
		if here.Version() != there.Version() {
			t.Errorf("versions differ: %d here, %d there", here.Version(), there.Version())
		}
		if _, err := here.Listing(t.Context(), market.Live, fqdn.MustParse("absent.example")); !fault.Is(err, fault.NotFound) {
			t.Errorf("Listing of an unlisted name: %v, want not_found", err)
		}
	})
}

func TestSoldNameLeavesTheMarket(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		m := stall(t, db)
		list(t, m, "ember.example,100,,,,", "brew.example,100,,,,")
		if err := move(t, m, db, "ember.example", market.Listed, market.Sold); err != nil {
			t.Fatal(err)
		}
		if err := move(t, m, db, "ember.example", market.Listed, market.Sold); !fault.Is(err, fault.Conflict) {
			t.Errorf("second sale of a name: %v, want conflict", err)
		}
		if _, ok := m.Get(market.Live, fqdn.MustParse("ember.example")); ok {
			t.Error("a sold name is still for sale")
		}
		p, err := m.List(t.Context(), market.Filter{Environment: market.Live})
		if err != nil || !slices.Equal(names(p.Listings), []string{"brew.example"}) {
			t.Errorf("List = %v, %v; want brew.example", names(p.Listings), err)
		}
		r, err := m.Import(t.Context(), strings.NewReader("domain,price_cents\nember.example,200\nroast.example,200\n"), market.ImportOptions{Environment: market.Live})
		if err != nil || r.Applied || len(r.Bad) != 1 || r.Bad[0].Line != 2 || r.Bad[0].Column != "domain" {
			t.Errorf("import of a sold name = %+v, %v; want line 2 bad and nothing applied", r, err)
		}
		if _, ok := m.Get(market.Live, fqdn.MustParse("roast.example")); ok {
			t.Error("a row beside a bad one was taken")
		}
		if err := move(t, m, db, "ember.example", market.Sold, market.Listed); err != nil {
			t.Fatal(err)
		}
		if _, ok := m.Get(market.Live, fqdn.MustParse("ember.example")); !ok {
			t.Error("a refunded name is not for sale again")
		}
	})
}

// move does what a sale does to a listing.
func move(t *testing.T, m *market.Market, db *store.DB, domain string, from, to market.Status) (err error) {
	t.Helper()
	err = db.Tx(t.Context(), func(tx store.Tx) error {
		_, err := market.Move(t.Context(), tx, market.Live, fqdn.MustParse(domain), from, to, db.Now())
		return err
	})
	if err := m.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	return err
}

func TestLargeImportsAreFollowed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		here, there := stall(t, db), stall(t, db)
		total := 0
		// Around the number of changes that are applied at once, and over that from which the index is loaded anew.
		for round, n := range []int{2000, 1, 4500} {
			var rows []string
			for i := range n {
				rows = append(rows, fmt.Sprintf("a%d-%d.example,5,,,,", round, i))
			}
			version := here.Version()
			list(t, here, rows...)
			total += n
			if here.Len(market.Live) != total || here.Version() == version {
				t.Errorf("round %d: %d listings, version %d after %d; want %d and another", round, here.Len(market.Live), here.Version(), version, total)
			}
			if err := there.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			if there.Len(market.Live) != total || there.Version() != here.Version() {
				t.Errorf("round %d: another process has %d listings in version %d, want %d in %d", round, there.Len(market.Live), there.Version(), total, here.Version())
			}
		}
		if again := stall(t, db); again.Len(market.Live) != total || again.Version() != here.Version() {
			t.Errorf("after a restart: %d listings in version %d, want %d in %d", again.Len(market.Live), again.Version(), total, here.Version())
		}
	})
}

func TestListPages(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		m := stall(t, db)
		var rows []string
		for i := range 60 {
			rows = append(rows, fmt.Sprintf("coffee%02d.%s,%d,,,Cup %d,", i, []string{"com", "co.uk"}[i%2], 1000-i, i))
		}
		list(t, m, rows...)
		follow := func(f market.Filter) []string {
			t.Helper()
			f.Environment = market.Live
			var out []string
			for {
				p, err := m.List(t.Context(), f)
				if err != nil {
					t.Fatalf("List(%+v): %v", f, err)
				}
				out = append(out, names(p.Listings)...)
				if f.After = p.Next; p.Next == nil {
					return out
				}
			}
		}
		for _, f := range []market.Filter{
			{},
			{Limit: 1},
			{Limit: 60},
			{Limit: 100},
			{Sort: market.Name, Limit: 7},
			{Sort: market.Length},
			{Sort: market.Price, Limit: 59},
			{Q: "coffee"},
			{Q: "espresso", Sort: market.Price},
		} {
			got := follow(f)
			if len(got) != 60 || len(slices.Compact(slices.Sorted(slices.Values(got)))) != 60 {
				t.Errorf("List(%+v) shows %d listings: %q; want each of 60 once", f, len(got), got)
			}
		}
		if got := follow(market.Filter{Sort: market.Price, MinPrice: 990, MaxPrice: 993}); !slices.Equal(got, []string{"coffee10.com", "coffee09.co.uk", "coffee08.com", "coffee07.co.uk"}) {
			t.Errorf("prices from 990 to 993: %q", got)
		}
		if got := follow(market.Filter{TLD: "uk", Q: "coffee01"}); len(got) != 30 || !slices.Contains(got, "coffee01.co.uk") || slices.Contains(got, "coffee02.com") {
			t.Errorf("coffee01 under uk: %q", got)
		}
		p, err := m.List(t.Context(), market.Filter{Environment: market.Live, Sort: market.Name, Offset: 58})
		if err != nil || len(p.Listings) != 2 || p.Next != nil || p.Listings[1].Description != "Cup 59" || p.Listings[1].ListedAt.IsZero() {
			t.Errorf("List from 58 = %+v, %v; want the last two, described", p, err)
		}
		for _, f := range []market.Filter{{Limit: -1}, {Limit: 101}, {Offset: -1}, {Offset: 10_001}, {Sort: "cheap"}, {MinPrice: -1}, {Environment: "x"}} {
			if f.Environment == "" {
				f.Environment = market.Live
			}
			if _, err := m.List(t.Context(), f); !fault.Is(err, fault.Validation) {
				t.Errorf("List(%+v): %v, want a validation error", f, err)
			}
		}
		if p, err := m.List(t.Context(), market.Filter{Environment: market.Sandbox}); err != nil || len(p.Listings) != 0 || p.Listings == nil {
			t.Errorf("List of an empty environment = %+v, %v; want no listings, not nil", p, err)
		}
	})
}

func TestChangesOfOthersAtTheSameTimeAreNeverMissed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		m := stall(t, db)
		const writers, each = 4, 15
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				for i := range each {
					file := fmt.Sprintf("domain,price_cents\nw%d-%d.example,5\n", w, i)
					if _, err := market.Import(t.Context(), db, strings.NewReader(file), market.ImportOptions{Environment: market.Live}); err != nil {
						t.Errorf("import: %v", err)
					}
				}
			})
		}
		wg.Wait()
		if err := m.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		if m.Len(market.Live) != writers*each || m.Version() != writers*each {
			t.Errorf("%d listings in version %d, want %d in %d", m.Len(market.Live), m.Version(), writers*each, writers*each)
		}
	})
}
