package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/namewharf/namewharf/audit"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/ledger"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/partner/admin"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/partner/signature"
)

// partnerCommands are the commands of partners.
func (p *program) partnerCommands() *cobra.Command {
	return group("partners", "partner", "Who sells our names",
		p.command(createPartner, &cobra.Command{
			Use: "create", Short: "Make a partner",
			Long:    "Makes a partner with a name and its terms. The sandbox needs no approval; the first credential for LIVE approves the partner, as \"partner approve\" does.",
			Example: "  operator partner create -name \"Example Registrar\" -review-limit-cents 500000",
		}, nameFlag, termsFlags),
		p.command(withOperator(listPartners), &cobra.Command{Use: "list", Short: "List partners", Example: "  operator partner list -json"}),
		p.command(withOperator(showPartner), &cobra.Command{Use: "show PARTNER", Short: "Show a partner with its credentials", Example: "  operator partner show prt_01k8h3v6e4"}),
		p.command(withOperator(setTerms), &cobra.Command{
			Use: "set [PARTNER]", Aliases: []string{"terms"}, Short: "Change the terms of a partner, for what happens from then on",
			Long:    "Changes the terms of a partner, for what happens from then on: recorded orders and commissions stay as they are. The partner may also be named by -partner.",
			Example: "  operator partner set prt_01k8h3v6e4 -service-bp 1000\n  operator partner set -partner prt_01k8h3v6e4 -partner-bp 1200 -broker-bp 2500 -referral-bp 600",
		}, partnerFlag, termsFlags),
		p.command(withOperator(approvePartner), &cobra.Command{
			Use: "approve PARTNER", Short: "Allow a partner credentials for LIVE",
			Long:    "Allows a partner credentials for LIVE. The sandbox needs no approval. \"partner suspend\" ends the use of all its credentials.",
			Example: "  operator partner approve prt_01k8h3v6e4 -reason \"contract of 2026-11-01\"",
		}),
		p.command(withOperator(linkAffiliate), &cobra.Command{
			Use: "affiliate", Short: "Link a partner to the account that refers buyers for it",
			Long:    "Links a partner to an account, in the place of the one before. Tracked links and the reports about them need it; the deletion of the account ends it.",
			Example: "  operator partner affiliate -partner prt_01k8h3v6e4 -email ada@example.com",
		}, partnerFlag, emailFlag),
		p.command(withOperator(suspendPartner), &cobra.Command{
			Use: "suspend PARTNER", Short: "Refuse all credentials of a partner, within two seconds",
			Example: "  operator partner suspend prt_01k8h3v6e4 -reason unpaid",
		}),
		p.command(withOperator(resumePartner), &cobra.Command{Use: "resume PARTNER", Short: "Accept them again", Example: "  operator partner resume prt_01k8h3v6e4"}),
	)
}

// credentialCommands are the commands of partners' credentials.
func (p *program) credentialCommands() *cobra.Command {
	return group("partners", "credential", "What partners sign requests with",
		p.command(createCredential, &cobra.Command{
			Use: "create", Short: "Make a credential; its secret is shown once",
			Long:    "Makes a credential of a partner for an environment, and shows its secret for the only time. The first one for LIVE approves the partner.",
			Example: "  operator credential create -partner prt_01k8h3v6e4 -env sandbox -scopes search,buy,webhook",
		}, partnerFlag, envFlag, scopesFlag),
		p.command(withOperator(listCredentials), &cobra.Command{
			Use: "list", Short: "List credentials, with -partner those of one",
			Example: "  operator credential list -partner prt_01k8h3v6e4 -json",
		}, partnerFlag),
		p.command(withOperator(rotateCredential), &cobra.Command{
			Use: "rotate KEY", Short: "Give a credential another secret; the one before works for -overlap",
			Example: "  operator credential rotate nw_live_01k8h3v6e4 -overlap 48h",
		}, overlapFlag),
		p.command(withOperator(revokeCredential), &cobra.Command{
			Use: "revoke KEY", Short: "End a credential for good, within two seconds",
			Example: "  operator credential revoke nw_live_01k8h3v6e4 -reason leaked",
		}),
	)
}

