package rdap

import (
	"errors"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/namewharf/namewharf/lookup/record"
)

// A scanner reads JSON (RFC 8259) from front to back without building a tree. The first mistake ends it: from then on
// every method does nothing. It is lenient in one thing, control characters inside strings, which registries send
// and [clean] removes.
type scanner struct {
	data  []byte
	pos   int
	depth int
	err   error
}

var (
	errSyntax = errors.New("not valid JSON")
	errDepth  = errors.New("nested too deeply")
)

func (s *scanner) fail(err error) {
	if s.err == nil {
		s.err = err
		s.pos = len(s.data)
	}
}

// peek returns the first byte of the next token; 0 at the end.
func (s *scanner) peek() byte {
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; c {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// take consumes the byte if it is the next token.
func (s *scanner) take(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.pos++
	return true
}

func (s *scanner) enter(open byte) bool {
	if s.depth == record.MaxDepth {
		s.fail(errDepth)
		return false
	}
	if !s.take(open) {
		s.fail(errSyntax)
		return false
	}
	s.depth++
	return true
}

// members yields the name of each member of the object that comes next; the loop body consumes the value and must
// not break. A value of another kind is skipped.
func (s *scanner) members(yield func(key []byte) bool) {
	if s.peek() != '{' {
		s.skip()
		return
	}
	if !s.enter('{') {
		return
	}
	defer func() { s.depth-- }()
	if s.take('}') {
		return
	}
	for s.err == nil {
		if s.peek() != '"' {
			s.fail(errSyntax)
			return
		}
		key := s.str()
		if !s.take(':') {
			s.fail(errSyntax)
			return
		}
		yield(key)
		if s.take('}') {
			return
		}
		if !s.take(',') {
			s.fail(errSyntax)
		}
	}
}

// elements yields the index of each element of the array that comes next; the loop body consumes it and must not
// break. A value that is not an array is taken for an array of one, null for an empty one: some servers write so.
func (s *scanner) elements(yield func(i int) bool) {
	switch s.peek() {
	case '[':
	case 'n':
		s.skip()
		return
	default:
		yield(0)
		return
	}
	if !s.enter('[') {
		return
	}
	defer func() { s.depth-- }()
	if s.take(']') {
		return
	}
	for i := 0; s.err == nil; i++ {
		yield(i)
		if s.take(']') {
			return
		}
		if !s.take(',') {
			s.fail(errSyntax)
		}
	}
}

// text returns the string that comes next; nil, with the value skipped, when it is of another kind.
func (s *scanner) text() []byte {
	if s.peek() != '"' {
		s.skip()
		return nil
	}
	return s.str()
}

// boolean returns the truth value that comes next; known is false when it is of another kind.
// Some servers write it as a string.
func (s *scanner) boolean() (value, known bool) {
	switch s.peek() {
	case 't':
		s.skip()
		return true, true
	case 'f':
		s.skip()
		return false, true
	case '"':
		switch string(s.str()) {
		case "true":
			return true, true
		case "false":
			return false, true
		}
		return false, false
	}
	s.skip()
	return false, false
}

// skip consumes the next value, checking it.
func (s *scanner) skip() {
	switch c := s.peek(); c {
	case '{':
		for range s.members {
			s.skip()
		}
	case '[':
		for range s.elements {
			s.skip()
		}
	case '"':
		s.str()
	case 't':
		s.literal("true")
	case 'f':
		s.literal("false")
	case 'n':
		s.literal("null")
	default:
		s.number()
	}
}

func (s *scanner) literal(word string) {
	if len(s.data)-s.pos < len(word) || string(s.data[s.pos:s.pos+len(word)]) != word {
		s.fail(errSyntax)
		return
	}
	s.pos += len(word)
}

// number consumes a number (RFC 8259, section 6).
func (s *scanner) number() {
	s.accept('-')
	if !s.accept('0') && !s.digits() {
		s.fail(errSyntax)
		return
	}
	if s.accept('.') && !s.digits() {
		s.fail(errSyntax)
		return
	}
	if s.accept('e') || s.accept('E') {
		if !s.accept('+') {
			s.accept('-')
		}
		if !s.digits() {
			s.fail(errSyntax)
		}
	}
}

func (s *scanner) accept(c byte) bool {
	if s.pos < len(s.data) && s.data[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

func (s *scanner) digits() bool {
	start := s.pos
	for s.pos < len(s.data) && '0' <= s.data[s.pos] && s.data[s.pos] <= '9' {
		s.pos++
	}
	return s.pos > start
}

// str consumes a string and returns its value, which shares the reply's memory unless it has escapes.
func (s *scanner) str() []byte {
	s.pos++ // the opening quote
	start := s.pos
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case '"':
			s.pos++
			return s.data[start : s.pos-1]
		case '\\':
			return s.escaped(start)
		}
		s.pos++
	}
	s.fail(errSyntax)
	return nil
}

// escaped goes on with the string that began at start and has a backslash at pos.
func (s *scanner) escaped(start int) []byte {
	out := append(make([]byte, 0, 2*(s.pos-start)+32), s.data[start:s.pos]...)
	for s.pos < len(s.data) {
		c := s.data[s.pos]
		s.pos++
		switch {
		case c == '"':
			return out
		case c != '\\':
			out = append(out, c)
			continue
		case s.pos == len(s.data):
			s.fail(errSyntax)
			return nil
		}
		c = s.data[s.pos]
		s.pos++
		switch c {
		case '"', '\\', '/':
			out = append(out, c)
		case 'b', 'f':
			out = append(out, ' ') // backspace and form feed are of no use
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			out = utf8.AppendRune(out, s.unicode())
		default:
			s.fail(errSyntax)
		}
	}
	s.fail(errSyntax)
	return nil
}

// unicode reads the four digits after \u, and a second escape when they are half of a surrogate pair.
func (s *scanner) unicode() rune {
	r := s.hex4()
	if !utf16.IsSurrogate(r) {
		return r
	}
	if s.pos+1 < len(s.data) && s.data[s.pos] == '\\' && s.data[s.pos+1] == 'u' {
		before := s.pos
		s.pos += 2
		if pair := utf16.DecodeRune(r, s.hex4()); pair != utf8.RuneError {
			return pair
		}
		if s.err == nil {
			s.pos = before
		}
	}
	return utf8.RuneError
}

func (s *scanner) hex4() rune {
	if len(s.data)-s.pos < 4 {
		s.fail(errSyntax)
		return utf8.RuneError
	}
	var r rune
	for _, c := range s.data[s.pos : s.pos+4] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			s.fail(errSyntax)
			return utf8.RuneError
		}
	}
	s.pos += 4
	return r
}

// end reports whether nothing but space is left.
func (s *scanner) end() bool { return s.peek() == 0 && s.pos == len(s.data) }
