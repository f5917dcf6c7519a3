package sale

import (
	"context"
	"fmt"
	"time"

	"github.com/namewharf/namewharf/store"
)

// microsOfDay is a day in microseconds.
const microsOfDay = int64(24 * time.Hour / time.Microsecond)

// totalsKey says which row of order_totals an order is counted in.
type totalsKey struct {
	partner, environment string
	day                  int64
	currency             string
	model                PaymentModel
	status               State
}

// totals are the sums of a row, or what is added to them.
type totals struct{ orders, price, commission int64 }

func (o Order) totalsKey(status State) totalsKey {
	return totalsKey{o.Partner, o.Environment, store.Micros(o.CreatedAt) / microsOfDay, o.Currency, o.PaymentModel, status}
}

// addTotals counts an order in the totals of its status, and no more in those of the status before, if there is one.
func addTotals(ctx context.Context, tx store.Tx, o Order, before, after State) error {
	if before == after {
		return nil
	}
	if before != "" {
		if err := o.totalsKey(before).add(ctx, tx, totals{-1, -o.SalePriceCents, -o.CommissionCents}); err != nil {
			return err
		}
	}
	return o.totalsKey(after).add(ctx, tx, totals{1, o.SalePriceCents, o.CommissionCents})
}

func (k totalsKey) add(ctx context.Context, tx store.Tx, t totals) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO order_totals (partner, environment, day, currency, payment_model, status, orders, price_cents, commission_cents)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (partner, environment, day, currency, payment_model, status) DO UPDATE SET
			orders = order_totals.orders + excluded.orders, price_cents = order_totals.price_cents + excluded.price_cents,
			commission_cents = order_totals.commission_cents + excluded.commission_cents`,
		k.partner, k.environment, k.day, k.currency, k.model, k.status, t.orders, t.price, t.commission)
	if err != nil {
		return fmt.Errorf("add to the totals of orders: %w", err)
	}
	return nil
}
