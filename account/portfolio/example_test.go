package portfolio_test

import (
	"context"
	"fmt"

	"github.com/namewharf/namewharf/account/portfolio"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/tools"
)

// A name is claimed, offered, proven by a DNS record, and then for sale.
func Example() {
	ctx := context.Background()
	db, err := store.Open(ctx, store.Config{Temporary: true})
	if err != nil {
		panic(err)
	}
	defer db.Close()
	listings, err := market.New(ctx, market.Config{DB: db})
	if err != nil {
		panic(err)
	}
	defer listings.Close()
	dns := &fakeNetwork{txt: map[fqdn.Name][]string{}} // as lookup.Service, which tools.RegistryOf uses too
	names := portfolio.New(portfolio.Config{
		DB: db, Suffixes: fqdn.NewSuffixes([]string{"com"}, nil), DNS: dns, Registry: dns, Market: tools.MarketOf(listings, db.Now),
	})

	ember := fqdn.MustParse("ember.com")
	claim, err := names.Add(ctx, "acc_1", ember)
	if err != nil {
		panic(err)
	}
	dns.txt[ember] = []string{claim.Proof} // the record _namewharf.ember.com
	for _, change := range []portfolio.Change{
		{Op: portfolio.List, Names: []fqdn.Name{ember, fqdn.MustParse("foreign.com")}, Price: money.USD(250000)},
		{Op: portfolio.Verify, Names: []fqdn.Name{ember}},
	} {
		failures, err := names.Apply(ctx, "acc_1", change)
		if err != nil {
			panic(err)
		}
		fmt.Println(change.Op, failures)
	}
	offer, _ := listings.Get(market.Live, ember)
	fmt.Println(offer.Domain, offer.PriceCents)
	// Output:
	// list [<nil> not_found: the domain is not in the portfolio; add it with POST /api/domains]
	// verify [<nil>]
	// ember.com 250000
}
