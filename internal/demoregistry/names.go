package demoregistry

import (
	"hash/fnv"
	"strings"
	"time"
)

// A state is what the registry knows of a name. A free name has none.
type state int

const (
	registered    state = iota + 1
	redacted            // registered, the registrant is withheld
	redemption          // deleted, can still be restored (RFC 3915, redemptionPeriod)
	pendingDelete       // about to be free (RFC 5731, pendingDelete)
	reserved            // held back by the registry
	undelegated         // registered without name servers: the names of faults
)

// labels are in the given state under every suffix.
var labels = map[string]state{
	"cobaltpine":     registered,
	"emberlane":      redacted,
	"oldharbor":      redemption,
	"fadingstar":     pendingDelete,
	"registry":       reserved,
	"xn--bcher-kva":  registered, // bücher
	"xn--mnchen-3ya": redacted,   // münchen
}

var (
	firsts = strings.Fields("amber birch bold brew bright cedar clear cloud copper coral crisp dawn drift ember fern " +
		"field fox frost golden harbor hazel indigo ivory juniper kind linden lunar maple mint north oak ocean olive")
	seconds = strings.Fields("barn bay bloom brook cove craft dale den field forge gate grove haven hill house kit lab " +
		"lane lark leaf mill nest path peak pine port press ridge stone studio vale works yard")
)

// share is how many in a hundred labels are registered under one suffix.
const share = 20

// fixedNames is the state of every name that is not free, but for those of faults.
func fixedNames() map[string]state {
	names := make(map[string]state, 6000)
	for suffix, op := range operatorOf {
		for label, s := range labels {
			names[label+"."+suffix] = s
		}
		if op.faults {
			continue
		}
		if suffix == "test" || suffix == "example" {
			names["brewhaven."+suffix] = registered
			continue
		}
		for _, a := range firsts {
			for _, b := range seconds {
				name := a + b + "." + suffix
				if draw(name, "taken", 100) < share {
					names[name] = fate(draw(name, "state", 100))
				}
			}
		}
	}
	names["brewhaven.com"] = registered
	return names
}

// fate is the state of a name that drew n out of a hundred.
func fate(n int) state {
	switch {
	case n < 55:
		return registered
	case n < 90:
		return redacted
	case n < 94:
		return redemption
	case n < 97:
		return pendingDelete
	}
	return reserved
}

// draw is a number below n that is always the same for a name and a purpose.
func draw(name, purpose string, n int) int {
	h := fnv.New64a()
	h.Write([]byte(name + " " + purpose))
	sum := h.Sum64()
	sum ^= sum >> 32 // the low bits of FNV alone are too alike for like names
	return int(sum % uint64(n))
}

// A record is all that is known of a name that is not free.
type record struct {
	Name        string // A-label form
	Suffix      string
	State       state
	Handle      string
	Registrar   registrar
	Registrant  registrant
	Created     time.Time
	Updated     time.Time
	Expires     time.Time
	Status      []string // EPP spelling
	Nameservers []nameserver
	Signed      bool
}

type registrar struct{ Name, IANAID, URL, AbuseEmail, AbusePhone string }

type registrant struct{ Name, Organization, Street, City, PostalCode, Country, Phone, Email string }

type nameserver struct {
	Host      string
	Addresses []string // glue, for a host inside the domain
}

// Redacted reports whether the registrant is withheld.
func (rec record) Redacted() bool { return rec.State == redacted }

// stateOf is the state of a name in canonical form; 0 for a free name.
func (r *Registry) stateOf(name string) state {
	if _, ok := namedFault(name); ok {
		return undelegated
	}
	return r.names[name]
}

// record looks a name up; ok is false for a free name.
func (r *Registry) record(name string) (rec record, ok bool) {
	s := r.stateOf(name)
	if s == 0 {
		return record{}, false
	}
	return r.compose(name, s), true
}

