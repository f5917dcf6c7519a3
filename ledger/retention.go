package ledger

import "github.com/namewharf/namewharf/store/sweep"

// Retention says how long the rows of this package's table live.
func Retention() []sweep.Rule {
	return []sweep.Rule{{Table: "postings", Kept: "for ever: the books"}}
}
