package event

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// How the courier goes about its work.
const (
	pollEvery     = 250 * time.Millisecond // for what other processes appended, and what became due
	sweepEvery    = time.Minute            // for endpoints to switch off
	touchEvery    = time.Minute            // how often a success is noted at the endpoint
	claimLife     = 30 * time.Second       // deliveries of a process that died are taken over after this
	claimSlack    = 2 * attemptTime        // an attempt begins only with this much of the claim left
	batchQueues   = 16                     // claims for which one round claims
	batchSlow     = 4                      // slow ones among them, and lanes whose claims it gives back
	batchOutcomes = 128                    // outcomes that one round writes
	unsettled     = 4096                   // outcomes that may wait to be written; with more, nothing is sent
)

// Deliver is the courier: it sends what is due until ctx ends, then finishes the attempts that are under way, and
// returns once their outcomes are written. It fails with what kept it from writing them; those events are sent again. A
// process runs one courier a Log.
func (l *Log) Deliver(ctx context.Context) error {
	c := &dispatcher{
		log: l, ctx: ctx, work: context.WithoutCancel(ctx), poll: true,
		queues: map[Stream]*endpointQueue{}, fast: &pool{size: fastPool}, slow: &pool{size: slowPool},
		finished: make(chan result, 64), batches: make(chan *batch),
	}
	defer l.out.Close()
	return c.run()
}

// A courier is the state of [Log.Deliver]. One goroutine owns it. Others send, and one at a time does a [round] with the
// database: whatever comes up meanwhile shares the next one.
type dispatcher struct {
	log  *Log
	ctx  context.Context // ends when nothing more may begin
	work context.Context // of what has begun

	queues     map[Stream]*endpointQueue
	needClaim  []*endpointQueue // claims for which to claim
	fast, slow *pool
	queued     int // deliveries claimed and not begun
	sending    int
	finished   chan result

	outcomes []outcome // to be written
	unsent   []unsent  // claims to give back
	poll     bool      // for streams that have something to send
	swept    time.Time
	inBatch  bool
	batches  chan *batch // that are over
	failing  bool        // the database
	resting  bool        // it is left alone until the next tick

	wg sync.WaitGroup
}

// A result is an attempt that ended.
type result struct {
	queue   *endpointQueue
	pool    *pool
	outcome outcome
	took    time.Duration
}

// run is the courier's loop.
func (c *dispatcher) run() error {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for c.ctx.Err() == nil {
		c.startBatch()
		select {
		case <-c.ctx.Done():
		case <-ticker.C:
			c.poll, c.resting = true, false
		case <-c.log.wake:
			for _, s := range c.log.takeWoken() {
				c.requestClaim(c.queueOf(s))
			}
		case r := <-c.batches:
			c.endBatch(r)
		case r := <-c.finished:
			c.endAttempt(r)
		}
	}
	return c.stop()
}

// stop waits for what is under way, writes what came of it, and gives back what was not begun.
func (c *dispatcher) stop() error {
	var err error
	c.needClaim, c.poll, c.resting = nil, false, false
	for _, l := range c.queues {
		c.giveBack(l)
	}
	for {
		c.needClaim = nil
		if err == nil {
			c.startBatch()
		}
		if c.sending == 0 && !c.inBatch {
			break
		}
		select {
		case r := <-c.batches:
			c.endBatch(r)
			err = r.err
			for _, g := range r.claims {
				c.giveBack(g.queue)
			}
		case r := <-c.finished:
			c.sending--
			c.outcomes = append(c.outcomes, r.outcome)
		}
	}
	c.wg.Wait()
	if err != nil {
		return fmt.Errorf("the outcomes of %d attempts are not written: %w", len(c.outcomes), err)
	}
	return nil
}

