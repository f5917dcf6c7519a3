package admin

import (
	"context"

	"github.com/namewharf/namewharf/ledger"
	"github.com/namewharf/namewharf/sale"
	"github.com/namewharf/namewharf/store"
)

// orderClaims returns what the orders say about money, for the check of the ledger.
func orderClaims(ctx context.Context, tx store.Tx, after string, limit int) ([]ledger.Claim, error) {
	orders, err := sale.OrdersAfter(ctx, tx, after, limit)
	all := make([]ledger.Claim, len(orders))
	for i, o := range orders {
		all[i] = ledger.Claim{
			Order: o.PublicID, Owner: ledger.Owner{Partner: o.Partner, Environment: o.Environment}, Price: o.Price(),
			Reversed: o.Status == sale.Refunded || o.Status == sale.Cancelled,
		}
	}
	return all, err
}