// sandboxCommands are the commands of the sandbox.
func (p *program) sandboxCommands() *cobra.Command {
	return group("partners", "sandbox", "The sandbox of partners",
		p.command(withOperator(seedSandbox), &cobra.Command{Use: "seed", Short: "Put the sandbox's inventory up for sale", Example: "  operator sandbox seed"}),
	)
}

// operator opens the partner services under the name of the user who runs the command.
func (p *program) operator(ctx context.Context) (*admin.Operator, error) {
	db, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	sealing, err := p.sealingKeys(ctx, db)
	if err != nil {
		return nil, err
	}
	by := p.author()
	return admin.New(db, sealing, time.Now, by.Name).WithReason(by.Reason), nil
}

// author returns the author for the audit log: the user who runs the command.
func (p *program) author() audit.Author {
	by := audit.Author{Name: cmp.Or(p.as, "operator"), Reason: p.reason, Now: time.Now}
	if u, err := user.Current(); err == nil && u.Username != "" && p.as == "" {
		by.Name = u.Username
	}
	return by
}

// withOperator returns a command on the partner services, whose errors it words for a terminal.
func withOperator(do func(context.Context, *program, *admin.Operator, []string) error) func(context.Context, *program, []string) error {
	return func(ctx context.Context, p *program, args []string) error {
		op, err := p.operator(ctx)
		if err != nil {
			return err
		}
		return plainError(do(ctx, p, op, args))
	}
}

// environment reads -env.
func (p *program) environment() (market.Environment, error) {
	env := map[string]market.Environment{"live": market.Live, "sandbox": market.Sandbox}[strings.ToLower(p.env)]
	if env == "" {
		return "", usagef("-env must be live or sandbox")
	}
	return env, nil
}

// terms returns the terms with those of the flags replaced.
func (p *program) terms(over credential.Terms) credential.Terms {
	if p.given["review-limit-cents"] {
		over.ReviewLimitCents = p.reviewLimit
	}
	if p.given["service-bp"] {
		over.Rates.Service = ledger.BasisPoints(p.serviceRate)
	}
	if p.given["partner-bp"] {
		over.Rates.Partner = ledger.BasisPoints(p.partnerRate)
	}
	if p.given["broker-bp"] {
		over.Rates.Broker = ledger.BasisPoints(p.brokerRate)
	}
	if p.given["referral-bp"] {
		over.Rates.Referral = ledger.BasisPoints(p.referralRate)
	}
	return over
}

// A partnerRow is a partner as it is printed.
type partnerRow struct {
	ID               string    `json:"partner_id"`
	Name             string    `json:"name"`
	ReviewLimitCents int64     `json:"review_limit_cents"`
	ServiceBP        int64     `json:"service_bp"`
	PartnerBP        int64     `json:"partner_bp"`
	BrokerBP         int64     `json:"broker_bp"`
	ReferralBP       int64     `json:"referral_bp"`
	Created          time.Time `json:"created_at"`
	Approved         time.Time `json:"approved_at,omitzero"`
	Suspended        time.Time `json:"suspended_at,omitzero"`
}

func newPartnerRow(p admin.Partner) partnerRow {
	r := p.Terms.Rates
	return partnerRow{
		p.ID, p.Name, p.Terms.ReviewLimitCents, int64(r.Service), int64(r.Partner), int64(r.Broker), int64(r.Referral),
		p.Created, p.Approved, p.Suspended,
	}
}

