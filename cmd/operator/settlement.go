package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/namewharf/namewharf/ledger"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/partner/admin"
	"github.com/namewharf/namewharf/partner/settlement"
)

// bookOptions are the flags of the commands about statements and payouts.
type bookOptions struct {
	period, currency, reference string
	force                       bool
}

func periodFlags(fs *flag.FlagSet, o *options) {
	fs.StringVar(&o.books.period, "period", "", "`month` in UTC that is over, such as 2026-11")
	fs.BoolVar(&o.books.force, "force", false, "settle a month that is not over, in the sandbox")
}

func currencyFlag(fs *flag.FlagSet, o *options) {
	fs.StringVar(&o.books.currency, "currency", "", "`code` of the currency (ISO 4217); default all")
}

func referenceFlag(fs *flag.FlagSet, o *options) {
	fs.StringVar(&o.books.reference, "reference", "", "`reference` of the payment, such as the bank's")
}

func bookEnvFlag(fs *flag.FlagSet, o *options) {
	fs.StringVar(&o.env, "env", "", "`environment`, live or sandbox (default live)")
}

// bookEnvironment reads -env, which is live by default.
func (p *program) bookEnvironment() (market.Environment, error) {
	if p.env == "" {
		return market.Live, nil
	}
	return p.environment()
}

// settlementCommands are about what partners owe.
func (p *program) settlementCommands() *cobra.Command {
	return group("orders", "settlement", "What partners owe for sales that they collected",
		p.command(withOperator(runSettlement), &cobra.Command{
			Use: "run", Short: "Settle a month: make statements and settle their orders",
			Long: "Makes the statements of a month that is over, of one partner or of all, and settles their orders. What is settled stays so: a run that was interrupted goes on where it ended, and " +
				"a second run of a month takes what was not settled. In the sandbox a partner's month ends by its test clock, and partners whose month is not over are skipped.",
			Example: "  operator settlement run -period 2026-11 -dry-run\n  operator settlement run -period 2026-11 -json\n  operator settlement run -period 2026-11 -env sandbox -partner prt_01k8h3v6e4 -force",
		}, periodFlags, partnerFlag, bookEnvFlag, dryRunFlag),
		p.command(withOperator(listSettlements), &cobra.Command{
			Use: "list", Short: "List statements, the latest month first",
			Example: "  operator settlement list -status open\n  operator settlement list -partner prt_01k8h3v6e4 -env sandbox -json",
		}, partnerFlag, bookEnvFlag, statusFlag("of the statements, open or paid"), limitFlag),
		p.command(withOperator(showSettlement), &cobra.Command{
			Use: "show STATEMENT", Short: "Show a statement with its lines, the newest first", Example: "  operator settlement show stl_01k8h3v6e4 -limit 1000",
		}, limitFlag),
		p.command(withOperator(paySettlement), &cobra.Command{
			Use: "mark-paid STATEMENT", Short: "Record that a partner has paid what it owed",
			Example: "  operator settlement mark-paid stl_01k8h3v6e4 -reference \"wire 4711\"",
		}, referenceFlag),
	)
}

// payoutCommands are about what partners are paid.
func (p *program) payoutCommands() *cobra.Command {
	return group("orders", "payout", "What partners are paid: commissions and shares",
		p.command(withOperator(createPayouts), &cobra.Command{
			Use: "create", Short: "Make payouts of all that can be paid to a partner",
			Long: "Makes a payout for each source and currency of which something can be paid: commissions and shares of settled orders, shares of completed brokerage cases. " +
				"Where more is to be taken back than was earned, no payout is made, and all of it is carried over.",
			Example: "  operator payout create -partner prt_01k8h3v6e4 -dry-run\n  operator payout create -partner prt_01k8h3v6e4 -currency USD",
		}, partnerFlag, bookEnvFlag, currencyFlag, dryRunFlag),
		p.command(withOperator(listPayouts), &cobra.Command{
			Use: "list", Short: "List payouts, the newest first",
			Example: "  operator payout list -status created\n  operator payout list -partner prt_01k8h3v6e4 -env sandbox -json",
		}, partnerFlag, bookEnvFlag, statusFlag("of the payouts: created, paid or failed"), limitFlag),
		p.command(withOperator(payPayout), &cobra.Command{
			Use: "mark-paid PAYOUT", Short: "Record that a payout was paid", Example: "  operator payout mark-paid pay_01k8h3v6e4 -reference \"wire 4712\"",
		}, referenceFlag),
		p.command(withOperator(failPayout), &cobra.Command{
			Use: "fail PAYOUT", Short: "Record that a payout could not be paid; its commissions are pending again",
			Example: "  operator payout fail pay_01k8h3v6e4 -reason \"account closed\"",
		}),
	)
}

