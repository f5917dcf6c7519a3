//go:build unix

package store_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/namewharf/namewharf/store"
)

// modes are the permissions of a directory and what is in it.
func modes(t *testing.T, dir string) map[string]os.FileMode {
	t.Helper()
	all := map[string]os.FileMode{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = info.Mode().Perm()
	}
	return all
}

// The lock file had the mode of the umask, and the directory kept its mode.
func TestStoreIsPrivate(t *testing.T) {
	// Not parallel: the umask belongs to the process.
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	open := func() {
		t.Helper()
		db, err := store.Open(t.Context(), store.Config{Dir: dir, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Tx(t.Context(), func(tx store.Tx) error {
			_, err := tx.Exec(t.Context(), `INSERT INTO secrets (name, value) VALUES ('a', 'b') ON CONFLICT DO NOTHING`)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		for name, mode := range modes(t, dir) {
			if mode != 0o600 {
				t.Errorf("%s has mode %v, want 0600", name, mode)
			}
		}
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("the directory has mode %v, %v, want 0700", info.Mode(), err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	open()
	if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "0755") {
		t.Errorf("the log has %d lines: %s", n, &log)
	}
	// A copy put back with wider modes.
	for name := range modes(t, dir) {
		if err := os.Chmod(filepath.Join(dir, name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	open()
}

// The mode of a directory that is not only for a store does not change.
func TestDirectoryOfOthers(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(dir string) error{
		"it holds directories": func(dir string) error {
			return errors.Join(os.Chmod(dir, 0o755), os.Mkdir(filepath.Join(dir, "lib"), 0o755))
		},
		"all may write to it": func(dir string) error { return os.Chmod(dir, 0o777|os.ModeSticky) },
		"it belongs to another": func(dir string) error {
			if os.Geteuid() != 0 {
				return os.ErrPermission
			}
			return errors.Join(os.Chmod(dir, 0o755), os.Chown(dir, 12345, 12345))
		},
	} {
		dir := t.TempDir()
		if err := make(dir); err != nil {
			if errors.Is(err, os.ErrPermission) {
				continue // only root can make one
			}
			t.Fatal(err)
		}
		before, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		_, err = store.Open(t.Context(), store.Config{Dir: dir})
		if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "others") {
			t.Errorf("%s: got %v", name, err)
		}
		after, err := os.Stat(dir)
		if err != nil || after.Mode() != before.Mode() {
			t.Errorf("%s: its mode is %v, %v, was %v", name, after.Mode(), err, before.Mode())
		}
		if _, err := os.Stat(filepath.Join(dir, "namewharf.db")); err == nil {
			t.Errorf("%s: a store was made", name)
		}
	}
}

func TestExisting(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a-typo")
	_, err := store.Open(t.Context(), store.Config{Dir: dir, Existing: true})
	if !errors.Is(err, store.ErrNoStore) || !strings.Contains(err.Error(), dir) {
		t.Errorf("got %v, want ErrNoStore with the directory", err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the directory was made")
	}
	db, err := store.Open(t.Context(), store.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	db.Close()
	if db, err = store.Open(t.Context(), store.Config{Dir: dir, Existing: true}); err != nil {
		t.Fatal(err)
	}
	db.Close()
}