// startBatch begins a round with the database, if there is something to do there and none is under way.
func (c *dispatcher) startBatch() {
	if c.inBatch || c.resting {
		return
	}
	r := &batch{log: c.log, poll: c.poll, now: c.log.cfg.Now()}
	r.sweep = r.poll && r.now.Sub(c.swept).Abs() >= sweepEvery
	r.claims = c.takeNeedingClaim()
	n := min(len(c.outcomes), batchOutcomes)
	r.outcomes = c.outcomes[:n:n]
	c.outcomes = append([]outcome(nil), c.outcomes[n:]...)
	n = min(len(c.unsent), batchSlow)
	r.unsent = c.unsent[:n:n]
	c.unsent = append([]unsent(nil), c.unsent[n:]...)
	if len(r.claims)+len(r.outcomes)+len(r.unsent) == 0 && !r.poll {
		return
	}
	r.touches = c.touches(r.outcomes, r.now)
	c.inBatch, c.poll = true, false
	c.wg.Go(func() {
		r.err = r.do(c.work)
		c.batches <- r
	})
}

// takeNeedingClaim takes the lanes for which to claim now: few slow ones, so that a round is short for the others.
func (c *dispatcher) takeNeedingClaim() []claimed {
	var asked []claimed
	later, slow := c.needClaim[:0], 0
	for _, l := range c.needClaim {
		n := c.claimSize(l)
		if n <= 0 || len(asked) == batchQueues || l.slow && slow == batchSlow || len(c.outcomes) > unsettled {
			later = append(later, l)
			continue
		}
		if l.slow {
			slow++
		}
		l.needsClaim = false
		asked = append(asked, claimed{queue: l, asked: n})
	}
	clear(c.needClaim[len(later):])
	c.needClaim = later
	return asked
}

// touches is what to note at the endpoints of a batch: every delivery that was given up, and successes now and then.
func (c *dispatcher) touches(batch []outcome, now time.Time) map[Stream]touched {
	all := map[Stream]touched{}
	for _, o := range batch {
		t, l := all[o.stream], c.queueOf(o.stream)
		switch {
		case o.status == Failed:
			t.failure = now
		case o.status == Delivered && now.Sub(l.touched).Abs() >= touchEvery:
			t.success, l.touched = now, now
		default:
			continue
		}
		all[o.stream] = t
	}
	return all
}

// endBatch takes in what a round claimed and found out.
func (c *dispatcher) endBatch(r *batch) {
	c.inBatch = false
	c.database(r.err)
	if r.err != nil { // what it was to write is written later, what it was to claim is found again
		c.outcomes = append(c.outcomes, r.outcomes...)
		c.unsent = append(c.unsent, r.unsent...)
		c.poll = true
		return
	}
	for _, g := range r.claims {
		c.take(g)
	}
	for _, s := range r.found {
		c.requestClaim(c.queueOf(s))
	}
	if r.sweep {
		c.swept = r.now
		c.forget()
	}
	for _, s := range r.off {
		c.log.cfg.Logger.Info("webhook switched off: nothing was delivered for days", "partner", s.Partner, "environment", s.Environment)
	}
	c.startWaiting(c.fast) // what waited because too many outcomes did
	c.startWaiting(c.slow)
}

// take puts what was claimed for a lane into its queue.
func (c *dispatcher) take(g claimed) {
	l := g.queue
	if (g.err != nil) != l.broken {
		l.broken = g.err != nil
		c.log.cfg.Logger.Error("webhook secrets", "partner", l.stream.Partner, "environment", l.stream.Environment, "error", g.err)
	}
	for _, row := range g.rows {
		l.pending = append(l.pending, queued{row: row, to: g.to, until: g.until})
	}
	c.queued += len(g.rows)
	if g.more {
		c.requestClaim(l)
	}
	c.start(l)
}

// endAttempt takes in an attempt, and begins the next ones.
func (c *dispatcher) endAttempt(r result) {
	c.sending--
	r.pool.used--
	l := r.queue
	l.running--
	l.adapt(r.took)
	if l.slow {
		c.giveBack(l)
	}
	c.outcomes = append(c.outcomes, r.outcome)
	c.start(l)
	c.startWaiting(r.pool)
}

// database notes how the database does. After a failure it is left alone until the next tick.
func (c *dispatcher) database(err error) {
	switch {
	case err != nil:
		c.resting = true
		if !c.failing {
			c.log.cfg.Logger.Error("webhooks stand still", "error", err)
		}
	case c.failing:
		c.log.cfg.Logger.Info("webhooks go on")
	}
	c.failing = err != nil
}
