// Package brokerage holds acquisition cases: a partner opens one for a domain that is not for sale here, and the operator
// negotiates with its owner.
//
// A [Service] decides whether a domain is eligible, opens cases, changes their state by one transition table, and serves the
// buyer's progress page. Each change appends to the timeline of the case; a completed case posts the partner's share and emits
// an event. All of it happens in the transaction of the caller.
//
// Times come from the caller, or from [Config.Clock], because a partner in the sandbox has a clock of its own.
package brokerage

import (
	"context"
	"time"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/store"
)

// A Party is a partner in an environment. Parties see nothing of one another; the zero Party, which an operator is, sees the
// cases of all.
type Party struct {
	Partner     string
	Environment string // SANDBOX or LIVE
}

const sandbox = "SANDBOX"

func (p Party) all() bool { return p == Party{} }

// A Market knows what is for sale here.
type Market interface {
	Listed(ctx context.Context, tx store.Tx, environment string, domain fqdn.Name) (bool, error)
}

// A Registration is what a registry says about a domain.
type Registration struct {
	State       Registered
	Nameservers []string // host names in A-label form, lower case, no root dot; may be empty
}

// Registered says whether a domain is registered.
type Registered int

// The answers of registries.
const (
	RegistryUnsure Registered = iota // it did not answer, or not clearly
	NotRegistered
	IsRegistered
)

// A Registry knows registrations. A failure to answer is [RegistryUnsure].
type Registry interface {
	Registration(ctx context.Context, domain fqdn.Name) Registration
}

// Books is where the partner's share is posted.
type Books interface {
	// Completed posts the partner's share of the service's fee on a deal, on the partner's terms of now, and returns
	// the share. It is called once for a case.
	Completed(ctx context.Context, tx store.Tx, p Party, caseID string, price money.Amount, at time.Time) (share money.Amount, err error)
}

// Events is where events are emitted, last in a transaction.
type Events interface {
	Emit(ctx context.Context, tx store.Tx, p Party, kind string, data EventData, at time.Time) error
}

// EventCompleted is the kind of the event of a completed case.
const EventCompleted = "brokerage.case_completed"

// EventData is what the event carries.
type EventData struct {
	Case CaseData `json:"case"`
}

// CaseData is a completed case in an event.
type CaseData struct {
	CaseID            string `json:"case_id"`
	Domain            string `json:"domain"`
	Tier              Tier   `json:"tier"`
	Status            State  `json:"status"`
	PriceCents        int64  `json:"price_cents"`
	PartnerShareCents int64  `json:"partner_share_cents"`
	Currency          string `json:"currency"`
}

// An Actor is who acts on cases.
type Actor struct {
	Name   string // for the audit log
	Reason string // for the audit log; may be empty
	Party  Party  // whose cases the actor sees; zero: all
}

// An Auditor records who did what, in the transaction of the change.
type Auditor interface {
	Record(ctx context.Context, tx store.Tx, by Actor, action, subject string, details map[string]any) error
}

// Config is what a [Service] needs. Registry and Sites may be nil: then all domains of LIVE are undetermined.
type Config struct {
	DB       *store.DB
	Market   Market
	Registry Registry
	Sites    *Sites
	Books    Books
	Events   Events
	Audit    Auditor
	Keys     store.Sealer                                                                 // seal the tokens of progress links
	Clock    func(ctx context.Context, tx store.Tx, p Party) (time.Time, error)           // the time of a party
	Tx       func(ctx context.Context, environment string, fn func(store.Tx) error) error // runs transactions that change cases; nil: that of DB
	BaseURL  string                                                                       // prefix of progress links, without a slash at the end
	NoLimits bool                                                                         // offers are bounded in number only
}

// A Service holds the cases. It is safe for concurrent use.
type Service struct{ cfg Config }

// New returns a service. It panics where something in cfg is missing.
func New(cfg Config) *Service {
	if cfg.DB == nil || cfg.Market == nil || cfg.Books == nil || cfg.Events == nil || cfg.Audit == nil || cfg.Keys == nil || cfg.Clock == nil {
		panic("brokerage: the configuration is not complete")
	}
	if cfg.Tx == nil {
		cfg.Tx = func(ctx context.Context, _ string, fn func(store.Tx) error) error { return cfg.DB.Tx(ctx, fn) }
	}
	return &Service{cfg}
}
