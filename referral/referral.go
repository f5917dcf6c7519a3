// Package referral holds tracked links: partners put them on other sites, browsers that follow them are counted, and a sale to
// such a browser earns the partner a share.
//
// A [Service] creates links, answers visits ([Service.Visit]), and reports. Clicks are counted once for a visitor, link and day,
// in memory first and then in batches; a crash loses those of the last second ([FlushEvery]). A visitor is a digest under a key
// that changes daily and is then removed, so that nothing personal is stored.
//
// A checkout uses three calls, each in a transaction of its own:
//
//	cookie, _ := r.Cookie(referral.CookieName(secure))                   // of the browser
//	referrals.Checkout(ctx, tx, cookie.Value, referral.Checkout{ID: …})  // when the browser begins to pay
//	referrals.Attribute(ctx, tx, referral.Order{ID: …, Checkout: …})     // in the order's transaction
package referral

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/namewharf/namewharf/cache"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/store"
)

// A Party is a partner in an environment. Parties see nothing of one another.
type Party struct {
	Partner     string
	Environment string // SANDBOX or LIVE
}

// Books is where shares are posted.
type Books interface {
	// Referred posts the party's share of a sale that it referred, on its terms of now, and returns the share. The share
	// follows the order. It is called once for an order.
	Referred(ctx context.Context, tx store.Tx, p Party, order string, price money.Amount, at time.Time) (share money.Amount, err error)
}

// Config is what a [Service] needs. Logger may be nil.
type Config struct {
	DB      *store.DB
	Books   Books
	Keys    store.Sealer                                                       // seal the keys of days and of cookies
	Clock   func(ctx context.Context, tx store.Tx, p Party) (time.Time, error) // the time of a party
	Now     func() time.Time                                                   // the real time
	BaseURL string                                                             // prefix of links, without a slash at the end
	Logger  *slog.Logger
}

// A Service holds the links. It is safe for concurrent use.
type Service struct {
	cfg    Config
	links  *cache.Cache[string, *visited] // by code; nil: there is no such link
	clicks *counter

	mu     sync.Mutex
	secret []byte // signs cookies; nil: not read yet
}

// Bounds of the links in memory, and how long they stay there.
const (
	linksCached  = 16 << 10
	linkLife     = time.Minute
	sandboxLife  = 2 * time.Second // the partner's test clock may move
	unknownLife  = 10 * time.Second
	secretName   = "referral cookies"
	maxUserAgent = 512 // bytes that count
)

// New returns a service. It panics where something in cfg is missing.
func New(cfg Config) *Service {
	if cfg.DB == nil || cfg.Books == nil || cfg.Keys == nil || cfg.Clock == nil || cfg.Now == nil {
		panic("referral: the configuration is not complete")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Service{
		cfg:    cfg,
		links:  cache.New(cache.Config[string, *visited]{Entries: linksCached, Now: cfg.Now}),
		clicks: newCounter(cfg),
	}
}

// Run writes clicks to the database until ctx ends, and then what is left.
func (s *Service) Run(ctx context.Context) {
	if _, err := s.signingSecret(ctx); err != nil && ctx.Err() == nil { // the first visitor need not wait for it
		s.cfg.Logger.ErrorContext(ctx, "the secret of referral cookies cannot be read", "error", err.Error())
	}
	s.clicks.run(ctx)
}

// Prepare reads the secret of cookies. Call it before [Service.Checkout], which runs in a transaction and cannot make one.
func (s *Service) Prepare(ctx context.Context) error {
	_, err := s.signingSecret(ctx)
	return err
}

// signingSecret is what cookies are signed with.
func (s *Service) signingSecret(ctx context.Context) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.secret == nil {
		secret, err := s.cfg.DB.Secret(ctx, secretName, s.cfg.Keys)
		if err != nil {
			return nil, err
		}
		s.secret = secret
	}
	return s.secret, nil
}
