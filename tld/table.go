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
	"github.com/namewharf/namewharf/op"
)

// A Table is the facts about suffixes: all delegated top-level domains, the registration rules of some suffixes, and
// a few under which a company that is no registry sells names. It is immutable.
type Table struct {
	delegated map[string]Metadata    // what a top-level domain and the suffixes below it share: no rules
	own       map[fqdn.Name]Metadata // the suffixes with rules or without their registry, and all their facts
	all       []fqdn.Name            // the names of both, sorted
	suffixes  *fqdn.Suffixes
}

var defaultTable = sync.OnceValue(func() *Table {
	t, err := readTable(unpack(factsPacked))
	if err != nil {
		panic(fmt.Sprintf("tld: facts.txt: %v", err))
	}
	return t
})

// DefaultTable is the table that is built in.
func DefaultTable() *Table { return defaultTable() }

// Metadata returns what is known of the suffix: a delegated top-level domain, or a suffix below one under which its
// registry takes registrations, by the rules held or the ICANN section of the Public Suffix List. A suffix below one
// has the registry and the servers of its top-level domain, and no rule but its own. Of a suffix that another sells
// names under, such as uk.com, the type alone is known.
// Any other name is [fault.NotFound]. The slices are the caller's.
func (t *Table) Metadata(suffix fqdn.Name) (Metadata, error) {
	m, ok := t.own[suffix]
	if !ok {
		if !t.suffixes.Known(suffix) {
			return Metadata{}, fault.New(fault.NotFound, "this is not a TLD that names are registered under").
				WithHint("send one such as com or co.uk")
		}
		m = t.delegated[suffix.TLD()]
	}
	m.TLD, m.Unicode = suffix.String(), suffix.Unicode()
	m.Organization.AllowedCountries = slices.Clone(m.Organization.AllowedCountries)
	m.Sources = slices.Clone(m.Sources)
	m.Unknown = unknown(&m)
	return m, nil
}

// All returns the suffixes that the table has facts of its own about, by name (A-label form): every delegated
// top-level domain and some longer suffixes.
func (t *Table) All() []fqdn.Name { return slices.Clone(t.all) }

// Catalogue returns every suffix that can be asked for, by name (A-label form): those of [Table.All] and those of the
// book that the table knows.
func (t *Table) Catalogue(b *Book) []fqdn.Name {
	names := t.All()
	for _, suffix := range b.suffixes {
		if _, listed := slices.BinarySearchFunc(t.all, suffix, compareNames); !listed && t.suffixes.Known(suffix) {
			names = append(names, suffix)
		}
	}
	slices.SortFunc(names, compareNames)
	return names
}

func (t *Table) has(suffix fqdn.Name) bool {
	_, ok := t.own[suffix]
	return ok
}

// Delegated returns the delegated top-level domains by name, in A-label form.
func (t *Table) Delegated() []string { return slices.Sorted(maps.Keys(t.delegated)) }

// RDAP returns the base URLs of the top-level domain's RDAP service, each with a slash at its end (RFC 9224,
// section 3); none where no service is known.
func (t *Table) RDAP(tld string) []string {
	base := t.delegated[tld].RDAP.URL
	if base == "" {
		return nil
	}
	return []string{strings.TrimSuffix(base, "/") + "/"}
}

// RDAPSource says who names the RDAP service; empty where none is known.
func (t *Table) RDAPSource(tld string) RDAPSource { return t.delegated[tld].RDAP.Source }

// WHOIS returns the host name of the top-level domain's WHOIS server; empty where none is known.
func (t *Table) WHOIS(tld string) string { return t.delegated[tld].WHOIS.Server }

// ASCIIOnly returns the suffixes whose registries are known to take no internationalized names, by name.
func (t *Table) ASCIIOnly() []string {
	var all []string
	for suffix, facts := range t.own {
		if facts.Label.IDN == op.No {
			all = append(all, suffix.String())
		}
	}
	slices.Sort(all)
	return all
}

// A tableReader reads a file of delegated, sold and rules blocks.
type tableReader struct {
	table   Table
	sources []string // by number, from 1
	cited   []bool
	asOf    time.Time
}

// readTable reads a table. It is strict: whatever it does not know, finds twice or finds contradictory is an error.
func readTable(text string) (*Table, error) {
	blocks, err := parseBlocks(text)
	if err != nil {
		return nil, err
	}
	r := &tableReader{table: Table{delegated: make(map[string]Metadata), own: make(map[fqdn.Name]Metadata)}}
	for _, b := range blocks {
		if err := r.add(b); err != nil {
			return nil, err
		}
	}
	if i := slices.Index(r.cited, false); i >= 0 {
		return nil, fmt.Errorf("source %d is never cited", i+1)
	}
	r.table.all = r.names()
	r.table.suffixes = fqdn.NewSuffixes(r.table.Delegated(), nil)
	return &r.table, nil
}

