package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Times of leases. The work of a process that died is taken over within leaseTime + leasePoll.
const (
	leaseTime  = 6 * time.Second // a lease that is not renewed ends
	leaseRenew = time.Second     // between two renewals
	leaseSlack = time.Second     // work ends so much before its lease could be another's
	leasePoll  = 2 * time.Second // between two looks whether work is due
)

// ErrLeaseLost is the cause with which the context of work ends when its lease could not be renewed in time.
var ErrLeaseLost = errors.New("store: the lease was lost")

// Exclusively runs do while it holds the named lease, and reports whether it ran: of all callers with that name, in all
// processes on the database, one runs at a time. While do runs the lease is renewed. When it cannot be, the context given
// to do ends with the cause [ErrLeaseLost] before anybody else can take the lease; do must return then. A process that
// died holds its lease for some seconds more. Leases go by one clock: that of the server with PostgreSQL, that of the
// machine with SQLite.
func (db *DB) Exclusively(ctx context.Context, name string, do func(context.Context) error) (ran bool, err error) {
	return db.exclusively(ctx, name, 0, func(time.Time) bool { return true }, do)
}

// exclusively is Exclusively for work that is wanted when it was due at a time. Once it is done without an error it is
// due again after a while.
func (db *DB) exclusively(ctx context.Context, name string, again time.Duration, wanted func(due time.Time) bool, do func(context.Context) error) (ran bool, err error) {
	l := &lease{db: db, name: name, owner: NewID(db.owner)}
	until := time.Now().Add(leaseTime)
	if held, err := l.take(ctx, wanted); err != nil || !held {
		return false, err
	}
	work, end := context.WithCancelCause(ctx)
	lost := time.AfterFunc(time.Until(until.Add(-leaseSlack)), func() { end(ErrLeaseLost) })
	var renewing sync.WaitGroup
	renewing.Go(func() { l.renewed(work, lost, end) })
	returned := false
	defer func() {
		end(nil)
		lost.Stop()
		renewing.Wait()
		if !returned {
			again = 0 // a panic
		}
		if released := l.release(context.WithoutCancel(ctx), again, err == nil); err == nil {
			err = released
		}
	}()
	err = do(work)
	returned = true
	if cause := context.Cause(work); errors.Is(cause, ErrLeaseLost) && err != nil {
		err = fmt.Errorf("%s: %w", name, cause)
	}
	return true, err
}

// A lease is one that this process holds, or tries to.
type lease struct {
	db          *DB
	name, owner string
}

// clock is the time that leases go by, in microseconds.
func (db *DB) clock(ctx context.Context, tx Tx) (now int64, err error) {
	if db.Engine() != Postgres {
		return Micros(db.Now()), nil
	}
	err = tx.QueryRow(ctx, `SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)`).Scan(&now)
	return now, err
}

// take takes the lease if it is free and its work wanted.
func (l *lease) take(ctx context.Context, wanted func(due time.Time) bool) (held bool, err error) {
	err = l.db.Tx(ctx, func(tx Tx) error {
		held = false
		now, err := l.db.clock(ctx, tx)
		if err != nil {
			return err
		}
		var expires, due int64
		err = tx.QueryRow(ctx, `SELECT expires, due FROM leases WHERE name = $1`, l.name).Scan(&expires, &due)
		if err != nil && !IsNoRows(err) || expires > now || !wanted(Time(due)) {
			return ignoreNoRows(err)
		}
		n, err := tx.Exec(ctx, `
			INSERT INTO leases (name, owner, expires) VALUES ($1, $2, $3)
			ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, expires = excluded.expires WHERE leases.expires <= $4`,
			l.name, l.owner, now+leaseTime.Microseconds(), now)
		held = n == 1
		return err
	})
	if err != nil {
		return false, fmt.Errorf("take lease %s: %w", l.name, err)
	}
	return held, nil
}

func ignoreNoRows(err error) error {
	if IsNoRows(err) {
		return nil
	}
	return err
}

// renewed renews the lease until ctx ends. Lost ends the work unless it is put off.
func (l *lease) renewed(ctx context.Context, lost *time.Timer, end context.CancelCauseFunc) {
	tick := time.NewTicker(leaseRenew)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		until := time.Now().Add(leaseTime)
		held, err := l.renew(ctx)
		switch {
		case err != nil: // the next may succeed in time
		case !held:
			end(ErrLeaseLost)
			return
		case lost.Stop():
			lost.Reset(time.Until(until.Add(-leaseSlack)))
		}
	}
}

// renew prolongs the lease, and reports whether it was still held.
func (l *lease) renew(ctx context.Context) (held bool, err error) {
	err = l.db.Tx(ctx, func(tx Tx) error {
		now, err := l.db.clock(ctx, tx)
		if err != nil {
			return err
		}
		n, err := tx.Exec(ctx, `UPDATE leases SET expires = $1 WHERE name = $2 AND owner = $3`,
			now+leaseTime.Microseconds(), l.name, l.owner)
		held = n == 1
		return err
	})
	return held, err
}

// release gives the lease back, if it is still held. Work that was done is due again after a while.
func (l *lease) release(ctx context.Context, again time.Duration, done bool) error {
	ctx, cancel := context.WithTimeout(ctx, leaseTime)
	defer cancel()
	err := l.db.Tx(ctx, func(tx Tx) error {
		due, err := l.db.clock(ctx, tx)
		if err != nil {
			return err
		}
		if again == 0 || !done {
			due = 0
		}
		_, err = tx.Exec(ctx, `UPDATE leases SET owner = '', expires = 0, due = $1 WHERE name = $2 AND owner = $3`,
			due+again.Microseconds(), l.name, l.owner)
		return err
	})
	if err != nil && !errors.Is(err, ErrClosed) {
		return fmt.Errorf("release lease %s: %w", l.name, err)
	}
	return nil
}

// Regularly does work at intervals until ctx ends, in one of the processes on the database at a time, as
// [DB.Exclusively] does: for the first time some seconds after the call, and from then on when the interval has passed
// since it was last done, by whichever process. What do fails with is handed to failed, unless ctx has ended, and do is
// called again after another interval.
func (db *DB) Regularly(ctx context.Context, name string, every time.Duration, do func(context.Context) error, failed func(error)) {
	tick := time.NewTicker(min(leasePoll, every))
	defer tick.Stop()
	var rest time.Time // after a failure of this process
	for began := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if time.Now().Before(rest) {
			continue
		}
		ran, err := db.whenDue(ctx, name, every, !began, do)
		began = began || ran
		if err != nil {
			rest = time.Now().Add(every)
			if ctx.Err() == nil {
				failed(err)
			}
		}
	}
}

// whenDue does work if it is due, or at any rate. It looks before it writes: a look costs next to nothing.
func (db *DB) whenDue(ctx context.Context, name string, every time.Duration, anyway bool, do func(context.Context) error) (ran bool, err error) {
	var now, due, expires int64
	err = db.Read(ctx, func(tx Tx) (err error) {
		if now, err = db.clock(ctx, tx); err != nil {
			return err
		}
		return ignoreNoRows(tx.QueryRow(ctx, `SELECT due, expires FROM leases WHERE name = $1`, name).Scan(&due, &expires))
	})
	if err != nil {
		return false, fmt.Errorf("look whether %s is due: %w", name, err)
	}
	if expires > now || due > now && !anyway {
		return false, nil
	}
	return db.exclusively(ctx, name, every, func(at time.Time) bool { return anyway || !at.After(Time(now)) }, do)
}
