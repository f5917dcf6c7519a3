package egress

import (
	"context"
	"slices"
	"sync"
)

// Slots bound how many exchanges run at a time, for each key and in all. The longest-waiting exchange whose key is
// below its limit goes first, so that a key at its limit does not delay other keys. A key is remembered while it is in use only.
type Slots struct {
	each, all int

	mu      sync.Mutex
	used    map[string]int
	total   int
	waiting []*waiter
}

type waiter struct {
	key   string
	limit int
	ready chan struct{}
}

// maxWaiting is how many may wait for each that runs.
const maxWaiting = 4

// NewSlots returns slots for each exchanges of one key and for all of them together. Both must be positive.
func NewSlots(each, all int) *Slots {
	if each <= 0 || all <= 0 {
		panic("egress: slots must be positive")
	}
	return &Slots{each: each, all: all, used: map[string]int{}}
}

// Acquire waits for a slot. Call release, once or more often, when the exchange is over. It fails with an [*Error] of
// code [Busy] when ctx ends first, or when too many wait already.
func (s *Slots) Acquire(ctx context.Context, key string) (release func(), err error) {
	return s.AcquireAtMost(ctx, key, s.each)
}

// AcquireAtMost is Acquire for a key of which less than limit exchanges may be running.
func (s *Slots) AcquireAtMost(ctx context.Context, key string, limit int) (release func(), err error) {
	limit = max(1, min(limit, s.each))
	release = sync.OnceFunc(func() { s.release(key) })
	s.mu.Lock()
	if s.total < s.all && s.used[key] < limit {
		s.take(key)
		s.mu.Unlock()
		return release, nil
	}
	if len(s.waiting) >= maxWaiting*s.all {
		s.mu.Unlock()
		return nil, fail(Busy, "too many exchanges wait")
	}
	w := &waiter{key: key, limit: limit, ready: make(chan struct{})}
	s.waiting = append(s.waiting, w)
	s.mu.Unlock()
	select {
	case <-w.ready:
		return release, nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	i := slices.Index(s.waiting, w)
	if i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
	}
	s.mu.Unlock()
	if i < 0 { // the slot came at the same moment
		release()
	}
	return nil, &Error{Code: Busy, Note: "no exchange ended in time", Cause: context.Cause(ctx)}
}

// take and release are called with s.mu held, and without.
func (s *Slots) take(key string) {
	s.used[key]++
	s.total++
}

func (s *Slots) release(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total--
	if s.used[key]--; s.used[key] == 0 {
		delete(s.used, key)
	}
	for i := 0; i < len(s.waiting) && s.total < s.all; {
		w := s.waiting[i]
		if s.used[w.key] >= w.limit {
			i++
			continue
		}
		s.waiting = slices.Delete(s.waiting, i, i+1)
		s.take(w.key)
		close(w.ready)
	}
}
