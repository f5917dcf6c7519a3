package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/internal/app"
	"github.com/namewharf/namewharf/internal/version"
	"github.com/namewharf/namewharf/store"
)

// A usageError is an error of the command line. Nothing was changed.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// commonOptions are the flags that every command takes.
type commonOptions struct {
	data, db   string
	reason, as string
	json       bool
	keys       app.Config // only the key file
}

// A program is one run of the operator: the flags, the store once it is open, and the streams.
type program struct {
	options
	given          map[string]bool // flags that are set
	environ        func(string) (string, bool)
	stdin          io.Reader
	stdout, stderr io.Writer
	store          *store.DB
}

// defaultData is the directory of the embedded store, the same as the public API's.
const defaultData = "./data"

// run runs a command line, without the name of the program. It fails with a [usageError] for an invalid command line.
func run(ctx context.Context, args []string, environ func(string) (string, bool), stdin io.Reader, stdout, stderr io.Writer) error {
	p := &program{environ: environ, stdin: stdin, stdout: stdout, stderr: stderr}
	defer p.close()
	root := p.root()
	if completes(args) {
		return p.complete(ctx, root, args)
	}
	l, err := read(root, args)
	if err != nil {
		return err
	}
	if l.has("version") {
		_, err := fmt.Fprintln(stdout, version.Line("operator"))
		return err
	}
	root.SetArgs(l.args())
	return root.ExecuteContext(ctx)
}

// open opens the store once, with its schema up to date, and fails where there is none.
func (p *program) open(ctx context.Context) (*store.DB, error) {
	return p.openAs(ctx, store.Config{Existing: true})
}

// openAsIs opens the store without migrating it, for reading.
func (p *program) openAsIs(ctx context.Context) (*store.DB, error) {
	return p.openAs(ctx, store.Config{Existing: true, NoMigrate: true})
}

func (p *program) openAs(ctx context.Context, cfg store.Config) (*store.DB, error) {
	if p.store != nil {
		return p.store, nil
	}
	cfg.URL, cfg.Dir, cfg.Now = p.db, p.data, time.Now
	cfg.Logger = slog.New(slog.NewTextHandler(p.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	db, err := store.Open(ctx, cfg)
	none := errors.Unwrap(err) // without the prefix of the operation
	switch {
	case errors.Is(err, store.ErrNoStore) && p.db != "":
		return nil, usagef("%w; -db names the database of the service, and \"operator db migrate\" makes a store in it", none)
	case errors.Is(err, store.ErrNoStore):
		return nil, usagef("%w; -data names the directory of the service, and \"operator db migrate\" makes a store in one", none)
	case err != nil:
		return nil, usageError{err}
	}
	p.store = db
	return db, nil
}

func (p *program) close() {
	if p.store != nil {
		p.store.Close()
	}
}

// print writes the value as JSON with -json, else calls table.
func (p *program) print(value any, table func(w io.Writer)) error {
	if p.json {
		e := json.NewEncoder(p.stdout)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(value)
	}
	w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	table(w)
	return w.Flush()
}

// done prints the id of an object and what was done to it.
func (p *program) done(what, id string) error {
	result := struct {
		ID   string `json:"id"`
		Done string `json:"done"`
	}{id, what}
	return p.print(result, func(w io.Writer) { fmt.Fprintf(w, "%s\t%s\n", id, what) })
}

// plainError words an error of an API for a terminal.
func plainError(err error) error {
	var f *fault.Error
	if !errors.As(err, &f) {
		return err
	}
	var text strings.Builder
	text.WriteString(f.Detail)
	for _, field := range f.Fields {
		if more := strings.TrimSpace(field.Field + " " + field.Reason); !strings.Contains(text.String(), more) {
			text.WriteString("; " + more)
		}
	}
	return usageError{errors.New(text.String())}
}
