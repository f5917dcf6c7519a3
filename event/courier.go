package event

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// How the courier goes about its work.
const (
	lookEvery  = 250 * time.Millisecond // for what other processes appended, and what became due
	sweepEvery = time.Minute            // for endpoints to switch off
	touchEvery = time.Minute            // how often a success is noted at the endpoint
	claimLife  = 30 * time.Second       // deliveries of a process that died are taken over after this
	claimSlack = 2 * attemptTime        // an attempt begins only with this much of the claim left
	roundLanes = 16                     // lanes for which one round claims
	roundSlow  = 4                      // slow ones among them, and lanes whose claims it gives back
	roundMost  = 128                    // outcomes that one round writes
	unsettled  = 4096                   // outcomes that may wait to be written; with more, nothing is sent
)

// Deliver is the courier: it sends what is due until ctx ends, then finishes the attempts that are under way, and
// returns once their outcomes are written. It fails with what kept it from writing them; those events are sent again. A
// process runs one courier a Log.
func (l *Log) Deliver(ctx context.Context) error {
	c := &courier{
		log: l, ctx: ctx, work: context.WithoutCancel(ctx), look: true,
		lanes: map[Stream]*lane{}, brisk: &pool{size: briskSize}, slow: &pool{size: slowSize},
		finished: make(chan result, 64), rounds: make(chan *round),
	}
	defer l.out.Close()
	return c.run()
}

// A courier is the state of [Log.Deliver]. One goroutine owns it. Others send, and one at a time does a [round] with the
// database: whatever comes up meanwhile shares the next one.
type courier struct {
	log  *Log
	ctx  context.Context // ends when nothing more may begin
	work context.Context // of what has begun

	lanes       map[Stream]*lane
	hungry      []*lane // lanes for which to claim
	brisk, slow *pool
	queued      int // deliveries claimed and not begun
	sending     int
	finished    chan result

	outcomes []outcome // to be written
	unsent   []unsent  // claims to give back
	look     bool      // for streams that have something to send
	swept    time.Time
	inRound  bool
	rounds   chan *round // that are over
	failing  bool        // the database
	resting  bool        // it is left alone until the next tick

	wg sync.WaitGroup
}

// A result is an attempt that ended.
type result struct {
	lane    *lane
	pool    *pool
	outcome outcome
	took    time.Duration
}

// run is the courier's loop.
func (c *courier) run() error {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for c.ctx.Err() == nil {
		c.startRound()
		select {
		case <-c.ctx.Done():
		case <-ticker.C:
			c.look, c.resting = true, false
		case <-c.log.wake:
			for _, s := range c.log.takeWoken() {
				c.wants(c.lane(s))
			}
		case r := <-c.rounds:
			c.endRound(r)
		case r := <-c.finished:
			c.endAttempt(r)
		}
	}
	return c.stop()
}

// stop waits for what is under way, writes what came of it, and gives back what was not begun.
func (c *courier) stop() error {
	var err error
	c.hungry, c.look, c.resting = nil, false, false
	for _, l := range c.lanes {
		c.giveBack(l)
	}
	for {
		c.hungry = nil
		if err == nil {
			c.startRound()
		}
		if c.sending == 0 && !c.inRound {
			break
		}
		select {
		case r := <-c.rounds:
			c.endRound(r)
			err = r.err
			for _, g := range r.lanes {
				c.giveBack(g.lane)
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

// startRound begins a round with the database, if there is something to do there and none is under way.
func (c *courier) startRound() {
	if c.inRound || c.resting {
		return
	}
	r := &round{log: c.log, look: c.look, now: c.log.cfg.Now()}
	r.sweep = r.look && r.now.Sub(c.swept).Abs() >= sweepEvery
	r.lanes = c.takeHungry()
	n := min(len(c.outcomes), roundMost)
	r.outcomes = c.outcomes[:n:n]
	c.outcomes = append([]outcome(nil), c.outcomes[n:]...)
	n = min(len(c.unsent), roundSlow)
	r.unsent = c.unsent[:n:n]
	c.unsent = append([]unsent(nil), c.unsent[n:]...)
	if len(r.lanes)+len(r.outcomes)+len(r.unsent) == 0 && !r.look {
		return
	}
	r.touches = c.touches(r.outcomes, r.now)
	c.inRound, c.look = true, false
	c.wg.Go(func() {
		r.err = r.do(c.work)
		c.rounds <- r
	})
}

// takeHungry takes the lanes for which to claim now: few slow ones, so that a round is short for the others.
func (c *courier) takeHungry() []claimed {
	var asked []claimed
	later, slow := c.hungry[:0], 0
	for _, l := range c.hungry {
		n := c.appetite(l)
		if n <= 0 || len(asked) == roundLanes || l.slow && slow == roundSlow || len(c.outcomes) > unsettled {
			later = append(later, l)
			continue
		}
		if l.slow {
			slow++
		}
		l.hungry = false
		asked = append(asked, claimed{lane: l, asked: n})
	}
	clear(c.hungry[len(later):])
	c.hungry = later
	return asked
}

// touches is what to note at the endpoints of a batch: every delivery that was given up, and successes now and then.
func (c *courier) touches(batch []outcome, now time.Time) map[Stream]touched {
	all := map[Stream]touched{}
	for _, o := range batch {
		t, l := all[o.stream], c.lane(o.stream)
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

// endRound takes in what a round claimed and found out.
func (c *courier) endRound(r *round) {
	c.inRound = false
	c.database(r.err)
	if r.err != nil { // what it was to write is written later, what it was to claim is found again
		c.outcomes = append(c.outcomes, r.outcomes...)
		c.unsent = append(c.unsent, r.unsent...)
		c.look = true
		return
	}
	for _, g := range r.lanes {
		c.take(g)
	}
	for _, s := range r.found {
		c.wants(c.lane(s))
	}
	if r.sweep {
		c.swept = r.now
		c.forget()
	}
	for _, s := range r.off {
		c.log.cfg.Logger.Info("webhook switched off: nothing was delivered for days", "partner", s.Partner, "environment", s.Environment)
	}
	c.startWaiting(c.brisk) // what waited because too many outcomes did
	c.startWaiting(c.slow)
}

// take puts what was claimed for a lane into its queue.
func (c *courier) take(g claimed) {
	l := g.lane
	if (g.err != nil) != l.broken {
		l.broken = g.err != nil
		c.log.cfg.Logger.Error("webhook secrets", "partner", l.stream.Partner, "environment", l.stream.Environment, "error", g.err)
	}
	for _, row := range g.rows {
		l.queue = append(l.queue, queued{row: row, to: g.to, until: g.until})
	}
	c.queued += len(g.rows)
	if g.more {
		c.wants(l)
	}
	c.start(l)
}

// endAttempt takes in an attempt, and begins the next ones.
func (c *courier) endAttempt(r result) {
	c.sending--
	r.pool.used--
	l := r.lane
	l.running--
	l.learn(r.took)
	if l.slow {
		c.giveBack(l)
	}
	c.outcomes = append(c.outcomes, r.outcome)
	c.start(l)
	c.startWaiting(r.pool)
}

// database notes how the database does. After a failure it is left alone until the next tick.
func (c *courier) database(err error) {
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
