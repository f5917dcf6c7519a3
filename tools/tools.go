// Package tools is the public operations: questions about domains, TLDs and listings.
//
// Each operation has a file of its own; [New] lists them. A new operation is one new file and one line.
package tools

import (
	"context"
	"time"

	"github.com/namewharf/namewharf/account/portfolio"
	"github.com/namewharf/namewharf/batch"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/lookup"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/tld"
)

// Config is what the operations need.
type Config struct {
	Lookup  *lookup.Service
	Market  *market.Market
	Table   *tld.Table
	Prices  *tld.Prices
	BaseURL string   // the prefix of links in answers; empty on stdio, where there is none
	Suffix  []string // under which a label is searched; nil: [DefaultSuffixes]
	Secret  []byte   // seals cursors; the same in all processes and after a restart
	Now     func() time.Time

	Portfolio Portfolio // of the accounts
}

// A Portfolio stores the names of accounts, as [portfolio.Portfolio] does.
type Portfolio interface {
	Add(ctx context.Context, account string, name fqdn.Name) (portfolio.Claim, error)
	List(ctx context.Context, account string, after fqdn.Name, limit int) (claims []portfolio.Claim, more bool, err error)
	Apply(ctx context.Context, account string, c portfolio.Change) ([]error, error)
}

// APIVersion is the version of the public API's contract, as /openapi.json and the tool list state it. A change of
// either needs another version: the golden tests see to it.
const APIVersion = "0.11.0"

// DefaultSuffixes are those under which a label is searched when the caller names none, in the order of the answer.
var DefaultSuffixes = []string{"com", "net", "org", "io", "ai", "co", "app", "dev", "xyz", "shop", "me", "info"}

// SearchDeadline is how long a search may take: what is not known by then is unknown.
const SearchDeadline = 4 * time.Second

// margin of the deadline that is left for putting the answer together and sending it.
const margin = 200 * time.Millisecond

// service is what the operations share.
type service struct {
	cfg      Config
	suffixes []fqdn.Name
	cursors  cursorKey
}

// New returns the set of all public operations in the order of the documentation, with its batches and its guide. It panics
// on a default TLD that is not a domain name, and without a secret.
func New(cfg Config) *op.Set {
	s := &service{cfg: cfg, cursors: cfg.Secret}
	if len(cfg.Secret) < 16 {
		panic("tools: the secret is too short")
	}
	if cfg.Suffix == nil {
		cfg.Suffix = DefaultSuffixes
	}
	for _, suffix := range cfg.Suffix {
		s.suffixes = append(s.suffixes, fqdn.MustParse(suffix))
	}
	set := op.NewSet(cfg.Now,
		s.searchDomain(),
		s.checkDomains(),
		s.suggestDomains(),
		s.whoisLookup(),
		s.registrationPrice(),
		s.compareTLDPrices(),
		s.tldMetadata(),
		s.listTLDs(),
		s.marketListings(),
		s.addDomain(),
		s.listDomains(),
		s.bulkDomains(),
	)
	batch.Add(set, batchExample, batchText(set))
	set.Describe(guide)
	return set
}

// stamp changes whenever a listing or a registration price does.
func (s *service) stamp() uint64 {
	return s.cfg.Market.Version() + s.cfg.Prices.Version()<<40
}

// within bounds the time of a search.
func (s *service) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, SearchDeadline-margin)
}
