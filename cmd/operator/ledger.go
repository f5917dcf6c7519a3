package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/namewharf/namewharf/audit"
	"github.com/namewharf/namewharf/event"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/partner/admin"
)

// ledgerCommands are the commands of the ledger.
func (p *program) ledgerCommands() *cobra.Command {
	return group("orders", "ledger", "The ledger",
		p.command(withOperator(checkLedger), &cobra.Command{
			Use: "check", Short: "Compare the ledger with itself and with the orders",
			Long:    "Compares the ledger with itself and with the orders. The exit status is 1 where they disagree.",
			Example: "  operator ledger check -json",
		}),
	)
}

// auditCommand shows the audit log.
func (p *program) auditCommand() *cobra.Command {
	c := p.command(showAudit, &cobra.Command{
		Use: "audit", Short: "Show who did what and why, the newest first", GroupID: "orders",
		Long:    "Shows who did what and why, the newest first. Every command that changes something leaves a line, in the transaction of the change, with the -reason that it was given.",
		Example: "  operator audit -since 7d -action order\n  operator audit -actor ada -subject prt_01k8h3v6e4 -json",
	}, auditFlags, limitFlag)
	return c
}

// webhookCommands are the commands of webhook deliveries.
func (p *program) webhookCommands() *cobra.Command {
	return group("partners", "webhook", "Events sent to partners",
		p.command(showDeliveries, &cobra.Command{
			Use: "deliveries", Short: "List what was sent to a partner, the latest first",
			Example: "  operator webhook deliveries -partner prt_01k8h3v6e4 -env live -status failed",
		}, partnerFlag, envFlag, statusFlag("of the deliveries, e.g. failed"), limitFlag),
		p.command(redeliver, &cobra.Command{
			Use: "redeliver DELIVERY", Short: "Send an event once more",
			Example: "  operator webhook redeliver dlv_01k8h3v6e4 -partner prt_01k8h3v6e4 -env live",
		}, partnerFlag, envFlag),
	)
}

// checkLedger fails where it finds a violation.
func checkLedger(ctx context.Context, p *program, op *admin.Operator, _ []string) error {
	report, err := op.CheckLedger(ctx)
	if err != nil {
		return err
	}
	if err := p.print(report, func(w io.Writer) { fmt.Fprintln(w, report) }); err != nil {
		return err
	}
	if n := len(report.Violations); n > 0 {
		return fmt.Errorf("%d violations found", n)
	}
	return nil
}

// maxAudit is how many lines of the audit log are printed at most.
const maxAudit = 1000

// showAudit prints the audit log, the newest entries first.
func showAudit(ctx context.Context, p *program, _ []string) error {
	filter := audit.Filter{Actor: p.actor, Action: p.action, Subject: p.subject, Limit: p.limit}
	var err error
	if filter.Since, err = parseSince(p.since, time.Now()); err != nil {
		return usageError{err}
	}
	if p.limit < 1 || p.limit > maxAudit {
		return usagef("-limit must be from 1 to %d", maxAudit)
	}
	db, err := p.open(ctx)
	if err != nil {
		return err
	}
	lines, err := audit.Lines(ctx, db, filter)
	if err != nil {
		return err
	}
	return p.print(lines, func(w io.Writer) {
		fmt.Fprintln(w, "at\twho\tdid\tto\twhy\tdetails")
		for _, l := range lines {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", day(l.At), printable(l.Actor), l.Action, cmp.Or(l.Subject, "-"), cmp.Or(printable(l.Reason), "-"), printable(detailText(l.Details)))
		}
		if len(lines) == p.limit {
			fmt.Fprintln(w, "… there may be more; narrow them down, or raise -limit")
		}
	})
}

// detailText returns the details of a line for a table, empty if there are none.
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

// receiver returns the party of -partner and -env, and the partner services.
func (p *program) receiver(ctx context.Context) (market.Environment, *admin.Operator, error) {
	env, err := p.environment()
	if err != nil {
		return "", nil, err
	}
	if p.partner == "" {
		return "", nil, usagef("-partner is required")
	}
	op, err := p.operator(ctx)
	return env, op, err
}

// showDeliveries lists what was sent to a partner, the latest first.
func showDeliveries(ctx context.Context, p *program, _ []string) error {
	env, op, err := p.receiver(ctx)
	if err != nil {
		return err
	}
	all, _, err := op.Deliveries(ctx, p.partner, env, event.DeliveryFilter{Status: event.Status(p.status), Limit: p.limit})
	if err != nil {
		return plainError(err)
	}
	return p.print(all, func(w io.Writer) {
		fmt.Fprintln(w, "delivery\tevent\ttype\tstatus\tattempts\tnext")
		for _, r := range all {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\n", r.ID, r.EventID, r.EventType, r.Status, len(r.Attempts), day(r.NextTryAt))
		}
	})
}

// redeliver sends an event once more.
func redeliver(ctx context.Context, p *program, args []string) error {
	env, op, err := p.receiver(ctx)
	if err != nil {
		return err
	}
	delivery, err := op.Redeliver(ctx, p.partner, env, args[0])
	if err != nil {
		return plainError(err)
	}
	return p.print(delivery, func(w io.Writer) { fmt.Fprintf(w, "delivery\t%s\nstatus\t%s\n", delivery.ID, delivery.Status) })
}
