package tools

import (
	"context"
	"slices"
	"time"

	"github.com/namewharf/namewharf/account/portfolio"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/lookup"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/sale"
	"github.com/namewharf/namewharf/store"
)

// RegistryOf is the look-up service as a portfolio sees it.
func RegistryOf(l *lookup.Service) portfolio.Registry { return registry{l} }

type registry struct{ *lookup.Service }

// Registration implements [portfolio.Registry].
func (r registry) Registration(ctx context.Context, name fqdn.Name, afresh bool) (portfolio.Registration, error) {
	ask := r.Domain
	if afresh {
		ask = r.Afresh
	}
	a, err := ask(ctx, name)
	if err != nil {
		return portfolio.Registration{}, err
	}
	found := portfolio.Registration{
		RegistrarID: a.Record.Registrar.IANAID, Registrar: a.Record.Registrar.Name,
		Created: a.Record.Created, Expires: a.Record.Expires,
	}
	switch {
	case a.Status == lookup.Registered && a.Source != "":
		return found, nil
	case a.Status == lookup.Available, a.Status == lookup.Reserved, a.Status == lookup.Expiring:
		found.Ended = true
		return found, nil
	}
	wait := time.Minute
	if !a.RetryAt.IsZero() {
		wait = max(time.Second, a.RetryAt.Sub(a.CheckedAt))
	}
	return portfolio.Registration{}, fault.New(fault.Unavailable, "the registry does not say how the domain is registered").
		WithHint("send it again later").WithRetry(wait)
}

// MarketOf is what is really sold as a portfolio sees it.
func MarketOf(m *market.Market, now func() time.Time) portfolio.Market { return accountMarket{m, now} }

type accountMarket struct {
	*market.Market
	now func() time.Time
}

func seller(account string) market.Seller {
	return market.Seller{Environment: market.Live, ID: account}
}

// Prices implements [portfolio.Market].
func (s accountMarket) Prices(ctx context.Context, tx store.Tx, account string, names []fqdn.Name) (map[fqdn.Name]money.Amount, error) {
	open, err := seller(account).Open(ctx, tx, names)
	prices := make(map[fqdn.Name]money.Amount, len(open))
	for _, l := range open {
		prices[l.Domain] = money.Amount{Cents: l.PriceCents, Currency: l.Currency}
	}
	return prices, err
}

// Offer implements [portfolio.Market].
func (s accountMarket) Offer(ctx context.Context, tx store.Tx, account string, names []fqdn.Name, price money.Amount, shown bool) (map[fqdn.Name]error, error) {
	to := market.Pending
	if shown {
		to = market.Listed
	}
	return seller(account).Put(ctx, tx, names, price, to, s.now())
}

// Show implements [portfolio.Market].
func (s accountMarket) Show(ctx context.Context, tx store.Tx, account string, names []fqdn.Name) (map[fqdn.Name]error, error) {
	return seller(account).Turn(ctx, tx, names, market.Listed, s.now())
}

// Suspend implements [portfolio.Market].
func (s accountMarket) Suspend(ctx context.Context, tx store.Tx, account string, names []fqdn.Name) error {
	_, err := seller(account).Turn(ctx, tx, names, market.Suspended, s.now())
	return err
}

// Withdraw implements [portfolio.Market].
func (s accountMarket) Withdraw(ctx context.Context, tx store.Tx, account string, names []fqdn.Name) error {
	_, err := seller(account).Turn(ctx, tx, names, market.Withdrawn, s.now())
	return err
}

// Listings implements [portfolio.Market].
func (s accountMarket) Listings(ctx context.Context, tx store.Tx, account string, after portfolio.Listing, limit int) ([]portfolio.Listing, error) {
	found, err := seller(account).All(ctx, tx, market.Listing{ID: after.ID, Offer: market.Offer{Domain: after.Domain}}, limit)
	all := make([]portfolio.Listing, len(found))
	for i, l := range found {
		all[i] = portfolio.Listing{
			ID: l.ID, Domain: l.Domain, Status: string(l.Status), ListedAt: l.ListedAt, UpdatedAt: l.UpdatedAt,
			Price: money.Amount{Cents: l.PriceCents, Currency: l.Currency},
		}
	}
	return all, err
}

// soldAtOnce is how many sold listings are looked at in one go.
const soldAtOnce = 50

// Selling implements [portfolio.Market].
func (s accountMarket) Selling(ctx context.Context, tx store.Tx, account string) ([]fqdn.Name, error) {
	var names []fqdn.Name
	var last market.Listing
	for {
		sold, err := seller(account).Sold(ctx, tx, last, soldAtOnce)
		if err != nil || len(sold) == 0 {
			return names, err
		}
		last = sold[len(sold)-1]
		domains := make([]string, len(sold))
		for i, l := range sold {
			domains[i] = l.Domain.String()
		}
		open, err := sale.UnderWay(ctx, tx, string(market.Live), domains)
		if err != nil {
			return nil, err
		}
		for _, l := range sold {
			if slices.Contains(open, l.ID) {
				names = append(names, l.Domain)
			}
		}
	}
}

// WithdrawAll implements [portfolio.Market].
func (s accountMarket) WithdrawAll(ctx context.Context, tx store.Tx, account string) error {
	return seller(account).WithdrawAll(ctx, tx, s.now())
}
