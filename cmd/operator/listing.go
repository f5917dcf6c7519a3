package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/store"
)

// listingCommands are the commands of listings.
func (p *program) listingCommands() *cobra.Command {
	return group("selling", "listing", "Names for sale",
		p.command(importListings, &cobra.Command{
			Use: "import FILE.csv", Short: "Put the names of a CSV file up for sale",
			Long: "Puts the names of a CSV file up for sale. Its columns, in any order: domain, price_cents, floor_price_cents, currency, description, keywords (separated by semicolons); the first two are needed.\n\n" +
				"A name that is listed already is updated and keeps its date; one that was sold here is a bad row. With a bad row nothing is taken, unless -partial takes the good ones. Running programs show the result within a second.",
			Example: "  operator listing import names.csv -env live -dry-run\n  operator listing import names.csv -env live -data /var/lib/namewharf",
		}, envFlag, dryRunFlag, partialFlag),
		p.command(listListings, &cobra.Command{
			Use: "list", Short: "List names for sale",
			Long:    "Lists names in the order of the alphabet, of both environments unless -env chooses one. -status chooses other states than listed.",
			Example: "  operator listing list -env live -tld com -limit 100\n  operator listing list -status sold -json",
		}, envFlag, statusFlag("pending, listed (default), suspended, sold, withdrawn or all"), tldFlag, limitFlag),
		p.command(showListing, &cobra.Command{
			Use: "show DOMAIN", Short: "Show the listings of a name, in every state",
			Example: "  operator listing show brewhaven.com",
		}, envFlag),
		p.command(removeListing, &cobra.Command{
			Use: "remove DOMAIN", Short: "Take a name off sale",
			Long: "Withdraws the listings of a name from any seller. Running programs stop showing it within a second. An import, or its owner, may list it again. " +
				"Quotes that were given for it are refused; a sale that is under way goes on.",
			Example: "  operator listing remove brewhaven.com -env live -reason \"a dispute\"",
		}, envFlag),
	)
}

