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

	"github.com/namewharf/namewharf/internal/app"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/tld"
)

// importPrices lays the prices of a file over those imported before. Running programs take them within seconds.
//
// A list of the operator's own with bad rows is not taken, unless -partial says so. A registrar's feed is not the
// operator's to mend, and always has entries for names outside the DNS: what is good of it is taken.
func importPrices(ctx context.Context, d *desk, args []string) error {
	text, err := readFile(args[0])
	if err != nil {
		return err
	}
	book, bad, err := tld.ParseFeed(bytes.NewReader(text), time.Now(), newSuffixList().priced)
	if err != nil {
		return usagef("%s: %w", args[0], err)
	}
	for _, row := range bad {
		fmt.Fprintln(d.stderr, row)
	}
	feed := bytes.HasPrefix(bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff"))), []byte("{"))
	if !feed {
		if err := refusedRows(len(bad), d); err != nil {
			return err
		}
	}
	if book.Len() == 0 {
		return fmt.Errorf("nothing was imported: the file holds no prices, %d bad rows", len(bad))
	}
	db, err := d.open(ctx)
	if err != nil {
		return err
	}
	if _, err := os.Stat(d.data); err != nil { // with PostgreSQL it need not be there
		return usagef("there is no directory %s; -data names the one that the service runs on", d.data)
	}
	path := filepath.Join(d.data, app.PricesFile)
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
		if err := d.author().Record(ctx, tx, "pricing.import", app.PricesFile, details); err != nil {
			return err
		}
		return merged.Save(path)
	}
	if !d.dryRun {
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
	}{path, book.Len(), len(bad), merged.Len(), !d.dryRun}
	return d.print(result, func(w io.Writer) {
		if d.dryRun {
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