// names lists the suffixes read, each once.
func (r *tableReader) names() []fqdn.Name {
	set := make(map[fqdn.Name]bool, len(r.table.delegated)+len(r.table.own))
	for top := range r.table.delegated {
		set[fqdn.MustParse(top)] = true
	}
	for suffix := range r.table.own {
		set[suffix] = true
	}
	return sorted(maps.Keys(set))
}

func (r *tableReader) add(b block) (err error) {
	switch b.kind {
	case "source":
		return r.addSource(b)
	case "as_of":
		r.asOf, err = b.date()
		return err
	case "delegated", "sold", "rules":
		return r.addFacts(b)
	}
	return b.errorf("unknown kind of block")
}

func (r *tableReader) addSource(b block) error {
	number, address, _ := strings.Cut(b.rest, " ")
	if number != strconv.Itoa(len(r.sources)+1) || len(b.fields) > 0 {
		return b.errorf("must be \"source %d URL\"", len(r.sources)+1)
	}
	if slices.Contains(r.sources, address) {
		return b.errorf("listed before")
	}
	if err := new(webURL).set(address); err != nil {
		return b.errorf("%v", err)
	}
	r.sources = append(r.sources, address)
	r.cited = append(r.cited, false)
	return nil
}

// addFacts adds the facts of a block to each of its suffixes.
func (r *tableReader) addFacts(b block) error {
	if r.asOf.IsZero() || b.rest != "" {
		return b.errorf("needs an as_of before it, and nothing on its line")
	}
	suffixes, err := b.takeSuffixes()
	if err != nil {
		return err
	}
	cited, err := r.cite(&b)
	if err != nil {
		return err
	}
	kind, err := b.takeType()
	if err != nil {
		return err
	}
	for _, suffix := range suffixes {
		m, err := r.start(b, suffix, kind)
		if err != nil {
			return err
		}
		for _, f := range b.fields {
			f.value = strings.ReplaceAll(f.value, "{tld}", suffix.String())
			if err := setFact(&m, b.kind, f); err != nil {
				return err
			}
		}
		if err := check(&m); err != nil {
			return b.errorf("%v", err)
		}
		m.Sources = appendNew(m.Sources, cited)
		if b.kind == "delegated" {
			r.table.delegated[suffix.String()] = m
		} else {
			r.table.own[suffix] = m
		}
	}
	return nil
}

// start returns the facts that a suffix of the block has before the block is read.
func (r *tableReader) start(b block, suffix fqdn.Name, kind Type) (Metadata, error) {
	asOf := Date(r.asOf.Format(time.DateOnly))
	top, delegated := r.table.delegated[suffix.TLD()]
	switch {
	case b.kind == "delegated" && (delegated || suffix.Dots() > 0):
		return Metadata{}, b.errorf("%s is delegated before, or not a top-level domain", suffix)
	case b.kind == "delegated":
		return Metadata{Type: kind, AsOf: asOf}, nil
	case !delegated || r.table.has(suffix):
		return Metadata{}, b.errorf("%s is here before, or its top-level domain is not", suffix)
	case kind != "" || (len(b.fields) == 0) != (b.kind == "sold"):
		return Metadata{}, b.errorf("a type, a fact of a sold TLD, or no rule at all")
	case b.kind == "sold":
		return Metadata{Type: top.Type, AsOf: asOf}, nil
	}
	top.AsOf = min(top.AsOf, asOf)
	return top, nil
}

// takeType removes the type field, if any, and returns its value.
func (b *block) takeType() (Type, error) {
	words := b.take("type")
	if len(words) == 0 {
		return "", nil
	}
	var kind Type
	if err := kind.set(strings.Join(words, " ")); err != nil {
		return "", b.errorf("type: %v", err)
	}
	return kind, nil
}

// cite removes the sources fields and returns the documents that they number.
func (r *tableReader) cite(b *block) ([]string, error) {
	numbers := b.take("sources")
	if len(numbers) == 0 {
		return nil, b.errorf("no sources")
	}
	cited := make([]string, len(numbers))
	for i, number := range numbers {
		n, err := parseNumber(number)
		if err != nil || n < 1 || n > len(r.sources) {
			return nil, b.errorf("sources are numbers of the sources above")
		}
		cited[i] = r.sources[n-1]
		r.cited[n-1] = true
	}
	return cited, nil
}

// appendNew appends the texts that the list does not have, to a copy.
func appendNew(list, more []string) []string {
	list = slices.Clone(list)
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}
