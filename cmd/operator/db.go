package main

import (
	"context"
	"fmt"
	"io"

	"github.com/namewharf/namewharf/store"
)

// migrateDB brings the schema up to date. It alone of the operator's commands makes a store where there is none, and the
// keys beside an embedded one.
func migrateDB(ctx context.Context, d *desk, _ []string) error {
	db, err := d.openAs(ctx, store.Config{NoMigrate: true})
	if err != nil {
		return err
	}
	if d.db == "" {
		if _, err := d.loadKeys(true); err != nil {
			return err
		}
	}
	applied, err := db.Migrate(ctx)
	if err != nil {
		return err
	}
	if len(applied) > 0 {
		details := map[string]any{"before": applied[0] - 1, "after": applied[len(applied)-1]}
		err := db.Tx(ctx, func(tx store.Tx) error { return d.author().Record(ctx, tx, "db.migrate", "schema", details) })
		if err != nil {
			return err
		}
	}
	result := struct {
		Applied []int64 `json:"applied"`
	}{append([]int64{}, applied...)}
	return d.print(result, func(w io.Writer) { fmt.Fprintf(w, "migrations applied\t%d\n", len(applied)) })
}

// backupDB writes a copy of the embedded store while it is in use.
func backupDB(ctx context.Context, d *desk, args []string) error {
	db, err := d.openAsIs(ctx)
	if err != nil {
		return err
	}
	if err := db.Backup(ctx, args[0]); err != nil {
		return err
	}
	result := struct {
		File string `json:"file"`
	}{args[0]}
	return d.print(result, func(w io.Writer) { fmt.Fprintf(w, "backup\t%s\n", result.File) })
}

// checkDB fails where it finds damage; settings that risk what is stored are told.
func checkDB(ctx context.Context, d *desk, _ []string) error {
	db, err := d.openAsIs(ctx)
	if err != nil {
		return err
	}
	report, err := db.Check(ctx)
	if err != nil {
		return err
	}
	if err := d.print(report, func(w io.Writer) { fmt.Fprintln(w, report) }); err != nil {
		return err
	}
	if n := len(report.Problems); n > 0 {
		return fmt.Errorf("%d problems found", n)
	}
	return nil
}
