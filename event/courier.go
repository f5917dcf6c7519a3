package event

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/namewharf/namewharf/store"
)

// How the courier works with the database.
const (
	lookEvery  = 250 * time.Millisecond // for what other processes appended, and what became due
	sweepEvery = time.Minute            // for endpoints to switch off
	claimLife  = 30 * time.Second       // deliveries of a process that died are taken over after this
	claimSlack = attemptTime + 5*time.Second
	claimLanes = 32   // lanes for which one transaction claims
	settleMost = 512  // outcomes that one transaction writes
	unsettled  = 4096 // outcomes that may wait to be written; with more, nothing is sent
	touchEvery = time.Minute
)

// Deliver is the courier: it sends what is due until ctx ends, finishes the attempts that are under way, and returns
// once their outcomes are written. What a failing database kept it from writing is an error then; those events are sent
// again. A process runs one courier a Log.
func (l *Log) Deliver(ctx context.Context) error {
	c := &courier{
		log: l, ctx: ctx, work: context.WithoutCancel(ctx),
		lanes: map[Stream]*lane{}, brisk: &pool{size: briskSize}, slow: &pool{size: slowSize},
		finished: make(chan result, 64), claimed: make(chan claims), settled: make(chan error), look: true,
	}
	defer l.client.CloseIdleConnections()
	return c.run()
}

// A courier is the state of [Log.Deliver]. One goroutine owns it; sending, claiming and settling are done in others,
// which report to it. At most one claims and one settles at a time, so that what comes up meanwhile shares the next
// transaction.
type courier struct {
	log  *Log
	ctx  context.Context // ends when no new work may begin
	work context.Context // of work that has begun

	lanes       map[Stream]*lane
	hungry      []*lane // lanes for which to claim
	brisk, slow *pool
	queued      int // deliveries claimed and not begun

	finished chan result
	claimed  chan claims
	settled  chan error
	sending  int
	claiming bool
	settling bool
	outcomes []outcome // to be written
	batch    []outcome // being written
	unsent   []unsent  // claims to give back
	returned []unsent  // being given back

	look    bool // ask the database which streams have something to send
	swept   time.Time
	failing bool // the database
	resting bool // leave it alone until the next tick
	wg      sync.WaitGroup
}

// A result is an attempt that ended.
type result struct {
	lane    *lane
	pool    *pool
	outcome outcome
	took    time.Duration
}

// unsent are claimed deliveries that were not sent.
type unsent struct {
	stream  Stream
	numbers []int64
}

// run is the courier's loop.
func (c *courier) run() error {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for c.ctx.Err() == nil {
		c.claim()
		c.settle()
		select {
		case <-c.ctx.Done():
		case <-ticker.C:
			c.look, c.resting = true, false
		case <-c.log.wake:
			for _, s := range c.log.takeWoken() {
				c.wants(c.lane(s))
			}
		case got := <-c.claimed:
			c.onClaimed(got)
		case r := <-c.finished:
			c.onFinished(r)
		case err := <-c.settled:
			c.onSettled(err)
		}
	}
	return c.stop()
}

// stop waits for what is under way and gives back what was not begun.
func (c *courier) stop() error {
	var err error
	c.resting = false
	for _, l := range c.lanes {
		c.giveBack(l)
	}
	for c.sending > 0 || c.claiming || c.settling || len(c.outcomes)+len(c.unsent) > 0 {
		if err == nil {
			c.settle()
		} else if c.sending == 0 && !c.claiming && !c.settling {
			break
		}
		select {
		case got := <-c.claimed:
			c.claiming = false
			for _, g := range got.lanes {
				c.unsent = append(c.unsent, g.unsent())
			}
		case r := <-c.finished:
			c.sending--
			c.outcomes = append(c.outcomes, r.outcome)
		case err = <-c.settled:
			c.onSettled(err)
		}
	}
	c.wg.Wait()
	if err != nil {
		return fmt.Errorf("write the outcomes of %d deliveries: %w", len(c.outcomes), err)
	}
	return nil
}

// claims is what a claiming transaction got.
type claims struct {
	lanes []claimedLane
	found []Stream // that have something to send, when it looked
	swept bool
	off   []Stream // that it switched off
	err   error
}

type claimedLane struct {
	lane  *lane
	asked int
	to    target
	rows  []deliveryRow
	until time.Time
	err   error // of its secrets; nothing is claimed then
}

