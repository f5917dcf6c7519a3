// Package ideas makes names for a phrase: labels that nobody may have registered, best first.
//
// It makes candidates in several styles from the words of the phrase and from words near in meaning, scores them by
// meaning, length, sound and how common their words are, and mixes the styles. It asks no registry. The same phrase gives
// the same candidates in every process.
package ideas

import (
	"cmp"
	"slices"
	"strings"

	"github.com/namewharf/namewharf/market/words"
)

// A Style is a way to make a name.
type Style string

// The styles.
const (
	Short    Style = "short"    // one word, or the beginning of one with an ending
	Compound Style = "compound" // two words of the phrase or near it
	Prefix   Style = "prefix"   // a word of the phrase behind one such as "get"
	Suffix   Style = "suffix"   // before one such as "hub"
	Blend    Style = "blend"    // two words that share letters, run together
	Synonym  Style = "synonym"  // a word near in meaning
	Hack     Style = "hack"     // a word that a TLD completes
)

// Styles are all styles, in the order in which they take turns.
var Styles = []Style{Compound, Suffix, Synonym, Blend, Prefix, Short, Hack}

// A Candidate is a label that might be a good name.
type Candidate struct {
	Label string
	TLD   string // the only TLD that it is meant for; empty: any
	Style Style
	Words []string // of the phrase or near it, that it is made of
	Why   string   // a short sentence
	Score float64  // from 0 to 1
}

// Wanted says which candidates to make.
type Wanted struct {
	MaxLength int     // of a label; 0: [DefaultLength]
	Styles    []Style // nil: all
	TLDs      func(string) bool
	Limit     int
}

// DefaultLength is how long labels get when nothing is said.
const DefaultLength = 18

// leastLength is the shortest label: shorter ones are all taken.
const leastLength = 4

// A Maker makes candidates. It is safe for concurrent use.
type Maker struct{ lex *words.Lexicon }

// New returns a maker for the words of a lexicon.
func New(lex *words.Lexicon) *Maker { return &Maker{lex} }

// A source is a word to make names of.
type source struct {
	text  string
	id    words.ID
	near  float64 // to the phrase: 1 for its own words
	asked bool    // is a word of the phrase
	of    string  // the word of the phrase that it is near to
}

// Read returns the words of a phrase that carry its meaning, in their order: without stop words, at most [mostAsked].
func (m *Maker) Read(phrase string) []string {
	var out []string
	for _, s := range m.asked(phrase) {
		out = append(out, s.text)
	}
	return out
}

// Make returns the best candidates for a phrase, a label or a domain name, best first.
func (m *Maker) Make(phrase string, w Wanted) []Candidate {
	if w.MaxLength == 0 {
		w.MaxLength = DefaultLength
	}
	asked := m.asked(phrase)
	if len(asked) == 0 {
		return nil
	}
	c := collector{lex: m.lex, wanted: w, typed: joined(asked), best: map[string]Candidate{}}
	near := m.near(asked)
	for _, style := range Styles {
		if w.Styles == nil || slices.Contains(w.Styles, style) {
			makers[style](&c, asked, near)
		}
	}
	return c.mixed()
}

// mostAsked is how many words of a phrase names are made of: more make no name.
const mostAsked = 4

// asked are the words of the phrase with a meaning, the weightiest first among those kept, in the order of the phrase.
func (m *Maker) asked(phrase string) []source {
	var all []source
	add := func(text string, id words.ID, mass int) {
		if !slices.ContainsFunc(all, func(s source) bool { return s.text == text }) {
			all = append(all, source{text: text, id: id, near: float64(mass) / words.FullMass, asked: true, of: text})
		}
	}
	for field := range strings.FieldsFuncSeq(strings.ToLower(phrase), func(r rune) bool { return r < 'a' || r > 'z' }) {
		for _, p := range m.lex.Split(nil, field) {
			switch {
			case p.Word == 0 && len(p.Text) >= leastLength:
				add(p.Text, 0, words.FullMass)
			case p.Word != 0 && m.lex.Mass(m.lex.Base(p.Word)) > 0 && len(p.Text) > 2:
				base := m.lex.Base(p.Word)
				add(m.lex.Text(base), base, int(m.lex.Mass(base)))
			}
		}
	}
	heavy := slices.Clone(all)
	slices.SortStableFunc(heavy, func(a, b source) int { return cmp.Compare(b.near, a.near) })
	heavy = heavy[:min(len(heavy), mostAsked)]
	return slices.DeleteFunc(all, func(s source) bool {
		return !slices.ContainsFunc(heavy, func(h source) bool { return h.text == s.text })
	})
}

