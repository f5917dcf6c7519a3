package event

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/namewharf/namewharf/store"
)

// A batch is work of the dispatcher that shares one read and one transaction. It reads the deliveries to claim on a snapshot,
// which takes no locks. In one transaction it then claims those that no other process has claimed meanwhile, and writes the
// outcomes.
type batch struct {
	log *Log
	now time.Time

	outcomes []outcome // to write
	unsent   []unsent
	touches  map[Stream]touched
	claims   []claimed
	poll     bool // whether to look for streams with deliveries due
	sweep    bool // whether to look for endpoints to disable

	found []Stream // with deliveries due
	idle  []Stream // with endpoints to disable
	off   []Stream // with endpoints that were disabled
	err   error
}

// unsent are claims to release.
type unsent struct {
	stream  Stream
	numbers []int64
}

// touched is when deliveries to an endpoint last succeeded and failed; zero: no change.
type touched struct{ success, failure time.Time }

// claimed is what a batch claims for an endpoint queue.
type claimed struct {
	queue *endpointQueue
	asked int // most deliveries to claim
	to    target
	rows  []deliveryRow
	until time.Time
	more  bool  // there may be more to claim
	err   error // of decrypting the secrets; then nothing is claimed
}

// do runs the batch.
func (b *batch) do(ctx context.Context) error {
	// All processes lock rows in this order, so that they cannot deadlock.
	slices.SortFunc(b.claims, func(a, b claimed) int { return a.queue.stream.compare(b.queue.stream) })
	slices.SortFunc(b.outcomes, func(a, b outcome) int {
		return cmp.Or(a.stream.compare(b.stream), cmp.Compare(a.number, b.number))
	})
	if b.poll || len(b.claims) > 0 {
		if err := b.log.cfg.DB.Read(ctx, func(tx store.Tx) error { return b.read(ctx, tx) }); err != nil {
			return fmt.Errorf("read deliveries: %w", err)
		}
	}
	if !b.writes() {
		return nil
	}
	candidates := make([][]deliveryRow, len(b.claims))
	for i, c := range b.claims {
		candidates[i] = c.rows
	}
	err := b.log.cfg.DB.Tx(ctx, func(tx store.Tx) error {
		b.off = nil
		if err := b.settle(ctx, tx); err != nil {
			return err
		}
		for i := range b.claims {
			if err := b.claim(ctx, tx, &b.claims[i], candidates[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("write deliveries: %w", err)
	}
	return nil
}

func (s Stream) compare(t Stream) int {
	return cmp.Or(cmp.Compare(s.Partner, t.Partner), cmp.Compare(s.Environment, t.Environment))
}

// read finds the deliveries to claim and, if wanted, the streams with deliveries due and the endpoints to disable.
func (b *batch) read(ctx context.Context, tx store.Tx) (err error) {
	for i := range b.claims {
		if err := b.candidates(ctx, tx, &b.claims[i]); err != nil {
			return err
		}
	}
	if b.poll {
		if b.found, err = dueStreams(ctx, tx, b.now); err != nil {
			return err
		}
	}
	if b.sweep {
		b.idle, err = dueToDisable(ctx, tx, b.now)
	}
	return err
}

// candidates reads the due deliveries of an endpoint queue, and their target.
func (b *batch) candidates(ctx context.Context, tx store.Tx, c *claimed) error {
	row, found, err := endpointOf(ctx, tx, c.queue.stream)
	if err != nil || !found || !row.active {
		return err
	}
	if c.to, c.err = b.log.target(c.queue.stream, row, b.now); c.err != nil {
		return nil // does not affect other endpoints
	}
	c.rows, err = dueDeliveries(ctx, tx, c.queue.stream, b.now, c.asked)
	c.more = len(c.rows) == c.asked
	return err
}

// target returns the endpoint with its secrets decrypted.
func (l *Log) target(s Stream, row endpointRow, now time.Time) (target, error) {
	to := target{url: row.url, previousUntil: row.previousUntil, advanced: row.advanced}
	secret, err := l.cfg.Secrets.Open(row.secret, s.sealContext())
	if err != nil {
		return target{}, fmt.Errorf("open a secret: %w", err)
	}
	to.secret = string(secret)
	if len(row.previous) == 0 || !now.Before(row.previousUntil) {
		return to, nil
	}
	previous, err := l.cfg.Secrets.Open(row.previous, s.sealContext())
	if err != nil {
		return target{}, fmt.Errorf("open a replaced secret: %w", err)
	}
	to.previous = string(previous)
	return to, nil
}

func (b *batch) writes() bool {
	return len(b.outcomes)+len(b.unsent)+len(b.idle) > 0 ||
		slices.ContainsFunc(b.claims, func(c claimed) bool { return len(c.rows) > 0 })
}

// settle writes the outcomes of attempts, releases claims, and disables endpoints.
func (b *batch) settle(ctx context.Context, tx store.Tx) error {
	if err := settle(ctx, tx, b.outcomes); err != nil {
		return err
	}
	for _, u := range b.unsent {
		if err := unclaim(ctx, tx, u.stream, u.numbers); err != nil {
			return err
		}
	}
	off := slices.Clone(b.idle)
	for s, t := range b.touches {
		if err := touch(ctx, tx, s, t.success, t.failure); err != nil {
			return err
		}
		if !t.failure.IsZero() {
			off = append(off, s)
		}
	}
	for _, s := range off {
		done, err := disable(ctx, tx, s, b.now)
		if err != nil {
			return err
		}
		if done {
			b.off = append(b.off, s)
		}
	}
	return nil
}

// claim claims the candidates, except those that another process has claimed.
func (b *batch) claim(ctx context.Context, tx store.Tx, c *claimed, candidates []deliveryRow) error {
	numbers := make([]int64, len(candidates))
	for i, row := range candidates {
		numbers[i] = row.number
	}
	slices.Sort(numbers)
	c.until = b.now.Add(claimLife)
	got, err := claim(ctx, tx, c.queue.stream, numbers, b.now, c.until)
	if err != nil {
		return err
	}
	c.rows = slices.DeleteFunc(slices.Clone(candidates), func(row deliveryRow) bool { return !got[row.number] })
	return nil
}
