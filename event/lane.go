package event

import (
	"slices"
	"time"
)

// Bulkheads. An endpoint that answers quickly is given more and more room; one that does not keeps a little, out of a
// pool that only its like share, so that whoever answers finds room however many do not.
const (
	briskTime    = time.Second // an attempt that takes longer makes its endpoint a slow one
	fewestAtOnce = 4           // attempts under way to one endpoint: at first, and while it is slow
	mostAtOnce   = 16          // while it is brisk
	briskSize    = 2048        // attempts under way to all brisk endpoints
	slowSize     = 512         // to all slow ones
	queueOfLane  = 8           // deliveries claimed ahead, as a multiple of those under way
	queueOfAll   = 4096        // beyond this, each lane claims the fewest ahead
)

// A lane is what the courier knows about one endpoint.
type lane struct {
	stream  Stream
	queue   []queued // claimed and not begun
	running int      // attempts under way
	limit   int      // most attempts under way
	slow    bool
	hungry  bool // in courier.hungry
	waiting bool // in pool.waiting
	broken  bool // its secrets cannot be opened
	touched time.Time
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
	waiting    []*lane // for room, first come first served
}

// lane finds or makes the lane of a stream.
func (c *courier) lane(s Stream) *lane {
	l, ok := c.lanes[s]
	if !ok {
		l = &lane{stream: s, limit: fewestAtOnce}
		c.lanes[s] = l
	}
	return l
}

func (c *courier) poolOf(l *lane) *pool {
	if l.slow {
		return c.slow
	}
	return c.brisk
}

// learn adapts the lane to how long an attempt took.
func (l *lane) learn(took time.Duration) {
	if l.slow = took > briskTime; l.slow {
		l.limit = fewestAtOnce
		return
	}
	l.limit = min(2*l.limit, mostAtOnce)
}

// wants has the courier claim deliveries for the lane as soon as there is room for them.
func (c *courier) wants(l *lane) {
	if !l.hungry {
		l.hungry = true
		c.hungry = append(c.hungry, l)
	}
}

// appetite is how many deliveries to claim for the lane now: no more than can begin at once until an attempt has been
// quick, and ahead of need after that.
func (c *courier) appetite(l *lane) int {
	switch {
	case l.slow && len(c.slow.waiting) > 0:
		return 0
	case l.slow:
		return min(l.limit-l.running-len(l.queue), c.slow.size-c.slow.used)
	case l.limit == fewestAtOnce:
		return l.limit - l.running - len(l.queue)
	}
	ahead := queueOfLane * l.limit
	if len(l.queue) > ahead/2 {
		return 0
	}
	return min(ahead-len(l.queue), max(fewestAtOnce, queueOfAll-c.queued))
}

// start begins what the lane may begin.
func (c *courier) start(l *lane) {
	now := c.log.cfg.Now()
	for len(l.queue) > 0 && l.running < l.limit && c.ctx.Err() == nil {
		p := c.poolOf(l)
		if p.used >= p.size || len(c.outcomes) > unsettled {
			if !l.waiting {
				l.waiting = true
				p.waiting = append(p.waiting, l)
			}
			return
		}
		q := l.queue[0]
		l.queue[0] = queued{}
		l.queue = l.queue[1:]
		c.queued--
		if now.Add(claimSlack).After(q.until) { // by the time it ended another process might be at it
			c.wants(l)
			continue
		}
		c.send(l, p, q)
	}
}

// startWaiting gives room in the pool to those that wait for it.
func (c *courier) startWaiting(p *pool) {
	for len(p.waiting) > 0 && p.used < p.size && len(c.outcomes) <= unsettled {
		l := p.waiting[0]
		p.waiting = p.waiting[1:]
		l.waiting = false
		c.start(l)
	}
}

// send begins an attempt.
func (c *courier) send(l *lane, p *pool, q queued) {
	l.running++
	p.used++
	c.sending++
	c.wg.Go(func() {
		began := time.Now()
		a, ok := c.log.send(c.work, q.to, q.row.event, q.row.attempt+1)
		c.finished <- result{
			lane: l, pool: p, took: time.Since(began),
			outcome: q.row.after(l.stream, a, ok, c.log.cfg.Now()),
		}
	})
}

// giveBack empties the queue of the lane for whoever gets to it first, this courier perhaps.
func (c *courier) giveBack(l *lane) {
	if len(l.queue) == 0 {
		return
	}
	g := unsent{stream: l.stream}
	for _, q := range l.queue {
		g.numbers = append(g.numbers, q.row.number)
	}
	slices.Sort(g.numbers)
	c.unsent = append(c.unsent, g)
	c.queued -= len(l.queue)
	l.queue = nil
	c.wants(l)
}

// forget drops the lanes of endpoints that have nothing to send. What was learnt about slow ones is kept.
func (c *courier) forget() {
	for s, l := range c.lanes {
		if !l.slow && !l.hungry && !l.waiting && l.running == 0 && len(l.queue) == 0 {
			delete(c.lanes, s)
		}
	}
}
