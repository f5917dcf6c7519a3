package index

import (
	"bytes"
	"cmp"
	"math/bits"
	"runtime"
	"slices"
	"sync"
)

// A Match says why an entry was found.
type Match string

// The ways to match, best first.
const (
	Exact    Match = "exact"    // the name or label asked for
	Keyword  Match = "keyword"  // has the words asked for, or begins with them
	Semantic Match = "semantic" // has words near them in meaning
)

// A Hit is an entry that is relevant to a query.
type Hit struct {
	Entry
	Match Match
	Score float32 // best first; above 1 for exact matches
}

// Scores of what is found by its label instead of by its words.
const (
	domainScore = 4.0 // the very domain
	labelScore  = 3.0 // the same label under another suffix
	hyphenScore = 2.9 // the label written with hyphens between the words
	prefixScore = 0.6 // the label begins with the query, perhaps in the middle of a word: at least this
	prefixBonus = 0.2 // the label begins with the words of the query: this much more than by the words alone
)

// Shares of the score of what is found by its words.
const (
	mostShare    = 0.4  // the nearest of its words, against all of them
	meaningShare = 0.75 // what its words mean, against how much of the query they are
)

// From which scores entries are shown.
const (
	enough    = 0.3
	fallback  = 0.25 // better than nothing: when none has enough
	ofTheBest = 0.6  // of the best score
)

// keywordShare is what a word among the keywords is worth against one in the label.
const keywordShare = 0.85

// mostPrefixed is up to how many labels that begin with the query are looked at.
const mostPrefixed = 4096

