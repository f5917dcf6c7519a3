package whois_test

import (
	"fmt"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/lookup/whois"
)

func ExampleQuery() {
	fmt.Println(whois.Query("whois.denic.de", fqdn.MustParse("de"), fqdn.MustParse("müller.de")))
	// Output: -T dn,ace xn--mller-kva.de
}

func ExampleParse() {
	suffix, name := fqdn.MustParse("co.uk"), fqdn.MustParse("example.co.uk")

	free := whois.Parse(suffix, name, []byte("No match for \"example.co.uk\".\r\n"))
	fmt.Println(free.Verdict)

	busy := whois.Parse(suffix, name, []byte("The WHOIS query quota for 192.0.2.1 has been exceeded\r\n"+
		"and will be replenished in 50 seconds.\r\n"))
	fmt.Println(busy.Verdict, busy.RetryAfter)

	taken := whois.Parse(suffix, name, []byte("Domain name:\r\n    example.co.uk\r\n\r\n"+
		"Relevant dates:\r\n    Registered on: 14-Feb-1999\r\n"))
	fmt.Println(taken.Verdict, taken.Record.Created.Format("2006-01-02"))

	// Output:
	// free
	// throttled 50s
	// registered 1999-02-14
}
