package payment

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/store"
)

func errNoPayment() error { return fault.New(fault.NotFound, "there is no such payment") }

// steps is more than any payment takes from one wait to the next.
const steps = 8

// Advance asks the provider for the status of a payment, does what is to be done now, and returns the payment as it is then. What the
// provider fails with is noted in the payment and tried again by [Service.Run]; it is no error here. Advance is for the browser
// that comes back, and for callers that need the state at once. It fails with [fault.NotFound].
func (s *Service) Advance(ctx context.Context, id string) (Payment, error) {
	unlock, err := s.locks.lock(ctx, id)
	if err != nil {
		return Payment{}, err
	}
	defer unlock()
	p, err := s.Get(ctx, id)
	for range steps {
		if err != nil || p.Todo == ToNothing {
			return p, err
		}
		var waits bool
		if p, waits, err = s.step(ctx, p); waits {
			return p, err
		}
	}
	return p, err
}

// step does one thing about a payment. Waits reports that there is nothing more to be done now.
func (s *Service) step(ctx context.Context, p Payment) (_ Payment, waits bool, err error) {
	report, err := s.ask(ctx, p)
	if err != nil {
		p, err = s.postpone(ctx, p, err)
		return p, true, err
	}
	return s.apply(ctx, p, report)
}

// apply moves a payment as its provider's report says.
func (s *Service) apply(ctx context.Context, p Payment, report Report) (_ Payment, waits bool, err error) {
	if s.mismatch(ctx, p, report) {
		p, err = s.postpone(ctx, p, ErrFinal)
		return p, true, err
	}
	at := implied(p.State, report.Status)
	moved, ok, err := s.move(ctx, p, at, change{charge: report.Charge, by: ByProvider, again: at != report.Status})
	if err != nil {
		p, postponed := s.postpone(ctx, p, err)
		return p, true, errors.Join(err, postponed)
	}
	if ok {
		return moved, moved.Todo == ToNothing, nil
	}
	now, err := s.Get(ctx, p.ID)
	_, movable := ruleFor(p.State, p.Todo, at)
	if err != nil || movable || now.State != p.State || now.Todo != p.Todo { // somebody else moved it
		return now, err != nil, err
	}
	if p, err = s.rest(ctx, p); err != nil {
		return p, true, err
	}
	return p, p.Todo != ToCheck, nil
}

// mismatch reports whether the provider holds or took something else than was asked for, which is never acted on.
func (s *Service) mismatch(ctx context.Context, p Payment, r Report) bool {
	if r.Amount.Cents == 0 || r.Amount == p.Amount() {
		return false
	}
	s.cfg.Logger.ErrorContext(ctx, "the provider reports another amount than was asked for: look at the payment there",
		"payment", p.ID, "provider", p.Provider)
	return true
}

// ask sends the provider what is to be done, and returns the status of the payment.
func (s *Service) ask(ctx context.Context, p Payment) (Report, error) {
	if p.Todo == ToStart { // no buyer was sent to pay
		return Report{Status: Void}, nil
	}
	provider := s.providers[p.Provider]
	if provider == nil {
		return Report{}, fmt.Errorf("%w, and the payment's is not configured: %w", ErrUnavailable, ErrNoProvider)
	}
	ctx, cancel := context.WithTimeout(ctx, CallTime)
	defer cancel()
	call := provider.Status
	switch {
	case p.Todo == ToCapture && p.OrderID != "":
		call = provider.Capture
	case p.Todo == ToRelease && (p.State == Captured || p.State == Disputed):
		call = provider.Refund
	case p.Todo == ToRelease:
		call = provider.Void
	}
	report, err := call(ctx, p)
	if !errors.Is(err, ErrFinal) && !errors.Is(err, ErrDeclined) || p.Todo == ToAwait || p.Todo == ToCheck {
		return report, err
	}
	refusal := err
	if report, err = provider.Status(ctx, p); err != nil {
		return Report{}, err
	}
	if p.Todo == ToCapture && report.Status == Held {
		return Report{Status: refusing, Amount: report.Amount, Charge: report.Charge}, nil
	}
	if _, ok := ruleFor(p.State, p.Todo, implied(p.State, report.Status)); !ok {
		return Report{}, refusal
	}
	return report, nil
}