func createPartner(ctx context.Context, p *program, _ []string) error {
	if p.name == "" {
		return usagef("-name is required")
	}
	op, err := p.operator(ctx)
	if err != nil {
		return err
	}
	made, err := op.CreatePartner(ctx, p.name, p.terms(credential.DefaultTerms()))
	if err != nil {
		return plainError(err)
	}
	result := struct {
		ID   string `json:"partner_id"`
		Name string `json:"name"`
	}{made.ID, made.Name}
	return p.print(result, func(w io.Writer) { fmt.Fprintf(w, "partner\t%s\nname\t%s\n", made.ID, made.Name) })
}

func listPartners(ctx context.Context, p *program, op *admin.Operator, _ []string) error {
	all, err := op.Partners(ctx)
	if err != nil {
		return err
	}
	rows := make([]partnerRow, len(all))
	for i, one := range all {
		rows[i] = newPartnerRow(one)
	}
	return p.print(rows, func(w io.Writer) {
		fmt.Fprintln(w, "partner\tname\treview over\tservice\tapproved\tsuspended")
		for _, r := range rows {
			fmt.Fprintf(w, "%s\t%s\t%s\t%d bp\t%s\t%s\n", r.ID, r.Name, cents(r.ReviewLimitCents), r.ServiceBP, day(r.Approved), day(r.Suspended))
		}
	})
}

// setTerms changes the terms of the flags.
func setTerms(ctx context.Context, p *program, op *admin.Operator, args []string) error {
	terms := []string{"review-limit-cents", "service-bp", "partner-bp", "broker-bp", "referral-bp"}
	if !slices.ContainsFunc(terms, func(name string) bool { return p.given[name] }) {
		return usagef("say what to change: -%s", strings.Join(terms, ", -"))
	}
	id := p.partner
	if len(args) > 0 {
		if id != "" && id != args[0] {
			return usagef("-partner and the argument name two partners")
		}
		id = args[0]
	}
	if id == "" {
		return usagef("name the partner: operator partner set PARTNER, or -partner")
	}
	one, err := op.Partner(ctx, id)
	if err != nil {
		return err
	}
	one.Terms = p.terms(one.Terms)
	if err := op.SetTerms(ctx, one.ID, one.Terms); err != nil {
		return err
	}
	row := newPartnerRow(one)
	return p.print(row, row.print)
}

func (r partnerRow) print(w io.Writer) {
	fmt.Fprintf(w, "partner\t%s\nname\t%s\nreview over\t%s\nservice\t%d bp\npartner\t%d bp\nbroker\t%d bp\nreferral\t%d bp\ncreated\t%s\napproved for LIVE\t%s\nsuspended\t%s\n",
		r.ID, r.Name, cents(r.ReviewLimitCents), r.ServiceBP, r.PartnerBP, r.BrokerBP, r.ReferralBP, day(r.Created), day(r.Approved), day(r.Suspended))
}

// showPartner shows a partner with its credentials.
func showPartner(ctx context.Context, p *program, op *admin.Operator, args []string) error {
	one, err := op.Partner(ctx, args[0])
	if err != nil {
		return err
	}
	credentials, err := op.Credentials(ctx, one.ID)
	if err != nil {
		return err
	}
	result := struct {
		partnerRow
		Credentials []credentialRow `json:"credentials"`
	}{newPartnerRow(one), newCredentialRows(credentials)}
	return p.print(result, func(w io.Writer) {
		result.partnerRow.print(w)
		for _, c := range result.Credentials {
			state := "in use"
			if !c.Revoked.IsZero() {
				state = "revoked " + day(c.Revoked)
			}
			fmt.Fprintf(w, "credential\t%s, %s, %s, %s\n", c.KeyID, c.Environment, strings.Join(c.Scopes, ","), state)
		}
	})
}

func approvePartner(ctx context.Context, p *program, op *admin.Operator, args []string) error {
	if err := op.Approve(ctx, args[0]); err != nil {
		return err
	}
	return p.done("approved", args[0])
}

