package checkout

import (
	"time"

	"github.com/namewharf/namewharf/store/sweep"
)

// Retention says how long the rows of this package's table live.
func Retention() []sweep.Rule {
	const day = 24 * time.Hour
	return []sweep.Rule{
		{ // anybody may begin one at the page of a name
			Table: "checkout_sessions", Kept: "30 days where nothing was paid", Keep: 30 * day,
			Key: "id", Age: "id", In: sweep.IDs(idPrefix), Where: "status = 'open'",
		},
		{
			Table: "checkout_sessions", Kept: "400 days; the order and the payment outlive it", Keep: 400 * day,
			Key: "id", Age: "id", In: sweep.IDs(idPrefix),
		},
	}
}
