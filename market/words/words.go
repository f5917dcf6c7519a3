// Package words is English as names are made of it: where the words of a label begin, and which words are near
// in meaning.
//
// The word list and the neighbours come from WordNet, SCOWL and hand-written groups of naming words; see NOTICE
// and the program in gen.
package words

//go:generate go run ./gen

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"strconv"
	"strings"
)

// generic are words that say little of what a name is about: kinds of business, places and wares, and words that names are
// filled up with. They are base forms.
const generic = `
	agency agent association broker business center centre class club company consultant consulting corporation dealer delivery
	directory equipment expert factory firm gear goods group guide hire house idea item maker near office partner place product
	professional provider quality rental repair sale seller service shop solution specialist store studio supply supplier team
	tool wholesale world

	after against ask better bring come different enough every feel give keep know let little look much own really something take tell
	thing think try turn very

	alley avenue barn base bay bazaar blend block board boat box boy bridge buddy camp cart castle champion chest choice circle city
	co connect core corner cottage cove craft crew den desk direct dock drop edge empire emporium express factor field finder first
	flow forge fort forward garage gate genie girl globe grove guru guy hall harbor haul haus haven heaven hero hill hive hub
	inc insider island joint junction kit king kingdom lab land lane launch lift line link list loft lounge ly mart mate master
	matter max mill mind mine mobile motion nation nest nook now one outlet pal palace park partner path peak pick pilot pipeline
	planet plus pod point port portal post prime pro queen quest ranch rank room root rush select shack shed shelf shield side smart
	smith source space spark spot spring square stack stand star start station stock stop street stream suite super table tap trail
	track tree tribe unit vault venture view villa village ville vista ware warehouse watch wave way well wing wise wizard work
	works yard zone`

// places say where a business is, not what it is about.
const places = `
	africa america amsterdam asia athens atlanta austin australia austria barcelona beijing belgium berlin boston brazil brussels
	budapest california canada chicago china cologne colorado copenhagen dallas delhi denmark denver dubai dublin england europe
	finland florida france frankfurt germany greece hamburg hawaii helsinki houston india ireland istanbul italy japan korea lisbon
	london madrid melbourne mexico miami milan montreal moscow mumbai munich norway oslo paris phoenix poland portland portugal
	prague rome scotland seattle seoul shanghai singapore spain stockholm stuttgart sweden switzerland sydney texas tokyo toronto
	turkey vancouver vienna warsaw zurich city downtown local nearby region town`

// packed is english.txt as the generator compresses it: a third of the size in every program.
//
//go:embed english.txt.gz
var packed []byte

// An ID names a word of a [Lexicon]; 0 names none. Ids are dense: from 1 to [Lexicon.Len].
type ID uint32

// A Link leads to a word that is near in meaning.
type Link struct {
	To       ID
	Strength float32 // from 0 to 1, and 1 only for the word itself
}

// A Lexicon is a word list with frequencies, base forms and neighbours. It is immutable.
type Lexicon struct {
	nodes []node
	words []word // by ID; the first is unused
	links []Link
	texts string // of all words

	vectors *Vectors
}

// node is a prefix of words. Its children are consecutive from first, one for each bit of letters.
type node struct {
	letters uint32 // bit 0: a, …, bit 25: z
	first   uint32
	word    ID // the word that ends here
}

type word struct {
	at        uint32 // in Lexicon.texts
	length    uint8
	cost      uint8 // -ln p in tenths
	cut       uint8 // where the second part of a compound begins; 0: it is none
	base      ID
	links     uint32 // the first in Lexicon.links
	linkCount uint8
	generic   bool
	place     bool
}

// English returns the built-in lexicon with its vectors. It takes some tens of milliseconds and 6 MB: make one and keep it.
func English() *Lexicon {
	text, err := unpack(packed)
	if err != nil {
		panic("words: built-in list: " + err.Error())
	}
	l, err := Parse(text)
	if err != nil {
		panic("words: built-in list: " + err.Error())
	}
	l.vectors = EnglishVectors()
	return l
}

