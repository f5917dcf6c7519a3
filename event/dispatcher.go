package event

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Periods and limits of the dispatcher.
const (
	pollEvery     = 250 * time.Millisecond // for events of other processes, and retries
	sweepEvery    = time.Minute            // for endpoints to disable
	touchEvery    = time.Minute            // how often at most a success is stored at the endpoint
	claimLife     = 30 * time.Second       // after which other processes take over the deliveries of a process that died
	claimSlack    = 2 * attemptTime        // an attempt begins only with this much of the claim left
	batchQueues   = 16                     // endpoint queues for which one batch claims
	batchSlow     = 4                      // slow ones among them, and queues whose claims it releases
	batchOutcomes = 128                    // outcomes that one batch writes
	unsettled     = 4096                   // outcomes that may wait to be written; over it, nothing is sent
)

// Deliver runs the dispatcher. It sends due deliveries until ctx ends, then waits for running attempts, writes their outcomes
// and returns. It fails if some outcomes could not be written; those events are sent again. A process runs one dispatcher
// for each Log.
func (l *Log) Deliver(ctx context.Context) error {
	d := &dispatcher{
		log: l, ctx: ctx, work: context.WithoutCancel(ctx), poll: true,
		queues: map[Stream]*endpointQueue{}, fast: &pool{size: fastPool}, slow: &pool{size: slowPool},
		finished: make(chan result, 64), batches: make(chan *batch),
	}
	defer l.out.Close()
	return d.run()
}

// A dispatcher is the state of [Log.Deliver], which one goroutine owns. Other goroutines send, and one at a time runs a
// [batch]; work that arrives meanwhile goes into the next batch.
type dispatcher struct {
	log  *Log
	ctx  context.Context // after its end nothing more begins
	work context.Context // of batches and attempts

	queues     map[Stream]*endpointQueue
	needClaim  []*endpointQueue // queues to claim for
	fast, slow *pool
	queued     int // claimed deliveries that wait for their attempt
	sending    int
	finished   chan result

	outcomes []outcome // to be written
	unsent   []unsent  // claims to release
	poll     bool      // the next batch finds streams with deliveries due
	swept    time.Time
	inBatch  bool
	batches  chan *batch // ended batches
	failing  bool        // the database fails
	paused   bool        // no batch begins until the next tick

	wg sync.WaitGroup
}

// A result is an attempt that ended.
type result struct {
	queue   *endpointQueue
	pool    *pool
	outcome outcome
	took    time.Duration
}

// run is the loop of the dispatcher.
func (d *dispatcher) run() error {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for d.ctx.Err() == nil {
		d.startBatch()
		select {
		case <-d.ctx.Done():
		case <-ticker.C:
			d.poll, d.paused = true, false
		case <-d.log.wake:
			for _, s := range d.log.takeWoken() {
				d.requestClaim(d.queueOf(s))
			}
		case b := <-d.batches:
			d.endBatch(b)
		case r := <-d.finished:
			d.endAttempt(r)
		}
	}
	return d.stop()
}

// stop waits for running attempts, writes their outcomes, and releases the other claims.
func (d *dispatcher) stop() error {
	var err error
	d.needClaim, d.poll, d.paused = nil, false, false
	for _, q := range d.queues {
		d.releaseClaims(q)
	}
	for {
		d.needClaim = nil
		if err == nil {
			d.startBatch()
		}
		if d.sending == 0 && !d.inBatch {
			break
		}
		select {
		case b := <-d.batches:
			d.endBatch(b)
			err = b.err
			for _, c := range b.claims {
				d.releaseClaims(c.queue)
			}
		case r := <-d.finished:
			d.sending--
			d.outcomes = append(d.outcomes, r.outcome)
		}
	}
	d.wg.Wait()
	if err != nil {
		return fmt.Errorf("the outcomes of %d attempts are not written: %w", len(d.outcomes), err)
	}
	return nil
}

