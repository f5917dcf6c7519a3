package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/namewharf/namewharf/store"
)

// backedUp returns a backup of a store with a row, and the directory of the closed store.
func backedUp(t *testing.T) (backup, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "data")
	db := openDir(t, dir)
	leased(t, db, "before the backup")
	backup = filepath.Join(t.TempDir(), "copy.db")
	if err := errors.Join(db.Backup(t.Context(), backup), db.Close()); err != nil {
		t.Fatal(err)
	}
	return backup, dir
}

func openDir(t *testing.T, dir string) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), store.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// leased writes a row that identifies a store.
func leased(t *testing.T, db *store.DB, name string) {
	t.Helper()
	if err := db.Tx(t.Context(), func(tx store.Tx) error {
		_, err := tx.Exec(t.Context(), `INSERT INTO secrets (name, value) VALUES ($1, $2)`, name, []byte("x"))
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// names returns the rows of leased in the store of a directory.
func names(t *testing.T, dir string) (all string) {
	t.Helper()
	db := openDir(t, dir)
	defer db.Close()
	if err := db.Read(t.Context(), func(tx store.Tx) error {
		return tx.QueryRow(t.Context(), `SELECT COALESCE(group_concat(name, ', ' ORDER BY name), '') FROM secrets`).Scan(&all)
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestRestore(t *testing.T) {
	t.Parallel()
	backup, dir := backedUp(t)
	fresh := filepath.Join(t.TempDir(), "fresh")
	if done, err := store.Restore(t.Context(), store.RestoreConfig{Backup: backup, Dir: fresh}); err != nil || done.Schema == 0 || done.Replaced != "" {
		t.Fatalf("into nothing: got %+v, %v", done, err)
	}
	if got := names(t, fresh); got != "before the backup" {
		t.Errorf("got the rows %q", got)
	}
	if info, err := os.Stat(filepath.Join(fresh, "namewharf.db")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v; want that only its owner reads it", info.Mode(), err)
	}

	// Over a store: only with Overwrite, not while it is in use, and the old store is kept.
	if _, err := store.Restore(t.Context(), store.RestoreConfig{Backup: backup, Dir: dir}); !errors.Is(err, store.ErrStoreExists) {
		t.Errorf("over a store: got %v, want %v", err, store.ErrStoreExists)
	}
	db := openDir(t, dir)
	leased(t, db, "after the backup")
	if _, err := store.Restore(t.Context(), store.RestoreConfig{Backup: backup, Dir: dir, Overwrite: true}); err == nil || !strings.Contains(err.Error(), "stop it first") {
		t.Errorf("over a store in use: got %v", err)
	}
	leased(t, db, "still in use")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	done, err := store.Restore(t.Context(), store.RestoreConfig{Backup: backup, Dir: dir, Overwrite: true})
	if err != nil || done.Replaced == "" {
		t.Fatalf("over a store: got %+v, %v", done, err)
	}
	if got := names(t, dir); got != "before the backup" {
		t.Errorf("got the rows %q", got)
	}
	replaced := t.TempDir()
	if err := os.Rename(done.Replaced, filepath.Join(replaced, "namewharf.db")); err != nil {
		t.Fatal(err)
	}
	if got := names(t, replaced); got != "after the backup, before the backup, still in use" {
		t.Errorf("the store that was there has the rows %q", got)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.partial")); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
}

// A backup replaces a damaged store.
func TestRestoreOverDamage(t *testing.T) {
	t.Parallel()
	backup, dir := backedUp(t)
	if err := os.WriteFile(filepath.Join(dir, "namewharf.db"), []byte(strings.Repeat("not a database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Restore(t.Context(), store.RestoreConfig{Backup: backup, Dir: dir, Overwrite: true}); err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir); got != "before the backup" {
		t.Errorf("got the rows %q", got)
	}
}

// An invalid backup changes nothing.
func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	backup, dir := backedUp(t)
	whole, err := os.ReadFile(backup)
	if err != nil {
		t.Fatal(err)
	}
	file := func(name string, text []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	damaged := append([]byte{}, whole...)
	for i := 8192; i < 8192+4096; i++ {
		damaged[i] ^= 0x55
	}
	inUse := file("namewharf.db", whole)
	if err := os.WriteFile(inUse+"-wal", []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	newer := openDir(t, filepath.Dir(file("namewharf.db", whole)))
	if err := newer.Tx(t.Context(), func(tx store.Tx) error {
		_, err := tx.Exec(t.Context(), `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)`)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	later := filepath.Join(t.TempDir(), "later.db")
	if err := errors.Join(newer.Backup(t.Context(), later), newer.Close()); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ path, want string }{
		"text":               {file("text", []byte("domain,price_cents\n")), "not a database"},
		"an empty file":      {file("empty", nil), "not one of this service"},
		"half a backup":      {file("half", whole[:len(whole)/2]), ""},
		"a damaged backup":   {file("damaged", damaged), ""},
		"a file in use":      {inUse, "not a backup"},
		"no file":            {filepath.Join(t.TempDir(), "none"), ""},
		"of a later version": {later, "update the program"},
	} {
		_, err := store.Restore(t.Context(), store.RestoreConfig{Backup: c.path, Dir: dir, Overwrite: true})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want one line with %q", name, err, c.want)
		}
	}
	if got := names(t, dir); got != "before the backup" {
		t.Errorf("the store has the rows %q", got)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*replaced*")); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
}
