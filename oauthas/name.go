package oauthas

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxName bounds client_name, in characters.
const maxName = 100

// ownName is what no client may call itself: consent to "Namewharf" would be consent to us.
const ownName = "namewharf"

// ownNames are the skeletons of our own names: the product's, and the host's if it is a name at all.
func ownNames(issuer *url.URL) []string {
	names := []string{skeleton(ownName)}
	host := issuer.Hostname()
	if _, err := netip.ParseAddr(host); err != nil && !loopbackHost(host) {
		names = append(names, skeleton(host))
	}
	return names
}

// checkName decides whether a client may show itself under the name. An error reads as the rest of a sentence that
// begins with client_name, and does not repeat it.
func checkName(name string, own []string) error {
	switch {
	case name == "":
		return nil
	case !utf8.ValidString(name):
		return errors.New("must be text in UTF-8")
	case utf8.RuneCountInString(name) > maxName:
		return fmt.Errorf("must have at most %d characters", maxName)
	case strings.ContainsFunc(name, deceptive):
		return errors.New("must not hold control, bidirectional or invisible characters")
	case strings.TrimSpace(name) == "":
		return errors.New("must not be blank")
	}
	shape := skeleton(name)
	for _, o := range own {
		if strings.Contains(shape, o) {
			return errors.New("must not be our own name")
		}
	}
	return nil
}

// deceptive reports characters that are not seen, or make others be seen differently.
func deceptive(r rune) bool {
	return unicode.In(r, unicode.C, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) ||
		r != ' ' && unicode.Is(unicode.Zs, r) ||
		r == '\u034f' || r == '\u2800' || // combining grapheme joiner, blank Braille pattern
		r == unicode.ReplacementChar ||
		!unicode.IsGraphic(r)
}

// skeleton is a text as a hasty eye reads it, in the spirit of UTS 39: without marks, spaces and punctuation, in lower
// case, with look-alikes of the letters that our names are made of replaced by them.
func skeleton(text string) string {
	var b strings.Builder
	for _, r := range norm.NFKD.String(strings.ToLower(norm.NFKC.String(text))) {
		r = unicode.ToLower(r)
		if like, ok := lookalikes[r]; ok {
			b.WriteString(like)
			continue
		}
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			b.WriteRune(r)
		}
	}
	// Pairs that read as one letter.
	return strings.NewReplacer("rn", "m", "vv", "w", "nn", "m").Replace(b.String())
}

// lookalikes are the letters of other scripts, and the digits, that read as Latin ones.
var lookalikes = func() map[rune]string {
	table := map[rune]string{}
	for latin, others := range map[string]string{
		"a": "аαɑ4ꭺᗅ@", "b": "ьв8", "c": "сϲᴄ", "d": "ԁ", "e": "еєε3ҽℯ", "f": "ғƒϝꬵ", "g": "ɡց9", "h": "һнհ", "i": "іιı1|!ɪ",
		"j": "јϳ", "k": "кκ", "l": "ӏⅼ", "m": "мʍ", "n": "пηոռɴ", "o": "оοօ0ᴏ", "p": "рρ", "q": "ԛզ", "r": "гᴦɾʀ", "s": "ѕ5ꜱ", "t": "тτ7",
		"u": "υսᴜ", "v": "νѵᴠ", "w": "ԝшωѡաᴡ", "x": "хχ", "y": "уүγ", "z": "ᴢ2",
	} {
		for _, r := range others {
			table[r] = latin
		}
	}
	return table
}()
