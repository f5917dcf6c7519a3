package market

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/namewharf/namewharf/market/index"
	"github.com/namewharf/namewharf/market/words"
	"github.com/namewharf/namewharf/store"
)

// load fills the index of an environment from one snapshot of the database.
func (m *Market) load(ctx context.Context, lex *words.Lexicon, i int, env Environment) error {
	return m.db.Read(ctx, func(tx store.Tx) error {
		change, n, err := standingOf(ctx, tx, env)
		if err != nil {
			return err
		}
		m.seen[i] = place{change: change + 1}
		m.indexes[i] = index.New(lex, n)
		// Load takes the entries as they are read, so that a million of them never stand in memory twice.
		m.indexes[i].Load(func(add func(index.Entry) bool) {
			err = visible(ctx, tx, env, add)
		})
		return err
	})
}

// Refresh makes visible what is committed: after it returns, this process finds what it or others changed before the call.
func (m *Market) Refresh(ctx context.Context) error {
	m.following.Lock()
	defer m.following.Unlock()
	for i, env := range environments {
		if err := m.catchUp(ctx, i, env); err != nil {
			return fmt.Errorf("follow the listings of %s: %w", env, err)
		}
	}
	return nil
}

// catchUp applies the changes of one environment. The caller holds m.following.
func (m *Market) catchUp(ctx context.Context, i int, env Environment) error {
	for {
		var changes []index.Change
		next := m.seen[i]
		err := m.db.Read(ctx, func(tx store.Tx) (err error) {
			changes, next, err = changedSince(ctx, tx, env, m.seen[i])
			return err
		})
		if err != nil {
			return err
		}
		if len(changes) == 0 {
			return nil
		}
		m.indexes[i].Apply(changes)
		m.seen[i] = next
		m.setVersion()
		if len(changes) < changesAtOnce {
			return nil
		}
	}
}

// patience bounds one look for changes.
const patience = 30 * time.Second

// follow looks for changes until the context ends.
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
