package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
)

// Strengths of a link from a word to a neighbour, from 0 to 1. The share of the sense in the word's use is added
// with its factor, so that links of rare senses are weak.
const (
	synonymBase, synonymShare       = 0.40, 0.48
	hyponymBase, hyponymShare       = 0.28, 0.32
	hypernymBase, hypernymShare     = 0.28, 0.32
	similarBase, similarShare       = 0.30, 0.30
	derivedLink                     = 0.75
	inflectedLink                   = 0.85
	handLink, backLink, synonymLink = 0.80, 0.60, 0.80

	weakest       = 0.525 // links below are left out
	generic       = 1000  // occurrences of words that are in every other name: no link leads back to them
	targetShare   = 0.10  // the meaning must be at least this much of the neighbour's own use
	mostHyponyms  = 40    // a concept with more kinds is too general to stand for one of them
	mostNeighbour = 14
	leastUsed     = 4  // occurrences of a word that has neighbours
	partUsed      = 8  // and of a part of a compound
	handUsed      = 30 // and of a word that only extra.txt has
)

// groups are the hand-written neighbours.
type groups struct {
	links map[string]map[string]float64
	heads map[string]bool // words whose neighbours are hand-written: WordNet adds synonyms only
}

// readGroups reads lines "coffee: brew bean roast" (from the head to each, and weaker back) and
// "= shop store mart" (from each to each).
func readGroups(path string) (*groups, error) {
	g := &groups{map[string]map[string]float64{}, map[string]bool{}}
	err := eachLine(path, func(line string) {
		if line == "" || line[0] == '#' {
			return
		}
		if all, ok := strings.CutPrefix(line, "="); ok {
			same := strings.Fields(all)
			for _, a := range same {
				for _, b := range same {
					g.link(a, b, synonymLink)
				}
			}
			return
		}
		heads, rest, ok := strings.Cut(line, ":")
		if !ok {
			fmt.Fprintln(os.Stderr, "gen: a line without a colon:", line)
			return
		}
		for head := range strings.FieldsSeq(heads) {
			g.heads[head] = true
			for w := range strings.FieldsSeq(rest) {
				g.link(head, w, handLink)
				g.link(w, head, backLink)
			}
		}
	})
	return g, err
}

func (g *groups) link(from, to string, strength float64) {
	if from == to {
		return
	}
	if g.links[from] == nil {
		g.links[from] = map[string]float64{}
	}
	g.links[from][to] = max(g.links[from][to], strength)
}

// addMissing gives words that only the groups know a place in the vocabulary.
func (g *groups) addMissing(v vocabulary) {
	for w := range g.links {
		if isWord(w) {
			v[w] = max(v[w], 5)
		}
	}
}

// table is what english.txt holds.
type table struct {
	costs      map[string]int
	lemma      map[string]string
	neighbours map[string][]link
	cuts       map[string]int // where the second part of a compound begins
}

type link struct {
	to       string
	strength float64
}

func newTable(wn *wordNet, v vocabulary, g *groups) *table {
	t := &table{v.costs(), map[string]string{}, map[string][]link{}, map[string]int{}}
	for w := range v {
		base := wn.lemma(w)
		if _, known := wn.lemmas[w]; !known && base == w && len(w) > 3 {
			if stem, cut := strings.CutSuffix(w, "s"); cut && !strings.HasSuffix(stem, "s") && v[stem] > 0 {
				base = wn.lemma(stem) // plurals of words that WordNet lacks: apps, vlogs
			}
		}
		if _, ok := v[base]; ok && base != w {
			t.lemma[w] = base
		}
	}
	for w := range v {
		if t.lemma[w] == "" {
			if cut := compound(w, wn, v); cut > 0 {
				t.cuts[w] = cut
			}
		}
		if t.lemma[w] == "" && v[w] >= leastUsed {
			t.neighbours[w] = t.near(w, wn, v, g)
		}
	}
	return t
}

// compound is where a word such as "doghouse" is to be cut, 0 for one that is no compound: its definition speaks of a
// part, which that of "carpet" does not. Words without a definition are ours, and taken at their letters.
func compound(w string, wn *wordNet, v vocabulary) int {
	_, defined := wn.lemmas[w]
	for cut := 3; cut <= len(w)-3; cut++ {
		a, b := w[:cut], w[cut:]
		if v[a] < partUsed || v[b] < partUsed {
			continue
		}
		if defined && (wn.defines(w, a) || wn.defines(w, b)) || !defined && v[w] >= handUsed {
			return cut
		}
	}
	return 0
}

