package credential

import (
	"context"
	"fmt"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/store"
)

// A Partner is what the services need to know of a partner.
type Partner struct {
	Name      string
	Suspended bool
	Terms     Terms
}

// PartnerOf reads a partner. It fails with [fault.NotFound].
func PartnerOf(ctx context.Context, tx store.Tx, id string) (p Partner, err error) {
	var suspended int64
	r := &p.Terms.Rates
	err = tx.QueryRow(ctx, `
		SELECT name, suspended_at, review_limit_cents, service_bp, partner_bp, broker_bp, referral_bp FROM partners WHERE id = $1`, id).
		Scan(&p.Name, &suspended, &p.Terms.ReviewLimitCents, &r.Service, &r.Partner, &r.Broker, &r.Referral)
	p.Suspended = suspended != 0
	switch {
	case store.IsNoRows(err):
		return Partner{}, fault.New(fault.NotFound, "there is no such partner")
	case err != nil:
		return Partner{}, fmt.Errorf("read a partner: %w", err)
	}
	return p, nil
}
