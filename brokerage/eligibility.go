package brokerage

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/store"
)

// A Reason says why no case can be opened for a domain.
type Reason string

// The reasons.
const (
	ActiveSite   Reason = "active_site"  // its owner uses it
	OpenCase     Reason = "open_case"    // somebody's case about it is open
	Listed       Reason = "listed"       // it is for sale here
	Unregistered Reason = "unregistered" // it has no owner
	Undetermined Reason = "undetermined" // registry or site did not answer clearly; a later request may get another answer
)

var reasons = []Reason{ActiveSite, OpenCase, Listed, Unregistered, Undetermined}

// Schema is the enumeration of the reasons.
func (Reason) Schema() *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, r := range reasons {
		s.Enum = append(s.Enum, string(r))
	}
	return s
}

// explanations are the reasons in sentences.
var explanations = map[Reason]string{
	ActiveSite:   "the domain has an active site",
	OpenCase:     "a case about the domain is open",
	Listed:       "the domain is for sale here: buy it instead",
	Unregistered: "the domain is not registered: register it instead",
	Undetermined: "it could not be found out how the domain is used: ask again later",
}

// Eligibility says whether a case can be opened for a domain.
type Eligibility struct {
	Domain   string   `json:"domain"`
	Eligible bool     `json:"eligible"`
	Reasons  []Reason `json:"reasons" jsonschema:"why not; empty where it is eligible"`
}

func errIneligible(why []Reason) error {
	texts := make([]string, len(why))
	for i, r := range why {
		texts[i] = explanations[r]
	}
	err := fault.New(fault.Conflict, "no case can be opened: %s", strings.Join(texts, "; "))
	for _, r := range why {
		err = err.WithField("domain", string(r))
	}
	return err
}

// Eligible says whether a case can be opened for a domain. For a domain of LIVE it asks the registry and the domain's home
// page, unless the database says no already.
func (s *Service) Eligible(ctx context.Context, p Party, domain fqdn.Name) (e Eligibility, err error) {
	ask := func() error {
		return s.cfg.DB.Read(ctx, func(tx store.Tx) (err error) {
			e, err = s.eligible(ctx, tx, p, domain)
			return err
		})
	}
	if err = ask(); needsFindings(err) {
		ctx = s.Investigate(ctx, domain)
		err = ask()
	}
	return e, fault.Wrap("find out whether a domain is eligible", err)
}

// eligible is Eligible in a transaction. It fails with [*NeedsFindings] as [Service.Open] does.
func (s *Service) eligible(ctx context.Context, tx store.Tx, p Party, domain fqdn.Name) (Eligibility, error) {
	e := Eligibility{Domain: domain.String()}
	open, err := hasOpenCase(ctx, tx, p.Environment, domain)
	if err != nil {
		return Eligibility{}, fmt.Errorf("look for an open case: %w", err)
	}
	listed, err := s.cfg.Market.Listed(ctx, tx, p.Environment, domain)
	if err != nil {
		return Eligibility{}, fmt.Errorf("look for a listing: %w", err)
	}
	if open {
		e.Reasons = append(e.Reasons, OpenCase)
	}
	if listed {
		e.Reasons = append(e.Reasons, Listed)
	}
	found, known := Findings(""), true
	switch {
	case p.Environment == sandbox:
		found = sandboxFindings(domain)
	case len(e.Reasons) == 0:
		found, known = findingsFrom(ctx, domain)
	}
	if !known {
		return Eligibility{}, &NeedsFindings{domain}
	}
	if found != "" && found != NothingFound {
		e.Reasons = append([]Reason{Reason(found)}, e.Reasons...)
	}
	e.Eligible = len(e.Reasons) == 0
	return e, nil
}

// sandboxFindings is what the rule of the sandbox says of its names (*.example, *.test); nothing is fetched.
func sandboxFindings(domain fqdn.Name) Findings {
	label, _, _ := strings.Cut(domain.String(), ".")
	switch {
	case domain.TLD() != "example" && domain.TLD() != "test":
		return Findings(Undetermined)
	case strings.HasPrefix(label, "active-"):
		return Findings(ActiveSite)
	case strings.HasPrefix(label, "unregistered-"):
		return Findings(Unregistered)
	}
	return NothingFound // parked-* and all others
}

// Findings is what registry and home page say of a domain: a [Reason], or [NothingFound].
type Findings string

// NothingFound says that nothing is against a case.
const NothingFound Findings = "nothing"

// NeedsFindings is the failure to judge a domain of LIVE inside a transaction, in which nobody waits for other servers.
type NeedsFindings struct{ Domain fqdn.Name }

func (*NeedsFindings) Error() string { return "brokerage: the findings about the domain are needed" }

func needsFindings(err error) bool {
	_, ok := err.(*NeedsFindings)
	return ok
}

// findingsKey is the context key of the findings about a domain.
type findingsKey struct{ domain fqdn.Name }

func findingsFrom(ctx context.Context, domain fqdn.Name) (f Findings, ok bool) {
	f, ok = ctx.Value(findingsKey{domain}).(Findings)
	return f, ok
}

// Investigate asks the registry and the home page of a domain and returns a context that holds what they say. It takes some
// seconds at most.
func (s *Service) Investigate(ctx context.Context, domain fqdn.Name) context.Context {
	return context.WithValue(ctx, findingsKey{domain}, s.investigate(ctx, domain))
}

func (s *Service) investigate(ctx context.Context, domain fqdn.Name) Findings {
	if s.cfg.Registry == nil {
		return Findings(Undetermined)
	}
	r := s.cfg.Registry.Registration(ctx, domain)
	switch r.State {
	case NotRegistered:
		return Findings(Unregistered)
	case RegistryUnsure:
		return Findings(Undetermined)
	}
	if s.cfg.Sites == nil {
		return Findings(Undetermined)
	}
	switch s.cfg.Sites.Use(ctx, domain, r.Nameservers) {
	case InUse:
		return Findings(ActiveSite)
	case NotInUse:
		return NothingFound
	}
	return Findings(Undetermined)
}