// startBatch begins a batch, if there is work for one and none is running.
func (d *dispatcher) startBatch() {
	if d.inBatch || d.paused {
		return
	}
	b := &batch{log: d.log, poll: d.poll, now: d.log.cfg.Now()}
	b.sweep = b.poll && b.now.Sub(d.swept).Abs() >= sweepEvery
	b.claims = d.takeNeedingClaim()
	n := min(len(d.outcomes), batchOutcomes)
	b.outcomes = d.outcomes[:n:n]
	d.outcomes = append([]outcome(nil), d.outcomes[n:]...)
	n = min(len(d.unsent), batchSlow)
	b.unsent = d.unsent[:n:n]
	d.unsent = append([]unsent(nil), d.unsent[n:]...)
	if len(b.claims)+len(b.outcomes)+len(b.unsent) == 0 && !b.poll {
		return
	}
	b.touches = d.touches(b.outcomes, b.now)
	d.inBatch, d.poll = true, false
	d.wg.Go(func() {
		b.err = b.do(d.work)
		d.batches <- b
	})
}

// takeNeedingClaim takes the queues to claim for now. Few of them are slow, so that they do not delay the others.
func (d *dispatcher) takeNeedingClaim() []claimed {
	var asked []claimed
	later, slow := d.needClaim[:0], 0
	for _, q := range d.needClaim {
		n := d.claimSize(q)
		if n <= 0 || len(asked) == batchQueues || q.slow && slow == batchSlow || len(d.outcomes) > unsettled {
			later = append(later, q)
			continue
		}
		if q.slow {
			slow++
		}
		q.needsClaim = false
		asked = append(asked, claimed{queue: q, asked: n})
	}
	clear(d.needClaim[len(later):])
	d.needClaim = later
	return asked
}

// touches returns what to store at the endpoints: each delivery that failed finally, and one success in each [touchEvery].
func (d *dispatcher) touches(outcomes []outcome, now time.Time) map[Stream]touched {
	all := map[Stream]touched{}
	for _, o := range outcomes {
		t, q := all[o.stream], d.queueOf(o.stream)
		switch {
		case o.status == Failed:
			t.failure = now
		case o.status == Delivered && now.Sub(q.touched).Abs() >= touchEvery:
			t.success, q.touched = now, now
		default:
			continue
		}
		all[o.stream] = t
	}
	return all
}

// endBatch handles the results of a batch.
func (d *dispatcher) endBatch(b *batch) {
	d.inBatch = false
	d.recordDatabaseError(b.err)
	if b.err != nil { // a later batch writes the outcomes, and finds the deliveries again
		d.outcomes = append(d.outcomes, b.outcomes...)
		d.unsent = append(d.unsent, b.unsent...)
		d.poll = true
		return
	}
	for _, c := range b.claims {
		d.enqueue(c)
	}
	for _, s := range b.found {
		d.requestClaim(d.queueOf(s))
	}
	if b.sweep {
		d.swept = b.now
		d.dropIdleQueues()
	}
	for _, s := range b.off {
		d.log.cfg.Logger.Info("webhook disabled: nothing was delivered for days", "partner", s.Partner, "environment", s.Environment)
	}
	d.startWaiting(d.fast) // queues that waited because of too many unwritten outcomes
	d.startWaiting(d.slow)
}

// enqueue appends claimed deliveries to their endpoint queue.
func (d *dispatcher) enqueue(c claimed) {
	q := c.queue
	if (c.err != nil) != q.broken {
		q.broken = c.err != nil
		d.log.cfg.Logger.Error("webhook secrets", "partner", q.stream.Partner, "environment", q.stream.Environment, "error", c.err)
	}
	for _, row := range c.rows {
		q.pending = append(q.pending, queued{row: row, to: c.to, until: c.until})
	}
	d.queued += len(c.rows)
	if c.more {
		d.requestClaim(q)
	}
	d.start(q)
}

// endAttempt handles the outcome of an attempt, and begins the next ones.
func (d *dispatcher) endAttempt(r result) {
	d.sending--
	r.pool.used--
	q := r.queue
	q.running--
	q.adapt(r.took)
	if q.slow {
		d.releaseClaims(q)
	}
	d.outcomes = append(d.outcomes, r.outcome)
	d.start(q)
	d.startWaiting(r.pool)
}

// recordDatabaseError logs when the database begins to fail and when it recovers. After a failure no batch begins until the next
// tick.
func (d *dispatcher) recordDatabaseError(err error) {
	switch {
	case err != nil:
		d.paused = true
		if !d.failing {
			d.log.cfg.Logger.Error("webhook delivery is interrupted: the database fails", "error", err)
		}
	case d.failing:
		d.log.cfg.Logger.Info("webhook delivery works again")
	}
	d.failing = err != nil
}
