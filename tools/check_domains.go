package tools

import (
	"context"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/lookup"
	"github.com/namewharf/namewharf/op"
)

// CheckIn is full names to check.
type CheckIn struct {
	Domains DomainList `json:"domains" jsonschema:"full domain names, e.g. acme.com"`
}

// CheckOut is a result for each name, in the order asked.
type CheckOut struct {
	Results      []Result  `json:"results"`
	PricesMasked bool      `json:"prices_masked"`
	CheckedAt    time.Time `json:"checked_at" jsonschema:"when the oldest verdict was made"`
}

// A DomainList is the names of one check.
type DomainList []string

// MaxCheck is how many names one check may hold; namesPerLookup of them cost as much as a look-up.
const (
	MaxCheck       = 200
	namesPerLookup = 10
)

// Schema is a bounded list of texts.
func (DomainList) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "string"}, MinItems: new(1), MaxItems: new(MaxCheck)}
}

func (s *service) checkDomains() op.Operation[CheckIn, CheckOut] {
	return op.Operation[CheckIn, CheckOut]{
		Name:      "check_domains",
		Title:     "Check many domains",
		Doc:       "Says for up to 200 full names whether each can be registered, without siblings. Use it to sift a list of ideas.",
		Route:     op.Route{Method: "POST", Path: "/api/domain/check"},
		Batch:     true,
		Tool:      true,
		Effect:    op.Reads,
		Limit:     op.Lookup,
		PerCaller: true,
		Cost:      checkCost,
		Example:   CheckIn{Domains: DomainList{"brewhaven.com", "emberlane.io"}},
		Text:      CheckOut.text,
		Do:        s.check,
	}
}

func checkCost(_ context.Context, in CheckIn) []op.Charge {
	return lookupsFor(len(in.Domains))
}

// lookupsFor is what it costs to ask about many names in one call.
func lookupsFor(names int) []op.Charge {
	return []op.Charge{{Class: op.Lookup, Count: (names + namesPerLookup - 1) / namesPerLookup}}
}

func (s *service) check(ctx context.Context, in CheckIn) (CheckOut, error) {
	asks := make([]ask, len(in.Domains))
	for i, text := range in.Domains {
		name, err := fqdn.Parse(text)
		asks[i] = ask{name: name, kind: Exact}
		if err != nil { // one bad idea does not cost the other answers
			asks[i].refused = refused(text, err)
		}
	}
	out := CheckOut{PricesMasked: view(ctx) == masked}
	out.Results, out.CheckedAt, _ = s.answers(ctx, asks, everything)
	return out, nil
}

// refused is the result for a text that is no domain name, which is repeated as far as it can be shown.
func refused(text string, why error) *Result {
	return &Result{
		Domain: op.Printable(text, fqdn.MaxLength), Kind: Exact, Status: Status(lookup.Invalid), Available: op.No, Confidence: Confidence(lookup.ByNone),
		Reason: "the name " + why.Error(), Evidence: []Evidence{},
	}
}
