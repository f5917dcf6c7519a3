package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/namewharf/namewharf/ledger"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/partner/admin"
)

// A payoutRow is a payout as it is printed.
type payoutRow struct {
	ID          string    `json:"payout_id,omitzero"` // a dry run has none
	Partner     string    `json:"partner_id"`
	Environment string    `json:"environment"`
	Source      string    `json:"source"`
	Amount      int64     `json:"amount_cents"`
	Currency    string    `json:"currency"`
	Status      string    `json:"status,omitzero"`
	Created     time.Time `json:"created_at,omitzero"`
	Ended       time.Time `json:"ended_at,omitzero"` // when it was paid or failed
	Reference   string    `json:"reference,omitzero"`
	Reason      string    `json:"reason,omitzero"`
}

func newPayoutRows(all []ledger.Disbursement) []payoutRow {
	rows := make([]payoutRow, len(all))
	for i, d := range all {
		rows[i] = payoutRow{
			d.ID, d.Owner.Partner, d.Owner.Environment, string(d.Source), d.Amount.Cents, d.Amount.Currency, string(d.Status),
			d.Created, d.Ended, d.Reference, d.Reason,
		}
		if d.ID == "" {
			rows[i].Status = ""
		}
	}
	return rows
}

func (p *program) printPayouts(all []ledger.Disbursement, next *ledger.Position) error {
	return p.print(newPayoutRows(all), func(w io.Writer) {
		fmt.Fprintln(w, "payout\tpartner\tsource\tamount\tstatus\tcreated\treference")
		for _, d := range all {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", cmp.Or(d.ID, "-"), d.Owner.Partner, d.Source, d.Amount, d.Status, day(d.Created),
				cmp.Or(printable(cmp.Or(d.Reference, d.Reason)), "-"))
		}
		moreLines(w, next)
	})
}

func createPayouts(ctx context.Context, p *program, op *admin.Operator, _ []string) error {
	env, err := p.bookEnvironment()
	if err != nil {
		return err
	}
	if p.partner == "" {
		return usagef("-partner is required")
	}
	if p.books.currency != "" {
		if _, err := money.ParseCurrency(p.books.currency); err != nil {
			return usagef("-currency is %w", err)
		}
	}
	all, err := op.CreatePayouts(ctx, p.partner, env, p.books.currency, p.dryRun)
	if err != nil {
		return err
	}
	return p.printPayouts(all, nil)
}

func listPayouts(ctx context.Context, p *program, op *admin.Operator, _ []string) error {
	f, err := p.bookFilter("created", "paid", "failed")
	if err != nil {
		return err
	}
	all, next, err := op.Payouts(ctx, f)
	if err != nil {
		return err
	}
	return p.printPayouts(all, next)
}

func payPayout(ctx context.Context, p *program, op *admin.Operator, args []string) error {
	if p.books.reference == "" {
		return usagef("-reference is required: that of the payment")
	}
	d, err := op.PayPayout(ctx, args[0], p.books.reference)
	if err != nil {
		return err
	}
	return p.printPayouts([]ledger.Disbursement{d}, nil)
}

func failPayout(ctx context.Context, p *program, op *admin.Operator, args []string) error {
	if p.reason == "" {
		return usagef("-reason is required: why the payout could not be paid")
	}
	d, err := op.FailPayout(ctx, args[0], p.reason)
	if err != nil {
		return err
	}
	return p.printPayouts([]ledger.Disbursement{d}, nil)
}
