package whois

import (
	"errors"
	"strings"
)

// strongForms are sentences that say of the very name they repeat that it is free. They count at every registry, since they
// cannot be about anything else. A form is compared as words: case, quotes, brackets, colons and the filler words do not
// count, so that "Sorry, but domain: "a.uz", not found in database" is "{name} not found in database".
type strongForms struct {
	forms  map[string]bool
	filler map[string]bool
}

func newStrongForms() *strongForms {
	return &strongForms{forms: map[string]bool{}, filler: map[string]bool{}}
}

// add takes a form, which has one {name} or one {label} (what is before the first dot of the name; at the end only).
func (f *strongForms) add(form string) bool {
	words := strings.Fields(form)
	marks := 0
	for i, w := range words {
		if w == "{name}" || w == "{label}" && i == len(words)-1 {
			marks++
		}
	}
	f.forms[form] = true
	return marks == 1 && len(words) > 1
}

// match reports whether the folded line is one of the forms, about the name.
func (f *strongForms) match(line string, n names) bool {
	if !strings.Contains(line, n.label) && !strings.Contains(line, n.unicode) {
		return false
	}
	var array [maxStrongWords]string
	words, named := array[:0], false
	for word := range strings.FieldsFuncSeq(line, strongSeparator) {
		word = strings.TrimRight(word, ".")
		switch {
		case word == n.ascii || word == n.unicode:
			if named {
				return false
			}
			word, named = "{name}", true
		case word == "" || word == "-" || f.filler[word]:
			continue
		case word == "name" && len(words) == 0 && strings.HasPrefix(line, "domain name"):
			continue
		}
		if len(words) == maxStrongWords {
			return false // prose
		}
		words = append(words, word)
	}
	if len(words) < 2 {
		return false
	}
	if last := &words[len(words)-1]; !named && *last == n.label {
		*last = "{label}"
	}
	return f.forms[strings.Join(words, " ")]
}

// maxStrongWords is more than any form has.
const maxStrongWords = 12

// strongSeparator reports whether the character is between words.
func strongSeparator(r rune) bool {
	return strings.ContainsRune(" \t\"'`«»“”„’()[]<>,:;!?=*%", r)
}

// errNotStrong is returned for a word of registries.txt that is not about strong forms.
var errNotStrong = errors.New("not about strong forms")

// directive takes a line of registries.txt that is about strong forms.
func (f *strongForms) directive(word, rest string) error {
	switch word {
	case "filler":
		for w := range strings.FieldsSeq(rest) {
			f.filler[w] = true
		}
	case "strong":
		if !f.add(rest) {
			return errors.New("a strong form needs one {name}, or {label} at its end, and another word")
		}
	default:
		return errNotStrong
	}
	return nil
}
