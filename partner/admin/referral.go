package admin

import (
	"context"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/referral"
	"github.com/namewharf/namewharf/store"
)

// LinkAffiliate links a partner to an account that exists, in the place of the one before, so that it may refer buyers. It fails
// with [fault.NotFound].
func (o *Operator) LinkAffiliate(ctx context.Context, partnerID, accountID string) error {
	err := o.db.Tx(ctx, func(tx store.Tx) error {
		if _, err := approvedAt(ctx, tx, partnerID); err != nil { // is there such a partner
			return err
		}
		before, err := referral.AccountOf(ctx, tx, partnerID)
		if err != nil || before == accountID {
			return err
		}
		if err := referral.LinkAccount(ctx, tx, partnerID, accountID, o.now()); err != nil {
			return err
		}
		return o.by.Record(ctx, tx, "partner.affiliate", partnerID, map[string]any{"before": before, "after": accountID})
	})
	return fault.Wrap("link an affiliate", err)
}
