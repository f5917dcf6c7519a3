package tools

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/tld"
)

// SearchIn asks for a name and its siblings.
type SearchIn struct {
	Q                 Query      `json:"q" jsonschema:"a label or a domain, e.g. acme or acme.com; a phrase or a URL will do"`
	TLDs              SuffixList `json:"tlds,omitzero" jsonschema:"TLDs to search instead of the usual twelve, e.g. com, co.uk"`
	RequireRealPrices bool       `json:"require_real_prices,omitzero" jsonschema:"true: sign in rather than see masked marketplace prices"`
}

// SearchOut is the name asked for first, then its siblings, then listings that fit a phrase.
type SearchOut struct {
	Query        string    `json:"query"`
	Label        string    `json:"label"`
	Results      []Result  `json:"results"`
	PricesMasked bool      `json:"prices_masked"`
	Unlock       Unlock    `json:"unlock,omitzero" jsonschema:"how to see real marketplace prices; only when they are masked"`
	CheckedAt    time.Time `json:"checked_at" jsonschema:"when the oldest verdict was made"`

	fresh time.Time
}

// A SuffixList is suffixes to search.
type SuffixList []string

// MaxSuffixes is how many suffixes one search may name.
const MaxSuffixes = 30

// maxSuffix is how many characters a suffix may have; the longest there is has half as many.
const maxSuffix = 63

// Schema is a short list of short texts.
func (SuffixList) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "string", MaxLength: new(maxSuffix)}, MinItems: new(1), MaxItems: new(MaxSuffixes)}
}

// Bounds of a phrase search: how many suffixes its second spelling is looked up under, how many listings are added.
const (
	secondLabelSuffixes = 4
	phraseListings      = 5
)

func (s *service) searchDomain() op.Operation[SearchIn, SearchOut] {
	return op.Operation[SearchIn, SearchOut]{
		Name:  "search_domain",
		Title: "Search a domain",
		Doc: "Says whether a name can be registered, and the same label under other TLDs, with prices and listings. " +
			"Use it for one idea; for many full names use check_domains. Only status available is certain.",
		Route:   op.Route{Method: "POST", Path: "/api/domain/search"},
		Batch:   true,
		Tool:    true,
		Effect:  op.Reads,
		Limit:   op.Lookup,
		Cost:    s.searchCost,
		Cache:   &op.Cache[SearchIn, SearchOut]{View: view, Stamp: s.stamp, For: s.searchHolds},
		Example: SearchIn{Q: "brewhaven.com"},
		Text:    SearchOut.text,
		Do:      s.search,
	}
}

// searchCost is one look-up for the usual number of suffixes, and one more for each such number beyond.
func (s *service) searchCost(_ context.Context, in SearchIn) []op.Charge {
	usual := len(s.suffixes)
	return []op.Charge{{Class: op.Lookup, Count: max(1, (len(in.TLDs)+usual-1)/usual)}}
}

func (s *service) search(ctx context.Context, in SearchIn) (SearchOut, error) {
	if err := needPrices(ctx, in.RequireRealPrices); err != nil {
		return SearchOut{}, err
	}
	about, err := in.Q.read(s.cfg.Lookup.Suffixes())
	if err != nil {
		return SearchOut{}, err
	}
	suffixes, err := in.TLDs.read(s.suffixes)
	if err != nil {
		return SearchOut{}, err
	}
	out := SearchOut{
		Query: string(in.Q), Label: about.labels[0].Unicode(),
		PricesMasked: view(ctx) == masked,
	}
	out.Results, out.CheckedAt, out.fresh = s.answers(ctx, s.asks(about, suffixes), everything)
	out.Unlock = s.unlock(ctx, slices.ContainsFunc(out.Results, func(r Result) bool { return r.Listing != (Listing{}) }))
	return out, nil
}

// asks lists the names to look up in the order of the answer, each once.
func (s *service) asks(about subject, suffixes []fqdn.Name) []ask {
	var asks []ask
	seen := map[fqdn.Name]bool{}
	add := func(name fqdn.Name, kind Kind) {
		if !seen[name] {
			seen[name] = true
			asks = append(asks, ask{name: name, kind: kind})
		}
	}
	if !about.exact.IsZero() {
		add(about.exact, Exact)
	}
	for i, label := range about.labels {
		under := suffixes
		if i > 0 {
			under = suffixes[:min(secondLabelSuffixes, len(suffixes))]
		}
		for _, suffix := range under {
			if name, err := label.Under(suffix); err == nil {
				add(name, Sibling)
			}
		}
	}
	if about.phrase != "" {
		for _, hit := range s.cfg.Market.Search(market.Live, about.phrase, phraseListings) {
			add(hit.Domain, ForSale)
		}
	}
	return asks
}

// read parses the suffixes, or returns the usual ones when there are none. Errors are [fault.Validation] on tlds.
func (l SuffixList) read(usual []fqdn.Name) ([]fqdn.Name, error) {
	if l == nil {
		return usual, nil
	}
	var names []fqdn.Name
	for i, text := range l {
		name, err := tld.ParseSuffix(text)
		if err != nil {
			return nil, fault.Invalid("tlds["+strconv.Itoa(i)+"]", "is not a TLD such as com or co.uk")
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

func (s *service) searchHolds(_ SearchIn, out SearchOut) time.Duration {
	return out.fresh.Sub(s.cfg.Now())
}
