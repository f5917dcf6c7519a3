package rdap

import (
	"slices"
	"strings"

	"github.com/namewharf/namewharf/lookup/record"
)

// role is a set of the roles that matter here (RFC 9083, section 10.2.4).
type role uint8

const (
	registrar role = 1 << iota
	registrant
	abuse
)

func roleOf(s []byte) role {
	switch strings.ToLower(string(s)) {
	case "registrar":
		return registrar
	case "registrant":
		return registrant
	case "abuse":
		return abuse
	}
	return 0
}

// An entity is a contact (RFC 9083, section 5.1) as far as it matters here.
type entity struct {
	roles    role
	seen     bool
	handle   []byte
	card     card
	ianaID   []byte
	url      []byte // from a link
	abuse    card   // of the entity inside that has the role
	redacted bool   // a remark says that parts are left out
}

// A card is a jCard (RFC 7095). Its values share the reply's memory.
type card struct {
	name, org, email, phone, url, country []byte
}

// topEntity reads an entity of the domain and takes the first of each role.
func (d *decoder) topEntity() {
	e := d.entity()
	if e.roles&registrar != 0 && !d.registrar.seen {
		d.registrar = e
		d.registrar.seen = true
	}
	if e.roles&registrant != 0 && !d.registrant.seen {
		d.registrant = e
		d.registrant.seen = true
	}
	if e.roles&abuse != 0 {
		d.abuse = e.card
	}
}

// entity reads one entity. Those over record.MaxEntities are skipped.
func (d *decoder) entity() (e entity) {
	if d.entities++; d.entities > record.MaxEntities {
		d.skip()
		return entity{}
	}
	for key := range d.members {
		switch string(key) {
		case "roles":
			for range d.elements {
				e.roles |= roleOf(d.text())
			}
		case "handle":
			e.handle = d.text()
		case "vcardArray":
			e.card = d.vcard()
		case "publicIds":
			for range d.elements {
				if id := d.ianaID(); len(id) > 0 {
					e.ianaID = id
				}
			}
		case "entities":
			for range d.elements {
				if in := d.entity(); in.roles&abuse != 0 {
					e.abuse = in.card
				}
			}
		case "links":
			for range d.elements {
				if about := d.aboutLink(); len(e.url) == 0 {
					e.url = about
				}
			}
		case "remarks":
			for range d.elements {
				e.redacted = d.redactionRemark() || e.redacted
			}
		default:
			d.skip()
		}
	}
	return e
}

// ianaID returns the identifier of a public id that IANA gave to a registrar.
func (d *decoder) ianaID() []byte {
	var kind, id []byte
	for key := range d.members {
		switch string(key) {
		case "type":
			kind = d.text()
		case "identifier":
			if d.peek() == '"' {
				id = d.str()
			} else { // a number: its digits
				start := d.pos
				d.skip()
				id = d.data[min(start, d.pos):d.pos]
			}
		default:
			d.skip()
		}
	}
	if !strings.Contains(strings.ToUpper(string(kind)), "IANA") || len(id) == 0 || len(id) > 10 {
		return nil
	}
	if !digits(id) {
		return nil
	}
	return id
}

func digits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// aboutLink returns the target of a link to the entity's own site.
func (d *decoder) aboutLink() []byte {
	var rel, href []byte
	for key := range d.members {
		switch string(key) {
		case "rel":
			rel = d.text()
		case "href":
			href = d.text()
		default:
			d.skip()
		}
	}
	if string(rel) != "about" {
		return nil
	}
	return href
}

// redactionRemark reports whether the remark says that parts of the entity are left out (RFC 9083, section 10.2.1;
// the gTLD RDAP Response Profile of 2019 has the words).
func (d *decoder) redactionRemark() bool {
	found := false
	for key := range d.members {
		switch string(key) {
		case "title", "type":
			t := strings.ToLower(string(d.text()))
			found = found || strings.Contains(t, "redacted") || t == "object truncated due to authorization"
		default:
			d.skip()
		}
	}
	return found
}

// vcard reads ["vcard", [property, …]].
func (d *decoder) vcard() (c card) {
	for i := range d.elements {
		if i != 1 {
			d.skip()
			continue
		}
		for range d.elements {
			d.property(&c)
		}
	}
	return c
}

