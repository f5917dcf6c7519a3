package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/internal/app"
	"github.com/namewharf/namewharf/lookup/zone"
	"github.com/namewharf/namewharf/store"
)

// zoneCommands are about the indexes of zone files.
func (p *program) zoneCommands() *cobra.Command {
	return group("selling", "zone", "Indexes of zone files, which spare requests to registries",
		p.command(buildZone, &cobra.Command{
			Use: "build FILE", Short: "Make the index of a TLD from its zone file or a list of names",
			Long: "Makes the index of the TLD that -tld names from a master file, as the CZDS gives them, or a list of one name a line; packed by gzip or not, - is standard input. " +
				"Running programs take it within ten seconds. A file that is cut short, of another TLD, or with less than half of the names of the index in force is refused, and the index stays.",
			Example: "  operator zone build -tld com com.zone.gz\n  operator zone build -tld quarry names.txt -zone-dir /var/lib/namewharf/zones",
		}, tldFlag, zoneDirFlag, shrunkFlag),
		p.command(listZones, &cobra.Command{
			Use: "list", Short: "List the indexes, with their dates and sizes",
			Example: "  operator zone list",
		}, zoneDirFlag),
		p.command(verifyZones, &cobra.Command{
			Use: "verify", Short: "Check every byte of the indexes, or of that of one TLD",
			Example: "  operator zone verify\n  operator zone verify -tld com",
		}, tldFlag, zoneDirFlag),
		p.command(fetchZone, &cobra.Command{
			Use: "fetch", Short: "Download the zone of a TLD from the CZDS and make its index",
			Long: "Downloads the zone of the TLD that -tld names from ICANN's Centralized Zone Data Service and makes its index. The login is a file of one line, a token, or of two, a user and a password. " +
				"A download that breaks off goes on where it ended, also in a later call. publicapi does the same every day with -zones.",
			Example: "  operator zone fetch -tld com -czds-login /etc/namewharf/czds",
		}, tldFlag, zoneDirFlag, shrunkFlag, czdsFlags),
	)
}

func zoneDirFlag(fs *flag.FlagSet, o *options) {
	fs.StringVar(&o.zoneDir, "zone-dir", "", "`directory` of the zone indexes (default "+app.ZoneDir+" in the data directory)")
}

func shrunkFlag(fs *flag.FlagSet, o *options) {
	fs.BoolVar(&o.shrunk, "shrunk", false, "take a zone with less than half of the names of the index in force")
}

func namesFlag(fs *flag.FlagSet, o *options) {
	fs.StringVar(&o.names, "names", "1000000", "`how many` names")
}

func czdsFlags(fs *flag.FlagSet, o *options) {
	fs.StringVar(&o.czdsLogin, "czds-login", "", "`file` with the login of the CZDS: a token, or a user and a password on two lines")
	fs.StringVar(&o.czdsURL, "czds-url", "", "`URL` of the CZDS (default ICANN's)")
}

// zoneSuffix is the TLD that -tld names.
func (p *program) zoneSuffix() (fqdn.Name, error) {
	if p.tld == "" {
		return fqdn.Name{}, usagef("-tld is missing: the TLD whose zone it is")
	}
	name, err := fqdn.Parse(strings.Trim(p.tld, "."))
	if err != nil {
		return fqdn.Name{}, usagef("-tld: %q is no TLD", p.tld)
	}
	return name, nil
}

// zonesIn is the directory of the indexes: that of -zone-dir, else the one in the data directory of a service, which has a store.
func (p *program) zonesIn(ctx context.Context) (string, error) {
	if p.zoneDir == "" {
		if _, err := p.open(ctx); err != nil {
			return "", err
		}
	}
	return app.ZonesIn(p.zoneDir, p.data), nil
}

// zoneRow is what is printed of an index.
type zoneRow struct {
	TLD      string    `json:"tld"`
	Names    uint64    `json:"names"`
	ZoneDate time.Time `json:"zone_date"`
	Serial   uint32    `json:"serial,omitzero"`
	BuiltAt  time.Time `json:"built_at"`
	Bytes    int64     `json:"bytes"`
	File     string    `json:"file"`
	Error    string    `json:"error,omitzero"`
}

