package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/namewharf/namewharf/internal/app"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/tld"
)

// pricingCommands are the commands of registration prices.
func (p *program) pricingCommands() *cobra.Command {
	return group("selling", "pricing", "Registration prices",
		p.command(importPrices, &cobra.Command{
			Use: "import FILE", Short: "Take prices from a CSV file or a registrar's JSON price feed",
			Long: "Takes registration prices from a CSV file (columns suffix, register, renew, transfer, restore, currency, term_years, as_of; in cents) or from a registrar's JSON price feed in the form of Porkbun's. " +
				"They are laid over those imported before, in prices.csv in the data directory, which running programs take within seconds.",
			Example: "  operator pricing import prices.csv -dry-run\n  operator pricing import feed.json -data /var/lib/namewharf",
		}, dryRunFlag, partialFlag),
	)
}

// importPrices lays the prices of a file over those imported before. Running programs take them within seconds.
//
// A list of the operator's own with bad rows is not taken, unless -partial says so. A registrar's feed is not the
// operator's to mend, and always has entries for names outside the DNS: what is good of it is taken.
func importPrices(ctx context.Context, p *program, args []string) error {
	text, err := readFile(args[0])
	if err != nil {
		return err
	}
	book, bad, err := tld.ParseFeed(bytes.NewReader(text), time.Now(), newSuffixList().priced)
	if err != nil {
		return usagef("%s: %w", args[0], err)
	}
	for _, row := range bad {
		fmt.Fprintln(p.stderr, row)
	}
	feed := bytes.HasPrefix(bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff"))), []byte("{"))
	if !feed {
		if err := refusedRows(len(bad), p); err != nil {
			return err
		}
	}
	if book.Len() == 0 {
		return fmt.Errorf("nothing was imported: the file holds no prices, %d bad rows", len(bad))
	}
	db, err := p.open(ctx)
	if err != nil {
		return err
	}
	if _, err := os.Stat(p.data); err != nil { // with PostgreSQL it need not be there
		return usagef("there is no directory %s; -data names the one that the service runs on", p.data)
	}
	path := filepath.Join(p.data, app.PricesFile)
	before, wrong, err := readPrices(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		before = nil
	case err != nil:
		return fmt.Errorf("the price list in force, %s: %w", path, err)
	case len(wrong) > 0:
		return fmt.Errorf("the price list in force, %s, is wrong: %w; mend or remove it", path, wrong[0])
	}
	merged := book
	if before != nil {
		merged = tld.Merge(before, book)
	}
	save := func(tx store.Tx) error { // the file changes last, so that there is no change without its line
		details := map[string]any{"source": filepath.Base(args[0]), "imported": book.Len(), "bad": len(bad), "suffixes": merged.Len()}
		if err := p.author().Record(ctx, tx, "pricing.import", app.PricesFile, details); err != nil {
			return err
		}
		return merged.Save(path)
	}
	if !p.dryRun {
		if err := db.Tx(ctx, save); err != nil {
			return err
		}
	}
	result := struct {
		File     string `json:"file"`
		Imported int    `json:"imported"`
		Bad      int    `json:"bad"`
		Suffixes int    `json:"suffixes"`
		Applied  bool   `json:"applied"`
	}{path, book.Len(), len(bad), merged.Len(), !p.dryRun}
	return p.print(result, func(w io.Writer) {
		if p.dryRun {
			fmt.Fprintln(w, "would be imported (dry run)\t")
		}
		fmt.Fprintf(w, "price list\t%s\nsuffixes imported\t%d\nbad rows\t%d\nsuffixes in it\t%d\n", result.File, result.Imported, result.Bad, result.Suffixes)
	})
}

// readFile reads a file to be imported; more than a price list may have is refused by who reads it.
func readFile(path string) ([]byte, error) {
	file, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, tld.MaxFeed+1))
	if err != nil {
		return nil, usageError{err}
	}
	return text, nil
}

func readPrices(path string) (*tld.Book, []tld.RowError, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	return tld.ParseCSV(f)
}
