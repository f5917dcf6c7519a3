package whois

import (
	"bytes"
	"strings"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/lookup/record"
)

// about says whose reply it is.
type about uint8

const (
	aboutUnsaid about = iota
	aboutName
	aboutOther
)

// A scanner reads a reply line by line into a record. Lines are "label: value", "[label] value", "label<tab>value",
// or bare; a heading opens a section, in which bare lines are values and short labels have their own meaning.
type scanner struct {
	words *labels
	reg   *registry
	name  fqdn.Name
	rec   record.Record
	about about
	state Verdict // what the statuses say: Reserved, Registered, Free; otherwise Unknown

	lines, stateLine int // lines with text so far, and the one of the last status

	in      section
	pending field // what bare lines carry
	indent  int   // of the heading
	filled  bool  // the section has had a line
	deep    bool  // ... and that was indented below its heading
	fresh   bool  // the last line was blank: an object may begin
	person  bool  // the section is about a person
	persons bool  // a section about a person had a line
	resume  bool  // the last line was blank and ended a section of nameservers
	label   []byte
}

func newScanner(reg *registry, name fqdn.Name) *scanner {
	return &scanner{words: vocabulary(), reg: reg, name: name, state: Unknown, fresh: true, label: make([]byte, 0, 96)}
}

// hasData reports whether the reply describes a registration: it names a registrar, a date or a nameserver. A lone
// date of update counts only where the reply names the domain: elsewhere it is that of the registry's database.
func (s *scanner) hasData() bool {
	r := &s.rec
	return r.Registrar.Name != "" || len(r.Nameservers) > 0 || !r.Created.IsZero() || !r.Expires.IsZero() ||
		(!r.Updated.IsZero() && s.about == aboutName)
}

// stated reports whether the reply gives the name a status that a free one does not have. A status that we do not know
// counts unless the reply ends with it: it may be cut short there.
func (s *scanner) stated() bool {
	return len(s.rec.Status) > 0 && s.state != Free && (s.state != Unknown || s.stateLine < s.lines)
}

// delegated reports whether the reply names a registrar or a nameserver.
func (s *scanner) delegated() bool { return s.rec.Registrar.Name != "" || len(s.rec.Nameservers) > 0 }

// owned reports whether the reply names the holder, or says that the holder's name is withheld.
func (s *scanner) owned() bool {
	r := &s.rec.Registrant
	return r.Name != "" || r.Organization != "" || r.Country != "" || len(s.rec.Redacted) > 0
}

// held reports whether the reply speaks of a holder or another contact, or has a status of a registered name. What it
// says beside that may be their own words.
func (s *scanner) held() bool {
	return s.state == Registered || s.persons || s.owned()
}

func (s *scanner) scan(text string) {
	for text != "" {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		s.line(line)
	}
}

func (s *scanner) line(raw string) {
	line := strings.Trim(raw, " \t")
	if line == "" {
		s.blank()
		return
	}
	s.lines++
	if c := line[0]; c == '%' || c == '#' || c == '>' || ruler(line) {
		s.comment(line)
		return
	}
	indent := len(raw) - len(strings.TrimLeft(raw, " \t"))
	if s.filled && s.deep && indent <= s.indent {
		s.leave()
	}
	line = strings.TrimLeft(line, "*")
	label, value, ok := split(line)
	if ok {
		s.label = s.foldLabel(label)
		if len(s.label) > 0 && (s.labelled(value, indent) || s.translated(label, value, indent)) {
			s.fresh = false
			return
		}
	}
	if s.reg.zoneLines && s.zoneLine(line) {
		s.fresh = false
		return
	}
	s.bare(strings.Trim(line, " \t"), indent)
	s.fresh = false
}

// zoneLine takes a line of the name, or its first label, and nameservers or a remark: "example ns1.example.net".
func (s *scanner) zoneLine(line string) bool {
	words := strings.Fields(line)
	if len(words) == 0 || len(words) > 8 || len(words) > 1 && strings.EqualFold(words[1], "match") { // "No match", of no.to
		return false
	}
	label, _, _ := strings.Cut(s.name.String(), ".")
	if !strings.EqualFold(words[0], label) && !strings.EqualFold(words[0], s.name.String()) {
		return false
	}
	s.about, s.state = aboutName, Registered // it is listed, delegated or not
	for _, w := range words[1:] {
		s.putHost(strings.TrimSuffix(w, "."))
	}
	return true
}