func unpack(packed []byte) (string, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.Grow(int(binary.LittleEndian.Uint32(packed[len(packed)-4:]))) // the length is last (RFC 1952, section 2.3.1)
	_, err = io.Copy(&b, z)
	return b.String(), err
}

// Parse reads a word list: lines in byte order of word, cost (-ln p in tenths), "=" and base form if it is another
// word, "+" and the length of the first part if it is a compound, and neighbours as "word:tenths", the fields separated
// by tabs, the neighbours by spaces. Lines that begin
// with # are left out.
func Parse(text string) (*Lexicon, error) {
	l := &Lexicon{words: make([]word, 1, 1+strings.Count(text, "\n"))}
	var texts strings.Builder
	texts.Grow(len(text) / 3)
	rest := make([]string, 1, cap(l.words)) // the fields after the cost, by ID
	last := ""
	for at, number := 0, 1; at < len(text); number++ {
		line, _, _ := strings.Cut(text[at:], "\n")
		if line != "" && line[0] != '#' {
			w, tail, _ := strings.Cut(line, "\t")
			costText, tail, _ := strings.Cut(tail, "\t")
			cost, err := strconv.ParseUint(costText, 10, 8)
			if err != nil || !isWord(w) || w <= last {
				return nil, fmt.Errorf("line %d: not a lower-case word after the one before, and its cost", number)
			}
			l.words = append(l.words, word{at: uint32(texts.Len()), length: uint8(len(w)), cost: uint8(cost), base: ID(len(l.words))})
			rest = append(rest, tail)
			texts.WriteString(w)
			last = w
		}
		at += len(line) + 1
	}
	l.texts = texts.String()
	l.buildTree()
	for w := range strings.FieldsSeq(generic) {
		l.words[l.Find(w)].generic = true
	}
	for w := range strings.FieldsSeq(places) {
		l.words[l.Find(w)].place = true
	}
	for id := 1; id < len(l.words); id++ {
		if err := l.relate(&l.words[id], rest[id]); err != nil {
			return nil, fmt.Errorf("%s: %w", l.Text(ID(id)), err)
		}
	}
	return l, nil
}

// buildTree makes the nodes breadth first, so that the children of each are consecutive.
func (l *Lexicon) buildTree() {
	type span struct {
		from, to ID // words that share a prefix
		depth    int
	}
	l.nodes = make([]node, 1, 5*len(l.words)/2) // English has somewhat fewer prefixes than that
	queue := make([]span, 1, cap(l.nodes))
	queue[0] = span{1, ID(len(l.words)), 0}
	for i := 0; i < len(queue); i++ {
		s := queue[i]
		if s.from < s.to && int(l.words[s.from].length) == s.depth {
			l.nodes[i].word = s.from
			s.from++
		}
		l.nodes[i].first = uint32(len(l.nodes))
		for from := s.from; from < s.to; {
			c := l.Text(from)[s.depth]
			to := from + 1
			for to < s.to && l.Text(to)[s.depth] == c {
				to++
			}
			l.nodes[i].letters |= 1 << (c - 'a')
			l.nodes = append(l.nodes, node{})
			queue = append(queue, span{from, to, s.depth + 1})
			from = to
		}
	}
}

