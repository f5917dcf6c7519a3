package tools

import (
	"context"
	"time"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/op"
)

// DomainsIn asks for a page of the caller's domains.
type DomainsIn struct {
	Limit  PageLimit `json:"limit,omitzero" jsonschema:"domains a page, 1 to 100; 25 when left out"`
	Cursor op.Cursor `json:"cursor,omitzero" jsonschema:"next_cursor of the page before"`
}

// DomainsOut is a page of the caller's domains in alphabetical order of their A-label form.
type DomainsOut struct {
	Domains []OwnDomain `json:"domains"`
	Page    Page        `json:"page"`
}

// An OwnDomain is a domain that the caller says is theirs.
type OwnDomain struct {
	Domain    string      `json:"domain"`
	Status    ClaimStatus `json:"status"`
	Listing   Listing     `json:"listing,omitzero" jsonschema:"the caller's offer; for sale while the status is verified"`
	ExpiresAt time.Time   `json:"expires_at,omitzero" jsonschema:"as the registry said last"`
}

func (s *service) listDomains() op.Operation[DomainsIn, DomainsOut] {
	return op.Operation[DomainsIn, DomainsOut]{
		Name:    "list_domains",
		Title:   "List your domains",
		Doc:     "The caller's portfolio, a page at a time: which domains are proven to be theirs, which are for sale, and when they expire.",
		Route:   op.Route{Method: "GET", Path: "/api/domains"},
		Tool:    true,
		Scope:   ScopeDomains,
		Effect:  op.Reads,
		Limit:   op.Read,
		Example: DomainsIn{Limit: 10},
		Text:    DomainsOut.text,
		Do:      s.domains,
	}
}

// portfolioList names the list that a cursor belongs to.
type portfolioList struct{ List, Account string }

func (s *service) domains(ctx context.Context, in DomainsIn) (DomainsOut, error) {
	list := portfolioList{"list_domains", op.CallerFrom(ctx).Account}
	var after fqdn.Name
	if in.Cursor != "" {
		var last string
		if err := s.cursors.open(in.Cursor, list, &last); err != nil {
			return DomainsOut{}, err
		}
		var err error
		if after, err = fqdn.Parse(last); err != nil {
			return DomainsOut{}, err
		}
	}
	out := DomainsOut{Page: Page{Limit: in.Limit.orDefault()}}
	claims, more, err := s.cfg.Portfolio.List(ctx, list.Account, after, out.Page.Limit)
	if err != nil {
		return DomainsOut{}, err
	}
	for _, c := range claims {
		row := OwnDomain{Domain: c.Domain.String(), Status: ClaimStatus(c.Status), ExpiresAt: wireTime(c.Registration.Expires)}
		if c.Price != (money.Amount{}) {
			row.Listing.Price = own(c.Price)
		}
		out.Domains = append(out.Domains, row)
	}
	if more {
		out.Page.NextCursor, err = s.cursors.seal(list, claims[len(claims)-1].Domain.String())
	}
	return out, err
}