func (g claimedLane) unsent() unsent {
	u := unsent{stream: g.lane.stream}
	for _, r := range g.rows {
		u.numbers = append(u.numbers, r.number)
	}
	return u
}

// claim starts a claiming transaction if there is something to ask for.
func (c *courier) claim() {
	if c.claiming || c.resting || len(c.outcomes) > unsettled {
		return
	}
	var asked []claimedLane
	later := c.hungry[:0]
	for _, l := range c.hungry {
		if n := c.appetite(l); len(asked) < claimLanes && n > 0 {
			l.hungry = false
			asked = append(asked, claimedLane{lane: l, asked: n})
			continue
		}
		later = append(later, l)
	}
	clear(c.hungry[len(later):])
	c.hungry = later
	look, now := c.look, c.log.cfg.Now()
	sweep := look && now.Sub(c.swept).Abs() >= sweepEvery
	if len(asked) == 0 && !look {
		return
	}
	c.claiming, c.look = true, false
	if sweep {
		c.swept = now
	}
	c.wg.Go(func() {
		var got claims
		if got.err = c.log.claimFor(c.work, asked); got.err == nil {
			got.lanes = asked
		}
		if look && got.err == nil {
			got.found, got.err = c.log.lookAround(c.work)
		}
		if sweep && got.err == nil {
			got.swept = true
			got.off, got.err = c.log.sweep(c.work)
		}
		c.claimed <- got
	})
}

func (c *courier) onClaimed(got claims) {
	c.claiming = false
	c.database(got.err)
	for _, g := range got.lanes {
		l := g.lane
		for _, r := range g.rows {
			l.queue = append(l.queue, queued{row: r, to: g.to, until: g.until})
		}
		c.queued += len(g.rows)
		if len(g.rows) == g.asked {
			c.wants(l) // there may be more
		}
		if (g.err != nil) != l.broken {
			l.broken = g.err != nil
			c.log.cfg.Logger.Error("webhook secret", "partner", l.stream.Partner, "environment", l.stream.Environment, "error", g.err)
		}
		c.start(l)
	}
	for _, s := range got.found {
		c.wants(c.lane(s))
	}
	for _, s := range got.off {
		c.tellOff(s)
	}
	if got.err != nil {
		c.look = true
	}
	if got.swept {
		c.forget()
	}
}