// comment opens a section where a comment is a heading, "% Registrar:".
func (s *scanner) comment(line string) {
	if line[len(line)-1] != ':' || len(line) > 40 {
		return
	}
	s.label = s.foldLabel(strings.TrimLeft(line, "%# "))
	if sec, opens := s.words.opens[string(s.label)]; opens {
		s.enter(sec, fieldNone, 0)
	}
}

// labelled takes a line whose folded label is s.label. It reports false if the label means nothing here.
func (s *scanner) labelled(value string, indent int) bool {
	if s.fresh && s.words.keys[string(s.label)] && value != "" {
		s.enter(sectionOther, fieldNone, indent)
		s.filled = true
		return true
	}
	if value == "" || s.reg.headings[string(s.label)] {
		return s.heading(indent)
	}
	f := s.words.find(s.in, s.label)
	if f == fieldNone || f == fieldSkip || s.reg.ignored[string(s.label)] {
		return f != fieldNone
	}
	if f == fieldRegistrar && s.fresh && s.rec.Registrar.Name != "" {
		s.enter(sectionRegistrar, fieldNone, indent) // an object that describes the registrar itself
	}
	s.touch(indent)
	switch {
	case f == fieldNameserver:
		s.pending = f // more may follow on lines of their own
	case f != fieldAddress:
		s.pending = fieldNone
	}
	s.put(f, value)
	return true
}

// translated takes a line whose label has its meaning in a second language, "Titular / Registrant" or "Titular
// (Registrant)", or a remark, "Creation Date (dd/mm/yyyy)".
func (s *scanner) translated(label, value string, indent int) bool {
	if before, after, ok := strings.Cut(label, " / "); ok {
		s.label = s.foldLabel(after)
		if s.labelled(value, indent) {
			return true
		}
		label = before
	}
	before, inside, ok := strings.Cut(label, "(")
	if !ok {
		return false
	}
	inside, _, _ = strings.Cut(inside, ")")
	s.label = s.foldLabel(inside)
	if len(s.label) > 0 && s.labelled(value, indent) {
		return true
	}
	s.label = s.foldLabel(before)
	return len(s.label) > 0 && s.labelled(value, indent)
}

// heading takes a label without a value.
func (s *scanner) heading(indent int) bool {
	sec, opens := s.words.opens[string(s.label)]
	f := s.words.find(s.in, s.label)
	if s.reg.ignored[string(s.label)] {
		return true
	}
	switch {
	case opens && sec == sectionNameservers:
		s.enter(sec, fieldNameserver, indent)
	case opens && sec == sectionRegistrar:
		s.enter(sec, fieldRegistrar, indent)
	case opens && sec == sectionRegistrant:
		s.enter(sec, fieldRegistrantName, indent)
	case opens && sec == sectionDomain:
		s.enter(sec, fieldDomain, indent)
	case opens:
		s.enter(sec, fieldNone, indent)
	case f != fieldNone:
		s.touch(indent)
		s.pending = f
	default:
		s.pending = fieldNone
		return false
	}
	return true
}

// bare takes a line without a known label.
func (s *scanner) bare(line string, indent int) {
	if len(line) <= maxLabel && s.title(line, indent) {
		return
	}
	for _, l := range s.words.leads {
		if len(line) > len(l.text) && line[len(l.text)] <= ' ' && hasPrefixFold(line, l.text) {
			s.put(l.field, strings.Trim(line[len(l.text):], " \t"))
			return
		}
	}
	if s.pending == fieldNone && s.resume && isHostLine(line) {
		s.enter(sectionNameservers, fieldNameserver, indent)
	}
	s.resume = false
	if s.pending == fieldNone {
		if s.in != sectionTop {
			s.touch(indent)
		}
		return
	}
	if s.in == sectionTop && s.pending != fieldNameserver && indent <= s.indent && s.filled {
		s.pending = fieldNone
		return
	}
	s.touch(indent)
	s.put(s.pending, line)
	if s.pending != fieldNameserver {
		s.pending = fieldNone
	}
}

