package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/namewharf/namewharf/brokerage"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/partner/admin"
)

// brokerageCommands are about acquisition cases.
func (p *program) brokerageCommands() *cobra.Command {
	act := func(a brokerage.Action, short, example string, flags ...option) *cobra.Command {
		return p.command(actOnCase(a), &cobra.Command{
			Use: string(a) + " CASE", Short: short, Example: "  operator brokerage " + string(a) + " bkc_01k8h3v6e4" + example,
		}, append([]option{envFlag, notesFlags}, flags...)...)
	}
	return group("orders", "brokerage", "Acquisition cases of partners",
		p.command(listCases, &cobra.Command{
			Use: "list", Short: "List cases, the newest first; those of LIVE unless -env says sandbox",
			Example: "  operator brokerage list -status NEGOTIATING\n  operator brokerage list -env sandbox -json",
		}, envFlag, statusFlag("of the cases, e.g. NEGOTIATING"), limitFlag),
		p.command(withOperator(showCase), &cobra.Command{
			Use: "show CASE", Short: "Show a case with its timeline, notes and offers", Example: "  operator brokerage show bkc_01k8h3v6e4",
		}, envFlag),
		act(brokerage.Contact, "Record that the owner was written to", " -public-note \"We have written to the owner.\""),
		act(brokerage.Negotiate, "Record that the owner answered", " -note \"asks for 9 000\""),
		act(brokerage.Agree, "Record the price that was agreed on", " -price-cents 450000", priceFlag),
		act(brokerage.Complete, "Record that the domain was acquired, which accrues the partner's share", ""),
		act(brokerage.Close, "End a case without a deal", " -reason \"the owner does not sell\""),
	)
}

func notesFlags(fs *flag.FlagSet, o *options) {
	fs.StringVar(&o.note, "note", "", "`text` for operators")
	fs.StringVar(&o.publicNote, "public-note", "", "`text` for the buyer and the partner")
}

func priceFlag(fs *flag.FlagSet, o *options) {
	fs.Int64Var(&o.priceCents, "price-cents", 0, "agreed `price`, in cents of the currency of the case")
}

// A caseRow is a case as it is printed: what its partner sees, but for the link to the buyer's page, and what is for operators.
type caseRow struct {
	brokerage.Case
	Partner     string     `json:"partner_id"`
	Environment string     `json:"environment"`
	BuyerEmail  string     `json:"buyer_email,omitzero"`
	Timeline    []caseStep `json:"timeline,omitzero"`
	Offers      []offerRow `json:"offers,omitzero"`
}

// A caseStep is a line of the timeline with the operator's note.
type caseStep struct {
	brokerage.Step
	Private string `json:"private_note,omitzero"`
}

// An offerRow is an offer of the buyer.
type offerRow struct {
	At          time.Time `json:"at"`
	AmountCents int64     `json:"amount_cents"`
	Currency    string    `json:"currency"`
	Message     string    `json:"message,omitzero"`
}

func newCaseRow(c brokerage.Case, offers []brokerage.Offer) caseRow {
	row := caseRow{Case: c, Partner: c.Partner, Environment: c.Environment, BuyerEmail: c.BuyerEmail}
	row.ProgressURL = "" // who has it may make offers in the buyer's name
	for _, s := range c.Timeline {
		row.Timeline = append(row.Timeline, caseStep{s, s.Private})
	}
	for _, o := range offers {
		row.Offers = append(row.Offers, offerRow{o.At, o.Amount.Cents, o.Amount.Currency, o.Message})
	}
	return row
}