// Bounds of the words near in meaning.
const (
	nearPerWord  = 14
	leastNear    = 0.6
	longestNear  = 10
	linkStrength = 0.5 // of a link of the word list, at least
)

// near are words near in meaning to those of the phrase, nearest first.
func (m *Maker) near(asked []source) []source {
	vectors := m.lex.Vectors()
	var all []source
	for _, a := range asked {
		if a.id == 0 || a.near < 1 {
			continue
		}
		meaning := vectors.Of(a.id)
		var products words.Products
		if !meaning.Normalize() {
			continue
		}
		products.Set(vectors, &meaning)
		linked := map[words.ID]bool{}
		for _, l := range m.lex.Neighbours(a.id) {
			linked[m.lex.Base(l.To)] = l.Strength >= linkStrength
		}
		var found []source
		for id := words.ID(1); int(id) <= m.lex.Len(); id++ {
			s := float64(vectors.Similarity(&products, id))
			if linked[id] {
				s = min(1, s+0.1)
			}
			text := m.lex.Text(id)
			if s < leastNear || len(text) < 3 || len(text) > longestNear || id == a.id || m.lex.Base(id) != id || m.lex.Rare(id) || stem(text) == stem(a.text) || m.lex.Mass(id) < words.FullMass {
				continue
			}
			found = append(found, source{text: text, id: id, near: s, of: a.text})
		}
		slices.SortFunc(found, byNearness)
		all = append(all, found[:min(len(found), nearPerWord)]...)
	}
	slices.SortStableFunc(all, byNearness)
	return slices.CompactFunc(all, func(a, b source) bool { return a.text == b.text })
}

func byNearness(a, b source) int {
	return cmp.Or(cmp.Compare(b.near, a.near), cmp.Compare(a.text, b.text))
}

// stem is enough of a word to tell inflections of one from another word.
func stem(w string) string { return w[:min(len(w), 5)] }

func joined(sources []source) string {
	var b strings.Builder
	for _, s := range sources {
		b.WriteString(s.text)
	}
	return b.String()
}

// A collector keeps the best candidate of each label.
type collector struct {
	lex    *words.Lexicon
	wanted Wanted
	typed  string // the phrase as one label
	best   map[string]Candidate
}

// add scores a candidate and keeps it if it may be a name. meaning is how near its words are to the phrase, from 0 to 1.
func (c *collector) add(style Style, label, tld string, meaning float64, of []string, why string) {
	read := label + tld
	if len(label) > c.wanted.MaxLength || tld == "" && len(label) < leastLength || refused(read) {
		return
	}
	score := meaning * lengthScore(len(read)) * soundScore(read)
	key := label + "." + tld
	if old, ok := c.best[key]; ok && old.Score >= score {
		return
	}
	c.best[key] = Candidate{label, tld, style, of, why, score}
}

// Most names that one word may be in among the first, and how much each further one counts less.
const repeated = 0.85

// mixed takes turns among the styles, the best of each first, and lets no word be in all of the first names.
func (c *collector) mixed() []Candidate {
	by := map[Style][]Candidate{}
	for _, candidate := range c.best {
		by[candidate.Style] = append(by[candidate.Style], candidate)
	}
	for _, list := range by {
		slices.SortFunc(list, compare)
	}
	var out []Candidate
	used := map[string]float64{}
	for c.wanted.Limit == 0 || len(out) < c.wanted.Limit {
		taken := false
		for _, style := range Styles {
			list := by[style]
			if len(list) == 0 {
				continue
			}
			at := bestNow(list, used)
			out, taken = append(out, list[at]), true
			for _, w := range list[at].Words {
				used[w]++
			}
			by[style] = slices.Delete(list, at, at+1)
		}
		if !taken {
			break
		}
	}
	if c.wanted.Limit > 0 {
		out = out[:min(len(out), c.wanted.Limit)]
	}
	return out
}

// looked is how many candidates of a style compete for the next place.
const looked = 24

// bestNow is the place of the best candidate, words that were used before counting less.
func bestNow(list []Candidate, used map[string]float64) int {
	best, at := -1.0, 0
	for i, candidate := range list[:min(len(list), looked)] {
		score := candidate.Score
		for _, w := range candidate.Words {
			for range int(used[w]) {
				score *= repeated
			}
		}
		if score > best {
			best, at = score, i
		}
	}
	return at
}

func compare(a, b Candidate) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(len(a.Label), len(b.Label)), cmp.Compare(a.Label, b.Label), cmp.Compare(a.TLD, b.TLD))
}
