package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/namewharf/namewharf/internal/partnercli"
	"github.com/namewharf/namewharf/partner/admin"
	"github.com/namewharf/namewharf/payment"
)

// paymentCommands are about what buyers paid the service.
func (p *program) paymentCommands() *cobra.Command {
	return group("orders", "payment", "Payments of buyers at the checkout",
		p.command(listPayments, &cobra.Command{
			Use: "list", Short: "List payments, the newest first, those that were voided included",
			Example: "  operator payment list -order ord_01k8h3v6e4\n  operator payment list -status captured -limit 100 -json",
		}, orderFlag, statusFlag("of the payments, e.g. captured"), limitFlag),
		p.command(withOperator(showPayment), &cobra.Command{Use: "show PAYMENT", Short: "Show a payment", Example: "  operator payment show pmt_01k8h3v6e4"}),
		p.command(withOperator(disputePayment), &cobra.Command{
			Use: "dispute PAYMENT", Short: "Play a buyer who disputes a payment by the test provider",
			Example: "  operator payment dispute pmt_01k8h3v6e4",
		}),
		p.command(withOperator(chargeBack), &cobra.Command{
			Use: "chargeback PAYMENT", Short: "Record that a dispute was lost; the order is undone, whatever its state",
			Example: "  operator payment chargeback pmt_01k8h3v6e4 -reason \"dispute dp_4711\"",
		}),
	)
}

func listPayments(ctx context.Context, p *program, _ []string) error {
	op, err := p.operator(ctx)
	if err != nil {
		return err
	}
	all, next, err := op.Payments(ctx, payment.Filter{Order: p.order, State: payment.State(p.status), Limit: p.limit})
	if err != nil {
		return plainError(err)
	}
	return p.print(all, func(w io.Writer) {
		fmt.Fprintln(w, "payment\tcreated\tstate\tto do\tamount\torder\tprovider\tenvironment\tpartner")
		for _, r := range all {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.ID, day(r.CreatedAt), r.State, cmp.Or(string(r.Todo), "-"), r.Amount(),
				cmp.Or(r.OrderID, "-"), r.Provider, r.Environment, r.Partner)
		}
		if next != "" {
			fmt.Fprintln(w, "… there are more; narrow them down by -order and -status, or raise -limit")
		}
	})
}

func showPayment(ctx context.Context, p *program, op *admin.Operator, args []string) error {
	r, err := op.Payment(ctx, args[0])
	return p.printPayment(r, err)
}

func disputePayment(ctx context.Context, p *program, op *admin.Operator, args []string) error {
	r, err := op.Dispute(ctx, args[0])
	return p.printPayment(r, err)
}

func chargeBack(ctx context.Context, p *program, op *admin.Operator, args []string) error {
	r, err := op.Chargeback(ctx, args[0])
	return p.printPayment(r, err)
}

func (p *program) printPayment(r payment.Payment, err error) error {
	if err != nil {
		return err
	}
	return p.print(r, func(w io.Writer) {
		fmt.Fprintf(w, "payment\t%s\nstate\t%s\namount\t%s\norder\t%s\nsession\t%s\nprovider\t%s %s\nenvironment\t%s\npartner\t%s\n",
			r.ID, r.State, r.Amount(), cmp.Or(r.OrderID, "-"), r.Purchase, r.Provider, r.Reference, r.Environment, r.Partner)
		if r.Todo != payment.ToNothing {
			fmt.Fprintf(w, "to do\t%s, at %s, after %d failures %s\n", r.Todo, r.NextTry.UTC().Format(time.RFC3339), r.Attempts, r.Failure)
		}
	})
}

// devBuy plays a buyer at a checkout.
func devBuy(ctx context.Context, p *program, args []string) error {
	bought, err := partnercli.Buy(ctx, partnercli.Buyer{
		URL: args[0], Card: p.dev.card, Email: p.dev.email, Approve: !p.dev.refuse,
	})
	if err != nil {
		return err
	}
	return p.print(bought, func(w io.Writer) {
		fmt.Fprintf(w, "result\t%s\n", bought.Result)
		if bought.OrderID != "" {
			fmt.Fprintf(w, "order\t%s\n", bought.OrderID)
		}
		if bought.ReturnedTo != "" {
			fmt.Fprintf(w, "returned to\t%s\n", bought.ReturnedTo)
		}
	})
}
