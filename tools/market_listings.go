package tools

import (
	"context"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/market/index"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/tld"
)

// ListingsIn asks for a page of what is for sale.
type ListingsIn struct {
	TLD               SuffixText `json:"tld,omitzero" jsonschema:"only names under this TLD"`
	Q                 Words      `json:"q,omitzero" jsonschema:"only names that fit these words"`
	RequireRealPrices bool       `json:"require_real_prices,omitzero" jsonschema:"true: sign in rather than see masked prices"`
	Sort              Sort       `json:"sort,omitzero" jsonschema:"newest when left out, with q relevance; price needs a signed-in caller"`
	MinPriceCents     Cents      `json:"min_price_cents,omitzero" jsonschema:"needs a signed-in caller"`
	MaxPriceCents     Cents      `json:"max_price_cents,omitzero" jsonschema:"needs a signed-in caller"`
	Limit             PageLimit  `json:"limit,omitzero" jsonschema:"listings a page; 25 when left out"`
	Cursor            op.Cursor  `json:"cursor,omitzero" jsonschema:"next_cursor of the page before"`
	Offset            Offset     `json:"offset,omitzero" jsonschema:"listings to skip, instead of a cursor"`
}

// ListingsOut is a page of listings.
type ListingsOut struct {
	Listings     []MarketListing `json:"listings"`
	PricesMasked bool            `json:"prices_masked"`
	Unlock       Unlock          `json:"unlock,omitzero" jsonschema:"how to see real prices; only when they are masked"`
	Page         Page            `json:"page"`
}

// A MarketListing is one name that is for sale.
type MarketListing struct {
	Domain      string    `json:"domain"`
	Unicode     string    `json:"unicode,omitzero"`
	TLD         string    `json:"tld"`
	Price       Price     `json:"price"`
	ListedAt    time.Time `json:"listed_at"`
	Description string    `json:"description,omitzero"`
}

// Words are what to look for.
type Words string

// Schema is a short text.
func (Words) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", MinLength: new(1), MaxLength: new(200)}
}

// Sort is the order of listings.
type Sort market.Sort

// Schema is the enumeration of the orders.
func (Sort) Schema() *jsonschema.Schema {
	return enum(market.Newest, market.Name, market.Length, market.Price, market.Relevance)
}

// Cents is a bound on a price.
type Cents int64

// Schema is an amount in minor units.
func (Cents) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "integer", Minimum: new(1.0), Maximum: jsonschema.Ptr(float64(money.MaxCents))}
}

// Offset is how many listings to skip.
type Offset int

// MaxOffset is how far paging by offset goes; a cursor goes to the end.
const MaxOffset = 10_000

// Schema is a bounded integer.
func (Offset) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "integer", Minimum: new(0.0), Maximum: new(float64(MaxOffset))}
}

func (s *service) marketListings() op.Operation[ListingsIn, ListingsOut] {
	return op.Operation[ListingsIn, ListingsOut]{
		Name:  "market_listings",
		Title: "Browse names for sale",
		Doc: "Names that their owners sell here, newest first or by words. Use it when a wanted name is taken or for ideas. " +
			"Prices are masked until the caller signs in.",
		Route:   op.Route{Method: "GET", Path: "/api/market/listings"},
		Batch:   true,
		Tool:    true,
		Effect:  op.Reads,
		Limit:   op.Read,
		Cache:   &op.Cache[ListingsIn, ListingsOut]{View: view, Stamp: s.stamp, For: func(ListingsIn, ListingsOut) time.Duration { return answersHold }},
		Example: ListingsIn{TLD: "com", Limit: 5},
		Text:    ListingsOut.text,
		Do:      s.listings,
	}
}

// order names the list that a cursor belongs to.
type order struct {
	List, TLD, Q, Sort string
	Min, Max           int64
}

func (s *service) listings(ctx context.Context, in ListingsIn) (ListingsOut, error) {
	filter, err := s.filter(ctx, in)
	if err != nil {
		return ListingsOut{}, err
	}
	list := order{"market_listings", filter.TLD, filter.Q, string(filter.Sort), filter.MinPrice, filter.MaxPrice}
	if in.Cursor != "" {
		if in.Offset > 0 {
			return ListingsOut{}, fault.Invalid("offset", "cannot be used together with cursor")
		}
		filter.After = new(index.Position)
		if err := s.cursors.open(in.Cursor, list, filter.After); err != nil {
			return ListingsOut{}, err
		}
	}
	page, err := s.cfg.Market.List(ctx, filter)
	if err != nil {
		return ListingsOut{}, err
	}
	out := ListingsOut{PricesMasked: view(ctx) == masked, Unlock: s.unlock(ctx, len(page.Listings) > 0), Page: Page{Limit: filter.Limit}}
	for _, l := range page.Listings {
		row := MarketListing{
			Domain: l.Domain.String(), TLD: s.suffixOf(l.Domain), Description: l.Description,
			Price: show(ctx, money.Amount{Cents: l.PriceCents, Currency: l.Currency}), ListedAt: wireTime(l.ListedAt),
		}
		if l.Domain.IDN() {
			row.Unicode = l.Domain.Unicode()
		}
		out.Listings = append(out.Listings, row)
	}
	if page.Next != nil {
		out.Page.NextCursor, err = s.cursors.seal(list, page.Next)
	}
	return out, err
}

// filter checks what the caller may ask and puts it into the market's words.
func (s *service) filter(ctx context.Context, in ListingsIn) (market.Filter, error) {
	byPrice := in.Sort == Sort(market.Price) || in.MinPriceCents > 0 || in.MaxPriceCents > 0
	if err := needPrices(ctx, in.RequireRealPrices); err != nil {
		return market.Filter{}, err
	}
	if byPrice {
		if err := pricesFor(op.CallerFrom(ctx).Need(ScopePricing), "sorting and filtering by price show real prices"); err != nil {
			return market.Filter{}, err
		}
	}
	f := market.Filter{
		Environment: market.Live, Q: string(in.Q), Sort: market.Sort(in.Sort),
		MinPrice: int64(in.MinPriceCents), MaxPrice: int64(in.MaxPriceCents),
		Limit: in.Limit.orDefault(), Offset: int(in.Offset),
	}
	if in.MaxPriceCents > 0 && in.MinPriceCents > in.MaxPriceCents {
		return market.Filter{}, fault.Invalid("min_price_cents", "must not be above max_price_cents")
	}
	if in.TLD != "" {
		suffix, err := tld.ParseSuffix(string(in.TLD))
		if err != nil {
			return market.Filter{}, err
		}
		f.TLD = suffix.String()
	}
	return f, nil
}

func (s *service) suffixOf(name fqdn.Name) string {
	suffix, _ := s.cfg.Lookup.Suffixes().Of(name)
	return suffix.String()
}
