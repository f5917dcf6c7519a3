package checkout

import (
	"context"
	"fmt"

	"github.com/namewharf/namewharf/payment"
	"github.com/namewharf/namewharf/store"
)

// A consumer makes orders of payments: it is the [payment.Consumer] of a service, whose purchases are sessions.
type consumer struct{ *Service }

// Record implements [payment.Consumer]: the order, the sold listing, the postings, the event and the session's state are one
// transaction with the payment's state. A session that is paid, and a name that is sold, are lost.
func (c consumer) Record(ctx context.Context, tx store.Tx, p payment.Payment) (order string, err error) {
	session, err := selectSession(ctx, tx, p.Purchase)
	if store.IsNoRows(err) {
		return "", payment.ErrLost
	}
	if err != nil {
		return "", fmt.Errorf("read the session of payment %s: %w", p.ID, err)
	}
	if session.Status != Open || session.Partner != p.Partner || session.Environment != p.Environment {
		return "", payment.ErrLost
	}
	seller, err := c.cfg.Sales.Seller(ctx, tx, session.Partner, session.Environment)
	if err != nil {
		return "", err
	}
	sold := Sale{Session: session, Price: p.Amount(), Now: seller.Now}
	if q := session.quote; q.Number != "" && q.Price == sold.Price {
		used, err := c.cfg.Sales.QuoteUsed(ctx, tx, q.Number)
		if err != nil {
			return "", err
		}
		if !used {
			sold.Quote = q.Number
		}
	}
	err = c.cfg.Events(ctx, tx, func(ctx context.Context) error {
		if order, err = c.cfg.Sales.Record(ctx, tx, sold); err != nil {
			return err
		}
		paid, err := setPaid(ctx, tx, session.ID, order, sold.Price)
		if err != nil {
			return err
		}
		if !paid {
			return payment.ErrLost
		}
		return c.cfg.Referrals.Sold(ctx, tx, order, sold)
	})
	if notForSale(err) {
		return "", payment.ErrLost
	}
	return order, err
}

// Captured implements [payment.Consumer]: the buyer gets a receipt.
func (c consumer) Captured(ctx context.Context, tx store.Tx, p payment.Payment) error {
	if c.cfg.Mail == nil {
		return nil
	}
	c.hint()
	return setReceiptDue(ctx, tx, p.Purchase, c.cfg.Now())
}

// Uncaptured implements [payment.Consumer].
func (c consumer) Uncaptured(ctx context.Context, tx store.Tx, p payment.Payment) error {
	return c.undo(ctx, tx, p, Undoing{By: payment.ByProvider, Reason: "the payment could not be captured", Uncaptured: true})
}

// Refunded implements [payment.Consumer].
func (c consumer) Refunded(ctx context.Context, tx store.Tx, p payment.Payment) error {
	return c.undo(ctx, tx, p, Undoing{By: payment.ByProvider, Reason: "the payment was refunded at the provider"})
}

// ChargedBack implements [payment.Consumer].
func (c consumer) ChargedBack(ctx context.Context, tx store.Tx, p payment.Payment, by string) error {
	return c.undo(ctx, tx, p, Undoing{By: by, Reason: "the buyer's bank took the payment back", ChargedBack: true})
}

func (c consumer) undo(ctx context.Context, tx store.Tx, p payment.Payment, why Undoing) error {
	err := refund(ctx, tx, p.OrderID)
	if err != nil {
		return fmt.Errorf("close the session of payment %s: %w", p.ID, err)
	}
	session := Session{ID: p.Purchase, Partner: p.Partner, Environment: p.Environment, OrderID: p.OrderID}
	return c.cfg.Events(ctx, tx, func(ctx context.Context) error { return c.cfg.Sales.Undo(ctx, tx, session, why) })
}

// Disputed implements [payment.Consumer].
func (c consumer) Disputed(ctx context.Context, tx store.Tx, p payment.Payment, by string) error {
	return c.cfg.Sales.Note(ctx, tx, by, "payment.disputed", p.OrderID, map[string]any{"payment": p.ID})
}

// DisputeWon implements [payment.Consumer].
func (c consumer) DisputeWon(ctx context.Context, tx store.Tx, p payment.Payment) error {
	return c.cfg.Sales.Note(ctx, tx, payment.ByProvider, "payment.dispute_won", p.OrderID, map[string]any{"payment": p.ID})
}
