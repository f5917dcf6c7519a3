package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os/user"
	"strings"
	"time"

	"github.com/namewharf/namewharf/audit"
	"github.com/namewharf/namewharf/ledger"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/partner/admin"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/partner/signature"
)

func partnerFlags(fs *flag.FlagSet, o *options) {
	fs.StringVar(&o.name, "name", "", "`name` of the partner")
	fs.StringVar(&o.partner, "partner", "", "`id` of the partner")
	fs.StringVar(&o.scopes, "scopes", "", "`scopes` of the credential, separated by commas: "+strings.Join(credential.Scopes, ", "))
	fs.DurationVar(&o.overlap, "overlap", admin.SecretOverlap, "how long the secret before stays good")
	fs.StringVar(&o.reason, "reason", "", "`why`, for the audit log")
	fs.StringVar(&o.as, "as", "", "`name` of the operator, for the audit log (default the system's)")
	fs.Int64Var(&o.reviewLimit, "review-limit-cents", 0, "sales over this wait for a person; 0: none does (default with partner create)")
	fs.Int64Var(&o.serviceRate, "service-bp", 0, "commission on sales that the partner collects, in basis points (default with partner create)")
	o.keys.KeysFlag(fs)
}

// operator opens the partner business under the name of who runs the command.
func (d *desk) operator(ctx context.Context) (*admin.Operator, error) {
	db, err := d.open(ctx)
	if err != nil {
		return nil, err
	}
	sealing, err := d.sealingKeys(ctx, db)
	if err != nil {
		return nil, err
	}
	by := d.author()
	return admin.New(db, sealing, time.Now, by.Name).Because(by.Reason), nil
}

// author is who runs the command, for the audit log.
func (d *desk) author() audit.Author {
	by := audit.Author{Name: cmp.Or(d.as, "operator"), Reason: d.reason, Now: time.Now}
	if u, err := user.Current(); err == nil && u.Username != "" && d.as == "" {
		by.Name = u.Username
	}
	return by
}

// withOperator is a command on the partner business, which is opened for it. What the business refuses is told in the words
// of a terminal.
func withOperator(do func(context.Context, *desk, *admin.Operator, []string) error) func(context.Context, *desk, []string) error {
	return func(ctx context.Context, d *desk, args []string) error {
		op, err := d.operator(ctx)
		if err != nil {
			return err
		}
		return plain(do(ctx, d, op, args))
	}
}

// environment reads -env.
func (d *desk) environment() (market.Environment, error) {
	env := map[string]market.Environment{"live": market.Live, "sandbox": market.Sandbox}[strings.ToLower(d.env)]
	if env == "" {
		return "", usagef("-env must be live or sandbox")
	}
	return env, nil
}

// terms are those given by flags, over others.
func (d *desk) terms(over credential.Terms) credential.Terms {
	if d.given["review-limit-cents"] {
		over.ReviewLimitCents = d.reviewLimit
	}
	if d.given["service-bp"] {
		over.Rates.Service = ledger.BasisPoints(d.serviceRate)
	}
	return over
}

// A partnerRow is a partner as it is printed.
type partnerRow struct {
	ID               string    `json:"partner_id"`
	Name             string    `json:"name"`
	ReviewLimitCents int64     `json:"review_limit_cents"`
	ServiceBP        int64     `json:"service_bp"`
	Created          time.Time `json:"created_at"`
	Suspended        time.Time `json:"suspended_at,omitzero"`
}

func newPartnerRow(p admin.Partner) partnerRow {
	return partnerRow{p.ID, p.Name, p.Terms.ReviewLimitCents, int64(p.Terms.Rates.Service), p.Created, p.Suspended}
}

func createPartner(ctx context.Context, d *desk, _ []string) error {
	if d.name == "" {
		return usagef("-name is required")
	}
	op, err := d.operator(ctx)
	if err != nil {
		return err
	}
	p, err := op.CreatePartner(ctx, d.name, d.terms(credential.DefaultTerms()))
	if err != nil {
		return plain(err)
	}
	result := struct {
		ID   string `json:"partner_id"`
		Name string `json:"name"`
	}{p.ID, p.Name}
	return d.print(result, func(w io.Writer) { fmt.Fprintf(w, "partner\t%s\nname\t%s\n", p.ID, p.Name) })
}

func listPartners(ctx context.Context, d *desk, op *admin.Operator, _ []string) error {
	all, err := op.Partners(ctx)
	if err != nil {
		return err
	}
	rows := make([]partnerRow, len(all))
	for i, p := range all {
		rows[i] = newPartnerRow(p)
	}
	return d.print(rows, func(w io.Writer) {
		fmt.Fprintln(w, "partner\tname\treview over\tservice\tsuspended")
		for _, r := range rows {
			fmt.Fprintf(w, "%s\t%s\t%s\t%d bp\t%s\n", r.ID, r.Name, cents(r.ReviewLimitCents), r.ServiceBP, day(r.Suspended))
		}
	})
}

