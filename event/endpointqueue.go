package event

import (
	"slices"
	"time"
)

// Bulkheads. A fast endpoint gets more and more concurrent attempts. A slow one gets few, from a separate pool, so that slow
// endpoints do not delay the others.
const (
	fastTime      = time.Second // an attempt that takes longer makes its endpoint slow
	minConcurrent = 4           // concurrent attempts to an endpoint at first, and while it is slow
	maxConcurrent = 16          // while it is fast
	fastPool      = 2048        // concurrent attempts to all fast endpoints
	slowPool      = 512         // to all slow ones
	queueAhead    = 8           // deliveries claimed ahead, as a multiple of concurrent attempts
	queueTotal    = 4096        // deliveries claimed ahead for all endpoints; over it, each queue claims at most minConcurrent
)

// An endpointQueue holds the deliveries that are claimed for one endpoint, and its limit of concurrent attempts.
type endpointQueue struct {
	stream     Stream
	pending    []queued // claimed deliveries that wait for their attempt
	running    int      // concurrent attempts
	limit      int      // most concurrent attempts
	slow       bool
	needsClaim bool // in dispatcher.needClaim
	waiting    bool // in pool.waiting
	broken     bool // its secrets cannot be decrypted
	touched    time.Time
}

// A queued delivery waits for its attempt.
type queued struct {
	row   deliveryRow
	to    target
	until time.Time // end of the claim
}

// A pool limits the concurrent attempts to a class of endpoints.
type pool struct {
	used, size int
	waiting    []*endpointQueue // FIFO
}

// queueOf returns the endpoint queue of a stream.
func (d *dispatcher) queueOf(s Stream) *endpointQueue {
	q, ok := d.queues[s]
	if !ok {
		q = &endpointQueue{stream: s, limit: minConcurrent}
		d.queues[s] = q
	}
	return q
}

func (d *dispatcher) poolOf(q *endpointQueue) *pool {
	if q.slow {
		return d.slow
	}
	return d.fast
}

// adapt sets the limit of the queue by the duration of an attempt.
func (q *endpointQueue) adapt(took time.Duration) {
	if q.slow = took > fastTime; q.slow {
		q.limit = minConcurrent
		return
	}
	q.limit = min(2*q.limit, maxConcurrent)
}

// requestClaim lists the queue to claim deliveries as soon as the limits allow.
func (d *dispatcher) requestClaim(q *endpointQueue) {
	if !q.needsClaim {
		q.needsClaim = true
		d.needClaim = append(d.needClaim, q)
	}
}

// claimSize is how many deliveries to claim for the queue now: until an attempt was fast, no more than can begin at once;
// afterwards some ahead.
func (d *dispatcher) claimSize(q *endpointQueue) int {
	switch {
	case q.slow && len(d.slow.waiting) > 0:
		return 0
	case q.slow:
		return min(q.limit-q.running-len(q.pending), d.slow.size-d.slow.used)
	case q.limit == minConcurrent:
		return q.limit - q.running - len(q.pending)
	}
	ahead := queueAhead * q.limit
	if len(q.pending) > ahead/2 {
		return 0
	}
	return min(ahead-len(q.pending), max(minConcurrent, queueTotal-d.queued))
}

// start begins attempts of the queue up to its limit and that of its pool.
func (d *dispatcher) start(q *endpointQueue) {
	now := d.log.cfg.Now()
	for len(q.pending) > 0 && q.running < q.limit && d.ctx.Err() == nil {
		p := d.poolOf(q)
		if p.used >= p.size || len(d.outcomes) > unsettled {
			if !q.waiting {
				q.waiting = true
				p.waiting = append(p.waiting, q)
			}
			return
		}
		next := q.pending[0]
		q.pending[0] = queued{}
		q.pending = q.pending[1:]
		d.queued--
		if now.Add(claimSlack).After(next.until) { // another process could claim the delivery during the attempt
			d.requestClaim(q)
			continue
		}
		d.send(q, p, next)
	}
}

// startWaiting starts the queues that wait for the pool.
func (d *dispatcher) startWaiting(p *pool) {
	for len(p.waiting) > 0 && p.used < p.size && len(d.outcomes) <= unsettled {
		q := p.waiting[0]
		p.waiting = p.waiting[1:]
		q.waiting = false
		d.start(q)
	}
}

// send begins an attempt.
func (d *dispatcher) send(q *endpointQueue, p *pool, next queued) {
	q.running++
	p.used++
	d.sending++
	d.wg.Go(func() {
		began := time.Now()
		a, ok := d.log.send(d.work, next.to, next.row.event, next.row.attempt+1)
		d.finished <- result{
			queue: q, pool: p, took: time.Since(began),
			outcome: next.row.after(q.stream, a, ok, d.log.cfg.Now()),
		}
	})
}

// releaseClaims releases the claims of the queue, so that any process may claim the deliveries.
func (d *dispatcher) releaseClaims(q *endpointQueue) {
	if len(q.pending) == 0 {
		return
	}
	u := unsent{stream: q.stream}
	for _, next := range q.pending {
		u.numbers = append(u.numbers, next.row.number)
	}
	slices.Sort(u.numbers)
	d.unsent = append(d.unsent, u)
	d.queued -= len(q.pending)
	q.pending = nil
	d.requestClaim(q)
}

// dropIdleQueues drops empty queues, except those of slow endpoints, which hold the measured speed.
func (d *dispatcher) dropIdleQueues() {
	for s, q := range d.queues {
		if !q.slow && !q.needsClaim && !q.waiting && q.running == 0 && len(q.pending) == 0 {
			delete(d.queues, s)
		}
	}
}
