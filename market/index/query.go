package index

import (
	"cmp"
	"slices"
	"strings"

	"github.com/namewharf/namewharf/market/words"
)

// A query is what a caller looks for, made ready for the postings.
type query struct {
	domain string // the query as a full domain name; empty if it is none
	joined string // its words without anything between: the label that they would make
	hyphen string // its words joined by hyphens
	terms  []term // by word, the strongest first
	whole  uint16 // points of an entry that has all the words
	cut    bool   // whether it is made of whole words only: then a label that begins with it must, too
}

// A term is a list of postings, with the points that an entry gets for being in it.
type term struct {
	list   []posting
	points uint16
	word   uint8 // which word of the query, from 1; an entry gets points for each once
	direct bool  // the word itself, not a neighbour
}

// Limits of a query.
const (
	mostText    = 1024 // bytes; what follows is left out
	mostWords   = 12   // further words are not looked for
	wholePoints = 600  // of the most important word
	rareWeight  = 1.0
)

// shortestPrefix is how many characters a query needs to find the labels that begin with it.
const shortestPrefix = 3

// parse makes a query of a domain, a label, a phrase or a URL. The caller holds the lock.
func (x *Index) parse(text string) query {
	text = stripURL(fold(strings.TrimSpace(text[:min(len(text), mostText)])))
	var q query
	if !strings.ContainsAny(text, " \t\n") {
		if label, suffix, dotted := strings.Cut(text, "."); dotted {
			q.domain = text
			if _, known := x.suffixNames.find(suffix); known || !strings.Contains(suffix, ".") {
				text = label
			} else {
				text = strings.TrimPrefix(text, "www.")
				text = text[:strings.LastIndexByte(text, '.')]
			}
		}
	}
	var pieces []words.Piece
	for field := range strings.FieldsFuncSeq(text, notInWord) {
		pieces = x.lex.Split(pieces, field)
		q.joined += field
		if q.hyphen != "" {
			q.hyphen += "-"
		}
		q.hyphen += field
	}
	x.addTerms(&q, pieces)
	return q
}

func notInWord(r rune) bool {
	return r < 0x80 && (r < 'a' || r > 'z') && (r < '0' || r > '9')
}

// stripURL leaves the host of a URL.
func stripURL(s string) string {
	if _, rest, ok := strings.Cut(s, "://"); ok {
		s = rest
		if end := strings.IndexAny(s, "/?#:"); end >= 0 {
			s = s[:end]
		}
		s = strings.TrimPrefix(s, "www.")
	}
	return strings.TrimSuffix(s, ".")
}

// addTerms finds the postings of the pieces and their neighbours.
func (x *Index) addTerms(q *query, pieces []words.Piece) {
	pieces = x.meaningful(pieces)
	q.cut = true
	total := 0.0
	for _, p := range pieces {
		total += x.weight(p)
	}
	for i, p := range pieces {
		points := wholePoints * x.weight(p) / total
		q.whole += uint16(points)
		word := uint8(i + 1)
		q.cut = q.cut && p.Word != 0
		if p.Word == 0 {
			if list := x.rareList(p.Text); len(list) > 0 {
				q.terms = append(q.terms, term{list, uint16(points), word, true})
			}
			continue
		}
		x.addWord(q, p.Word, points, word, 0)
		if i+1 < len(pieces) {
			// Two words that make one ("real estate", "web site") are both meant by it.
			if both := x.lex.Find(p.Text + pieces[i+1].Text); both != 0 {
				x.addWord(q, both, points, word, strong)
				x.addWord(q, both, wholePoints*x.weight(pieces[i+1])/total, word+1, strong)
			}
		}
	}
	slices.SortStableFunc(q.terms, func(a, b term) int {
		return cmp.Or(cmp.Compare(a.word, b.word), cmp.Compare(b.points, a.points))
	})
}

// strong is the strength of links that say what a word made of two means: weaker ones lead from "bookstore" to all stores.
const strong = 0.75

// addWord adds the postings of a word of the lexicon, and of its neighbours of at least that strength.
func (x *Index) addWord(q *query, word words.ID, points float64, number uint8, least float32) {
	if x.postings == nil {
		return
	}
	base := x.lex.Base(word)
	if list := x.postings[base]; len(list) > 0 {
		q.terms = append(q.terms, term{list, uint16(points), number, true})
	}
	for _, l := range x.lex.Neighbours(base) {
		if list := x.postings[l.To]; len(list) > 0 && l.Strength >= least {
			q.terms = append(q.terms, term{list, uint16(points * float64(l.Strength)), number, false})
		}
	}
}

// meaningful leaves out repeated words, and words such as "the" unless there are no others.
func (x *Index) meaningful(pieces []words.Piece) []words.Piece {
	var kept, common []words.Piece
	for _, p := range pieces {
		if p.Word != 0 {
			p.Word = x.lex.Base(p.Word)
		}
		same := func(o words.Piece) bool { return o.Word == p.Word && (p.Word != 0 || o.Text == p.Text) }
		switch {
		case slices.ContainsFunc(kept, same) || slices.ContainsFunc(common, same):
		case p.Word != 0 && x.lex.Common(p.Word):
			common = append(common, p)
		default:
			kept = append(kept, p)
		}
	}
	if len(kept) == 0 {
		kept = common
	}
	return kept[:min(len(kept), mostWords)]
}

// weight is how much of a query's meaning a word carries: little for words that are in everything, 1 for special ones.
func (x *Index) weight(p words.Piece) float64 {
	if p.Word == 0 {
		return rareWeight
	}
	return x.lex.Weight(p.Word)
}

// rareList is the postings of a piece that is no word, ascending.
func (x *Index) rareList(piece string) []posting {
	hash := x.rareHash(piece)
	at, _ := slices.BinarySearchFunc(x.rare, hash, func(r rarePosting, h uint32) int { return cmp.Compare(r.hash, h) })
	var list []posting
	for ; at < len(x.rare) && x.rare[at].hash == hash; at++ {
		list = append(list, x.rare[at].at)
	}
	for _, r := range x.rareTail {
		if r.hash == hash {
			list = append(list, r.at)
		}
	}
	return list // slots of the tail are later than all others
}
