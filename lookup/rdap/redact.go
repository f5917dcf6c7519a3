package rdap

import (
	"strings"

	"github.com/namewharf/namewharf/lookup/record"
)

// redaction reads one entry of RFC 9537, section 4.2, and notes the field that it withholds.
func (d *decoder) redaction() {
	var field string
	for key := range d.members {
		if string(key) != "name" {
			d.skip()
			continue
		}
		for key := range d.members {
			switch string(key) {
			case "type", "description":
				if t := clean(d.text()); t != "" && field == "" {
					field = fieldName(t)
				}
			default:
				d.skip()
			}
		}
	}
	if field != "" {
		note(&d.redactions, field)
	}
}

// fieldName turns a name of the RDAP JSON Values registry, such as "Registrant Name", into ours: "registrant.name".
func fieldName(registered string) string {
	l := strings.ToLower(registered)
	switch l {
	case "registry domain id":
		return "domain.id"
	case "registry registrant id":
		return "registrant.id"
	case "registry admin id", "registry tech id", "registry billing id":
		return strings.TrimSuffix(strings.TrimPrefix(l, "registry "), " id") + ".id"
	}
	who, what, ok := strings.Cut(l, " ")
	switch who {
	case "registrant", "admin", "administrative", "tech", "technical", "billing", "registrar", "reseller":
		if ok {
			return who + "." + strings.ReplaceAll(strings.TrimSpace(what), " ", "_")
		}
	}
	return cut(l, 100)
}

// blankRedacted empties the fields that are listed as redacted: what they still hold is a replacement
// (RFC 9537, sections 3.2 to 3.4), not the value.
func (d *decoder) blankRedacted(rec *record.Record) {
	for _, field := range d.redactions {
		switch field {
		case "registrant.name":
			rec.Registrant.Name = ""
		case "registrant.organization":
			rec.Registrant.Organization = ""
		case "registrant.country":
			rec.Registrant.Country = ""
		case "registrar.name":
			rec.Registrar.Name = ""
		case "registrar.abuse_contact_email":
			rec.Registrar.AbuseEmail = ""
		case "registrar.abuse_contact_phone":
			rec.Registrar.AbusePhone = ""
		}
	}
}
