package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/partner/admin"
	"github.com/namewharf/namewharf/sale"
)

func orderFlags(fs *flag.FlagSet, o *options) {
	fs.StringVar(&o.status, "status", "", "`status` of the orders, e.g. EXTERNALLY_PAID, or of the deliveries")
	fs.StringVar(&o.domain, "domain", "", "`name` that was sold")
	fs.IntVar(&o.limit, "limit", 25, "how many lines at most, up to 100")
}

// An orderRow is an order as it is printed: what its partner sees, and whose it is.
type orderRow struct {
	sale.Order
	Partner     string `json:"partner_id"`
	Environment string `json:"environment"`
}

func listOrders(ctx context.Context, d *desk, _ []string) error {
	op, err := d.operator(ctx)
	if err != nil {
		return err
	}
	filter := sale.Filter{Status: sale.State(strings.ToUpper(d.status)), Limit: d.limit}
	if d.domain != "" {
		if filter.Domain, err = fqdn.Parse(d.domain); err != nil {
			return usagef("-domain: the name %w", err)
		}
	}
	page, err := op.Orders(ctx, filter)
	if err != nil {
		return plain(err)
	}
	rows := make([]orderRow, len(page.Orders))
	for i, o := range page.Orders {
		rows[i] = orderRow{o, o.Partner, o.Environment}
	}
	return d.print(rows, func(w io.Writer) {
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

func showOrder(ctx context.Context, d *desk, op *admin.Operator, args []string) error {
	o, err := op.Order(ctx, args[0])
	if err != nil {
		return err
	}
	return d.printOrder(o)
}

func (d *desk) printOrder(o sale.Order) error {
	return d.print(orderRow{o, o.Partner, o.Environment}, func(w io.Writer) {
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

// actOnOrder is the command that does an action to an order.
func actOnOrder(a sale.Action) func(context.Context, *desk, []string) error {
	return withOperator(func(ctx context.Context, d *desk, op *admin.Operator, args []string) error {
		o, err := op.Act(ctx, args[0], a, d.reason)
		if err != nil {
			return err
		}
		return d.printOrder(o)
	})
}

// flagDomain makes sales of a domain wait for a person; unflagDomain ends that.
func flagDomain(ctx context.Context, d *desk, args []string) error {
	return d.review(ctx, args[0], true)
}

func unflagDomain(ctx context.Context, d *desk, args []string) error {
	return d.review(ctx, args[0], false)
}

func (d *desk) review(ctx context.Context, domain string, on bool) error {
	name, err := fqdn.Parse(domain)
	if err != nil {
		return usagef("the name %w", err)
	}
	op, err := d.operator(ctx)
	if err != nil {
		return err
	}
	do, what := op.Unflag, "unflagged"
	if on {
		do, what = op.Flag, "flagged: its sales wait for a person"
	}
	if err := do(ctx, name, d.reason); err != nil {
		return plain(err)
	}
	return d.done(what, name.String())
}
