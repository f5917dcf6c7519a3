// Package rdap reads what registries and registrars answer about a domain over RDAP (RFC 9083). It makes no requests.
package rdap

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/lookup/record"
)

// Why a reply says nothing about the name that was asked for.
var (
	ErrMalformed = errors.New("the reply is not a well-formed RDAP reply")
	ErrNotDomain = errors.New("the reply is not about a domain")
	ErrOtherName = errors.New("the reply is about another name")
)

// Media types in which RDAP replies come (RFC 7480, section 4.2).
const (
	TypeRDAP = "application/rdap+json"
	TypeJSON = "application/json"
	Accept   = TypeRDAP + ", " + TypeJSON + ";q=0.8"
)

// Decode reads a domain object (RFC 9083, section 5.3) about the name. It fails with [ErrMalformed] for what is not
// JSON, is cut short or nests deeper than record.MaxDepth, with [ErrNotDomain] for another class of object, and with
// [ErrOtherName] when ldhName (unicodeName without it) is another name or absent.
// Values of the wrong kind are taken as absent, long lists are cut at the limits of package record.
func Decode(name fqdn.Name, body []byte) (record.Record, error) {
	d := decoder{scanner: scanner{data: trimBOM(body)}}
	d.domain()
	switch {
	case d.err != nil:
		return record.Record{}, fmt.Errorf("%w: %w", ErrMalformed, d.err)
	case !d.isObject || !d.end():
		return record.Record{}, fmt.Errorf("%w: %w", ErrMalformed, errSyntax)
	case d.class != nil && !strings.EqualFold(string(d.class), "domain") || d.class == nil && d.ldhName == nil:
		return record.Record{}, ErrNotDomain
	case !sameName(name, d.ldhName, d.unicodeName) || d.twoNames:
		return record.Record{}, ErrOtherName
	}
	rec := d.record()
	rec.Domain = name
	rec.Raw = cut(strip(body[:min(len(body), 2*record.MaxRaw)], true), record.MaxRaw)
	return rec, nil
}

func trimBOM(b []byte) []byte {
	if len(b) >= 3 && b[0] == 0xef && b[1] == 0xbb && b[2] == 0xbf {
		return b[3:]
	}
	return b
}

// sameName compares with ldhName; unicodeName decides only where there is no ldhName.
func sameName(name fqdn.Name, ldh, uni []byte) bool {
	got := ldh
	if len(got) == 0 {
		got = uni
	}
	if string(got) == name.String() {
		return true
	}
	n, err := fqdn.Parse(string(got))
	return err == nil && n == name
}

// A Problem is the body of an RDAP error (RFC 9083, section 6).
type Problem struct {
	Code     int    // errorCode; 0: none given
	Title    string // may be empty
	Reserved bool   // title or description say that the name is not to be had
	Doubtful bool   // they say that the answer is about something else than the name, such as its TLD or our rate
}

// DecodeProblem reads the body of an error reply. It fails with [ErrMalformed] for what is not a JSON object.
func DecodeProblem(body []byte) (Problem, error) {
	s := scanner{data: trimBOM(body)}
	if s.peek() != '{' {
		return Problem{}, fmt.Errorf("%w: %w", ErrMalformed, errSyntax)
	}
	var p Problem
	for key := range s.members {
		switch string(key) {
		case "errorCode":
			p.Code = s.integer()
		case "title":
			title := s.text()
			p.Title = clean(title)
			p.judge(title)
		case "description":
			for range s.elements {
				p.judge(s.text())
			}
		default:
			s.skip()
		}
	}
	if s.err == nil && !s.end() {
		s.fail(errSyntax)
	}
	if s.err != nil {
		return Problem{}, fmt.Errorf("%w: %w", ErrMalformed, s.err)
	}
	return p, nil
}

// integer reads a small whole number, also from a string; 0 for anything else.
func (s *scanner) integer() int {
	var digits []byte
	if s.peek() == '"' {
		digits = s.str()
	} else {
		start := s.pos
		s.skip()
		if s.err != nil {
			return 0
		}
		digits = s.data[start:s.pos]
	}
	n := 0
	for _, c := range digits {
		if c < '0' || c > '9' || n > 1e6 {
			return 0
		}
		n = n*10 + int(c-'0')
	}
	return n
}

// What the texts of an error say. A wrong "reserved" or "doubtful" costs a sale, a missed one promises a name that
// cannot be registered.
var (
	innocentWords = strings.NewReplacer("rights reserved", "", "not reserved", "", "or reserved", "")
	reservedWords = []string{
		"reserved", "blocked", "prohibited", "not available for registration", "unavailable for registration",
		"cannot be registered", "can not be registered", "not registrable", "restricted name", "withheld",
	}
	doubtfulWords = []string{
		"not authoritative", "non-authoritative", "not supported", "unsupported", "unknown tld", "tld not found",
		"too many", "rate limit", "limit exceeded", "quota", "denied", "maintenance",
	}
)

// judge reads one text of an error.
func (p *Problem) judge(text []byte) {
	if len(text) == 0 {
		return
	}
	l := innocentWords.Replace(strings.ToLower(string(text[:min(len(text), 4*record.MaxField)])))
	within := func(mark string) bool { return strings.Contains(l, mark) }
	p.Reserved = p.Reserved || slices.ContainsFunc(reservedWords, within)
	p.Doubtful = p.Doubtful || slices.ContainsFunc(doubtfulWords, within)
}