// property reads [name, parameters, type, value, …] (RFC 7095, section 3.3).
func (d *decoder) property(c *card) {
	var name, country []byte
	fax := false
	if d.peek() != '[' {
		d.skip()
		return
	}
	for i := range d.elements {
		switch i {
		case 0:
			name = d.text()
		case 1:
			country, fax = d.parameters()
		case 3:
			d.value(c, name, country, fax)
		default:
			d.skip()
		}
	}
}

// parameters returns the country code of an address (RFC 8605) and whether a number is only for faxes.
func (d *decoder) parameters() (country []byte, fax bool) {
	voice := false
	for key := range d.members {
		switch string(key) {
		case "cc":
			country = d.text()
		case "type":
			for range d.elements {
				switch string(d.text()) {
				case "fax":
					fax = true
				case "voice":
					voice = true
				}
			}
		default:
			d.skip()
		}
	}
	return country, fax && !voice
}

// value takes the property's value; the first of a kind counts.
func (d *decoder) value(c *card, name, country []byte, fax bool) {
	switch string(name) {
	case "fn":
		first(&c.name, d.text())
	case "org":
		for i := range d.elements { // the organization, then its units
			if t := d.text(); i == 0 {
				first(&c.org, t)
			}
		}
	case "email":
		first(&c.email, d.text())
	case "tel":
		if t := d.text(); !fax {
			first(&c.phone, t)
		}
	case "url", "contact-uri":
		first(&c.url, d.text())
	case "adr":
		last := []byte(nil)
		for i := range d.elements { // RFC 6350, section 6.3.1: the country is the seventh component
			if d.peek() == '[' {
				d.skip()
			} else if t := d.text(); i == 6 {
				last = t
			}
		}
		if len(country) == 0 {
			country = last
		}
		first(&c.country, country)
	default:
		d.skip()
	}
}

func first(to *[]byte, b []byte) {
	if len(*to) == 0 {
		*to = b
	}
}

// asRegistrar is the entity seen as a registrar; other is an abuse contact beside it.
func (e entity) asRegistrar(other card) record.Registrar {
	if !e.seen {
		return record.Registrar{}
	}
	at := e.abuse
	if len(at.email) == 0 && len(at.phone) == 0 {
		at = other
	}
	r := record.Registrar{
		Name:       clean(e.card.name),
		IANAID:     string(e.ianaID),
		URL:        clean(e.card.url),
		AbuseEmail: email(at.email),
		AbusePhone: phone(at.phone),
	}
	if r.Name == "" {
		r.Name = clean(e.card.org)
	}
	if r.Name == "" && !digits(e.handle) { // registries without cards name registrars by their handles
		r.Name = clean(e.handle)
	}
	if r.URL == "" {
		r.URL = clean(e.url)
	}
	return r
}

// asRegistrant is the entity seen as a registrant. Fields that hold a placeholder are left blank and named.
func (e entity) asRegistrant(redacted *[]string) record.Contact {
	if !e.seen {
		return record.Contact{}
	}
	c := record.Contact{Name: clean(e.card.name), Organization: clean(e.card.org)}
	if cc := clean(e.card.country); len(cc) == 2 && letters(cc) {
		c.Country = strings.ToUpper(cc)
	} else if withheld(cc) {
		note(redacted, "registrant.country")
	}
	for _, f := range [...]struct {
		field string
		value *string
	}{{"registrant.name", &c.Name}, {"registrant.organization", &c.Organization}} {
		if withheld(*f.value) || *f.value == "" && e.redacted {
			*f.value = ""
			note(redacted, f.field)
		}
	}
	return c
}

func note(list *[]string, field string) {
	if !slices.Contains(*list, field) && len(*list) < record.MaxEntities {
		*list = append(*list, field)
	}
}

func letters(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') })
}

// email returns an e-mail address; empty for a placeholder.
func email(b []byte) string {
	s := strings.TrimPrefix(clean(b), "mailto:")
	if !strings.Contains(s, "@") || strings.Contains(s, " ") {
		return ""
	}
	return s
}

// phone returns a telephone number without its tel: scheme (RFC 3966).
func phone(b []byte) string {
	s := strings.TrimPrefix(clean(b), "tel:")
	if withheld(s) {
		return ""
	}
	return s
}