func listCases(ctx context.Context, p *program, _ []string) error {
	env := market.Live
	if p.env != "" {
		var err error
		if env, err = p.environment(); err != nil {
			return err
		}
	}
	op, err := p.operator(ctx)
	if err != nil {
		return err
	}
	page, err := op.Cases(ctx, brokerage.Filter{Environment: string(env), Status: brokerage.State(strings.ToUpper(p.status)), Limit: p.limit})
	if err != nil {
		return plainError(err)
	}
	rows := make([]caseRow, len(page.Cases))
	for i, c := range page.Cases {
		rows[i] = newCaseRow(c, nil)
	}
	return p.print(rows, func(w io.Writer) {
		fmt.Fprintln(w, "case\topened\tstatus\ttier\tdomain\tbudget\tprice\tpartner")
		for _, r := range rows {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.CaseID, day(r.CreatedAt), r.Status, r.Tier, r.Domain,
				money.Amount{Cents: r.Budget, Currency: r.Currency}, cents(r.PriceCents), r.Partner)
		}
		if page.Next != nil {
			fmt.Fprintln(w, "… there are more; narrow them down by -status, or raise -limit")
		}
	})
}

func showCase(ctx context.Context, p *program, op *admin.Operator, args []string) error {
	c, offers, err := p.findCase(ctx, op, args[0])
	if err != nil {
		return err
	}
	return p.printCase(newCaseRow(c, offers))
}

// findCase reads a case, of the environment that -env names if it does.
func (p *program) findCase(ctx context.Context, op *admin.Operator, id string) (brokerage.Case, []brokerage.Offer, error) {
	c, offers, err := op.Case(ctx, id)
	if err != nil || p.env == "" {
		return c, offers, err
	}
	env, err := p.environment()
	if err == nil && string(env) != c.Environment {
		err = usagef("the case is of %s", strings.ToLower(c.Environment))
	}
	return c, offers, err
}

func (p *program) printCase(r caseRow) error {
	return p.print(r, func(w io.Writer) {
		fmt.Fprintf(w, "case\t%s\nstatus\t%s\ndomain\t%s\ntier\t%s\nbudget\t%s\n", r.CaseID, r.Status, r.Domain, r.Tier,
			money.Amount{Cents: r.Budget, Currency: r.Currency})
		if r.PriceCents > 0 {
			fmt.Fprintf(w, "price\t%s\n", money.Amount{Cents: r.PriceCents, Currency: r.Currency})
		}
		if r.Status == brokerage.Completed {
			fmt.Fprintf(w, "partner's share\t%s\n", money.Amount{Cents: r.PartnerShareCents, Currency: r.Currency})
		}
		if r.BuyerEmail != "" {
			fmt.Fprintf(w, "buyer\t%s\n", printable(r.BuyerEmail))
		}
		fmt.Fprintf(w, "environment\t%s\npartner\t%s\n", r.Environment, r.Partner)
		for _, s := range r.Timeline {
			fmt.Fprintf(w, "%s\t%s\t%s\n", s.At.UTC().Format(time.RFC3339), s.Status, printable(s.Note))
			if s.Private != "" {
				fmt.Fprintf(w, "\tfor operators\t%s\n", printable(s.Private))
			}
		}
		for _, o := range r.Offers {
			fmt.Fprintf(w, "%s\toffer of %s\t%s\n", o.At.UTC().Format(time.RFC3339), money.Amount{Cents: o.AmountCents, Currency: o.Currency}, printable(o.Message))
		}
	})
}

// actOnCase is the command that does an action to a case.
func actOnCase(a brokerage.Action) func(context.Context, *program, []string) error {
	return withOperator(func(ctx context.Context, p *program, op *admin.Operator, args []string) error {
		if a == brokerage.Agree && p.priceCents <= 0 {
			return usagef("-price-cents is required, and above zero")
		}
		if a == brokerage.Close && p.reason == "" {
			return usagef("-reason is required")
		}
		if _, _, err := p.findCase(ctx, op, args[0]); err != nil {
			return err
		}
		change := brokerage.Change{Action: a, PriceCents: p.priceCents, PublicNote: p.publicNote, PrivateNote: p.note}
		c, err := op.ActOnCase(ctx, args[0], change, p.reason)
		if err != nil {
			return err
		}
		return p.printCase(newCaseRow(c, nil))
	})
}
