package partner

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

// Bounds of one transaction of admissions.
const (
	groupSize = 1024
	groupTime = 30 * time.Second
)

// admissions lets each signed request through once, and only as often as its credential may ask. Requests that come while
// a transaction runs are admitted together by the next: their nonces are written as one row, and what they draw from one
// bucket as another. So a request costs a small share of a durable commit, and of any number of processes on one
// database one lets it through.
type admissions struct {
	db      *store.DB
	now     func() time.Time
	limited bool
	nonces  nonces // of the goroutine that runs alone

	mu      sync.Mutex
	waiting []*admission
	closed  bool
	wake    chan struct{} // holds a token while there may be somebody waiting
}

// An admission is a request that waits. What it comes to may be read once done is closed.
type admission struct {
	nonce  nonce
	bucket string // empty: nothing is drawn
	limit  *ratelimit.Policy

	done     chan struct{}
	replayed bool
	draw     ratelimit.Draw
	err      error // of ours
}

var errShut = errors.New("shut down")

func newAdmissions(db *store.DB, now func() time.Time, limited bool) *admissions {
	return &admissions{db: db, now: now, limited: limited, wake: make(chan struct{}, 1)}
}

// admit waits until the nonce is stored. A nonce that was used before is [fault.ReplayDetected]; it draws nothing. What
// came of the draw is no error here.
func (a *admissions) admit(ctx context.Context, keyID, nonce string, expires int64, l *ratelimit.Policy) (ratelimit.Draw, error) {
	w := &admission{nonce: newNonce(keyID, nonce, expires), limit: l, done: make(chan struct{})}
	if a.limited {
		w.bucket = bucket(l, keyID)
	}
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return ratelimit.Draw{}, errShut
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

// run admits groups until the context ends.
func (a *admissions) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			a.close()
			return
		case <-a.wake:
		}
		for group := a.next(); len(group) > 0; group = a.next() {
			settle(group, a.write(ctx, group))
		}
	}
}

// next takes a group from those who wait.
func (a *admissions) next() []*admission {
	a.mu.Lock()
	defer a.mu.Unlock()
	group := a.waiting
	if len(group) <= groupSize {
		a.waiting = nil
		return group
	}
	a.waiting = group[groupSize:]
	return group[:groupSize:groupSize]
}

// close refuses who waits and who comes.
func (a *admissions) close() {
	a.mu.Lock()
	a.closed = true
	group := a.waiting
	a.waiting = nil
	a.mu.Unlock()
	settle(group, errShut)
}

// settle ends the waiting of a group.
func settle(group []*admission, err error) {
	for _, w := range group {
		w.err = err
		close(w.done)
	}
}

// write admits a group in one transaction.
func (a *admissions) write(ctx context.Context, group []*admission) error {
	ctx, cancel := context.WithTimeout(ctx, groupTime)
	defer cancel()
	var fresh []nonce
	err := a.db.Tx(ctx, func(tx store.Tx) error {
		now := a.now()
		if err := a.nonces.follow(ctx, tx, now.Unix()); err != nil {
			return err
		}
		if fresh = a.nonces.sift(group, now.Unix()); len(fresh) == 0 {
			return nil
		}
		if err := a.nonces.insert(ctx, tx, fresh); err != nil {
			return err
		}
		return drawAll(ctx, tx, group, store.Micros(now))
	})
	if err == nil && len(fresh) > 0 {
		a.nonces.wrote(fresh)
	}
	return err
}
