package audit

import (
	"time"

	"github.com/namewharf/namewharf/store/sweep"
)

// Retention returns the retention rule of the audit log, whose lines live for the time keep.
func Retention(keep time.Duration) []sweep.Rule {
	return []sweep.Rule{{
		Table: "audit_log", Kept: "1100 days (`-keep-audit`)", Keep: keep, Key: "id", Age: "id", In: sweep.IDs("aud"),
	}}
}
