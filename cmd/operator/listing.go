package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/market"
)

func listingFlags(fs *flag.FlagSet, o *options) {
	fs.StringVar(&o.env, "env", "", "`environment`, live or sandbox")
	fs.BoolVar(&o.dryRun, "dry-run", false, "say what would happen, change nothing")
	fs.BoolVar(&o.partial, "partial", false, "take the good rows of a file that has bad ones")
}

// importListings puts the names of a CSV file up for sale.
func importListings(ctx context.Context, d *desk, args []string) error {
	env := map[string]market.Environment{"live": market.Live, "sandbox": market.Sandbox}[d.env]
	if env == "" {
		return usagef("-env must be live or sandbox")
	}
	file, err := openFile(args[0])
	if err != nil {
		return err
	}
	defer file.Close()
	db, err := d.open(ctx)
	if err != nil {
		return err
	}
	bar := newBar(d.stderr)
	report, err := market.Import(ctx, db, file, market.ImportOptions{
		Environment: env, DryRun: d.dryRun, Partial: d.partial,
		Audit: d.author(), Source: filepath.Base(args[0]),
		Suffix:   newSuffixList().listable,
		Progress: bar.progress,
	})
	bar.end()
	if f := (*fault.Error)(nil); errors.As(err, &f) { // the file as a whole is wrong
		return usagef("%s: %s", args[0], f.Message())
	}
	if err != nil {
		return err
	}
	if report.Rows == 0 {
		return fmt.Errorf("nothing was imported: %s holds no rows beneath its header", args[0])
	}
	if err := d.print(newListingReport(report), func(w io.Writer) { printReport(w, report, d.dryRun) }); err != nil {
		return err
	}
	return refusedRows(len(report.Bad), d)
}

// refusedRows fails where bad rows keep an import from being done, in a dry run as in the real one.
func refusedRows(bad int, d *desk) error {
	switch {
	case bad == 0 || d.partial:
		return nil
	case d.dryRun:
		return fmt.Errorf("nothing would be imported: %d bad rows; mend them, or take the good rows with -partial", bad)
	}
	return fmt.Errorf("nothing was imported: %d bad rows; mend them, or take the good rows with -partial", bad)
}

// A listingReport is a [market.Report] as JSON.
type listingReport struct {
	Rows      int             `json:"rows"`
	Created   int             `json:"created"`
	Updated   int             `json:"updated"`
	Unchanged int             `json:"unchanged"`
	Bad       []market.BadRow `json:"bad"`
	Applied   bool            `json:"applied"`
}

func newListingReport(r market.Report) listingReport {
	if r.Bad == nil {
		r.Bad = []market.BadRow{}
	}
	return listingReport(r)
}

func printReport(w io.Writer, r market.Report, dryRun bool) {
	for _, bad := range r.Bad {
		fmt.Fprintln(w, bad)
	}
	heading := "imported"
	switch {
	case dryRun:
		heading = "would be imported (dry run)"
	case !r.Applied:
		heading = "would be imported without the bad rows"
	}
	fmt.Fprintf(w, "%s\t\nrows\t%d\ncreated\t%d\nupdated\t%d\nunchanged\t%d\nbad\t%d\n", heading, r.Rows, r.Created, r.Updated, r.Unchanged, len(r.Bad))
}

// openFile opens a file to be imported.
func openFile(path string) (*os.File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, usageError{err}
	}
	if info, err := file.Stat(); err == nil && info.IsDir() {
		file.Close()
		return nil, usagef("%s is a directory; name the file in it", path)
	}
	return file, nil
}

// A bar shows the progress of an import to a person.
type bar struct {
	w   io.Writer
	bar *progressbar.ProgressBar
}

func newBar(w io.Writer) *bar { return &bar{w: w} }

func (b *bar) progress(done, total int) {
	if f, ok := b.w.(*os.File); !ok || !isTerminal(f) {
		return
	}
	if b.bar == nil {
		b.bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(b.w), progressbar.OptionSetDescription("importing"),
			progressbar.OptionShowCount(), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
	}
	_ = b.bar.Set(done)
}

func (b *bar) end() {
	if b.bar != nil {
		_ = b.bar.Finish()
	}
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
