package signature

import (
	"net/url"
	"strings"
	"testing"
)

// encodeByRule is the rule of the contract, byte by byte.
func encodeByRule(s string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '.', c == '_', c == '~':
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
	}
	return b.String()
}

// decodeByRule is the rule of the contract, byte by byte; false for a broken escape.
func decodeByRule(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '+':
			b.WriteByte(' ')
		case '%':
			if i+2 >= len(s) {
				return "", false
			}
			high, low := hexDigit(s[i+1]), hexDigit(s[i+2])
			if high < 0 || low < 0 {
				return "", false
			}
			b.WriteByte(byte(high<<4 | low))
			i += 2
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), true
}

func hexDigit(c byte) int {
	at := strings.IndexByte("0123456789abcdefABCDEF", c)
	if at > 15 {
		at -= 6
	}
	return at
}

func compareWithRule(t *testing.T, s string) {
	t.Helper()
	if got, want := encode(s), encodeByRule(s); got != want {
		t.Errorf("encode(%q) = %q, want %q", s, got, want)
	}
	got, err := url.QueryUnescape(s)
	if want, ok := decodeByRule(s); got != want || (err == nil) != ok {
		t.Errorf("url.QueryUnescape(%q) = %q, %v, want %q, %t", s, got, err, want, ok)
	}
}

// What net/url does is the rule of the contract: for all strings of up to two bytes, and all escapes.
func TestEncodingIsTheContracts(t *testing.T) {
	t.Parallel()
	compareWithRule(t, "")
	for a := range 256 {
		compareWithRule(t, string([]byte{byte(a)}))
		for b := range 256 {
			compareWithRule(t, string([]byte{byte(a), byte(b)}))
			compareWithRule(t, string([]byte{'%', byte(a), byte(b)}))
		}
	}
}

func FuzzEncodingIsTheContracts(f *testing.F) {
	for _, seed := range []string{"a b+c%20", "%zz", "%2", "ä;\x00~", "%%41"} {
		f.Add(seed)
	}
	f.Fuzz(compareWithRule)
}
