package store

import (
	"database/sql"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// ErrClosed is the error of a call on a closed [DB].
var ErrClosed = errors.New("store: closed")

// ErrNoStore is the error of [Open] with Config.Existing if there is no store.
var ErrNoStore = errors.New("there is no store")

// errLost is the error of transactions whose batch was rolled back because of another member.
var errLost = errors.New("store: batch rolled back")

// IsNoRows reports whether err says that a query found nothing.
func IsNoRows(err error) bool { return errors.Is(err, sql.ErrNoRows) }

// IsRetryable reports whether err says that a transaction was rolled back only because of concurrent ones, so that a retry may
// succeed. [DB.Tx] retries by itself.
func IsRetryable(err error) bool {
	if errors.Is(err, errLost) {
		return true
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		// serialization_failure, deadlock_detected, lock_not_available
		return pg.Code == "40001" || pg.Code == "40P01" || pg.Code == "55P03"
	}
	if lite, ok := errors.AsType[*sqlite.Error](err); ok {
		primary := lite.Code() & 0xff
		return primary == sqlite3.SQLITE_BUSY || primary == sqlite3.SQLITE_LOCKED
	}
	return false
}

// isDamage reports whether err says that a SQLite file is damaged.
func isDamage(err error) bool {
	lite, ok := errors.AsType[*sqlite.Error](err)
	return ok && (lite.Code()&0xff == sqlite3.SQLITE_CORRUPT || lite.Code()&0xff == sqlite3.SQLITE_NOTADB)
}

// isMissingTable reports whether err says that a table does not exist.
func isMissingTable(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code == "42P01"
	}
	return err != nil && strings.Contains(err.Error(), "no such table") // SQLite has no code for it
}
