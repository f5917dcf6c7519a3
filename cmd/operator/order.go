package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/partner/admin"
	"github.com/namewharf/namewharf/sale"
)

// orderCommands are the commands of orders.
func (p *program) orderCommands() *cobra.Command {
	act := func(name, short string, a sale.Action) *cobra.Command {
		return p.command(actOnOrder(a), &cobra.Command{Use: name + " ORDER", Short: short, Example: "  operator order " + name + " ord_01k8h3v6e4 -reason \"ticket 4711\""})
	}
	return group("orders", "order", "Orders of partners",
		p.command(listOrders, &cobra.Command{
			Use: "list", Short: "List orders, the newest first",
			Example: "  operator order list -status EXTERNALLY_PAID -limit 100\n  operator order list -domain brewhaven.com -json",
		}, statusFlag("of the orders, e.g. EXTERNALLY_PAID"), domainFlag, limitFlag),
		p.command(withOperator(showOrder), &cobra.Command{Use: "show ORDER", Short: "Show an order with its timeline", Example: "  operator order show ord_01k8h3v6e4"}),
		act("hold", "Hold an order for manual review", sale.Hold),
		act("clear", "End the review of a held order", sale.Clear),
		act("start-transfer", "Record that the push to the partner's registrar has begun", sale.StartTransfer),
		act("confirm-transfer", "Record that the name has arrived there", sale.ConfirmTransfer),
		act("cancel", "Undo a sale before the name has arrived", sale.Cancel),
		act("refund", "Refund a sale before the name has arrived; what the service collected goes back to the buyer", sale.RefundBuyer),
	)
}

// domainCommands are the commands of domains whose sales are reviewed.
func (p *program) domainCommands() *cobra.Command {
	return group("orders", "domain", "Domains whose sales are reviewed",
		p.command(flagDomain, &cobra.Command{Use: "flag DOMAIN", Short: "Hold sales of a domain for manual review", Example: "  operator domain flag brewhaven.com -reason \"a dispute\""}),
		p.command(unflagDomain, &cobra.Command{Use: "unflag DOMAIN", Short: "End that; orders that are held stay so until cleared", Example: "  operator domain unflag brewhaven.com"}),
	)
}

// An orderRow is an order as it is printed: what its partner sees, and whose it is.
type orderRow struct {
	sale.Order
	Partner     string `json:"partner_id"`
	Environment string `json:"environment"`
}

func listOrders(ctx context.Context, p *program, _ []string) error {
	op, err := p.operator(ctx)
	if err != nil {
		return err
	}
	filter := sale.Filter{Status: sale.State(strings.ToUpper(p.status)), Limit: p.limit}
	if p.domain != "" {
		if filter.Domain, err = fqdn.Parse(p.domain); err != nil {
			return usagef("-domain: the name %w", err)
		}
	}
	page, err := op.Orders(ctx, filter)
	if err != nil {
		return plainError(err)
	}
	rows := make([]orderRow, len(page.Orders))
	for i, o := range page.Orders {
		rows[i] = orderRow{o, o.Partner, o.Environment}
	}
	return p.print(rows, func(w io.Writer) {
		fmt.Fprintln(w, "order\tcreated\tstatus\treview\tdomain\tprice\tenvironment\tpartner")
		for _, r := range rows {
			review := string(r.Review)
			if review == "" {
				review = "-"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.PublicID, day(r.CreatedAt), r.Status, review, r.Domain, r.Price(), r.Environment, r.Partner)
		}
		if page.Next != nil {
			fmt.Fprintln(w, "… there are more; narrow them down by -status and -domain, or raise -limit")
		}
	})
}

func showOrder(ctx context.Context, p *program, op *admin.Operator, args []string) error {
	o, err := op.Order(ctx, args[0])
	if err != nil {
		return err
	}
	return p.printOrder(o)
}

func (p *program) printOrder(o sale.Order) error {
	return p.print(orderRow{o, o.Partner, o.Environment}, func(w io.Writer) {
		fmt.Fprintf(w, "order\t%s\nstatus\t%s\n", o.PublicID, o.Status)
		if o.Review != "" {
			fmt.Fprintf(w, "review\t%s\n", o.Review)
		}
		fmt.Fprintf(w, "domain\t%s\nprice\t%s\nenvironment\t%s\npartner\t%s\n", o.Domain, o.Price(), o.Environment, o.Partner)
		if o.ExternalPaymentRef != "" {
			fmt.Fprintf(w, "payment\t%s\n", o.ExternalPaymentRef)
		}
		for _, step := range o.Timeline {
			fmt.Fprintf(w, "%s\t%s\t%s\n", step.At.UTC().Format(time.RFC3339), step.Type, step.Status)
		}
	})
}

// actOnOrder returns the command that runs an action on an order.
func actOnOrder(a sale.Action) func(context.Context, *program, []string) error {
	return withOperator(func(ctx context.Context, p *program, op *admin.Operator, args []string) error {
		o, err := op.Transition(ctx, args[0], a, p.reason)
		if err != nil {
			return err
		}
		return p.printOrder(o)
	})
}

// flagDomain holds later sales of a domain for manual review; unflagDomain undoes that.
func flagDomain(ctx context.Context, p *program, args []string) error {
	return p.review(ctx, args[0], true)
}

func unflagDomain(ctx context.Context, p *program, args []string) error {
	return p.review(ctx, args[0], false)
}

func (p *program) review(ctx context.Context, domain string, on bool) error {
	name, err := fqdn.Parse(domain)
	if err != nil {
		return usagef("the name %w", err)
	}
	op, err := p.operator(ctx)
	if err != nil {
		return err
	}
	do, what := op.Unflag, "unflagged"
	if on {
		do, what = op.Flag, "flagged: its sales wait for a person"
	}
	if err := do(ctx, name, p.reason); err != nil {
		return plainError(err)
	}
	return p.done(what, name.String())
}
