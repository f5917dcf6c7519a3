package ledger_test

import (
	"context"
	"fmt"
	"time"

	"github.com/namewharf/namewharf/ledger"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/store"
)

// A sale is posted and given back; what was posted stays.
func Example() {
	ctx := context.Background()
	db, err := store.Open(ctx, store.Config{Temporary: true})
	if err != nil {
		panic(err)
	}
	defer db.Close()

	owner, now := ledger.Owner{Partner: "prt_1", Environment: "LIVE"}, time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	show := func(tx store.Tx) error {
		owed, err := ledger.Balance(ctx, tx, owner, ledger.PartnerReceivable, "USD")
		fmt.Println("owed:", owed)
		return err
	}
	err = db.Tx(ctx, func(tx store.Tx) error {
		sale := ledger.Sold(owner, "ord_1", money.USD(100_00), ledger.DefaultRates().Service, now)
		if err := ledger.Post(ctx, tx, sale); err != nil {
			return err
		}
		if err := show(tx); err != nil {
			return err
		}
		if err := ledger.Reverse(ctx, tx, owner, "ord_1", ledger.Refund, now); err != nil {
			return err
		}
		return show(tx)
	})
	if err != nil {
		panic(err)
	}
	report, err := ledger.Check(ctx, db, nil)
	fmt.Println(report, err)
	// Output:
	// owed: 85.00 USD
	// owed: 0.00 USD
	// ledger: 2 entries, 6 postings, 0 orders, 0 commissions, 0 payouts, 0 statements: 0 violations <nil>
}
