package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"modernc.org/sqlite"
)

// Names in the directory of an embedded store.
const (
	liteFile = "namewharf.db"
	lockFile = "migrate.lock"
)

// Limits of waiting for other processes on the same store.
const (
	busyTimeout = 10 * time.Second // for their write transactions
	lockTimeout = time.Minute      // for their migration
)

// litePragmas are set on every connection and read back, since SQLite ignores those that it cannot set, such as journal_mode
// on a network file system.
var litePragmas = []struct{ name, want string }{
	{"busy_timeout", fmt.Sprint(busyTimeout.Milliseconds())},
	{"journal_mode", "wal"},
	{"synchronous", "2"}, // FULL: a commit is on the disk when it returns
	{"foreign_keys", "1"},
	{"trusted_schema", "0"},
	{"journal_size_limit", fmt.Sprint(64 << 20)}, // to which the log shrinks after a long read
	{"cache_size", "-8000"},                      // kB a connection
}

// lite is an embedded SQLite database.
type lite struct {
	dir       string
	temporary bool
	db        *sql.DB // opens connections, which are never returned to its pool
	writer    *writer

	readers  chan *liteConn // a slot for each reader; nil: not opened yet
	closing  chan struct{}  // closed when no reader may start
	closeOne sync.Once
}

func openSQLite(ctx context.Context, cfg Config) (_ *lite, err error) {
	dir := cfg.Dir
	if cfg.Temporary {
		if dir, err = os.MkdirTemp("", "namewharf-"); err != nil {
			return nil, fmt.Errorf("make a temporary directory: %w", err)
		}
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	if cfg.Existing {
		if info, err := os.Stat(filepath.Join(dir, liteFile)); err != nil || info.Size() == 0 {
			return nil, fmt.Errorf("%w in %s", ErrNoStore, shown(cfg.Dir, dir))
		}
	}
	if err := prepareDir(dir, cfg.Logger); err != nil {
		return nil, err
	}
	conns := cfg.Conns
	if conns == 0 {
		conns = max(4, 2*runtime.GOMAXPROCS(0))
	}
	l := &lite{dir: dir, temporary: cfg.Temporary, readers: make(chan *liteConn, conns), closing: make(chan struct{})}
	for range conns {
		l.readers <- nil
	}
	l.writer = &writer{limit: batchTime, open: func(ctx context.Context) (*liteConn, error) { return l.connect(ctx, false) }}
	if l.db, err = openLite(l.path()); err != nil {
		return nil, err
	}

	// The first connection makes the file and switches the journal, one process at a time.
	unlock, err := l.lock(ctx)
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	defer unlock()
	if l.writer.conn, err = l.connect(ctx, false); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", l.path(), err), l.close())
	}
	return l, nil
}

func (l *lite) name() Engine { return SQLite }
func (l *lite) path() string { return filepath.Join(l.dir, liteFile) }

// shown is a directory as entered, and its absolute path.
func shown(typed, dir string) string {
	if typed == dir {
		return dir
	}
	return typed + " (" + dir + ")"
}

// prepareDir creates the directory and, in it, the database file and the lock file, readable only by the owner. SQLite gives
// its log the mode of the database file.
func prepareDir(dir string, log *slog.Logger) error {
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = closeDir(dir, log)
	}
	for _, name := range []string{liteFile, lockFile} {
		if err == nil {
			err = makeFile(filepath.Join(dir, name))
		}
	}
	for _, name := range []string{liteFile, liteFile + "-wal", liteFile + "-shm", lockFile} {
		if err == nil {
			err = closeFile(filepath.Join(dir, name))
		}
	}
	// A path error repeats the path; its cause is enough.
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("directory %s is not writable: %w", dir, cause.Err)
	}
	return err
}

func makeFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// openLite prepares connections to the file with the pragmas above.
func openLite(path string) (*sql.DB, error) {
	q := url.Values{"_txlock": {"immediate"}, "_dqs": {"0"}, "_error_rc": {"1"}}
	for _, p := range litePragmas {
		q.Add("_pragma", p.name+"("+p.want+")")
	}
	return liteDB(path, q)
}

// liteDB prepares connections to the file with the given parameters.
func liteDB(path string, q url.Values) (*sql.DB, error) {
	c, err := sqlite.NewConnector((&url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: q.Encode()}).String())
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(c), nil
}