// Search returns the entries most relevant to a domain, a label, a phrase or a URL, best first, at most limit. Entries of
// equal relevance follow by length and name, never by price.
func (x *Index) Search(text string, limit int) []Hit {
	if limit <= 0 {
		return nil
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	q := x.parse(text)
	first := best[found]{limit: limit, compare: x.better}
	x.relevant(&q, func(f found) { x.compete(&q, &first, f) })
	hits := make([]Hit, 0, len(first.kept))
	for _, f := range first.sorted() {
		hits = append(hits, Hit{x.entry(f.slot), f.match, f.score})
	}
	return hits
}

// relevant finds every entry that is relevant to the query, each once.
func (x *Index) relevant(q *query, add func(found)) {
	seen := make(map[uint32]bool)
	x.byLabel(q, func(f found) {
		if !seen[f.slot] {
			seen[f.slot] = true
			add(f)
		}
	})
	x.byWords(q, func(f found) {
		if len(seen) == 0 || !seen[f.slot] {
			add(f)
		}
	})
}

// found is a slot that is relevant.
type found struct {
	slot    uint32
	score   float32
	meaning float32 // the part of the score that is about meaning
	match   Match
	byWords bool // not by its label
}

// compete adds a hit to the first ones, if it is among them. Of the many hits of a common word most are not, and are passed
// over without a look at their names.
func (x *Index) compete(q *query, first *best[found], f found) {
	if f.byWords && f.match == Keyword {
		hopeful := f
		hopeful.score += prefixBonus
		if last, full := first.last(); full && cmp.Or(
			cmp.Compare(last.score, hopeful.score),
			cmp.Compare(x.lengths[hopeful.slot], x.lengths[last.slot])) > 0 {
			return
		}
		f.score = x.scoreWithPrefix(q, f)
	}
	first.add(f)
}

// scoreWithPrefix is the score of a hit, with the bonus of one whose label begins with the words of the query.
func (x *Index) scoreWithPrefix(q *query, f found) float32 {
	if f.byWords && f.match == Keyword && bytes.HasPrefix(x.label(f.slot), []byte(q.joined)) {
		return f.score + prefixBonus
	}
	return f.score
}

// better is the order of hits.
func (t *table) better(a, b found) int {
	if c := cmp.Compare(b.score, a.score); c != 0 {
		return c
	}
	if c := cmp.Compare(t.lengths[a.slot], t.lengths[b.slot]); c != 0 {
		return c
	}
	return t.compareNames(a.slot, b.slot)
}

// byLabel finds entries whose label is the query or begins with it. It may find one twice, best first.
func (x *Index) byLabel(q *query, add func(found)) {
	if slot, ok := x.find(q.domain); ok && !x.isDead(slot) {
		add(found{slot: slot, score: domainScore, match: Exact})
	}
	label := func(label string, score float32) {
		if label == "" {
			return
		}
		for _, slot := range x.withPrefix(label) {
			if len(x.label(slot)) > len(label) {
				break
			}
			add(found{slot: slot, score: score, match: Exact})
		}
	}
	label(q.joined, labelScore)
	label(q.hyphen, hyphenScore)
	if q.cut || len(q.joined) < shortestPrefix {
		return
	}
	prefixed := x.withPrefix(q.joined)
	for _, slot := range prefixed[:min(len(prefixed), mostPrefixed)] {
		cover := float32(len(q.joined)) / float32(len(x.label(slot)))
		add(found{slot: slot, score: prefixScore + (1-prefixScore)*cover, match: Keyword})
	}
}

// unit is the similarity 1 in the integers that are counted with.
const unit = 1 << 12

func fixed(similarity float32) uint16 { return uint16(max(0, min(unit, similarity*unit))) }

// window is how many slots are counted at a time: few enough for the tallies to stay in the processor's cache.
const window = 1 << 14

// A tally is what the terms say of a slot.
type tally struct {
	sum         uint32 // of mass and similarity of the words that it has, in parts of unit
	most        uint16 // the greatest of their similarities
	words       uint16 // which words of the query it has
	keywords    uint16 // and which of these only among its keywords
	labelMasses uint16 // of the words that the label has
}

// scratch is what a search by words needs besides its results. Between uses the tallies are zero.
type scratch struct {
	tallies [window]tally
	touched []uint16 // the tallies that are not zero
	found   []found
}

// partSlots is how many slots are worth a processor of their own.
const partSlots = 1 << 21

// byWords finds entries by the words of the query and by words near in meaning, in the order of slots. A large index is looked
// through in parts, side by side.
func (x *Index) byWords(q *query, add func(found)) {
	if len(q.terms) == 0 {
		return
	}
	parts := make([]*scratch, max(1, min(runtime.GOMAXPROCS(0), len(x.ends)/x.partSlots)))
	firsts := make([]float32, len(parts))
	size := (len(x.ends)/len(parts)/window + 1) * window // of a part
	var wg sync.WaitGroup
	for i := range parts {
		s, ok := x.scratch.Get().(*scratch)
		if !ok {
			s = new(scratch)
		}
		parts[i] = s
		defer x.scratch.Put(s)
		scan := func() { firsts[i] = x.scan(q, s, uint32(i*size), uint32(min((i+1)*size, len(x.ends)))) }
		if i+1 < len(parts) {
			wg.Go(scan)
		} else {
			scan()
		}
	}
	wg.Wait()
	first := slices.Max(firsts)
	floor := ofTheBest * first
	if first >= enough {
		floor = max(floor, enough)
	}
	for _, s := range parts {
		for _, f := range s.found {
			if f.match == Keyword || f.meaning >= floor {
				add(f)
			}
		}
	}
}

// scan finds the entries of the slots from low to end into s, but for some that mean less than is shown, and returns how much the
// best of them means.
func (x *Index) scan(q *query, s *scratch, low, end uint32) (first float32) {
	s.found = s.found[:0]
	least := fixed(fallback)
	rest := slices.Clone(q.terms)
	for i, t := range rest {
		at, _ := slices.BinarySearch(t.list, low<<1)
		rest[i].list = t.list[at:]
	}
	for ; low < end; low += window {
		left := false
		for i := range rest {
			rest[i].list = rest[i].count(low, s)
			left = left || len(rest[i].list) > 0
		}
		for _, offset := range s.touched {
			t := s.tallies[offset]
			s.tallies[offset] = tally{}
			slot := low + uint32(offset)
			if t.most < least && 2*bits.OnesCount16(t.words) <= q.words {
				continue // means too little, and is too little of the query
			}
			if f := x.judge(q, slot, t); (f.match == Keyword || f.meaning >= max(fallback, ofTheBest*first)) && !x.isDead(slot) {
				first = max(first, f.meaning)
				least = fixed(max(fallback, ofTheBest*first))
				s.found = append(s.found, f)
			}
		}
		s.touched = s.touched[:0]
		if !left {
			break
		}
	}
	return first
}

// count adds what a term says of the slots of the window from low, and returns the postings behind it.
func (t *term) count(low uint32, s *scratch) []posting {
	list, end := t.list, (low+window)<<1
	weak := uint16(keywordShare * float32(t.near))
	for i, at := range list {
		if at >= end {
			return list[i:]
		}
		offset := at>>1 - low
		c := &s.tallies[offset]
		if c.most == 0 {
			s.touched = append(s.touched, uint16(offset))
		}
		if at&1 != 0 {
			c.most = max(c.most, weak, 1)
			c.sum += uint32(t.mass) * uint32(weak)
			c.keywords |= t.word &^ c.words
			c.words |= t.word
			continue
		}
		c.most = max(c.most, t.near, 1)
		c.sum += uint32(t.mass) * uint32(t.near)
		c.labelMasses += t.mass
		c.keywords &^= t.word
		c.words |= t.word
	}
	return nil
}

// judge turns the tally of a slot into its score.
func (x *Index) judge(q *query, slot uint32, t tally) found {
	most := float32(t.most) / unit
	sum := min(most, float32(t.sum)/unit/float32(max(uint16(x.masses[slot]), t.labelMasses, 1)))
	covered := q.massOf(t.words) - (1-keywordShare)*q.massOf(t.keywords)
	covered /= q.mass
	f := found{slot: slot, match: Semantic, byWords: true, meaning: mostShare*most + (1-mostShare)*sum}
	f.score = meaningShare*f.meaning + (1-meaningShare)*covered
	if covered >= keywordShare {
		f.match = Keyword
	}
	return f
}

// massOf is the mass of some words of the query.
func (q *query) massOf(words uint16) (sum float32) {
	for ; words != 0; words &= words - 1 {
		sum += float32(q.masses[bits.TrailingZeros16(words)])
	}
	return sum
}
