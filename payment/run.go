package payment

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/namewharf/namewharf/store"
)

// How reconciliation goes about its work. A process that ends in the middle of something has a successor that finishes it
// within 8 s of its start: a lease of a dead process lasts 6 s.
const (
	lookEvery   = 500 * time.Millisecond
	leaseName   = "payment reconciliation"
	atOnce      = 8           // payments
	batchSize   = 256         // payments that one batch looks at
	maxFailures = 5           // failures in a row after which a provider is left alone until the next batch
	abandoned   = time.Minute // after which a payment that was not opened is given up; its buyer was not sent to pay
)

// Run does what is to be done about payments until ctx ends: what a crash left half done, what failed and is due again, and what
// providers did not report. Any number of processes may run it on one database; one of them works at a time. What waits for
// buyers is looked at once when Run begins, because notices may have been missed while no process ran.
func (s *Service) Run(ctx context.Context) {
	s.lookAtWaiting(ctx)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if err := s.exclusively(ctx); err != nil {
			s.complain(ctx, "payment reconciliation failed", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-s.wake:
		}
	}
}

// Wake has what is due looked at now, in this process. It is a hint: nothing depends on it but how soon.
func (s *Service) Wake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *Service) complain(ctx context.Context, what string, err error) {
	if ctx.Err() == nil {
		s.cfg.Logger.ErrorContext(ctx, what, "error", err.Error())
	}
}

func (s *Service) lookAtWaiting(ctx context.Context) {
	err := s.cfg.DB.Tx(ctx, func(tx store.Tx) error { return markWaiting(ctx, tx, s.cfg.Now()) })
	if err != nil {
		s.complain(ctx, "payments that wait for their buyers could not be marked", err)
	}
}

// exclusively does a batch if there is something to be done and no other process is at it.
func (s *Service) exclusively(ctx context.Context) error {
	if all, err := s.due(ctx, 1); err != nil || len(all) == 0 {
		return err
	}
	_, err := s.cfg.DB.Exclusively(ctx, leaseName, s.Reconcile)
	return err
}

func (s *Service) due(ctx context.Context, limit int) (all []due, err error) {
	err = s.cfg.DB.Read(ctx, func(tx store.Tx) error {
		all, err = selectDue(ctx, tx, s.cfg.Now(), limit)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for payments about which something is to be done: %w", err)
	}
	return all, nil
}

// Reconcile does once what is due now, as [Service.Run] does again and again. It returns what it failed with that is not the
// provider's; every payment is tried.
func (s *Service) Reconcile(ctx context.Context) error {
	all, err := s.due(ctx, batchSize)
	if err != nil {
		return err
	}
	r := batch{failures: map[string]int{}}
	work := make(chan due)
	var wg sync.WaitGroup
	for range min(atOnce, len(all)) {
		wg.Go(func() {
			for d := range work {
				r.note(d.provider, r.try(ctx, s, d))
			}
		})
	}
	for _, d := range all {
		if ctx.Err() != nil {
			break
		}
		work <- d
	}
	close(work)
	wg.Wait()
	return r.err
}

// A batch is one reconciliation.
type batch struct {
	mu       sync.Mutex
	failures map[string]int // in a row, by provider
	err      error
}

// try advances a payment, unless its provider fails all the time.
func (r *batch) try(ctx context.Context, s *Service, d due) (failed bool) {
	r.mu.Lock()
	rest := r.failures[d.provider] >= maxFailures
	r.mu.Unlock()
	if rest {
		return true
	}
	p, err := s.Advance(ctx, d.id)
	if err != nil && ctx.Err() == nil {
		r.mu.Lock()
		r.err = errors.Join(r.err, err)
		r.mu.Unlock()
	}
	return p.Failure == "unavailable" || p.Failure == "unknown"
}

func (r *batch) note(provider string, failed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if failed {
		r.failures[provider]++
	} else {
		r.failures[provider] = 0
	}
}
