package referral

import (
	"time"

	"github.com/namewharf/namewharf/store/sweep"
)

// Retention says how long the rows of this package's tables live.
func Retention() []sweep.Rule {
	const years = 1100 * 24 * time.Hour
	return []sweep.Rule{
		{Table: "referral_affiliates", Kept: "until another account is linked, or the account is deleted"},
		{Table: "referral_links", Kept: "for ever, at most 10 000 of a partner in an environment: they stand on other sites"},
		{Table: "referral_totals", Kept: "for ever: one row for each link"},
		{Table: "referral_days", Kept: "1100 days", Keep: years, Key: "partner, environment, day", Age: "day"},
		{Table: "referral_keys", Kept: "a day; what it made can be told of nobody from then on", Key: "day", Age: "ends"},
		{Table: "referral_visits", Kept: "until the end of the day; at most 2 000 000", Key: "digest", Age: "ends"},
		{Table: "referral_checkouts", Kept: "1100 days", Keep: years, Key: "id", Age: "at"},
		{Table: "referral_sales", Kept: "for ever, as the orders; the buyer is masked"},
	}
}
