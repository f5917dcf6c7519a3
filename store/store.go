// Package store is the database underfoot: open, migrate, run transactions, and bear the few
// differences between SQLite and PostgreSQL. It knows no table's meaning.
//
// The packages above keep one hand-written SQL text for both engines: $1 binds, RETURNING, ON CONFLICT,
// times as BIGINT microseconds ([Micros]), money as BIGINT, ids as TEXT ([NewID]), bytes as BYTEA.
// Transactions are serializable on both: SQLite runs one writer at a time and lets many small
// transactions share one fsync, PostgreSQL refuses what would not serialize and [DB.Tx] runs it again.
//
// One difference stays with who writes SQL: SQLite orders text by its bytes, and so does PostgreSQL when
// the database is created with LOCALE 'C' or 'C.UTF-8', but not with a language's locale.
package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"
)

// An Engine names the database software, for the few places where the two differ.
type Engine string

// The engines.
const (
	SQLite   Engine = "sqlite"
	Postgres Engine = "postgres"
)

// Config says where the database is. One of URL, Temporary and Dir is used, in this order.
type Config struct {
	URL       string // postgres://…: any number of processes may share it
	Temporary bool   // an embedded store in a temporary directory, removed by Close
	Dir       string // directory of the embedded store, created with mode 0700

	Existing  bool             // make none: fail with [ErrNoStore] where there is none yet
	NoMigrate bool             // leave the schema as it is; for tools that look before they migrate
	Conns     int              // most connections at once, readers for SQLite; 0: a default for the engine
	Logger    *slog.Logger     // nil: nothing is logged
	Now       func() time.Time // nil: time.Now
}

// A DB is an open database. It is safe for concurrent use.
type DB struct {
	cfg    Config
	engine engine
	owner  string // names this handle as holder of leases
}

// engine is what SQLite and PostgreSQL do differently.
type engine interface {
	name() Engine
	write(ctx context.Context, fn func(Tx) error) error // one attempt
	read(ctx context.Context, fn func(Tx) error) error
	migrate(ctx context.Context) ([]int64, error)
	backup(ctx context.Context, path string) error
	check(ctx context.Context) (Report, error)
	close() error
}

// Open opens the database, makes sure that it keeps what it is told, and brings its schema up to date.
// It fails with one clear sentence when the directory cannot be written, or others may read it and that
// cannot be changed, the URL is wrong, the server cannot be reached, another process holds the store, or
// the schema is newer than this program.
func Open(ctx context.Context, cfg Config) (*DB, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	db := &DB{cfg: cfg, owner: NewID("proc")}
	var err error
	switch {
	case cfg.URL != "":
		db.engine, err = openPostgres(ctx, cfg)
	case cfg.Temporary || cfg.Dir != "":
		db.engine, err = openSQLite(ctx, cfg)
	default:
		err = errors.New("neither a directory nor a database URL is given")
	}
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	if !cfg.NoMigrate {
		if _, err := db.Migrate(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("open store: %w", err), db.engine.close())
		}
	}
	return db, nil
}

// Engine is the software underneath.
func (db *DB) Engine() Engine { return db.engine.name() }

// Now is the clock given to [Open].
func (db *DB) Now() time.Time { return db.cfg.Now() }

// Limits of a retried transaction. The waits are random, up to a bound that doubles.
const (
	maxAttempts = 16
	retryTime   = 10 * time.Second // after this, no further attempt begins
	firstWait   = 2 * time.Millisecond
	longestWait = 100 * time.Millisecond
)

// Tx runs fn in a serializable read-write transaction: all that fn did is kept when Tx returns nil, and
// nothing of it otherwise. What fn saw and wrote is durable when Tx returns.
//
// An error of fn is returned as it is, after a rollback; a panic of fn rolls back and goes on. A statement
// that fails ends the transaction, on both engines: fn can only return, so it says ON CONFLICT where it
// expects one. Fn may run more than once, when the engine could not serialize it ([IsRetryable]), so it
// must set, not add to, what it shares with the caller. It must be short, wait for nothing but the database,
// and not call Tx. After the last attempt Tx returns the engine's error.
func (db *DB) Tx(ctx context.Context, fn func(Tx) error) error {
	began, wait := time.Now(), firstWait
	for attempt := 1; ; attempt++ {
		err := db.engine.write(ctx, fn)
		if err == nil || !IsRetryable(err) || attempt == maxAttempts || time.Since(began) > retryTime {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(rand.N(wait) + time.Microsecond):
		}
		wait = min(2*wait, longestWait)
	}
}

// Read runs fn on a snapshot that nothing changes while fn looks at it. It never waits for a writer.
// Fn runs once, may not write, and should be short: a snapshot held for long keeps SQLite from
// reusing its log.
func (db *DB) Read(ctx context.Context, fn func(Tx) error) error {
	return db.engine.read(ctx, fn)
}

// Migrate brings the schema up to date and returns the versions that were applied, none if it was.
// Any number of processes may call it at once. It fails on a schema newer than this program.
func (db *DB) Migrate(ctx context.Context) ([]int64, error) {
	applied, err := db.engine.migrate(ctx)
	if err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	if len(applied) > 0 {
		db.cfg.Logger.Info("schema migrated", "engine", string(db.Engine()), "versions", applied)
	}
	return applied, nil
}

// Backup writes a consistent copy of the embedded store to a file that does not exist yet, without
// stopping writers; the copy is on the disk and checked when Backup returns. To restore it, put it as
// namewharf.db into an empty directory. PostgreSQL has its own tools, and Backup names them.
func (db *DB) Backup(ctx context.Context, path string) error {
	if err := db.engine.backup(ctx, path); err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	return nil
}

// Check reads the whole database looking for damage and compares its schema and settings with what this
// program needs. A problem found is a line in the report; the error is for a check that could not be done.
func (db *DB) Check(ctx context.Context) (Report, error) {
	r, err := db.engine.check(ctx)
	if err != nil {
		return Report{}, fmt.Errorf("check: %w", err)
	}
	return r, nil
}

// A Report is what [DB.Check] found.
type Report struct {
	Engine   Engine            `json:"engine"`
	Version  string            `json:"version"`  // of the engine
	Schema   int64             `json:"schema"`   // version of the schema in the database
	Wanted   int64             `json:"wanted"`   // version of the schema that this program has
	Settings map[string]string `json:"settings"` // those on which durability rests
	Warnings []string          `json:"warnings"` // settings that risk what is stored
	Problems []string          `json:"problems"` // damage, or a schema that does not fit; empty: all is well
}

// String is the report in lines for a terminal.
func (r Report) String() string {
	head := fmt.Sprintf("%s %s, schema %d: %d problems", r.Engine, r.Version, r.Schema, len(r.Problems))
	all := []string{head}
	for _, p := range r.Problems {
		all = append(all, "problem: "+p)
	}
	for _, w := range r.Warnings {
		all = append(all, "warning: "+w)
	}
	return strings.Join(all, "\n")
}

// Close waits for the transactions that run and closes the database. Later calls fail with [ErrClosed].
func (db *DB) Close() error {
	if err := db.engine.close(); err != nil {
		return fmt.Errorf("close store: %w", err)
	}
	return nil
}
