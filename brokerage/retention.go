package brokerage

import (
	"time"

	"github.com/namewharf/namewharf/store/sweep"
)

// Retention says how long the rows of this package's tables live. Cases are kept for ever; what they say about their buyers is
// not.
func Retention(buyers time.Duration) []sweep.Rule {
	return []sweep.Rule{
		{
			Table: "brokerage_cases", Kept: "for ever; the buyer's e-mail address 3 years (`-keep-buyers`)", Keep: buyers,
			Key: "id", Age: "id", In: sweep.IDs("bkc"), Where: "buyer_email <> ''", Set: "buyer_email = ''",
		},
		{Table: "brokerage_timeline", Kept: "for ever, as the cases"},
		{Table: "brokerage_offers", Kept: "3 years (`-keep-buyers`); at most 20 a case", Keep: buyers, Key: "id", Age: "id", In: sweep.IDs("off")},
	}
}
