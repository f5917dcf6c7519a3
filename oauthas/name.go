package oauthas

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/namewharf/namewharf/confusable"
)

// maxName bounds client_name, in characters.
const maxName = 100

// wholeName is the length from which one of our names may not be part of a client's name. Shorter ones, such as the host of a
// short domain, are part of many names.
const wholeName = 6

// ownName is a name that no client may use: users would take it for this service.
const ownName = "namewharf"

// ownNames are the skeletons of our own names: the product's, and the host's if it is a name at all.
func ownNames(issuer *url.URL) []string {
	names := []string{confusable.Skeleton(ownName)}
	host := issuer.Hostname()
	if _, err := netip.ParseAddr(host); err != nil && !loopbackHost(host) {
		names = append(names, confusable.Skeleton(host))
	}
	return names
}

// checkName checks a client_name. Its errors complete a sentence that begins with client_name, and do not repeat the name.
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
	shape := confusable.Skeleton(name)
	for _, o := range own {
		if shape == o || len(o) >= wholeName && strings.Contains(shape, o) {
			return errors.New("must not be our own name")
		}
	}
	switch {
	case confusable.Mixed(name):
		return errors.New("must not mix alphabets, such as Latin and Cyrillic: write it in one")
	case confusable.Latinate(name):
		return errors.New("must not be made of letters that read as Latin ones: write it in Latin letters, or add a word")
	}
	return nil
}

// deceptive reports characters that are invisible or change how others are shown.
func deceptive(r rune) bool {
	return unicode.In(r, unicode.C, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) ||
		r != ' ' && unicode.Is(unicode.Zs, r) ||
		r == '\u034f' || r == '\u2800' || // combining grapheme joiner, blank Braille pattern
		r == unicode.ReplacementChar ||
		!unicode.IsGraphic(r)
}
