package checkout

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/namewharf/namewharf/store"
)

// How receipts are sent.
const (
	receiptEvery    = time.Second // a look for receipts of other processes
	receiptsAtOnce  = 16
	receiptTime     = 30 * time.Second // for the mail server
	receiptWait     = time.Minute      // after the first failure; then twice as long each time
	receiptAttempts = 12               // after which a receipt is given up, about two days
	receiptLease    = "checkout receipts"
)

func (s *Service) hint() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// sendReceipts sends receipts until ctx ends. A receipt may be sent twice when a process ends between sending and its note.
func (s *Service) sendReceipts(ctx context.Context) {
	tick := time.NewTicker(receiptEvery)
	defer tick.Stop()
	for {
		all, err := s.dueReceipts(ctx, 1)
		if err == nil && len(all) > 0 {
			_, err = s.cfg.DB.Exclusively(ctx, receiptLease, s.sendDue)
		}
		if err != nil && ctx.Err() == nil {
			s.cfg.Logger.ErrorContext(ctx, "receipts could not be sent", "error", err.Error())
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-s.wake:
		}
	}
}

func (s *Service) dueReceipts(ctx context.Context, limit int) (all []receipt, err error) {
	err = s.cfg.DB.Read(ctx, func(tx store.Tx) error {
		all, err = selectReceipts(ctx, tx, s.cfg.Now(), limit)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for receipts: %w", err)
	}
	return all, nil
}

// sendDue sends what is due once.
func (s *Service) sendDue(ctx context.Context) error {
	all, err := s.dueReceipts(ctx, receiptsAtOnce)
	for _, r := range all {
		if err != nil {
			return err
		}
		err = s.sendReceipt(ctx, r)
	}
	return err
}

func (s *Service) sendReceipt(ctx context.Context, r receipt) error {
	call, cancel := context.WithTimeout(ctx, receiptTime)
	defer cancel()
	next := time.Time{}
	if err := s.cfg.Mail(call, r.BuyerEmail, "Receipt for "+r.Domain.Unicode(), receiptText(r.Session)); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if r.attempts++; r.attempts < receiptAttempts {
			next = s.cfg.Now().Add(receiptWait << (r.attempts - 1))
		}
		s.cfg.Logger.WarnContext(ctx, "a receipt was not sent", "session", r.ID, "attempts", r.attempts, "error", err.Error())
	}
	err := s.cfg.DB.Tx(ctx, func(tx store.Tx) error { return postponeReceipt(ctx, tx, r.ID, r.attempts, next) })
	if err != nil {
		return fmt.Errorf("note that a receipt was sent: %w", err)
	}
	return nil
}

// receiptText is the text of a receipt.
func receiptText(s Session) string {
	var b strings.Builder
	if s.Environment == sandbox {
		b.WriteString("This is a test. No money was taken, and no name was sold.\n\n")
	}
	name := s.Domain.Unicode()
	if ascii := s.Domain.String(); ascii != name {
		name += " (" + ascii + ")"
	}
	fmt.Fprintf(&b, "Thank you. You bought the domain name %s.\n\n", name)
	fmt.Fprintf(&b, "Price: %s\nOrder: %s\nSold by: Namewharf\n\n", s.Price, s.OrderID)
	b.WriteString("The name is now transferred. Keep this mail: it is your receipt.\n\nNamewharf\n")
	return b.String()
}
