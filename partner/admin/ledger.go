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
			Reversed:  o.Status == sale.Refunded || o.Status == sale.Cancelled,
			Collected: o.PaymentModel == sale.ServiceCollected, Commission: o.CommissionCents,
		}
	}
	return all, err
}

// orderTotals compares the totals of orders with the orders, for the same check.
func orderTotals(ctx context.Context, tx store.Tx) ([]ledger.Violation, error) {
	wrong, err := sale.CompareTotals(ctx, tx)
	all := make([]ledger.Violation, len(wrong))
	for i, problem := range wrong {
		all[i] = ledger.Violation{Problem: problem}
	}
	return all, err
}
