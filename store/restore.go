package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

// ErrStoreExists is the error of [Restore] if there is a store and Overwrite is not set.
var ErrStoreExists = errors.New("there is a store")

// RestoreConfig configures [Restore].
type RestoreConfig struct {
	Backup    string           // file of [DB.Backup]
	Dir       string           // directory of the embedded store, created with mode 0700
	Overwrite bool             // replace an existing store
	Now       func() time.Time // nil: time.Now
	Logger    *slog.Logger     // nil: nothing is logged
}

// A Restored is the result of [Restore].
type Restored struct {
	Schema   int64  // version of the backup's schema, which the next [Open] migrates
	Replaced string // new name of the replaced store's file; empty: there was none
}

// Restore creates the embedded store from a backup. It first reads the whole backup, and fails if it is damaged, not a store,
// or newer than this program. It fails with [ErrStoreExists] if there is a store and Overwrite is not set, and it fails if a
// program has that store open. It renames the existing store, and does not remove it.
func Restore(ctx context.Context, cfg RestoreConfig) (Restored, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	schema, err := checkBackup(ctx, cfg.Backup)
	if err != nil {
		return Restored{}, fmt.Errorf("the backup %s: %w", cfg.Backup, err)
	}
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return Restored{}, err
	}
	l := &lite{dir: dir}
	info, err := os.Stat(l.path())
	exists := err == nil && info.Size() > 0
	if exists && !cfg.Overwrite {
		return Restored{}, fmt.Errorf("%w in %s", ErrStoreExists, shown(cfg.Dir, dir))
	}
	if err := prepareDir(dir, cfg.Logger); err != nil {
		return Restored{}, err
	}
	unlock, err := l.lock(ctx) // programs that start meanwhile wait
	if err != nil {
		return Restored{}, err
	}
	defer unlock()
	done := Restored{Schema: schema}
	partial := l.path() + ".partial"
	defer os.Remove(partial)
	if err := copyFile(cfg.Backup, partial); err != nil {
		return Restored{}, err
	}
	if err := verify(ctx, partial); err != nil {
		return Restored{}, fmt.Errorf("the copy is damaged: %w", err)
	}
	if exists {
		if err := l.release(ctx); err != nil {
			return Restored{}, err
		}
		done.Replaced = l.path() + ".replaced-" + cfg.Now().UTC().Format("20060102T150405Z")
		if err := moveAside(l.path(), done.Replaced); err != nil {
			return Restored{}, err
		}
	}
	if err := os.Rename(partial, l.path()); err != nil {
		return Restored{}, err
	}
	return done, syncDir(dir)
}

// checkBackup reads a whole backup and returns its schema version.
func checkBackup(ctx context.Context, path string) (schema int64, err error) {
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		return 0, errors.New("it is the file of a store in use, not a backup: there is a -wal beside it")
	}
	if err := verify(ctx, path); err != nil {
		return 0, err
	}
	db, err := liteDB(path, url.Values{"mode": {"ro"}, "immutable": {"1"}})
	if err != nil {
		return 0, err
	}
	defer db.Close()
	schema, newest, err := versions(ctx, db, SQLite)
	switch {
	case err != nil:
		return 0, err
	case schema == 0:
		return 0, errors.New("it is a database, but not one of this service")
	case schema > newest:
		return 0, fmt.Errorf("its schema %d is newer than this program's %d: update the program", schema, newest)
	}
	return schema, nil
}

// release writes the log of the store into its file and fails if a program has the store open, which prevents a change of the
// journal mode. It does not change a damaged store.
func (l *lite) release(ctx context.Context) error {
	db, err := liteDB(l.path(), url.Values{"_pragma": {"busy_timeout(0)"}})
	if err != nil {
		return err
	}
	defer db.Close()
	var mode string
	err = db.QueryRowContext(ctx, `PRAGMA journal_mode = DELETE`).Scan(&mode)
	switch {
	case isDamage(err):
		return nil
	case IsRetryable(err), err == nil && mode != "delete":
		return fmt.Errorf("a program has the store in %s open: stop it first", l.dir)
	}
	return err
}

// moveAside renames the file of a store, with its log if there is one.
func moveAside(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("%s exists", to)
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	for _, end := range []string{"-wal", "-shm"} {
		if err := os.Rename(from+end, to+end); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// copyFile copies a file to a new one with mode 0600, and syncs it.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.Remove(to); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}
