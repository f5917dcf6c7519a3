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

const pgConns = 16 // a process, unless Config.Conns says otherwise

// pgSettings are the session's, unless the URL has its own: no statement, and no transaction left open by a
// process that stalled, holds up the others for long.
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

// unreachable puts a failed connection into one line: pgx tells of every address and way that it tried,
// a line each, and the last says enough.
func unreachable(config *pgx.ConnConfig, err error) error {
	text := err.Error()
	text = strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
	return fmt.Errorf("PostgreSQL does not let us in, user %s, database %s: %s", config.User, config.Database, text)
}

func (p *pg) name() Engine { return Postgres }

func (p *pg) write(ctx context.Context, fn func(Tx) error) error {
	return p.run(ctx, &sql.TxOptions{Isolation: sql.LevelSerializable}, fn)
}

func (p *pg) read(ctx context.Context, fn func(Tx) error) error {
	return p.run(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}, fn)
}

// run is one transaction. A panic of fn rolls back and goes on.
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

// closed turns the words of database/sql about a closed database into ours.
func (p *pg) closed(err error) error {
	if strings.Contains(err.Error(), "database is closed") {
		return ErrClosed
	}
	return err
}

func (p *pg) migrate(ctx context.Context) ([]int64, error) {
	// Migrations may take longer than a statement of everyday work.
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
	defer conn.Close() // and with it, in db.Close, the session that has the lock
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, migrationLock); err != nil {
		return nil, fmt.Errorf("wait for the migration lock: %w", err)
	}
	return up(ctx, db, Postgres)
}

func (p *pg) close() error { return p.db.Close() }
