package admin

import (
	"cmp"
	"context"
	"time"

	"github.com/namewharf/namewharf/audit"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/ledger"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/partner/settlement"
	"github.com/namewharf/namewharf/partner/wiring"
	"github.com/namewharf/namewharf/store"
)

// Settle runs a settlement; see [settlement.Run.Do]. It completes the run with what it works on.
func (o *Operator) Settle(ctx context.Context, r settlement.Run) (settlement.Report, error) {
	r.DB, r.Sales, r.Now, r.By = o.db, o.services.Sales, o.now, o.by
	return r.Do(ctx)
}

// Statements is a page of the statements of partners, by the beginning of their periods. It fails with [fault.Validation].
func (o *Operator) Statements(ctx context.Context, f ledger.Filter) (all []ledger.Statement, next *ledger.Position, err error) {
	err = o.db.Read(ctx, func(tx store.Tx) error {
		all, next, err = ledger.Statements(ctx, tx, f)
		return err
	})
	return all, next, err
}

// Statement is a statement of any partner with the first of its lines, the newest first. It fails with [fault.NotFound].
func (o *Operator) Statement(ctx context.Context, id string, lines int) (s ledger.Statement, all []ledger.Line, err error) {
	err = o.db.Read(ctx, func(tx store.Tx) error {
		if s, err = ledger.StatementOf(ctx, tx, ledger.Owner{}, id); err != nil {
			return err
		}
		all, _, err = ledger.Lines(ctx, tx, id, lines, nil)
		return err
	})
	return s, all, err
}

// MarkStatementPaid says that a partner has paid what it owed by a statement. It fails as [ledger.MarkPaid] does.
func (o *Operator) MarkStatementPaid(ctx context.Context, id, reference string) (s ledger.Statement, err error) {
	err = o.db.Tx(ctx, func(tx store.Tx) error {
		if s, err = ledger.StatementOf(ctx, tx, ledger.Owner{}, id); err != nil {
			return err
		}
		now, err := o.local(ctx, tx, s.Owner)
		if err != nil {
			return err
		}
		if s, err = ledger.MarkPaid(ctx, tx, id, reference, now); err != nil {
			return err
		}
		return o.by.Record(ctx, tx, "settlement.mark-paid", id, amountDetails(s.Owner, money.Amount{Cents: s.Owed, Currency: s.Currency}, reference))
	})
	return s, fault.Wrap("mark a statement as paid", err)
}

// Payouts is a page of the payouts of partners, by their creation. It fails with [fault.Validation].
func (o *Operator) Payouts(ctx context.Context, f ledger.Filter) (all []ledger.Disbursement, next *ledger.Position, err error) {
	err = o.db.Read(ctx, func(tx store.Tx) error {
		all, next, err = ledger.Payouts(ctx, tx, f)
		return err
	})
	return all, next, err
}

// CreatePayouts makes payouts of all that can be paid to a partner, one a source and currency, in one currency or, where that
// is empty, in all. A dry run returns them without ids and makes none. It fails with [fault.NotFound].
func (o *Operator) CreatePayouts(ctx context.Context, partnerID string, env credential.Environment, currency string, dryRun bool) (all []ledger.Disbursement, err error) {
	if _, err := o.Partner(ctx, partnerID); err != nil {
		return nil, err
	}
	owner := ledger.Owner{Partner: partnerID, Environment: string(env)}
	if dryRun {
		err = o.db.Read(ctx, func(tx store.Tx) error {
			all, err = ledger.Payable(ctx, tx, owner, currency)
			return err
		})
		return all, err
	}
	err = o.db.Tx(ctx, func(tx store.Tx) error {
		now, err := o.local(ctx, tx, owner)
		if err != nil {
			return err
		}
		if all, err = ledger.CreatePayouts(ctx, tx, owner, currency, now); err != nil {
			return err
		}
		for _, d := range all {
			details := amountDetails(owner, d.Amount, "")
			details["source"] = d.Source
			if err := o.by.Record(ctx, tx, "payout.create", d.ID, details); err != nil {
				return err
			}
		}
		return nil
	})
	return all, fault.Wrap("make payouts", err)
}

// PayPayout says that a payout was paid. It fails as [ledger.PayPayout] does.
func (o *Operator) PayPayout(ctx context.Context, id, reference string) (ledger.Disbursement, error) {
	return o.endPayout(ctx, "payout.mark-paid", id, o.by, func(tx store.Tx, now time.Time) (ledger.Disbursement, error) {
		return ledger.PayPayout(ctx, tx, id, reference, now)
	})
}

// FailPayout says that a payout could not be paid; its commissions are pending again. It fails as [ledger.FailPayout] does.
func (o *Operator) FailPayout(ctx context.Context, id, reason string) (ledger.Disbursement, error) {
	by := o.by
	by.Reason = cmp.Or(reason, by.Reason)
	return o.endPayout(ctx, "payout.fail", id, by, func(tx store.Tx, now time.Time) (ledger.Disbursement, error) {
		return ledger.FailPayout(ctx, tx, id, reason, now)
	})
}

func (o *Operator) endPayout(ctx context.Context, action, id string, by audit.Author, end func(tx store.Tx, now time.Time) (ledger.Disbursement, error)) (d ledger.Disbursement, err error) {
	err = o.db.Tx(ctx, func(tx store.Tx) error {
		owner, err := ledger.PayoutOwner(ctx, tx, id)
		if err != nil {
			return err
		}
		now, err := o.local(ctx, tx, owner)
		if err != nil {
			return err
		}
		if d, err = end(tx, now); err != nil {
			return err
		}
		return by.Record(ctx, tx, action, id, amountDetails(owner, d.Amount, d.Reference))
	})
	return d, fault.Wrap(action, err)
}

// local is the time of an owner.
func (o *Operator) local(ctx context.Context, tx store.Tx, owner ledger.Owner) (time.Time, error) {
	return wiring.LocalTime(ctx, tx, o.now(), credential.Party{Partner: owner.Partner, Environment: credential.Environment(owner.Environment)})
}

// amountDetails are the details of a payment in the audit log.
func amountDetails(owner ledger.Owner, a money.Amount, reference string) map[string]any {
	details := map[string]any{"partner": owner.Partner, "environment": owner.Environment, "amount_cents": a.Cents, "currency": a.Currency}
	if reference != "" {
		details["reference"] = reference
	}
	return details
}
