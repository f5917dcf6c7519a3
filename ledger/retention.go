package ledger

import "github.com/namewharf/namewharf/store/sweep"

// Retention says how long the rows of this package's tables live.
func Retention() []sweep.Rule {
	return []sweep.Rule{
		{Table: "postings", Kept: "for ever: the books"},
		{Table: "commissions", Kept: "for ever: a part of the books"},
		{Table: "commission_days", Kept: "for ever: one row for each day on which a partner earned"},
		{Table: "payouts", Kept: "for ever: a part of the books"},
		{Table: "settlements", Kept: "for ever: a part of the books; those in preparation until their settlement ends"},
		{Table: "settlement_lines", Kept: "for ever: a part of the books"},
	}
}
