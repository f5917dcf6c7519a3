package partner

import (
	"time"

	"github.com/namewharf/namewharf/store/sweep"
)

// Retention returns the rules by which rows of this package's tables are deleted.
func Retention() []sweep.Rule {
	return []sweep.Rule{
		{Table: "partners", Kept: "for ever: one row for each partner"},
		{Table: "partner_credentials", Kept: "for ever, revoked ones too: orders and the audit log name them"},
		{
			Table: "partner_secrets", Kept: "as long as they sign; ended ones a day", Keep: 24 * time.Hour,
			Key: "key_id, number", Age: "ends_at", Where: "ends_at > 0",
		},
		{Table: "partner_answers", Kept: "30 days", Keep: AnswerLife, Key: "id", Age: "created_at"},
	}
}
