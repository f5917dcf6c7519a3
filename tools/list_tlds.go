package tools

import (
	"context"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/tld"
)

// TLDsIn asks for a page of suffixes.
type TLDsIn struct {
	Limit  PageLimit `json:"limit,omitzero" jsonschema:"TLDs a page, 1 to 100; 25 when left out"`
	Cursor op.Cursor `json:"cursor,omitzero" jsonschema:"next_cursor of the page before"`
}

// TLDsOut is a page of suffixes in alphabetical order of their A-label form.
type TLDsOut struct {
	TLDs []TLDPrices `json:"tlds"`
	Page Page        `json:"page"`
}

// TLDPrices is a suffix with its prices. An action that is not offered is absent.
type TLDPrices struct {
	TLD      string      `json:"tld"`
	Unicode  string      `json:"unicode"`
	Type     tld.Type    `json:"type"`
	Register ActionPrice `json:"register,omitzero"`
	Renew    ActionPrice `json:"renew,omitzero"`
	Transfer ActionPrice `json:"transfer,omitzero"`
	Restore  ActionPrice `json:"restore,omitzero"`
	AsOf     tld.Date    `json:"as_of,omitzero" jsonschema:"the day of the prices"`
}

// An ActionPrice is what an action costs for its term.
type ActionPrice struct {
	PriceCents int64  `json:"priceCents"`
	Currency   string `json:"currency"`
	TermYears  int    `json:"term_years"`
}

// A PageLimit is how many items a page holds.
type PageLimit int

// The page sizes.
const (
	MaxPage     = 100
	DefaultPage = 25
)

// Schema is an integer between 1 and [MaxPage].
func (PageLimit) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "integer", Minimum: new(1.0), Maximum: new(float64(MaxPage)), Default: []byte("25")}
}

func (l PageLimit) orDefault() int {
	if l == 0 {
		return DefaultPage
	}
	return int(l)
}

func (s *service) listTLDs() op.Operation[TLDsIn, TLDsOut] {
	return op.Operation[TLDsIn, TLDsOut]{
		Name:    "list_tlds",
		Title:   "List TLDs",
		Doc:     "Every TLD with its registration prices, a page at a time. Use it to fill a catalogue.",
		Route:   op.Route{Method: "GET", Path: "/api/tlds"},
		Batch:   true,
		Effect:  op.Reads,
		Limit:   op.Read,
		MaxAge:  pricesMaxAge,
		Cache:   reuse[TLDsIn, TLDsOut](s.stamp),
		Example: TLDsIn{Limit: 10},
		Text:    TLDsOut.text,
		Do:      s.tlds,
	}
}

func (s *service) tlds(_ context.Context, in TLDsIn) (TLDsOut, error) {
	var after string
	if in.Cursor != "" {
		if err := s.cursors.open(in.Cursor, "list_tlds", &after); err != nil {
			return TLDsOut{}, err
		}
	}
	out := TLDsOut{Page: Page{Limit: in.Limit.orDefault()}}
	for _, suffix := range s.cfg.Table.Catalogue(s.cfg.Prices.Book()) {
		if suffix.String() <= after {
			continue
		}
		if len(out.TLDs) == out.Page.Limit {
			cursor, err := s.cursors.seal("list_tlds", out.TLDs[len(out.TLDs)-1].TLD)
			out.Page.NextCursor = cursor
			return out, err
		}
		m, err := s.cfg.Table.Metadata(suffix)
		if err != nil {
			return TLDsOut{}, err
		}
		row, err := s.pricesOf(suffix)
		if err != nil {
			return TLDsOut{}, err
		}
		row.TLD, row.Unicode, row.Type = suffix.String(), suffix.Unicode(), m.Type
		out.TLDs = append(out.TLDs, row)
	}
	return out, nil
}

// pricesOf is what each action costs under a suffix; an action that is not offered is absent.
func (s *service) pricesOf(suffix fqdn.Name) (row TLDPrices, err error) {
	for action, at := range map[tld.Action]*ActionPrice{
		tld.Register: &row.Register, tld.Renew: &row.Renew, tld.Transfer: &row.Transfer, tld.Restore: &row.Restore,
	} {
		p, err := s.cfg.Prices.Price(suffix, action)
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return TLDPrices{}, err
		}
		*at = ActionPrice{p.Amount.Cents, p.Amount.Currency, p.TermYears}
		row.AsOf = max(row.AsOf, dateOf(p.AsOf))
	}
	return row, nil
}
