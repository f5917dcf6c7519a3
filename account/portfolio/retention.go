package portfolio

import (
	"time"

	"github.com/namewharf/namewharf/store/sweep"
)

// Retention returns the retention rules of this package's tables; events live for the time log.
func Retention(log time.Duration) []sweep.Rule {
	return []sweep.Rule{
		{Table: "portfolio", Kept: "until the account removes the name"},
		{Table: "portfolio_events", Kept: "400 days (`-keep-log`)", Keep: log, Key: "id", Age: "at"},
	}
}
