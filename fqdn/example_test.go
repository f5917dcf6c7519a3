package fqdn_test

import (
	"fmt"

	"github.com/namewharf/namewharf/fqdn"
)

func ExampleParse() {
	name, err := fqdn.Parse(" Bücher.DE. ")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(name, name.Unicode())
	_, err = fqdn.Parse("a_b.com")
	fmt.Println("the name", err)
	// Output:
	// xn--bcher-kva.de bücher.de
	// the name holds an underscore, which no registry accepts in a registered name
}

func ExampleSuffixes_Registrable() {
	suffixes := fqdn.NewSuffixes([]string{"com", "uk"}, nil)
	name, suffix, err := suffixes.Registrable(fqdn.MustParse("www.a.co.uk"))
	fmt.Println(name, suffix, err)
	// Output: a.co.uk co.uk <nil>
}
