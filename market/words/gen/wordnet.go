package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// A part is a part of speech in WordNet's spelling.
type part byte

const (
	noun      part = 'n'
	verb      part = 'v'
	adjective part = 'a'
	adverb    part = 'r'
)

var parts = []part{noun, verb, adjective, adverb}

func (p part) file() string {
	return map[part]string{noun: "noun", verb: "verb", adjective: "adj", adverb: "adv"}[p]
}

// key is a synset: its part of speech and its offset in the data file.
type key struct {
	part   part
	offset string
}

// synset is a set of words with one meaning (wndb(5WN)).
type synset struct {
	words     []string // lower case; those of several words hold underscores
	pointers  []pointer
	gloss     []string // words of the definition and the examples
	offensive bool
}

type pointer struct {
	symbol string
	to     key
	source int // 1-based word of this synset; 0: the whole synset
	target int // 1-based word of the other; 0: all
}

// sense is one meaning of a lemma, most frequent first.
type sense struct {
	key   key
	count float64 // how often it was tagged
}

// wordNet is WordNet's database as far as the table needs it.
type wordNet struct {
	synsets    map[key]*synset
	lemmas     map[string]map[part][]sense
	exceptions map[part]map[string]string // inflected form: lemma
	glossCount map[string]float64
}

func readWordNet(dir string) (*wordNet, error) {
	wn := &wordNet{
		synsets:    map[key]*synset{},
		lemmas:     map[string]map[part][]sense{},
		exceptions: map[part]map[string]string{},
		glossCount: map[string]float64{},
	}
	for _, p := range parts {
		if err := eachLine(filepath.Join(dir, "data."+p.file()), func(l string) { wn.addSynset(p, l) }); err != nil {
			return nil, err
		}
		if err := eachLine(filepath.Join(dir, "index."+p.file()), func(l string) { wn.addLemma(p, l) }); err != nil {
			return nil, err
		}
		wn.exceptions[p] = map[string]string{}
		err := eachLine(filepath.Join(dir, p.file()+".exc"), func(l string) {
			if f := strings.Fields(l); len(f) > 1 {
				wn.exceptions[p][f[0]] = f[1]
			}
		})
		if err != nil {
			return nil, err
		}
	}
	wn.markOffensive()
	return wn, eachLine(filepath.Join(dir, "cntlist.rev"), wn.addCount)
}

// markOffensive marks the meanings that WordNet calls obscene or disparaging: nothing leads to them.
func (wn *wordNet) markOffensive() {
	for _, s := range wn.synsets {
		for _, p := range s.pointers {
			if p.symbol != ";u" {
				continue
			}
			for _, usage := range wn.synsets[p.to].words {
				switch usage {
				case "obscenity", "disparagement", "ethnic_slur", "vulgarism", "slang", "dirty_word":
					s.offensive = true
				}
			}
		}
	}
}

// addSynset reads a line of a data file:
// offset file type w_cnt word lex_id [word lex_id…] p_cnt [symbol offset pos source/target…] [frames] | gloss
func (wn *wordNet) addSynset(p part, line string) {
	if strings.HasPrefix(line, " ") { // the licence
		return
	}
	head, gloss, _ := strings.Cut(line, " | ")
	f := strings.Fields(head)
	n, _ := strconv.ParseInt(f[3], 16, 32)
	s := &synset{}
	rest := f[4:]
	for range n {
		word, _, _ := strings.Cut(strings.ToLower(rest[0]), "(") // the place of an adjective, as in "galore(ip)"
		s.words = append(s.words, word)
		rest = rest[2:]
	}
	count, _ := strconv.Atoi(rest[0])
	rest = rest[1:]
	for range count {
		to := part(rest[2][0])
		if to == 's' {
			to = adjective
		}
		source, _ := strconv.ParseInt(rest[3][:2], 16, 32)
		target, _ := strconv.ParseInt(rest[3][2:], 16, 32)
		s.pointers = append(s.pointers, pointer{rest[0], key{to, rest[1]}, int(source), int(target)})
		rest = rest[4:]
	}
	wn.synsets[key{p, f[0]}] = s
	s.gloss = strings.FieldsFunc(strings.ToLower(gloss), func(r rune) bool { return r < 'a' || r > 'z' })
	for _, w := range s.gloss {
		wn.glossCount[w]++
	}
}

