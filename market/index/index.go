// Package index is the visible listings of one environment in memory, to be found by name, by words and in order.
//
// A listing costs about 85 bytes: columns instead of structs, small integers instead of strings, and one arena for
// all labels. What is rarely needed, such as descriptions, stays in the database.
package index

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/namewharf/namewharf/market/words"
)

// An Entry is a listing as far as it is needed to find and price it.
type Entry struct {
	Domain     string // A-label form, a label under its suffix
	PriceCents int64
	Currency   string
	ListedAt   int64    // microseconds since 1970
	Keywords   []string // input only
}

// A Change sets the entry of a domain, or takes it out.
type Change struct {
	Entry
	Gone bool // only Domain counts
}

// An Index is safe for concurrent use: many read at a time, one changes.
type Index struct {
	lex  *words.Lexicon
	seed maphash.Seed

	scratch sync.Pool // of *scratch: searches take turns with them

	partSlots int // how many slots are worth a processor of their own in a search

	mu sync.RWMutex
	table
}

// table is the data of an index: columns by slot, and what leads to slots. A slot is never used twice; those of entries
// that are gone or were replaced are dead until compact removes them.
type table struct {
	labels     []byte   // the labels of all slots, one behind the other
	ends       []uint32 // where the slot's label ends in labels
	suffixes   []uint32 // number of the suffix
	prices     []int64
	currencies []uint16 // number of the currency, of which there are at most 26³
	listed     []int64
	lengths    []uint8  // characters of the label as people read it
	masses     []uint8  // of the label's words together
	dead       []uint64 // one bit a slot
	deadCount  int

	slots    []uint32 // hash table: 1 + slot, or 0; linear probing
	orders   [orders][]uint32
	postings [][]uint32 // by word: posting values, ascending; nil while no word is posted
	posted   []words.ID // the words whose list of postings has a capacity
	rare     []rarePosting
	rareTail []rarePosting // not yet sorted in

	suffixNames   interned
	currencyNames interned
}

// New returns an empty index with capacity for that many entries.
func New(lex *words.Lexicon, capacity int) *Index {
	return &Index{lex: lex, seed: maphash.MakeSeed(), partSlots: partSlots, table: newTable(capacity, 12*capacity)}
}

func newTable(capacity, bytes int) table {
	capacity += capacity / 64 // later growth need not move everything at once
	return table{
		labels:     make([]byte, 0, bytes),
		ends:       make([]uint32, 0, capacity),
		suffixes:   make([]uint32, 0, capacity),
		prices:     make([]int64, 0, capacity),
		currencies: make([]uint16, 0, capacity),
		listed:     make([]int64, 0, capacity),
		lengths:    make([]uint8, 0, capacity),
		masses:     make([]uint8, 0, capacity),
		dead:       make([]uint64, 0, capacity/64+1),
		slots:      make([]uint32, tableSize(capacity)),
	}
}

// Len is the number of entries.
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.live()
}

// Get returns the entry of a domain, without keywords. It allocates nothing.
func (x *Index) Get(domain string) (Entry, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	slot, ok := x.find(domain)
	if !ok || x.isDead(slot) {
		return Entry{}, false
	}
	return Entry{
		Domain:     domain,
		PriceCents: x.prices[slot],
		Currency:   x.currencyNames.names[x.currencies[slot]],
		ListedAt:   x.listed[slot],
	}, true
}

// entry is the entry of a slot, without keywords.
func (t *table) entry(slot uint32) Entry {
	return Entry{
		Domain:     string(t.label(slot)) + "." + t.suffixNames.names[t.suffixes[slot]],
		PriceCents: t.prices[slot],
		Currency:   t.currencyNames.names[t.currencies[slot]],
		ListedAt:   t.listed[slot],
	}
}

func (t *table) live() int { return len(t.ends) - t.deadCount }

func (t *table) label(slot uint32) []byte {
	start := uint32(0)
	if slot > 0 {
		start = t.ends[slot-1]
	}
	return t.labels[start:t.ends[slot]]
}