// onFinished takes in an attempt that ended, and begins the next ones.
func (c *courier) onFinished(r result) {
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

// settle starts a transaction that writes outcomes and gives claims back, if there are any.
func (c *courier) settle() {
	if c.settling || c.resting || len(c.outcomes)+len(c.unsent) == 0 {
		return
	}
	n := min(len(c.outcomes), settleMost)
	c.batch = append(c.batch[:0], c.outcomes[:n]...)
	c.outcomes = append(c.outcomes[:0], c.outcomes[n:]...)
	c.returned, c.unsent = c.unsent, nil
	c.settling = true
	touches := c.touches(c.batch)
	batch, returned := c.batch, c.returned
	c.wg.Go(func() {
		off, err := c.log.settleAll(c.work, batch, returned, touches)
		for _, s := range off {
			c.tellOff(s)
		}
		c.settled <- err
	})
}

func (c *courier) onSettled(err error) {
	c.settling = false
	c.database(err)
	if err != nil { // to be tried again
		c.outcomes = append(c.outcomes, c.batch...)
		c.unsent = append(c.unsent, c.returned...)
	}
	c.batch, c.returned = c.batch[:0], nil
	for _, p := range []*pool{c.brisk, c.slow} {
		c.startWaiting(p) // what waited because too many outcomes did
	}
}

// database notes how the database does. After a failure, claiming and settling rest until the next tick.
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

func (c *courier) tellOff(s Stream) {
	c.log.cfg.Logger.Info("webhook switched off, nothing was delivered for days", "partner", s.Partner, "environment", s.Environment)
}

// touch is what to note about an endpoint.
type touched struct{ success, failure time.Time }

// touches returns what to note about the endpoints of a batch: each failed delivery, and successes now and then.
func (c *courier) touches(batch []outcome) map[Stream]touched {
	now := c.log.cfg.Now()
	all := map[Stream]touched{}
	for _, o := range batch {
		t := all[o.stream]
		switch l := c.lanes[o.stream]; {
		case o.status == Failed:
			t.failure = now
		case o.status == Delivered && (l == nil || now.Sub(l.touched).Abs() >= touchEvery):
			t.success = now
			if l != nil {
				l.touched = now
			}
		default:
			continue
		}
		all[o.stream] = t
	}
	return all
}

// claimFor claims for each of the lanes as much as it asks for.
func (l *Log) claimFor(ctx context.Context, lanes []claimedLane) error {
	if len(lanes) == 0 {
		return nil
	}
	return l.cfg.DB.Tx(ctx, func(tx store.Tx) error {
		now := l.cfg.Now()
		for i := range lanes {
			if err := l.claimOne(ctx, tx, &lanes[i], now); err != nil {
				return fmt.Errorf("claim deliveries: %w", err)
			}
		}
		return nil
	})
}

func (l *Log) claimOne(ctx context.Context, tx store.Tx, g *claimedLane, now time.Time) error {
	g.rows, g.err, g.until = nil, nil, now.Add(claimLife)
	row, found, err := endpointOf(ctx, tx, g.lane.stream)
	if err != nil || !found || !row.active {
		return err
	}
	if g.to, g.err = l.target(g.lane.stream, row); g.err != nil {
		return nil // of this endpoint alone
	}
	if g.rows, err = dueDeliveries(ctx, tx, l.cfg.DB.Engine(), g.lane.stream, now, g.asked); err != nil {
		return err
	}
	return claim(ctx, tx, g.lane.stream, g.unsent().numbers, g.until)
}

// target opens the secrets of an endpoint.
func (l *Log) target(s Stream, row endpointRow) (target, error) {
	to := target{url: row.url, previousUntil: row.previousUntil, advanced: row.advanced}
	secret, err := l.cfg.Secrets.Open(row.secret, s.sealContext())
	if err != nil {
		return target{}, fmt.Errorf("open a secret: %w", err)
	}
	to.secret = string(secret)
	if len(row.previous) > 0 && l.cfg.Now().Before(row.previousUntil) {
		previous, err := l.cfg.Secrets.Open(row.previous, s.sealContext())
		if err != nil {
			return target{}, fmt.Errorf("open a secret: %w", err)
		}
		to.previous = string(previous)
	}
	return to, nil
}

// lookAround finds the streams that have something to send.
func (l *Log) lookAround(ctx context.Context) (found []Stream, err error) {
	err = l.cfg.DB.Read(ctx, func(tx store.Tx) error {
		found, err = waiting(ctx, tx, l.cfg.Now())
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for deliveries: %w", err)
	}
	return found, nil
}

// sweep switches off the endpoints at which nothing has succeeded for long, and returns their streams.
func (l *Log) sweep(ctx context.Context) (off []Stream, err error) {
	var all []Stream
	err = l.cfg.DB.Read(ctx, func(tx store.Tx) error {
		all, err = hopeless(ctx, tx, l.cfg.Now())
		return err
	})
	if err == nil && len(all) > 0 {
		err = l.cfg.DB.Tx(ctx, func(tx store.Tx) error {
			off, err = l.switchOffAll(ctx, tx, all)
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("switch webhooks off: %w", err)
	}
	return off, nil
}

// switchOffAll switches off those of the streams for which it is time, and returns them.
func (l *Log) switchOffAll(ctx context.Context, tx store.Tx, all []Stream) (off []Stream, err error) {
	for _, s := range all {
		done, err := switchOff(ctx, tx, s, l.cfg.Now())
		if err != nil {
			return nil, err
		}
		if done {
			off = append(off, s)
		}
	}
	return off, nil
}

// settleAll writes the outcomes of attempts, gives claims back, notes what there is to note about endpoints, and returns
// the streams that were switched off.
func (l *Log) settleAll(ctx context.Context, batch []outcome, back []unsent, touches map[Stream]touched) (off []Stream, err error) {
	err = l.cfg.DB.Tx(ctx, func(tx store.Tx) error {
		if err := settle(ctx, tx, batch); err != nil {
			return err
		}
		for _, u := range back {
			if err := claim(ctx, tx, u.stream, u.numbers, time.Time{}); err != nil {
				return err
			}
		}
		var failed []Stream
		for s, t := range touches {
			if err := touch(ctx, tx, s, t.success, t.failure); err != nil {
				return err
			}
			if !t.failure.IsZero() {
				failed = append(failed, s)
			}
		}
		off, err = l.switchOffAll(ctx, tx, failed)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("write outcomes of deliveries: %w", err)
	}
	return off, nil
}
