package audit_test

import (
	"context"
	"fmt"
	"time"

	"github.com/namewharf/namewharf/audit"
	"github.com/namewharf/namewharf/store"
)

// A change and its audit line share a transaction.
func Example() {
	ctx := context.Background()
	db, err := store.Open(ctx, store.Config{Temporary: true})
	if err != nil {
		panic(err)
	}
	defer db.Close()
	ada := audit.Author{Name: "ada", Reason: "the buyer withdrew", Now: time.Now}
	err = db.Tx(ctx, func(tx store.Tx) error {
		// … the change itself …
		return ada.Record(ctx, tx, "order.refund", "ord_1", map[string]any{"before": "EXTERNALLY_PAID", "after": "REFUNDED"})
	})
	if err != nil {
		panic(err)
	}
	lines, err := audit.Lines(ctx, db, audit.Filter{Action: "order"})
	if err != nil {
		panic(err)
	}
	for _, l := range lines {
		fmt.Println(l.Actor, l.Action, l.Subject, string(l.Details), l.Reason)
	}
	// Output:
	// ada order.refund ord_1 {"after":"REFUNDED","before":"EXTERNALLY_PAID"} the buyer withdrew
}
