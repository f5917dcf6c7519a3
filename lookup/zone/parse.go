package zone

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/namewharf/namewharf/fqdn"
)

// A reader reads the delegated names of one suffix from a master file (RFC 1035, section 5, as the CZDS gives them), or
// from a list of one name a line.
type reader struct {
	in      *bufio.Reader
	suffix  []byte // "com"
	dotted  []byte // ".com"
	emit    func(label []byte) error
	line    int
	bad     int // lines that are neither records nor names
	names   int // emitted, with repetitions
	serial  uint32
	origin  []byte // of relative names, without the last dot
	owner   []byte // of the record before, without the last dot
	taken   bool   // its delegation was emitted
	label   []byte // of owner, where it is one label under the suffix
	depth   int    // of parentheses
	soa     []string
	listing bool
}

// maxLine is more than a record of a zone of delegations has.
const maxLine = 64 << 10

// errors of files that are not what they should be.
var (
	errShort    = errors.New("the file is cut short")
	errLongLine = fmt.Errorf("a line is longer than %d bytes", maxLine)
)

// unpack unpacks the text if it is packed.
func unpack(in io.Reader) (*bufio.Reader, error) {
	b := bufio.NewReaderSize(in, 1<<20)
	head, err := b.Peek(2)
	if len(head) < 2 || head[0] != 0x1f || head[1] != 0x8b {
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		return b, nil
	}
	z, err := gzip.NewReader(b)
	if err != nil {
		return nil, fmt.Errorf("the file is not gzip: %w", err)
	}
	return bufio.NewReaderSize(z, 1<<20), nil
}

// readNames calls emit for the label of each name that is delegated, more than once for some.
func readNames(in io.Reader, suffix string, emit func(label []byte) error) (*reader, error) {
	b, err := unpack(in)
	if err != nil {
		return nil, err
	}
	r := &reader{in: b, suffix: []byte(suffix), dotted: []byte("." + suffix), origin: []byte(suffix), emit: emit}
	if head, _ := b.Peek(len(magic)); sniff(head) {
		return nil, errors.New("the file is a zone index already; copy it into the directory of the indexes")
	}
	if err := r.sniff(); err != nil {
		return nil, err
	}
	if err := r.lines(); err != nil {
		return nil, err
	}
	return r, r.judge()
}

// sniff decides whether the file is a list: its first line with text is then one word.
func (r *reader) sniff() error {
	head, err := r.in.Peek(64 << 10)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return readError(err)
	}
	for line := range bytes.Lines(head) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == ';' || line[0] == '#' {
			continue
		}
		r.listing = line[0] != '$' && len(bytes.Fields(line)) == 1
		return nil
	}
	return nil
}

func (r *reader) lines() error {
	for {
		line, err := r.in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) || len(line) > maxLine {
			return fmt.Errorf("line %d: %w", r.line+1, errLongLine)
		}
		if len(line) > 0 {
			r.line++
			if err := r.take(line); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return readError(err)
		}
	}
}

// readError says what a failure to read means.
func readError(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: its gzip stream ends in the middle", errShort)
	}
	if errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) {
		return fmt.Errorf("the file is corrupt: %w", err)
	}
	return fmt.Errorf("the file cannot be read: %w", err)
}

// judge refuses what is no zone.
func (r *reader) judge() error {
	switch {
	case r.depth > 0:
		return fmt.Errorf("%w: a record is not closed", errShort)
	case r.bad > r.line/100:
		what := "records"
		if r.listing {
			what = "names of ." + string(r.suffix)
		}
		return fmt.Errorf("%d of %d lines are no %s", r.bad, r.line, what)
	case r.names == 0:
		return fmt.Errorf("the file delegates no name of .%s", r.suffix)
	}
	return nil
}

func (r *reader) take(line []byte) error {
	if r.listing {
		return r.listed(bytes.TrimSpace(line))
	}
	if r.depth == 0 && line[0] != ' ' && line[0] != '\t' {
		end := bytes.IndexAny(line, " \t\r\n;")
		if end > 0 && r.taken && bytes.Equal(line[:end], r.owner) {
			return nil // another record of a name that is delegated
		}
		switch {
		case end < 0:
			r.bad++
			return nil
		case line[0] == '$':
			return r.directive(string(line))
		case end > 0:
			r.own(line[:end])
			line = line[end:]
		}
	}
	if r.depth > 0 || bytes.IndexByte(line, '(') >= 0 {
		return r.long(line)
	}
	return r.record(line)
}

// own notes the owner of the records that follow; owner is as it is written, so that the next line can be compared.
func (r *reader) own(owner []byte) {
	r.owner = append(r.owner[:0], owner...)
	r.taken, r.label = false, r.label[:0]
	if bytes.IndexByte(owner, '\\') >= 0 {
		return // no name of a host
	}
	name := owner
	switch {
	case len(name) == 1 && name[0] == '@':
		name = r.origin
	case name[len(name)-1] == '.':
		name = name[:len(name)-1]
	default:
		r.label = append(append(append(r.label, name...), '.'), r.origin...)
		name = r.label
	}
	r.setLabel(name)
}

// setLabel takes the label of a name that is one label under the suffix, in lower case.
func (r *reader) setLabel(name []byte) {
	cut := len(name) - len(r.dotted)
	if cut <= 0 || !bytes.EqualFold(name[cut:], r.dotted) || bytes.IndexByte(name[:cut], '.') >= 0 {
		r.label = r.label[:0]
		return
	}
	label := append(r.label[:0], name[:cut]...)
	for i, c := range label {
		switch {
		case 'A' <= c && c <= 'Z':
			label[i] = c + 'a' - 'A'
		case c <= ' ' || c >= 0x7f: // no name of a host
			r.label = r.label[:0]
			return
		}
	}
	r.label = label
}

