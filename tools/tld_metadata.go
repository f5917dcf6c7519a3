package tools

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/tld"
)

// MetadataIn names a suffix.
type MetadataIn struct {
	TLD SuffixText `json:"tld" jsonschema:"a TLD, e.g. com, co.uk or рф"`
}

// pricesMaxAge is how long a client may cache a price or the facts about a TLD: they change a few times a year.
const pricesMaxAge = time.Hour

// answersHold is how long an encoded answer that only a stamp can outdate is given again.
const answersHold = time.Hour

// serversHold is how long an encoded answer is given again that names servers, which a refresh may replace.
const serversHold = time.Minute

// reuse is for answers that all callers share and that hold until the stamp changes.
func reuse[In, Out any](stamp func() uint64) *op.Cache[In, Out] {
	return &op.Cache[In, Out]{Stamp: stamp, For: func(In, Out) time.Duration { return answersHold }}
}

func dateOf(t time.Time) tld.Date { return tld.Date(t.UTC().Format(time.DateOnly)) }

func (s *service) tldMetadata() op.Operation[MetadataIn, tld.Metadata] {
	return op.Operation[MetadataIn, tld.Metadata]{
		Name:  "tld_metadata",
		Title: "Rules of a TLD",
		Doc: "Who may register under a TLD and how: terms, eligibility, nameserver rules, grace periods, registry. " +
			"Use it before recommending a TLD. Facts not held are listed in unknown.",
		Route:   op.Route{Method: "GET", Path: "/api/tlds/{tld}/metadata"},
		Batch:   true,
		Tool:    true,
		Effect:  op.Reads,
		Limit:   op.Read,
		MaxAge:  pricesMaxAge,
		Cache:   &op.Cache[MetadataIn, tld.Metadata]{For: func(MetadataIn, tld.Metadata) time.Duration { return serversHold }},
		Example: MetadataIn{TLD: "de"},
		Text:    metadataText,
		Do:      s.metadata,
	}
}

func (s *service) metadata(_ context.Context, in MetadataIn) (tld.Metadata, error) {
	suffix, err := tld.ParseSuffix(string(in.TLD))
	if err != nil {
		return tld.Metadata{}, err
	}
	m, err := s.cfg.Table.Metadata(suffix)
	if err != nil {
		return tld.Metadata{}, err
	}
	servers := s.cfg.Lookup.Servers(suffix) // as in force now, after what IANA has published since
	if m.Registry.Name == "" && servers.RDAPSource != string(tld.FromOperator) {
		return m, nil // names below it are not sold by a registry: no server answers for it
	}
	m.Unknown = slices.Clone(m.Unknown)
	if source := tld.RDAPSource(servers.RDAPSource); source == tld.FromIANA || source == tld.FromOperator {
		m.RDAP = tld.RDAP{URL: servers.RDAP[0], Source: source}
		m.Unknown = slices.DeleteFunc(m.Unknown, func(fact string) bool { return fact == "rdap.url" || fact == "rdap.source" })
	}
	if servers.WHOIS != "" {
		m.WHOIS.Server = strings.TrimSuffix(servers.WHOIS, ":43")
		m.Unknown = slices.DeleteFunc(m.Unknown, func(fact string) bool { return fact == "whois.server" })
	}
	return m, nil
}
