// Package store opens and migrates the database, runs transactions and leases, and hides the few differences between SQLite
// and PostgreSQL. It knows no table's meaning.
//
// Other packages write one SQL text for both engines: $1 binds, RETURNING, ON CONFLICT, times as BIGINT microseconds
// ([Micros]), money as BIGINT, ids as TEXT ([NewID]), bytes as BYTEA. Transactions are serializable on both: SQLite runs one
// writer at a time, with group commit; PostgreSQL refuses transactions that it cannot serialize, and [DB.Tx] retries them.
//
// One difference remains: SQLite sorts text by bytes; PostgreSQL does so only in a database created with LOCALE 'C' or
// 'C.UTF-8'.
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

	Existing  bool             // fail with [ErrNoStore] if there is no store, instead of creating one
	NoMigrate bool             // do not migrate the schema
	Conns     int              // most connections at once, readers for SQLite; 0: a default for the engine
	Logger    *slog.Logger     // nil: nothing is logged
	Now       func() time.Time // nil: time.Now
}

// A DB is an open database. It is safe for concurrent use.
type DB struct {
	cfg    Config
	engine engine
	owner  string // prefix of the owners of its leases
}

// engine is the part that differs between SQLite and PostgreSQL.
type engine interface {
	name() Engine
	write(ctx context.Context, fn func(Tx) error) error // one attempt
	read(ctx context.Context, fn func(Tx) error) error
	migrate(ctx context.Context) ([]int64, error)
	backup(ctx context.Context, path string) error
	check(ctx context.Context) (Report, error)
	close() error
}

// Open opens the database, checks the settings that durability needs, and migrates its schema. It fails, with one sentence,
// if the directory cannot be written, or others may read it and that cannot be changed, the URL is wrong, the server cannot
// be reached, another process is opening the store for long, or the schema is newer than this program.
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

// Engine returns the database software.
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

// Tx runs fn in a serializable read-write transaction. When Tx returns nil, the changes of fn are durable; otherwise they are
// rolled back.
//
// Tx returns an error of fn unchanged, after a rollback; a panic of fn rolls back and continues. A failed statement ends the
// transaction, on both engines, so fn uses ON CONFLICT if it expects one. fn may run more than once, if the engine could not
// serialize it ([IsRetryable]), so it must set, not add to, variables of the caller. It must be short, wait only for the
// database, and not call Tx. After the last attempt Tx returns the engine's error.
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

// Read runs fn once in a read-only transaction on a snapshot. It never waits for a writer. fn should be short: a long snapshot
// prevents SQLite from reusing its log.
func (db *DB) Read(ctx context.Context, fn func(Tx) error) error {
	return db.engine.read(ctx, fn)
}

// Migrate migrates the schema and returns the applied versions, none if it was up to date. Any number of processes may call it
// at once. It fails on a schema newer than this program.
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

// Backup writes a consistent copy of the embedded store to a new file, without stopping writers. When Backup returns, the copy
// is checked and on the disk. [Restore] restores it. For PostgreSQL it fails, and names PostgreSQL's own tools.
func (db *DB) Backup(ctx context.Context, path string) error {
	if err := db.engine.backup(ctx, path); err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	return nil
}

// Check reads the whole database for damage and compares its schema and settings with those that this program needs. Problems
// are lines of the report; it fails if the check could not be done.
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
	Settings map[string]string `json:"settings"` // those that durability needs
	Warnings []string          `json:"warnings"` // settings that risk data loss
	Problems []string          `json:"problems"` // damage, or another schema; empty: none
}

// String formats the report for a terminal.
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

// Close waits for running transactions and closes the database. Later calls fail with [ErrClosed].
func (db *DB) Close() error {
	if err := db.engine.close(); err != nil {
		return fmt.Errorf("close store: %w", err)
	}
	return nil
}