// record takes what is behind the owner: a time to live and a class in either order, a type, data.
func (r *reader) record(rest []byte) error {
	for range 3 {
		var word []byte
		if word, rest = next(rest); word == nil {
			return nil // a blank line, a comment
		}
		switch {
		case word[0] >= '0' && word[0] <= '9', isClass(word):
			continue
		case len(word) == 2 && word[0]|0x20 == 'n' && word[1]|0x20 == 's':
			return r.delegated()
		case len(word) == 3 && bytes.EqualFold(word, []byte("SOA")):
			return r.start(strings.Fields(string(rest)))
		case !isType(word):
			r.bad++
		}
		return nil
	}
	r.bad++
	return nil
}

// delegated emits the owner once.
func (r *reader) delegated() error {
	if len(r.label) == 0 || r.taken {
		return nil
	}
	r.taken = true
	r.names++
	return r.emit(r.label)
}

// long takes a record that goes over several lines: only that at the start of the zone counts, for its serial.
func (r *reader) long(line []byte) error {
	quoted := false
	clean := make([]byte, 0, len(line))
scan:
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == ';':
			break scan
		case c == '(':
			r.depth++
			c = ' '
		case c == ')':
			if r.depth--; r.depth < 0 {
				return fmt.Errorf("line %d: a parenthesis is closed that was not opened", r.line)
			}
			c = ' '
		}
		clean = append(clean, c)
	}
	r.soa = append(r.soa, strings.Fields(string(clean))...)
	if len(r.soa) > 64 {
		r.soa = r.soa[:64]
	}
	if r.depth > 0 {
		return nil
	}
	words := r.soa
	r.soa = nil
	return r.record([]byte(" " + strings.Join(words, " ")))
}

// start takes the data of the SOA record: the serial is its third word.
func (r *reader) start(data []string) error {
	owner := strings.ToLower(strings.TrimSuffix(string(r.owner), "."))
	if owner != string(r.suffix) && owner != "@" {
		return fmt.Errorf("the file is the zone of %q, not of .%s", cutTo(owner, 64), r.suffix)
	}
	if owner == "@" && !bytes.EqualFold(r.origin, r.suffix) {
		return fmt.Errorf("the file is the zone of %q, not of .%s", cutTo(string(r.origin), 64), r.suffix)
	}
	if len(data) > 2 && r.serial == 0 {
		if n, err := strconv.ParseUint(data[2], 10, 32); err == nil {
			r.serial = uint32(n)
		}
	}
	return nil
}

func (r *reader) directive(line string) error {
	words := strings.Fields(line)
	switch strings.ToUpper(words[0]) {
	case "$TTL":
	case "$ORIGIN":
		if len(words) < 2 {
			r.bad++
			return nil
		}
		r.origin = []byte(strings.TrimSuffix(words[1], "."))
	default:
		return fmt.Errorf("line %d: %s is not understood", r.line, cutTo(words[0], 16))
	}
	return nil
}

// listed takes a line of a list.
func (r *reader) listed(name []byte) error {
	if len(name) == 0 || name[0] == '#' || name[0] == ';' {
		return nil
	}
	name = bytes.TrimSuffix(name, []byte("."))
	ascii := true
	for _, c := range name {
		ascii = ascii && c < 0x80 && c > ' '
	}
	if !ascii {
		n, err := fqdn.Parse(string(name))
		if err != nil {
			r.bad++
			return nil
		}
		name = []byte(n.String())
	}
	if bytes.IndexByte(name, '.') < 0 && !bytes.EqualFold(name, r.suffix) {
		name = append(append(make([]byte, 0, len(name)+len(r.dotted)), name...), r.dotted...)
	}
	r.taken = false
	if r.setLabel(name); len(r.label) == 0 {
		r.bad++
		return nil
	}
	return r.delegated()
}

// next is the first word of the text and what follows it; nil at its end or at a comment.
func next(text []byte) (word, rest []byte) {
	i := 0
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\r' || text[i] == '\n') {
		i++
	}
	if i == len(text) || text[i] == ';' {
		return nil, nil
	}
	end := i
	for end < len(text) && text[end] != ' ' && text[end] != '\t' && text[end] != '\r' && text[end] != '\n' {
		end++
	}
	return text[i:end], text[end:]
}

func isClass(word []byte) bool {
	return len(word) == 2 && (bytes.EqualFold(word, []byte("IN")) || bytes.EqualFold(word, []byte("CH")) || bytes.EqualFold(word, []byte("HS")))
}

// isType reports whether the word can be the type of a record.
func isType(word []byte) bool {
	if len(word) > 10 {
		return false
	}
	for _, c := range word {
		if c|0x20 < 'a' || c|0x20 > 'z' {
			if c < '0' || c > '9' {
				return false
			}
		}
	}
	return true
}

func cutTo(s string, n int) string { return s[:min(len(s), n)] }

// dateOf is the date of a zone by its serial: YYYYMMDDnn, or seconds of Unix time as Verisign writes it. Other serials are counters.
// Dates before 1995 and more than two days ahead are none.
func dateOf(serial uint32, now time.Time) (time.Time, bool) {
	latest := now.Add(48 * time.Hour)
	if s := strconv.FormatUint(uint64(serial), 10); len(s) == 10 {
		if d, err := time.Parse("20060102", s[:8]); err == nil && d.Year() >= 1995 && d.Before(latest) {
			return d, true
		}
	}
	if d := time.Unix(int64(serial), 0).UTC(); d.Year() >= 2005 && d.Before(latest) {
		return d, true
	}
	return time.Time{}, false
}
