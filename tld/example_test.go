package tld_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/tld"
)

func ExamplePrices_Price() {
	prices := tld.NewPrices(tld.DefaultBook())
	price, err := prices.Price(fqdn.MustParse("com"), tld.Restore)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(price.Amount, "on", price.AsOf.Format("2006-01-02"))
	// Output: 100.92 USD on 2026-01-01
}

func ExampleTable_Metadata() {
	suffix, err := tld.ParseSuffix(".us")
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := tld.DefaultTable().Metadata(suffix)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Registry.Name, m.Organization.AllowedCountries)
	fmt.Println("unknown:", m.Unknown)
	// Output:
	// Registry Services, LLC [US]
	// unknown: [nameservers.required nameservers.must_resolve transfer.adds_years lifecycle.add_grace_days]
}

func ExampleParseCSV() {
	const list = "suffix,register,renew,as_of\ncom,1199,1299,2026-05-06\nnet,12.50,,2026-05-06\n"
	book, bad, err := tld.ParseCSV(strings.NewReader(list))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, row := range bad {
		fmt.Println(row)
	}
	_ = tld.Merge(tld.DefaultBook(), book)
	_ = book.WriteCSV(os.Stdout)
	// Output:
	// row 3: register is not a whole number of cents in plain digits
	// suffix,register,renew,transfer,restore,currency,term_years,as_of
	// com,1199,1299,,,USD,1,2026-05-06
}

// Watch runs as long as the server does; its report goes to the log.
func ExamplePrices_Watch() {
	prices := tld.NewPrices(tld.DefaultBook())
	ctx, stop := context.WithCancel(context.Background())
	stop()
	prices.Watch(ctx, "/etc/namewharf/prices.csv", func(err error) {
		if err != nil {
			fmt.Println("price list:", err)
		}
	})
	fmt.Println(prices.Book().Len(), "suffixes")
	// Output: 805 suffixes
}