// relate reads the base form and the neighbours of a word.
func (l *Lexicon) relate(w *word, fields string) error {
	if base, ok := strings.CutPrefix(fields, "="); ok {
		base, fields, _ = strings.Cut(base, "\t")
		if w.base = l.Find(base); w.base == 0 {
			return fmt.Errorf("base form %q is not in the list", base)
		}
	}
	if cutText, ok := strings.CutPrefix(fields, "+"); ok {
		cutText, fields, _ = strings.Cut(cutText, "\t")
		cut, err := strconv.ParseUint(cutText, 10, 8)
		if err != nil || cut == 0 || cut >= uint64(w.length) {
			return fmt.Errorf("is not a compound of two parts")
		}
		w.cut = uint8(cut)
	}
	w.links = uint32(len(l.links))
	for fields != "" {
		var one string
		one, fields, _ = strings.Cut(fields, " ")
		to, tenths, _ := strings.Cut(one, ":")
		id := l.Find(to)
		if id == 0 || len(tenths) != 1 || tenths[0] < '1' || tenths[0] > '9' {
			return fmt.Errorf("neighbour %q is not a word of the list and tenths", one)
		}
		l.links = append(l.links, Link{id, float32(tenths[0]-'0') / 10})
	}
	n := len(l.links) - int(w.links)
	if n > 255 {
		return fmt.Errorf("has over 255 neighbours")
	}
	w.linkCount = uint8(n)
	return nil
}

// Len is the number of words.
func (l *Lexicon) Len() int { return len(l.words) - 1 }

// Text is the word of the id; empty for 0.
func (l *Lexicon) Text(id ID) string {
	w := &l.words[id]
	return l.texts[w.at : int(w.at)+int(w.length)]
}

// Find returns the id of a lower-case word, or 0.
func (l *Lexicon) Find(s string) ID {
	at := uint32(0)
	for i := range len(s) {
		next, ok := l.step(at, s[i])
		if !ok {
			return 0
		}
		at = next
	}
	return l.nodes[at].word
}

// step goes from a node along a letter.
func (l *Lexicon) step(at uint32, c byte) (uint32, bool) {
	c -= 'a'
	n := &l.nodes[at]
	if c >= 26 || n.letters>>c&1 == 0 {
		return 0, false
	}
	return n.first + uint32(bits.OnesCount32(n.letters&(1<<c-1))), true
}

// Base is the base form of an inflected word ("beans": bean), or the word itself.
func (l *Lexicon) Base(id ID) ID { return l.words[id].base }

// Parts are the two words of a compound ("doghouse": dog, house), as base forms; 0 for what is no word, or no compound.
func (l *Lexicon) Parts(id ID) (first, second ID) {
	w := &l.words[id]
	if w.cut == 0 {
		return 0, 0
	}
	text := l.Text(id)
	return l.Base(l.Find(text[:w.cut])), l.Base(l.Find(text[w.cut:]))
}

// Neighbours are the words near in meaning to a base form, strongest first. The caller must not change them.
func (l *Lexicon) Neighbours(id ID) []Link {
	w := &l.words[id]
	return l.links[w.links : w.links+uint32(w.linkCount)]
}

// Frequent reports whether the word is among the few thousand that are written most.
func (l *Lexicon) Frequent(id ID) bool { return l.words[id].cost < frequentCost }

// Rare reports whether the word is hardly ever written: most people would have to look it up.
func (l *Lexicon) Rare(id ID) bool { return l.words[id].cost > rareCost }

// Vectors are the meanings of the words; those of a lexicon that was read by [Parse] have none.
func (l *Lexicon) Vectors() *Vectors { return l.vectors }

// Mass is how much of a name's or a query's meaning a word carries: [FullMass], a quarter of that for a word that is in every
// other name, as "shop" and "online" are, or that says only what kind of business it is ("agency"), half for a place, and 0 for
// "the" and "for".
func (l *Lexicon) Mass(id ID) uint8 {
	switch {
	case l.Common(id):
		return 0
	case l.words[id].cost < genericCost || l.words[id].generic:
		return FullMass / 4
	case l.words[id].place:
		return FullMass / 2
	}
	return FullMass
}

// FullMass is the mass of a word that says what a name is about.
const FullMass = 4

// Common reports whether the word says next to nothing by itself, as "the" and "for" do.
func (l *Lexicon) Common(id ID) bool { return l.words[id].cost < commonCost }

func isWord(s string) bool {
	return s != "" && len(s) <= maxPiece && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz") == ""
}
