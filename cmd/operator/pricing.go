package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/namewharf/namewharf/internal/backend"
	"github.com/namewharf/namewharf/tld"
)

// importPrices lays the prices of a file over those imported before. Running programs take them within seconds.
func importPrices(_ context.Context, d *desk, args []string) error {
	book, bad, err := readPrices(args[0])
	if err != nil {
		return usageError{err}
	}
	for _, row := range bad {
		fmt.Fprintln(d.stderr, row)
	}
	if len(bad) > 0 {
		return fmt.Errorf("nothing was imported: %d bad rows", len(bad))
	}
	path := filepath.Join(d.data, backend.PricesFile)
	before, bad, err := readPrices(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		before = nil
	case err != nil:
		return fmt.Errorf("the price list in force, %s: %w", path, err)
	case len(bad) > 0:
		return fmt.Errorf("the price list in force, %s, is wrong: %w; mend or remove it", path, bad[0])
	}
	merged := book
	if before != nil {
		merged = tld.Merge(before, book)
	}
	if err := os.MkdirAll(d.data, 0o700); err != nil {
		return err
	}
	if err := merged.Save(path); err != nil {
		return err
	}
	result := struct {
		File     string `json:"file"`
		Imported int    `json:"imported"`
		Suffixes int    `json:"suffixes"`
	}{path, book.Len(), merged.Len()}
	return d.print(result, func(w io.Writer) {
		fmt.Fprintf(w, "price list\t%s\nsuffixes imported\t%d\nsuffixes in it\t%d\n", result.File, result.Imported, result.Suffixes)
	})
}

func readPrices(path string) (*tld.Book, []tld.RowError, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	return tld.ParseFeed(f, time.Now())
}
