// Package confusable finds texts that a reader may mistake for one another because letters look alike (Unicode Technical
// Standard 39).
package confusable

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

//go:generate go run ./gen

//go:embed table.txt
var table string

// looks are characters by what they look like, in ASCII letters and digits.
type looks struct {
	confusable map[rune]string // as UTS 39 has it
	drawn      map[rune]string // by their names: small capitals, letters with strokes, squared ones
}

var alike = parse(table)

func parse(table string) looks {
	l := looks{map[rune]string{}, map[rune]string{}}
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0][0] == '#' {
			continue
		}
		into := l.confusable
		if fields[0][0] == '~' {
			into = l.drawn
		}
		for _, hex := range fields[1:] {
			r, err := strconv.ParseUint(hex, 16, 32)
			if err != nil {
				panic(fmt.Sprintf("confusable: table.txt: %v", err))
			}
			into[rune(r)] = fields[0][1:]
		}
	}
	return l
}

// hasty are characters that a hurried reader takes for a letter, beyond those of UTS 39: digits and signs in the manner of leetspeak,
// letters whose capitals look alike, and letters on their heads.
var hasty = func() map[rune]string {
	m := map[rune]string{}
	for letter, others := range map[string]string{
		"a": "4@ɐ", "b": "8ьв", "e": "3єǝε", "f": "ϝꬵɟ", "g": "9ց", "h": "нհɥ", "l": "i1|!", "k": "кκ", "m": "мʍ", "n": "пηոռ",
		"o": "0", "p": "þ", "r": "гᴦɹ", "s": "5$", "t": "7+тτ", "u": "υսᴜц", "v": "ʌ", "w": "шωաɯщ", "y": "ү", "z": "2",
	} {
		for _, r := range others {
			m[r] = letter
		}
	}
	return m
}()

// pairs are letters that together read as one.
var pairs = strings.NewReplacer("rn", "m", "nn", "m", "vv", "w", "uu", "w")

// Skeleton is a text as a hasty eye reads it: without marks, spaces and punctuation, and with one letter for all that
// look like it. Texts with one skeleton are taken for one another. It is for comparison only.
func Skeleton(text string) string {
	var b strings.Builder
	for _, r := range norm.NFKD.String(norm.NFKC.String(text)) {
		for _, letter := range reads(r) {
			if like, ok := hasty[letter]; ok {
				b.WriteString(like)
			} else if unicode.IsLetter(letter) || unicode.IsDigit(letter) {
				b.WriteRune(letter)
			}
		}
	}
	return pairs.Replace(b.String())
}

// reads is what a character looks like, itself in lower case where nothing is known of it.
func reads(r rune) string {
	lower := unicode.ToLower(r)
	for _, known := range []map[rune]string{alike.confusable, alike.drawn} {
		for _, c := range []rune{r, lower} {
			if text, ok := known[c]; ok {
				return text
			}
		}
	}
	return string(lower)
}

// together are the scripts that writers of one language mix.
var together = [][]string{
	{"Latin", "Han", "Hiragana", "Katakana"},
	{"Latin", "Han", "Bopomofo"},
	{"Latin", "Han", "Hangul"},
}

// Mixed reports whether a text mixes scripts that no language mixes: it is beyond the restriction level Highly
// Restrictive of UTS 39, section 5.2.
func Mixed(text string) bool {
	used := scripts(text)
	if len(used) <= 1 {
		return false
	}
	for _, set := range together {
		within := 0
		for _, s := range set {
			if used[s] {
				within++
			}
		}
		if within == len(used) {
			return false
		}
	}
	return true
}

// scripts are those of the letters of a text. Signs that all scripts share belong to none.
func scripts(text string) map[string]bool {
	used := map[string]bool{}
	for _, r := range norm.NFKC.String(text) {
		if s := scriptOf(r); s != "" {
			used[s] = true
		}
	}
	return used
}

// scriptOf is the script of a character, empty for one that is of several, or of none.
func scriptOf(r rune) string {
	if unicode.Is(unicode.Latin, r) {
		return "Latin"
	}
	if unicode.Is(unicode.Common, r) || unicode.Is(unicode.Inherited, r) {
		return ""
	}
	for name, letters := range unicode.Scripts {
		if unicode.Is(letters, r) {
			return name
		}
	}
	return ""
}

// Latinate reports whether a text is written in another script than Latin with nothing but letters that look like Latin
// ones: a whole-script confusable in the words of UTS 39, section 4.1. One letter alone is none.
func Latinate(text string) bool {
	used := scripts(text)
	if len(used) != 1 || !mimics(used) {
		return false
	}
	letters := 0
	for _, r := range norm.NFKD.String(norm.NFKC.String(text)) {
		if !unicode.IsLetter(r) {
			continue
		}
		_, ok := alike.confusable[r]
		if !ok {
			if _, ok = alike.confusable[unicode.ToLower(r)]; !ok {
				return false
			}
		}
		letters++
	}
	return letters > 1
}

// mimics reports whether the scripts are alphabets that are written from left to right in separate letters, many of
// which look like Latin ones.
func mimics(used map[string]bool) bool {
	for _, s := range []string{"Armenian", "Cherokee", "Coptic", "Cyrillic", "Deseret", "Greek", "Lisu", "Osage", "Warang_Citi"} {
		if used[s] {
			return true
		}
	}
	return false
}
