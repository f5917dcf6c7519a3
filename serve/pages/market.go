package pages

import (
	"context"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/money"
)

// Listings are the names that the service sells.
type Listings interface {
	// Listing fails with [fault.NotFound] for a name that is not for sale.
	Listing(ctx context.Context, env market.Environment, domain fqdn.Name) (market.Listing, error)
}

// listingData is what the page of a name shows.
type listingData struct {
	market.Listing
	Unicode string
	ASCII   string // the A-label form, where it differs
	SignIn  string // the address at which to sign in and come back; empty: the visitor is signed in, and sees the price
	Path    string
	CanBuy  bool   // a payment provider is configured
	Test    bool   // which takes no real money
	Order   string // that the visitor just made; empty: none
}

// Price is the buy-now price.
func (d listingData) Price() money.Amount {
	return money.Amount{Cents: d.PriceCents, Currency: d.Currency}
}

// showListing shows a name that is for sale. As in the API, only signed-in visitors see its price; the checkout, which is a
// session of its own, says what is to be paid to anyone who goes on to it.
func (p *Pages) showListing(req *request) (response, error) {
	name, err := pathDomain(req)
	if err != nil {
		return response{}, err
	}
	q := req.URL.Query()
	if q.Has("order") && p.buying.Checkout.Bought(req.Context(), name, q.Get("order"), q.Get("session")) {
		return response{page: "market", title: "Thank you", data: listingData{
			Unicode: name.Unicode(), ASCII: asciiOf(name), Order: q.Get("order"), Test: p.buying.Checkout.Testing(string(market.Live)),
		}}, nil
	}
	l, err := p.buying.Listings.Listing(req.Context(), market.Live, name)
	if fault.Is(err, fault.NotFound) {
		return response{}, fault.New(fault.NotFound, "This name is not for sale here")
	}
	if err != nil {
		return response{}, err
	}
	data := listingData{
		Listing: l, Unicode: name.Unicode(), ASCII: asciiOf(name), Path: marketPath + pathEscape(name),
		CanBuy: p.buying.Checkout.Takes(string(market.Live)), Test: p.buying.Checkout.Testing(string(market.Live)),
	}
	if !req.signedIn() {
		data.PriceCents, data.SignIn = 0, signInURL(data.Path)
	}
	return response{page: "market", title: name.Unicode(), data: data}, nil
}

// buyListing makes a checkout session of the service's own and goes there.
func (p *Pages) buyListing(req *request) (response, error) {
	name, err := pathDomain(req)
	if err != nil {
		return response{}, err
	}
	address, err := p.buying.Checkout.Sell(req.Context(), string(market.Live), name)
	switch {
	case fault.Is(err, fault.NotFound), fault.Is(err, fault.Conflict):
		return response{}, fault.New(fault.NotFound, "This name is not for sale here any more")
	case fault.Is(err, fault.PaymentUnavailable):
		return checkoutFailed(fault.New(fault.PaymentUnavailable, "Names cannot be paid for here yet"))
	case err != nil:
		return response{}, err
	}
	return seeOther(address), nil
}

func pathDomain(req *request) (fqdn.Name, error) {
	name, err := fqdn.Parse(req.PathValue("domain"))
	if err == nil {
		err = name.Registrable()
	}
	if err != nil {
		return fqdn.Name{}, fault.New(fault.NotFound, "There is no such name")
	}
	return name, nil
}
