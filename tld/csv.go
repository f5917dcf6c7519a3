package tld

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/namewharf/namewharf/fqdn"
)

// MaxFeed bounds a price list in bytes, CSV or JSON: several times one with every suffix there is.
const MaxFeed = 4 << 20

// A RowError says why a row of a price list was left out. It repeats no value of the row.
type RowError struct {
	Row    int    // the line of a CSV file, or the entry of a feed, from 1
	Column string // empty when the row as a whole is wrong
	Reason string // the rest of a sentence about the value, or about the row
}

func (e RowError) Error() string {
	if e.Column == "" {
		return fmt.Sprintf("row %d %s", e.Row, e.Reason)
	}
	return fmt.Sprintf("row %d: %s %s", e.Row, e.Column, e.Reason)
}

// csvColumns are the columns of a price list in the order in which WriteCSV writes them.
var csvColumns = []string{"suffix", "register", "renew", "transfer", "restore", "currency", "term_years", "as_of"}

// ParseCSV reads an operator's price list. Its first line names the columns, in any order: suffix (Unicode or
// A-label), register, renew, transfer, restore (whole cents; empty: not offered), as_of (a date such as 2026-01-01),
// and, if wanted, currency (USD where empty) and term_years (the years that each price of the row pays for; 1 where
// empty). A suffix may have several rows, as long as none prices an action again.
//
// A row with an error is left out as a whole and reported. The error is for a file that cannot be read as a price
// list at all: over [MaxFeed], not UTF-8, columns unknown, repeated or missing.
func ParseCSV(r io.Reader) (*Book, []RowError, error) { return parseCSV(r, nil) }

func parseCSV(r io.Reader, known func(fqdn.Name) error) (*Book, []RowError, error) {
	text, err := readFeed(r)
	if err != nil {
		return nil, nil, err
	}
	lines := csv.NewReader(bytes.NewReader(text))
	lines.FieldsPerRecord = -1
	lines.ReuseRecord = true
	lines.TrimLeadingSpace = true
	head, err := lines.Read()
	if err != nil {
		return nil, nil, fmt.Errorf("no first line with the names of the columns")
	}
	if len(head) == 1 && strings.ContainsAny(head[0], ";\t") {
		return nil, nil, fmt.Errorf("the columns are separated by semicolons or tabs; write the list with commas")
	}
	head = slices.Clone(head)
	if err := checkHead(head); err != nil {
		return nil, nil, err
	}
	d := draft{known: known}
	var bad []RowError
	for {
		record, err := lines.Read()
		if err == io.EOF {
			return d.book(), bad, nil
		}
		if parse := (*csv.ParseError)(nil); errors.As(err, &parse) {
			bad = append(bad, RowError{Row: parse.StartLine, Reason: "has a stray or unclosed quotation mark"})
			continue
		} else if err != nil {
			return nil, nil, fmt.Errorf("reading a price list: %w", err)
		}
		line, _ := lines.FieldPos(0)
		if err := d.addRecord(head, record); err != nil {
			bad = append(bad, rowError(line, err))
		}
	}
}

func checkHead(head []string) error {
	for i, column := range head {
		head[i] = strings.ToLower(strings.TrimSpace(column))
		if !slices.Contains(csvColumns, head[i]) {
			return fmt.Errorf("column %d is not one of %s", i+1, strings.Join(csvColumns, ", "))
		}
		if slices.Contains(head[:i], head[i]) {
			return fmt.Errorf("column %s is there twice", head[i])
		}
	}
	for _, column := range []string{"suffix", "as_of"} {
		if !slices.Contains(head, column) {
			return fmt.Errorf("column %s is missing", column)
		}
	}
	return nil
}

