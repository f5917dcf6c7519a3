package sale_test

import (
	"context"
	"fmt"
	"time"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/sale"
	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/store"
)

// printed prints the events instead of storing them.
type printed struct{}

func (printed) Emit(_ context.Context, _ store.Tx, _ sale.Party, kind string, data sale.EventData, _ time.Time) error {
	fmt.Println(kind, data.Order.Domain, data.Order.Status)
	return nil
}

func (printed) EmitAll(_ context.Context, _ store.Tx, _ sale.Party, kind string, data []sale.EventData, _ time.Time) error {
	fmt.Println(len(data), kind)
	return nil
}

// A price is quoted, the sale is recorded at that price, and the name goes to its buyer.
func Example() {
	ctx, now := context.Background(), time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	db, err := store.Open(ctx, store.Config{Temporary: true})
	if err != nil {
		panic(err)
	}
	defer db.Close()
	ember := fqdn.MustParse("ember.example")
	service := sale.New(sale.Config{DB: db, Inventory: inventory{}, Books: books{}, Events: printed{}, Keys: seal.Random(), Audit: auditor{time.Now}})
	seller := market.Seller{Environment: market.Sandbox, ID: "acc_1"}
	partner := sale.Party{Partner: "prt_1", Environment: "SANDBOX", Terms: sale.Terms{ServiceBP: 1500}}

	err = service.Tx(ctx, partner.Environment, func(tx store.Tx) error {
		_, err := seller.Put(ctx, tx, []fqdn.Name{ember}, money.USD(1250_00), market.Listed, now)
		return err
	})
	if err != nil {
		panic(err)
	}
	quote, err := service.Quote(ctx, partner, ember, now)
	if err != nil {
		panic(err)
	}
	err = service.Tx(ctx, partner.Environment, func(tx store.Tx) error {
		order, err := service.Place(ctx, tx, partner, sale.Request{QuoteID: quote.QuoteID}, now.Add(time.Minute))
		if err != nil {
			return err
		}
		for action, ok := order.Status.Next(); ok; action, ok = order.Status.Next() {
			order, err = service.Transition(ctx, tx, order.PublicID, action, sale.Actor{Name: "operator ada"}, now.Add(time.Hour))
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		panic(err)
	}
	_, err = service.Quote(ctx, partner, ember, now)
	fmt.Println(err)
	// Output:
	// order.recorded ember.example EXTERNALLY_PAID
	// order.transfer_started ember.example TRANSFER_IN_PROGRESS
	// order.transfer_completed ember.example TRANSFER_COMPLETED
	// order.settled ember.example SETTLED
	// conflict: the domain is sold; look for another with GET /domains/search
}
