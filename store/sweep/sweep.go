// Package sweep removes expired rows in small batches, so that it does not block other transactions.
//
// Each business package has a retention [Rule] for each of its tables, and a [Sweeper] applies all rules once a minute, in one
// process on the database at a time.
package sweep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/namewharf/namewharf/store"
)

// Limits of the sweeper. Its transactions are short, since they block others, and followed by a longer pause.
const (
	Every     = time.Minute // between two passes
	leaseName = "sweep"

	firstBatch = 64 // rows
	leastBatch = 16
	mostBatch  = 256
	shortBatch = 2 * time.Millisecond // a batch that took less is followed by a larger one
	longBatch  = 4 * time.Millisecond // by a smaller one
	shortRest  = 10 * time.Millisecond
	restFactor = 10 // length of a rest, as a multiple of the batch before it
)

// Config configures [New].
type Config struct {
	DB       *store.DB
	Rules    []Rule
	Now      func() time.Time // nil: time.Now
	Logger   *slog.Logger     // nil: nothing is logged
	Observer Observer         // may be nil
}

// An Observer receives the results of a sweeper, from the goroutine of [Sweeper.Run].
type Observer interface {
	Removed(table string, rows int64)
	Overdue(table string, oldest time.Duration) // how long ago the oldest remaining row expired
	Swept(at time.Time)                         // the end of a pass
}

// A Sweeper applies rules.
type Sweeper struct{ cfg Config }

// New returns a sweeper. It panics on a rule that is not complete.
func New(cfg Config) *Sweeper {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Observer == nil {
		cfg.Observer = noObserver{}
	}
	for _, r := range cfg.Rules {
		if err := r.check(); err != nil {
			panic("sweep: " + err.Error())
		}
	}
	return &Sweeper{cfg}
}

type noObserver struct{}

func (noObserver) Removed(string, int64)         {}
func (noObserver) Overdue(string, time.Duration) {}
func (noObserver) Swept(time.Time)               {}

// Run makes passes until ctx ends, the first some seconds after the call. Of several processes on the database, one does so.
func (s *Sweeper) Run(ctx context.Context) {
	s.cfg.DB.Regularly(ctx, leaseName, Every, s.Pass, func(err error) {
		s.cfg.Logger.ErrorContext(ctx, "expired rows could not be removed", "error", err.Error())
	})
}

// Pass removes all rows that have expired now. Rules take turns, so that one with many rows does not delay the others; a
// failing rule does not prevent the others.
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

// batch removes some rows, rests if it removed any, and reports whether there may be more.
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
	more = removed >= int64(t.limit) || t.Plan != nil // a plan must run again to know
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

// observe reports the expired rows that are left.
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
			return fmt.Errorf("look for expired rows in table %s: %w", r.Table, err)
		}
		tables[r.Table] = max(tables[r.Table], overdue)
	}
	for table, overdue := range tables {
		s.cfg.Observer.Overdue(table, overdue)
	}
	s.cfg.Observer.Swept(s.cfg.Now())
	return nil
}
