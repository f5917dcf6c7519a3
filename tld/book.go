package tld

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/spelling"
)

// A Price is what an action costs under a suffix.
type Price struct {
	TLD       fqdn.Name // the suffix, which may be longer than a top-level domain
	Action    Action
	Amount    money.Amount
	TermYears int       // the years that the amount pays for; 0: none, as a transfer that adds none
	AsOf      time.Time // the day of the price, at 00:00 UTC
}

// MaxTermYears bounds the term of a price.
const MaxTermYears = 100

// A Book is a price list: at most one price for each suffix and action. It is immutable.
type Book struct {
	rows     map[fqdn.Name]*row
	suffixes []fqdn.Name // by name
}

// A row is the prices of one suffix by [Action.slot]. A Price without an Action is not offered.
type row [4]Price

var defaultBook = sync.OnceValue(func() *Book {
	b, err := readBook(unpack(tariffsPacked))
	if err != nil {
		panic(fmt.Sprintf("tld: tariffs.txt: %v", err))
	}
	return b
})

// DefaultBook is the price list that is built in: one registrar's public retail prices on 2026-01-01.
func DefaultBook() *Book { return defaultBook() }

// Merge returns the prices of both books; where both have a price for a suffix and an action, that of over counts.
func Merge(base, over *Book) *Book {
	var d draft
	for _, b := range []*Book{base, over} {
		for _, name := range b.suffixes {
			for _, p := range b.rows[name] {
				if p.Action != "" {
					d.set(p)
				}
			}
		}
	}
	return d.book()
}

// Price returns what the action costs under the suffix. It fails with [fault.NotFound] where the book does not know
// the suffix or the action is not offered there, and with [fault.Validation] for an action that does not exist.
func (b *Book) Price(suffix fqdn.Name, a Action) (Price, error) {
	slot, ok := a.slot()
	if !ok {
		return Price{}, fault.Invalid("op", "must be register, renew, transfer or restore")
	}
	r := b.rows[suffix]
	if r == nil {
		return Price{}, fault.New(fault.NotFound, "there is no price for this TLD").
			WithHint("send a TLD that names are sold under, such as com or co.uk")
	}
	if r[slot].Action == "" {
		return Price{}, fault.New(fault.NotFound, "%s is not offered for this TLD", a).
			WithHint("it offers %s", r.offers())
	}
	return r[slot], nil
}

// Prices returns the prices of the suffix in the order of [Actions]; none for a suffix that is not in the book.
func (b *Book) Prices(suffix fqdn.Name) []Price {
	r := b.rows[suffix]
	if r == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r[:]), func(p Price) bool { return p.Action == "" })
}

// Suffixes returns the suffixes of the book by name (A-label form).
func (b *Book) Suffixes() []fqdn.Name { return slices.Clone(b.suffixes) }

// Len is the number of suffixes.
func (b *Book) Len() int { return len(b.suffixes) }

// offers lists the actions of the row as text: "register, renew and restore".
func (r *row) offers() string {
	var names []string
	for _, p := range r {
		if p.Action != "" {
			names = append(names, string(p.Action))
		}
	}
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// A draft is a book being written.
type draft struct {
	rows  map[fqdn.Name]*row
	known func(fqdn.Name) error // says why there is no such suffix; nil: all pass
}

// has reports whether the draft has a price for the suffix and the action.
func (d *draft) has(suffix fqdn.Name, a Action) bool {
	slot, ok := a.slot()
	r := d.rows[suffix]
	return ok && r != nil && r[slot].Action != ""
}

// set enters the price in place of an earlier one. Its action must be one of [Actions].
func (d *draft) set(p Price) {
	if d.rows == nil {
		d.rows = make(map[fqdn.Name]*row)
	}
	r := d.rows[p.TLD]
	if r == nil {
		r = new(row)
		d.rows[p.TLD] = r
	}
	slot, _ := p.Action.slot()
	r[slot] = p
}

// book closes the draft.
func (d *draft) book() *Book {
	return &Book{rows: d.rows, suffixes: sorted(maps.Keys(d.rows))}
}

// readBook reads a file of tariff blocks.
func readBook(text string) (*Book, error) {
	blocks, err := parseBlocks(text)
	if err != nil {
		return nil, err
	}
	var d draft
	var asOf time.Time
	for _, b := range blocks {
		switch b.kind {
		case "as_of":
			if asOf, err = b.date(); err != nil {
				return nil, err
			}
		case "tariff":
			if err := d.addTariff(b, asOf); err != nil {
				return nil, err
			}
		default:
			return nil, b.errorf("unknown kind of block")
		}
	}
	return d.book(), nil
}

func (d *draft) addTariff(b block, asOf time.Time) error {
	if asOf.IsZero() || b.rest != "" {
		return b.errorf("needs an as_of before it, and nothing on its line")
	}
	suffixes, err := b.takeSuffixes()
	if err != nil {
		return err
	}
	if len(b.fields) == 0 {
		return b.errorf("no prices")
	}
	for _, f := range b.fields {
		p, err := parseTariff(f)
		if err != nil {
			return fmt.Errorf("line %d: %w", f.line, err)
		}
		p.AsOf = asOf
		for _, p.TLD = range suffixes {
			if d.has(p.TLD, p.Action) {
				return fmt.Errorf("line %d: %s of %s is priced twice", f.line, p.Action, p.TLD)
			}
			d.set(p)
		}
	}
	return nil
}

// parseTariff reads "ACTION CENTS CURRENCY YEARS".
func parseTariff(f field) (Price, error) {
	action := Action(f.key)
	words := strings.Split(f.value, " ")
	if _, ok := action.slot(); !ok || len(words) != 3 {
		return Price{}, fmt.Errorf("not ACTION CENTS CURRENCY YEARS")
	}
	return newPrice(action, words[0], words[1], words[2])
}

// newPrice reads the parts of a price that book files and CSV files share.
func newPrice(a Action, cents, currency, years string) (Price, error) {
	n, err := money.ParseCents(cents)
	if err != nil {
		return Price{}, columnError{string(a), "is " + err.Error()}
	}
	cur, err := money.ParseCurrency(currency)
	if err != nil {
		return Price{}, columnError{"currency", "is " + err.Error() + spelling.DidYouMean(currency, money.Currencies())}
	}
	term, err := strconv.ParseUint(years, 10, 8)
	if err != nil || term > MaxTermYears {
		return Price{}, columnError{"term_years", fmt.Sprintf("is not a whole number from 0 to %d", MaxTermYears)}
	}
	return Price{Action: a, Amount: money.Amount{Cents: n, Currency: cur}, TermYears: int(term)}, nil
}

// A columnError says what is wrong with the value of a column, as the rest of a sentence about it.
type columnError struct{ column, reason string }

func (e columnError) Error() string { return e.column + " " + e.reason }
