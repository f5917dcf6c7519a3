package tools

import (
	"context"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/tld"
)

// PriceIn names a suffix and what is to be done under it.
type PriceIn struct {
	TLD SuffixText `json:"tld" jsonschema:"a TLD, e.g. com or co.uk"`
	Op  Action     `json:"op,omitzero" jsonschema:"register when left out"`
}

// PriceOut is what it costs.
type PriceOut struct {
	TLD        string   `json:"tld"`
	Op         Action   `json:"op"`
	PriceCents int64    `json:"priceCents"`
	Currency   string   `json:"currency"`
	TermYears  int      `json:"term_years" jsonschema:"the years that the price pays for; 0: none"`
	AsOf       tld.Date `json:"as_of" jsonschema:"the day of the price"`
}

// Action is a [tld.Action] with its default.
type Action tld.Action

// Schema is the enumeration of the actions; register is the default.
func (Action) Schema() *jsonschema.Schema {
	s := tld.Register.Schema()
	s.Default = []byte(`"register"`)
	return s
}

// SuffixText is a suffix as a caller writes it: Unicode or A-label form, a leading dot allowed.
type SuffixText string

// Schema is a bounded text.
func (SuffixText) Schema() *jsonschema.Schema { return Domain("").Schema() }

func (s *service) registrationPrice() op.Operation[PriceIn, PriceOut] {
	return op.Operation[PriceIn, PriceOut]{
		Name:  "tld_registration_price",
		Title: "Price of a TLD",
		Doc: "What it costs to register, renew, transfer or restore a name under a TLD, in US cents. " +
			"Use it for budgets; premium names may cost more.",
		Route:   op.Route{Method: "GET", Path: "/api/pricing/tld"},
		Batch:   true,
		Tool:    true,
		Effect:  op.Reads,
		Limit:   op.Read,
		MaxAge:  pricesMaxAge,
		Cache:   reuse[PriceIn, PriceOut](s.stamp),
		Example: PriceIn{TLD: "com", Op: Action(tld.Register)},
		Text:    PriceOut.text,
		Do:      s.price,
	}
}

func (s *service) price(_ context.Context, in PriceIn) (PriceOut, error) {
	suffix, err := tld.ParseSuffix(string(in.TLD))
	if err != nil {
		return PriceOut{}, err
	}
	if in.Op == "" {
		in.Op = Action(tld.Register)
	}
	p, err := s.cfg.Prices.Price(suffix, tld.Action(in.Op))
	if err != nil {
		if fault.Is(err, fault.NotFound) && !s.cfg.Lookup.Suffixes().Known(suffix) {
			return PriceOut{}, fault.New(fault.NotFound, "no registry sells names under this TLD").
				WithHint("send a TLD such as com or co.uk; GET /api/tlds lists them")
		}
		return PriceOut{}, err
	}
	return PriceOut{
		TLD: p.TLD.String(), Op: in.Op, PriceCents: p.Amount.Cents, Currency: p.Amount.Currency,
		TermYears: p.TermYears, AsOf: dateOf(p.AsOf),
	}, nil
}
