package tld

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/namewharf/namewharf/fqdn"
)

// Prices holds the price book in force. Any number of goroutines may ask it while another replaces the book.
type Prices struct {
	base    *Book
	current atomic.Pointer[Book]
	version atomic.Uint64
}

// NewPrices starts with the book base, such as [DefaultBook]. An operator's file is laid over it.
func NewPrices(base *Book) *Prices {
	p := &Prices{base: base}
	p.current.Store(base)
	return p
}

// Book returns the book in force.
func (p *Prices) Book() *Book { return p.current.Load() }

// Version changes whenever another book comes into force, after it has: an answer made when Version was what it still
// is now is as good as new.
func (p *Prices) Version() uint64 { return p.version.Load() }

// Price is [Book.Price] of the book in force.
func (p *Prices) Price(suffix fqdn.Name, a Action) (Price, error) { return p.Book().Price(suffix, a) }

// Load lays the CSV file over the base book and puts the result in force. On an error, a single bad row included,
// the book in force stays.
func (p *Prices) Load(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // opening a pipe would wait for its writer
		return fmt.Errorf("the price list is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("opening the price list: %w", err)
	}
	defer f.Close()
	before, err := f.Stat()
	if err != nil {
		return fmt.Errorf("opening the price list: %w", err)
	}
	over, bad, err := ParseCSV(f)
	if after, statErr := f.Stat(); statErr != nil || !unchanged(before, after) {
		return errMoving
	}
	if err == nil && len(bad) > 0 {
		err = fmt.Errorf("%d rows of the price list are wrong, the first: %w", len(bad), bad[0])
	}
	if err != nil {
		return err
	}
	p.current.Store(Merge(p.base, over))
	p.version.Add(1)
	return nil
}

// errMoving is a file that changes while it is read.
var errMoving = errors.New("the price list is being written")

// unchanged reports whether the file b is the file a with the same text and rights, by their file information.
func unchanged(a, b fs.FileInfo) bool {
	return a != nil && os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && a.Mode() == b.Mode()
}

// watchEvery is how soon a change of the operator's file counts. A look at an unchanged file is one stat.
const watchEvery = 2 * time.Second

// Watch reloads the price book from the file until ctx ends: it loads the file at once and whenever it changes.
// After each attempt it calls report, with nil or with what was wrong; the book in force then stays, and the same
// file is not tried or reported again. A file that has not been there yet is waited for in silence; one that goes
// away is reported.
//
// Replace the file by renaming another over it, as [Book.Save] does; one that changes while it is read is read again.
func (p *Prices) Watch(ctx context.Context, path string, report func(error)) {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	var tried fs.FileInfo // the file of the last attempt, if it is still there
	for gone := false; ; {
		now, err := os.Stat(path)
		switch {
		case err != nil:
			if tried != nil || !gone && !errors.Is(err, fs.ErrNotExist) {
				report(fmt.Errorf("watching the price list: %w", err))
			}
			tried, gone = nil, true
		case !unchanged(tried, now):
			if err := p.Load(path); !errors.Is(err, errMoving) {
				tried, gone = now, false
				report(err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Save writes the book as CSV in place of the file, which has the old text or the new at every moment.
func (b *Book) Save(path string) error {
	var text bytes.Buffer
	if err := b.WriteCSV(&text); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".prices-*")
	if err != nil {
		return fmt.Errorf("saving the price list: %w", err)
	}
	defer os.Remove(f.Name()) // fails after the rename
	_, err = f.Write(text.Bytes())
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("saving the price list: %w", err)
	}
	return nil
}
