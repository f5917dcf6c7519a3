package referral

import (
	"context"
	"fmt"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/store"
)

// LinkAccount makes a partner an affiliate with an account, in the place of the one before, within a transaction of the caller.
func LinkAccount(ctx context.Context, tx store.Tx, partner, account string, now time.Time) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO referral_affiliates (partner, account_id, created_at) VALUES ($1, $2, $3)
		ON CONFLICT (partner) DO UPDATE SET account_id = excluded.account_id, created_at = excluded.created_at`, partner, account, store.Micros(now))
	if err != nil {
		return fmt.Errorf("link an affiliate: %w", err)
	}
	return nil
}

// AccountOf is the account of an affiliate; empty for a partner that is none.
func AccountOf(ctx context.Context, tx store.Tx, partner string) (account string, err error) {
	err = tx.QueryRow(ctx, `SELECT account_id FROM referral_affiliates WHERE partner = $1`, partner).Scan(&account)
	if err != nil && !store.IsNoRows(err) {
		return "", fmt.Errorf("look up an affiliate: %w", err)
	}
	return account, nil
}

// UnlinkAccount ends all affiliations of an account, within a transaction of the caller, because the account is deleted.
func UnlinkAccount(ctx context.Context, tx store.Tx, account string) error {
	if _, err := tx.Exec(ctx, `DELETE FROM referral_affiliates WHERE account_id = $1`, account); err != nil {
		return fmt.Errorf("unlink an affiliate: %w", err)
	}
	return nil
}

func isAffiliate(ctx context.Context, tx store.Tx, partner string) (bool, error) {
	account, err := AccountOf(ctx, tx, partner)
	return account != "", err
}

// RequireAffiliate fails with [fault.Forbidden] for a partner without an affiliate account.
func (s *Service) RequireAffiliate(ctx context.Context, partner string) error {
	return s.cfg.DB.Read(ctx, func(tx store.Tx) error { return s.RequireAffiliateIn(ctx, tx, partner) })
}

// RequireAffiliateIn is [Service.RequireAffiliate] within a transaction of the caller.
func (s *Service) RequireAffiliateIn(ctx context.Context, tx store.Tx, partner string) error {
	linked, err := isAffiliate(ctx, tx, partner)
	if err != nil {
		return err
	}
	if !linked {
		return fault.New(fault.Forbidden, "the partner is not linked to an affiliate account").WithHint("ask the operator to link it")
	}
	return nil
}
