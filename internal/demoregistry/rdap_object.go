package demoregistry

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/namewharf/namewharf/fqdn"
)

// conformance is what every answer claims to follow (RFC 9083, section 4.1).
var conformance = []string{"rdap_level_0", "icann_rdap_response_profile_1", "icann_rdap_technical_implementation_guide_1", "redacted"}

// A domainObject is the answer about a domain (RFC 9083, section 5.3).
type domainObject struct {
	Conformance     []string           `json:"rdapConformance"`
	ObjectClassName string             `json:"objectClassName"`
	Handle          string             `json:"handle,omitempty"`
	LDHName         string             `json:"ldhName"`
	UnicodeName     string             `json:"unicodeName,omitempty"`
	Status          []string           `json:"status"`
	Events          []rdapEvent        `json:"events"`
	Entities        []entity           `json:"entities,omitempty"`
	Nameservers     []nameserverObject `json:"nameservers,omitempty"`
	SecureDNS       *secureDNS         `json:"secureDNS,omitempty"`
	Links           []link             `json:"links"`
	Remarks         []notice           `json:"remarks,omitempty"`
	Notices         []notice           `json:"notices"`
	Redacted        []redaction        `json:"redacted,omitempty"`
}

type rdapEvent struct {
	Action string `json:"eventAction"`
	Date   string `json:"eventDate"`
}

type entity struct {
	ObjectClassName string     `json:"objectClassName"`
	Handle          string     `json:"handle,omitempty"`
	Roles           []string   `json:"roles"`
	PublicIDs       []publicID `json:"publicIds,omitempty"`
	VCard           jCard      `json:"vcardArray,omitempty"`
	Entities        []entity   `json:"entities,omitempty"`
	Links           []link     `json:"links,omitempty"`
}

type publicID struct {
	Type       string `json:"type"`
	Identifier string `json:"identifier"`
}

type nameserverObject struct {
	ObjectClassName string       `json:"objectClassName"`
	LDHName         string       `json:"ldhName"`
	IPAddresses     *ipAddresses `json:"ipAddresses,omitempty"`
}

type ipAddresses struct {
	V4 []string `json:"v4,omitempty"`
	V6 []string `json:"v6,omitempty"`
}

type secureDNS struct {
	DelegationSigned bool     `json:"delegationSigned"`
	DSData           []dsData `json:"dsData,omitempty"`
}

type dsData struct {
	KeyTag     int    `json:"keyTag"`
	Algorithm  int    `json:"algorithm"`
	DigestType int    `json:"digestType"`
	Digest     string `json:"digest"`
}

type link struct {
	Value string `json:"value"`
	Rel   string `json:"rel"`
	Href  string `json:"href"`
	Type  string `json:"type,omitempty"`
}

type notice struct {
	Title       string   `json:"title"`
	Description []string `json:"description"`
}

// A redaction names a withheld field (RFC 9537, section 4.2).
type redaction struct {
	Name     map[string]string `json:"name"`
	PrePath  string            `json:"prePath,omitempty"`
	PostPath string            `json:"postPath,omitempty"`
	PathLang string            `json:"pathLang"`
	Method   string            `json:"method"`
	Reason   map[string]string `json:"reason"`
}

// A jCard is a contact (RFC 7095).
type jCard []any

var terms = notice{"Terms of use", []string{"This registry is made up. Its names belong to nobody."}}

