// Package sale holds quotes, orders, their states and the transition table.
//
// A [Service] quotes prices, records sales, and changes the state of orders by one transition table. Each change also
// appends to the timeline of the order, posts to the ledger and emits an event, all in the transaction of the caller: they
// commit together or not at all.
//
// Times come from the caller, because a partner in the sandbox has a clock of its own. Only the keys that sign quotes use
// the clock of the [Config].
package sale

import (
	"context"
	"time"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/store"
)

// A Party is a partner in an environment, on its terms. Parties see nothing of one another; the zero Party, which an
// operator is, sees the orders of all.
type Party struct {
	Partner     string
	Environment string // SANDBOX or LIVE
	Terms       Terms
}

// Terms are what is agreed with a partner about its sales.
type Terms struct {
	ServiceBP        int64 // commission on a sale that the partner collects, in basis points; for the [Books]
	PartnerBP        int64 // the partner's commission on a sale that the service collects
	ReviewLimitCents int64 // a sale over this waits for manual review; 0: none does because of its price
}

// all reports whether the party sees the orders of all parties.
func (p Party) all() bool { return p.Partner == "" && p.Environment == "" }

// A Listing is a name that is for sale, or was sold just now.
type Listing struct {
	ID    string
	Price money.Amount // buy-now
}

// An Inventory is where names for sale are. Where a name is not for sale, all methods fail with [fault.NotFound] or
// [fault.Conflict], either of them; the [Service] finds out which it is. The failure must not end the transaction.
type Inventory interface {
	// Offer finds the listing of a name that is for sale, as it is in the database now.
	Offer(ctx context.Context, tx store.Tx, environment string, domain fqdn.Name) (Listing, error)
	// Sell takes the listing of a name from sale because it is sold. Of several at once one succeeds.
	Sell(ctx context.Context, tx store.Tx, environment string, domain fqdn.Name, now time.Time) (Listing, error)
	// Relist puts the listing that was sold last up for sale again. It fails with [fault.Conflict] when the name is for
	// sale already, and when no listing of it is sold.
	Relist(ctx context.Context, tx store.Tx, environment string, domain fqdn.Name, now time.Time) error
}

// Books is where sales are posted. What else depends on the state of an order, such as the shares of others in its price,
// follows it there, in the transaction of the change.
type Books interface {
	// Commission returns the commission of a sale on the party's terms: the service's on one that the partner collects, the
	// partner's on one that the service collects.
	Commission(p Party, m PaymentModel, price money.Amount) money.Amount
	// Sold posts the sale of a fresh order, and its commission.
	Sold(ctx context.Context, tx store.Tx, p Party, o Order) error
	// Completed is called when the name of an order was delivered.
	Completed(ctx context.Context, tx store.Tx, o Order) error
	// Settled is called when one order is settled by itself.
	Settled(ctx context.Context, tx store.Tx, o Order) error
	// Reverse posts the exact opposite of what Sold did, because of an action: [RefundBuyer], [Cancel] or [ChargeBack].
	Reverse(ctx context.Context, tx store.Tx, o Order, because Action) error
}

// Payments give buyers back what the service collected.
type Payments interface {
	// Release gives the buyer of an order its money back. The order was undone in the same transaction. It does nothing for an
	// order whose money went back already.
	Release(ctx context.Context, tx store.Tx, order string) error
}

// Events is where events are emitted. A [Service] calls it last in a transaction.
type Events interface {
	Emit(ctx context.Context, tx store.Tx, p Party, kind string, data EventData, at time.Time) error
	// EmitAll emits events of one kind in their order.
	EmitAll(ctx context.Context, tx store.Tx, p Party, kind string, data []EventData, at time.Time) error
}

// EventData is what an order's event carries.
type EventData struct {
	Order Order `json:"order"` // without the buyer, the addresses and the timeline
}

// The kinds of events.
const (
	EventRecorded          = "order.recorded"
	EventReviewCleared     = "order.manual_review_cleared"
	EventTransferStarted   = "order.transfer_started"
	EventTransferCompleted = "order.transfer_completed"
	EventSettled           = "order.settled"
	EventRefunded          = "order.refunded" // or cancelled, or charged back
)

// An Auditor records who did what, in the transaction of the change.
type Auditor interface {
	Record(ctx context.Context, tx store.Tx, by Actor, action, subject string, details map[string]any) error
}

// Config is what a [Service] needs.
type Config struct {
	DB        *store.DB
	Inventory Inventory
	Books     Books
	Events    Events
	Audit     Auditor
	Payments  Payments         // nil: the service collects nothing
	Keys      store.Sealer     // seal the keys that sign quotes; the same in all processes
	Now       func() time.Time // by which those keys are changed; nil: the store's clock
}

// A Service quotes prices, records sales and changes orders. It is safe for concurrent use.
type Service struct {
	cfg   Config
	keys  keyring
	turns map[string]chan struct{} // by environment: held by a transaction on PostgreSQL
}

// New returns a service. It panics where something in cfg is missing.
func New(cfg Config) *Service {
	if cfg.DB == nil || cfg.Inventory == nil || cfg.Books == nil || cfg.Events == nil || cfg.Audit == nil || cfg.Keys == nil {
		panic("sale: the configuration is not complete")
	}
	if cfg.Now == nil {
		cfg.Now = cfg.DB.Now
	}
	turns := map[string]chan struct{}{"SANDBOX": make(chan struct{}, 1), "LIVE": make(chan struct{}, 1)}
	return &Service{cfg: cfg, keys: keyring{now: cfg.Now, sealer: cfg.Keys}, turns: turns}
}

// Tx is [store.DB.Tx] for transactions that place or change orders of an environment. All of them change the rows that
// number the changes of listings and the events. PostgreSQL refuses all but the first of several concurrent ones, which
// would use up their retries; there, the transactions of one process run one after the other. SQLite does so by itself,
// and groups their commits.
func (s *Service) Tx(ctx context.Context, environment string, fn func(store.Tx) error) error {
	if turn := s.turns[environment]; turn != nil && s.cfg.DB.Engine() == store.Postgres {
		select {
		case turn <- struct{}{}:
			defer func() { <-turn }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return s.cfg.DB.Tx(ctx, fn)
}
