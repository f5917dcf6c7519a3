package tools

import (
	"context"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/op"
)

// A Price is a marketplace price as the caller may see it: real, or masked so that nothing of it shows.
type Price struct {
	Masked     bool   `json:"masked"`
	Display    string `json:"display,omitzero" jsonschema:"what to show instead of a masked price"`
	PriceCents int64  `json:"priceCents,omitzero" jsonschema:"in minor units; only when not masked"`
	Currency   string `json:"currency"`
}

// views are what callers may see of marketplace prices. They are the views of every operation that shows one.
const (
	masked = ""
	priced = "priced"
)

// view is the one place where it is decided whether a caller sees marketplace prices.
func view(ctx context.Context) string {
	if op.CallerFrom(ctx).Has(ScopePricing) {
		return priced
	}
	return masked
}

// show is the price as the caller in the context may see it.
func show(ctx context.Context, a money.Amount) Price {
	if view(ctx) == masked {
		return Price{Masked: true, Display: symbol(a.Currency) + "•••", Currency: a.Currency}
	}
	return Price{PriceCents: a.Cents, Currency: a.Currency}
}

// own is the price of the caller's own offer, which is no secret to who set it.
func own(a money.Amount) Price { return Price{PriceCents: a.Cents, Currency: a.Currency} }

func symbol(currency string) string {
	switch currency {
	case "USD":
		return "$"
	case "EUR":
		return "€"
	case "GBP":
		return "£"
	}
	return currency + " "
}

// needPrices refuses a caller who asks for real prices and may not see them.
func needPrices(ctx context.Context, asked bool) error {
	if !asked {
		return nil
	}
	return pricesFor(op.CallerFrom(ctx).Need(ScopePricing), "require_real_prices asks for real marketplace prices")
}

// pricesFor says in a refusal what it was that needs real prices.
func pricesFor(err error, what string) error {
	if f := fault.From(err); f != nil {
		shown := *f
		shown.Detail = what + ", and " + f.Detail
		return &shown
	}
	return nil
}

// An Unlock tells an anonymous caller how to see real prices.
type Unlock struct {
	Message          string `json:"message"`
	ResourceMetadata string `json:"resource_metadata,omitzero" jsonschema:"OAuth protected-resource metadata (RFC 9728)"`
}

// unlock is the way to real prices for a caller whose answer holds a masked one.
func (s *service) unlock(ctx context.Context, shown bool) Unlock {
	if view(ctx) == priced || !shown {
		return Unlock{}
	}
	u := Unlock{Message: "Sign in with OAuth to see real marketplace prices."}
	if s.cfg.BaseURL != "" {
		u.ResourceMetadata = s.cfg.BaseURL + "/.well-known/oauth-protected-resource"
	}
	return u
}
