package payment

import (
	"time"

	"github.com/namewharf/namewharf/store/sweep"
)

// Retention says how long the rows of this package's tables live.
func Retention() []sweep.Rule {
	const day = 24 * time.Hour
	return []sweep.Rule{
		{
			Table: "payments", Kept: "for ever, with its order; one without an order: 400 days after it last changed", Keep: 400 * day,
			Key: "id", Age: "updated_at", Where: "order_id = '' AND todo = ''",
		},
		{
			Table: "payment_notices", Kept: "30 days, which is longer than any provider repeats itself", Keep: 30 * day,
			Key: "provider, id", Age: "received_at",
		},
	}
}
