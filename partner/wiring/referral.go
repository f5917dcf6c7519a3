package wiring

import (
	"context"
	"fmt"
	"time"

	"github.com/namewharf/namewharf/ledger"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/referral"
	"github.com/namewharf/namewharf/store"
)

func newLinks(cfg Config) *referral.Service {
	return referral.New(referral.Config{
		DB: cfg.DB, Books: shares{}, Keys: cfg.Keys, Now: cfg.Now, BaseURL: cfg.BaseURL, Logger: cfg.Logger,
		Clock: func(ctx context.Context, tx store.Tx, p referral.Party) (time.Time, error) {
			return LocalTime(ctx, tx, cfg.Now(), credential.Party{Partner: p.Partner, Environment: credential.Environment(p.Environment)})
		},
	})
}

// Referrer returns the party as package referral knows it.
func Referrer(p credential.Party) referral.Party {
	return referral.Party{Partner: p.Partner, Environment: string(p.Environment)}
}

// shares is the ledger as package referral uses it.
type shares struct{}

func (shares) Referred(ctx context.Context, tx store.Tx, p referral.Party, order string, price money.Amount, at time.Time) (money.Amount, error) {
	rate, err := rateOf(ctx, tx, p.Partner, "referral_bp")
	if err != nil {
		return money.Amount{}, err
	}
	share := rate.Of(price)
	_, err = ledger.Accrue(ctx, tx, ledger.Commission{
		Owner: ledger.Owner{Partner: p.Partner, Environment: p.Environment}, Source: ledger.Referral, Order: order, Amount: share, At: at,
	})
	return share, err
}

// rateOf is a rate of a partner as it is now: the column of table partners.
func rateOf(ctx context.Context, tx store.Tx, partner, column string) (rate ledger.BasisPoints, err error) {
	if err := tx.QueryRow(ctx, `SELECT `+column+` FROM partners WHERE id = $1`, partner).Scan(&rate); err != nil {
		return 0, fmt.Errorf("read a partner's rate: %w", err)
	}
	return rate, nil
}
