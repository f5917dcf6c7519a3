package whois

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/lookup/record"
)

// put takes the value of a field into the record. The first value of a field wins, except where fields are lists.
func (s *scanner) put(f field, value string) {
	r := &s.rec
	switch f {
	case fieldDomain:
		s.putDomain(value)
	case fieldCreated:
		s.putDate(&r.Created, value)
	case fieldUpdated:
		s.putDate(&r.Updated, value)
	case fieldChanged:
		if t, ok := parseDate(value, s.reg.monthFirst); ok && t.After(r.Updated) {
			r.Updated = t
		}
	case fieldExpires:
		s.putDate(&r.Expires, value)
	case fieldNameserver:
		s.putNameservers(value)
	case fieldAddress:
		if word, _, _ := strings.Cut(value, " "); len(r.Nameservers) > 0 && word != "" && isAddress(word) {
			s.putAddress(len(r.Nameservers)-1, word)
		}
	case fieldRegistrar:
		name, url, id := registrarName(value)
		s.putText(&r.Registrar.Name, "registrar.name", name)
		s.putText(&r.Registrar.URL, "registrar.url", url)
		s.putText(&r.Registrar.IANAID, "registrar.iana_id", id)
	case fieldRegistrarID:
		if strings.Trim(value, "0123456789") == "" {
			s.putText(&r.Registrar.IANAID, "registrar.iana_id", value)
		}
	case fieldRegistrarURL:
		s.putText(&r.Registrar.URL, "registrar.url", value)
	case fieldAbuseEmail:
		s.putText(&r.Registrar.AbuseEmail, "registrar.abuse_email", value)
	case fieldAbusePhone:
		s.putText(&r.Registrar.AbusePhone, "registrar.abuse_phone", value)
	case fieldWhoisServer:
		if r.RegistrarWHOIS == "" {
			r.RegistrarWHOIS = referral(value)
		}
	case fieldStatus:
		s.putStatus(value)
	case fieldDNSSEC:
		if v := signed(value); v != record.SignedUnknown && r.DNSSEC != record.SignedYes {
			r.DNSSEC = v
		}
	case fieldDS:
		if !strings.EqualFold(value, "none") && signed(value) != record.SignedNo {
			r.DNSSEC = record.SignedYes
		}
	case fieldRegistrantName:
		s.putText(&r.Registrant.Name, "registrant.name", value)
	case fieldRegistrantOrg:
		s.putText(&r.Registrant.Organization, "registrant.organization", value)
	case fieldRegistrantCountry:
		s.putCountry(value)
	}
}

func (s *scanner) putText(to *string, name, value string) {
	value = strings.Trim(value, " \t")
	if *to != "" || value == "" {
		return
	}
	if withheld(value) {
		s.redact(name)
		return
	}
	*to = tidy(value)
}

// tidy copies a text with single blanks, within the limit of a field.
func tidy(value string) string {
	if strings.Contains(value, "  ") || strings.IndexByte(value, '\t') >= 0 {
		value = strings.Join(strings.Fields(value), " ")
	}
	return strings.Clone(cut(value, record.MaxField))
}

func (s *scanner) redact(name string) {
	if slices.Contains(s.rec.Redacted, name) {
		return
	}
	s.rec.Redacted = append(s.rec.Redacted, name)
}

func (s *scanner) putDate(to *time.Time, value string) {
	if !to.IsZero() {
		return
	}
	if t, ok := parseDate(value, s.reg.monthFirst); ok {
		*to = t
	}
}

// putDomain notes whose reply this is. A second name does not undo the first: some registries list similar names.
func (s *scanner) putDomain(value string) {
	if s.about == aboutName {
		return
	}
	value, _, _ = strings.Cut(value, " ")
	value = strings.TrimSuffix(strings.Trim(value, "\"'()[]\t"), ".")
	if strings.EqualFold(value, s.name.String()) {
		s.about = aboutName
		return
	}
	n, err := fqdn.Parse(value)
	switch {
	case err != nil:
	case n == s.name:
		s.about = aboutName
	case n.Dots() > 0:
		s.about = aboutOther
	}
}

// putNameservers takes the hosts and addresses of one line; an address belongs to the host before it.
func (s *scanner) putNameservers(value string) {
	if i := strings.Index(value, "\tNS\t"); i > 0 {
		value = value[i+4:] // "example.pt<tab>NS<tab>ns.example.net."
	}
	host := -1
	for value != "" {
		var word string
		if i := strings.IndexAny(value, " \t,;()[]/|"); i >= 0 {
			word, value = value[:i], value[i+1:]
		} else {
			word, value = value, ""
		}
		word = strings.TrimSuffix(word, ".")
		switch {
		case strings.IndexByte(word, '.') < 0 && strings.IndexByte(word, ':') < 0:
		case strings.EqualFold(word, "not.defined"): // .uz, in the place of an address
		case isAddress(word):
			if host >= 0 {
				s.putAddress(host, word)
			}
		default:
			if i := s.putHost(word); i >= 0 {
				host = i
			}
		}
	}
}

// putHost adds a nameserver and returns its index; -1 if the word is no host name or the list is full.
func (s *scanner) putHost(word string) int {
	n, err := fqdn.Parse(word)
	if err != nil || n.Dots() == 0 {
		return -1
	}
	host := n.String()
	for i := range s.rec.Nameservers {
		if s.rec.Nameservers[i].Host == host {
			return i
		}
	}
	if len(s.rec.Nameservers) >= record.MaxNameservers {
		return -1
	}
	s.rec.Nameservers = append(s.rec.Nameservers, record.Nameserver{Host: strings.Clone(host)})
	return len(s.rec.Nameservers) - 1
}

