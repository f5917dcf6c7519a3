package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
)

func (l *lite) backup(ctx context.Context, path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s exists", path)
	}
	// The copy gets its name when it is whole, so that a backup that was cut short is not taken for one.
	partial := path + ".partial"
	if err := os.Remove(partial); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(partial, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer os.Remove(partial)
	defer f.Close()
	if _, err := l.db.ExecContext(ctx, `VACUUM INTO $1`, partial); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := verify(ctx, partial); err != nil {
		return fmt.Errorf("the copy is damaged: %w", err)
	}
	if err := os.Rename(partial, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// verify reads a database file from end to end.
func verify(ctx context.Context, path string) error {
	db, err := liteDB(path, url.Values{"mode": {"ro"}, "immutable": {"1"}})
	if err != nil {
		return err
	}
	defer db.Close()
	problems, err := lines(ctx, db, `PRAGMA integrity_check`)
	if err != nil {
		return err
	}
	if len(problems) != 1 || problems[0] != "ok" {
		return errors.New(problems[0])
	}
	return nil
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

func (l *lite) check(ctx context.Context) (Report, error) {
	r := Report{Engine: SQLite, Settings: map[string]string{}, Problems: []string{}}
	if err := l.db.QueryRowContext(ctx, `SELECT sqlite_version()`).Scan(&r.Version); err != nil {
		return Report{}, err
	}
	for _, p := range litePragmas {
		var got string
		if err := l.db.QueryRowContext(ctx, "PRAGMA "+p.name).Scan(&got); err != nil {
			return Report{}, err
		}
		r.Settings[p.name] = got
		if got != p.want {
			r.Problems = append(r.Problems, fmt.Sprintf("pragma %s is %s, not %s", p.name, got, p.want))
		}
	}
	damage, err := lines(ctx, l.db, `PRAGMA integrity_check`)
	if err != nil {
		return Report{}, err
	}
	for _, line := range damage {
		if line != "ok" {
			r.Problems = append(r.Problems, line)
		}
	}
	orphans, err := lines(ctx, l.db, `SELECT "table" || ' row ' || COALESCE(rowid, 0) || ' refers to a missing row of ' || parent FROM pragma_foreign_key_check`)
	if err != nil {
		return Report{}, err
	}
	r.Problems = append(r.Problems, orphans...)
	if r.Schema, r.Wanted, err = versions(ctx, l.db, SQLite); err != nil {
		return Report{}, err
	}
	r.checkSchema()
	return r, nil
}

func (p *pg) backup(context.Context, string) error {
	return errors.New("a PostgreSQL database is backed up by its own tools: use pg_dump, or continuous archiving")
}

// pgWanted are the server's settings without which a commit may be lost.
var pgWanted = []struct{ name, want string }{
	{"fsync", "on"},
	{"full_page_writes", "on"},
	{"synchronous_commit", "on"},
	{"server_encoding", "UTF8"},
}

func (p *pg) check(ctx context.Context) (Report, error) {
	r := Report{Engine: Postgres, Settings: map[string]string{}, Problems: []string{}}
	if err := p.db.QueryRowContext(ctx, `SHOW server_version`).Scan(&r.Version); err != nil {
		return Report{}, err
	}
	for _, s := range pgWanted {
		var got string
		if err := p.db.QueryRowContext(ctx, "SHOW "+s.name).Scan(&got); err != nil {
			return Report{}, err
		}
		r.Settings[s.name] = got
		if got != s.want {
			r.Problems = append(r.Problems, fmt.Sprintf("setting %s is %s, not %s", s.name, got, s.want))
		}
	}
	var err error
	if r.Schema, r.Wanted, err = versions(ctx, p.db, Postgres); err != nil {
		return Report{}, err
	}
	r.checkSchema()
	return r, nil
}

// lines returns the first column of a query.
func lines(ctx context.Context, db *sql.DB, query string) ([]string, error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return nil, err
		}
		all = append(all, line)
	}
	return all, rows.Err()
}
