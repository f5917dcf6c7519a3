package lookup

import (
	"slices"
	"time"

	"github.com/namewharf/namewharf/lookup/record"
)

// fill takes from the registrar's record what the registry's leaves blank, and reports whether that was anything.
// A field that is filled is no longer listed as redacted; what the registrar withholds is.
func fill(rec *record.Record, from record.Record) bool {
	filled := false
	text := func(to *string, v, field string) {
		if *to == "" && v != "" {
			*to, filled = v, true
			rec.Redacted = slices.DeleteFunc(slices.Clone(rec.Redacted), func(f string) bool { return f == field })
		}
	}
	text(&rec.Registrar.Name, from.Registrar.Name, "registrar.name")
	text(&rec.Registrar.IANAID, from.Registrar.IANAID, "registrar.iana_id")
	text(&rec.Registrar.URL, from.Registrar.URL, "registrar.url")
	text(&rec.Registrar.AbuseEmail, from.Registrar.AbuseEmail, "registrar.abuse_contact_email")
	text(&rec.Registrar.AbusePhone, from.Registrar.AbusePhone, "registrar.abuse_contact_phone")
	text(&rec.Registrant.Name, from.Registrant.Name, "registrant.name")
	text(&rec.Registrant.Organization, from.Registrant.Organization, "registrant.organization")
	text(&rec.Registrant.Country, from.Registrant.Country, "registrant.country")
	text(&rec.RegistrarWHOIS, from.RegistrarWHOIS, "")

	date := func(to *time.Time, v time.Time) {
		if to.IsZero() && !v.IsZero() {
			*to, filled = v, true
		}
	}
	date(&rec.Created, from.Created)
	date(&rec.Updated, from.Updated)
	date(&rec.Expires, from.Expires)

	if len(rec.Status) == 0 && len(from.Status) > 0 {
		rec.Status, filled = from.Status, true
	}
	if len(rec.Nameservers) == 0 && len(from.Nameservers) > 0 {
		rec.Nameservers, filled = from.Nameservers, true
	}
	if rec.DNSSEC == record.SignedUnknown && from.DNSSEC != record.SignedUnknown {
		rec.DNSSEC, filled = from.DNSSEC, true
	}
	for _, field := range from.Redacted {
		if !slices.Contains(rec.Redacted, field) && !published(rec, field) {
			rec.Redacted = append(slices.Clip(rec.Redacted), field)
		}
	}
	return filled
}

// published reports whether the record holds the field after all.
func published(rec *record.Record, field string) bool {
	switch field {
	case "registrant.name":
		return rec.Registrant.Name != ""
	case "registrant.organization":
		return rec.Registrant.Organization != ""
	case "registrant.country":
		return rec.Registrant.Country != ""
	}
	return false
}
