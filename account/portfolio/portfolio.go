// Package portfolio holds the domain names of accounts: claimed, proven by DNS, listed for sale, and re-checked daily.
//
// Any number of accounts may claim a name; one owns it, the one whose proof is the newest. A proof is a TXT record at
// [ProofLabel] below the name with a random value of the claim. When another account proves the name, or the registry
// says that it changed hands, the losing claim gets another value, so that a record left behind in the DNS proves nothing.
//
// A name can be offered before it is proven; it is for sale only while it is proven. Changes that its account did not make
// are also an [Event] that the account can read.
package portfolio

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/store"
)

// A Status is the state of a claim.
type Status string

// The states of a claim.
const (
	Pending   Status = "pending"   // not proven, or another account has proven the name since
	Verified  Status = "verified"  // proven, and by no other account since
	Suspended Status = "suspended" // proven once; the registry says that the name changed hands since
)

// The proof of a claim: the record "_namewharf.<domain> TXT <Claim.Proof>".
const (
	ProofLabel  = "_namewharf"
	proofPrefix = "namewharf-verification="
)

// A Claim is a name in an account's portfolio.
type Claim struct {
	Domain       fqdn.Name
	Status       Status
	Proof        string       // the value of the TXT record; only for the account
	Price        money.Amount // of the account's listing; zero: it does not offer the name
	Added        time.Time
	VerifiedAt   time.Time    // of the last proof; zero: none yet
	Registration Registration // as the registry said at CheckedAt
	CheckedAt    time.Time    // zero: not yet
}

// A Registration is the public data about a name that shows whether it changed hands. Unknown fields are zero.
type Registration struct {
	Ended       bool   // the registry says that the name does not exist, or is being deleted
	RegistrarID string // IANA's number
	Registrar   string // name
	Created     time.Time
	Expires     time.Time
}

// A Resolver finds TXT records, as lookup.Service does. It fails with [fault.Unavailable] if DNS gives no answer.
type Resolver interface {
	TXT(ctx context.Context, label string, name fqdn.Name) ([]string, error)
}

// A Registry returns the registration of a name. It fails with [fault.Unavailable] if the registry gives no answer, with
// the time to retry if that is known. The answer may come from a cache unless afresh is true.
type Registry interface {
	Registration(ctx context.Context, name fqdn.Name, afresh bool) (Registration, error)
}

// A Market stores offers of names. Its changes belong to the caller's transaction and become visible after Refresh. An
// account has at most one open offer of a name; methods skip names without one.
type Market interface {
	// Prices returns the prices of the account's open offers of the names.
	Prices(ctx context.Context, tx store.Tx, account string, names []fqdn.Name) (map[fqdn.Name]money.Amount, error)
	// Offer offers the names at the price, or sets the price of their open offers; shown ones are for sale. It refuses a
	// name that somebody else has for sale, or that the account has sold.
	Offer(ctx context.Context, tx store.Tx, account string, names []fqdn.Name, price money.Amount, shown bool) (refused map[fqdn.Name]error, err error)
	// Show puts the open offers of the names up for sale, and refuses as Offer does.
	Show(ctx context.Context, tx store.Tx, account string, names []fqdn.Name) (refused map[fqdn.Name]error, err error)
	// Suspend takes the open offers of the names from sale until they are shown again.
	Suspend(ctx context.Context, tx store.Tx, account string, names []fqdn.Name) error
	// Withdraw ends the open offers of the names.
	Withdraw(ctx context.Context, tx store.Tx, account string, names []fqdn.Name) error
	// WithdrawAll ends all open offers of the account.
	WithdrawAll(ctx context.Context, tx store.Tx, account string) error
	// Selling returns the names that the account has sold and whose sale is not complete.
	Selling(ctx context.Context, tx store.Tx, account string) ([]fqdn.Name, error)
	// Listings returns up to limit of the account's offers in every state that follow after, ordered by name and ID.
	Listings(ctx context.Context, tx store.Tx, account string, after Listing, limit int) ([]Listing, error)
	// Refresh makes committed changes visible to searches in this process.
	Refresh(ctx context.Context) error
}

// A Listing is an offer of a name, open or ended.
type Listing struct {
	ID        string
	Domain    fqdn.Name
	Status    string // as the market names it
	Price     money.Amount
	ListedAt  time.Time
	UpdatedAt time.Time
}

// Config configures [New]. The clock is the store's.
type Config struct {
	DB       *store.DB
	Suffixes *fqdn.Suffixes // below which names can be claimed
	DNS      Resolver
	Registry Registry
	Market   Market
	Logger   *slog.Logger // of [Portfolio.Watch]; nil: silent

	// Pace is how long [Portfolio.Watch] waits between two names; 0: [DefaultPace].
	Pace time.Duration
}

