package testprovider

import (
	"time"

	"github.com/namewharf/namewharf/store/sweep"
)

// Retention says how long the rows of this package's tables live.
func Retention() []sweep.Rule {
	const day = 24 * time.Hour
	return []sweep.Rule{
		{Table: "test_payments", Kept: "400 days after it last changed", Keep: 400 * day, Key: "id", Age: "updated_at"},
		{Table: "test_payment_notices", Kept: "30 days", Keep: 30 * day, Key: "id", Age: "created_at"},
	}
}