func (t *table) isDead(slot uint32) bool { return t.dead[slot/64]>>(slot%64)&1 != 0 }

func (t *table) bury(slot uint32) {
	t.dead[slot/64] |= 1 << (slot % 64)
	t.deadCount++
}

// find returns the slot of the domain, dead or alive.
func (x *Index) find(domain string) (uint32, bool) {
	label, suffix, _ := strings.Cut(domain, ".")
	number, ok := x.suffixNames.find(suffix)
	if !ok {
		return 0, false
	}
	at := x.place(label, number)
	if x.slots[at] == 0 {
		return 0, false
	}
	return x.slots[at] - 1, true
}

// place is where the hash table has the name, or would have it.
func (x *Index) place(label string, suffix uint32) uint32 {
	mask := uint32(len(x.slots) - 1)
	at := x.hash(label, suffix) & mask
	for x.slots[at] != 0 {
		slot := x.slots[at] - 1
		if x.suffixes[slot] == suffix && string(x.label(slot)) == label {
			break
		}
		at = (at + 1) & mask
	}
	return at
}

func (x *Index) hash(label string, suffix uint32) uint32 {
	h := maphash.String(x.seed, label)
	return uint32(h>>32) ^ uint32(h) ^ suffix*0x9e3779b1
}

// add appends a slot for the entry and makes the name lead to it. It fills neither postings nor orders.
func (x *Index) add(label, suffix string, e *Entry) uint32 {
	if len(x.slots)*3 < (len(x.ends)+1)*4 {
		x.rehash(2 * len(x.slots))
	}
	slot := uint32(len(x.ends))
	number := x.suffixNames.number(suffix)
	at := x.place(label, number)
	if old := x.slots[at]; old != 0 && !x.isDead(old-1) {
		x.bury(old - 1)
	}
	x.slots[at] = slot + 1
	x.labels = append(x.labels, label...)
	x.ends = append(x.ends, uint32(len(x.labels)))
	x.suffixes = append(x.suffixes, number)
	x.prices = append(x.prices, e.PriceCents)
	x.currencies = append(x.currencies, uint16(x.currencyNames.number(e.Currency)))
	x.listed = append(x.listed, e.ListedAt)
	x.lengths = append(x.lengths, readLength(label))
	x.masses = append(x.masses, 0)
	if slot%64 == 0 {
		x.dead = append(x.dead, 0)
	}
	return slot
}

func (x *Index) rehash(size int) {
	x.slots = make([]uint32, size)
	for slot := range uint32(len(x.ends)) {
		at := x.place(string(x.label(slot)), x.suffixes[slot])
		// Of two slots with one name the later counts.
		x.slots[at] = slot + 1
	}
}

// tableSize is a power of two that n entries fill to three quarters at most.
func tableSize(n int) int {
	size := 64
	for size*3 < n*4 {
		size *= 2
	}
	return size
}

// readLength is how many characters people see of a label.
func readLength(label string) uint8 {
	return uint8(utf8.RuneCountInString(readable(label)))
}

// readable is the label in Unicode.
func readable(label string) string {
	if strings.HasPrefix(label, "xn--") {
		if u, err := idna.Punycode.ToUnicode(label); err == nil {
			return u
		}
	}
	return label
}

// interned numbers texts of which there are few.
type interned struct {
	names   []string
	numbers map[string]uint32
}

func (n *interned) find(name string) (uint32, bool) {
	number, ok := n.numbers[name]
	return number, ok
}

// number returns the number of the text, giving it one at first sight.
func (n *interned) number(name string) uint32 {
	if number, ok := n.numbers[name]; ok {
		return number
	}
	if n.numbers == nil {
		n.numbers = map[string]uint32{}
	}
	name = strings.Clone(name)
	number := uint32(len(n.names))
	n.names = append(n.names, name)
	n.numbers[name] = number
	return number
}

// clip gives back what slices have in reserve, down to a sixty-fourth.
func clip[E any](s []E) []E {
	if cap(s)-len(s) <= len(s)/32+16 {
		return s
	}
	return append(slices.Grow([]E(nil), len(s)+len(s)/64), s...)
}