// maxAddresses bounds the glue of one nameserver.
const maxAddresses = 16

func (s *scanner) putAddress(host int, address string) {
	ns := &s.rec.Nameservers[host]
	if slices.Contains(ns.Addresses, address) {
		return
	}
	if len(ns.Addresses) < maxAddresses {
		ns.Addresses = append(ns.Addresses, strings.Clone(address))
	}
}

func isAddress(s string) bool {
	if c := s[len(s)-1]; c != ':' && (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
		return false
	}
	a, err := netip.ParseAddr(s)
	return err == nil && a.Zone() == ""
}

// putCountry stores two-letter codes, and no names of countries.
func (s *scanner) putCountry(value string) {
	code, rest, _ := strings.Cut(strings.TrimSpace(value), " ")
	if len(code) == 2 && (rest == "" || rest[0] == '(') && isLetter(code[0]) && isLetter(code[1]) {
		s.putText(&s.rec.Registrant.Country, "registrant.country", strings.ToUpper(code))
	} else if withheld(value) {
		s.redact("registrant.country")
	}
}

func isLetter(c byte) bool { c |= 0x20; return 'a' <= c && c <= 'z' }

// registrarName parts a registrar's name from what registries put behind it: "[Tag = X]", "[ ID = x ]", the registry's
// own handle, "(R1-LROR)" or "R5-ASIA (292)", and a link in brackets. It returns the link too, and the number in brackets
// that follows a handle, which is IANA's id.
func registrarName(value string) (name, url, id string) {
	value = strings.TrimRight(value, " \t")
	if i := strings.LastIndexByte(value, '['); i > 0 && strings.HasSuffix(value, "]") && strings.Contains(value[i:], "=") {
		value = strings.TrimRight(value[:i], " \t")
	}
	if i := strings.LastIndexByte(value, '('); i > 0 && strings.HasSuffix(value, ")") {
		inside, before := strings.Trim(value[i+1:len(value)-1], " "), strings.TrimRight(value[:i], " \t")
		switch {
		case hasPrefixFold(inside, "http://") || hasPrefixFold(inside, "https://") || hasPrefixFold(inside, "www."):
			value, url = before, inside
		case isHandle(inside):
			value = before
		case inside != "" && strings.Trim(inside, "0123456789") == "":
			if rest, ok := cutHandle(before); ok {
				value, id = rest, inside
			}
		}
	}
	if rest, ok := cutHandle(value); ok {
		value = rest
	}
	switch {
	case value == "-", strings.EqualFold(value, "none"), strings.EqualFold(value, "n/a"), hasPrefixFold(value, "no registrar listed"):
		return "", "", ""
	}
	return value, url, id
}

// cutHandle drops a handle that is the last word.
func cutHandle(value string) (rest string, ok bool) {
	i := strings.LastIndexAny(value, " \t")
	if i <= 0 || !isHandle(value[i+1:]) {
		return value, false
	}
	return strings.TrimRight(value[:i], " \t"), true
}

// isHandle reports whether the word is a registry's handle of a registrar: "R84-AFIN", "R1733-PRO", "1011-LRMS".
func isHandle(word string) bool {
	number, registry, ok := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(word, "R"), "r"), "-")
	if !ok || len(number) == 0 || len(number) > 6 || strings.Trim(number, "0123456789") != "" || len(registry) < 2 || len(registry) > 12 {
		return false
	}
	for i := range len(registry) {
		if c := registry[i]; !isLetter(c) || 'a' <= c && c <= 'z' {
			return false
		}
	}
	return true
}

// referral is the host that a reply points to; empty where it is no host name.
func referral(value string) string {
	value = strings.TrimSpace(value)
	for _, scheme := range []string{"whois://", "rwhois://", "https://", "http://"} {
		if hasPrefixFold(value, scheme) {
			value = value[len(scheme):]
		}
	}
	if i := strings.IndexAny(value, "/:? \t"); i >= 0 {
		value = value[:i]
	}
	n, err := fqdn.Parse(value)
	if err != nil || n.Dots() == 0 {
		return ""
	}
	return strings.Clone(n.String())
}

// signed reads what a registry says about DNSSEC.
func signed(value string) record.Signed {
	for _, no := range [...]string{"unsigned", "no", "inactive", "disabled", "false", "미서명", "0"} {
		if hasPrefixFold(value, no) {
			return record.SignedNo
		}
	}
	for _, yes := range [...]string{"signed", "yes", "active", "enabled", "true", "서명", "1", "y"} {
		if hasPrefixFold(value, yes) {
			return record.SignedYes
		}
	}
	return record.SignedUnknown
}

// withheld reports whether the value replaces one that is not published.
func withheld(value string) bool {
	if len(value) > 200 {
		return false
	}
	var array [200]byte
	v := string(fold(array[:0], value))
	if strings.Trim(v, "*-.x ") == "" {
		return true
	}
	for _, mask := range [...]string{
		"redacted", "not shown", "not disclosed", "hidden", "withheld", "gdpr", "data protected", "statutory masking",
		"non-public data", "not published", "not available from registry", "private person", "undisclosed",
		"personal data", "confidential",
	} {
		if strings.HasPrefix(v, mask) || (strings.Contains(v, mask) && mask != "private person" && mask != "hidden" && mask != "gdpr") {
			return true
		}
	}
	return false
}
