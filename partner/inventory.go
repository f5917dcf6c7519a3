package partner

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/partner/credential"
)

// MaxResults is the maximum number of search results (section 8 of the contract). It prevents bulk export.
const MaxResults = 5

// inventoryMaxAge is how long an answer about the inventory may be cached while no listing changes.
const inventoryMaxAge = time.Minute

// inventory brings the market's index up to date after a sale, so that this process does not offer a sold name. Without
// it the index follows the database with a delay.
type inventory struct {
	market *market.Market

	mu      sync.Mutex
	running *indexUpdate // reads the database now
	next    *indexUpdate // starts when running ends
	wait    sync.WaitGroup
}

// A refresh reads the changes of the database into the index.
type indexUpdate struct {
	done chan struct{}
	err  error
}

func newInventory(m *market.Market) *inventory { return &inventory{market: m} }

func (i *inventory) close() { i.wait.Wait() }

// changed returns when the index includes everything that is committed. Calls during an update share the next one.
func (i *inventory) changed(ctx context.Context) error {
	i.mu.Lock()
	r := i.next
	if r == nil {
		r = &indexUpdate{done: make(chan struct{})}
		if i.running == nil {
			i.start(r)
		} else {
			i.next = r
		}
	}
	i.mu.Unlock()
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// start starts an update. The caller holds i.mu.
func (i *inventory) start(r *indexUpdate) {
	i.running, i.next = r, nil
	i.wait.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), updateTimeout)
		defer cancel()
		r.err = i.market.Refresh(ctx)
		i.mu.Lock()
		defer i.mu.Unlock()
		close(r.done)
		i.running = nil
		if i.next != nil {
			i.start(i.next)
		}
	})
}

const updateTimeout = 10 * time.Second

// DomainText is a domain name, in Unicode or A-label form.
type DomainText string

// Schema is a bounded text.
func (DomainText) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", MinLength: new(1), MaxLength: new(253)}
}

func (d DomainText) parse(field string) (fqdn.Name, error) {
	name, err := fqdn.Parse(string(d))
	if err == nil {
		err = name.Registrable()
	}
	if err != nil {
		return fqdn.Name{}, fault.Invalid(field, "%s", err)
	}
	return name, nil
}

// Query is a search text.
type Query string

// Schema is a bounded text.
func (Query) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", MinLength: new(2), MaxLength: new(200)}
}

// A SearchIn is a search for names.
type SearchIn struct {
	Q Query `json:"q" jsonschema:"words, a phrase or a name"`
}

// A SearchOut is the names that match, best first.
type SearchOut struct {
	Query   Query `json:"query"`
	Count   int   `json:"count"`
	Results []Hit `json:"results"`
}

// A Hit is a name for sale that matches.
type Hit struct {
	Domain     string `json:"domain"`
	TLD        string `json:"tld"`
	Available  bool   `json:"available"`
	PriceCents int64  `json:"price_cents"`
	Currency   string `json:"currency"`
	Match      Match  `json:"match"`
}

// Match is how a name matched.
type Match market.Match

// Schema is the enumeration of the values.
func (Match) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Enum: []any{string(market.Exact), string(market.Keyword), string(market.Semantic)}}
}

// A DomainIn names a domain in the path.
type DomainIn struct {
	Name DomainText `json:"name" jsonschema:"the domain name"`
}

// A DomainOut is a name for sale with its details.
type DomainOut struct {
	Domain     string    `json:"domain"`
	Unicode    string    `json:"unicode"`
	TLD        string    `json:"tld"`
	Available  bool      `json:"available"`
	PriceCents int64     `json:"price_cents"`
	Currency   string    `json:"currency"`
	ListedAt   time.Time `json:"listed_at"`
	Metadata   Metadata  `json:"metadata"`
}

// Metadata describes a name: its parts, and the seller's description.
type Metadata struct {
	Length      int      `json:"length" jsonschema:"characters before the suffix"`
	Words       []string `json:"words" jsonschema:"the words that it is made of"`
	IDN         bool     `json:"idn" jsonschema:"whether it has characters beyond ASCII"`
	Description string   `json:"description,omitzero"`
	Keywords    []string `json:"keywords"`
}

// A PriceIn names a domain in the query.
type PriceIn struct {
	Domain DomainText `json:"domain" jsonschema:"the domain name"`
}

// An AvailabilityOut says whether a name can be bought here, and at what price.
type AvailabilityOut struct {
	Domain     string `json:"domain"`
	Available  bool   `json:"available"`
	PriceCents int64  `json:"price_cents,omitzero" jsonschema:"where it is available"`
	Currency   string `json:"currency,omitzero"`
}

// A PricingOut is the price of a name.
type PricingOut struct {
	Domain          string `json:"domain"`
	BuyNowCents     int64  `json:"buy_now_cents"`
	FloorPriceCents int64  `json:"floor_price_cents" jsonschema:"the least that the seller takes"`
	Currency        string `json:"currency"`
}

// inventoryCache caches answers about an environment's inventory until a listing changes.
func inventoryCache[In, Out any](a *API) *op.Cache[In, Out] {
	return &op.Cache[In, Out]{
		For:   func(In, Out) time.Duration { return inventoryMaxAge },
		View:  func(ctx context.Context) string { return string(party(ctx).Environment) },
		Stamp: a.cfg.Market.Version,
	}
}