func runSettlement(ctx context.Context, p *program, op *admin.Operator, _ []string) error {
	env, err := p.bookEnvironment()
	if err != nil {
		return err
	}
	period, err := ledger.ParsePeriod(p.books.period)
	if err != nil {
		return usagef("-period is %w", err)
	}
	if p.books.force && env != market.Sandbox {
		return usagef("-force is for -env sandbox")
	}
	bar := newBar(p.stderr)
	bar.what = "settling"
	report, err := op.Settle(ctx, settlement.Run{
		Period: period, Environment: env, Partner: p.partner, DryRun: p.dryRun, Force: p.books.force,
		Progress: bar.progress, Waiting: func() { fmt.Fprintln(p.stderr, "another settlement is running: waiting for it") },
	})
	bar.end()
	if err != nil {
		return err
	}
	return p.print(report, func(w io.Writer) { printSettlement(w, report) })
}

func printSettlement(w io.Writer, r settlement.Report) {
	fmt.Fprintln(w, "partner\tstatement\tsold\trefunded\tretained\towed\torders\tservice-collected")
	for _, s := range r.Statements {
		in := func(cents int64) money.Amount { return money.Amount{Cents: cents, Currency: s.Currency} }
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\n", s.Partner, cmp.Or(s.ID, "-"), in(s.Gross), in(s.Refunded), in(s.Commission), in(s.Owed), s.Orders, s.ServiceCollected)
	}
	for _, s := range r.Skipped {
		fmt.Fprintf(w, "%s\tskipped: the month is not over by its clock, which shows %s\n", s.Partner, day(s.Clock))
	}
	if r.DryRun {
		fmt.Fprintf(w, "%s: %d statements would be made; nothing was changed\n", r.Period, len(r.Statements))
		return
	}
	fmt.Fprintf(w, "%s: %d statements, %d orders settled\n", r.Period, len(r.Statements), r.Settled)
}

// A statementRow is a statement as it is printed.
type statementRow struct {
	ID               string    `json:"settlement_id"`
	Partner          string    `json:"partner_id"`
	Environment      string    `json:"environment"`
	Start            time.Time `json:"period_start"`
	End              time.Time `json:"period_end"`
	Currency         string    `json:"currency"`
	Gross            int64     `json:"gross_sold_cents"`
	Refunded         int64     `json:"refunded_cents"`
	Commission       int64     `json:"commission_retained_cents"`
	Owed             int64     `json:"amount_owed_cents"`
	Orders           int64     `json:"order_count"`
	ServiceCollected int64     `json:"service_collected_count"`
	Status           string    `json:"status"`
	Closed           time.Time `json:"closed_at"`
	Paid             time.Time `json:"paid_at,omitzero"`
	Reference        string    `json:"reference,omitzero"`
}

func newStatementRow(s ledger.Statement) statementRow {
	return statementRow{
		s.ID, s.Owner.Partner, s.Owner.Environment, s.Period.Start, s.Period.End, s.Currency, s.Gross, s.Refunded, s.Commission, s.Owed,
		s.Orders, s.ServiceCollected, string(s.Status), s.Closed, s.Paid, s.Reference,
	}
}