// addRecord enters the prices of a CSV record, all or none.
func (d *draft) addRecord(head, record []string) error {
	if len(record) != len(head) {
		return fmt.Errorf("has %d columns, not %d", len(record), len(head))
	}
	cells := make(map[string]string, len(head))
	for i, column := range head {
		cells[column] = strings.TrimSpace(record[i])
	}
	for column, otherwise := range map[string]string{"currency": "USD", "term_years": "1"} {
		if cells[column] == "" {
			cells[column] = otherwise
		}
	}
	suffix, err := d.suffix(strings.TrimPrefix(cells["suffix"], "."))
	if err != nil {
		return err
	}
	asOf, err := parseDate(cells["as_of"])
	if err != nil {
		return columnError{"as_of", err.Error()}
	}
	var prices []Price
	for _, a := range Actions() {
		if cells[string(a)] == "" {
			continue
		}
		p, err := newPrice(a, cells[string(a)], cells["currency"], cells["term_years"])
		if err != nil {
			return err
		}
		p.TLD, p.AsOf = suffix, asOf
		prices = append(prices, p)
	}
	return d.add(prices)
}

// suffix reads the name of a suffix.
func (d *draft) suffix(text string) (fqdn.Name, error) {
	name, err := fqdn.Parse(text)
	if err == nil && d.known != nil {
		err = d.known(name)
	}
	if err != nil {
		return fqdn.Name{}, columnError{"suffix", err.Error()}
	}
	return name, nil
}

// add enters the prices of a row, all or none.
func (d *draft) add(prices []Price) error {
	if len(prices) == 0 {
		return fmt.Errorf("has no price")
	}
	for _, p := range prices {
		if d.has(p.TLD, p.Action) {
			return columnError{string(p.Action), "has a price for this TLD in an earlier row"}
		}
	}
	for _, p := range prices {
		d.set(p)
	}
	return nil
}

func rowError(row int, err error) RowError {
	if c := (columnError{}); errors.As(err, &c) {
		return RowError{row, c.column, c.reason}
	}
	return RowError{Row: row, Reason: err.Error()}
}

// WriteCSV writes the book as [ParseCSV] reads it, in the order of [Book.Suffixes]. Prices of a suffix that differ in
// currency, term or date are in rows of their own.
func (b *Book) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	if err := out.Write(csvColumns); err != nil {
		return fmt.Errorf("writing a price list: %w", err)
	}
	for _, suffix := range b.suffixes {
		rest := b.Prices(suffix)
		for len(rest) > 0 {
			first := rest[0]
			record := []string{
				suffix.String(), "", "", "", "",
				first.Amount.Currency, strconv.Itoa(first.TermYears), first.AsOf.Format(time.DateOnly),
			}
			rest = slices.DeleteFunc(rest, func(p Price) bool {
				same := p.Amount.Currency == first.Amount.Currency && p.TermYears == first.TermYears && p.AsOf.Equal(first.AsOf)
				if slot, _ := p.Action.slot(); same {
					record[1+slot] = strconv.FormatInt(p.Amount.Cents, 10)
				}
				return same
			})
			if err := out.Write(record); err != nil {
				return fmt.Errorf("writing a price list: %w", err)
			}
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("writing a price list: %w", err)
	}
	return nil
}

// ParseFeed reads a price list in either form: a registrar's JSON reply, in the form of Porkbun's, when it starts with a
// brace, else CSV ([ParseCSV]), which has its own dates. Rows of a TLD that known refuses are left out and reported with its
// error, which completes "the TLD …"; nil accepts every TLD.
func ParseFeed(r io.Reader, asOf time.Time, known func(fqdn.Name) error) (*Book, []RowError, error) {
	text, err := readFeed(r)
	if err != nil {
		return nil, nil, err
	}
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		return parsePorkbun(bytes.NewReader(text), asOf, known)
	}
	return parseCSV(bytes.NewReader(text), known)
}

// readFeed reads a whole price list and takes off a byte order mark.
func readFeed(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxFeed+1))
	if err != nil {
		return nil, fmt.Errorf("reading a price list: %w", err)
	}
	if len(text) > MaxFeed {
		return nil, fmt.Errorf("the price list is over %d bytes", MaxFeed)
	}
	if !utf8.Valid(text) {
		return nil, fmt.Errorf("the price list is not UTF-8 text")
	}
	return bytes.TrimPrefix(text, []byte("\ufeff")), nil
}
