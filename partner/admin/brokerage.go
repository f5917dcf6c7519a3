package admin

import (
	"cmp"
	"context"

	"github.com/namewharf/namewharf/brokerage"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/partner/wiring"
	"github.com/namewharf/namewharf/store"
)

// Cases is a page of the brokerage cases of all partners, the newest first.
func (o *Operator) Cases(ctx context.Context, f brokerage.Filter) (brokerage.Page, error) {
	return o.services.Cases.List(ctx, brokerage.Party{}, f)
}

// Case is a brokerage case of any partner, with its timeline and what its buyer offered, the newest offer first. It fails with
// [fault.NotFound].
func (o *Operator) Case(ctx context.Context, id string) (brokerage.Case, []brokerage.Offer, error) {
	c, err := o.services.Cases.Case(ctx, brokerage.Party{}, id)
	if err != nil {
		return brokerage.Case{}, nil, err
	}
	offers, err := o.services.Cases.Offers(ctx, id)
	return c, offers, err
}

// ActOnCase does an action to a brokerage case of any partner, by the partner's clock. It fails with [fault.NotFound] and
// [fault.Validation], and with [fault.Conflict] when the case does not allow it as it stands.
func (o *Operator) ActOnCase(ctx context.Context, id string, change brokerage.Change, reason string) (acted brokerage.Case, err error) {
	by := brokerage.Actor{Name: o.by.Name, Reason: cmp.Or(reason, o.by.Reason)}
	err = o.db.Tx(ctx, func(tx store.Tx) error {
		before, err := o.services.Cases.CaseIn(ctx, tx, brokerage.Party{}, id)
		if err != nil {
			return err
		}
		now, err := wiring.LocalTime(ctx, tx, o.now(), credential.Party{Partner: before.Partner, Environment: credential.Environment(before.Environment)})
		if err != nil {
			return err
		}
		acted, err = o.services.Cases.Transition(ctx, tx, id, change, by, now)
		return err
	})
	return acted, err
}
