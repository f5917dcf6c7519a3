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
	terms  []term // the words themselves first, then those near in meaning, nearest first
	masses [mostWords]uint8
	words  int
	mass   float32 // of its words together
	cut    bool    // whether it is made of whole words only: then a label that begins with it must, too
}

// A term is a list of postings, with what it says of the entries in it.
type term struct {
	list []posting
	near uint16 // similarity of the word to the whole query, in parts of unit
	mass uint16 // of the word
	word uint16 // which words of the query it is, one bit each; 0: none, but one near in meaning
}

// Limits of a query.
const (
	mostText  = 1024 // bytes; what follows is left out
	mostWords = 12   // further words are not looked for
)

// shortestPrefix is how many characters a query needs to find the labels that begin with it.
const shortestPrefix = 3

// parse makes a query of a domain, a label, a phrase or a URL. The caller holds the lock.
func (x *Index) parse(text string) query {
	text = text[:min(len(text), mostText)]
	foreign := strings.ContainsFunc(text, func(r rune) bool { return r >= 0x80 }) // no English to be corrected
	other := otherLanguage(text)
	text = stripURL(fold(strings.TrimSpace(text)))
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
		own := len(pieces)
		pieces = x.lex.Split(pieces, field)
		if meant := x.corrected(field, pieces[own:]); meant != 0 && !foreign && !other {
			pieces = append(pieces[:own], words.Piece{Text: x.lex.Text(meant), Word: meant})
		}
		q.joined += field
		if q.hyphen != "" {
			q.hyphen += "-"
		}
		q.hyphen += field
	}
	x.addTerms(&q, pieces, !other)
	return q
}

// leastCorrected is how many letters a field needs to be taken for a misspelt word, and leastPart how many each of the words
// that it is made of needs not to be; a rare word does not count.
const (
	leastCorrected = 5
	leastPart      = 3
)

// corrected is the word that a field is taken to be a misspelling of; 0 for a word, a compound, or the beginning of a label.
func (x *Index) corrected(field string, pieces []words.Piece) words.ID {
	if len(field) < leastCorrected || len(pieces) == 1 && pieces[0].Word != 0 {
		return 0
	}
	if !slices.ContainsFunc(pieces, func(p words.Piece) bool { return p.Word == 0 || len(p.Text) < leastPart || x.lex.Rare(p.Word) }) {
		return 0
	}
	if len(x.withPrefix(field)) > 0 || len(x.rareList(field)) > 0 {
		return 0
	}
	return x.lex.Corrected(field)
}

// others are words of German, French and Spanish that are in many queries and are no English words.
var others = strings.Fields("ans auf aus beim comprar das dem der des eine einen fuer ich kaufen lassen mit mon nach para und une una unos vom von zum zur")

