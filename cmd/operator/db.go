package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/namewharf/namewharf/internal/app"
	"github.com/namewharf/namewharf/store"
)

// dbCommands are about the database.
func (p *program) dbCommands() *cobra.Command {
	return group("store", "db", "The database",
		p.command(migrateDB, &cobra.Command{
			Use: "migrate", Short: "Bring the schema up to date; make the store where there is none",
			Example: "  operator db migrate -data /var/lib/namewharf",
		}),
		p.command(backupDB, &cobra.Command{
			Use: "backup FILE", Short: "Write a copy of the embedded store while it is in use",
			Long:    "Writes a copy of the embedded store to a file that does not exist yet, while the service runs. The price list (prices.csv) and the key file (server.key) are not in it: copy them too, the key file to another place. With PostgreSQL use pg_dump.",
			Example: "  operator db backup /backup/namewharf-2026-11-01.db -data /var/lib/namewharf",
		}),
		p.command(restoreDB, &cobra.Command{
			Use: "restore FILE", Short: "Make the embedded store from a backup",
			Long: "Makes the embedded store from a file of \"db backup\", which is checked first. Where there is a store it is refused, unless -overwrite is given: then the programs that use the store must be stopped, and its file is moved aside. " +
				"The key file of the time of the backup must be beside it. With PostgreSQL use pg_restore.",
			Example: "  operator db restore /backup/namewharf-2026-11-01.db -data /var/lib/namewharf\n  operator db restore namewharf.db -overwrite -reason \"a disk was lost\"",
		}, overwriteFlag),
		p.command(checkDB, &cobra.Command{
			Use: "check", Short: "Check for damage and for risky database settings",
			Long:    "Checks for damage, for which the exit status is 1, and warns of database settings that risk data loss.",
			Example: "  operator db check -json",
		}),
	)
}

// migrateDB migrates the schema. It creates a missing store, and the keys of an embedded one.
func migrateDB(ctx context.Context, p *program, _ []string) error {
	db, err := p.openAs(ctx, store.Config{NoMigrate: true})
	if err != nil {
		return err
	}
	if p.db == "" {
		if _, err := p.loadKeys(true); err != nil {
			return err
		}
	}
	applied, err := db.Migrate(ctx)
	if err != nil {
		return err
	}
	if len(applied) > 0 {
		details := map[string]any{"before": applied[0] - 1, "after": applied[len(applied)-1]}
		err := db.Tx(ctx, func(tx store.Tx) error { return p.author().Record(ctx, tx, "db.migrate", "schema", details) })
		if err != nil {
			return err
		}
	}
	result := struct {
		Applied []int64 `json:"applied"`
	}{append([]int64{}, applied...)}
	return p.print(result, func(w io.Writer) { fmt.Fprintf(w, "migrations applied\t%d\n", len(applied)) })
}

// backupDB writes a copy of the embedded store while it is in use.
func backupDB(ctx context.Context, p *program, args []string) error {
	db, err := p.openAsIs(ctx)
	if err != nil {
		return err
	}
	if err := db.Backup(ctx, args[0]); err != nil {
		return err
	}
	result := struct {
		File string `json:"file"`
	}{args[0]}
	return p.print(result, func(w io.Writer) { fmt.Fprintf(w, "backup\t%s\n", result.File) })
}

// A restoration is the result of db restore.
type restoration struct {
	File     string `json:"file"`
	Data     string `json:"data"`
	Replaced string `json:"replaced,omitempty"` // the new path of the previous store
	KeyFile  string `json:"key_file"`           // or the variable with the keys
	Fits     bool   `json:"key_fits"`           // the keys open the sealed rows of the backup
}

// restoreDB makes the embedded store from a backup.
func restoreDB(ctx context.Context, p *program, args []string) error {
	if p.db != "" {
		return usagef("a PostgreSQL database is restored by its own tools: use pg_restore, or psql for a plain dump of pg_dump")
	}
	file, err := openFile(args[0])
	if err != nil {
		return err
	}
	file.Close()
	done, err := store.Restore(ctx, store.RestoreConfig{Backup: args[0], Dir: p.data, Overwrite: p.overwrite})
	if errors.Is(err, store.ErrStoreExists) {
		return usagef("%w; -overwrite replaces it, and moves its file aside", err)
	}
	if err != nil {
		return err
	}
	db, err := p.open(ctx) // which migrates its schema
	if err != nil {
		return err
	}
	details := map[string]any{"source": filepath.Base(args[0]), "schema": done.Schema, "replaced": done.Replaced != ""}
	if err := db.Tx(ctx, func(tx store.Tx) error { return p.author().Record(ctx, tx, "db.restore", "store", details) }); err != nil {
		return err
	}
	result := restoration{File: args[0], Data: p.data, Replaced: done.Replaced}
	if result.KeyFile, err = p.keys.KeysPath(p.environ, p.data); err != nil {
		return usageError{err}
	}
	result.KeyFile = cmp.Or(result.KeyFile, app.KeyVariables[0])
	_, keysErr := p.sealingKeys(ctx, db)
	result.Fits = keysErr == nil
	return p.print(result, func(w io.Writer) { result.print(w, keysErr) })
}

func (r restoration) print(w io.Writer, keysErr error) {
	fmt.Fprintf(w, "restored\t%s\nstore\t%s\n", r.File, r.Data)
	if r.Replaced != "" {
		fmt.Fprintf(w, "replaced\tthe store that was there is now %s\n", r.Replaced)
	}
	fmt.Fprintf(w, "key file\t%s\n", r.KeyFile)
	if r.Fits {
		fmt.Fprintln(w, "\tits keys open what the backup has sealed")
	} else {
		fmt.Fprintf(w, "\tput the key file of the time of the backup there before the service starts: %v\n", keysErr)
	}
	fmt.Fprintf(w, "price list\t%s is not in a backup: copy it too\n", app.PricesFile)
}

// checkDB fails if it finds damage, and warns of risky settings.
func checkDB(ctx context.Context, p *program, _ []string) error {
	db, err := p.openAsIs(ctx)
	if err != nil {
		return err
	}
	report, err := db.Check(ctx)
	if err != nil {
		return err
	}
	if err := p.print(report, func(w io.Writer) { fmt.Fprintln(w, report) }); err != nil {
		return err
	}
	if n := len(report.Problems); n > 0 {
		return fmt.Errorf("%d problems found", n)
	}
	return nil
}