// addLemma reads a line of an index file: lemma pos synset_cnt p_cnt [symbol…] sense_cnt tagsense_cnt offset…
func (wn *wordNet) addLemma(p part, line string) {
	if strings.HasPrefix(line, " ") {
		return
	}
	f := strings.Fields(line)
	n, _ := strconv.Atoi(f[2])
	if wn.lemmas[f[0]] == nil {
		wn.lemmas[f[0]] = map[part][]sense{}
	}
	for _, offset := range f[len(f)-n:] {
		wn.lemmas[f[0]][p] = append(wn.lemmas[f[0]][p], sense{key: key{p, offset}})
	}
}

// addCount reads a line of cntlist.rev: sense_key sense_number tag_cnt.
func (wn *wordNet) addCount(line string) {
	var sk string
	var number int
	var count float64
	if n, _ := fmt.Sscan(line, &sk, &number, &count); n != 3 {
		return
	}
	lemma, rest, _ := strings.Cut(sk, "%")
	p := map[byte]part{'1': noun, '2': verb, '3': adjective, '4': adverb, '5': adjective}[rest[0]]
	if senses := wn.lemmas[lemma][p]; number <= len(senses) {
		senses[number-1].count += count
	}
}

// taggedCount is how often any sense of the lemma was tagged.
func (wn *wordNet) taggedCount(lemma string) float64 {
	sum := 0.0
	for _, senses := range wn.lemmas[lemma] {
		for _, s := range senses {
			sum += s.count
		}
	}
	return sum
}

// share is how much of the lemma's use the synset makes up, from 0 to 1. Senses that were never tagged count a little,
// the first more than the last.
func (wn *wordNet) share(lemma string, k key) float64 {
	total, mine := 0.0, 0.0
	for _, p := range parts {
		for i, s := range wn.lemmas[lemma][p] {
			weight := s.count + 0.5/float64(i+1)
			total += weight
			if s.key == k {
				mine = weight
			}
		}
	}
	if total == 0 {
		return 0
	}
	return mine / total
}

// suffixes are the inflections of morphy(7WN), for words that are in no exception list.
var suffixes = map[part][][2]string{
	noun:      {{"ses", "s"}, {"xes", "x"}, {"zes", "z"}, {"ches", "ch"}, {"shes", "sh"}, {"men", "man"}, {"ies", "y"}, {"s", ""}},
	verb:      {{"ies", "y"}, {"es", "e"}, {"es", ""}, {"s", ""}, {"ed", "e"}, {"ed", ""}, {"ing", "e"}, {"ing", ""}},
	adjective: {{"er", ""}, {"est", ""}, {"er", "e"}, {"est", "e"}},
}

// lemma is the base form of an inflected word, or the word itself if it has a meaning of its own.
func (wn *wordNet) lemma(word string) string {
	if _, own := wn.lemmas[word]; own {
		return word
	}
	for _, p := range parts {
		if base := wn.exceptions[p][word]; base != "" && isWord(base) {
			return base
		}
		for _, s := range suffixes[p] {
			stem, cut := strings.CutSuffix(word, s[0])
			if !cut || len(stem) < 2 {
				continue
			}
			if base := stem + s[1]; len(wn.lemmas[base][p]) > 0 {
				return base
			}
			if n := len(stem); p == verb && s[1] == "" && n > 3 && stem[n-1] == stem[n-2] && len(wn.lemmas[stem[:n-1]][p]) > 0 {
				return stem[:n-1] // shipped, shopping
			}
		}
	}
	return word
}

// defines reports whether a definition of the lemma speaks of the word, in any inflection.
func (wn *wordNet) defines(lemma, word string) bool {
	for _, senses := range wn.lemmas[lemma] {
		for _, s := range senses {
			for _, w := range wn.synsets[s.key].gloss {
				if w == word || strings.HasPrefix(w, word) && wn.lemma(w) == word {
					return true
				}
			}
		}
	}
	return false
}