// otherLanguage reports whether a text has a word that says that it is not English.
func otherLanguage(text string) bool {
	for field := range strings.FieldsSeq(strings.ToLower(text)) {
		if slices.Contains(others, field) {
			return true
		}
	}
	return false
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

// addTerms finds the postings of the pieces and, of an English text, of the words nearest in meaning to all of them together.
func (x *Index) addTerms(q *query, pieces []words.Piece, english bool) {
	pieces = x.meaningful(x.withParts(pieces))
	q.cut, q.words = true, len(pieces)
	var meaning words.Vector
	meant := false // whether a word says more than "the"
	vectors := x.lex.Vectors()
	for i, p := range pieces {
		q.masses[i] = max(1, x.mass(p))
		meant = meant || x.mass(p) > 0
		q.mass += float32(q.masses[i])
		q.cut = q.cut && p.Word != 0
		if v := vectors.Of(p.Word); p.Word != 0 {
			meaning.Add(&v, float32(q.masses[i]))
		}
	}
	if len(pieces) == 0 {
		return
	}
	var near words.Products
	known := english && meant && meaning.Normalize()
	if known {
		near.Set(vectors, &meaning)
	}
	own, linked := []words.ID{}, map[words.ID]float32{}
	for i, p := range pieces {
		share := float32(q.masses[i]) / q.mass
		if p.Word == 0 {
			if list := x.rareList(p.Text); len(list) > 0 {
				q.terms = append(q.terms, term{list, fixed(share), uint16(q.masses[i]), 1 << i})
			}
			continue
		}
		own = append(own, p.Word)
		similar := x.nearness(p.Word, max(share, vectors.Similarity(&near, p.Word)), 1)
		q.terms = append(q.terms, term{x.wordList(p.Word), fixed(similar), uint16(q.masses[i]), 1 << i})
		for _, l := range x.lex.Neighbours(p.Word) {
			linked[l.To] = max(linked[l.To], l.Strength*share)
		}
		if i+1 < len(pieces) {
			// Two words that make one ("real estate", "web site") are both meant by it.
			if both := x.lex.Base(x.lex.Find(p.Text + pieces[i+1].Text)); both != 0 {
				own = append(own, both)
				q.terms = append(q.terms, term{x.wordList(both), unit, words.FullMass, 3 << i})
			}
		}
	}
	if known {
		x.addNearest(q, &near, own, linked)
	}
}

// wordList is the postings of a base form.
func (x *Index) wordList(word words.ID) []posting {
	if x.postings == nil {
		return nil
	}
	return x.postings[word]
}

// How near in meaning a word has to be, and how many such words are looked for.
const (
	leastNear = 0.35
	mostNear  = 96
)

// What nearness is made of.
const (
	linkShare   = 0.2 // a link of the word list, against similarity
	genericNear = 0.6 // of that of a word which says what a name is about
)

// nearness is how near a word is to a query, of its similarity and its link to one of the query's words.
func (x *Index) nearness(word words.ID, similarity, link float32) float32 {
	n := (1-linkShare)*similarity + linkShare*link
	if x.lex.Mass(word) < words.FullMass/2 {
		n *= genericNear
	}
	return n
}

// addNearest adds the words nearest to the meaning of the query that any entry has, but for its own.
func (x *Index) addNearest(q *query, near *words.Products, own []words.ID, linked map[words.ID]float32) {
	vectors := x.lex.Vectors()
	first := best[neighbour]{limit: mostNear, compare: func(a, b neighbour) int {
		return cmp.Or(cmp.Compare(b.near, a.near), cmp.Compare(a.word, b.word))
	}}
	for _, word := range x.posted {
		if s := vectors.Similarity(near, word); s >= leastNear && len(x.postings[word]) > 0 && !slices.Contains(own, word) {
			first.add(neighbour{word, x.nearness(word, s, linked[word])})
		}
	}
	for _, n := range first.sorted() {
		if mass := x.lex.Mass(n.word); mass > 0 {
			q.terms = append(q.terms, term{x.postings[n.word], fixed(n.near), uint16(mass), 0})
		}
	}
}

// A neighbour is a word near in meaning to a query.
type neighbour struct {
	word words.ID
	near float32
}

// withParts puts the two words of a compound behind it, so that what is about "books" is found for "bookstore".
func (x *Index) withParts(pieces []words.Piece) []words.Piece {
	var all []words.Piece
	for _, p := range pieces {
		all = append(all, p)
		if p.Word == 0 {
			continue
		}
		if first, second := x.lex.Parts(x.lex.Base(p.Word)); first != 0 && second != 0 {
			all = append(all, words.Piece{Text: x.lex.Text(first), Word: first}, words.Piece{Text: x.lex.Text(second), Word: second})
		}
	}
	return all
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

// mass is how much of a meaning a piece carries; what is no word is taken for a name, which carries all.
func (x *Index) mass(p words.Piece) uint8 {
	if p.Word == 0 {
		return words.FullMass
	}
	return x.lex.Mass(x.lex.Base(p.Word))
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
