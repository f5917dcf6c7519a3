package market

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/market/index"
	"github.com/namewharf/namewharf/market/words"
	"github.com/namewharf/namewharf/store"
)

// Config is what a [Market] needs.
type Config struct {
	DB      *store.DB
	Lexicon *words.Lexicon // nil: that of [words.English]
	Logger  *slog.Logger   // nil: nothing is logged

	// Follow is how often the database is asked for changes by other processes; 0: [DefaultFollow].
	Follow time.Duration
}

// DefaultFollow is how often changes by other processes are looked for: they are visible within a second.
const DefaultFollow = 500 * time.Millisecond

// A Market holds and searches what is for sale. It is safe for concurrent use.
type Market struct {
	db  *store.DB
	log *slog.Logger
	lex *words.Lexicon

	indexes [len(environments)]atomic.Pointer[index.Index]
	version atomic.Uint64

	following sync.Mutex // held while changes are read and applied; guards what follows
	seen      [len(environments)]place
	followed  time.Time // when the changes were last followed to their end, by the real clock

	stop context.CancelFunc
	done chan struct{}
}

// New loads the visible listings of both environments, a million in some seconds, and follows the database from there.
// Close it before the database.
func New(ctx context.Context, cfg Config) (*Market, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Follow <= 0 {
		cfg.Follow = DefaultFollow
	}
	if cfg.Lexicon == nil {
		cfg.Lexicon = words.English()
	}
	m := &Market{db: cfg.DB, log: cfg.Logger, lex: cfg.Lexicon, done: make(chan struct{})}
	for i, env := range environments {
		if err := m.load(ctx, i, env); err != nil {
			return nil, fmt.Errorf("load the listings of %s: %w", env, err)
		}
	}
	m.setVersion()
	m.followed = time.Now().Round(0)
	ctx, m.stop = context.WithCancel(context.WithoutCancel(ctx))
	go m.follow(ctx, cfg.Follow)
	return m, nil
}

// Close stops following the database and waits for it.
func (m *Market) Close() {
	m.stop()
	<-m.done
}

// Version changes whenever a visible listing changes. It is the same in every process and after a restart, as long as
// the listings are. It changes after the listings do (after the last of them, where one transaction changed very many): read
// it first, then what is to be cached under it.
func (m *Market) Version() uint64 { return m.version.Load() }

// Len is the number of names for sale.
func (m *Market) Len(env Environment) int {
	x := m.index(env)
	if x == nil {
		return 0
	}
	return x.Len()
}

// Get returns the offer for a domain, if it is for sale. It allocates nothing.
func (m *Market) Get(env Environment, domain fqdn.Name) (Offer, bool) {
	x := m.index(env)
	if x == nil {
		return Offer{}, false
	}
	e, ok := x.Get(domain.String())
	if !ok {
		return Offer{}, false
	}
	return Offer{Domain: domain, PriceCents: e.PriceCents, Currency: e.Currency, ListedAt: store.Time(e.ListedAt)}, true
}

// A Hit is an offer that is relevant to a search.
type Hit struct {
	Offer
	Match Match
	Score float32 // best first; above 1 for exact matches
}

// A Match says why an offer was found.
type Match = index.Match

// The ways to match, best first.
const (
	Exact    = index.Exact    // the name or label asked for
	Keyword  = index.Keyword  // has the words asked for, or begins with them
	Semantic = index.Semantic // has words near them in meaning
)

// A Position is a place between two listings of a [Sort]. It is opaque to callers, and valid for the
// filter that it came from.
type Position = index.Position

// Search returns the offers most relevant to a domain, a label, a phrase or a URL, best first, at most limit and at most
// [MaxHits]. Only relevant ones are shown; the order never depends on prices.
func (m *Market) Search(env Environment, query string, limit int) []Hit {
	x := m.index(env)
	if x == nil {
		return nil
	}
	found := x.Search(query, min(limit, MaxHits))
	hits := make([]Hit, 0, len(found))
	for _, f := range found {
		hits = append(hits, Hit{offer(f.Entry), f.Match, f.Score})
	}
	return hits
}

// Words are what a label is made of, as a search understands it: words, numbers, and letters that are no word.
func (m *Market) Words(label string) []string {
	var buffer [16]words.Piece
	pieces := m.lex.Split(buffer[:0], strings.ToLower(label))
	all := make([]string, len(pieces))
	for i, p := range pieces {
		all[i] = p.Text
	}
	return all
}

