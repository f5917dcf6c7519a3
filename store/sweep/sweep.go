// Package sweep removes rows whose time is over, a few at a time, so that nobody waits for it.
//
// Each business package says by a [Rule] how long the rows of its tables live, and a [Sweeper] that knows no table's
// meaning applies the rules of all: in one process on the database at a time, once a minute.
package sweep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/namewharf/namewharf/store"
)

// How the sweeper goes about its work. A transaction holds up those that wait for it, so it is short, and followed by a
// pause that is some times longer.
const (
	Every     = time.Minute // between two passes
	leaseName = "sweep"

	firstBatch = 64 // rows
	leastBatch = 16
	mostBatch  = 256
	shortBatch = 2 * time.Millisecond // a batch that took less is followed by a larger one
	longBatch  = 4 * time.Millisecond // by a smaller one
	shortRest  = 10 * time.Millisecond
	restFactor = 10 // rests are so many times as long as the batches before them
)

// Config is what a [Sweeper] stands on.
type Config struct {
	DB       *store.DB
	Rules    []Rule
	Now      func() time.Time // nil: time.Now
	Logger   *slog.Logger     // nil: nothing is logged
	Observer Observer         // nil: nobody
}

// An Observer is told what a sweeper does, from the goroutine of [Sweeper.Run].
type Observer interface {
	Removed(table string, rows int64)
	Overdue(table string, oldest time.Duration) // how long the oldest row that is left has been over
	Swept(at time.Time)                         // a pass has ended
}

// A Sweeper applies rules.
type Sweeper struct{ cfg Config }

// New returns a sweeper. It panics on a rule that is not complete, which is a mistake in a definition.
func New(cfg Config) *Sweeper {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Observer == nil {
		cfg.Observer = nobody{}
	}
	for _, r := range cfg.Rules {
		if err := r.check(); err != nil {
			panic("sweep: " + err.Error())
		}
	}
	return &Sweeper{cfg}
}

type nobody struct{}

func (nobody) Removed(string, int64)         {}
func (nobody) Overdue(string, time.Duration) {}
func (nobody) Swept(time.Time)               {}

// Run makes passes until ctx ends, the first some seconds after the call. Of several processes on the database one does.
func (s *Sweeper) Run(ctx context.Context) {
	s.cfg.DB.Regularly(ctx, leaseName, Every, s.Pass, func(err error) {
		s.cfg.Logger.ErrorContext(ctx, "rows whose time is over could not be removed", "error", err.Error())
	})
}

// Pass removes all that is over now. Rules take turns, so that one with much to remove does not hold up the others; what
// one fails with does not keep the others from being applied.
func (s *Sweeper) Pass(ctx context.Context) error {
	var failed error
	turns := make([]*turn, 0, len(s.cfg.Rules))
	for _, r := range s.cfg.Rules {
		if r.swept() {
			turns = append(turns, &turn{Rule: r, limit: firstBatch})
		}
	}
	for len(turns) > 0 {
		left := turns[:0]
		for _, t := range turns {
			more, err := s.batch(ctx, t)
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case err != nil:
				failed = errors.Join(failed, fmt.Errorf("sweep table %s: %w", t.Table, err))
			case more:
				left = append(left, t)
			}
		}
		turns = left
	}
	if err := s.observe(ctx); err != nil {
		failed = errors.Join(failed, err)
	}
	return failed
}

// A turn is a rule within a pass.
type turn struct {
	Rule
	limit int // of the next batch
}

// batch removes some rows, and reports whether there may be more. After it removed any it rests.
func (s *Sweeper) batch(ctx context.Context, t *turn) (more bool, err error) {
	var remove Removal
	err = s.cfg.DB.Read(ctx, func(tx store.Tx) (err error) {
		remove, err = t.plan(ctx, tx, s.cfg.Now(), t.limit)
		return err
	})
	if err != nil || remove == nil {
		return false, err
	}
	var removed int64
	var took time.Duration
	began := time.Now()
	err = s.cfg.DB.Tx(ctx, func(tx store.Tx) (err error) {
		begun := time.Now()
		removed, err = remove(ctx, tx)
		took = time.Since(begun)
		return err
	})
	if err != nil || removed == 0 {
		return false, err
	}
	s.cfg.Observer.Removed(t.Table, removed)
	more = removed >= int64(t.limit) || t.Plan != nil // which looks again
	switch {
	case took < shortBatch:
		t.limit = min(2*t.limit, mostBatch)
	case took > longBatch:
		t.limit = max(t.limit/2, leastBatch)
	}
	select {
	case <-ctx.Done():
	case <-time.After(max(shortRest, restFactor*time.Since(began))):
	}
	return more, nil
}

// observe tells what is left.
func (s *Sweeper) observe(ctx context.Context) error {
	tables := map[string]time.Duration{}
	for _, r := range s.cfg.Rules {
		if !r.swept() {
			continue
		}
		var overdue time.Duration
		err := s.cfg.DB.Read(ctx, func(tx store.Tx) (err error) {
			overdue, err = r.overdue(ctx, tx, s.cfg.Now())
			return err
		})
		if err != nil {
			return fmt.Errorf("look for what is over in table %s: %w", r.Table, err)
		}
		tables[r.Table] = max(tables[r.Table], overdue)
	}
	for table, overdue := range tables {
		s.cfg.Observer.Overdue(table, overdue)
	}
	s.cfg.Observer.Swept(s.cfg.Now())
	return nil
}
