package main

import (
	"context"
	"flag"
	"fmt"
	"io"

	"github.com/namewharf/namewharf/event"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/partner"
)

// checkLedger fails where it finds a violation.
func checkLedger(ctx context.Context, d *desk, op *partner.Operator, _ []string) error {
	report, err := op.CheckLedger(ctx)
	if err != nil {
		return err
	}
	if err := d.print(report, func(w io.Writer) { fmt.Fprintln(w, report) }); err != nil {
		return err
	}
	if n := len(report.Violations); n > 0 {
		return fmt.Errorf("%d violations found", n)
	}
	return nil
}

func auditFlags(fs *flag.FlagSet, o *options) {
	fs.StringVar(&o.subject, "subject", "", "`id` of an order, a credential or a partner, or a domain")
}

// showAudit tells who did what, the newest first.
func showAudit(ctx context.Context, d *desk, op *partner.Operator, _ []string) error {
	records, err := op.Audit(ctx, d.subject, "", d.limit)
	if err != nil {
		return err
	}
	return d.print(records, func(w io.Writer) {
		fmt.Fprintln(w, "at\twho\tdid\tto\twhy")
		for _, r := range records {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", day(r.At), r.Actor, r.Action, r.Subject, r.Reason)
		}
	})
}

// receiver reads whose webhooks a command is about, and opens the partner business.
func (d *desk) receiver(ctx context.Context) (market.Environment, *partner.Operator, error) {
	env, err := d.environment()
	if err != nil {
		return "", nil, err
	}
	if d.partner == "" {
		return "", nil, usagef("-partner is required")
	}
	op, err := d.operator(ctx)
	return env, op, err
}

// showDeliveries lists what was sent to a partner, the latest first.
func showDeliveries(ctx context.Context, d *desk, _ []string) error {
	env, op, err := d.receiver(ctx)
	if err != nil {
		return err
	}
	all, _, err := op.Deliveries(ctx, d.partner, env, event.DeliveryFilter{Status: event.Status(d.status), Limit: d.limit})
	if err != nil {
		return plain(err)
	}
	return d.print(all, func(w io.Writer) {
		fmt.Fprintln(w, "delivery\tevent\ttype\tstatus\tattempts\tnext")
		for _, r := range all {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\n", r.ID, r.EventID, r.EventType, r.Status, len(r.Attempts), day(r.NextTryAt))
		}
	})
}

// redeliver has an event sent once more.
func redeliver(ctx context.Context, d *desk, args []string) error {
	env, op, err := d.receiver(ctx)
	if err != nil {
		return err
	}
	delivery, err := op.Redeliver(ctx, d.partner, env, args[0])
	if err != nil {
		return plain(err)
	}
	return d.print(delivery, func(w io.Writer) { fmt.Fprintf(w, "delivery\t%s\nstatus\t%s\n", delivery.ID, delivery.Status) })
}
