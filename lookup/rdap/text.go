package rdap

import (
	"bytes"
	"net/netip"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/lookup/record"
)

// clean makes a text of what a server sent: trimmed, valid UTF-8, without control (C0, C1) and bidirectional
// formatting characters, at most record.MaxField bytes.
func clean(b []byte) string {
	return cut(strings.TrimSpace(strip(b, false)), record.MaxField)
}

// strip drops what clean drops; lines keeps line feeds and tabs.
func strip(b []byte, lines bool) string {
	if printable(b, lines) {
		return string(b)
	}
	var out strings.Builder
	out.Grow(len(b))
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		b = b[n:]
		switch {
		case r == utf8.RuneError && n == 1, hidden(r):
		case r >= ' ' && r != 0x7f && (r < 0x80 || r >= 0xa0), lines && (r == '\n' || r == '\t'):
			out.WriteRune(r)
		case r == '\n', r == '\t':
			out.WriteByte(' ')
		}
	}
	return out.String()
}

// hidden reports whether the character changes the direction of text or cannot be seen: it can make a name read as
// another one.
func hidden(r rune) bool {
	return r == 0x061c || 0x200b <= r && r <= 0x200f || 0x2028 <= r && r <= 0x202e || 0x2060 <= r && r <= 0x206f || r == 0xfeff
}

func printable(b []byte, lines bool) bool {
	for _, c := range b {
		if c < ' ' && !(lines && (c == '\n' || c == '\t')) || c >= 0x7f {
			return false
		}
	}
	return true
}

// cut shortens s to max bytes, at the end of a character.
func cut(s string, max int) string {
	if len(s) <= max {
		return s
	}
	for max > 0 && !utf8.RuneStart(s[max]) {
		max--
	}
	return s[:max]
}

// host returns a host name in normal form; empty for what is not one.
func host(b []byte) string {
	if len(b) > record.MaxField {
		return ""
	}
	if n, err := fqdn.Parse(string(b)); err == nil {
		return n.String()
	}
	s := strings.ToLower(strings.TrimSuffix(clean(b), "."))
	if !strings.Contains(s, ".") || len(s) > fqdn.MaxLength || strings.ContainsFunc(s, func(r rune) bool {
		return r != '.' && r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
	}) {
		return ""
	}
	return s // a host name with an underscore is no domain name, but it serves
}

// address returns an IP address in normal form; empty for what is not one.
func address(b []byte) string {
	if len(b) > 64 {
		return ""
	}
	a, err := netip.ParseAddr(string(bytes.TrimSpace(b)))
	if err != nil || a.Zone() != "" {
		return ""
	}
	return a.String()
}

// dateLayouts are the ways in which dates are written: RFC 3339 as RFC 9083 asks, and what some servers send instead.
var dateLayouts = [...]string{
	time.RFC3339,
	"2006-01-02T15:04:05.999999999",
	"2006-01-02 15:04:05.999999999Z07:00",
	"2006-01-02T15:04:05Z0700",
	"2006-01-02 15:04:05",
	"2006-01-02T15:04Z07:00",
	"2006-01-02",
}

// date reads a date; the zero time for what is not one, or not one of the domain name system's age.
func date(b []byte) time.Time {
	b = bytes.TrimSpace(b)
	if len(b) < 10 || len(b) > 40 {
		return time.Time{}
	}
	for _, layout := range dateLayouts {
		if t, err := time.Parse(layout, string(b)); err == nil {
			if t.Year() < 1980 || t.Year() > 2200 {
				return time.Time{}
			}
			return t.UTC()
		}
	}
	return time.Time{}
}

// withheld reports whether the text replaces a value that is not published.
func withheld(s string) bool {
	if s == "" || len(s) > 200 {
		return false
	}
	l := strings.ToLower(s)
	for _, mark := range [...]string{"redacted", "not disclosed", "non-disclosed", "data protected", "gdpr masked", "statutory masking", "not published", "hidden upon user request"} {
		if strings.Contains(l, mark) {
			return true
		}
	}
	return false
}
