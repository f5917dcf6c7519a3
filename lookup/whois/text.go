package whois

import (
	"strings"
	"unicode/utf8"
)

// clean turns the bytes of a reply into text: UTF-8 as it is, anything else read as ISO 8859-1; lines end in "\n";
// control characters (C0, C1, DEL), bidirectional formatting and byte order marks are dropped, tabs kept.
func clean(body []byte) string {
	switch plain(body) {
	case allPlain:
		return string(body)
	case plainLines:
		return strings.ReplaceAll(string(body), "\r\n", "\n")
	}
	latin1 := !utf8.Valid(trimPartial(body))
	var b strings.Builder
	b.Grow(len(body) + len(body)/8)
	for i := 0; i < len(body); {
		r, n := rune(body[i]), 1
		if r >= utf8.RuneSelf && !latin1 {
			r, n = utf8.DecodeRune(body[i:])
		}
		i += n
		if r == '\r' && (i == len(body) || body[i] != '\n') {
			r = '\n'
		}
		if !dropped(r) {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// How much cleaning a reply needs.
const (
	unclean    = iota
	plainLines // printable ASCII and tabs, lines end in CR LF
	allPlain   // the same, lines end in LF
)

// plain says whether the usual reply is at hand, which needs no look at every character.
func plain(body []byte) int {
	kind := allPlain
	for i, c := range body {
		switch {
		case c >= ' ' && c < 0x7f, c == '\n', c == '\t':
		case c == '\r' && i+1 < len(body) && body[i+1] == '\n':
			kind = plainLines
		default:
			return unclean
		}
	}
	return kind
}

// trimPartial drops the beginning of a character that the size limit may have left at the end.
func trimPartial(body []byte) []byte {
	for i := 1; i <= min(utf8.UTFMax-1, len(body)); i++ {
		if c := body[len(body)-i]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(body[len(body)-i:]) {
				return body[:len(body)-i]
			}
			break
		}
	}
	return body
}

// dropped reports whether no text that leaves this package may hold the character.
func dropped(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < ' ', r >= 0x7f && r < 0xa0, r == utf8.RuneError:
		return true
	case r == 0x061c, r == 0x200e, r == 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0xfeff:
		return true
	}
	return false
}

// cut shortens s to at most n bytes at a character boundary.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// fold writes s into buf in the form in which labels and phrases are compared: lower case, one blank between words.
// Only ASCII letters are folded: no registry varies the case of others.
func fold(buf []byte, s string) []byte {
	buf = buf[:0]
	blank := false
	for i := range len(s) {
		c := s[i]
		switch {
		case c == ' ' || c == '\t':
			blank = len(buf) > 0
			continue
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		}
		if blank {
			buf = append(buf, ' ')
			blank = false
		}
		buf = append(buf, c)
	}
	return buf
}

// hasPrefixFold reports whether s begins with the lower-case ASCII prefix in any case.
func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}
