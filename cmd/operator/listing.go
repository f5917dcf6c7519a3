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

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/tld"
)

func listingFlags(fs *flag.FlagSet, o *options) {
	fs.StringVar(&o.env, "env", "", "`environment`, live or sandbox")
	fs.BoolVar(&o.dryRun, "dry-run", false, "say what would happen, change nothing")
	fs.BoolVar(&o.partial, "partial", false, "take the good rows of a file that has bad ones")
}

// rehearsal are suffixes that no registry will ever have (RFC 2606): who lists names under them is trying things out.
var rehearsal = []string{"example", "test"}

// importListings puts the names of a CSV file up for sale.
func importListings(ctx context.Context, d *desk, args []string) error {
	env := map[string]market.Environment{"live": market.Live, "sandbox": market.Sandbox}[d.env]
	if env == "" {
		return usagef("-env must be live or sandbox")
	}
	file, err := os.Open(args[0])
	if err != nil {
		return usageError{err}
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
		Suffix:   listable(fqdn.NewSuffixes(tld.DefaultTable().Delegated(), rehearsal)),
		Progress: bar.progress,
	})
	bar.end()
	if f := (*fault.Error)(nil); errors.As(err, &f) { // the file as a whole is wrong
		return usagef("%s: %s", args[0], f.Message())
	}
	if err != nil {
		return err
	}
	if err := d.print(newListingReport(report), func(w io.Writer) { printReport(w, report, d.dryRun) }); err != nil {
		return err
	}
	if len(report.Bad) > 0 && !report.Applied && !d.dryRun {
		return fmt.Errorf("nothing was imported: %d bad rows; mend them, or take the good rows with -partial", len(report.Bad))
	}
	return nil
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

// listable says why a name cannot be listed because of its suffix.
func listable(suffixes *fqdn.Suffixes) func(fqdn.Name) error {
	return func(name fqdn.Name) error {
		registrable, _, err := suffixes.Registrable(name)
		if err != nil {
			return err
		}
		if registrable != name {
			return fmt.Errorf("is below the name that is registered, %s", registrable)
		}
		return nil
	}
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

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