// domainObject is the answer of an operator's host about a record. Registries that are thin leave the registrant
// to the registrar.
func (r *Registry) domainObject(rec record, self string, op *operator) domainObject {
	d := domainObject{
		Conformance:     conformance,
		ObjectClassName: "domain",
		LDHName:         rec.Name,
		Events:          []rdapEvent{{"last update of RDAP database", stamp(r.cfg.Now())}},
		Links:           []link{{Value: self, Rel: "self", Href: self, Type: rdapType}},
		Notices:         []notice{terms},
	}
	if n := fqdn.MustParse(rec.Name); n.IDN() {
		d.UnicodeName = n.Unicode()
	}
	if rec.State == reserved {
		d.Status = []string{"reserved"}
		d.Remarks = []notice{{"Reserved", []string{"This name is reserved by the registry and cannot be registered."}}}
		return d
	}
	d.Handle = rec.Handle
	for _, code := range rec.Status {
		d.Status = append(d.Status, rdapStatus(code))
	}
	d.Events = append(d.Events,
		rdapEvent{"registration", stamp(rec.Created)},
		rdapEvent{"last changed", stamp(rec.Updated)},
		rdapEvent{"expiration", stamp(rec.Expires)})
	d.Entities = []entity{registrarEntity(rec.Registrar)}
	d.Nameservers = nameserverObjects(rec.Nameservers)
	d.SecureDNS = &secureDNS{DelegationSigned: rec.Signed}
	if rec.Signed {
		d.SecureDNS.DSData = []dsData{{draw(rec.Name, "tag", 1<<16), 13, 2, digest(rec.Name)}}
	}
	if op.thin {
		d.Links = append(d.Links, link{Value: self, Rel: "related", Href: r.rdap[registrarName] + "domain/" + rec.Name, Type: rdapType})
		return d
	}
	d.Entities = append(d.Entities, registrantEntity(rec))
	if rec.Redacted() {
		d.Redacted = redactions
	}
	return d
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// digest is a plausible SHA-256 digest of a key.
func digest(name string) string {
	var b strings.Builder
	for i := range 32 {
		fmt.Fprintf(&b, "%02X", draw(name, fmt.Sprint("digest", i), 256))
	}
	return b.String()
}

// rdapStatus is the RDAP spelling of an EPP status code (RFC 8056): "client hold" for clientHold, "active" for ok.
func rdapStatus(code string) string {
	if code == "ok" {
		return "active"
	}
	var b strings.Builder
	for _, c := range code {
		if unicode.IsUpper(c) {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

func nameserverObjects(servers []nameserver) []nameserverObject {
	var all []nameserverObject
	for _, ns := range servers {
		o := nameserverObject{ObjectClassName: "nameserver", LDHName: ns.Host}
		for _, a := range ns.Addresses {
			if o.IPAddresses == nil {
				o.IPAddresses = &ipAddresses{}
			}
			if strings.Contains(a, ":") {
				o.IPAddresses.V6 = append(o.IPAddresses.V6, a)
			} else {
				o.IPAddresses.V4 = append(o.IPAddresses.V4, a)
			}
		}
		all = append(all, o)
	}
	return all
}

func registrarEntity(by registrar) entity {
	return entity{
		ObjectClassName: "entity",
		Handle:          by.IANAID,
		Roles:           []string{"registrar"},
		PublicIDs:       []publicID{{"IANA Registrar ID", by.IANAID}},
		VCard:           vcard(text("fn", by.Name), property("url", nil, "uri", by.URL)),
		Links:           []link{{Value: by.URL, Rel: "about", Href: by.URL, Type: "text/html"}},
		Entities: []entity{{
			ObjectClassName: "entity",
			Roles:           []string{"abuse"},
			VCard: vcard(text("fn", "Abuse contact"), text("email", by.AbuseEmail),
				property("tel", map[string]string{"type": "voice"}, "uri", "tel:"+by.AbusePhone)),
		}},
	}
}

func registrantEntity(rec record) entity {
	e := entity{ObjectClassName: "entity", Handle: "C" + rec.Handle[1:], Roles: []string{"registrant"}}
	who := rec.Registrant
	cc := map[string]string{"cc": who.Country} // RFC 8605, section 3.1
	if rec.Redacted() {
		e.VCard = vcard(text("fn", ""), property("adr", cc, "text", []any{"", "", "", "", "", "", ""}))
		return e
	}
	e.VCard = vcard(text("fn", who.Name), text("org", who.Organization),
		property("adr", cc, "text", []any{"", "", who.Street, who.City, "", who.PostalCode, ""}),
		property("tel", map[string]string{"type": "voice"}, "uri", "tel:"+who.Phone),
		text("email", who.Email))
	return e
}

func vcard(properties ...[]any) jCard {
	all := []any{text("version", "4.0")}
	for _, p := range properties {
		all = append(all, p)
	}
	return jCard{"vcard", all}
}

func text(name, value string) []any { return property(name, nil, "text", value) }

func property(name string, params map[string]string, kind string, value any) []any {
	if params == nil {
		params = map[string]string{}
	}
	return []any{name, params, kind, value}
}

// redactions say what a redacted registrant's entity leaves out.
var redactions = func() []redaction {
	const registrant = "$.entities[?(@.roles[0]=='registrant')]"
	field := func(property string) string { return registrant + ".vcardArray[1][?(@[0]=='" + property + "')]" }
	withheld := func(name, method, pre, post string) redaction {
		return redaction{map[string]string{"type": name}, pre, post, "jsonpath", method, map[string]string{"description": "Server policy"}}
	}
	return []redaction{
		withheld("Registrant Name", "emptyValue", "", field("fn")+"[3]"),
		withheld("Registrant Organization", "removal", field("org"), ""),
		withheld("Registrant Street", "emptyValue", "", field("adr")+"[3][2]"),
		withheld("Registrant City", "emptyValue", "", field("adr")+"[3][3]"),
		withheld("Registrant Postal Code", "emptyValue", "", field("adr")+"[3][5]"),
		withheld("Registrant Phone", "removal", field("tel"), ""),
		withheld("Registrant Email", "removal", field("email"), ""),
	}
}()