// A Portfolio stores the names of all accounts. It is safe for concurrent use.
type Portfolio struct {
	cfg   Config
	slots chan struct{} // one for each running query to DNS or a registry, for all callers together
}

// MaxNames is how many names one account may claim.
const MaxNames = 50_000

// maxQueries is how many queries to DNS and registries run at a time, for all callers together: enough for a thousand
// names within some seconds, and fewer than the DNS client allows, so that searches are not delayed.
const maxQueries = 32

// New returns the portfolio. It panics if cfg is not complete.
func New(cfg Config) *Portfolio {
	if cfg.DB == nil || cfg.Suffixes == nil || cfg.DNS == nil || cfg.Registry == nil || cfg.Market == nil {
		panic("portfolio: the configuration is not complete")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Pace <= 0 {
		cfg.Pace = DefaultPace
	}
	return &Portfolio{cfg: cfg, slots: make(chan struct{}, maxQueries)}
}

// Add claims a name for the account and returns the claim with its proof value. It returns an existing claim unchanged. It
// fails with [fault.Validation] on domain for a name that is not registrable, and with [fault.Conflict] for an account that
// holds [MaxNames].
func (p *Portfolio) Add(ctx context.Context, account string, name fqdn.Name) (Claim, error) {
	registrable, _, err := p.cfg.Suffixes.Registrable(name)
	switch {
	case err != nil:
		return Claim{}, fault.Invalid("domain", "%s", err)
	case registrable != name:
		return Claim{}, fault.Invalid("domain", "is a name below a registered one; send that one, without www or other labels in front")
	case len(ProofLabel)+1+len(name.String()) > fqdn.MaxLength:
		return Claim{}, fault.Invalid("domain", "is too long for the label %s of its proof", ProofLabel)
	}
	var claim Claim
	err = p.cfg.DB.Tx(ctx, func(tx store.Tx) error {
		had, err := p.claims(ctx, tx, account, []fqdn.Name{name})
		if err != nil {
			return err
		}
		if len(had) > 0 {
			claim = had[0]
			return nil
		}
		n, err := count(ctx, tx, account)
		if err != nil {
			return err
		}
		if n >= MaxNames {
			return fault.New(fault.Conflict, "the account holds %d names, which is the limit", MaxNames)
		}
		claim = Claim{Domain: name, Status: Pending, Proof: newProof(), Added: p.cfg.DB.Now().UTC()}
		if err := insertClaim(ctx, tx, account, claim); err != nil {
			return err
		}
		return p.insertEvents(ctx, tx, Event{Account: account, Domain: name, Kind: Added})
	})
	if err != nil {
		return Claim{}, fault.Wrap("claim a name", err)
	}
	return claim, nil
}

// newProof returns a value with at least 128 random bits.
func newProof() string { return proofPrefix + rand.Text() }

// List returns the account's claims that follow a name in alphabetical order, at most limit of them, and whether there
// are more. It starts at the first one after the zero Name.
func (p *Portfolio) List(ctx context.Context, account string, after fqdn.Name, limit int) (claims []Claim, more bool, err error) {
	err = p.cfg.DB.Read(ctx, func(tx store.Tx) (err error) {
		if claims, err = claimsAfter(ctx, tx, account, after, limit+1); err != nil {
			return err
		}
		if more = len(claims) > limit; more {
			claims = claims[:limit]
		}
		return p.addPrices(ctx, tx, account, claims)
	})
	if err != nil {
		return nil, false, fmt.Errorf("list a portfolio: %w", err)
	}
	return claims, more, nil
}

// claims reads the account's claims of the names with their prices, in any order.
func (p *Portfolio) claims(ctx context.Context, tx store.Tx, account string, names []fqdn.Name) ([]Claim, error) {
	claims, err := claimsOf(ctx, tx, account, names)
	if err != nil {
		return nil, err
	}
	return claims, p.addPrices(ctx, tx, account, claims)
}

func (p *Portfolio) addPrices(ctx context.Context, tx store.Tx, account string, claims []Claim) error {
	if len(claims) == 0 {
		return nil
	}
	prices, err := p.cfg.Market.Prices(ctx, tx, account, domainsOf(claims))
	for i := range claims {
		claims[i].Price = prices[claims[i].Domain]
	}
	return err
}

func domainsOf(claims []Claim) []fqdn.Name {
	names := make([]fqdn.Name, len(claims))
	for i, c := range claims {
		names[i] = c.Domain
	}
	return names
}
