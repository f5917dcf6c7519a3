package index

import (
	"cmp"
	"hash/maphash"
	"iter"
	"math"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/namewharf/namewharf/market/words"
)

// Load adds many entries at once, faster than Apply for an empty index. Of entries with one domain the last counts.
func (x *Index) Load(entries iter.Seq[Entry]) {
	x.mu.Lock()
	defer x.mu.Unlock()
	var p poster
	for e := range entries {
		label, suffix, _ := strings.Cut(e.Domain, ".")
		x.post(&p, x.add(label, suffix, &e), label, e.Keywords)
	}
	x.sortRare()
	if x.deadCount > 0 {
		x.compact()
	}
	x.clip()
	x.sortOrders()
}

// Apply makes the changes, in their order, visible at once and all together.
func (x *Index) Apply(changes []Change) {
	if len(changes) == 0 {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	first := uint32(len(x.ends))
	var removed []uint32
	var p poster
	for i := range changes {
		c := &changes[i]
		if slot, ok := x.find(c.Domain); ok && !x.isDead(slot) {
			x.bury(slot)
			if slot < first {
				removed = append(removed, slot)
			}
		}
		if !c.Gone {
			label, suffix, _ := strings.Cut(c.Domain, ".")
			x.post(&p, x.add(label, suffix, &c.Entry), label, c.Keywords)
		}
	}
	var added []uint32
	for slot := first; slot < uint32(len(x.ends)); slot++ {
		if !x.isDead(slot) {
			added = append(added, slot)
		}
	}
	if len(x.rareTail) > mostTail {
		x.sortRare()
	}
	x.updateOrders(removed, added)
	if x.deadCount > fewDead && x.deadCount > len(x.ends)/4 {
		x.compact()
	}
}

// fewDead is how many dead slots are never worth the work of compacting; mostTail how many rare postings may be
// unsorted, to be looked through by every search for a rare word.
const (
	fewDead  = 4096
	mostTail = 1024
)

// A posting is a slot that has a word: in its label, or (lowest bit) only among its keywords.
type posting = uint32

func makePosting(slot uint32, keyword bool) posting {
	if keyword {
		return slot<<1 | 1
	}
	return slot << 1
}

// A rarePosting is the posting of a piece that is no word of the lexicon, by a hash of the piece. Postings of words are
// lists; there may be more rare pieces than entries, and a list for each would cost more than the entries.
type rarePosting struct {
	hash uint32
	at   posting
}

func compareRare(a, b rarePosting) int {
	return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.at, b.at))
}

// poster is what post needs again and again.
type poster struct{ pieces []words.Piece }

// post makes the words of a label and of keywords lead to the slot.
func (x *Index) post(p *poster, slot uint32, label string, keywords []string) {
	p.pieces = x.lex.Split(p.pieces[:0], fold(readable(label)))
	mass := 0
	for _, piece := range p.pieces {
		mass += int(x.mass(piece))
		x.postPiece(piece, makePosting(slot, false))
	}
	x.masses[slot] = uint8(max(1, min(mass, math.MaxUint8)))
	for _, keyword := range keywords {
		p.pieces = x.lex.Split(p.pieces[:0], fold(keyword))
		for _, piece := range p.pieces {
			x.postPiece(piece, makePosting(slot, true))
		}
	}
}

func (x *Index) postPiece(piece words.Piece, at posting) {
	if piece.Word == 0 {
		x.rareTail = append(x.rareTail, rarePosting{x.rareHash(piece.Text), at})
		return
	}
	base := x.lex.Base(piece.Word)
	x.postWord(base, at)
	// The parts of a compound count as keywords: they say what the name is about, less plainly than words of their own.
	first, second := x.lex.Parts(base)
	x.postWord(first, at|1)
	x.postWord(second, at|1)
}

