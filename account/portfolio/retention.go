package portfolio

import (
	"time"

	"github.com/namewharf/namewharf/store/sweep"
)

// Retention says how long the rows of this package's tables live. What happened to names is kept for a while.
func Retention(log time.Duration) []sweep.Rule {
	return []sweep.Rule{
		{Table: "portfolio", Kept: "until the account removes the name"},
		{Table: "portfolio_events", Kept: "400 days (`-keep-log`)", Keep: log, Key: "id", Age: "at"},
	}
}
