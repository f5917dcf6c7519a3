package event

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/namewharf/namewharf/store"
)

// A round is what a courier does with the database in one go. Claims are read first, on a snapshot that is in nobody's
// way, and then written for those deliveries that no other process took meanwhile, in one transaction with all that the
// dispatcher has to write.
type batch struct {
	log *Log
	now time.Time

	outcomes []outcome // to write
	unsent   []unsent
	touches  map[Stream]touched
	claims   []claimed // to claim for
	poll     bool      // for streams that have something to send
	sweep    bool      // for endpoints to switch off

	found []Stream // that have something to send
	idle  []Stream // that are to be switched off
	off   []Stream // that were
	err   error
}

// unsent are claimed deliveries that were not sent.
type unsent struct {
	stream  Stream
	numbers []int64
}

// touched is what to note at an endpoint; a zero time is nothing.
type touched struct{ success, failure time.Time }

// claimed is what a round claims for a lane.
type claimed struct {
	queue *endpointQueue
	asked int
	to    target
	rows  []deliveryRow
	until time.Time
	more  bool  // there may be more to claim
	err   error // of opening the secrets; nothing is claimed then
}

// do reads and writes.
func (r *batch) do(ctx context.Context) error {
	// In this order, processes that claim at once wait for one another and not in a circle.
	slices.SortFunc(r.claims, func(a, b claimed) int { return a.queue.stream.compare(b.queue.stream) })
	slices.SortFunc(r.outcomes, func(a, b outcome) int {
		return cmp.Or(a.stream.compare(b.stream), cmp.Compare(a.number, b.number))
	})
	if r.poll || len(r.claims) > 0 {
		if err := r.log.cfg.DB.Read(ctx, func(tx store.Tx) error { return r.read(ctx, tx) }); err != nil {
			return fmt.Errorf("read deliveries: %w", err)
		}
	}
	if !r.writes() {
		return nil
	}
	candidates := make([][]deliveryRow, len(r.claims))
	for i, g := range r.claims {
		candidates[i] = g.rows
	}
	err := r.log.cfg.DB.Tx(ctx, func(tx store.Tx) error {
		r.off = nil
		if err := r.settle(ctx, tx); err != nil {
			return err
		}
		for i := range r.claims {
			if err := r.claim(ctx, tx, &r.claims[i], candidates[i]); err != nil {
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

// read finds what to claim and, if that is wanted, what else there is to do.
func (r *batch) read(ctx context.Context, tx store.Tx) (err error) {
	for i := range r.claims {
		if err := r.candidates(ctx, tx, &r.claims[i]); err != nil {
			return err
		}
	}
	if r.poll {
		if r.found, err = waiting(ctx, tx, r.now); err != nil {
			return err
		}
	}
	if r.sweep {
		r.idle, err = dueToDisable(ctx, tx, r.now)
	}
	return err
}

// candidates reads what is due of a lane, and where it goes.
func (r *batch) candidates(ctx context.Context, tx store.Tx, g *claimed) error {
	row, found, err := endpointOf(ctx, tx, g.queue.stream)
	if err != nil || !found || !row.active {
		return err
	}
	if g.to, g.err = r.log.target(g.queue.stream, row, r.now); g.err != nil {
		return nil // of this endpoint alone
	}
	g.rows, err = dueDeliveries(ctx, tx, g.queue.stream, r.now, g.asked)
	g.more = len(g.rows) == g.asked
	return err
}

// target is the endpoint with its secrets opened.
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

func (r *batch) writes() bool {
	return len(r.outcomes)+len(r.unsent)+len(r.idle) > 0 ||
		slices.ContainsFunc(r.claims, func(g claimed) bool { return len(g.rows) > 0 })
}

// settle writes what came of attempts, gives claims back, and switches endpoints off.
func (r *batch) settle(ctx context.Context, tx store.Tx) error {
	if err := settle(ctx, tx, r.outcomes); err != nil {
		return err
	}
	for _, u := range r.unsent {
		if err := unclaim(ctx, tx, u.stream, u.numbers); err != nil {
			return err
		}
	}
	off := slices.Clone(r.idle)
	for s, t := range r.touches {
		if err := touch(ctx, tx, s, t.success, t.failure); err != nil {
			return err
		}
		if !t.failure.IsZero() {
			off = append(off, s)
		}
	}
	for _, s := range off {
		done, err := switchOff(ctx, tx, s, r.now)
		if err != nil {
			return err
		}
		if done {
			r.off = append(r.off, s)
		}
	}
	return nil
}

// claim marks the candidates as being worked on, and keeps those that nobody else took.
func (r *batch) claim(ctx context.Context, tx store.Tx, g *claimed, candidates []deliveryRow) error {
	numbers := make([]int64, len(candidates))
	for i, row := range candidates {
		numbers[i] = row.number
	}
	slices.Sort(numbers)
	g.until = r.now.Add(claimLife)
	got, err := claim(ctx, tx, g.queue.stream, numbers, r.now, g.until)
	if err != nil {
		return err
	}
	g.rows = slices.DeleteFunc(slices.Clone(candidates), func(row deliveryRow) bool { return !got[row.number] })
	return nil
}
