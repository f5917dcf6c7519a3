package market

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/spelling"
)

// The columns of an import.
const (
	columnDomain      = "domain"
	columnPrice       = "price_cents"
	columnFloor       = "floor_price_cents"
	columnCurrency    = "currency"
	columnDescription = "description"
	columnKeywords    = "keywords"
)

var columns = []string{columnDomain, columnPrice, columnFloor, columnCurrency, columnDescription, columnKeywords}

// draft is a good row.
type draft struct {
	line         int
	domain       string // A-label form
	price, floor int64
	currency     string
	description  string
	keywords     string // as stored
}

// at is the draft with another line number, for comparing.
func (d draft) at(line int) draft {
	d.line = line
	return d
}

func errEnvironment() error {
	return fault.Invalid("environment", "must be %s or %s", Sandbox, Live)
}

// readCSV reads a file into drafts, and a report with its bad rows. It fails when the header is not usable or the
// reader fails.
func readCSV(r io.Reader, suffix func(fqdn.Name) error) ([]draft, Report, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	if bom, _ := in.Peek(3); string(bom) == "\ufeff" {
		in.Discard(len(bom))
	}
	c := csv.NewReader(in)
	c.ReuseRecord = true
	header, err := readHeader(c)
	if err != nil {
		return nil, Report{}, err
	}
	c.FieldsPerRecord = len(header)
	var drafts []draft
	var report Report
	lines := map[string]int{} // line of a domain
	for {
		record, err := c.Read()
		if err == io.EOF {
			return drafts, report, nil
		}
		report.Rows++
		if err != nil {
			bad, ok := badRecord(err)
			if !ok {
				return nil, Report{}, fmt.Errorf("read the file: %w", err)
			}
			report.Bad = append(report.Bad, bad)
			continue
		}
		line, _ := c.FieldPos(0)
		d, bad := parseRow(header, record, suffix)
		if first, twice := lines[d.domain]; twice && bad == nil {
			bad = &BadRow{Column: columnDomain, Reason: fmt.Sprintf("stands in line %d already", first)}
		}
		if bad != nil {
			bad.Line = line
			report.Bad = append(report.Bad, *bad)
			continue
		}
		d.line = line
		lines[d.domain] = line
		drafts = append(drafts, d)
	}
}

// readHeader reads the names of the columns.
func readHeader(c *csv.Reader) ([]string, error) {
	record, err := c.Read()
	if err == io.EOF {
		return nil, fault.Invalid("header", "is missing: the file is empty; the first row names the columns %s", strings.Join(columns, ","))
	}
	if _, ok := badRecord(err); err != nil && !ok {
		return nil, fmt.Errorf("read the file: %w", err)
	}
	if err != nil {
		return nil, fault.Invalid("header", "is not a row of comma-separated values")
	}
	if len(record) == 1 && strings.ContainsAny(record[0], ";\t") {
		return nil, fault.Invalid("header", "separates the columns by semicolons or tabs; write the file with commas")
	}
	header := make([]string, len(record))
	for i, name := range record {
		name = strings.ToLower(strings.TrimSpace(name))
		switch {
		case !slices.Contains(columns, name):
			return nil, fault.Invalid("header", "column %d is not one of %s", i+1, strings.Join(columns, ", "))
		case slices.Contains(header, name):
			return nil, fault.Invalid("header", "names the column %s twice", name)
		}
		header[i] = name
	}
	for _, needed := range []string{columnDomain, columnPrice} {
		if !slices.Contains(header, needed) {
			return nil, fault.Invalid("header", "lacks the column %s", needed)
		}
	}
	return header, nil
}

// badRecord turns a syntax error of the file into a bad row.
func badRecord(err error) (BadRow, bool) {
	var p *csv.ParseError
	if !errors.As(err, &p) {
		return BadRow{}, false
	}
	reason := "has a quote where none is allowed, or one that is never closed"
	if errors.Is(p.Err, csv.ErrFieldCount) {
		reason = "has more or fewer fields than the header"
	}
	return BadRow{Line: p.StartLine, Reason: reason}, true
}