// connect opens a connection and checks its pragmas.
func (l *lite) connect(ctx context.Context, readOnly bool) (*liteConn, error) {
	sc, err := l.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	c := newLiteConn(sc)
	for _, p := range litePragmas {
		var got string
		if err := sc.QueryRowContext(ctx, "PRAGMA "+p.name).Scan(&got); err != nil {
			return nil, errors.Join(fmt.Errorf("pragma %s: %w", p.name, err), c.close())
		}
		if got != p.want {
			return nil, errors.Join(fmt.Errorf("pragma %s is %s, not %s; is the directory on a local disk?", p.name, got, p.want), c.close())
		}
	}
	own := "PRAGMA temp_store = MEMORY" // savepoint journals in memory save a third of the time of a small transaction
	if readOnly {
		own = "PRAGMA query_only = 1"
	}
	if _, err := sc.ExecContext(ctx, own); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (l *lite) write(ctx context.Context, fn func(Tx) error) error { return l.writer.do(ctx, fn) }

func (l *lite) read(ctx context.Context, fn func(Tx) error) error {
	var c *liteConn
	select {
	case <-l.closing:
		return ErrClosed
	default:
	}
	select {
	case c = <-l.readers:
	case <-l.closing:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	healthy := false
	defer func() {
		if !healthy && c != nil {
			c.close()
			c = nil
		}
		l.readers <- c
	}()
	var err error
	if c == nil {
		if c, err = l.connect(ctx, true); err != nil {
			return err
		}
	}
	if err := c.control("BEGIN"); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	s := &session{conn: c}
	defer func() {
		s.end(nil)
		healthy = c.control("ROLLBACK") == nil // nothing was written
	}()
	return s.end(fn(Tx{s}))
}

// lock prevents other processes from opening or migrating the same store until unlock is called. It is a transaction on
// another database, since a migration needs its own transactions on the real one.
func (l *lite) lock(ctx context.Context) (unlock func(), err error) {
	q := url.Values{"_pragma": {fmt.Sprintf("busy_timeout(%d)", lockTimeout.Milliseconds())}}
	db, err := liteDB(filepath.Join(l.dir, lockFile), q)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, "BEGIN EXCLUSIVE"); err != nil {
		if IsRetryable(err) {
			err = fmt.Errorf("another process has been opening or migrating %s for %v", l.dir, lockTimeout)
		}
		return nil, errors.Join(err, db.Close())
	}
	return func() { db.Close() }, nil // which rolls back
}

func (l *lite) migrate(ctx context.Context) ([]int64, error) {
	unlock, err := l.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return up(ctx, l.db, SQLite)
}

func (l *lite) close() error {
	var err error
	l.closeOne.Do(func() {
		err = l.writer.close()
		close(l.closing)
		for range cap(l.readers) {
			if c := <-l.readers; c != nil {
				err = errors.Join(err, c.close())
			}
		}
		err = errors.Join(err, l.db.Close())
		if l.temporary {
			err = errors.Join(err, os.RemoveAll(l.dir))
		}
	})
	return err
}

// statements is how many prepared statements a connection caches (LRU).
const statements = 256

// A liteConn is one SQLite connection with its prepared statements. One goroutine at a time uses it.
type liteConn struct {
	conn  *sql.Conn
	stmts *simplelru.LRU[string, *sql.Stmt]
}

func newLiteConn(conn *sql.Conn) *liteConn {
	stmts, _ := simplelru.NewLRU(statements, func(_ string, s *sql.Stmt) { s.Close() }) // fails on a size of 0
	return &liteConn{conn, stmts}
}

func (c *liteConn) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	if s, ok := c.stmts.Get(query); ok {
		return s, nil
	}
	s, err := c.conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	c.stmts.Add(query, s)
	return s, nil
}

// ExecContext implements querier.
func (c *liteConn) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	s, err := c.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	return s.ExecContext(ctx, args...)
}

// QueryContext implements querier.
func (c *liteConn) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	s, err := c.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(ctx, args...)
}

// control runs a transaction control statement, such as BEGIN.
func (c *liteConn) control(query string) error {
	_, err := c.ExecContext(context.Background(), query)
	return err
}

// close closes the connection, which rolls back. [sql.Conn.Close] would return it to the pool with its transaction open.
func (c *liteConn) close() error {
	c.stmts.Purge()
	err := c.conn.Raw(func(any) error { return driver.ErrBadConn })
	if errors.Is(err, driver.ErrBadConn) {
		return nil
	}
	return err
}
