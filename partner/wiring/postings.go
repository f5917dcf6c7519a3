package wiring

import (
	"context"
	"time"

	"github.com/namewharf/namewharf/ledger"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/sale"
	"github.com/namewharf/namewharf/store"
)

// postings is the ledger as package sale uses it: sales and what follows the state of their orders.
type postings struct{ now func() time.Time }

func (postings) Commission(p sale.Party, m sale.PaymentModel, price money.Amount) money.Amount {
	rate := p.Terms.ServiceBP
	if m == sale.ServiceCollected {
		rate = p.Terms.PartnerBP
	}
	return ledger.BasisPoints(rate).Of(price)
}

func (postings) Sold(ctx context.Context, tx store.Tx, p sale.Party, o sale.Order) error {
	if o.PaymentModel == sale.PartnerCollected {
		return ledger.Post(ctx, tx, ledger.Sold(owner(p), o.PublicID, o.Price(), ledger.BasisPoints(p.Terms.ServiceBP), o.CreatedAt))
	}
	if err := ledger.Post(ctx, tx, ledger.Collected(owner(p), o.PublicID, o.Price(), o.CreatedAt)); err != nil {
		return err
	}
	_, err := ledger.Accrue(ctx, tx, ledger.Commission{
		Owner: owner(p), Source: ledger.ServiceCollected, Order: o.PublicID, At: o.CreatedAt,
		Amount: money.Amount{Cents: o.CommissionCents, Currency: o.Currency},
	})
	return err
}

func (b postings) Completed(ctx context.Context, tx store.Tx, o sale.Order) error {
	return ledger.OrderCompleted(ctx, tx, o.PublicID, b.clock)
}

func (b postings) Settled(ctx context.Context, tx store.Tx, o sale.Order) error {
	return ledger.SettleAlone(ctx, tx, owner(o.Party()), Line(o), o.UpdatedAt)
}

// Line is the line of a statement about an order whose name was delivered.
func Line(o sale.Order) ledger.Line {
	l := ledger.Line{
		Order: o.PublicID, Domain: o.Domain, Type: ledger.SaleLine, Currency: o.Currency, Gross: o.SalePriceCents,
		Commission: o.CommissionCents, Owed: o.SalePriceCents - o.CommissionCents, At: o.CompletedAt,
	}
	if o.PaymentModel == sale.ServiceCollected {
		l.Type, l.Owed = ledger.CommissionLine, 0
	}
	return l
}

func (b postings) Reverse(ctx context.Context, tx store.Tx, o sale.Order, because sale.Action) error {
	kind := map[sale.Action]ledger.Kind{
		sale.RefundBuyer: ledger.Refund, sale.Cancel: ledger.Cancellation, sale.ChargeBack: ledger.Chargeback,
	}[because]
	if err := ledger.Reverse(ctx, tx, owner(o.Party()), o.PublicID, kind, o.UpdatedAt); err != nil {
		return err
	}
	if err := ledger.ReverseLine(ctx, tx, owner(o.Party()), o.PublicID, o.UpdatedAt); err != nil {
		return err
	}
	return ledger.OrderReversed(ctx, tx, o.PublicID, b.clock)
}

// clock is the time of an owner of commissions.
func (b postings) clock(ctx context.Context, tx store.Tx, o ledger.Owner) (time.Time, error) {
	return LocalTime(ctx, tx, b.now(), credential.Party{Partner: o.Partner, Environment: credential.Environment(o.Environment)})
}

func owner(p sale.Party) ledger.Owner {
	return ledger.Owner{Partner: p.Partner, Environment: p.Environment}
}
