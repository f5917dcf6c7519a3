package store

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// IsUnique reports whether err says that a row with the same key exists.
func IsUnique(err error) bool {
	return isCode(err, "23505", sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_ROWID)
}

// IsForeignKey reports whether err says that a row refers to one that does not exist, or is still referred to.
func IsForeignKey(err error) bool {
	return isCode(err, "23503", sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY)
}

// IsCheck reports whether err says that a row breaks a CHECK or NOT NULL constraint.
func IsCheck(err error) bool {
	return isCode(err, "23514", sqlite3.SQLITE_CONSTRAINT_CHECK) || isCode(err, "23502", sqlite3.SQLITE_CONSTRAINT_NOTNULL)
}

// isCode reports whether err is the PostgreSQL error of that SQLSTATE or one of those SQLite errors.
func isCode(err error, state string, codes ...int) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code == state
	}
	if lite, ok := errors.AsType[*sqlite.Error](err); ok {
		for _, code := range codes {
			if lite.Code() == code {
				return true
			}
		}
	}
	return false
}
