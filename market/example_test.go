package market_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/store"
)

func Example() {
	ctx := context.Background()
	db, err := store.Open(ctx, store.Config{Temporary: true})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	m, err := market.New(ctx, market.Config{DB: db})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()

	file := "domain,price_cents,keywords\nbrewhaven.com,250000,cafe;beer\nlawfirm.org,-1,\n"
	report, err := m.Import(ctx, strings.NewReader(file), market.ImportOptions{Environment: market.Live, Partial: true})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Created, "listed;", report.Bad[0])

	offer, forSale := m.Get(market.Live, fqdn.MustParse("brewhaven.com"))
	fmt.Println(forSale, offer.PriceCents, offer.Currency)
	for _, hit := range m.Search(market.Live, "coffee shop", 5) {
		fmt.Println(hit.Domain, hit.Match)
	}
	// Output:
	// 1 listed; line 3: price_cents: not a whole number of cents in plain digits
	// true 250000 USD
	// brewhaven.com semantic
}
