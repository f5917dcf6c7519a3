package tools

import (
	"context"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/namewharf/namewharf/account/portfolio"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/op"
)

// BulkIn is one op on many of the caller's domains.
type BulkIn struct {
	Op      BulkOp     `json:"op"`
	Domains BulkList   `json:"domains" jsonschema:"domains of the caller's portfolio"`
	Params  BulkParams `json:"params,omitzero" jsonschema:"for list and set_price"`
	DryRun  bool       `json:"dry_run,omitzero" jsonschema:"true: say what would happen, change nothing"`
}

// A BulkOp is what is done to the domains.
type BulkOp portfolio.Op

// Schema is the enumeration of the ops.
func (BulkOp) Schema() *jsonschema.Schema {
	return enum(portfolio.List, portfolio.SetPrice, portfolio.Unlist, portfolio.Verify, portfolio.Refresh, portfolio.Remove)
}

// A BulkList is the domains of one call.
type BulkList []string

// MaxBulk is how many domains one call may hold.
const MaxBulk = portfolio.MaxChange

// Schema is a bounded list of texts.
func (BulkList) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "string"}, MinItems: new(1), MaxItems: new(MaxBulk)}
}

// BulkParams is the price for list and set_price.
type BulkParams struct {
	PriceCents Cents    `json:"priceCents,omitzero"`
	Currency   Currency `json:"currency,omitzero" jsonschema:"USD when left out"`
}

// A Currency is a currency code (ISO 4217).
type Currency string

// Schema is three letters.
func (Currency) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: "^[A-Z]{3}$"}
}

// BulkOut is a result for each domain, in the order asked.
type BulkOut struct {
	Op        BulkOp       `json:"op"`
	DryRun    bool         `json:"dry_run"`
	Results   []BulkResult `json:"results"`
	Succeeded int          `json:"succeeded"`
	Failed    int          `json:"failed"`
}

// A BulkResult is how the op went, or would go, for one domain.
type BulkResult struct {
	Domain string  `json:"domain"`
	OK     bool    `json:"ok"`
	Error  Failure `json:"error,omitzero"`
}

// A Failure is an error body without the request id, which is the call's own.
type Failure struct {
	Code       fault.Code    `json:"code"`
	Message    string        `json:"message"`
	Details    []fault.Field `json:"details,omitzero"`
	RetryAfter int           `json:"retry_after_s,omitzero"`
}

func (s *service) bulkDomains() op.Operation[BulkIn, BulkOut] {
	return op.Operation[BulkIn, BulkOut]{
		Name:  "bulk_domains",
		Title: "Change many of your domains",
		Doc: "Applies one op to up to 1000 domains of the caller's portfolio: list (offer at a price), set_price, unlist, verify (look for " +
			"the proof of ownership in DNS), refresh (ask the registry) or remove. Each succeeds or fails alone. Do a dry run first.",
		Route:  op.Route{Method: "POST", Path: "/api/domains/bulk/{op}"},
		Tool:   true,
		Scope:  ScopeDomains,
		Effect: op.Writes,
		Limit:  op.Read,
		Cost:   bulkCost,
		Example: BulkIn{
			Op: BulkOp(portfolio.SetPrice), Domains: BulkList{"cobaltpine.com", "brewhaven.com"},
			Params: BulkParams{PriceCents: 250000}, DryRun: true,
		},
		// The one place where the transports differ: a model that leaves dry_run out does a dry run, a program that does so means it.
		ToolDefaults: op.Object(`{"dry_run":true}`),
		Text:         BulkOut.text,
		Do:           s.bulk,
	}
}

func bulkCost(_ context.Context, in BulkIn) []op.Charge {
	return ChangeCost(portfolio.Op(in.Op), len(in.Domains))
}

// ChangeCost is what a change of so many names draws, wherever it comes from: as much as one by one. Where DNS or a registry
// is asked it draws look-ups too, as many as a check of the names.
func ChangeCost(do portfolio.Op, names int) []op.Charge {
	charges := []op.Charge{{Class: op.Read, Count: names}}
	if do == portfolio.Verify || do == portfolio.Refresh {
		charges = append(charges, lookupsFor(names)...)
	}
	return charges
}

func (s *service) bulk(ctx context.Context, in BulkIn) (BulkOut, error) {
	change, err := in.change()
	if err != nil {
		return BulkOut{}, err
	}
	out := BulkOut{Op: in.Op, DryRun: in.DryRun, Results: make([]BulkResult, len(in.Domains))}
	errs := make([]error, len(in.Domains))
	places := make([]int, 0, len(in.Domains)) // of the names of the change among the results
	for i, text := range in.Domains {
		name, err := fqdn.Parse(text)
		if err != nil { // one bad name does not cost the others
			out.Results[i].Domain, errs[i] = op.Printable(text, fqdn.MaxLength), fault.Invalid("domain", "%s", err)
			continue
		}
		out.Results[i].Domain = name.String()
		change.Names, places = append(change.Names, name), append(places, i)
	}
	if len(change.Names) > 0 {
		done, err := s.cfg.Portfolio.Apply(ctx, op.CallerFrom(ctx).Account, change)
		if err != nil {
			return BulkOut{}, err
		}
		for i, err := range done {
			errs[places[i]] = err
		}
	}
	for i, err := range errs {
		if err == nil {
			out.Results[i].OK = true
			out.Succeeded++
			continue
		}
		out.Results[i].Error = failure(ctx, err)
		out.Failed++
	}
	return out, nil
}

// change is the op without its names, with what it needs of params and nothing else.
func (in BulkIn) change() (portfolio.Change, error) {
	c := portfolio.Change{Op: portfolio.Op(in.Op), DryRun: in.DryRun}
	priced := c.Op == portfolio.List || c.Op == portfolio.SetPrice
	switch {
	case priced && in.Params.PriceCents == 0:
		return c, fault.Invalid("params.priceCents", "is required: the price in minor units, e.g. 250000 for 2500.00 USD")
	case !priced && in.Params != (BulkParams{}):
		return c, fault.Invalid("params", "must be empty for the op %s", in.Op)
	case !priced:
		return c, nil
	}
	c.Price = money.Amount{Cents: int64(in.Params.PriceCents), Currency: string(in.Params.Currency)}
	if c.Price.Currency == "" {
		c.Price.Currency = "USD"
	}
	return c, nil
}

// failure is the error as the caller may see it; one of ours goes to the log.
func failure(ctx context.Context, err error) Failure {
	f := fault.From(err)
	if f.Code == fault.Internal {
		op.Report(ctx, fmt.Errorf("bulk operation: %w", err))
	}
	return Failure{Code: f.Code, Message: f.Message(), Details: f.Fields, RetryAfter: f.RetrySeconds()}
}