// linkAffiliate links a partner to an account.
func linkAffiliate(ctx context.Context, p *program, op *admin.Operator, _ []string) error {
	if p.partner == "" || p.email == "" {
		return usagef("-partner and -email are required")
	}
	users, err := p.accounts(ctx)
	if err != nil {
		return err
	}
	defer users.Close()
	found, err := users.Find(ctx, p.email)
	if err != nil {
		return err
	}
	if err := op.LinkAffiliate(ctx, p.partner, found.ID); err != nil {
		return err
	}
	return p.done("linked to "+found.Email, p.partner)
}

func suspendPartner(ctx context.Context, p *program, op *admin.Operator, args []string) error {
	if err := op.Suspend(ctx, args[0], p.reason); err != nil {
		return err
	}
	return p.done("suspended", args[0])
}

func resumePartner(ctx context.Context, p *program, op *admin.Operator, args []string) error {
	if err := op.Resume(ctx, args[0], p.reason); err != nil {
		return err
	}
	return p.done("resumed", args[0])
}

// printIssued shows a secret for the only time.
func (p *program) printIssued(issued signature.Credential) error {
	result := struct {
		KeyID  string `json:"key_id"`
		Secret string `json:"secret"`
	}{issued.KeyID, issued.Secret}
	return p.print(result, func(w io.Writer) {
		fmt.Fprintf(w, "key id\t%s\nsecret\t%s\n\t(shown once: store it where only the partner's server can read it)\n", result.KeyID, result.Secret)
	})
}

func createCredential(ctx context.Context, p *program, _ []string) error {
	env, err := p.environment()
	if err != nil {
		return err
	}
	if p.partner == "" || p.scopes == "" {
		return usagef("-partner and -scopes are required; scopes are %s", strings.Join(credential.Scopes, ", "))
	}
	op, err := p.operator(ctx)
	if err != nil {
		return err
	}
	issued, err := op.CreateCredential(ctx, p.partner, env, p.scopes)
	if fault.Is(err, fault.Conflict) { // who may issue a credential for LIVE may approve the partner; the audit log shows both
		if err = op.Approve(ctx, p.partner); err == nil {
			issued, err = op.CreateCredential(ctx, p.partner, env, p.scopes)
		}
	}
	if err != nil {
		return plainError(err)
	}
	return p.printIssued(issued)
}

func rotateCredential(ctx context.Context, p *program, op *admin.Operator, args []string) error {
	if p.overlap < 0 {
		return usagef("-overlap must not be negative; 0 ends the secret before at once")
	}
	issued, err := op.RotateSecret(ctx, args[0], p.overlap)
	if err != nil {
		return err
	}
	return p.printIssued(issued)
}

func revokeCredential(ctx context.Context, p *program, op *admin.Operator, args []string) error {
	if err := op.RevokeCredential(ctx, args[0], p.reason); err != nil {
		return err
	}
	return p.done("revoked", args[0])
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

func newCredentialRows(all []admin.Credential) []credentialRow {
	rows := make([]credentialRow, len(all))
	for i, c := range all {
		rows[i] = credentialRow{c.KeyID, c.Partner, string(c.Environment), c.Scopes, c.Secrets, c.Created, c.Revoked}
	}
	return rows
}

func listCredentials(ctx context.Context, p *program, op *admin.Operator, _ []string) error {
	all, err := op.Credentials(ctx, p.partner)
	if err != nil {
		return err
	}
	rows := newCredentialRows(all)
	return p.print(rows, func(w io.Writer) {
		fmt.Fprintln(w, "key id\tpartner\tenvironment\tscopes\tcreated\trevoked")
		for _, r := range rows {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.KeyID, r.Partner, r.Environment, strings.Join(r.Scopes, ","), day(r.Created), day(r.Revoked))
		}
	})
}

// seedSandbox puts the sandbox's inventory up for sale.
func seedSandbox(ctx context.Context, p *program, op *admin.Operator, _ []string) error {
	report, err := op.Seed(ctx)
	if err != nil {
		return err
	}
	return p.print(newListingReport(report), func(w io.Writer) { printReport(w, report, false) })
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
