package wiring

import (
	"context"

	"github.com/namewharf/namewharf/store"
)

// An Outbox collects the events of a transaction. They are appended last, because from the first one until the commit no
// other transaction can append to the partner's events.
type Outbox struct {
	events []func(ctx context.Context, tx store.Tx) error
	Orders bool // some of them are of orders: the inventory may have changed
}

type outboxKey struct{}

// WithOutbox returns a context whose events go to an outbox.
func WithOutbox(ctx context.Context, o *Outbox) context.Context {
	return context.WithValue(ctx, outboxKey{}, o)
}

// Emit appends an event at the end of the transaction if ctx has an outbox, else at once. Order says that it is an event of
// an order.
func Emit(ctx context.Context, tx store.Tx, order bool, appendEvent func(ctx context.Context, tx store.Tx) error) error {
	o, _ := ctx.Value(outboxKey{}).(*Outbox)
	if o == nil {
		return appendEvent(ctx, tx)
	}
	o.events = append(o.events, appendEvent)
	o.Orders = o.Orders || order
	return nil
}

// Flush appends the events.
func (o *Outbox) Flush(ctx context.Context, tx store.Tx) error {
	for _, appendEvent := range o.events {
		if err := appendEvent(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}
