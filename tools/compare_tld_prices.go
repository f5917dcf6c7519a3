package tools

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/tld"
)

// CompareIn names TLDs and for how long a name is to be registered under them.
type CompareIn struct {
	TLDs  SuffixList `json:"tlds" jsonschema:"TLDs to compare, e.g. com, net, io"`
	Years Years      `json:"years,omitzero" jsonschema:"how long to register for; 1 when left out"`
}

// CompareOut is what they cost, the cheapest total first.
type CompareOut struct {
	Years   int          `json:"years"`
	Results []YearsPrice `json:"results"`
	Unknown []string     `json:"unknown" jsonschema:"TLDs without the prices that the total needs"`
}

// A YearsPrice is what a name costs under a TLD over the years: its registration and as many renewals as are needed.
type YearsPrice struct {
	TLD      string      `json:"tld"`
	Register ActionPrice `json:"register"`
	Renew    ActionPrice `json:"renew,omitzero"`
	Transfer ActionPrice `json:"transfer,omitzero"`
	Restore  ActionPrice `json:"restore,omitzero"`
	Total    Amount      `json:"total" jsonschema:"to register, and to renew until the years are covered"`
	AsOf     tld.Date    `json:"as_of" jsonschema:"the day of the prices"`
}

// An Amount is a price that belongs to no term.
type Amount struct {
	PriceCents int64  `json:"priceCents"`
	Currency   string `json:"currency"`
}

// Years is for how long a name is registered.
type Years int

// MaxYears is the longest that registries sell (RFC 5731, section 2.4 leaves it to them; ten years by ICANN's agreements).
const MaxYears = 10

// Schema is an integer between 1 and [MaxYears].
func (Years) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "integer", Minimum: new(1.0), Maximum: new(float64(MaxYears)), Default: []byte("1")}
}

func (s *service) compareTLDPrices() op.Operation[CompareIn, CompareOut] {
	return op.Operation[CompareIn, CompareOut]{
		Name:  "compare_tld_prices",
		Title: "Compare TLD prices",
		Doc: "What a name costs under up to 30 TLDs over 1 to 10 years, renewals included, cheapest first. " +
			"Use it to compare TLDs: a cheap first year often ends in dear renewals.",
		Route:   op.Route{Method: "GET", Path: "/api/pricing/compare"},
		Batch:   true,
		Tool:    true,
		Effect:  op.Reads,
		Limit:   op.Read,
		MaxAge:  pricesMaxAge,
		Cache:   reuse[CompareIn, CompareOut](s.stamp),
		Example: CompareIn{TLDs: SuffixList{"com", "net", "io"}, Years: 5},
		Text:    CompareOut.text,
		Do:      s.compare,
	}
}

func (s *service) compare(_ context.Context, in CompareIn) (CompareOut, error) {
	suffixes, err := in.TLDs.read(nil)
	if err != nil {
		return CompareOut{}, err
	}
	out := CompareOut{Years: max(1, int(in.Years)), Results: []YearsPrice{}, Unknown: []string{}}
	for _, suffix := range suffixes {
		row, ok, err := s.overYears(suffix, out.Years)
		switch {
		case err != nil:
			return CompareOut{}, err
		case !ok:
			out.Unknown = append(out.Unknown, suffix.String())
		default:
			out.Results = append(out.Results, row)
		}
	}
	slices.SortFunc(out.Results, func(a, b YearsPrice) int {
		return cmp.Or(cmp.Compare(a.Total.Currency, b.Total.Currency), cmp.Compare(a.Total.PriceCents, b.Total.PriceCents), cmp.Compare(a.TLD, b.TLD))
	})
	return out, nil
}

// overYears reports false when a price is missing that the total needs.
func (s *service) overYears(suffix fqdn.Name, years int) (YearsPrice, bool, error) {
	p, err := s.pricesOf(suffix)
	if err != nil || p.Register == (ActionPrice{}) {
		return YearsPrice{}, false, err
	}
	row := YearsPrice{
		TLD: suffix.String(), Register: p.Register, Renew: p.Renew, Transfer: p.Transfer, Restore: p.Restore, AsOf: p.AsOf,
		Total: Amount{p.Register.PriceCents, p.Register.Currency},
	}
	if left := years - max(1, p.Register.TermYears); left > 0 {
		if p.Renew == (ActionPrice{}) || p.Renew.Currency != p.Register.Currency {
			return YearsPrice{}, false, nil
		}
		term := max(1, p.Renew.TermYears)
		row.Total.PriceCents += int64((left+term-1)/term) * p.Renew.PriceCents
	}
	return row, true, nil
}
