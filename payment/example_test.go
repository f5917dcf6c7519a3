package payment_test

import (
	"context"
	"fmt"

	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/payment"
	"github.com/namewharf/namewharf/payment/testprovider"
	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/store"
)

// A seller sells one name, and prints what becomes of its order.
type seller struct{ sold bool }

func (s *seller) Record(_ context.Context, _ store.Tx, p payment.Payment) (string, error) {
	if s.sold {
		return "", payment.ErrLost
	}
	s.sold = true
	fmt.Println("order for", p.Purchase)
	return "ord_1", nil
}

func (s *seller) Captured(_ context.Context, _ store.Tx, p payment.Payment) error {
	fmt.Println("paid:", p.OrderID)
	return nil
}
func (s *seller) Uncaptured(context.Context, store.Tx, payment.Payment) error       { return nil }
func (s *seller) Refunded(context.Context, store.Tx, payment.Payment) error         { return nil }
func (s *seller) Disputed(context.Context, store.Tx, payment.Payment, string) error { return nil }
func (s *seller) DisputeWon(context.Context, store.Tx, payment.Payment) error       { return nil }
func (s *seller) ChargedBack(context.Context, store.Tx, payment.Payment, string) error {
	return nil
}

// Two buyers go to the provider's page and pay for one name. The first to be seen gets it; the other pays nothing. Then the order is
// cancelled, and its buyer gets the money back.
func Example() {
	ctx := context.Background()
	db, err := store.Open(ctx, store.Config{Temporary: true})
	check(err)
	defer db.Close()
	provider, err := testprovider.New(ctx, testprovider.Config{
		DB: db, Keys: seal.Random(), PageURL: func(id string) string { return "/checkout/test-payment/" + id },
	})
	check(err)
	payments := payment.New(payment.Config{
		DB: db, Consumer: &seller{}, Providers: map[string]payment.Provider{"SANDBOX": provider},
	})

	var ids []string
	for _, buyer := range []string{"chk_1", "chk_2"} {
		p, err := payments.Start(ctx, payment.Request{
			Partner: "prt_1", Environment: "SANDBOX", Purchase: buyer, Amount: money.USD(1250_00), Title: "ember.example",
			Pages: func(id string) (string, string) { return "/checkout/done/" + id, "/checkout/left/" + id },
		})
		check(err)
		ids = append(ids, p.ID) // the browser goes to p.PageURL
	}
	for _, id := range ids {
		v, err := provider.Pay(ctx, id, testprovider.Card{Number: "4242 4242 4242 4242", Expiry: "12/34", CVC: "123"})
		check(err)
		fmt.Println(v.Step, v.Amount)
	}
	for _, id := range ids { // the browser comes back
		p, err := payments.Advance(ctx, id)
		check(err)
		fmt.Println(p.State, p.OrderID, p.Lost())
	}

	check(db.Tx(ctx, func(tx store.Tx) error { // beside what undoes the order
		return payments.Release(ctx, tx, "ord_1")
	}))
	check(payments.Reconcile(ctx)) // as payments.Run does by itself
	p, err := payments.Get(ctx, ids[0])
	check(err)
	fmt.Println(p.State)
	// Output:
	// done 1250.00 USD
	// done 1250.00 USD
	// order for chk_1
	// paid: ord_1
	// captured ord_1 false
	// voided  true
	// refunded
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
