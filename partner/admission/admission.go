// Package admission admits signed requests: each nonce once, and as many requests as the rate limits of a credential allow.
// Nonces and limits are in the database, so they hold over any number of processes.
package admission

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/ratelimit"
	"github.com/namewharf/namewharf/store"
)

// Limits of one transaction.
const (
	maxGroup     = 1024
	groupTimeout = 30 * time.Second
)

// Config configures an [Admitter]. DB and Now are required.
type Config struct {
	DB       *store.DB
	Now      func() time.Time
	NoLimits bool // check nonces only
}

// An Admitter admits requests in groups. Requests that arrive while a transaction runs are admitted together by the next
// one: their nonces are written as one row, and their draws on one bucket as one row. A request costs a small share of a
// durable commit.
type Admitter struct {
	db     *store.DB
	now    func() time.Time
	limits bool
	nonces nonces // used by Run only

	mu      sync.Mutex
	waiting []*request
	closed  bool
	wake    chan struct{} // holds a token while requests may be waiting
}

// A request waits for its admission. The fields below done may be read once it is closed.
type request struct {
	nonce  nonce
	bucket string // empty: no rate limit
	limit  *ratelimit.Policy

	done     chan struct{}
	replayed bool
	draw     ratelimit.Draw
	err      error
}

var errClosed = errors.New("shut down")

// New returns an Admitter. It admits requests while [Admitter.Run] runs.
func New(cfg Config) *Admitter {
	return &Admitter{db: cfg.DB, now: cfg.Now, limits: !cfg.NoLimits, wake: make(chan struct{}, 1)}
}

// Admit stores the nonce of a request, which is valid until expires, a Unix time in seconds, and draws a token from the
// credential's bucket of a policy. A refused draw is not an error. It fails with [fault.ReplayDetected] for a nonce that
// was used before, which draws nothing.
func (a *Admitter) Admit(ctx context.Context, keyID, nonce string, expires int64, l *ratelimit.Policy) (ratelimit.Draw, error) {
	w := &request{nonce: newNonce(keyID, nonce, expires), limit: l, done: make(chan struct{})}
	if a.limits {
		w.bucket = bucket(l, keyID)
	}
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return ratelimit.Draw{}, errClosed
	}
	a.waiting = append(a.waiting, w)
	a.mu.Unlock()
	select {
	case a.wake <- struct{}{}:
	default:
	}
	select {
	case <-w.done:
	case <-ctx.Done():
		return ratelimit.Draw{}, ctx.Err()
	}
	switch {
	case w.err != nil:
		return ratelimit.Draw{}, fmt.Errorf("admit a request: %w", w.err)
	case w.replayed:
		return ratelimit.Draw{}, fault.New(fault.ReplayDetected, "the nonce was used before").
			WithHint("send a fresh random nonce with every request, repetitions too")
	}
	return w.draw, nil
}

// Run admits requests until the context ends; then it fails those that wait, and all later ones.
func (a *Admitter) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			a.close()
			return
		case <-a.wake:
		}
		for group := a.next(); len(group) > 0; group = a.next() {
			finish(group, a.write(ctx, group))
		}
	}
}

// next removes a group from the waiting requests.
func (a *Admitter) next() []*request {
	a.mu.Lock()
	defer a.mu.Unlock()
	group := a.waiting
	if len(group) <= maxGroup {
		a.waiting = nil
		return group
	}
	a.waiting = group[maxGroup:]
	return group[:maxGroup:maxGroup]
}

// close fails the waiting requests and all later ones.
func (a *Admitter) close() {
	a.mu.Lock()
	a.closed = true
	group := a.waiting
	a.waiting = nil
	a.mu.Unlock()
	finish(group, errClosed)
}

// finish completes the requests of a group.
func finish(group []*request, err error) {
	for _, w := range group {
		w.err = err
		close(w.done)
	}
}

// write admits a group in one transaction.
func (a *Admitter) write(ctx context.Context, group []*request) error {
	ctx, cancel := context.WithTimeout(ctx, groupTimeout)
	defer cancel()
	var fresh []nonce
	err := a.db.Tx(ctx, func(tx store.Tx) error {
		now := a.now()
		if err := a.nonces.readNew(ctx, tx, now.Unix()); err != nil {
			return err
		}
		if fresh = a.nonces.markReplays(group, now.Unix()); len(fresh) == 0 {
			return nil
		}
		if err := a.nonces.insert(ctx, tx, fresh); err != nil {
			return err
		}
		return drawAll(ctx, tx, group, store.Micros(now))
	})
	if err == nil && len(fresh) > 0 {
		a.nonces.committed(fresh)
	}
	return err
}