func rowOf(i zone.Info) zoneRow {
	return zoneRow{TLD: i.Suffix, Names: i.Names, ZoneDate: i.Date, Serial: i.Serial, BuiltAt: i.Built, Bytes: i.Bytes, File: i.Path}
}

func (r zoneRow) print(w io.Writer) {
	fmt.Fprintf(w, "TLD\t%s\nnames\t%d\nzone date\t%s\nbytes\t%d (%.2f a name)\nfile\t%s\n", r.TLD, r.Names, r.ZoneDate.Format(time.RFC3339), r.Bytes, float64(r.Bytes)/float64(max(r.Names, 1)), r.File)
}

func buildZone(ctx context.Context, p *program, args []string) error {
	dir, err := p.zonesIn(ctx)
	if err != nil {
		return err
	}
	suffix, err := p.zoneSuffix()
	if err != nil {
		return err
	}
	b := zone.Build{Dir: dir, Suffix: suffix, In: p.stdin, Shrunk: p.shrunk}
	if args[0] != "-" {
		file, err := openFile(args[0])
		if err != nil {
			return err
		}
		defer file.Close()
		if info, err := file.Stat(); err == nil {
			b.Date = info.ModTime()
		}
		b.In = file
	}
	bar := newCounter(p.stderr, "names read")
	b.Progress = func(names int) { bar.set(int64(names), -1) }
	info, err := b.Run(ctx)
	bar.finish()
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], shrunkHint(err))
	}
	return p.builtZone(ctx, "zone.build", info)
}

// shrunkHint says what takes a zone that lost many names.
func shrunkHint(err error) error {
	if errors.Is(err, zone.ErrShrunk) {
		return fmt.Errorf("%w; -shrunk takes it", err)
	}
	return err
}

// builtZone notes in the audit log that an index was made, where the service has a store, and prints the index.
func (p *program) builtZone(ctx context.Context, action string, info zone.Info) error {
	db, err := p.open(ctx)
	switch {
	case errors.Is(err, store.ErrNoStore):
	case err != nil:
		return err
	default:
		details := map[string]any{"names": info.Names, "zone_date": info.Date.Format(time.RFC3339)}
		if err := db.Tx(ctx, func(tx store.Tx) error { return p.author().Record(ctx, tx, action, info.Suffix, details) }); err != nil {
			return err
		}
	}
	row := rowOf(info)
	return p.print(row, row.print)
}

func fetchZone(ctx context.Context, p *program, _ []string) error {
	dir, err := p.zonesIn(ctx)
	if err != nil {
		return err
	}
	suffix, err := p.zoneSuffix()
	if err != nil {
		return err
	}
	if p.czdsLogin == "" {
		return usagef("-czds-login is missing: a file with a token of the CZDS, or with a user and a password on two lines")
	}
	text, err := os.ReadFile(p.czdsLogin)
	if err != nil {
		return usageError{err}
	}
	login, err := zone.ParseLogin(text)
	if err != nil {
		return usageError{err}
	}
	bar := newCounter(p.stderr, "downloaded")
	f := zone.Fetcher{Dir: dir, URL: p.czdsURL, AuthURL: p.czdsURL, Login: login, Shrunk: p.shrunk}
	f.Progress = func(_ string, done, total int64) { bar.set(done, total) }
	info, err := f.Fetch(ctx, suffix)
	bar.finish()
	if errors.Is(err, zone.ErrNotModified) {
		if info, err = zone.Verify(zone.Path(dir, suffix.String())); err != nil {
			return err
		}
		fmt.Fprintln(p.stderr, "the CZDS has no later zone")
		row := rowOf(info)
		return p.print(row, row.print)
	}
	if err != nil {
		return shrunkHint(err)
	}
	return p.builtZone(ctx, "zone.fetch", info)
}

