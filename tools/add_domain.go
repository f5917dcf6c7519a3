package tools

import (
	"context"
	"net/http"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/namewharf/namewharf/account/portfolio"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/op"
)

// AddIn names a domain that the caller says is theirs.
type AddIn struct {
	Domain Domain `json:"domain" jsonschema:"a registered domain name, e.g. example.com"`
}

// AddOut is the claim, and how to prove it.
type AddOut struct {
	Domain string      `json:"domain"`
	Status ClaimStatus `json:"status"`
	Proof  Proof       `json:"proof"`
}

// A Proof is the DNS record that proves that a domain is the caller's.
type Proof struct {
	Type  RecordType `json:"type"`
	Name  string     `json:"name"`
	Value string     `json:"value"`
}

// A RecordType is a type of DNS record.
type RecordType string

const recordTXT RecordType = "TXT"

// Schema is the enumeration of the types.
func (RecordType) Schema() *jsonschema.Schema { return enum(recordTXT) }

// A ClaimStatus is how far the proof of ownership of a domain is.
type ClaimStatus portfolio.Status

// Schema is the enumeration of the states.
func (ClaimStatus) Schema() *jsonschema.Schema {
	s := enum(portfolio.Pending, portfolio.Verified, portfolio.Suspended)
	s.Description = "pending: its proof is awaited; suspended: it seems to have changed hands, another proof is awaited"
	return s
}

func (s *service) addDomain() op.Operation[AddIn, AddOut] {
	return op.Operation[AddIn, AddOut]{
		Name:  "add_domain",
		Title: "Add a domain of yours",
		Doc: "Adds a domain to the caller's portfolio and says which DNS record proves that it is theirs. Publish the record, then " +
			"run bulk_domains with op verify. A domain that is there already is answered as it stands, with the record to publish.",
		Route:   op.Route{Method: "POST", Path: "/api/domains", Status: http.StatusCreated},
		Tool:    true,
		Scope:   ScopeDomains,
		Effect:  op.Adds,
		Limit:   op.Read,
		Example: AddIn{Domain: "cobaltpine.com"},
		Text:    AddOut.text,
		Do:      s.add,
	}
}

func (s *service) add(ctx context.Context, in AddIn) (AddOut, error) {
	name, err := fqdn.Parse(string(in.Domain))
	if err != nil {
		return AddOut{}, fault.Invalid("domain", "%s", err)
	}
	claim, err := s.cfg.Portfolio.Add(ctx, op.CallerFrom(ctx).Account, name)
	if err != nil {
		return AddOut{}, err
	}
	return AddOut{
		Domain: claim.Domain.String(), Status: ClaimStatus(claim.Status),
		Proof: Proof{Type: recordTXT, Name: portfolio.ProofLabel + "." + claim.Domain.String(), Value: claim.Proof},
	}, nil
}
