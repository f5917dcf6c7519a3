package market

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/namewharf/namewharf/market/index"
	"github.com/namewharf/namewharf/store"
)

// load makes the index of an environment from one snapshot of the database.
func (m *Market) load(ctx context.Context, i int, env Environment) error {
	return m.db.Read(ctx, func(tx store.Tx) error {
		change, n, err := changesOf(ctx, tx, env)
		if err != nil {
			return err
		}
		x := index.New(m.lex, n)
		if err := fill(x, func(add func(index.Entry)) error { return visible(ctx, tx, env, add) }); err != nil {
			return err
		}
		m.indexes[i].Store(x)
		m.seen[i] = place{change: change + 1}
		return nil
	})
}

// fill loads an index with what read adds. Reading and indexing take about as long, and run side by side.
func fill(x *index.Index, read func(add func(index.Entry)) error) error {
	const many = 1024
	full := make(chan []index.Entry, 4)
	var failed error
	go func() {
		defer close(full)
		some := make([]index.Entry, 0, many)
		failed = read(func(e index.Entry) {
			if some = append(some, e); len(some) == many {
				full <- some
				some = make([]index.Entry, 0, many)
			}
		})
		full <- some
	}()
	x.Load(func(add func(index.Entry) bool) {
		for some := range full { // to the end, which is when failed is set
			for _, e := range some {
				add(e)
			}
		}
	})
	return failed
}

// Refresh makes visible what is committed: after it returns, this process finds what it or others changed before the call.
func (m *Market) Refresh(ctx context.Context) error {
	m.following.Lock()
	defer m.following.Unlock()
	now := time.Now().Round(0) // the wall clock goes on while a machine sleeps
	if now.Sub(m.followed).Abs() >= awayAfter {
		if err := m.reload(ctx); err != nil {
			return err
		}
	}
	for i, env := range environments {
		if err := m.catchUp(ctx, i, env); err != nil {
			return fmt.Errorf("follow the listings of %s: %w", env, err)
		}
	}
	m.followed = now
	return nil
}

// awayAfter is how long a process must not have followed the changes to have missed some for ever: much less than
// MinWithdrawn, for which withdrawn listings are kept at least.
const awayAfter = MinWithdrawn / 2

// reload loads the listings again where some that changed meanwhile were removed, since the changes do not show those. The caller holds m.following.
func (m *Market) reload(ctx context.Context) error {
	for i, env := range environments {
		var removed int64
		err := m.db.Read(ctx, func(tx store.Tx) (err error) {
			removed, err = removedUpTo(ctx, tx, env)
			return err
		})
		if err == nil && removed >= m.seen[i].change {
			err = m.load(ctx, i, env)
			m.setVersion()
		}
		if err != nil {
			return fmt.Errorf("load the listings of %s anew: %w", env, err)
		}
	}
	return nil
}

// catchUp applies the changes of one environment. The caller holds m.following.
func (m *Market) catchUp(ctx context.Context, i int, env Environment) error {
	for {
		var changes []index.Change
		var more int
		next := m.seen[i]
		err := m.db.Read(ctx, func(tx store.Tx) (err error) {
			changes, next, err = changedSince(ctx, tx, env, m.seen[i])
			if err == nil && len(changes) == changesAtOnce {
				more, err = countChanges(ctx, tx, env, next)
			}
			return err
		})
		if err != nil || next == m.seen[i] {
			return err
		}
		if x := m.indexes[i].Load(); more > x.Len()/4 && more > changesAtOnce {
			// A large import elsewhere: a second index beside the one in use is sooner ready, and disturbs it less.
			err := m.load(ctx, i, env)
			m.setVersion()
			return err
		}
		m.indexes[i].Load().Apply(changes)
		m.seen[i] = next
		m.setVersion()
		if len(changes) < changesAtOnce {
			return nil
		}
	}
}

// patience bounds one poll for changes.
const patience = 30 * time.Second

// follow polls for changes until the context ends.
func (m *Market) follow(ctx context.Context, every time.Duration) {
	defer close(m.done)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for failing := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		look, cancel := context.WithTimeout(ctx, patience)
		err := m.Refresh(look)
		cancel()
		switch {
		case err != nil && !failing && !errors.Is(err, context.Canceled):
			m.log.Error("listings fall behind the database", "error", err)
		case err == nil && failing:
			m.log.Info("listings follow the database again")
		}
		failing = err != nil
	}
}
