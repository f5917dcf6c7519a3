package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

// openTest opens an embedded store with a table, and its writer.
func openTest(t *testing.T) (*DB, *writer) {
	t.Helper()
	db, err := Open(t.Context(), Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	err = db.Tx(t.Context(), func(tx Tx) error {
		_, err := tx.Exec(t.Context(), `CREATE TABLE things (id TEXT PRIMARY KEY, body TEXT NOT NULL DEFAULT '')`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return db, db.engine.(*lite).writer
}

func add(ctx context.Context, tx Tx, id string) error {
	_, err := tx.Exec(ctx, `INSERT INTO things (id) VALUES ($1)`, id)
	return err
}

func ids(t *testing.T, db *DB) (all []string) {
	t.Helper()
	err := db.Read(t.Context(), func(tx Tx) error {
		rows, err := tx.Query(t.Context(), `SELECT id FROM things ORDER BY id`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id string
			if err := rows.Scan(&id); err != nil {
				return err
			}
			all = append(all, id)
		}
		return rows.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// queued waits until n callers are in the writer's queue.
func (w *writer) queued(t *testing.T, n int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		w.mu.Lock()
		now := w.waiting.Len()
		w.mu.Unlock()
		if now == n {
			return
		}
	}
	t.Fatalf("never saw %d callers in the queue", n)
}

func TestQueuedTransactionsShareOneCommit(t *testing.T) {
	t.Parallel()
	db, w := openTest(t)
	w.limit = time.Hour // however slow the machine is
	ctx := t.Context()
	refusal := errors.New("refused")
	const members = 60
	var (
		wg      sync.WaitGroup
		batches = make(map[*batch]int) // written by who has the turn
		errs    = make([]error, members)
		panics  = make([]any, members)
	)
	hold, held := make(chan struct{}), make(chan struct{})
	wg.Go(func() {
		db.Tx(ctx, func(Tx) error { close(held); <-hold; return nil })
	})
	<-held
	for i := range members {
		wg.Go(func() {
			defer func() { panics[i] = recover() }()
			errs[i] = db.Tx(ctx, func(tx Tx) error {
				batches[w.batch]++
				if err := add(ctx, tx, fmt.Sprintf("%02d", i)); err != nil {
					return err
				}
				switch i % 4 {
				case 1:
					return refusal
				case 2:
					_, err := tx.Exec(ctx, `INSERT INTO nowhere VALUES (1)`)
					return err
				case 3:
					panic(i)
				}
				return nil
			})
		})
	}
	w.queued(t, members)
	close(hold)
	wg.Wait()

	if len(batches) != 1 {
		t.Errorf("%d queued transactions: got %d commits, want 1", members, len(batches))
	}
	var want []string
	for i := range members {
		failed := errs[i] != nil || panics[i] != nil
		if failed != (i%4 != 0) || i%4 == 1 && errs[i] != refusal || i%4 == 3 && panics[i] != i {
			t.Errorf("member %d: got error %v, panic %v", i, errs[i], panics[i])
		}
		if i%4 == 0 {
			want = append(want, fmt.Sprintf("%02d", i))
		}
	}
	if got := ids(t, db); !slices.Equal(got, want) {
		t.Errorf("rows: got %v, want %v", got, want)
	}
}

// On a full disk SQLite rolls back the whole transaction; the other members are retried.
func TestMembersOfALostBatchAreRetried(t *testing.T) {
	t.Parallel()
	db, w := openTest(t)
	ctx := t.Context()
	limit := func(query string) {
		if err := db.Tx(ctx, func(tx Tx) error { var n int; return tx.QueryRow(ctx, query).Scan(&n) }); err != nil {
			t.Fatal(err)
		}
	}
	limit(`PRAGMA max_page_count = 40`)
	hold, held := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	var innocent, culprit error
	runs := 0
	wg.Go(func() {
		innocent = db.Tx(ctx, func(tx Tx) error {
			if runs++; runs == 1 {
				close(held)
				<-hold
			}
			return add(ctx, tx, "innocent")
		})
	})
	<-held
	wg.Go(func() {
		culprit = db.Tx(ctx, func(tx Tx) error {
			_, err := tx.Exec(ctx, `INSERT INTO things (id, body) VALUES ('culprit', hex(zeroblob(1000000)))`)
			// SQLite rolls back by itself on some of these failures; the test always does.
			w.conn.control("ROLLBACK")
			return err
		})
	})
	w.queued(t, 1)
	w.batch.began = time.Now()
	close(hold)
	wg.Wait()
	if innocent != nil || runs != 2 {
		t.Errorf("innocent member: got %v after %d runs, want nil after 2", innocent, runs)
	}
	if culprit == nil || IsRetryable(culprit) {
		t.Errorf("culprit: got %v, want its own failure", culprit)
	}
	if got := ids(t, db); !slices.Equal(got, []string{"innocent"}) {
		t.Errorf("rows: got %v, want [innocent]", got)
	}
}

// After a commit that fails, here for a deferred constraint, SQLite leaves the transaction open.
func TestFailedCommitIsUndone(t *testing.T) {
	t.Parallel()
	db, _ := openTest(t)
	ctx := t.Context()
	statement := func(query string) error {
		return db.Tx(ctx, func(tx Tx) error { _, err := tx.Exec(ctx, query); return err })
	}
	if err := statement(`CREATE TABLE parts (thing TEXT REFERENCES things (id) DEFERRABLE INITIALLY DEFERRED)`); err != nil {
		t.Fatal(err)
	}
	if err := statement(`INSERT INTO parts (thing) VALUES ('missing')`); !IsForeignKey(err) {
		t.Errorf("commit: got %v, want a foreign key violation", err)
	}
	if err := statement(`INSERT INTO things (id) VALUES ('next')`); err != nil {
		t.Errorf("next transaction: got %v, want nil", err)
	}
	if got := ids(t, db); !slices.Equal(got, []string{"next"}) {
		t.Errorf("rows: got %v, want [next]", got)
	}
	if n := db.engine.(*lite).db.Stats().OpenConnections; n > 3 {
		t.Errorf("connections: got %d, want the failed one closed", n)
	}
}

// Callers that cancel at any moment neither block the queue nor leave a batch without commit, and the rows agree with the
// results of Tx.
func TestCancelledCallers(t *testing.T) {
	t.Parallel()
	db, _ := openTest(t)
	var (
		mu   sync.Mutex
		kept []string
		wg   sync.WaitGroup
	)
	for caller := range 16 {
		wg.Go(func() {
			for i := range 100 {
				id := fmt.Sprintf("%02d-%03d", caller, i)
				ctx, cancel := context.WithTimeout(t.Context(), rand.N(2*time.Millisecond))
				err := db.Tx(ctx, func(tx Tx) error { return add(ctx, tx, id) })
				cancel()
				switch {
				case err == nil:
					mu.Lock()
					kept = append(kept, id)
					mu.Unlock()
				case !errors.Is(err, context.DeadlineExceeded):
					t.Errorf("transaction %s: got %v, want success or a passed deadline", id, err)
				}
			}
		})
	}
	wg.Wait()
	slices.Sort(kept)
	if got := ids(t, db); !slices.Equal(got, kept) {
		t.Errorf("rows: got %d, want the %d that Tx reported", len(got), len(kept))
	}
}

func TestCloseWaitsForTheQueue(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, err := Open(t.Context(), Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	w := db.engine.(*lite).writer
	hold, held := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	var first, second error
	wg.Go(func() { first = db.Tx(t.Context(), func(Tx) error { close(held); <-hold; return nil }) })
	<-held
	wg.Go(func() { second = db.Tx(t.Context(), func(Tx) error { return nil }) })
	w.queued(t, 1)
	wg.Go(func() { db.Close() })
	w.queued(t, 2)
	close(hold)
	wg.Wait()
	if first != nil || second != nil {
		t.Errorf("transactions before Close: got %v and %v, want nil", first, second)
	}
}

func TestConnectionsAreDurable(t *testing.T) {
	t.Parallel()
	db, w := openTest(t)
	for _, p := range litePragmas {
		var got string
		if err := w.conn.conn.QueryRowContext(t.Context(), "PRAGMA "+p.name).Scan(&got); err != nil || got != p.want {
			t.Errorf("pragma %s of the writer: got %q, %v; want %q", p.name, got, err, p.want)
		}
		err := db.Read(t.Context(), func(tx Tx) error { return tx.QueryRow(t.Context(), "PRAGMA "+p.name).Scan(&got) })
		if err != nil || got != p.want {
			t.Errorf("pragma %s of a reader: got %q, %v; want %q", p.name, got, err, p.want)
		}
	}
}
