package egress

import (
	"context"
	"slices"
	"sync"
)

// Slots limit concurrent exchanges, per key and in total (a bulkhead). The longest-waiting exchange whose key is below its
// limit goes first, so that a key at its limit does not delay other keys. Unused keys take no memory.
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

// maxWaiting is how many exchanges may wait, as a multiple of those that may run.
const maxWaiting = 4

// NewSlots returns slots for each exchanges of one key and all exchanges in total. It panics unless both are positive.
func NewSlots(each, all int) *Slots {
	if each <= 0 || all <= 0 {
		panic("egress: slots must be positive")
	}
	return &Slots{each: each, all: all, used: map[string]int{}}
}

// Acquire waits for a slot. Call release, once or more often, when the exchange is over. It fails with the code [Busy] if ctx
// ends first, or if too many wait already.
func (s *Slots) Acquire(ctx context.Context, key string) (release func(), err error) {
	return s.AcquireAtMost(ctx, key, s.each)
}

// AcquireAtMost is Acquire with a lower limit for the key.
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

// take counts a slot as used. The caller holds s.mu.
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
