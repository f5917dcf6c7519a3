package store

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// A Tx is a transaction in progress, valid only within the function given to [DB.Tx] or [DB.Read]. One goroutine at a time may
// use it, and rows must be read to their end or closed before the next statement.
type Tx struct{ s *session }

// session is the state of one transaction.
type session struct {
	conn   querier
	detach bool      // ignore the end of contexts: interrupting a write would roll back the whole batch
	rows   *sql.Rows // of the last query; may be closed
	err    error     // of the first statement that failed
	over   bool
}

// querier is a connection with an open transaction.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

var (
	errOver    = errors.New("store: transaction used after its end")
	errRows    = errors.New("store: statement while the rows of another are open")
	errAborted = errors.New("store: statement after a failed statement of the same transaction")
)

// Exec runs a statement and returns the number of rows that it inserted, changed or deleted.
func (tx Tx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	ctx, err := tx.s.ready(ctx)
	if err != nil {
		return 0, err
	}
	res, err := tx.s.conn.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, tx.s.fail(err)
	}
	return res.RowsAffected()
}

// Query runs a statement that returns rows. The caller closes them and checks their Err. See also [Collect] and [Each].
func (tx Tx) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	ctx, err := tx.s.ready(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := tx.s.conn.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, tx.s.fail(err)
	}
	tx.s.rows = rows
	return rows, nil
}

// QueryRow runs a statement and returns its first row. [Row.Scan] returns its error.
func (tx Tx) QueryRow(ctx context.Context, query string, args ...any) Row {
	rows, err := tx.Query(ctx, query, args...)
	return Row{s: tx.s, rows: rows, err: err}
}

// A Row is the first row of a query, or its error.
type Row struct {
	s    *session
	rows *sql.Rows
	err  error
}

// Scan copies the columns into dest. It fails with [sql.ErrNoRows] if there is no row, which does not end the transaction.
func (r Row) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	defer r.rows.Close()
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return r.s.fail(err)
		}
		return sql.ErrNoRows
	}
	if err := r.rows.Scan(dest...); err != nil {
		return err
	}
	// Closing runs a statement with RETURNING to its end, and that can fail too.
	if err := r.rows.Close(); err != nil {
		return r.s.fail(err)
	}
	return nil
}

// ready checks that a statement may run, and returns its context.
func (s *session) ready(ctx context.Context) (context.Context, error) {
	switch {
	case s.over:
		return nil, errOver
	case s.err != nil:
		return nil, errors.Join(errAborted, s.err)
	case s.rows != nil:
		if _, err := s.rows.Columns(); err == nil { // which fails once they are closed
			return nil, s.fail(errRows)
		}
		s.rows = nil
	}
	if err := ctx.Err(); err != nil {
		return nil, s.fail(err)
	}
	if s.detach {
		return context.Background(), nil
	}
	return ctx, nil
}

func (s *session) fail(err error) error {
	if s.err == nil {
		s.err = err
	}
	return err
}

// end forbids further use and returns the error of the function, or else that of a failed statement that the function ignored.
func (s *session) end(err error) error {
	s.over = true
	if s.rows != nil {
		s.rows.Close()
	}
	if err != nil {
		return err
	}
	return s.err
}

// Micros encodes a time for the database: microseconds since 1970 in UTC, and 0 for the zero time.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// Time decodes stored microseconds to a time in UTC; 0 is the zero time.
func Time(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}