// decoder gathers what record() makes a record of; its byte slices share the reply's memory.
type decoder struct {
	scanner
	isObject             bool
	class                []byte
	ldhName, unicodeName []byte
	twoNames             bool // two ldhName members that differ
	rec                  record.Record
	signed, dsData       bool
	signedKnown          bool
	registrar            entity
	registrant           entity
	abuse                card
	entities             int
	redactions           []string
	reregistered         []byte
	registrarExpiration  []byte
}

func (d *decoder) domain() {
	d.isObject = d.peek() == '{'
	for key := range d.members {
		switch string(key) {
		case "objectClassName":
			d.class = d.text()
		case "ldhName":
			got := d.text()
			d.twoNames = d.twoNames || d.ldhName != nil && string(got) != string(d.ldhName)
			d.ldhName = got
		case "unicodeName":
			d.unicodeName = d.text()
		case "status":
			d.statuses()
		case "events":
			for range d.elements {
				d.event()
			}
		case "nameservers":
			for range d.elements {
				d.nameserver()
			}
		case "secureDNS":
			d.secureDNS()
		case "entities":
			for range d.elements {
				d.topEntity()
			}
		case "links":
			for range d.elements {
				d.link()
			}
		case "redacted":
			for range d.elements {
				d.redaction()
			}
		default:
			d.skip()
		}
	}
}

// record puts together what was gathered, in whatever order it came.
func (d *decoder) record() record.Record {
	rec := d.rec
	if rec.Created.IsZero() {
		rec.Created = date(d.reregistered)
	}
	if rec.Expires.IsZero() {
		rec.Expires = date(d.registrarExpiration)
	}
	switch {
	case d.signedKnown && d.signed, !d.signedKnown && d.dsData:
		rec.DNSSEC = record.SignedYes
	case d.signedKnown:
		rec.DNSSEC = record.SignedNo
	}
	rec.Registrar = d.registrar.asRegistrar(d.abuse)
	rec.Registrant = d.registrant.asRegistrant(&d.redactions)
	d.blankRedacted(&rec)
	rec.Redacted = d.redactions
	return rec
}

func (d *decoder) statuses() {
	for range d.elements {
		s := d.text()
		if len(s) == 0 || len(d.rec.Status) == record.MaxStatus {
			continue
		}
		if code := eppStatus(s); code != "" && !slices.Contains(d.rec.Status, code) {
			d.rec.Status = append(d.rec.Status, code)
		}
	}
}

// event notes the dates of RFC 9083, section 4.5. The first of a kind counts.
func (d *decoder) event() {
	var action, when []byte
	for key := range d.members {
		switch string(key) {
		case "eventAction":
			action = d.text()
		case "eventDate":
			when = d.text()
		default:
			d.skip()
		}
	}
	switch strings.ToLower(string(action)) {
	case "registration":
		if d.rec.Created.IsZero() {
			d.rec.Created = date(when)
		}
	case "last changed":
		if d.rec.Updated.IsZero() {
			d.rec.Updated = date(when)
		}
	case "expiration":
		if d.rec.Expires.IsZero() {
			d.rec.Expires = date(when)
		}
	case "reregistration":
		d.reregistered = when
	case "registrar expiration":
		d.registrarExpiration = when
	}
}

func (d *decoder) nameserver() {
	var ns record.Nameserver
	for key := range d.members {
		switch string(key) {
		case "ldhName":
			if h := host(d.text()); h != "" {
				ns.Host = h
			}
		case "unicodeName":
			if u := d.text(); ns.Host == "" {
				ns.Host = host(u)
			}
		case "ipAddresses":
			for range d.members { // v4 and v6
				for range d.elements {
					if a := address(d.text()); a != "" && len(ns.Addresses) < record.MaxNameservers && !slices.Contains(ns.Addresses, a) {
						ns.Addresses = append(ns.Addresses, a)
					}
				}
			}
		default:
			d.skip()
		}
	}
	if ns.Host == "" || len(d.rec.Nameservers) == record.MaxNameservers {
		return
	}
	if !slices.ContainsFunc(d.rec.Nameservers, func(o record.Nameserver) bool { return o.Host == ns.Host }) {
		d.rec.Nameservers = append(d.rec.Nameservers, ns)
	}
}

func (d *decoder) secureDNS() {
	for key := range d.members {
		switch string(key) {
		case "delegationSigned":
			d.signed, d.signedKnown = d.boolean()
		case "dsData":
			for range d.elements {
				d.skip()
				d.dsData = true
			}
		default:
			d.skip()
		}
	}
}

// link takes the first link to the registrar's answer (gTLD RDAP Response Profile).
func (d *decoder) link() {
	var rel, href, media []byte
	for key := range d.members {
		switch string(key) {
		case "rel":
			rel = d.text()
		case "href":
			href = d.text()
		case "type":
			media = d.text()
		default:
			d.skip()
		}
	}
	if string(rel) != "related" || d.rec.RegistrarRDAP != "" || len(href) == 0 || len(href) > record.MaxField {
		return
	}
	if string(media) != TypeRDAP && string(media) != TypeJSON && !strings.Contains(string(href), "/domain/") {
		return
	}
	u, err := url.Parse(clean(href))
	if err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil {
		d.rec.RegistrarRDAP = u.String()
	}
}
