package account

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/ratelimit"
)

// Limits of waiting for a slot to hash. A hash takes some 25 ms.
const (
	maxWaiting      = 512 // requests of all networks
	maxWaitingOfOne = 32  // requests of one network; more are refused
	hashWait        = 20 * time.Second
)

// slots limit how many passwords are hashed at once. Waiting requests take turns by network (fair queuing), so that one
// network with many requests delays only its own.
type slots struct {
	mu        sync.Mutex
	free      int
	waiting   int
	byNetwork map[netip.Prefix]*networkQueue
	turns     []*networkQueue // of the networks that wait, the next first
}

// A networkQueue holds the waiting requests of one network, first in, first out.
type networkQueue struct {
	network netip.Prefix
	waiters []*waiter
}

// A waiter receives one value: true with a slot, false when it was evicted.
type waiter struct {
	granted chan bool // of capacity 1
}

func newSlots(n int) *slots {
	return &slots{free: n, byNetwork: map[netip.Prefix]*networkQueue{}}
}

// networkOf is the network that takes turns: an IPv4 address, or an IPv6 /48.
func networkOf(from netip.Addr) netip.Prefix {
	from = from.Unmap().WithZone("")
	if site, ok := ratelimit.Site(from); ok {
		return site
	}
	return ratelimit.Host(from)
}

// acquire waits for a slot. It fails with [fault.RateLimited] if many requests of the network wait already, and with
// [fault.Unavailable] if too many wait in total, or after hashWait.
func (s *slots) acquire(ctx context.Context, from netip.Addr) (release func(), err error) {
	w, err := s.enqueue(networkOf(from))
	if err != nil {
		return nil, err
	}
	if w == nil {
		return s.release, nil
	}
	timer := time.NewTimer(hashWait)
	defer timer.Stop()
	select {
	case ok := <-w.granted:
		if ok {
			return s.release, nil
		}
		return nil, errBusy()
	case <-timer.C:
		err = errBusy()
	case <-ctx.Done():
		err = ctx.Err()
	}
	s.mu.Lock()
	removed := s.remove(networkOf(from), w)
	s.mu.Unlock()
	if !removed && <-w.granted { // a slot came at the same instant
		s.release()
	}
	return nil, err
}

func errBusy() error {
	return fault.New(fault.Unavailable, "too many sign-ins are under way").WithHint("try again in a few seconds").WithRetry(5 * time.Second)
}

// enqueue takes a free slot and returns nil, or returns a waiter in the queue of the network.
func (s *slots) enqueue(network netip.Prefix) (*waiter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free > 0 { // the queue is empty
		s.free--
		return nil, nil
	}
	q := s.byNetwork[network]
	if q != nil && len(q.waiters) >= maxWaitingOfOne {
		return nil, fault.New(fault.RateLimited, "too many sign-ins from this address are waiting").WithRetry(2 * time.Second)
	}
	if s.waiting >= maxWaiting && !s.evict(q) {
		return nil, errBusy()
	}
	if q == nil {
		q = &networkQueue{network: network}
		s.byNetwork[network] = q
		s.turns = append(s.turns, q)
	}
	w := &waiter{make(chan bool, 1)}
	q.waiters = append(q.waiters, w)
	s.waiting++
	return w, nil
}

// evict refuses the last waiter of the longest queue, if that is longer than the queue of the asking network.
func (s *slots) evict(asks *networkQueue) bool {
	var longest *networkQueue
	for _, q := range s.turns {
		if longest == nil || len(q.waiters) > len(longest.waiters) {
			longest = q
		}
	}
	own := 1
	if asks != nil {
		own += len(asks.waiters)
	}
	if longest == nil || len(longest.waiters) <= own {
		return false
	}
	last := longest.waiters[len(longest.waiters)-1]
	s.remove(longest.network, last)
	last.granted <- false
	return true
}

// remove takes a waiter out of its queue. It reports false if the waiter has received its value.
func (s *slots) remove(network netip.Prefix, w *waiter) bool {
	q := s.byNetwork[network]
	if q == nil {
		return false
	}
	for i := range q.waiters {
		if q.waiters[i] != w {
			continue
		}
		q.waiters = append(q.waiters[:i], q.waiters[i+1:]...)
		s.waiting--
		if len(q.waiters) == 0 {
			s.drop(q)
		}
		return true
	}
	return false
}

// drop removes the queue of a network without waiters.
func (s *slots) drop(q *networkQueue) {
	delete(s.byNetwork, q.network)
	for i := range s.turns {
		if s.turns[i] == q {
			s.turns = append(s.turns[:i], s.turns[i+1:]...)
			return
		}
	}
}

// release gives the slot to the network whose turn it is.
func (s *slots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.turns) == 0 {
		s.free++
		return
	}
	q := s.turns[0]
	w := q.waiters[0]
	if s.remove(q.network, w); len(q.waiters) > 0 { // else the queue is gone
		s.turns = append(s.turns[1:], q)
	}
	w.granted <- true
}
