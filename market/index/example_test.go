package index_test

import (
	"fmt"

	"github.com/namewharf/namewharf/market/index"
	"github.com/namewharf/namewharf/market/words"
)

func ExampleIndex_Search() {
	x := index.New(words.English(), 0)
	x.Apply([]index.Change{
		{Entry: index.Entry{Domain: "brewhaven.com", PriceCents: 250000, Currency: "USD"}},
		{Entry: index.Entry{Domain: "mycoffeeshop.dev", PriceCents: 9900, Currency: "USD"}},
		{Entry: index.Entry{Domain: "lawfirm.org", PriceCents: 120000, Currency: "USD"}},
	})
	for _, hit := range x.Search("coffee shop", 10) {
		fmt.Println(hit.Domain, hit.Match)
	}
	// Output:
	// mycoffeeshop.dev keyword
	// brewhaven.com semantic
}
