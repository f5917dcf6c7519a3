package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

func TestOpenFailsInOneClearSentence(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	junk := filepath.Join(dir, "junk")
	if err := errors.Join(
		os.WriteFile(file, nil, 0o600),
		os.Mkdir(junk, 0o700),
		os.WriteFile(filepath.Join(junk, "namewharf.db"), []byte(strings.Repeat("not a database. ", 100)), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name string
		cfg  store.Config
		want string
	}{
		{"nothing given", store.Config{}, "neither a directory nor a database URL"},
		{"a file in the way", store.Config{Dir: filepath.Join(file, "data")}, "not a directory"},
		{"not a database", store.Config{Dir: junk}, "not a database"},
		{"another scheme", store.Config{URL: "mysql://u:hunter2@127.0.0.1/x"}, "must begin with postgres://"},
		{"a wrong URL", store.Config{URL: "postgres://u:hunter2@127.0.0.1:port/x"}, "not valid"},
		{"a wrong setting", store.Config{URL: "postgres://u:hunter2@127.0.0.1:1/x?sslmode=perhaps"}, "sslmode"},
		{"nobody listens", store.Config{URL: "postgres://u:hunter2@127.0.0.1:1/x"}, "refused"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			db, err := store.Open(t.Context(), c.cfg)
			if err == nil {
				db.Close()
				t.Fatalf("got nil, want an error that says %q", c.want)
			}
			if text := err.Error(); !strings.Contains(text, c.want) || strings.Contains(text, "hunter2") || strings.Contains(text, "\n") {
				t.Errorf("got %q; want one line that says %q and no password", text, c.want)
			}
		})
	}
}

func TestDirectoryIsPrivate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "deep", "data #1 %41?")
	db := storetest.Open(t, store.Config{Dir: dir})
	makeTable(t, db)
	for path, want := range map[string]os.FileMode{"": 0o700, "namewharf.db": 0o600, "namewharf.db-wal": 0o600, "namewharf.db-shm": 0o600} {
		info, err := os.Stat(filepath.Join(dir, path))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("mode of %q: got %v, %v; want %v", path, info.Mode().Perm(), err, want)
		}
	}
}

func TestTemporaryStoreLeavesNothing(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp) // so not parallel
	db, err := store.Open(t.Context(), store.Config{Temporary: true})
	if err != nil {
		t.Fatal(err)
	}
	makeTable(t, db)
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(tmp); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestMigrationsRunOnceHoweverManyStart(t *testing.T) {
	t.Parallel()
	storetest.EachConfig(t, func(t *testing.T, cfg store.Config) {
		cfg.NoMigrate = true
		bare := storetest.Open(t, cfg)
		if bare.Engine() == store.Postgres { // storetest has migrated it
			execute(t, bare, `DROP SCHEMA public CASCADE`)
			execute(t, bare, `CREATE SCHEMA public`)
		}
		report, err := bare.Check(t.Context())
		if err != nil || report.Schema != 0 || report.Wanted == 0 || !slices.ContainsFunc(report.Problems, func(p string) bool { return strings.Contains(p, "run db migrate") }) {
			t.Errorf("check of an empty database: got %+v, %v; want schema 0 as a problem", report, err)
		}
		var (
			wg      sync.WaitGroup
			mu      sync.Mutex
			applied []int64
		)
		for range 6 {
			wg.Go(func() {
				db, err := store.Open(context.Background(), cfg)
				if err != nil {
					t.Errorf("open: %v", err)
					return
				}
				defer db.Close()
				versions, err := db.Migrate(context.Background())
				if err != nil {
					t.Errorf("migrate: %v", err)
				}
				mu.Lock()
				defer mu.Unlock()
				applied = append(applied, versions...)
			})
		}
		wg.Wait()
		if len(applied) == 0 || len(slices.Compact(slices.Clone(applied))) != len(applied) || applied[len(applied)-1] != report.Wanted {
			t.Errorf("migrations applied by six at once: got %v; want each up to %d once", applied, report.Wanted)
		}
	})
}

func TestNewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	storetest.EachConfig(t, func(t *testing.T, cfg store.Config) {
		db := storetest.Open(t, cfg)
		execute(t, db, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, $1)`, true)
		if _, err := store.Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "schema 9999, newer than") {
			t.Errorf("open: got %v, want a refusal of schema 9999", err)
		}
		report, err := db.Check(t.Context())
		if err != nil || !strings.Contains(report.String(), "schema 9999 is newer") {
			t.Errorf("check: got %v, %v; want schema 9999 as a problem", report, err)
		}
	})
}

func TestBackupIsAWholeStore(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t, store.Config{Dir: t.TempDir()})
	makeTable(t, db)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	wrote := make(chan struct{}, 1)
	wg.Go(func() { // a writer that goes on meanwhile, two rows at a time
		for ctx.Err() == nil {
			id := store.NewID("x")
			db.Tx(ctx, func(tx store.Tx) error {
				return errors.Join(insert(ctx, tx, id+"/1", 1), insert(ctx, tx, id+"/2", 2))
			})
			select {
			case wrote <- struct{}{}:
			default:
			}
		}
	})
	<-wrote
	dir := t.TempDir()
	path := filepath.Join(dir, "namewharf.db")
	if err := db.Backup(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if err := db.Backup(t.Context(), path); err == nil {
		t.Error("second backup to one file: got nil, want a refusal")
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the backup: got %v, %v; want 0600", info.Mode(), err)
	}
	restored := storetest.Open(t, store.Config{Dir: dir})
	if n := count(t, restored); n == 0 || n%2 != 0 {
		t.Errorf("rows in the restored store: got %d, want whole pairs", n)
	}
	if report, err := restored.Check(t.Context()); err != nil || len(report.Problems) > 0 {
		t.Errorf("check of the restored store: got %v, %v", report, err)
	}
	if left, _ := filepath.Glob(dir + "/*.partial"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestBackupOfPostgresNamesItsTool(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t, store.Config{URL: storetest.Postgres(t)})
	if err := db.Backup(t.Context(), filepath.Join(t.TempDir(), "x")); err == nil || !strings.Contains(err.Error(), "pg_dump") {
		t.Errorf("got %v, want advice to use pg_dump", err)
	}
}

func TestCheckFindsDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := storetest.Open(t, store.Config{Dir: dir})
	makeTable(t, db)
	err := db.Tx(t.Context(), func(tx store.Tx) error {
		for i := range 5000 {
			if err := insert(t.Context(), tx, store.NewID("thing"), i); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if report, err := db.Check(t.Context()); err != nil || len(report.Problems) > 0 {
		t.Fatalf("check of a sound store: got %v, %v", report, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "namewharf.db"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(make([]byte, 4096), 40*4096); err != nil {
		t.Fatal(err)
	}
	report, err := storetest.Open(t, store.Config{Dir: dir}).Check(t.Context())
	if err != nil || len(report.Problems) == 0 {
		t.Errorf("check of a damaged store: got %v, %v; want problems", report, err)
	}
}

func TestIDsSortByTime(t *testing.T) {
	t.Parallel()
	var last string
	for range 10_000 {
		id := store.NewID("ord")
		if len(id) != len("ord_")+26 || id <= last {
			t.Fatalf("id %q after %q: want 26 characters after the prefix, and a later one", id, last)
		}
		last = id
	}
}

func TestTimesComeBackToTheMicrosecond(t *testing.T) {
	t.Parallel()
	for _, at := range []time.Time{{}, time.Date(2026, 11, 21, 3, 4, 5, 678_901_000, time.UTC), time.Date(1969, 1, 1, 0, 0, 0, 0, time.UTC)} {
		if got := store.Time(store.Micros(at)); got != at {
			t.Errorf("got %v, want %v", got, at)
		}
	}
}

// Rules about time are tested in a bubble; an embedded store has to work in one.
func TestEmbeddedStoreWorksInABubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := storetest.Open(t, store.Config{Dir: t.TempDir()})
		other := storetest.Open(t, store.Config{Temporary: true})
		makeTable(t, other)
		for range 3 {
			if ran, err := db.Exclusively(t.Context(), "hourly", func(context.Context) error { return nil }); err != nil || !ran {
				t.Errorf("lease: got %v, %v; want true, nil", ran, err)
			}
			time.Sleep(time.Hour)
		}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := other.Tx(ctx, func(tx store.Tx) error { return insert(ctx, tx, store.NewID("x"), 1) }); err != nil {
					t.Errorf("insert: %v", err)
				}
			})
		}
		wg.Wait()
		if n := count(t, other); n != 8 {
			t.Errorf("rows: got %d, want 8", n)
		}
	})
}
