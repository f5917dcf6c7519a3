package tld

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/namewharf/namewharf/fqdn"
)

// The built-in files are lines of UTF-8 text:
//
//	file  = *( comment / empty / block )
//	block = kind [" " rest] LF *( "  " key " " value LF )
//
// A comment starts with "#" in the first column. A block's head starts in the first column and its fields are
// indented by two spaces. Key and kind are single words; one space separates them from what follows.
// Control characters, space at the end of a line and blank values are refused, so that a file has one spelling.

// A block is a head line and its fields.
type block struct {
	line   int
	kind   string
	rest   string
	fields []field
}

// A field is an indented line of a block.
type field struct {
	line       int
	key, value string
}

// parseBlocks reads a file. Its strings are parts of text.
func parseBlocks(text string) ([]block, error) {
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("not valid UTF-8")
	}
	var blocks []block
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		if strings.ContainsFunc(line, unicode.IsControl) || strings.HasSuffix(line, " ") {
			return nil, fmt.Errorf("line %d: control character or space at the end", number)
		}
		body, indented := strings.CutPrefix(line, "  ")
		word, rest, spaced := strings.Cut(body, " ")
		switch {
		case word == "" || strings.HasPrefix(rest, " "):
			return nil, fmt.Errorf("line %d: surplus space", number)
		case !indented:
			blocks = append(blocks, block{line: number, kind: word, rest: rest})
		case len(blocks) == 0:
			return nil, fmt.Errorf("line %d: field outside a block", number)
		case !spaced:
			return nil, fmt.Errorf("line %d: field without a value", number)
		default:
			last := &blocks[len(blocks)-1]
			last.fields = append(last.fields, field{number, word, rest})
		}
	}
	return blocks, nil
}

// take removes the fields with the key and returns the words of their values.
func (b *block) take(key string) []string {
	var words []string
	kept := b.fields[:0:0]
	for _, f := range b.fields {
		if f.key == key {
			words = append(words, strings.Fields(f.value)...)
		} else {
			kept = append(kept, f)
		}
	}
	b.fields = kept
	return words
}

// takeSuffixes removes the suffixes fields and returns their names, which must be in A-label form, lower case.
func (b *block) takeSuffixes() ([]fqdn.Name, error) {
	words := b.take("suffixes")
	if len(words) == 0 {
		return nil, b.errorf("no suffixes")
	}
	names := make([]fqdn.Name, len(words))
	for i, w := range words {
		name, err := fqdn.Parse(w)
		if err != nil || name.String() != w {
			return nil, b.errorf("suffix %d is not a name in A-label form", i+1)
		}
		names[i] = name
	}
	return names, nil
}

// date reads the rest of an as_of head.
func (b *block) date() (time.Time, error) {
	t, err := parseDate(b.rest)
	if err != nil || len(b.fields) > 0 {
		return time.Time{}, b.errorf("as_of is one date")
	}
	return t, nil
}

func (b *block) errorf(format string, args ...any) error {
	return fmt.Errorf("line %d: %s: %s", b.line, b.kind, fmt.Sprintf(format, args...))
}

// parseDate reads a date such as 2026-01-01.
func parseDate(s string) (time.Time, error) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil || t.Year() < 1985 { // the year of the first registration
		return time.Time{}, fmt.Errorf("is not a date such as 2026-01-01")
	}
	return t, nil
}
