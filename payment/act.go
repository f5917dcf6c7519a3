package payment

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/store"
)

// Release lets the buyer of an order have the money back: what is held is voided, what was taken is refunded. It is called within
// the transaction that undoes the order, and says in it what is to be done; after the commit, [Service.Wake] has it done at once.
// For an order that no payment is for, or whose money went back, it does nothing.
func (s *Service) Release(ctx context.Context, tx store.Tx, order string) error {
	p, err := paymentOfOrder(ctx, tx, order)
	if store.IsNoRows(err) {
		return nil
	}
	if err == nil {
		_, _, err = s.moveIn(ctx, tx, p, releasing, change{})
	}
	if err != nil {
		return fmt.Errorf("release the payment of order %s: %w", order, err)
	}
	return nil
}

// Cancel ends a payment that its buyer does not want to make any more. One that was made already goes on. It returns the payment
// as it is then, and fails with [fault.NotFound].
func (s *Service) Cancel(ctx context.Context, id string) (Payment, error) {
	p, err := s.Advance(ctx, id)
	if err != nil || p.State != Started {
		return p, err
	}
	if p, _, err = s.move(ctx, p, leaving, change{}); err != nil {
		return Payment{}, err
	}
	return s.Advance(ctx, id)
}

// Dispute lets the buyer's bank ask for the money back, where the provider plays that on request; others report disputes by
// themselves. By is who says so. It fails with [fault.NotFound], and with [fault.Conflict] where that cannot be.
func (s *Service) Dispute(ctx context.Context, id, by string) (Payment, error) {
	p, err := s.Get(ctx, id)
	if err != nil {
		return Payment{}, err
	}
	d, ok := s.providers[p.Provider].(Disputer)
	if !ok {
		return Payment{}, fault.New(fault.Conflict, "disputes of this payment come from its provider, which is %s", p.Provider)
	}
	switch err := d.Dispute(ctx, p); {
	case errors.Is(err, ErrFinal):
		return Payment{}, fault.New(fault.Conflict, "the payment cannot be disputed now: it must be captured, from a card that disputes")
	case err != nil:
		return Payment{}, fmt.Errorf("dispute payment %s: %w", id, err)
	}
	if p, _, err = s.move(ctx, p, InDispute, change{by: by}); err != nil {
		return Payment{}, err
	}
	return s.Check(ctx, id)
}

// Chargeback notes that the buyer's bank took the money back, and undoes the order. By is who says so. It fails with
// [fault.NotFound], and with [fault.Conflict] for a payment that was not captured or went back already.
func (s *Service) Chargeback(ctx context.Context, id, by string) (Payment, error) {
	p, err := s.Get(ctx, id)
	if err != nil {
		return Payment{}, err
	}
	for range steps {
		moved, ok, err := s.move(ctx, p, charging, change{by: by})
		if err != nil || ok {
			return moved, err
		}
		if p, err = s.Get(ctx, id); err != nil {
			return Payment{}, err
		}
		if _, may := ruleFor(p.State, p.Todo, charging); !may {
			return Payment{}, fault.New(fault.Conflict, "the payment is %s, which does not allow a chargeback", p.State)
		}
	}
	return Payment{}, fault.New(fault.Conflict, "the payment is being changed; try again")
}

// Check asks the provider for the status of a payment, although nothing is to be done about it, and returns it as it is then. It
// fails with [fault.NotFound].
func (s *Service) Check(ctx context.Context, id string) (Payment, error) {
	p, err := s.Get(ctx, id)
	if err != nil {
		return Payment{}, err
	}
	if err := s.tx(ctx, p, func(tx store.Tx) error { return markDue(ctx, tx, id, s.cfg.Now()) }); err != nil {
		return Payment{}, fmt.Errorf("look at payment %s: %w", id, err)
	}
	return s.Advance(ctx, id)
}

// Notice takes what a provider sent by itself: its header and its body, of at most [MaxNotice] bytes. It fails with
// [ErrSignature] where the provider did not sign it, with [ErrNoProvider] where that provider is not configured, and otherwise
// where it could not be stored: the provider is then to send it again. When it returns nil the notice is stored, and what follows
// from it is done or will be. One that was stored before, or is about no payment of ours, changes nothing.
func (s *Service) Notice(ctx context.Context, provider string, header http.Header, body []byte) error {
	from := s.providers[provider]
	if from == nil {
		return ErrNoProvider
	}
	if len(body) > MaxNotice {
		return ErrSignature
	}
	n, err := from.Notice(header, body)
	if err != nil {
		return fmt.Errorf("notice of %s: %w", provider, err)
	}
	p, err := s.noticed(ctx, provider, n)
	if store.IsNoRows(err) { // about no payment of ours
		return nil
	}
	if err != nil {
		return fmt.Errorf("store a notice of %s: %w", provider, err)
	}
	if _, err := s.Advance(ctx, p.ID); err != nil { // which is stored as something to be done
		s.cfg.Logger.ErrorContext(ctx, "what a notice of payment is about failed, and is tried again", "payment", p.ID, "error", err.Error())
	}
	return nil
}

// noticed stores a notice and marks its payment as one to look at, in one transaction. It fails with [sql.ErrNoRows].
func (s *Service) noticed(ctx context.Context, provider string, n Notice) (p Payment, err error) {
	if n.Payment != "" && !isID(n.Payment) {
		return Payment{}, sql.ErrNoRows
	}
	err = s.cfg.DB.Read(ctx, func(tx store.Tx) error {
		p, err = paymentOfNotice(ctx, tx, provider, n)
		return err
	})
	if err != nil {
		return Payment{}, err
	}
	return p, s.tx(ctx, p, func(tx store.Tx) error {
		now := s.cfg.Now()
		fresh, err := insertNotice(ctx, tx, provider, n.ID, now)
		if err != nil || !fresh {
			return err
		}
		return markDue(ctx, tx, p.ID, now)
	})
}