// near lists a word's neighbours, strongest first.
func (t *table) near(w string, wn *wordNet, v vocabulary, g *groups) []link {
	found := map[string]float64{}
	add := func(to string, strength float64) {
		if base := t.lemma[to]; base != "" {
			to = base
		}
		if v[to] >= 2 && to != w && strength >= weakest {
			found[to] = max(found[to], strength)
		}
	}
	for to, strength := range g.links[w] {
		if strength > backLink || v[to] < generic {
			add(to, strength)
		}
	}
	t.fromWordNet(w, wn, v, g.heads[w], add)
	if base := inflectionOf(w, wn); base != "" {
		add(base, inflectedLink)
	}
	links := make([]link, 0, len(found))
	for to, strength := range found {
		links = append(links, link{to, strength})
	}
	slices.SortFunc(links, func(a, b link) int {
		return cmp.Or(cmp.Compare(b.strength, a.strength), cmp.Compare(v[b.to], v[a.to]), cmp.Compare(a.to, b.to))
	})
	most := max(mostNeighbour, len(g.links[w]))
	return links[:min(len(links), most)]
}

func (t *table) fromWordNet(w string, wn *wordNet, v vocabulary, hand bool, add func(string, float64)) {
	for _, p := range parts {
		for _, s := range wn.lemmas[w][p] {
			share := wn.share(w, s.key)
			set := wn.synsets[s.key]
			if set.offensive {
				continue
			}
			for _, other := range set.words {
				if wn.share(other, s.key) >= targetShare {
					add(other, synonymBase+synonymShare*share-0.1*rarity(v[other]))
				}
			}
			for _, ptr := range set.pointers {
				if ptr.source > 0 && set.words[ptr.source-1] != w {
					continue
				}
				strength := pointerStrength(ptr, wn, share, hand)
				if strength < weakest {
					continue
				}
				to := wn.synsets[ptr.to]
				if to.offensive {
					continue
				}
				for i, other := range to.words {
					if (ptr.target == 0 || ptr.target == i+1) && wn.share(other, ptr.to) >= 2*targetShare {
						add(other, strength-0.1*rarity(v[other]))
					}
				}
			}
		}
	}
}

// pointerStrength is how near a synset that the pointer leads to is, for a sense of that share.
func pointerStrength(p pointer, wn *wordNet, share float64, hand bool) float64 {
	switch {
	case p.symbol == "+" && share > 0.15: // derivationally related
		return derivedLink
	case hand:
		return 0
	case p.symbol == "~" && p.source == 0: // a kind of this
		return hyponymBase + hyponymShare*share
	case p.symbol == "@" && p.source == 0: // what this is a kind of
		if kinds(wn.synsets[p.to]) <= mostHyponyms {
			return hypernymBase + hypernymShare*share
		}
	case p.symbol == "&": // similar adjectives
		return similarBase + similarShare*share
	case p.symbol == "\\" && share > 0.3: // an adjective of a noun
		return derivedLink
	}
	return 0
}

func kinds(s *synset) int {
	n := 0
	for _, p := range s.pointers {
		if p.symbol == "~" {
			n++
		}
	}
	return n
}

// rarity is 0 for a word that is written often and 1 for one that hardly is.
func rarity(count float64) float64 {
	return 1 - min(1, math.Log1p(count)/math.Log(50))
}

// inflectionOf is the verb of a word such as "roasting" that has a meaning of its own as well.
func inflectionOf(w string, wn *wordNet) string {
	if _, own := wn.lemmas[w]; !own || len(wn.lemmas[w][verb]) > 0 {
		return ""
	}
	for _, s := range suffixes[verb] {
		if stem, cut := strings.CutSuffix(w, s[0]); cut && len(stem) > 2 && len(wn.lemmas[stem+s[1]][verb]) > 0 {
			return stem + s[1]
		}
	}
	return ""
}

// write prints one line a word, sorted: word, cost, lemma if it is another word, the cut of a compound, and neighbours
// with their strength in tenths, separated by tabs and spaces.
func (t *table) write(w io.Writer) {
	fmt.Fprintln(w, "# Made by market/words/gen from WordNet 3.0 and SCOWL; see NOTICE. Do not edit.")
	for _, word := range slices.Sorted(maps.Keys(t.costs)) {
		fmt.Fprintf(w, "%s\t%d", word, t.costs[word])
		if base := t.lemma[word]; base != "" {
			fmt.Fprintf(w, "\t=%s", base)
		}
		if cut := t.cuts[word]; cut > 0 {
			fmt.Fprintf(w, "\t+%d", cut)
		}
		if links := t.neighbours[word]; len(links) > 0 {
			fmt.Fprint(w, "\t")
			for i, l := range links {
				if i > 0 {
					fmt.Fprint(w, " ")
				}
				fmt.Fprintf(w, "%s:%d", l.to, int(math.Round(l.strength*10)))
			}
		}
		fmt.Fprintln(w)
	}
}
