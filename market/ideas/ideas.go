// Package ideas makes names for a phrase: labels that nobody may have registered, best first.
//
// It makes candidates in several styles from the words of the phrase and from words near in meaning, scores them by
// meaning, length, sound and how common their words are, and mixes the styles. It asks no registry. The same phrase gives
// the same candidates in every process.
package ideas

import (
	"cmp"
	"slices"

	"github.com/namewharf/namewharf/market/words"
)

// A Style is a way to make a name.
type Style string

// The styles.
const (
	Short    Style = "short"    // one word of the phrase, or its beginning with an ending
	Compound Style = "compound" // two words of the phrase or near it
	Prefix   Style = "prefix"   // a word of the phrase behind one such as "bright"
	Suffix   Style = "suffix"   // before one such as "haven"
	Blend    Style = "blend"    // two words that share letters, run together
	Synonym  Style = "synonym"  // a word near in meaning
	Hack     Style = "hack"     // a word that a TLD completes
)

// Styles are all styles.
var Styles = []Style{Short, Compound, Prefix, Suffix, Blend, Synonym, Hack}

// turns is the order in which styles take turns: those that make usable names of any phrase come more often.
var turns = []Style{Compound, Suffix, Prefix, Compound, Synonym, Suffix, Compound, Prefix, Suffix, Blend, Compound, Suffix, Hack, Prefix, Short}

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
	MaxLength int               // of a label; 0: [DefaultLength]
	Styles    []Style           // nil: all
	TLDs      func(string) bool // which TLDs may complete a word; nil: none
	Limit     int               // how many candidates to return; 0: all
}

// DefaultLength is how long labels get when nothing is said.
const DefaultLength = 18

// leastLength is the shortest label: shorter ones are all taken.
const leastLength = 4

// A Maker makes candidates. It is safe for concurrent use.
type Maker struct {
	lex *words.Lexicon
}

// New returns a maker for the words of a lexicon. It costs nothing.
func New(lex *words.Lexicon) *Maker { return &Maker{lex} }

// Read returns the words of a phrase that names are made of, in their order: without stop words, at most [mostAsked].
func (m *Maker) Read(phrase string) []string {
	var out []string
	for _, s := range m.asked(phrase) {
		out = append(out, s.text)
	}
	return out
}

// Make returns the best candidates for a phrase or a label, best first.
func (m *Maker) Make(phrase string, w Wanted) []Candidate {
	if w.MaxLength == 0 {
		w.MaxLength = DefaultLength
	}
	asked := m.asked(phrase)
	if len(asked) == 0 {
		return nil
	}
	c := collector{Maker: m, wanted: w, best: map[string]Candidate{}}
	c.sources = append(slices.Clone(asked), m.near(asked)...)
	c.meaning = m.meaning(asked)
	c.behind = c.fitting()
	for _, style := range Styles {
		if w.Styles == nil || slices.Contains(w.Styles, style) {
			makers[style](&c)
		}
	}
	return c.mixed()
}

// A collector stores the best candidate of each label.
type collector struct {
	*Maker
	wanted  Wanted
	sources []source // the words of the phrase, then those near in meaning, nearest first
	meaning words.Vector
	behind  map[string]float64 // words to put behind others, with what each is worth
	best    map[string]Candidate
}

// add scores a candidate and stores it unless its label is too long or too short. meaning is how near its words are to the phrase, from 0 to 1.
func (c *collector) add(style Style, label, tld string, meaning float64, of []string, why string) {
	read := label + tld
	if len(label) > c.wanted.MaxLength || tld == "" && len(label) < leastLength {
		return
	}
	score := meaning * lengthScore(len(read)) * soundScore(read)
	key := label + "." + tld
	if old, ok := c.best[key]; ok && (old.Score > score || old.Score == score && old.Style <= style) {
		return
	}
	c.best[key] = Candidate{label, tld, style, of, why, score}
}

const (
	repeated = 0.72 // of the score, for each earlier name with one of the words
	good     = 0.5  // the score of a name that may be among the first
	looked   = 40   // candidates of a style that compete for the next place
)

// mixed lets the styles take turns, the best of each first, and the good ones before all others.
func (c *collector) mixed() []Candidate {
	limit := c.wanted.Limit
	if limit == 0 {
		limit = len(c.best)
	}
	by := map[Style][]Candidate{}
	for _, candidate := range c.best {
		by[candidate.Style] = append(by[candidate.Style], candidate)
	}
	for _, list := range by {
		slices.SortFunc(list, compare)
	}
	out := make([]Candidate, 0, min(limit, len(c.best)))
	used := map[string]int{}
	for _, least := range []float64{good, 0} {
		for idle, turn := 0, 0; idle < len(turns) && len(out) < limit; turn++ {
			style := turns[turn%len(turns)]
			at, score := bestNow(by[style], used)
			if score < least {
				idle++
				continue
			}
			idle = 0
			next := by[style][at]
			by[style] = slices.Delete(by[style], at, at+1)
			if refused(&next) {
				continue
			}
			out = append(out, next)
			for _, w := range next.Words {
				used[w]++
			}
		}
	}
	return out
}

// bestNow is the place of the best candidate and its score, words that were used before counting less; -1 for none.
func bestNow(list []Candidate, used map[string]int) (at int, score float64) {
	best := -1.0
	at, score = -1, -1
	for i, candidate := range list[:min(len(list), looked)] {
		now := candidate.Score
		for _, w := range candidate.Words {
			for range used[w] {
				now *= repeated
			}
		}
		if now > best {
			best, at, score = now, i, candidate.Score
		}
	}
	return at, score
}

func compare(a, b Candidate) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(len(a.Label), len(b.Label)), cmp.Compare(a.Label, b.Label), cmp.Compare(a.TLD, b.TLD))
}
