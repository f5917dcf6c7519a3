package sale

import (
	"time"

	"github.com/namewharf/namewharf/store/sweep"
)

// Retention returns the retention rules of this package's tables. Orders are stored for ever, but without the data of their
// buyers after the time buyers.
func Retention(buyers time.Duration) []sweep.Rule {
	return []sweep.Rule{
		{
			Table: "orders", Kept: "for ever; what they say about the buyer (e-mail address, name, country) 3 years (`-keep-buyers`)", Keep: buyers,
			Key: "id", Age: "id", In: sweep.IDs("ord"), Where: "buyer_email <> ''",
			Set: "buyer_email = '', buyer_name = '', buyer_country = ''",
		},
		{Table: "order_timeline", Kept: "for ever, as the orders"},
		{Table: "refunds", Kept: "for ever, as the orders"},
		{Table: "order_totals", Kept: "for ever: one row for each day on which a partner sold, payment model and status"},
		{Table: "quote_keys", Kept: "30 days; removed when the next key is made"},
		{Table: "flagged_domains", Kept: "until the operator takes the flag away"},
	}
}
