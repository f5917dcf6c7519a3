package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/namewharf/namewharf/account/portfolio"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/internal/backend"
	"github.com/namewharf/namewharf/internal/people"
	"github.com/namewharf/namewharf/internal/registry"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/tools"
)

// demoNames is a portfolio whose owners have the demo's DNS at hand: what they claim is proven as soon as they ask.
type demoNames struct {
	*portfolio.Portfolio
	dns *registry.Registry
}

// Add claims the name and puts its proof into the demo's DNS.
func (d demoNames) Add(ctx context.Context, account string, name fqdn.Name) (portfolio.Claim, error) {
	claim, err := d.Portfolio.Add(ctx, account, name)
	if err == nil {
		d.dns.SetTXT(portfolio.ProofLabel+"."+claim.Domain.String(), claim.Proof)
	}
	return claim, err
}

// portfolioOf is what the doors see of the portfolios.
func portfolioOf(users *people.People, back *backend.Backend) tools.Portfolio {
	if back.Demo == nil {
		return users.Names
	}
	return demoNames{users.Names, back.Demo}
}

// A visitor is the demo's account.
type visitor struct{ email, password string }

// demoAccount makes the account of the demo. Its password is one of this store: a store that is served to others later
// has no password that they know.
func demoAccount(ctx context.Context, users *people.People, db *store.DB) (visitor, error) {
	secret, err := db.Secret(ctx, "demo account")
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

// printDemo tells what there is to try. It comes after the first line, which programs wait for.
func printDemo(w io.Writer, base string, samples []registry.Sample, v visitor) {
	fmt.Fprintf(w, "\nThis is the demo: its registry runs in this process, on loopback, and nothing outside is asked.\n\n")
	fmt.Fprintf(w, "  pages    %s/  %s/docs\n  MCP      %s/mcp\n", base, base, base)
	fmt.Fprintf(w, "  sign in  %s/signin  e-mail %s  password %s\n\n", base, v.email, v.password)
	fmt.Fprintf(w, "A name of each kind to try:\n\n")
	for _, s := range samples {
		fmt.Fprintf(w, "  %-20s %s\n", s.Kind, s.Name)
	}
	fmt.Fprintf(w, "\n  curl %s/api/domain/search --json '{\"q\":\"%s\"}'\n\n", base, samples[0].Name)
}
