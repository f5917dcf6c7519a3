package store

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"strings"

	"github.com/pressly/goose/v3"

	"github.com/namewharf/namewharf/store/migrations"
)

// up applies the missing migrations. The caller holds the engine's migration lock.
func up(ctx context.Context, db *sql.DB, e Engine) ([]int64, error) {
	p, err := provider(db, e)
	if err != nil {
		return nil, err
	}
	current, target, err := p.GetVersions(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the schema version: %w", err)
	}
	if current > target {
		return nil, fmt.Errorf("the database has schema %d, newer than this program's %d: update the program", current, target)
	}
	results, err := p.Up(ctx)
	if err != nil {
		return nil, err
	}
	applied := make([]int64, 0, len(results))
	for _, r := range results {
		applied = append(applied, r.Source.Version)
	}
	return applied, nil
}

// versions returns the schema version of the database and that of this program.
func versions(ctx context.Context, db *sql.DB, e Engine) (current, target int64, err error) {
	p, err := provider(db, e)
	if err != nil {
		return 0, 0, err
	}
	sources := p.ListSources()
	target = sources[len(sources)-1].Version
	err = db.QueryRowContext(ctx, `SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version WHERE is_applied`).Scan(&current)
	if err != nil && isMissingTable(err) {
		return 0, target, nil
	}
	return current, target, err
}

func provider(db *sql.DB, e Engine) (*goose.Provider, error) {
	dialect := goose.DialectSQLite3
	if e == Postgres {
		dialect = goose.DialectPostgres
	}
	return goose.NewProvider(dialect, db, engineFS{migrations.Files, e}, goose.WithDisableGlobalRegistry(true))
}

// engineFS is the migrations without the files for the other engine.
type engineFS struct {
	fs.FS
	engine Engine
}

// ReadDir implements [fs.ReadDirFS].
func (f engineFS) ReadDir(name string) ([]fs.DirEntry, error) {
	all, err := fs.ReadDir(f.FS, name)
	var mine []fs.DirEntry
	for _, entry := range all {
		if f.shows(entry.Name()) {
			mine = append(mine, entry)
		}
	}
	return mine, err
}

func (f engineFS) shows(name string) bool {
	for _, e := range []Engine{SQLite, Postgres} {
		if strings.HasSuffix(name, "."+string(e)+".sql") {
			return e == f.engine
		}
	}
	return true
}
