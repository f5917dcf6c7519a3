package event

import (
	"slices"
	"time"
)

// Bulkheads. An endpoint that answers quickly is given more and more room; one that does not keeps a little, out of a
// pool that only its like share, so that whoever answers finds room however many do not.
const (
	fastTime     = time.Second // an attempt that takes longer makes its endpoint a slow one
	fewestAtOnce = 4           // attempts under way to one endpoint: at first, and while it is slow
	mostAtOnce   = 16          // while it is brisk
	fastPool     = 2048        // attempts under way to all brisk endpoints
	slowPool     = 512         // to all slow ones
	queueAhead   = 8           // deliveries claimed ahead, as a multiple of those under way
	queueTotal   = 4096        // beyond this, each lane claims the fewest ahead
)

// A lane is what the courier knows about one endpoint.
type endpointQueue struct {
	stream     Stream
	pending    []queued // claimed and not begun
	running    int      // attempts under way
	limit      int      // most attempts under way
	slow       bool
	needsClaim bool // in courier.hungry
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

// A pool is room for attempts under way.
type pool struct {
	used, size int
	waiting    []*endpointQueue // for room, first come first served
}

// queueOf finds or makes the lane of a stream.
func (c *dispatcher) queueOf(s Stream) *endpointQueue {
	l, ok := c.queues[s]
	if !ok {
		l = &endpointQueue{stream: s, limit: fewestAtOnce}
		c.queues[s] = l
	}
	return l
}

func (c *dispatcher) poolOf(l *endpointQueue) *pool {
	if l.slow {
		return c.slow
	}
	return c.fast
}

// adapt adapts the lane to how long an attempt took.
func (l *endpointQueue) adapt(took time.Duration) {
	if l.slow = took > fastTime; l.slow {
		l.limit = fewestAtOnce
		return
	}
	l.limit = min(2*l.limit, mostAtOnce)
}

// requestClaim has the courier claim deliveries for the lane as soon as there is room for them.
func (c *dispatcher) requestClaim(l *endpointQueue) {
	if !l.needsClaim {
		l.needsClaim = true
		c.needClaim = append(c.needClaim, l)
	}
}

// claimSize is how many deliveries to claim for the lane now: no more than can begin at once until an attempt has been
// quick, and ahead of need after that.
func (c *dispatcher) claimSize(l *endpointQueue) int {
	switch {
	case l.slow && len(c.slow.waiting) > 0:
		return 0
	case l.slow:
		return min(l.limit-l.running-len(l.pending), c.slow.size-c.slow.used)
	case l.limit == fewestAtOnce:
		return l.limit - l.running - len(l.pending)
	}
	ahead := queueAhead * l.limit
	if len(l.pending) > ahead/2 {
		return 0
	}
	return min(ahead-len(l.pending), max(fewestAtOnce, queueTotal-c.queued))
}

// start begins what the lane may begin.
func (c *dispatcher) start(l *endpointQueue) {
	now := c.log.cfg.Now()
	for len(l.pending) > 0 && l.running < l.limit && c.ctx.Err() == nil {
		p := c.poolOf(l)
		if p.used >= p.size || len(c.outcomes) > unsettled {
			if !l.waiting {
				l.waiting = true
				p.waiting = append(p.waiting, l)
			}
			return
		}
		q := l.pending[0]
		l.pending[0] = queued{}
		l.pending = l.pending[1:]
		c.queued--
		if now.Add(claimSlack).After(q.until) { // by the time it ended another process might be at it
			c.requestClaim(l)
			continue
		}
		c.send(l, p, q)
	}
}

// startWaiting gives room in the pool to those that wait for it.
func (c *dispatcher) startWaiting(p *pool) {
	for len(p.waiting) > 0 && p.used < p.size && len(c.outcomes) <= unsettled {
		l := p.waiting[0]
		p.waiting = p.waiting[1:]
		l.waiting = false
		c.start(l)
	}
}

// send begins an attempt.
func (c *dispatcher) send(l *endpointQueue, p *pool, q queued) {
	l.running++
	p.used++
	c.sending++
	c.wg.Go(func() {
		began := time.Now()
		a, ok := c.log.send(c.work, q.to, q.row.event, q.row.attempt+1)
		c.finished <- result{
			queue: l, pool: p, took: time.Since(began),
			outcome: q.row.after(l.stream, a, ok, c.log.cfg.Now()),
		}
	})
}

// giveBack empties the queue of the lane for whoever gets to it first, this courier perhaps.
func (c *dispatcher) giveBack(l *endpointQueue) {
	if len(l.pending) == 0 {
		return
	}
	g := unsent{stream: l.stream}
	for _, q := range l.pending {
		g.numbers = append(g.numbers, q.row.number)
	}
	slices.Sort(g.numbers)
	c.unsent = append(c.unsent, g)
	c.queued -= len(l.pending)
	l.pending = nil
	c.requestClaim(l)
}

// forget drops the lanes of endpoints that have nothing to send. What was learnt about slow ones is kept.
func (c *dispatcher) forget() {
	for s, l := range c.queues {
		if !l.slow && !l.needsClaim && !l.waiting && l.running == 0 && len(l.pending) == 0 {
			delete(c.queues, s)
		}
	}
}
