package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// migrationLock is the key of the advisory lock that migrating processes take: "namewhar" in ASCII.
const migrationLock int64 = 0x6e616d6577686172

const pgConns = 16 // per process; the default of Config.Conns

// pgSettings are session settings that the URL can override. They limit how long a statement, or the open transaction of a
// stalled process, can block others.
var pgSettings = map[string]string{
	"application_name":                    "namewharf",
	"statement_timeout":                   "30s",
	"lock_timeout":                        "10s",
	"idle_in_transaction_session_timeout": "30s",
}

// pg is a PostgreSQL database.
type pg struct {
	db     *sql.DB
	config *pgx.ConnConfig
}

func openPostgres(ctx context.Context, cfg Config) (*pg, error) {
	if !strings.HasPrefix(cfg.URL, "postgres://") && !strings.HasPrefix(cfg.URL, "postgresql://") {
		return nil, errors.New("the database URL must begin with postgres://")
	}
	config, err := pgx.ParseConfig(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("the database URL is not valid: %w", err) // pgx leaves the password out
	}
	for name, value := range pgSettings {
		if _, ok := config.RuntimeParams[name]; !ok {
			config.RuntimeParams[name] = value
		}
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 10 * time.Second
	}
	p := &pg{db: stdlib.OpenDB(*config), config: config}
	conns := cfg.Conns
	if conns == 0 {
		conns = pgConns
	}
	p.db.SetMaxOpenConns(conns)
	p.db.SetMaxIdleConns(conns)
	p.db.SetConnMaxIdleTime(5 * time.Minute)
	if err := p.db.PingContext(ctx); err != nil {
		return nil, errors.Join(unreachable(config, err), p.db.Close())
	}
	if cfg.Existing {
		schema, _, err := versions(ctx, p.db, Postgres)
		if err == nil && schema == 0 {
			err = fmt.Errorf("%w in database %s on %s", ErrNoStore, config.Database, config.Host)
		}
		if err != nil {
			return nil, errors.Join(err, p.db.Close())
		}
	}
	return p, nil
}

// unreachable describes a failed connection in one line: pgx lists every address that it tried, and the last line is enough.
func unreachable(config *pgx.ConnConfig, err error) error {
	text := err.Error()
	text = strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
	return fmt.Errorf("cannot connect to PostgreSQL as user %s, database %s: %s", config.User, config.Database, text)
}

func (p *pg) name() Engine { return Postgres }

func (p *pg) write(ctx context.Context, fn func(Tx) error) error {
	return p.run(ctx, &sql.TxOptions{Isolation: sql.LevelSerializable}, fn)
}

func (p *pg) read(ctx context.Context, fn func(Tx) error) error {
	return p.run(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}, fn)
}

// run runs one transaction. A panic of fn rolls back and continues.
func (p *pg) run(ctx context.Context, opts *sql.TxOptions, fn func(Tx) error) error {
	tx, err := p.db.BeginTx(ctx, opts)
	if err != nil {
		return p.closed(fmt.Errorf("begin: %w", err))
	}
	s := &session{conn: tx}
	defer func() {
		s.end(nil)
		tx.Rollback() // without effect after a commit
	}()
	if err := s.end(fn(Tx{s})); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// closed replaces the error of database/sql about a closed database by ErrClosed.
func (p *pg) closed(err error) error {
	if strings.Contains(err.Error(), "database is closed") {
		return ErrClosed
	}
	return err
}

func (p *pg) migrate(ctx context.Context) ([]int64, error) {
	// Migrations may take longer than other statements.
	config := p.config.Copy()
	for _, name := range []string{"statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"} {
		delete(config.RuntimeParams, name)
	}
	db := stdlib.OpenDB(*config)
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close() // db.Close then ends the session, which releases the lock
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, migrationLock); err != nil {
		return nil, fmt.Errorf("wait for the migration lock: %w", err)
	}
	return up(ctx, db, Postgres)
}

func (p *pg) close() error { return p.db.Close() }
