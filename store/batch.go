package store

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Limits of one batch, so that its first member does not wait long for the commit.
const (
	batchMembers = 256
	batchTime    = 20 * time.Millisecond
)

// A writer is the only connection that writes, with its queue (group commit). Transactions that queue up while another runs
// or while a commit waits for the disk join one SQLite transaction, with a savepoint each, and share its commit: one fsync
// for all of them. Each runs in its caller's goroutine, which holds the turn.
//
// A member that fails rolls back only its own savepoint. If the commit fails, it fails for all.
type writer struct {
	open  func(context.Context) (*liteConn, error)
	limit time.Duration // after which a batch takes no more members

	mu      sync.Mutex // guards busy, closed and waiting
	busy    bool       // a caller has the turn
	closed  bool
	waiting list.List // of chan struct{}, closed to pass the turn

	conn  *liteConn // used by who has the turn; nil: to be opened
	batch *batch    // the one that is open; nil: none
}

// A batch is one SQLite transaction that some callers share.
type batch struct {
	members int
	began   time.Time
	err     error         // set before done is closed: it was rolled back
	done    chan struct{} // closed after the commit
}

// do runs fn as a member of a batch and returns when the batch is committed.
func (w *writer) do(ctx context.Context, fn func(Tx) error) error {
	if err := w.enter(ctx); err != nil {
		return err
	}
	b, err := w.join(ctx)
	if err != nil {
		w.leave()
		return err
	}
	err = w.run(b, fn)
	culprit := b.err != nil && err != nil // its own failure rolled back the batch
	w.leave()
	<-b.done
	if b.err != nil && !culprit { // rolled back: any result of fn is void
		return b.err
	}
	return err
}

// enter waits for the turn.
func (w *writer) enter(ctx context.Context) error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return ErrClosed
	}
	if !w.busy {
		w.busy = true
		w.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	place := w.waiting.PushBack(turn)
	w.mu.Unlock()

	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-turn: // at the same instant; join sees the context
		return nil
	default:
		w.waiting.Remove(place)
		return ctx.Err()
	}
}

// join returns the open batch, or opens one.
func (w *writer) join(ctx context.Context) (*batch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if w.batch != nil {
		w.batch.members++
		return w.batch, nil
	}
	if w.conn == nil {
		conn, err := w.open(ctx)
		if err != nil {
			return nil, err
		}
		w.conn = conn
	}
	if err := w.conn.control("BEGIN IMMEDIATE"); err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	w.batch = &batch{members: 1, began: time.Now(), done: make(chan struct{})}
	return w.batch, nil
}

// run calls fn inside a savepoint. If fn does not return, by a panic or by [runtime.Goexit], run rolls back its changes and
// passes the turn on before the goroutine unwinds further.
func (w *writer) run(b *batch, fn func(Tx) error) error {
	if err := w.conn.control("SAVEPOINT member"); err != nil {
		b.err = errors.Join(errLost, err)
		return err
	}
	s := &session{conn: w.conn, detach: true}
	returned := false
	defer func() {
		if !returned {
			s.end(nil)
			w.undo(b)
			w.leave()
		}
	}()
	err := fn(Tx{s})
	returned = true
	if err = s.end(err); err != nil {
		w.undo(b)
		return err
	}
	if err := w.conn.control("RELEASE member"); err != nil {
		b.err = errors.Join(errLost, err)
	}
	return nil
}

// undo rolls back the changes of one member. On some failures, such as a full disk, SQLite rolls back the whole transaction;
// then the batch has failed.
func (w *writer) undo(b *batch) {
	err := w.conn.control("ROLLBACK TO member")
	if err == nil {
		err = w.conn.control("RELEASE member")
	}
	if err != nil {
		b.err = errors.Join(errLost, err)
	}
}

// leave passes the turn to the next in the queue. Unless that one may join the open batch, it commits the batch first.
func (w *writer) leave() {
	w.mu.Lock()
	b := w.batch
	if b == nil || b.err == nil && b.members < batchMembers && time.Since(b.began) < w.limit && w.waiting.Len() > 0 {
		w.next()
		w.mu.Unlock()
		return
	}
	w.mu.Unlock()

	w.commit(b)
	w.batch = nil
	close(b.done)

	w.mu.Lock()
	w.next()
	w.mu.Unlock()
}

// next passes the turn on. The caller has locked mu.
func (w *writer) next() {
	first := w.waiting.Front()
	if first == nil {
		w.busy = false
		return
	}
	close(w.waiting.Remove(first).(chan struct{}))
}

// commit ends the transaction of the batch. After a failure the state of the connection is unknown, so it is closed, which
// rolls back, and the next batch opens another.
func (w *writer) commit(b *batch) {
	if b.err == nil {
		if err := w.conn.control("COMMIT"); err != nil {
			b.err = fmt.Errorf("commit: %w", err)
		}
	}
	if b.err != nil {
		w.conn.close()
		w.conn = nil
	}
}

// close refuses further callers, waits for those in the queue and closes the connection.
func (w *writer) close() error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil
	}
	w.closed = true
	turn := make(chan struct{})
	if w.busy {
		w.waiting.PushBack(turn)
	} else {
		w.busy = true
		close(turn)
	}
	w.mu.Unlock()

	<-turn // and keep it
	if w.batch != nil {
		w.commit(w.batch)
		close(w.batch.done)
		w.batch = nil
	}
	if w.conn == nil {
		return nil
	}
	return w.conn.close()
}
