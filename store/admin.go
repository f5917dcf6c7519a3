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
	// The copy gets its name when it is complete, so that a partial one is not taken for a backup.
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
	r := Report{Engine: SQLite, Settings: map[string]string{}, Warnings: []string{}, Problems: []string{}}
	for _, check := range []func(context.Context, *Report) error{l.checkSettings, l.checkPages, l.checkReferences, l.checkSchema} {
		err := check(ctx, &r)
		switch {
		case isDamage(err):
			r.Problems = append(r.Problems, err.Error())
		case err != nil:
			return Report{}, err
		}
	}
	return r, nil
}

func (l *lite) checkSettings(ctx context.Context, r *Report) error {
	if err := l.db.QueryRowContext(ctx, `SELECT sqlite_version()`).Scan(&r.Version); err != nil {
		return err
	}
	for _, p := range litePragmas {
		if err := r.checkSetting(ctx, l.db, "PRAGMA "+p.name, p.name, p.want); err != nil {
			return err
		}
	}
	return nil
}

func (l *lite) checkPages(ctx context.Context, r *Report) error {
	found, err := lines(ctx, l.db, `PRAGMA integrity_check`)
	for _, line := range found {
		if line != "ok" {
			r.Problems = append(r.Problems, line)
		}
	}
	return err
}

func (l *lite) checkReferences(ctx context.Context, r *Report) error {
	found, err := lines(ctx, l.db, `
		SELECT DISTINCT 'a row of ' || "table" || ' refers to a missing row of ' || parent FROM pragma_foreign_key_check`)
	r.Problems = append(r.Problems, found...)
	return err
}

func (l *lite) checkSchema(ctx context.Context, r *Report) error {
	return r.checkSchema(ctx, l.db)
}

func (p *pg) backup(context.Context, string) error {
	return errors.New("a PostgreSQL database is backed up by its own tools: use pg_dump, or continuous archiving")
}

// pgWanted are the server settings that durability needs.
var pgWanted = []struct{ name, want string }{
	{"fsync", "on"},
	{"full_page_writes", "on"},
	{"synchronous_commit", "on"},
	{"server_encoding", "UTF8"},
}

func (p *pg) check(ctx context.Context) (Report, error) {
	r := Report{Engine: Postgres, Settings: map[string]string{}, Warnings: []string{}, Problems: []string{}}
	if err := p.db.QueryRowContext(ctx, `SHOW server_version`).Scan(&r.Version); err != nil {
		return Report{}, err
	}
	for _, s := range pgWanted {
		if err := r.checkSetting(ctx, p.db, "SHOW "+s.name, s.name, s.want); err != nil {
			return Report{}, err
		}
	}
	if err := r.checkSchema(ctx, p.db); err != nil {
		return Report{}, err
	}
	return r, nil
}

// checkSetting reports a setting, with a warning if it is not the wanted one.
func (r *Report) checkSetting(ctx context.Context, db *sql.DB, query, name, want string) error {
	var got string
	if err := db.QueryRowContext(ctx, query).Scan(&got); err != nil {
		return err
	}
	r.Settings[name] = got
	if got != want {
		r.Warnings = append(r.Warnings, fmt.Sprintf("setting %s is %s, not %s", name, got, want))
	}
	return nil
}

// checkSchema reports the schema version, with a problem if it is not this program's.
func (r *Report) checkSchema(ctx context.Context, db *sql.DB) (err error) {
	if r.Schema, r.Wanted, err = versions(ctx, db, r.Engine); err != nil {
		return err
	}
	switch {
	case r.Schema < r.Wanted:
		r.Problems = append(r.Problems, fmt.Sprintf("schema %d is older than this program's %d: run db migrate", r.Schema, r.Wanted))
	case r.Schema > r.Wanted:
		r.Problems = append(r.Problems, fmt.Sprintf("schema %d is newer than this program's %d: update the program", r.Schema, r.Wanted))
	}
	return nil
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
