package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/namewharf/namewharf/internal/app"
	"github.com/namewharf/namewharf/partner/admin"
	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/store"
)

// keyCommands are the commands of the server's keys.
func (p *program) keyCommands() *cobra.Command {
	return group("store", "key", "Keys that encrypt secrets in the store",
		p.command(listKeys, &cobra.Command{Use: "list", Short: "List the keys, and how many rows each has sealed", Example: "  operator key list -json"}),
		p.command(withOperator(rotateKeys), &cobra.Command{
			Use: "rotate", Short: "Seal everything with a new key, while the service runs",
			Long: "Puts a new key first into the key file and seals every row with it, while the service runs; running programs follow the file within a second. Begun again after an interruption it goes on with what is left. " +
				"-retire, 10 minutes later, removes the keys before, and refuses while a row is sealed with one.",
			Example: "  operator key rotate -data /var/lib/namewharf\n  operator key rotate -retire -data /var/lib/namewharf",
		}, retireFlag),
	)
}

// loadKeys reads the server's keys. It creates a key file only if make is true, because the service could not read rows
// sealed with another key.
func (p *program) loadKeys(make bool) (*seal.Keys, error) {
	given := p.keys
	given.KeysExist = !make
	keys, err := given.Keys(p.environ, p.data, slog.New(slog.NewTextHandler(p.stderr, nil)))
	if err != nil {
		return nil, usageError{err}
	}
	return keys, nil
}

// sealingKeys returns the server's keys after checking that they fit the store.
func (p *program) sealingKeys(ctx context.Context, db *store.DB) (*seal.Keys, error) {
	keys, err := p.loadKeys(false)
	if err != nil {
		return nil, err
	}
	if _, err := app.Secret(ctx, db, keys); err != nil {
		return nil, usageError{err}
	}
	return keys, nil
}

// A keyRow is a key of the server as it is printed.
type keyRow struct {
	ID    string         `json:"key_id"`
	Seals bool           `json:"seals"`
	Known bool           `json:"known"`
	Rows  int            `json:"rows"`
	Where map[string]int `json:"tables"`
}

// listKeys lists the keys, and how many rows each seals.
func listKeys(ctx context.Context, p *program, _ []string) error {
	db, err := p.open(ctx)
	if err != nil {
		return err
	}
	keys, err := p.loadKeys(false) // whether or not they fit the store
	if err != nil {
		return err
	}
	uses, err := admin.New(db, keys, time.Now, "operator").KeyUses(ctx)
	if err != nil {
		return err
	}
	rows := make([]keyRow, len(uses))
	for i, u := range uses {
		rows[i] = keyRow{u.ID.String(), u.Seals, u.Known, u.Total(), u.Rows}
	}
	return p.print(rows, func(w io.Writer) {
		fmt.Fprintln(w, "key\tuse\trows\ttables")
		for _, r := range rows {
			use := "opens"
			switch {
			case r.Seals:
				use = "seals"
			case !r.Known:
				use = "missing"
			}
			var tables []string
			for _, table := range slices.Sorted(maps.Keys(r.Where)) {
				tables = append(tables, fmt.Sprintf("%s %d", table, r.Where[table]))
			}
			fmt.Fprintf(w, "%s\t%s\t%d\t%s\n", r.ID, use, r.Rows, strings.Join(tables, ", "))
		}
	})
}

// A rotation is the result of key rotate.
type rotation struct {
	Key     string   `json:"key_id"`        // that seals
	Made    bool     `json:"made"`          // just now
	Rows    int      `json:"rows"`          // sealed anew
	Lost    int      `json:"rows_not_open"` // whose key is not in the file
	Older   []string `json:"older_keys"`    // that are still in the file
	Removed []string `json:"removed_keys"`
}

// keyLease prevents two operators from changing the file at once.
const keyLease = "server keys"

// rotateKeys puts a new key first and seals everything with it, or finishes a rotation that was begun; with -retire it
// removes the keys before.
func rotateKeys(ctx context.Context, p *program, op *admin.Operator, _ []string) error {
	path, err := p.keys.KeysPath(p.environ, p.data)
	if err != nil {
		return usageError{err}
	}
	ran, err := p.store.Exclusively(ctx, keyLease, func(ctx context.Context) error { return changeKeys(ctx, p, op, path) })
	if err == nil && !ran {
		return usagef("another operator is changing the keys; one that was interrupted is waited for some seconds")
	}
	return err
}