// MaxHits bounds the answer of one search.
const MaxHits = 1000

// offer is an entry of the index, whose names were valid when they were listed.
func offer(e index.Entry) Offer {
	return Offer{Domain: fqdn.MustParse(e.Domain), PriceCents: e.PriceCents, Currency: e.Currency, ListedAt: store.Time(e.ListedAt)}
}

// Lexicon is the words that listings are found by.
func (m *Market) Lexicon() *words.Lexicon { return m.lex }

func (m *Market) index(env Environment) *index.Index {
	if i := env.ordinal(); i >= 0 {
		return m.indexes[i].Load()
	}
	return nil
}

// A Filter says which listings to list, and in which order.
type Filter struct {
	Environment Environment
	TLD         string // A-label form, without a leading dot; "uk" includes co.uk; empty: all
	Q           string // only what [Market.Search] finds; empty: all
	Sort        Sort
	MinPrice    int64     // cents; 0: no bound
	MaxPrice    int64     // cents; 0: no bound
	Limit       int       // 1 to MaxPage; 0: DefaultPage
	Offset      int       // 0 to MaxOffset
	After       *Position // from Page.Next; nil: from the start
}

// Limits of a page.
const (
	DefaultPage = 25
	MaxPage     = 100
	MaxOffset   = 10_000
)

// A Sort is an order of listings. Equal ones follow by name.
type Sort string

// The sorts.
const (
	Newest    Sort = "newest" // the default without a query
	Name      Sort = "name"
	Length    Sort = "length"
	Price     Sort = "price"     // lowest first
	Relevance Sort = "relevance" // to the query, best first: the default with one, and only there
)

// order is that of the index; query reports whether there is one.
func (s Sort) order(query bool) (index.Order, bool) {
	switch s {
	case "":
		if query {
			return index.Relevance, true
		}
		return index.Newest, true
	case Relevance:
		return index.Relevance, query
	case Newest:
		return index.Newest, true
	case Name:
		return index.Name, true
	case Length:
		return index.Length, true
	case Price:
		return index.Price, true
	}
	return 0, false
}

// A Page is a part of the listings.
type Page struct {
	Listings []Listing
	Next     *Position // for Filter.After of the next page; nil at the end
}

// List returns a page of the visible listings. Following the pages by position shows each listing that is
// visible all the time exactly once, whatever is added or removed meanwhile. A page may be shorter than its limit when names were sold
// a moment ago; the end is where Next is nil. It fails with a [fault.Validation] error for bounds out of range.
func (m *Market) List(ctx context.Context, f Filter) (Page, error) {
	order, ok := f.Sort.order(f.Q != "")
	x := m.index(f.Environment)
	switch {
	case x == nil:
		return Page{}, fault.Invalid("environment", "must be %s or %s", Sandbox, Live)
	case !ok:
		return Page{}, fault.Invalid("sort", "must be newest, name, length, price or, with q, relevance")
	case f.Limit < 0 || f.Limit > MaxPage:
		return Page{}, fault.Invalid("limit", "must be from 1 to %d", MaxPage)
	case f.Offset < 0 || f.Offset > MaxOffset:
		return Page{}, fault.Invalid("offset", "must be from 0 to %d; follow next_cursor to go further", MaxOffset)
	case f.MinPrice < 0 || f.MaxPrice < 0:
		return Page{}, fault.Invalid("min_price_cents", "must not be negative")
	}
	if f.Limit == 0 {
		f.Limit = DefaultPage
	}
	found := x.Browse(index.Filter{
		Suffix: f.TLD, Query: f.Q, MinPrice: f.MinPrice, MaxPrice: f.MaxPrice,
		Order: order, After: f.After, Offset: f.Offset, Limit: f.Limit,
	})
	listings, err := m.details(ctx, f.Environment, found.Entries)
	if err != nil {
		return Page{}, fmt.Errorf("list the market: %w", err)
	}
	return Page{Listings: listings, Next: found.Next}, nil
}

// Listing returns the listing of a domain that is for sale, from the database. It fails with [fault.NotFound].
func (m *Market) Listing(ctx context.Context, env Environment, domain fqdn.Name) (Listing, error) {
	return Find(ctx, m.db, env, domain)
}

func (m *Market) setVersion() {
	var sum int64
	for _, p := range m.seen {
		sum += p.change - 1 // the last change that is applied as a whole
	}
	m.version.Store(uint64(sum))
}
