package checkout

import (
	"context"
	"net/url"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/store"
)

// Sell makes a session of the built-in partner for a name and returns its link. It fails as [Service.Create] does.
func (s *Service) Sell(ctx context.Context, environment string, domain fqdn.Name) (string, error) {
	page := s.cfg.BaseURL + "/market/" + url.PathEscape(domain.String())
	var session Session
	err := s.tx(ctx, environment, func(tx store.Tx) error {
		seller, err := s.cfg.Sales.Seller(ctx, tx, OwnPartner, environment)
		if err != nil {
			return err
		}
		session, err = s.Create(ctx, tx, Request{
			Partner: OwnPartner, Environment: environment, Domain: domain.String(), ReturnURL: page, CancelURL: page,
		}, seller.Now)
		return err
	})
	if err != nil {
		return "", err
	}
	return s.URL(session)
}

// Bought reports whether a session of the built-in partner sold the name with the order.
func (s *Service) Bought(ctx context.Context, domain fqdn.Name, order, session string) bool {
	if _, ok := store.IDTime(idPrefix, session); !ok || order == "" {
		return false
	}
	var found Session
	err := s.cfg.DB.Read(ctx, func(tx store.Tx) (err error) {
		found, err = selectSession(ctx, tx, session)
		return err
	})
	return err == nil && found.Partner == OwnPartner && found.Domain == domain && found.OrderID == order && found.Status == Paid
}

// tx runs a transaction of an environment.
func (s *Service) tx(ctx context.Context, environment string, fn func(store.Tx) error) error {
	if s.cfg.Tx == nil {
		return s.cfg.DB.Tx(ctx, fn)
	}
	return s.cfg.Tx(ctx, environment, fn)
}