// changeKeys does the work of rotateKeys while it has the lease.
func changeKeys(ctx context.Context, p *program, op *admin.Operator, path string) error {
	uses, err := op.KeyUses(ctx)
	if err != nil {
		return err
	}
	var did rotation
	if p.retire {
		did, err = retireKeys(ctx, op, path, uses)
	} else {
		did, err = rotateTo(ctx, op, path, uses)
	}
	if err != nil {
		return err
	}
	err = p.print(did, func(w io.Writer) { did.print(w, filepath.Dir(path)) })
	if err == nil && did.Lost > 0 {
		err = fmt.Errorf("%d rows stay as they are: their key is not in the file; key list tells which", did.Lost)
	}
	return err
}

// rotateTo seals every row with the first key. It creates a new first key unless an earlier rotation is unfinished.
func rotateTo(ctx context.Context, op *admin.Operator, path string, uses []admin.KeyUse) (rotation, error) {
	did := rotation{Key: uses[0].ID.String(), Older: []string{}, Removed: []string{}}
	begun := slices.ContainsFunc(uses[1:], func(u admin.KeyUse) bool { return u.Known && u.Total() > 0 })
	if !begun {
		if path == "" {
			return did, usagef("the keys are in the environment: put a new one first there, restart every program, and say this again")
		}
		id, err := seal.AddKey(path)
		if err != nil {
			return did, err
		}
		did.Key, did.Made = id.String(), true
		if err := op.RecordKey(ctx, "key.rotate", id, nil); err != nil {
			return did, err
		}
		if err := op.ReloadKeys(id); err != nil {
			return did, err
		}
	}
	rows, lost, err := op.Reseal(ctx)
	did.Rows, did.Lost = rows, lost
	for _, u := range uses {
		if u.Known && u.ID.String() != did.Key {
			did.Older = append(did.Older, u.ID.String())
		}
	}
	return did, err
}

// retireAfter is how long the previous keys stay in the file after a change. Sign-ins in progress, whose state is sealed with
// them in a browser, may take that long.
const retireAfter = 10 * time.Minute

// retireKeys removes all keys but the first from the file, if they seal nothing.
func retireKeys(ctx context.Context, op *admin.Operator, path string, uses []admin.KeyUse) (rotation, error) {
	did := rotation{Key: uses[0].ID.String(), Older: []string{}, Removed: []string{}}
	var old []seal.ID
	for _, u := range uses[1:] {
		if !u.Known {
			continue
		}
		if n := u.Total(); n > 0 {
			return did, usagef("%d rows are still sealed with key %s: say key rotate first, which goes on with them", n, u.ID)
		}
		old = append(old, u.ID)
	}
	if len(old) == 0 {
		return did, nil
	}
	if path == "" {
		return did, usagef("no row needs the keys after the first any more: remove them from the environment, and restart every program")
	}
	info, err := os.Stat(path)
	if err != nil {
		return did, err
	}
	if wait := retireAfter - time.Since(info.ModTime()); wait > 0 {
		return did, usagef("the file was changed less than %v ago, and browsers may still hold what the keys before have sealed: try again in %v", retireAfter, wait.Round(time.Second))
	}
	if err := seal.RemoveKeys(path, old...); err != nil {
		return did, err
	}
	var errs []error
	for _, id := range old {
		did.Removed = append(did.Removed, id.String())
		errs = append(errs, op.RecordKey(ctx, "key.retire", id, nil))
	}
	return did, errors.Join(errs...)
}

func (r rotation) print(w io.Writer, dir string) {
	fmt.Fprintf(w, "key\t%s\n", r.Key)
	switch {
	case len(r.Removed) > 0:
		fmt.Fprintf(w, "removed\t%s\n\tcopies of the file hold them still; so does %s, if it is there\n", strings.Join(r.Removed, ", "), filepath.Join(dir, "partner.key"))
		return
	case r.Made:
		fmt.Fprintf(w, "made\tjust now, first in the file; running programs follow within seconds. Keep a copy apart from the database's\n")
	case r.Rows > 0:
		fmt.Fprintf(w, "made\tnot now: rows waited for it. To make another, say this again\n")
	}
	fmt.Fprintf(w, "sealed anew\t%d rows\n", r.Rows)
	if len(r.Older) > 0 {
		fmt.Fprintf(w, "still open\t%s; key rotate -retire removes them in %v\n", strings.Join(r.Older, ", "), retireAfter)
	}
}