// postpone notes that something failed, and when to try again.
func (s *Service) postpone(ctx context.Context, p Payment, why error) (Payment, error) {
	now := s.cfg.Now()
	p.Attempts++
	p.Failure, p.NextTry = failureOf(why), now.Add(backOff(p.Attempts))
	ctx = context.WithoutCancel(ctx) // it is recorded even if the caller is gone
	if err := s.schedule(ctx, p); err != nil {
		return p, err
	}
	s.cfg.Observer.Failed(p)
	if stuck(p.Attempts) {
		s.cfg.Logger.ErrorContext(ctx, "a payment is stuck", "payment", p.ID, "order", p.OrderID, "provider", p.Provider,
			"state", string(p.State), "todo", string(p.Todo), "attempts", p.Attempts, "failure", p.Failure, "error", why.Error())
		s.cfg.Observer.Stuck(p)
	}
	return p, nil
}

// rest notes that the provider has nothing new, and when to look again. What is then still to be checked is what a notice came about
// meanwhile.
func (s *Service) rest(ctx context.Context, p Payment) (Payment, error) {
	now := s.cfg.Now()
	if p.Todo == ToCheck {
		return s.checked(ctx, p)
	}
	if p.Todo != ToAwait { // the provider took the request, and does not report it yet
		return s.postpone(ctx, p, ErrUnknown)
	}
	p.Attempts, p.Failure, p.NextTry = 0, "", now.Add(lookAgain(now.Sub(p.CreatedAt)))
	return p, s.schedule(ctx, p)
}

// schedule stores the attempts and the next one, unless somebody moved the payment meanwhile.
func (s *Service) schedule(ctx context.Context, p Payment) error {
	err := s.tx(ctx, p, func(tx store.Tx) error { return updateSchedule(ctx, tx, p) })
	if err != nil {
		return fmt.Errorf("schedule payment %s: %w", p.ID, err)
	}
	return nil
}

// checked notes that a payment was checked, and returns it as it is then.
func (s *Service) checked(ctx context.Context, p Payment) (Payment, error) {
	err := s.tx(ctx, p, func(tx store.Tx) error { return clearCheck(ctx, tx, p) })
	if err != nil {
		return p, fmt.Errorf("note that payment %s was checked: %w", p.ID, err)
	}
	return s.Get(ctx, p.ID)
}

// failureOf is a failure in a word, to be stored and shown.
func failureOf(err error) string {
	switch {
	case errors.Is(err, ErrDeclined):
		return "declined"
	case errors.Is(err, ErrUnavailable):
		return "unavailable"
	case errors.Is(err, ErrFinal):
		return "final"
	case errors.Is(err, ErrUnknown), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return "unknown"
	}
	return "internal"
}

// locks prevent callers of one process from asking about the same payment at once. Nothing depends on them but that the provider
// is asked less often.
type locks struct {
	mu   sync.Mutex
	held map[string]*lock
}

type lock struct {
	turn chan struct{} // of capacity 1
	refs int
}

func (l *locks) lock(ctx context.Context, id string) (unlock func(), err error) {
	l.mu.Lock()
	if l.held == nil {
		l.held = map[string]*lock{}
	}
	k := l.held[id]
	if k == nil {
		k = &lock{turn: make(chan struct{}, 1)}
		l.held[id] = k
	}
	k.refs++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if k.refs--; k.refs == 0 {
			delete(l.held, id)
		}
	}
	select {
	case k.turn <- struct{}{}:
		return func() { <-k.turn; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