func (x *Index) postWord(word words.ID, at posting) {
	if word == 0 {
		return
	}
	if x.postings == nil {
		x.postings = make([][]uint32, x.lex.Len()+1)
	}
	list := &x.postings[word]
	if n := len(*list); n > 0 && (*list)[n-1]>>1 == at>>1 {
		return
	}
	if cap(*list) == 0 {
		x.posted = append(x.posted, word)
	}
	*list = append(*list, at)
}

func (x *Index) rareHash(piece string) uint32 { return uint32(maphash.String(x.seed, piece)) }

// sortRare brings the tail into its place.
func (x *Index) sortRare() {
	x.rare = append(x.rare, x.rareTail...)
	x.rareTail = nil
	slices.SortFunc(x.rare, compareRare)
	x.rare = slices.Compact(x.rare)
}

// fold brings a text into the form in which words are compared: lower case, without accents.
func fold(s string) string {
	ascii := true
	for i := range len(s) {
		if c := s[i]; c >= 0x80 || 'A' <= c && c <= 'Z' {
			ascii = false
			break
		}
	}
	if ascii {
		return s
	}
	var b strings.Builder
	for _, r := range norm.NFKD.String(strings.ToLower(s)) {
		switch {
		case r == 'ß':
			b.WriteString("ss")
		case unicode.Is(unicode.Mn, r):
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// compact leaves out the dead slots.
func (x *Index) compact() {
	const gone = ^uint32(0)
	old := x.table
	moved := make([]uint32, len(old.ends))
	live := old.live()
	x.table = newTable(live, len(old.labels))
	x.suffixNames, x.currencyNames = old.suffixNames, old.currencyNames
	for slot := range uint32(len(old.ends)) {
		if old.isDead(slot) {
			moved[slot] = gone
			continue
		}
		to := uint32(len(x.ends))
		moved[slot] = to
		x.labels = append(x.labels, old.label(slot)...)
		x.ends = append(x.ends, uint32(len(x.labels)))
		x.suffixes = append(x.suffixes, old.suffixes[slot])
		x.prices = append(x.prices, old.prices[slot])
		x.currencies = append(x.currencies, old.currencies[slot])
		x.listed = append(x.listed, old.listed[slot])
		x.lengths = append(x.lengths, old.lengths[slot])
		x.masses = append(x.masses, old.masses[slot])
		if to%64 == 0 {
			x.dead = append(x.dead, 0)
		}
	}
	x.rehash(len(x.slots))
	for i, order := range old.orders {
		x.orders[i] = order[:0]
		for _, slot := range order {
			if moved[slot] != gone {
				x.orders[i] = append(x.orders[i], moved[slot])
			}
		}
	}
	x.postings, x.posted = old.postings, old.posted
	for w, list := range x.postings {
		kept := list[:0]
		for _, at := range list {
			if to := moved[at>>1]; to != gone {
				kept = append(kept, to<<1|at&1)
			}
		}
		x.postings[w] = kept
	}
	x.rare = old.rare[:0]
	for _, r := range slices.Concat(old.rare, old.rareTail) {
		if to := moved[r.at>>1]; to != gone {
			x.rare = append(x.rare, rarePosting{r.hash, to<<1 | r.at&1})
		}
	}
	x.sortRare()
}

// clip gives back the reserve of everything that grew while loading.
func (x *Index) clip() {
	x.labels = clip(x.labels)
	x.ends = clip(x.ends)
	x.suffixes = clip(x.suffixes)
	x.prices = clip(x.prices)
	x.currencies = clip(x.currencies)
	x.listed = clip(x.listed)
	x.lengths = clip(x.lengths)
	x.masses = clip(x.masses)
	x.rare = clip(x.rare)
	x.posted = x.posted[:0]
	for w, list := range x.postings {
		if x.postings[w] = clip(list); cap(x.postings[w]) > 0 {
			x.posted = append(x.posted, words.ID(w))
		}
	}
	x.posted = clip(x.posted)
}