// parseRow reads one row; a bad one lacks its line.
func parseRow(header, record []string, suffix func(fqdn.Name) error) (d draft, bad *BadRow) {
	for i, column := range header {
		if err := d.set(column, record[i], suffix); err != nil {
			return draft{}, &BadRow{Column: column, Reason: err.Error()}
		}
	}
	if d.currency == "" {
		d.currency = "USD"
	}
	if d.floor == 0 {
		d.floor = d.price
	}
	if d.floor > d.price {
		return draft{}, &BadRow{Column: columnFloor, Reason: "is over the price"}
	}
	return d, nil
}

// set reads one cell. Its errors complete a sentence about the column.
func (d *draft) set(column, cell string, suffix func(fqdn.Name) error) (err error) {
	switch column {
	case columnDomain:
		d.domain, err = parseDomain(cell, suffix)
	case columnPrice:
		d.price, err = parsePrice(cell)
	case columnFloor:
		if cell = strings.TrimSpace(cell); cell != "" {
			d.floor, err = parsePrice(cell)
		}
	case columnCurrency:
		if cell = strings.TrimSpace(cell); cell != "" {
			if d.currency, err = money.ParseCurrency(cell); err != nil {
				err = fmt.Errorf("%sis %w%s", named(cell), err, spelling.DidYouMean(cell, money.Currencies()))
			}
			d.currency = strings.Clone(d.currency)
		}
	case columnDescription:
		d.description, err = parseText(cell, MaxDescription)
		d.description = strings.Clone(d.description)
	case columnKeywords:
		d.keywords, err = parseKeywords(cell)
	}
	return err
}

// named repeats a cell of letters alone, with a space behind it, where it is short: a wrong currency code, for example.
func named(cell string) string {
	if len(cell) > 8 || strings.ContainsFunc(cell, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsLetter(r) }) {
		return ""
	}
	return cell + " "
}

func parseDomain(cell string, suffix func(fqdn.Name) error) (string, error) {
	name, err := fqdn.Parse(cell)
	if err != nil {
		return "", err
	}
	if name.Dots() == 0 {
		return "", errors.New("has no TLD; write a full name such as example.com")
	}
	if err := name.Registrable(); err != nil {
		return "", err
	}
	if suffix != nil {
		if err := suffix(name); err != nil {
			return "", err
		}
	}
	return strings.Clone(name.String()), nil
}

func parsePrice(cell string) (int64, error) {
	cents, err := money.ParseCents(strings.TrimSpace(cell))
	if err == nil && cents == 0 {
		err = errors.New("must be at least one cent")
	}
	return cents, err
}

// parseText checks a text that will be displayed.
func parseText(s string, most int) (string, error) {
	s = strings.TrimSpace(s)
	switch {
	case len(s) > most:
		return "", fmt.Errorf("is longer than %d bytes", most)
	case !utf8.ValidString(s):
		return "", errors.New("is not valid UTF-8")
	}
	for _, r := range s {
		if unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp) {
			return "", errors.New("holds a control character, a line break or a character that changes the direction of text")
		}
	}
	return s, nil
}

// parseKeywords reads keywords into the form in which they are stored.
func parseKeywords(cell string) (string, error) {
	cell, err := parseText(cell, MaxKeywords*(MaxKeyword+1))
	if err != nil {
		return "", err
	}
	fields := strings.FieldsFunc(cell, func(r rune) bool { return r == ',' || r == ';' || r == '|' })
	if len(fields) == 1 {
		fields = strings.Fields(cell)
	}
	var keywords []string
	for _, k := range fields {
		k = strings.TrimSpace(k)
		switch {
		case k == "" || slices.Contains(keywords, k):
			continue
		case len(k) > MaxKeyword:
			return "", fmt.Errorf("has a keyword longer than %d bytes", MaxKeyword)
		case len(keywords) == MaxKeywords:
			return "", fmt.Errorf("has more than %d keywords", MaxKeywords)
		}
		keywords = append(keywords, k)
	}
	return joinKeywords(keywords), nil
}

// sort brings the bad rows into the order of the file.
func (r *Report) sort() {
	slices.SortStableFunc(r.Bad, func(a, b BadRow) int { return cmp.Compare(a.Line, b.Line) })
}
