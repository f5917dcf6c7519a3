// Package record is what registries and registrars publish about one domain, in one normal form.
package record

import (
	"time"

	"github.com/namewharf/namewharf/fqdn"
)

// A Record is the published registration data of one domain. What is not known is the zero value; what the
// publisher withholds is the zero value and named in Redacted. Every text is UTF-8 without control (C0, C1) and
// bidirectional formatting characters and at most [MaxField] bytes.
type Record struct {
	Domain      fqdn.Name // the name that the reply is about
	Registrar   Registrar
	Registrant  Contact
	Created     time.Time // UTC
	Updated     time.Time // UTC; of the registration, not of the publisher's database
	Expires     time.Time // UTC
	Status      []string  // EPP status codes in EPP spelling, such as clientTransferProhibited (RFC 5731, RFC 3915, RFC 8056)
	Nameservers []Nameserver
	DNSSEC      Signed
	Redacted    []string // names of withheld fields, such as "registrant.name" (RFC 9537)
	Raw         string   // the reply as received, cleaned, at most [MaxRaw] bytes

	RegistrarRDAP  string // URL of the registrar's own RDAP answer, if the reply links one (RFC 9083, section 4.2, rel "related")
	RegistrarWHOIS string // host of the registrar's own WHOIS server, if the reply names one
}

// Limits on what is taken from one reply.
const (
	MaxField       = 1 << 10  // bytes of one text
	MaxRaw         = 16 << 10 // bytes of Raw
	MaxNameservers = 32
	MaxStatus      = 32
	MaxEntities    = 64
	MaxDepth       = 32 // nesting of a JSON reply
)

// A Registrar is the company through which a domain is registered.
type Registrar struct {
	Name       string
	IANAID     string // decimal digits; IANA's registrar id
	URL        string
	AbuseEmail string
	AbusePhone string // E.164 where the publisher gives it so
}

// A Contact is the registrant as far as published.
type Contact struct {
	Name         string
	Organization string
	Country      string // ISO 3166-1 alpha-2, upper case
}

// A Nameserver is a delegation, with its glue addresses where published.
type Nameserver struct {
	Host      string   // A-label form, lower case, no root dot
	Addresses []string // textual IPv4 and IPv6
}

// Signed says whether the delegation is signed by DNSSEC.
type Signed string

// The values of [Signed]; the zero value means that the publisher did not say.
const (
	SignedUnknown Signed = ""
	SignedYes     Signed = "yes"
	SignedNo      Signed = "no"
)
