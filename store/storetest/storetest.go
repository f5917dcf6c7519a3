// Package storetest runs a test on every database engine that the product supports.
//
// SQLite needs nothing. For PostgreSQL it uses the server whose superuser URL is in the environment variable
// NAMEWHARF_TEST_POSTGRES, or starts one that ends with the test binary. Program withpg starts one server for a whole run of
// tests. Without PostgreSQL the test is skipped, and fails if CI=true.
package storetest

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/migrations"
	"github.com/namewharf/namewharf/store/storetest/pgserver"
)

// ServerVariable names the environment variable with the URL of a PostgreSQL superuser.
const ServerVariable = "NAMEWHARF_TEST_POSTGRES"

// Each runs the test on each engine, in parallel, as subtests named after the engine. The database is new and migrated, and
// removed afterwards.
func Each(t *testing.T, test func(t *testing.T, db *store.DB)) {
	t.Helper()
	EachConfig(t, func(t *testing.T, cfg store.Config) { test(t, Open(t, cfg)) })
}

// EachConfig is [Each] for tests that open the database themselves: more than once, with their own clock,
// or in another process.
func EachConfig(t *testing.T, test func(t *testing.T, cfg store.Config)) {
	t.Helper()
	t.Run(string(store.SQLite), func(t *testing.T) {
		t.Parallel()
		test(t, store.Config{Dir: t.TempDir()})
	})
	t.Run(string(store.Postgres), func(t *testing.T) {
		t.Parallel()
		test(t, store.Config{URL: Postgres(t)})
	})
}

// Open opens a database until the end of the test.
func Open(t testing.TB, cfg store.Config) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), cfg)
	if err != nil {
		t.Fatalf("open the store: %v", err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return db
}

// Postgres returns the URL of a new, migrated database, dropped at the end of the test.
func Postgres(t testing.TB) string {
	t.Helper()
	return database(t, func(s *admin) string { return s.template })
}

// EmptyPostgres returns the URL of a new database without tables, dropped at the end of the test.
func EmptyPostgres(t testing.TB) string {
	t.Helper()
	return database(t, func(*admin) string { return `template0 ENCODING 'UTF8'` })
}

func database(t testing.TB, template func(*admin) string) string {
	t.Helper()
	s, err := server()
	if errors.Is(err, pgserver.ErrMissing) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatalf("PostgreSQL for tests: %v", err)
	}
	name := strings.ToLower(store.NewID("test"))
	if err := s.exec(t.Context(), `CREATE DATABASE `+name+` TEMPLATE `+template(s)); err != nil {
		t.Fatalf("create a database: %v", err)
	}
	t.Cleanup(func() {
		if err := s.exec(context.Background(), `DROP DATABASE `+name+` WITH (FORCE)`); err != nil {
			t.Errorf("drop the database: %v", err)
		}
	})
	return s.url(name)
}

// server is the PostgreSQL server of this test binary. A server started here ends with the process, see [pgserver.Start].
var server = sync.OnceValues(func() (*admin, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	address := os.Getenv(ServerVariable)
	var own *pgserver.Server
	if address == "" {
		var err error
		if own, err = pgserver.Start(ctx); err != nil {
			return nil, err
		}
		address = own.URL()
	}
	a, err := newAdmin(address)
	if err != nil {
		return nil, err
	}
	a.own = own
	return a, a.makeTemplate(ctx)
})

// admin creates and drops databases.
type admin struct {
	own      *pgserver.Server // may be nil; the reference prevents garbage collection, which would stop the server
	base     *url.URL
	db       *sql.DB
	template string // name of a migrated database to copy
}

func newAdmin(address string) (*admin, error) {
	base, err := url.Parse(address)
	if err != nil {
		return nil, errors.New(ServerVariable + " is not a URL")
	}
	db, err := sql.Open("pgx", address)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4)
	return &admin{base: base, db: db}, nil
}

// url returns the URL of a database on the server.
func (a *admin) url(database string) string {
	u := *a.base
	u.Path = "/" + database
	return u.String()
}

func (a *admin) exec(ctx context.Context, query string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	_, err := a.db.ExecContext(ctx, query)
	return err
}

// templateLock is the key of the advisory lock under which test binaries make the template.
const templateLock = 0x74656d706c617465

// makeTemplate migrates a database once for all test binaries with the same migrations; copying it takes a fraction of the
// time.
func (a *admin) makeTemplate(ctx context.Context) error {
	sum, err := schemaSum()
	if err != nil {
		return err
	}
	a.template = "template_" + sum
	conn, err := a.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, int64(templateLock)); err != nil {
		return err
	}
	defer conn.ExecContext(context.Background(), `SELECT pg_advisory_unlock($1)`, int64(templateLock))

	var exists bool
	err = conn.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = $1)`, a.template).Scan(&exists)
	if err != nil || exists {
		return err
	}
	draft := strings.ToLower(store.NewID("draft"))
	if _, err := conn.ExecContext(ctx, `CREATE DATABASE `+draft+` TEMPLATE template0 ENCODING 'UTF8'`); err != nil {
		return err
	}
	db, err := store.Open(ctx, store.Config{URL: a.url(draft)})
	if err != nil {
		return err
	}
	if err := db.Close(); err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, `ALTER DATABASE `+draft+` RENAME TO `+a.template)
	return err
}

// schemaSum is a short digest of all migrations.
func schemaSum() (string, error) {
	h := sha256.New()
	err := fs.WalkDir(migrations.Files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(migrations.Files, path)
		fmt.Fprintf(h, "%s %d\n%s", path, len(text), text)
		return err
	})
	return fmt.Sprintf("%x", h.Sum(nil)[:8]), err
}
