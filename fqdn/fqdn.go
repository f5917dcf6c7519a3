// Package fqdn parses domain names, converts them between A-label and Unicode form, and finds their public suffixes.
package fqdn

import (
	"net/netip"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// Limits of RFC 1035, section 2.3.4, counted on the A-label form without the root dot.
const (
	MaxLength = 253
	MaxLabel  = 63
)

// A Name is a valid domain name or single label. Two equal names compare equal with ==. The zero Name is empty.
type Name struct{ ascii string }

// An Error says why a text is not a domain name. It never repeats the text.
type Error struct{ Reason string }

func (e *Error) Error() string { return e.Reason }

// Public is the text for callers of the service.
func (e *Error) Public() string { return e.Reason }

func refuse(reason string) (Name, error) { return Name{}, &Error{reason} }

// profile maps as browsers do (UTS 46, non-transitional) and enforces letters, digits and hyphens (STD 3). It allows hyphens
// in third and fourth place: such names exist.
var profile = idna.New(idna.MapForLookup(), idna.StrictDomainName(true), idna.BidiRule(), idna.CheckJoiners(true), idna.CheckHyphens(false))

// Parse reads a name in Unicode or A-label form: it trims space and one root dot, lower-cases and maps by UTS 46.
// It refuses with an [*Error]: empty labels, characters that no registry accepts (control characters, underscores,
// spaces), labels over 63 and names over 253 octets, broken punycode, and IP addresses.
func Parse(s string) (Name, error) {
	s = strings.TrimSpace(s)
	switch {
	case s == "":
		return refuse("is empty; send a domain name such as example.com")
	case len(s) > 4*MaxLength:
		return refuse("is longer than 253 characters")
	case !utf8.ValidString(s):
		return refuse("is not valid UTF-8")
	}
	if isAddress(s) {
		return refuse("is an IP address, not a domain name")
	}
	for _, r := range s {
		switch {
		case unicode.IsControl(r):
			return refuse("holds a control character")
		case r == '_':
			return refuse("holds an underscore, which no registry accepts in a registered name")
		case r == '@':
			return refuse("looks like an e-mail address; send the part after the @")
		case unicode.IsSpace(r):
			return refuse("holds a space")
		}
	}
	ascii, plain := lowerPlain(s)
	if !plain {
		mapped, err := profile.ToASCII(s)
		if err != nil {
			return refuse("is not a valid internationalized domain name (UTS 46)")
		}
		ascii = mapped
	}
	ascii = strings.TrimSuffix(ascii, ".")
	if reason := flaw(ascii); reason != "" {
		return refuse(reason)
	}
	return Name{ascii}, nil
}

// lowerPlain lower-cases s and reports whether it is letters, digits, hyphens and dots without any A-label,
// for which UTS 46 changes nothing else.
func lowerPlain(s string) (string, bool) {
	upper := false
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '.':
		case 'A' <= c && c <= 'Z':
			upper = true
		default:
			return s, false
		}
	}
	if upper {
		s = strings.ToLower(s)
	}
	return s, !strings.HasPrefix(s, "xn--") && !strings.Contains(s, ".xn--")
}

func isAddress(s string) bool {
	s = strings.TrimSuffix(strings.TrimPrefix(s, "["), "]")
	_, err := netip.ParseAddr(s)
	return err == nil
}

// flaw says what is wrong with a name in A-label form; empty: it is valid.
func flaw(s string) string {
	if s == "" {
		return "is empty; send a domain name such as example.com"
	}
	if len(s) > MaxLength {
		return "is longer than 253 characters"
	}
	last := s
	for rest := s; ; {
		label, after, more := strings.Cut(rest, ".")
		switch {
		case label == "":
			return "has an empty label (two dots in a row, or a leading dot)"
		case len(label) > MaxLabel:
			return "has a label longer than 63 characters"
		case label[0] == '-' || label[len(label)-1] == '-':
			return "has a label that begins or ends with a hyphen"
		}
		for i := range len(label) {
			if c := label[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
				return "holds a character that is not a letter, a digit or a hyphen"
			}
		}
		if !more {
			last = label
			break
		}
		rest = after
	}
	if strings.Contains(s, ".") && strings.Trim(last, "0123456789") == "" {
		return "ends in a number, as IP addresses do; no top-level domain does"
	}
	return ""
}

// MustParse is Parse for constants; it panics if Parse fails.
func MustParse(s string) Name {
	n, err := Parse(s)
	if err != nil {
		panic("fqdn: " + err.Error())
	}
	return n
}

// String is the A-label form, lower case, without the root dot.
func (n Name) String() string { return n.ascii }

// IsZero reports whether the name is the zero Name.
func (n Name) IsZero() bool { return n.ascii == "" }

// IDN reports whether the name has an A-label, so that Unicode differs from String.
func (n Name) IDN() bool {
	return strings.HasPrefix(n.ascii, "xn--") || strings.Contains(n.ascii, ".xn--")
}

// Unicode is the form for display; it equals String for a name without A-labels.
func (n Name) Unicode() string {
	if !n.IDN() {
		return n.ascii
	}
	u, err := idna.Punycode.ToUnicode(n.ascii)
	if err != nil {
		return n.ascii
	}
	return u
}

// Label is the leftmost label.
func (n Name) Label() string {
	label, _, _ := strings.Cut(n.ascii, ".")
	return label
}

// Parent is the name without its leftmost label; the zero Name for a single label.
func (n Name) Parent() Name {
	_, rest, _ := strings.Cut(n.ascii, ".")
	return Name{rest}
}

// TLD is the last label.
func (n Name) TLD() string { return n.ascii[strings.LastIndexByte(n.ascii, '.')+1:] }

// Dots is the number of dots: 0 for a single label.
func (n Name) Dots() int { return strings.Count(n.ascii, ".") }

// Under is the name below the suffix: "a" under "co.uk" is "a.co.uk". It refuses a result that is too long.
func (n Name) Under(suffix Name) (Name, error) {
	joined := n.ascii + "." + suffix.ascii
	if reason := flaw(joined); reason != "" {
		return refuse(reason)
	}
	return Name{joined}, nil
}

// MarshalText writes the A-label form.
func (n Name) MarshalText() ([]byte, error) { return []byte(n.ascii), nil }