// bookFilter is the filter of a list.
func (p *program) bookFilter(statuses ...string) (ledger.Filter, error) {
	env, err := p.bookEnvironment()
	if err != nil {
		return ledger.Filter{}, err
	}
	status := strings.ToLower(p.status)
	if status != "" && !strings.Contains(" "+strings.Join(statuses, " ")+" ", " "+status+" ") {
		return ledger.Filter{}, usagef("-status must be %s", strings.Join(statuses, " or "))
	}
	return ledger.Filter{Owner: ledger.Owner{Partner: p.partner, Environment: string(env)}, Status: status, Limit: p.limit}, nil
}

func listSettlements(ctx context.Context, p *program, op *admin.Operator, _ []string) error {
	f, err := p.bookFilter("open", "paid")
	if err != nil {
		return err
	}
	all, next, err := op.Statements(ctx, f)
	if err != nil {
		return err
	}
	rows := make([]statementRow, len(all))
	for i, s := range all {
		rows[i] = newStatementRow(s)
	}
	return p.print(rows, func(w io.Writer) {
		fmt.Fprintln(w, "statement\tmonth\tpartner\towed\tstatus\torders\tservice-collected")
		for i, s := range all {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%d\n", s.ID, s.Period, s.Owner.Partner,
				money.Amount{Cents: rows[i].Owed, Currency: s.Currency}, s.Status, s.Orders, s.ServiceCollected)
		}
		moreLines(w, next)
	})
}

// moreLines says that a list is longer.
func moreLines(w io.Writer, next *ledger.Position) {
	if next != nil {
		fmt.Fprintln(w, "… there are more; narrow them down, or raise -limit")
	}
}

// A lineRow is a line of a statement as it is printed.
type lineRow struct {
	Order      string          `json:"order_id"`
	Domain     string          `json:"domain"`
	Type       ledger.LineType `json:"type"`
	Gross      int64           `json:"gross_cents"`
	Commission int64           `json:"commission_cents"`
	Owed       int64           `json:"owed_cents"`
	At         time.Time       `json:"at"`
}

func showSettlement(ctx context.Context, p *program, op *admin.Operator, args []string) error {
	s, lines, err := op.Statement(ctx, args[0], p.limit)
	if err != nil {
		return err
	}
	result := struct {
		statementRow
		Lines []lineRow `json:"lines"`
	}{newStatementRow(s), make([]lineRow, len(lines))}
	for i, l := range lines {
		result.Lines[i] = lineRow{l.Order, l.Domain, l.Type, l.Gross, l.Commission, l.Owed, l.At}
	}
	return p.print(result, func(w io.Writer) {
		in := func(cents int64) money.Amount { return money.Amount{Cents: cents, Currency: s.Currency} }
		printStatement(w, s)
		for _, l := range lines {
			fmt.Fprintf(w, "%s\t%s, %s, %s, commission %s, owed %s, %s\n", l.Type, l.Order, l.Domain, in(l.Gross), in(l.Commission), in(l.Owed), day(l.At))
		}
		if more := s.Orders + s.ServiceCollected - int64(len(lines)); more > 0 {
			fmt.Fprintln(w, "… there are more lines; raise -limit")
		}
	})
}

func printStatement(w io.Writer, s ledger.Statement) {
	in := func(cents int64) money.Amount { return money.Amount{Cents: cents, Currency: s.Currency} }
	fmt.Fprintf(w, "statement\t%s\nmonth\t%s\npartner\t%s\nenvironment\t%s\nsold\t%s\nrefunded\t%s\nretained\t%s\nowed\t%s\nstatus\t%s\nclosed\t%s\n",
		s.ID, s.Period, s.Owner.Partner, s.Owner.Environment, in(s.Gross), in(s.Refunded), in(s.Commission), in(s.Owed), s.Status, day(s.Closed))
	if s.Status == ledger.StatementPaid {
		fmt.Fprintf(w, "paid\t%s\nreference\t%s\n", day(s.Paid), printable(s.Reference))
	}
}

func paySettlement(ctx context.Context, p *program, op *admin.Operator, args []string) error {
	if p.books.reference == "" {
		return usagef("-reference is required: that of the payment")
	}
	s, err := op.MarkStatementPaid(ctx, args[0], p.books.reference)
	if err != nil {
		return err
	}
	return p.print(newStatementRow(s), func(w io.Writer) { printStatement(w, s) })
}