func (a *API) searchDomains() op.Operation[SearchIn, SearchOut] {
	return op.Operation[SearchIn, SearchOut]{
		Name:  "partner_search_domains",
		Title: "Search names for sale",
		Doc: "The names for sale that fit words best, at most 5, by name, by word and by meaning. " +
			"Use it to offer a buyer something; fewer are found where fewer fit.",
		Route: op.Route{Method: "GET", Path: root + "/domains/search"},
		Scope: credential.ScopeSearch, Limit: ClassSearch, Effect: op.Reads,
		Cache:   inventoryCache[SearchIn, SearchOut](a),
		Example: SearchIn{Q: "coffee shop"},
		Do: func(ctx context.Context, in SearchIn) (SearchOut, error) {
			out := SearchOut{Query: in.Q}
			for _, h := range a.cfg.Market.Search(party(ctx).Environment, string(in.Q), MaxResults) {
				out.Results = append(out.Results, Hit{
					Domain: h.Domain.String(), TLD: a.tldOf(h.Domain), Available: true,
					PriceCents: h.PriceCents, Currency: h.Currency, Match: Match(h.Match),
				})
			}
			out.Count = len(out.Results)
			return out, nil
		},
	}
}

func (a *API) getDomain() op.Operation[DomainIn, DomainOut] {
	return op.Operation[DomainIn, DomainOut]{
		Name:  "partner_get_domain",
		Title: "Look at a name for sale",
		Doc:   "Price and description of a name that is for sale. A name that is not listed is not found.",
		Route: op.Route{Method: "GET", Path: root + "/domains/{name}"},
		Scope: credential.ScopeSearch, Limit: ClassSearch, Effect: op.Reads,
		Cache:   inventoryCache[DomainIn, DomainOut](a),
		Example: DomainIn{Name: "brewhaven.example"},
		Do: func(ctx context.Context, in DomainIn) (DomainOut, error) {
			l, err := a.listing(ctx, "name", in.Name)
			if err != nil {
				return DomainOut{}, err
			}
			label := l.Domain.Label()
			if l.Domain.IDN() {
				label, _, _ = strings.Cut(l.Domain.Unicode(), ".")
			}
			return DomainOut{
				Domain: l.Domain.String(), Unicode: l.Domain.Unicode(), TLD: a.tldOf(l.Domain), Available: true,
				PriceCents: l.PriceCents, Currency: l.Currency, ListedAt: l.ListedAt,
				Metadata: Metadata{
					Length: len([]rune(label)), Words: a.cfg.Market.Words(label), IDN: l.Domain.IDN(),
					Description: l.Description, Keywords: l.Keywords,
				},
			}, nil
		},
	}
}

func (a *API) availability() op.Operation[PriceIn, AvailabilityOut] {
	return op.Operation[PriceIn, AvailabilityOut]{
		Name:  "partner_availability",
		Title: "Ask whether a name can be bought",
		Doc:   "Whether a name is for sale here, and its price. A name that is not listed is not available, which is no error.",
		Route: op.Route{Method: "GET", Path: root + "/availability"},
		Scope: credential.ScopeSearch, Limit: ClassSearch, Effect: op.Reads,
		Cache:   inventoryCache[PriceIn, AvailabilityOut](a),
		Example: PriceIn{Domain: "brewhaven.example"},
		Do: func(ctx context.Context, in PriceIn) (AvailabilityOut, error) {
			name, err := in.Domain.parse("domain")
			if err != nil {
				return AvailabilityOut{}, err
			}
			offer, ok := a.cfg.Market.Get(party(ctx).Environment, name)
			return AvailabilityOut{name.String(), ok, offer.PriceCents, offer.Currency}, nil
		},
	}
}

func (a *API) pricing() op.Operation[PriceIn, PricingOut] {
	return op.Operation[PriceIn, PricingOut]{
		Name:  "partner_pricing",
		Title: "Ask for the price of a name",
		Doc:   "Buy-now price and floor price of a name that is for sale. A name that is not listed is not found.",
		Route: op.Route{Method: "GET", Path: root + "/pricing"},
		Scope: credential.ScopeSearch, Limit: ClassSearch, Effect: op.Reads,
		Cache:   inventoryCache[PriceIn, PricingOut](a),
		Example: PriceIn{Domain: "brewhaven.example"},
		Do: func(ctx context.Context, in PriceIn) (PricingOut, error) {
			l, err := a.listing(ctx, "domain", in.Domain)
			if err != nil {
				return PricingOut{}, err
			}
			return PricingOut{l.Domain.String(), l.PriceCents, l.FloorPriceCents, l.Currency}, nil
		},
	}
}

// listing returns the listing of a name that is for sale.
func (a *API) listing(ctx context.Context, field string, text DomainText) (market.Listing, error) {
	name, err := text.parse(field)
	if err != nil {
		return market.Listing{}, err
	}
	return a.cfg.Market.Listing(ctx, party(ctx).Environment, name)
}

// tldOf returns the public suffix of a name.
func (a *API) tldOf(name fqdn.Name) string {
	suffix, _ := a.cfg.Suffixes.Of(name)
	return suffix.String()
}
