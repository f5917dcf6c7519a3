package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/namewharf/namewharf/audit"
	"github.com/namewharf/namewharf/event"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/partner/admin"
)

// checkLedger fails where it finds a violation.
func checkLedger(ctx context.Context, d *desk, op *admin.Operator, _ []string) error {
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
	fs.StringVar(&o.subject, "subject", "", "`id` of an order, a credential, a partner or an account, or a domain")
	fs.StringVar(&o.actor, "actor", "", "`name` of who did it: a user of this machine, or \"partner \" and an id")
	fs.StringVar(&o.action, "action", "", "what was done: `action`, e.g. order.refund, or order for all that was done to orders")
	fs.StringVar(&o.since, "since", "", "`time` from which on, e.g. 24h or 7d ago, 2026-11-01 or 2026-11-01T08:00:00Z")
}

// maxAudit is how many lines of the audit log are printed at most.
const maxAudit = 1000

// showAudit tells who did what, the newest first.
func showAudit(ctx context.Context, d *desk, _ []string) error {
	filter := audit.Filter{Actor: d.actor, Action: d.action, Subject: d.subject, Limit: d.limit}
	var err error
	if filter.Since, err = parseSince(d.since, time.Now()); err != nil {
		return usageError{err}
	}
	if d.limit < 1 || d.limit > maxAudit {
		return usagef("-limit must be from 1 to %d", maxAudit)
	}
	db, err := d.open(ctx)
	if err != nil {
		return err
	}
	lines, err := audit.Lines(ctx, db, filter)
	if err != nil {
		return err
	}
	return d.print(lines, func(w io.Writer) {
		fmt.Fprintln(w, "at\twho\tdid\tto\twhy\tdetails")
		for _, l := range lines {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", day(l.At), printable(l.Actor), l.Action, cmp.Or(l.Subject, "-"), cmp.Or(printable(l.Reason), "-"), printable(detailText(l.Details)))
		}
		if len(lines) == d.limit {
			fmt.Fprintln(w, "… there may be more; narrow them down, or raise -limit")
		}
	})
}

// detailText is the details of a line in a table: nothing where there are none.
func detailText(details json.RawMessage) string {
	if string(details) == "{}" {
		return ""
	}
	return string(details)
}

// parseSince reads a time: how long ago, in the units of Go or days, or a date or a time in UTC. Empty is the zero time.
func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if number, ok := strings.CutSuffix(text, "d"); ok {
		if days, err := strconv.Atoi(number); err == nil && days >= 0 && days < 100_000 {
			return now.AddDate(0, 0, -days), nil
		}
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, errors.New("-since must be how long ago, such as 24h or 7d, or a date or time such as 2026-11-01 or 2026-11-01T08:00:00Z")
}

// receiver reads whose webhooks a command is about, and opens the partner business.
func (d *desk) receiver(ctx context.Context) (market.Environment, *admin.Operator, error) {
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
