package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Times of leases. Another process takes over the work of one that died within leaseTime + leasePoll.
const (
	leaseTime  = 6 * time.Second // after which a lease expires that is not renewed
	leaseRenew = time.Second     // between two renewals
	leaseSlack = time.Second     // how long before the expiry of its lease work ends
	leasePoll  = 2 * time.Second // between two polls for due work
)

// ErrLeaseLost is the cause with which the context of work ends if its lease could not be renewed in time.
var ErrLeaseLost = errors.New("store: the lease was lost")

// Exclusively runs do while it holds the named lease, and reports whether it ran: of all callers with that name, in all
// processes on the database, one runs at a time. It renews the lease while do runs. If that fails, the context of do ends
// with the cause [ErrLeaseLost] before another process can take the lease; do must then return. The lease of a process that
// died expires after some seconds. Leases use one clock: that of the PostgreSQL server, or that of the machine with SQLite.
func (db *DB) Exclusively(ctx context.Context, name string, do func(context.Context) error) (ran bool, err error) {
	return db.exclusively(ctx, name, 0, func(time.Time) bool { return true }, do)
}

// exclusively is Exclusively for work that runs if wanted accepts the time at which it was due. After success it is due again
// after the time again.
func (db *DB) exclusively(ctx context.Context, name string, again time.Duration, wanted func(due time.Time) bool, do func(context.Context) error) (ran bool, err error) {
	l := &lease{db: db, name: name, owner: NewID(db.owner)}
	until := time.Now().Add(leaseTime)
	if held, err := l.take(ctx, wanted); err != nil || !held {
		return false, err
	}
	work, end := context.WithCancelCause(ctx)
	lost := time.AfterFunc(time.Until(until.Add(-leaseSlack)), func() { end(ErrLeaseLost) })
	var renewing sync.WaitGroup
	renewing.Go(func() { l.keepRenewed(work, lost, end) })
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

// A lease is a lease that this process holds or tries to take.
type lease struct {
	db          *DB
	name, owner string
}

// clock returns the time of the clock for leases, in microseconds.
func (db *DB) clock(ctx context.Context, tx Tx) (now int64, err error) {
	if db.Engine() != Postgres {
		return Micros(db.Now()), nil
	}
	err = tx.QueryRow(ctx, `SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)`).Scan(&now)
	return now, err
}

// take takes the lease if it is free and wanted accepts its due time.
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

// keepRenewed renews the lease until ctx ends. Each renewal postpones lost, which ends the work.
func (l *lease) keepRenewed(ctx context.Context, lost *time.Timer, end context.CancelCauseFunc) {
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

// renew extends the lease, and reports whether it was still held.
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

// release releases the lease, if it is still held. Work that is done is due again after the time again, if that is not zero.
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

// Regularly calls do at intervals until ctx ends, in one of the processes on the database at a time, as [DB.Exclusively] does:
// first some seconds after the call, then whenever the interval has passed since any process last did it. It passes errors
// to failed, unless ctx has ended, and calls do again after another interval.
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

// whenDue does work if it is due, or anyway. It reads before it writes, since a read is cheap.
func (db *DB) whenDue(ctx context.Context, name string, every time.Duration, anyway bool, do func(context.Context) error) (ran bool, err error) {
	var now, due, expires int64
	err = db.Read(ctx, func(tx Tx) (err error) {
		if now, err = db.clock(ctx, tx); err != nil {
			return err
		}
		return ignoreNoRows(tx.QueryRow(ctx, `SELECT due, expires FROM leases WHERE name = $1`, name).Scan(&due, &expires))
	})
	if err != nil {
		return false, fmt.Errorf("read whether %s is due: %w", name, err)
	}
	if expires > now || due > now && !anyway {
		return false, nil
	}
	return db.exclusively(ctx, name, every, func(at time.Time) bool { return anyway || !at.After(Time(now)) }, do)
}
