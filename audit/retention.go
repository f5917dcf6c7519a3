package audit

import (
	"time"

	"github.com/namewharf/namewharf/store/sweep"
)

// Retention says how long the lines of the audit log live.
func Retention(keep time.Duration) []sweep.Rule {
	return []sweep.Rule{{
		Table: "audit_log", Kept: "1100 days (`-keep-audit`)", Keep: keep, Key: "id", Age: "id", In: sweep.IDs("aud"),
	}}
}
