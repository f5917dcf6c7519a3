package tools

import (
	"context"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/lookup"
	"github.com/namewharf/namewharf/lookup/record"
	"github.com/namewharf/namewharf/op"
)

// WhoisIn names a domain to look up.
type WhoisIn struct {
	Domain     Domain `json:"domain" jsonschema:"a full domain name, e.g. example.com"`
	IncludeRaw bool   `json:"include_raw,omitzero" jsonschema:"true: add the reply as received, up to 16 KiB"`
}

// Domain is a domain name, or a label, as a caller writes it.
type Domain string

// MaxDomainText is the longest domain name taken, in characters as written: Unicode and spaces around it count.
const MaxDomainText = 4 * fqdn.MaxLength

// Schema is a bounded text.
func (Domain) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", MinLength: new(1), MaxLength: new(MaxDomainText)}
}

// WhoisOut is what the registry and the registrar publish about a domain. What is not known is absent; what is
// withheld is absent and listed in redacted.
type WhoisOut struct {
	Domain       string       `json:"domain"`
	Unicode      string       `json:"unicode,omitzero"`
	Registered   op.Truth     `json:"registered,omitzero" jsonschema:"absent when it could not be found out; warnings say why"`
	Registrar    Registrar    `json:"registrar,omitzero"`
	Registrant   Registrant   `json:"registrant,omitzero"`
	CreatedAt    time.Time    `json:"created_at,omitzero"`
	UpdatedAt    time.Time    `json:"updated_at,omitzero"`
	ExpiresAt    time.Time    `json:"expires_at,omitzero"`
	AgeDays      op.Integer   `json:"age_days,omitzero"`
	DaysToExpiry op.Integer   `json:"days_to_expiry,omitzero" jsonschema:"negative when it has passed"`
	Status       []EPPStatus  `json:"status"`
	Nameservers  []Nameserver `json:"nameservers"`
	DNSSEC       DNSSEC       `json:"dnssec,omitzero"`
	Source       Source       `json:"source,omitzero"`
	Servers      []string     `json:"servers" jsonschema:"those that were asked"`
	Redacted     []string     `json:"redacted" jsonschema:"fields that the publisher withholds"`
	Warnings     []string     `json:"warnings"`
	RetryAfter   int          `json:"retry_after_s,omitzero"`
	FetchedAt    time.Time    `json:"fetched_at"`
	Raw          string       `json:"raw,omitzero"`

	fresh time.Time
}

// Registrar is the company through which the domain is registered.
type Registrar struct {
	Name       string `json:"name,omitzero"`
	IANAID     string `json:"iana_id,omitzero"`
	URL        string `json:"url,omitzero"`
	AbuseEmail string `json:"abuse_email,omitzero"`
	AbusePhone string `json:"abuse_phone,omitzero"`
}

// Registrant is the holder as far as published.
type Registrant struct {
	Name         string `json:"name,omitzero"`
	Organization string `json:"organization,omitzero"`
	Country      string `json:"country,omitzero"`
}

// An EPPStatus is a status code with its meaning in a sentence.
type EPPStatus struct {
	Code    string `json:"code"`
	Meaning string `json:"meaning,omitzero"`
}

// A Nameserver is one that the domain is delegated to.
type Nameserver struct {
	Host      string   `json:"host"`
	Addresses []string `json:"addresses,omitzero"`
}

// DNSSEC says whether the delegation is signed.
type DNSSEC struct {
	Signed op.Truth `json:"signed,omitzero"`
}

// Source says by which protocol the data came.
type Source string

// The sources of a record.
const (
	FromRDAP   Source = "rdap"
	FromWHOIS  Source = "whois"
	FromMerged Source = "merged" // RDAP, with blanks filled from another reply
)

// Schema is the enumeration of the sources.
func (Source) Schema() *jsonschema.Schema { return enum(FromRDAP, FromWHOIS, FromMerged) }

func (s *service) whoisLookup() op.Operation[WhoisIn, WhoisOut] {
	return op.Operation[WhoisIn, WhoisOut]{
		Name:  "whois_lookup",
		Title: "Look up a registration",
		Doc: "Registrar, dates, status codes and nameservers of one domain, from RDAP or WHOIS. Use it to learn who holds " +
			"a name and until when; a free name has registered false.",
		Route:   op.Route{Method: "POST", Path: "/api/tools/whois"},
		Batch:   true,
		Tool:    true,
		Effect:  op.Reads,
		Limit:   op.Lookup,
		Cache:   &op.Cache[WhoisIn, WhoisOut]{For: func(_ WhoisIn, out WhoisOut) time.Duration { return out.fresh.Sub(s.cfg.Now()) }},
		Example: WhoisIn{Domain: "brewhaven.com"},
		Text:    WhoisOut.text,
		Do:      s.whois,
	}
}

func (s *service) whois(ctx context.Context, in WhoisIn) (WhoisOut, error) {
	name, err := fqdn.Parse(string(in.Domain))
	if err != nil {
		return WhoisOut{}, fault.Invalid("domain", "%s", err)
	}
	answer, err := s.cfg.Lookup.Domain(ctx, name)
	if err != nil {
		return WhoisOut{}, err
	}
	out := s.whoisAnswer(answer)
	if in.IncludeRaw {
		out.Raw = answer.Record.Raw
	}
	return out, nil
}

func (s *service) whoisAnswer(a lookup.Answer) WhoisOut {
	r := a.Record
	out := WhoisOut{
		Domain: a.Name.String(), Registered: registered(a.Status),
		Registrar:  Registrar(r.Registrar),
		Registrant: Registrant(r.Registrant),
		CreatedAt:  wireTime(r.Created), UpdatedAt: wireTime(r.Updated), ExpiresAt: wireTime(r.Expires),
		Source: Source(a.Source), Servers: a.Servers, Redacted: r.Redacted, Warnings: a.Warnings,
		FetchedAt: wireTime(a.FetchedAt), fresh: a.FreshUntil,
	}
	if a.Name.IDN() {
		out.Unicode = a.Name.Unicode()
	}
	if out.Source == "" { // of a free name, who said so
		if source := Source(decisive[a.Confidence]); source == FromRDAP || source == FromWHOIS {
			out.Source = source
		}
	}
	now := s.cfg.Now()
	if !r.Created.IsZero() {
		out.AgeDays = op.IntegerOf(days(now.Sub(r.Created)))
	}
	if !r.Expires.IsZero() {
		out.DaysToExpiry = op.IntegerOf(days(r.Expires.Sub(now)))
	}
	for _, code := range r.Status {
		out.Status = append(out.Status, EPPStatus{code, statusMeaning(code)})
	}
	for _, ns := range r.Nameservers {
		out.Nameservers = append(out.Nameservers, Nameserver(ns))
	}
	switch r.DNSSEC {
	case record.SignedYes:
		out.DNSSEC.Signed = op.Yes
	case record.SignedNo:
		out.DNSSEC.Signed = op.No
	}
	if wait := a.RetryAt.Sub(now); wait > 0 && !a.RetryAt.IsZero() {
		out.RetryAfter = int((wait + time.Second - 1) / time.Second)
	}
	return out
}

// registered is what a verdict says of existence.
func registered(s lookup.Status) op.Truth {
	switch s {
	case lookup.Registered, lookup.Expiring:
		return op.Yes
	case lookup.Available, lookup.Reserved:
		return op.No
	}
	return op.Unknown
}

// days counts whole days, rounding towards the past: what expired an hour ago is at -1.
func days(d time.Duration) int {
	n := int(d / (24 * time.Hour))
	if d < 0 && d%(24*time.Hour) != 0 {
		n--
	}
	return n
}
