package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"

	"github.com/namewharf/namewharf/account/portfolio"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/internal/app"
	"github.com/namewharf/namewharf/internal/demoregistry"
	"github.com/namewharf/namewharf/internal/identity"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/partner/admin"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/partner/signature"
	"github.com/namewharf/namewharf/serve/pages"
)

// demoNames is a portfolio whose owners have the demo's DNS at hand: what they claim is proven as soon as they ask.
type demoNames struct {
	*portfolio.Portfolio
	dns *demoregistry.Registry
}

// Add claims the name and puts its proof into the demo's DNS.
func (d demoNames) Add(ctx context.Context, account string, name fqdn.Name) (portfolio.Claim, error) {
	claim, err := d.Portfolio.Add(ctx, account, name)
	if err == nil {
		d.dns.SetTXT(portfolio.ProofLabel+"."+claim.Domain.String(), claim.Proof)
	}
	return claim, err
}

// portfolioOf is what the transports see of the portfolios.
func portfolioOf(users *identity.Services, application *app.App) pages.Portfolios {
	if application.Demo == nil {
		return users.Names
	}
	return demoNames{users.Names, application.Demo}
}

// A visitor is the demo's account.
type visitor struct{ email, password string }

// demoAccount makes the account of the demo. Its password is one of this store: a store that is served to others later
// has no password that they know.
func demoAccount(ctx context.Context, users *identity.Services, application *app.App) (visitor, error) {
	secret, err := application.DB.Secret(ctx, "demo account", application.Keys)
	if err != nil {
		return visitor{}, err
	}
	v := visitor{"demo@namewharf.example", "demo-" + hex.EncodeToString(secret[:6])}
	_, err = users.Accounts.Create(ctx, v.email, v.password)
	var known *fault.Error
	if errors.As(err, &known) && known.Code == fault.Conflict { // by an earlier demo on this store
		err = nil
	}
	return v, err
}

// demoReceivers are where the demo's partner may receive events.
var demoReceivers = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// demoPartner makes a sandbox credential, and the partner and its inventory on a store that has none yet.
func demoPartner(ctx context.Context, application *app.App) (signature.Credential, error) {
	const name = "Demo partner"
	operator := admin.New(application.DB, application.Keys, application.DB.Now, "demo")
	all, err := operator.Partners(ctx)
	if err != nil {
		return signature.Credential{}, err
	}
	at := slices.IndexFunc(all, func(p admin.Partner) bool { return p.Name == name })
	if at < 0 {
		p, err := operator.CreatePartner(ctx, name, credential.DefaultTerms())
		if err != nil {
			return signature.Credential{}, err
		}
		all, at = []admin.Partner{p}, 0
	}
	if _, err := operator.Seed(ctx); err != nil {
		return signature.Credential{}, err
	}
	if err := application.Market.Refresh(ctx); err != nil {
		return signature.Credential{}, err
	}
	return operator.CreateCredential(ctx, all[at].ID, market.Sandbox, strings.Join(credential.Scopes, ","))
}

// prepareDemo makes what a visitor of the demo tries things out with, and returns what tells of it. mailed: a mail server is
// configured.
func prepareDemo(ctx context.Context, w io.Writer, base string, application *app.App, users *identity.Services, mailed bool) (func(), error) {
	v, err := demoAccount(ctx, users, application)
	if err != nil {
		return nil, err
	}
	issued, err := demoPartner(ctx, application)
	if err != nil {
		return nil, err
	}
	return func() { printDemo(w, base, application, v, issued, mailed) }, nil
}

// printDemo tells what there is to try. It comes after the first line, which programs wait for.
func printDemo(w io.Writer, base string, application *app.App, v visitor, p signature.Credential, mailed bool) {
	fmt.Fprintf(w, "\nThis is the demo: its registry runs in this process, on loopback, and nothing outside is asked.\n\n")
	fmt.Fprintf(w, "  pages    %s/  %s/docs\n  MCP      %s/mcp\n", base, base, base)
	fmt.Fprintf(w, "  sign in  %s/signin  e-mail %s  password %s\n", base, v.email, v.password)
	fmt.Fprintf(w, "  partner  %s/api/partner/v1  key %s  secret %s\n", base, p.KeyID, p.Secret)
	fmt.Fprintf(w, "  store    -data %s  (for the operator's commands)\n", application.Data)
	mail := "to the log of this process, on standard error; look there for the links that sign in or confirm an address"
	if mailed {
		mail = "to the server of -smtp"
	}
	fmt.Fprintf(w, "  mail     %s\n", mail)
	fmt.Fprintf(w, "  domains  %s/account/domains  the demo publishes the TXT record that proves a name, so any name you claim is yours\n\n", base)
	fmt.Fprintf(w, "A name of each kind to try:\n\n") // in any order: see TestTheDemosNamesWorkInAnyOrder
	samples := application.Demo.Samples()
	for _, s := range samples {
		fmt.Fprintf(w, "  %-20s %s\n", s.Kind, s.Name)
	}
	fmt.Fprintf(w, "\n  curl %s/api/domain/search --json '{\"q\":\"%s\"}'\n\n", base, samples[0].Name)
}