// compose writes the record of a name in a state. It depends on the name and the epoch alone.
func (r *Registry) compose(name string, s state) record {
	rec := record{
		Name:       name,
		Suffix:     suffixOf(name),
		State:      s,
		Handle:     handle(name),
		Registrar:  registrars[draw(name, "registrar", len(registrars))],
		Registrant: registrants[draw(name, "registrant", len(registrants))],
		Signed:     draw(name, "signed", 4) == 0,
	}
	const day = 24 * time.Hour
	second := time.Duration(draw(name, "second", 86400)) * time.Second
	rec.Expires = r.epoch.AddDate(0, 0, 20+draw(name, "expires", 1400)).Add(second)
	rec.Updated = r.epoch.Add(-time.Duration(2+draw(name, "updated", 300))*day + second)
	rec.Status = locks[draw(name, "status", len(locks))]
	rec.Nameservers = delegation(name, rec.Registrar)
	switch s {
	case redemption:
		rec.Expires, rec.Updated = r.epoch.Add(-45*day+second), r.epoch.Add(-10*day+second)
		rec.Status, rec.Nameservers, rec.Signed = []string{"redemptionPeriod"}, nil, false
	case pendingDelete:
		rec.Expires, rec.Updated = r.epoch.Add(-75*day+second), r.epoch.Add(-2*day+second)
		rec.Status, rec.Nameservers, rec.Signed = []string{"pendingDelete"}, nil, false
	case reserved:
		rec.Status, rec.Nameservers, rec.Signed = nil, nil, false
	case undelegated:
		rec.Status, rec.Nameservers, rec.Signed = []string{"inactive"}, nil, false
	}
	rec.Created = rec.Expires.AddDate(-5-draw(name, "years", 18), 0, 0)
	return rec
}

// locks are the usual sets of status codes of a name in use.
var locks = [][]string{
	{"clientTransferProhibited"},
	{"clientDeleteProhibited", "clientTransferProhibited", "clientUpdateProhibited"},
	{"ok"},
}

// handle is the registry's own identifier of the name.
func handle(name string) string {
	const digits = "0123456789ABCDEFGHJKLMNPQRSTUVWXYZ"
	id := make([]byte, 10)
	for i := range id {
		id[i] = digits[draw(name, "handle"+string(digits[i]), len(digits))]
	}
	return "D" + string(id) + "-DEMO"
}

// delegation is the name servers of a name: mostly its registrar's, for some hosts inside the domain with glue.
func delegation(name string, by registrar) []nameserver {
	if draw(name, "nameservers", 5) == 0 {
		return []nameserver{
			{"ns1." + name, []string{"192.0.2.53", "2001:db8::53"}},
			{"ns2." + name, []string{"198.51.100.53"}},
		}
	}
	zone := strings.TrimPrefix(by.URL, "https://www.")
	return []nameserver{{Host: "ns1." + zone}, {Host: "ns2." + zone}}
}

var registrars = []registrar{
	{"Northgate Names Inc.", "9901", "https://www.northgate.example", "abuse@northgate.example", "+1.2025550143"},
	{"Kiln & Anchor Domains LLC", "9902", "https://www.kilnanchor.example", "abuse@kilnanchor.example", "+1.2025550167"},
	{"Vogelweide Registrar GmbH", "9903", "https://www.vogelweide.example", "abuse@vogelweide.example", "+49.3055501234"},
	{"Tidewater Registry Services Ltd", "9904", "https://www.tidewater.example", "abuse@tidewater.example", "+44.2079460812"},
}

var registrants = []registrant{
	{"Ida Lindqvist", "Fjord and Pine AB", "Hamngatan 4", "Stockholm", "111 47", "SE", "+46.855501234", "ida@fjordpine.example"},
	{"Marcus Okafor", "Okafor Roasters Ltd", "18 Quay Street", "Bristol", "BS1 4DJ", "GB", "+44.1174960123", "marcus@okafor.example"},
	{"Jun Takeda", "Takeda Ceramics KK", "2-7 Ebisu", "Tokyo", "150-0013", "JP", "+81.355501234", "jun@takeda.example"},
	{"Lena Brandt", "Brandt Verlag GmbH", "Torstrasse 20", "Berlin", "10119", "DE", "+49.3055505678", "lena@brandt.example"},
	{"Rosa Medina", "Medina Cycles SAS", "Carrera 7 12-40", "Bogota", "110311", "CO", "+57.6015550123", "rosa@medina.example"},
	{"Ada Whitfield", "Whitfield Labs Inc.", "500 Congress Ave", "Austin", "78701", "US", "+1.5125550119", "ada@whitfield.example"},
}