func listZones(ctx context.Context, p *program, _ []string) error {
	dir, rows, _, err := p.zoneRows(ctx)
	if err != nil {
		return err
	}
	return p.printZones(dir, rows)
}

// verifyZones is list that fails where a file cannot be used.
func verifyZones(ctx context.Context, p *program, _ []string) error {
	dir, rows, bad, err := p.zoneRows(ctx)
	if err != nil {
		return err
	}
	if err := p.printZones(dir, rows); err != nil {
		return err
	}
	switch {
	case len(rows) == 0:
		return fmt.Errorf("there is no zone index in %s", dir)
	case bad > 0:
		return fmt.Errorf("%d of %d zone indexes cannot be used", bad, len(rows))
	}
	return nil
}

// zoneRows reads all indexes, or that of -tld.
func (p *program) zoneRows(ctx context.Context) (dir string, rows []zoneRow, bad int, err error) {
	if dir, err = p.zonesIn(ctx); err != nil {
		return "", nil, 0, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"+zone.Extension))
	if err != nil {
		return "", nil, 0, err
	}
	if p.tld != "" {
		suffix, err := p.zoneSuffix()
		if err != nil {
			return "", nil, 0, err
		}
		files = []string{zone.Path(dir, suffix.String())}
	}
	rows = []zoneRow{}
	for _, path := range files {
		info, err := zone.Verify(path)
		row := rowOf(info)
		if err != nil {
			bad++
			row = zoneRow{TLD: strings.TrimSuffix(filepath.Base(path), zone.Extension), File: path, Error: err.Error()}
		}
		rows = append(rows, row)
	}
	return dir, rows, bad, nil
}

func (p *program) printZones(dir string, rows []zoneRow) error {
	return p.print(rows, func(w io.Writer) {
		if len(rows) == 0 {
			fmt.Fprintf(w, "there is no zone index in %s\n", dir)
			return
		}
		fmt.Fprintln(w, "TLD\tNAMES\tZONE DATE\tBYTES\tSTATE")
		for _, r := range rows {
			if r.Error != "" {
				fmt.Fprintf(w, "%s\t\t\t\tcannot be used: %s\n", r.TLD, r.Error)
				continue
			}
			fmt.Fprintf(w, "%s\t%d\t%s\t%d\tgood\n", r.TLD, r.Names, r.ZoneDate.Format(time.DateOnly), r.Bytes)
		}
	})
}

func syntheticZone(_ context.Context, p *program, args []string) (err error) {
	suffix, err := p.zoneSuffix()
	if err != nil {
		return err
	}
	names, err := strconv.ParseUint(p.names, 10, 32)
	if err != nil || names == 0 {
		return usagef("-names: %q is no number of names", p.names)
	}
	out := p.stdout
	if args[0] != "-" {
		file, err := os.Create(args[0])
		if err != nil {
			return usageError{err}
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		out = file
	}
	if strings.HasSuffix(args[0], ".gz") {
		z, _ := gzip.NewWriterLevel(out, gzip.BestSpeed)
		if err := zone.Synthetic(z, suffix.String(), names, time.Now()); err != nil {
			return err
		}
		return z.Close()
	}
	return zone.Synthetic(out, suffix.String(), names, time.Now())
}

// A counter shows to a person at a terminal how far something is.
type counter struct {
	w    io.Writer
	what string
	bar  *progressbar.ProgressBar
}

func newCounter(w io.Writer, what string) *counter { return &counter{w: w, what: what} }

func (c *counter) set(done, total int64) {
	if f, ok := c.w.(*os.File); !ok || !isTerminal(f) {
		return
	}
	if c.bar == nil {
		c.bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(c.w), progressbar.OptionSetDescription(c.what),
			progressbar.OptionShowCount(), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
	}
	_ = c.bar.Set64(done) // of a terminal
}

func (c *counter) finish() {
	if c.bar != nil {
		_ = c.bar.Finish()
	}
}
