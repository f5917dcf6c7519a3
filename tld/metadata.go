package tld

import (
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/namewharf/namewharf/op"
)

// Metadata is what a suffix is and asks of a registrant, as the public API shows it. A fact that is not known is
// absent and named in Unknown; nothing is guessed, and a rule of a top-level domain is not taken for one of the
// suffixes below it.
type Metadata struct {
	TLD          string       `json:"tld"`
	Unicode      string       `json:"unicode"`
	Type         Type         `json:"type"`
	Registry     Registry     `json:"registry"`
	Term         Term         `json:"term"`
	Organization Organization `json:"organization"`
	Nameservers  Nameservers  `json:"nameservers"`
	Transfer     Transferring `json:"transfer"`
	Lifecycle    Lifecycle    `json:"lifecycle"`
	Label        Label        `json:"label"`
	DNSSEC       op.Truth     `json:"dnssec,omitzero" jsonschema:"whether delegations can be signed"`
	RDAP         RDAP         `json:"rdap"`
	WHOIS        WHOIS        `json:"whois"`
	Unknown      []string     `json:"unknown" jsonschema:"the facts that are not known, as dotted paths"`
	Sources      []string     `json:"sources" jsonschema:"the documents that the facts were read from"`
	AsOf         Date         `json:"as_of" jsonschema:"no fact is older"`
}

// Registry is who runs the suffix.
type Registry struct {
	Name string `json:"name,omitzero"`
	URL  string `json:"url,omitzero"`
}

// Term is for how many years a name can be registered at once.
type Term struct {
	MinYears int `json:"min_years,omitzero"`
	MaxYears int `json:"max_years,omitzero"`
}

// Organization is who may register.
type Organization struct {
	Required         op.Truth `json:"required,omitzero" jsonschema:"whether the registrant must be an organization"`
	Eligibility      string   `json:"eligibility,omitzero"`
	AllowedCountries []string `json:"allowed_countries,omitzero" jsonschema:"ISO 3166 codes, EU or EEA"`
	LocalPresence    op.Truth `json:"local_presence,omitzero"`
}

// Nameservers is what a registration needs of them.
type Nameservers struct {
	Min         op.Count `json:"min,omitzero"`
	Max         int      `json:"max,omitzero"`
	Required    op.Truth `json:"required,omitzero"`
	MustResolve op.Truth `json:"must_resolve,omitzero" jsonschema:"whether they must answer for the name beforehand"`
}

// Transferring is how a name changes its registrar.
type Transferring struct {
	AuthCode  op.Truth `json:"auth_code,omitzero"`
	AddsYears op.Count `json:"adds_years,omitzero"`
}

// Lifecycle is how many days a name stays in each state around its registration and expiry.
type Lifecycle struct {
	AddGraceDays      op.Count `json:"add_grace_days,omitzero"`
	RenewGraceDays    op.Count `json:"renew_grace_days,omitzero"`
	RedemptionDays    op.Count `json:"redemption_days,omitzero"`
	PendingDeleteDays op.Count `json:"pending_delete_days,omitzero"`
}

// Label is what the label in front of the suffix may be. Lengths are of the A-label form.
type Label struct {
	Min int      `json:"min,omitzero"`
	Max int      `json:"max,omitzero"`
	IDN op.Truth `json:"idn,omitzero"`
}

// RDAP is the suffix's RDAP server.
type RDAP struct {
	URL    string     `json:"url,omitzero"`
	Source RDAPSource `json:"source,omitzero"`
}

// WHOIS is the suffix's WHOIS server.
type WHOIS struct {
	Server string `json:"server,omitzero"`
}

// A Type is the kind of a top-level domain.
type Type string

// The types. A brand is a generic domain that one company has for its own name.
const (
	Generic        Type = "generic"
	CountryCode    Type = "country-code"
	Brand          Type = "brand"
	Sponsored      Type = "sponsored"
	Infrastructure Type = "infrastructure"
)

// Schema is the enumeration of the types.
func (Type) Schema() *jsonschema.Schema {
	return enum(Generic, CountryCode, Brand, Sponsored, Infrastructure)
}

// An RDAPSource says who names an RDAP server.
type RDAPSource string

// The sources of RDAP servers. The table knows the first two.
const (
	FromIANA     RDAPSource = "iana"       // the bootstrap registry (RFC 9224)
	Supplement   RDAPSource = "supplement" // the suffix's registry, which IANA does not list
	FromOperator RDAPSource = "operator"   // the operator of this service
)

// Schema is the enumeration of the sources.
func (RDAPSource) Schema() *jsonschema.Schema { return enum(FromIANA, Supplement, FromOperator) }

// A Date is a day such as 2026-01-01.
type Date string

// Schema is the date format (RFC 3339, full-date).
func (Date) Schema() *jsonschema.Schema { return &jsonschema.Schema{Type: "string", Format: "date"} }