// importListings imports listings from a CSV file.
func importListings(ctx context.Context, p *program, args []string) error {
	env, err := p.environment()
	if err != nil {
		return err
	}
	file, err := openFile(args[0])
	if err != nil {
		return err
	}
	defer file.Close()
	db, err := p.open(ctx)
	if err != nil {
		return err
	}
	bar := newBar(p.stderr)
	report, err := market.Import(ctx, db, file, market.ImportOptions{
		Environment: env, DryRun: p.dryRun, Partial: p.partial,
		Audit: p.author(), Source: filepath.Base(args[0]),
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
	if err := p.print(newListingReport(report), func(w io.Writer) { printReport(w, report, p.dryRun) }); err != nil {
		return err
	}
	return refusedRows(len(report.Bad), p)
}

// refusedRows returns the error of an import that bad rows prevent, of a dry run too.
func refusedRows(bad int, p *program) error {
	switch {
	case bad == 0 || p.partial:
		return nil
	case p.dryRun:
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

// A listingRow is a listing as it is printed.
type listingRow struct {
	Domain      string    `json:"domain"`
	Environment string    `json:"environment"`
	Status      string    `json:"status"`
	PriceCents  int64     `json:"price_cents"`
	FloorCents  int64     `json:"floor_price_cents"`
	Currency    string    `json:"currency"`
	Seller      string    `json:"account_id,omitempty"` // empty: the operator
	Description string    `json:"description,omitempty"`
	Keywords    []string  `json:"keywords"`
	Listed      time.Time `json:"listed_at"`
	Updated     time.Time `json:"updated_at"`
}

func newListingRow(l market.Listing) listingRow {
	return listingRow{
		Domain: l.Domain.String(), Environment: string(l.Environment), Status: string(l.Status), PriceCents: l.PriceCents, FloorCents: l.FloorPriceCents,
		Currency: l.Currency, Seller: l.SellerID, Description: l.Description, Keywords: append([]string{}, l.Keywords...), Listed: l.ListedAt, Updated: l.UpdatedAt,
	}
}

func (r listingRow) price(cents int64) string {
	return money.Amount{Cents: cents, Currency: r.Currency}.String()
}

// inventory returns the listings that match a filter, in the environments of -env.
func (p *program) inventory(ctx context.Context, f market.InventoryFilter) ([]listingRow, error) {
	if p.env != "" {
		var err error
		if f.Environment, err = p.environment(); err != nil {
			return nil, err
		}
	}
	db, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	found, err := market.Inventory(ctx, db, f)
	if err != nil {
		return nil, plainError(err)
	}
	rows := make([]listingRow, len(found))
	for i, l := range found {
		rows[i] = newListingRow(l)
	}
	return rows, nil
}

// allListings is -status where it chooses listings in every state.
const allListings = "all"

// listListings lists names by domain.
func listListings(ctx context.Context, p *program, _ []string) error {
	f := market.InventoryFilter{Status: market.Status(cmp.Or(p.status, string(market.Listed))), Limit: p.limit}
	if f.Status == allListings {
		f.Status = ""
	}
	if p.tld != "" {
		suffix, err := fqdn.Parse(strings.TrimPrefix(p.tld, "."))
		if err != nil {
			return usagef("-tld: %w", err)
		}
		f.TLD = suffix.String()
	}
	rows, err := p.inventory(ctx, f)
	if err != nil {
		return err
	}
	return p.print(rows, func(w io.Writer) {
		fmt.Fprintln(w, "domain\tprice\tfloor\tenvironment\tstatus\tlisted\tseller")
		for _, r := range rows {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Domain, r.price(r.PriceCents), r.price(r.FloorCents), r.Environment, r.Status, day(r.Listed), cmp.Or(r.Seller, "-"))
		}
		if len(rows) == p.limit {
			fmt.Fprintln(w, "… there may be more; narrow them down by -env, -status and -tld, or raise -limit")
		}
	})
}

// showListing shows the listings of a name.
func showListing(ctx context.Context, p *program, args []string) error {
	name, err := fqdn.Parse(args[0])
	if err != nil {
		return usagef("the name %w", err)
	}
	rows, err := p.inventory(ctx, market.InventoryFilter{Domain: name.String(), Limit: market.MaxInventory})
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return usagef("%s has no listing here", name)
	}
	return p.print(rows, func(w io.Writer) {
		for i, r := range rows {
			if i > 0 {
				fmt.Fprintln(w)
			}
			fmt.Fprintf(w, "domain\t%s\nenvironment\t%s\nstatus\t%s\nprice\t%s\nfloor\t%s\nseller\t%s\nlisted\t%s\nupdated\t%s\n",
				r.Domain, r.Environment, r.Status, r.price(r.PriceCents), r.price(r.FloorCents), cmp.Or(r.Seller, "the operator"), day(r.Listed), day(r.Updated))
			if r.Description != "" {
				fmt.Fprintf(w, "description\t%s\n", printable(r.Description))
			}
			if len(r.Keywords) > 0 {
				fmt.Fprintf(w, "keywords\t%s\n", printable(strings.Join(r.Keywords, ", ")))
			}
		}
	})
}

// removeListing withdraws the listings of a name.
func removeListing(ctx context.Context, p *program, args []string) error {
	env, err := p.environment()
	if err != nil {
		return err
	}
	name, err := fqdn.Parse(args[0])
	if err != nil {
		return usagef("the name %w", err)
	}
	db, err := p.open(ctx)
	if err != nil {
		return err
	}
	var removed market.Listing
	err = db.Tx(ctx, func(tx store.Tx) (err error) {
		if removed, err = market.Withdraw(ctx, tx, env, name, time.Now()); err != nil {
			return err
		}
		details := map[string]any{"environment": env, "price_cents": removed.PriceCents, "currency": removed.Currency}
		if removed.SellerID != "" {
			details["account"] = removed.SellerID
		}
		return p.author().Record(ctx, tx, "listing.remove", name.String(), details)
	})
	if err != nil {
		return plainError(err)
	}
	return p.print(newListingRow(removed), func(w io.Writer) { fmt.Fprintf(w, "%s\ttaken off sale\n", name) })
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

// A bar shows the progress of a long command at a terminal.
type bar struct {
	w    io.Writer
	what string
	bar  *progressbar.ProgressBar
}

func newBar(w io.Writer) *bar { return &bar{w: w, what: "importing"} }

func (b *bar) progress(done, total int) {
	if f, ok := b.w.(*os.File); !ok || !isTerminal(f) {
		return
	}
	if b.bar == nil {
		b.bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(b.w), progressbar.OptionSetDescription(b.what),
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