func setTerms(ctx context.Context, d *desk, op *admin.Operator, args []string) error {
	if !d.given["review-limit-cents"] && !d.given["service-bp"] {
		return usagef("say what to change: -review-limit-cents or -service-bp")
	}
	all, err := op.Partners(ctx)
	if err != nil {
		return err
	}
	for _, p := range all {
		if p.ID != args[0] {
			continue
		}
		p.Terms = d.terms(p.Terms)
		if err := op.SetTerms(ctx, p.ID, p.Terms); err != nil {
			return err
		}
		row := newPartnerRow(p)
		return d.print(row, func(w io.Writer) {
			fmt.Fprintf(w, "partner\t%s\nreview over\t%s\nservice\t%d bp\n", row.ID, cents(row.ReviewLimitCents), row.ServiceBP)
		})
	}
	return usagef("there is no such partner")
}

// done prints what a command did to something.
func (d *desk) done(what, id string) error {
	result := struct {
		ID   string `json:"id"`
		Done string `json:"done"`
	}{id, what}
	return d.print(result, func(w io.Writer) { fmt.Fprintf(w, "%s\t%s\n", id, what) })
}

func suspendPartner(ctx context.Context, d *desk, op *admin.Operator, args []string) error {
	if err := op.Suspend(ctx, args[0], d.reason); err != nil {
		return err
	}
	return d.done("suspended", args[0])
}

func resumePartner(ctx context.Context, d *desk, op *admin.Operator, args []string) error {
	if err := op.Resume(ctx, args[0], d.reason); err != nil {
		return err
	}
	return d.done("resumed", args[0])
}

// printIssued shows a secret for the only time.
func (d *desk) printIssued(issued signature.Credential) error {
	result := struct {
		KeyID  string `json:"key_id"`
		Secret string `json:"secret"`
	}{issued.KeyID, issued.Secret}
	return d.print(result, func(w io.Writer) {
		fmt.Fprintf(w, "key id\t%s\nsecret\t%s\n\t(shown once: keep it where only the partner's back end reads it)\n", result.KeyID, result.Secret)
	})
}

func createCredential(ctx context.Context, d *desk, _ []string) error {
	env, err := d.environment()
	if err != nil {
		return err
	}
	if d.partner == "" || d.scopes == "" {
		return usagef("-partner and -scopes are required; scopes are %s", strings.Join(credential.Scopes, ", "))
	}
	op, err := d.operator(ctx)
	if err != nil {
		return err
	}
	issued, err := op.CreateCredential(ctx, d.partner, env, d.scopes)
	if err != nil {
		return plain(err)
	}
	return d.printIssued(issued)
}

func rotateCredential(ctx context.Context, d *desk, op *admin.Operator, args []string) error {
	if d.overlap < 0 {
		return usagef("-overlap must not be negative; 0 ends the secret before at once")
	}
	issued, err := op.RotateSecret(ctx, args[0], d.overlap)
	if err != nil {
		return err
	}
	return d.printIssued(issued)
}

func revokeCredential(ctx context.Context, d *desk, op *admin.Operator, args []string) error {
	if err := op.RevokeCredential(ctx, args[0], d.reason); err != nil {
		return err
	}
	return d.done("revoked", args[0])
}

// A credentialRow is a credential as it is printed.
type credentialRow struct {
	KeyID       string    `json:"key_id"`
	Partner     string    `json:"partner_id"`
	Environment string    `json:"environment"`
	Scopes      []string  `json:"scopes"`
	Secrets     int       `json:"secrets"` // that are good now
	Created     time.Time `json:"created_at"`
	Revoked     time.Time `json:"revoked_at,omitzero"`
}

func listCredentials(ctx context.Context, d *desk, op *admin.Operator, _ []string) error {
	all, err := op.Credentials(ctx, d.partner)
	if err != nil {
		return err
	}
	rows := make([]credentialRow, len(all))
	for i, c := range all {
		rows[i] = credentialRow{c.KeyID, c.Partner, string(c.Environment), c.Scopes, c.Secrets, c.Created, c.Revoked}
	}
	return d.print(rows, func(w io.Writer) {
		fmt.Fprintln(w, "key id\tpartner\tenvironment\tscopes\tcreated\trevoked")
		for _, r := range rows {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.KeyID, r.Partner, r.Environment, strings.Join(r.Scopes, ","), day(r.Created), day(r.Revoked))
		}
	})
}

// seedSandbox puts the sandbox's inventory up for sale.
func seedSandbox(ctx context.Context, d *desk, op *admin.Operator, _ []string) error {
	report, err := op.Seed(ctx)
	if err != nil {
		return err
	}
	return d.print(newListingReport(report), func(w io.Writer) { printReport(w, report, false) })
}

// day is a time in a table.
func day(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04")
}

// cents is an amount of any currency in a table.
func cents(n int64) string {
	if n == 0 {
		return "-"
	}
	return strings.TrimSpace(money.Amount{Cents: n}.String())
}
