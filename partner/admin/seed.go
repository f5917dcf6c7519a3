package admin

import (
	"encoding/csv"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
)

// The sandbox names combine each of seedFirst with each of seedSecond, under reserved TLDs (RFC 2606).
var (
	seedFirst  = []string{"amber", "bold", "brew", "bright", "clear", "cloud", "copper", "daily", "ember", "fresh", "green", "harbor", "juniper", "lunar", "maple", "north", "open", "pixel", "quiet", "river", "silver", "solar", "swift", "velvet"}
	seedSecond = []struct{ word, about, keywords string }{
		{"bay", "a holiday home", "coast;travel"},
		{"bloom", "a florist", "flowers;garden"},
		{"craft", "a maker", "handmade;tools"},
		{"forge", "a workshop", "metal;tools"},
		{"haven", "a place to stay", "home;rest"},
		{"labs", "a research team", "science;software"},
		{"market", "a shop", "store;retail"},
		{"path", "a coach", "journey;learning"},
		{"roast", "a coffee house", "coffee;cafe"},
		{"studio", "a design office", "art;photo"},
		{"wallet", "a payment service", "money;finance"},
		{"works", "an engineering office", "factory;industry"},
	}
	seedSuffixes = []string{"example", "example", "test"}
	seedPrices   = []int64{4_900, 9_900, 14_900, 29_500, 49_900, 99_500, 145_000, 249_000, 495_000, 1_250_000}
)

// SampleDomain is a domain of the sandbox inventory, and SamplePriceCents its price in cents of USD.
const (
	SampleDomain     = "brewhaven.example"
	SamplePriceCents = 9_900
)

// SeedCSV returns the inventory of the sandbox, always the same, as a file for [market.Import].
func SeedCSV() string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write([]string{"domain", "price_cents", "floor_price_cents", "currency", "description", "keywords"}) // to memory
	for i, first := range seedFirst {
		for j, second := range seedSecond {
			domain := first + second.word + "." + seedSuffixes[(i+j)%len(seedSuffixes)]
			h := fnv.New32a()
			h.Write([]byte(domain))
			price := seedPrices[h.Sum32()%uint32(len(seedPrices))]
			currency := "USD"
			if h.Sum32()%7 == 3 {
				currency = "EUR"
			}
			if domain == SampleDomain {
				price, currency = SamplePriceCents, "USD"
			}
			floor := price * 8 / 10
			_ = w.Write([]string{
				domain, strconv.FormatInt(price, 10), strconv.FormatInt(floor, 10), currency,
				fmt.Sprintf("A name for %s, to try things out with", second.about), second.keywords,
			})
		}
	}
	w.Flush()
	return b.String()
}
