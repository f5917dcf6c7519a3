// Package tokens estimates how many tokens a text costs a language model. It is for tests that keep budgets.
package tokens

import (
	"unicode"
	"unicode/utf8"
)

// Estimate is about the number of tokens of the encoding o200k_base, for English and JSON: at most an eighth below, at most
// a quarter above. A word costs a token for each eight letters begun, as do the words of camelCase; three digits cost one, as do
// three signs in a row, a run of space with a line's end in it, and a character beyond ASCII.
func Estimate(text string) int {
	n := 0
	for len(text) > 0 {
		kind, size := run(text)
		switch kind {
		case letter:
			n += (size + 7) / 8
		case digit, sign:
			n += (size + 2) / 3
		case line, wide:
			n++
		}
		text = text[size:]
	}
	return n
}

type kind int

const (
	space kind = iota
	line
	letter
	digit
	sign
	wide
)

// run is the first run of characters of one kind, and its size in bytes.
func run(text string) (of kind, size int) {
	of = kindOf(text[0])
	switch of {
	case wide:
		_, size = utf8.DecodeRuneInString(text)
		return wide, size
	case letter:
		return letter, word(text)
	}
	for size < len(text) {
		k := kindOf(text[size])
		if k == line && of == space {
			of = line
		}
		if k != of && (k != space || of != line) {
			break
		}
		size++
	}
	return of, size
}

// word is the size of the capital letters, and the small ones after them, that a text begins with.
func word(text string) (size int) {
	for size < len(text) && unicode.IsUpper(rune(text[size])) {
		size++
	}
	for size < len(text) && 'a' <= text[size] && text[size] <= 'z' {
		size++
	}
	return size
}

func kindOf(c byte) kind {
	switch {
	case c == '\n' || c == '\r':
		return line
	case c == ' ' || c == '\t':
		return space
	case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
		return letter
	case '0' <= c && c <= '9':
		return digit
	case c >= utf8.RuneSelf:
		return wide
	}
	return sign
}
