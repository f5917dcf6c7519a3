package event

import (
	"slices"
	"time"
)

// Bulkheads. An endpoint that answers quickly gets more and more concurrent attempts. One that does not gets few, from a
// pool of its own for slow endpoints, so that slow endpoints do not delay the others.
const (
	fastTime     = time.Second // an attempt that takes longer makes its endpoint a slow one
	fewestAtOnce = 4           // attempts under way to one endpoint: at first, and while it is slow
	mostAtOnce   = 16          // while it is fast
	fastPool     = 2048        // attempts under way to all fast endpoints
	slowPool     = 512         // to all slow ones
	queueAhead   = 8           // deliveries claimed ahead, as a multiple of those under way
	queueTotal   = 4096        // deliveries claimed ahead for all endpoints; beyond it, each queue claims no more than fewestAtOnce
)

// An endpointQueue holds the deliveries that are claimed for one endpoint, and its limit of concurrent attempts.
type endpointQueue struct {
	stream     Stream
	pending    []queued // claimed and not begun
	running    int      // attempts under way
	limit      int      // most attempts under way
	slow       bool
	needsClaim bool // in dispatcher.needClaim
	waiting    bool // in pool.waiting
	broken     bool // its secrets cannot be opened
	touched    time.Time
}

// A queued delivery waits for its attempt.
type queued struct {
	row   deliveryRow
	to    target
	until time.Time // end of the claim
}

// A pool limits the attempts under way to a class of endpoints.
type pool struct {
	used, size int
	waiting    []*endpointQueue // for the limit, first come first served
}

// queueOf finds or makes the endpoint queue of a stream.
func (d *dispatcher) queueOf(s Stream) *endpointQueue {
	q, ok := d.queues[s]
	if !ok {
		q = &endpointQueue{stream: s, limit: fewestAtOnce}
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

// adapt sets the limit of the queue by how long an attempt took.
func (q *endpointQueue) adapt(took time.Duration) {
	if q.slow = took > fastTime; q.slow {
		q.limit = fewestAtOnce
		return
	}
	q.limit = min(2*q.limit, mostAtOnce)
}

// requestClaim puts the queue on the list of those that claim deliveries as soon as the limits allow.
func (d *dispatcher) requestClaim(q *endpointQueue) {
	if !q.needsClaim {
		q.needsClaim = true
		d.needClaim = append(d.needClaim, q)
	}
}

// claimSize is how many deliveries to claim for the queue now: no more than can begin at once until an attempt has been
// fast, and some ahead after that.
func (d *dispatcher) claimSize(q *endpointQueue) int {
	switch {
	case q.slow && len(d.slow.waiting) > 0:
		return 0
	case q.slow:
		return min(q.limit-q.running-len(q.pending), d.slow.size-d.slow.used)
	case q.limit == fewestAtOnce:
		return q.limit - q.running - len(q.pending)
	}
	ahead := queueAhead * q.limit
	if len(q.pending) > ahead/2 {
		return 0
	}
	return min(ahead-len(q.pending), max(fewestAtOnce, queueTotal-d.queued))
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
		if now.Add(claimSlack).After(next.until) { // before it ended, another process might claim the delivery
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

// giveBack releases the claims of the queue, so that any process may claim them, this one included.
func (d *dispatcher) giveBack(q *endpointQueue) {
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

// forget drops the queues that are empty. Those of slow endpoints stay, since they hold what was measured.
func (d *dispatcher) forget() {
	for s, q := range d.queues {
		if !q.slow && !q.needsClaim && !q.waiting && q.running == 0 && len(q.pending) == 0 {
			delete(d.queues, s)
		}
	}
}
