package index

import (
	"bytes"
	"cmp"
	"slices"
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

// Scores of what is found by its label instead of by its words, and shares of the rest.
const (
	domainScore = 4.0 // the very domain
	labelScore  = 3.0 // the same label under another suffix
	hyphenScore = 2.9 // the label written with hyphens between the words
	prefixScore = 0.6 // the label begins with the query, perhaps in the middle of a word: at least this
	prefixBonus = 0.2 // the label begins with the words of the query: this much more than by the words alone
	coverShare  = 0.7 // of the query that the entry covers, against how little else the label says
)

// relevant is the share of the query's points below which an entry is not shown.
const relevant = 0.54

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
		if !seen[f.slot] {
			add(f)
		}
	})
}

// found is a slot that is relevant.
type found struct {
	slot    uint32
	score   float32
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
		if bytes.HasPrefix(x.label(f.slot), []byte(q.joined)) {
			f = hopeful
		}
	}
	first.add(f)
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

// window is how many slots are counted at a time: few enough for the counters to stay in the processor's cache.
const window = 1 << 14

// tally is the points of a slot.
type tally struct {
	total, direct uint16
	word          uint8 // the last word that gave points
	labelled      uint8 // the last word that the label answers
	inLabel       uint8 // how many it does
}

// counters count a window. Between uses all are zero.
type counters struct {
	tallies [window]tally
	touched []uint16 // those that are not zero
}

// byWords finds entries by the words of the query and their neighbours, in the order of slots.
func (x *Index) byWords(q *query, add func(found)) {
	if len(q.terms) == 0 {
		return
	}
	floor := uint16(relevant * float64(q.whole))
	c, ok := x.counters.Get().(*counters)
	if !ok {
		c = new(counters)
	}
	defer x.counters.Put(c)
	rest := slices.Clone(q.terms)
	for low := uint32(0); low < uint32(len(x.ends)); low += window {
		left := false
		for i := range rest {
			rest[i].list = rest[i].count(low, c)
			left = left || len(rest[i].list) > 0
		}
		for _, offset := range c.touched {
			points := c.tallies[offset]
			c.tallies[offset] = tally{}
			if slot := low + uint32(offset); points.total >= floor && !x.isDead(slot) {
				add(x.judge(q, slot, points, floor))
			}
		}
		c.touched = c.touched[:0]
		if !left {
			return
		}
	}
}

// count gives the points of a term to the slots of the window from low, and returns the postings behind it.
func (t *term) count(low uint32, of *counters) []posting {
	list, end := t.list, (low+window)<<1
	weak := uint16(keywordShare * float32(t.points))
	for i, at := range list {
		if at >= end {
			return list[i:]
		}
		offset := at>>1 - low
		c := &of.tallies[offset]
		if at&1 == 0 && c.labelled != t.word { // also where a keyword gave the points of the word
			c.labelled = t.word
			c.inLabel++
		}
		if c.word == t.word {
			continue
		}
		if c.word == 0 {
			of.touched = append(of.touched, uint16(offset))
		}
		c.word = t.word
		points := t.points
		if at&1 != 0 {
			points = weak
		}
		c.total += points
		if t.direct {
			c.direct += points
		}
	}
	return nil
}

// judge turns the points of a relevant slot into its score.
func (x *Index) judge(q *query, slot uint32, c tally, floor uint16) found {
	covered := min(1, float32(c.total)/float32(q.whole))
	precise := min(1, float32(c.inLabel)/float32(x.pieces[slot]))
	f := found{slot: slot, score: covered * (coverShare + (1-coverShare)*precise), match: Semantic, byWords: true}
	if c.direct >= floor {
		f.match = Keyword
	}
	return f
}