// title takes a line without a colon that is a heading, or a label and its value in two columns.
func (s *scanner) title(line string, indent int) bool {
	if len(line) <= maxHeading && !(s.pending == fieldNameserver && s.filled && s.deep) {
		s.label = s.foldLabel(line)
		if _, opens := s.words.opens[string(s.label)]; opens {
			s.heading(indent)
			return true
		}
	}
	if _, after, ok := strings.Cut(line, " / "); ok && len(after) <= maxHeading {
		s.label = s.foldLabel(after)
		if _, opens := s.words.opens[string(s.label)]; opens {
			s.heading(indent)
			return true
		}
	}
	if gap := strings.IndexByte(line, '\t'); gap > 0 || strings.Contains(line, "   ") {
		if gap <= 0 {
			gap = strings.Index(line, "   ")
		}
		s.label = s.foldLabel(line[:gap])
		if s.words.find(s.in, s.label) != fieldNone && s.labelled(strings.Trim(line[gap:], " \t"), indent) {
			return true
		}
	}
	return false
}

func (s *scanner) enter(in section, pending field, indent int) {
	s.in, s.pending, s.indent, s.filled, s.deep = in, pending, indent, false, false
	s.person = in == sectionRegistrant || in == sectionOther && isPerson(s.label)
	s.resume = false
}

// isPerson reports whether the heading of a section is about a person.
func isPerson(label []byte) bool {
	for _, word := range [...]string{"contact", "person", "admin", "tech", "billing", "nic-h", "onsite", "responsible", "contacto"} {
		if bytes.Contains(label, []byte(word)) {
			return true
		}
	}
	return false
}

// isHostLine reports whether the line is a host name with any addresses behind it.
func isHostLine(line string) bool {
	words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t,()[]", r) })
	for i, w := range words {
		w = strings.TrimSuffix(w, ".")
		if i == 0 {
			n, err := fqdn.Parse(w)
			if err != nil || n.Dots() < 2 {
				return false
			}
		} else if w == "" || !isAddress(w) {
			return false
		}
	}
	return len(words) > 0
}

func (s *scanner) leave() { s.enter(sectionTop, fieldNone, 0) }

// touch notes a line of the section.
func (s *scanner) touch(indent int) {
	if !s.filled {
		s.filled, s.deep = true, indent > s.indent
	}
	s.persons = s.persons || s.person
}

// blank ends a section that has had a line.
func (s *scanner) blank() {
	s.fresh = true
	if s.filled {
		again := s.in == sectionNameservers || s.pending == fieldNameserver
		s.leave()
		s.resume = again
	} else {
		s.resume = false
	}
}

// split parts a line into label and value: "[label] value", "x. [label] value", or at the first colon.
func split(line string) (label, value string, ok bool) {
	if i := strings.IndexByte(line, '['); i >= 0 && i <= 3 {
		if j := strings.IndexByte(line[i:], ']'); j > 0 {
			return line[i+1 : i+j], strings.Trim(line[i+j+1:], " \t"), true
		}
	}
	i := strings.IndexByte(line, ':')
	if j := strings.Index(line, "...."); j > 0 && j < maxHeading && (i < 0 || i < j || strings.Trim(line[j:i], ". ") != "") {
		return line[:j], strings.Trim(line[j:], ". \t"), true // "label.......... value"
	}
	if i <= 0 || i > 160 || strings.HasPrefix(line[i:], "://") {
		return "", "", false
	}
	return line[:i], strings.TrimRight(strings.TrimLeft(line[i+1:], " \t."), " \t"), true
}

// The longest label, up to any remark in brackets, and the longest heading without a colon.
const (
	maxLabel   = 96
	maxHeading = 48
)

// foldLabel brings a label into the form of labels.txt, in s.label's memory.
func (s *scanner) foldLabel(label string) []byte {
	if len(label) > maxLabel {
		label, _, _ = strings.Cut(label, "(")
		if len(label) > maxLabel {
			return s.label[:0]
		}
	}
	b := trimEnd(fold(s.label, label), " .:-_#")
	if short := trimEnd(b, "0123456789"); len(b)-len(short) <= 2 { // "Name Server 1"
		b = trimEnd(short, " .:-_#")
	}
	return b
}

// trimEnd drops the closing bytes of b that are in the set.
func trimEnd(b []byte, set string) []byte {
	for len(b) > 0 && strings.IndexByte(set, b[len(b)-1]) >= 0 {
		b = b[:len(b)-1]
	}
	return b
}

// ruler reports whether the line is only a ruler.
func ruler(line string) bool {
	return strings.Trim(line, "-=*_.~+ \t") == ""
}
