package sale

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/store"
)

// An Order is a recorded sale, as the API writes it.
type Order struct {
	PublicID           string       `json:"public_id,omitzero" jsonschema:"the order's id; a dry run has none"`
	Domain             string       `json:"domain"`
	Status             State        `json:"status"`
	SalePriceCents     int64        `json:"sale_price_cents"`
	Currency           string       `json:"currency"`
	PaymentModel       PaymentModel `json:"payment_model"`
	Review             Review       `json:"review,omitzero"`
	ExternalPaymentRef string       `json:"external_payment_ref,omitzero" jsonschema:"the partner's payment reference"`
	Buyer              Buyer        `json:"buyer,omitzero"`
	ReturnURL          string       `json:"return_url,omitzero"`
	CancelURL          string       `json:"cancel_url,omitzero"`
	CreatedAt          time.Time    `json:"created_at"`
	UpdatedAt          time.Time    `json:"updated_at"`
	Timeline           []Step       `json:"timeline,omitzero"`

	Partner     string    `json:"-"`
	Environment string    `json:"-"`
	ListingID   string    `json:"-"` // what was sold
	CompletedAt time.Time `json:"-"` // when the transfer was completed, from which the settlement date counts; zero: not yet

	// CommissionCents is the commission that was recorded with the order: the service's if the partner collected the price,
	// else the partner's.
	CommissionCents int64 `json:"-"`

	quote   string // number of the quote that it was placed with; empty: none
	version int    // number of the last step
}

// Party is the partner that sold, without terms.
func (o Order) Party() Party { return Party{Partner: o.Partner, Environment: o.Environment} }

// Price is what the name was sold for.
func (o Order) Price() money.Amount {
	return money.Amount{Cents: o.SalePriceCents, Currency: o.Currency}
}

// A Buyer is the buyer, as far as the partner says.
type Buyer struct {
	Email   string `json:"email,omitzero"`
	Name    string `json:"name,omitzero"`
	Country string `json:"country,omitzero" jsonschema:"ISO 3166-1 alpha-2 code"`
}

// A Step is a line of an order's timeline.
type Step struct {
	At     time.Time `json:"at"`
	Type   string    `json:"type" jsonschema:"what happened: the type of the event, where there is one"`
	Status State     `json:"status" jsonschema:"the order's status from then on"`
}

// A State is the state of an order.
type State string

// The states. [ExternallyPaid] is how a sale starts that the partner collected, [Paid] one that the service did.
const (
	ExternallyPaid     State = "EXTERNALLY_PAID"
	Paid               State = "PAID"
	TransferInProgress State = "TRANSFER_IN_PROGRESS"
	TransferCompleted  State = "TRANSFER_COMPLETED"
	Settled            State = "SETTLED"
	Refunded           State = "REFUNDED"
	Cancelled          State = "CANCELLED"
)

var states = []State{ExternallyPaid, Paid, TransferInProgress, TransferCompleted, Settled, Refunded, Cancelled}

// Schema is the list of states.
func (State) Schema() *jsonschema.Schema { return enum(states...) }

// A Review is the state of the manual review of an order. Most orders need none: the empty Review.
type Review string

// The reviews.
const (
	Held       Review = "held"
	ReviewDone Review = "cleared"
)

// Schema is the list of reviews.
func (Review) Schema() *jsonschema.Schema { return enum(Held, ReviewDone) }

// A PaymentModel says who collects the buyer's money.
type PaymentModel string

// The payment models.
const (
	PartnerCollected PaymentModel = "partner_collected"
	ServiceCollected PaymentModel = "service_collected"
)

// Schema is the list of payment models.
func (PaymentModel) Schema() *jsonschema.Schema { return enum(PartnerCollected, ServiceCollected) }

func enum[T ~string](values ...T) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, v := range values {
		s.Enum = append(s.Enum, string(v))
	}
	return s
}

// Order returns an order of the party with its timeline. It fails with [fault.NotFound] for an unknown order and for one of
// another party.
func (s *Service) Order(ctx context.Context, p Party, id string) (Order, error) {
	var o Order
	err := s.cfg.DB.Read(ctx, func(tx store.Tx) (err error) {
		if o, err = selectOrder(ctx, tx, p, id); err != nil {
			return err
		}
		return addTimelines(ctx, tx, []*Order{&o})
	})
	switch {
	case store.IsNoRows(err):
		return Order{}, errNoOrder()
	case err != nil:
		return Order{}, fmt.Errorf("read an order: %w", err)
	}
	return o, nil
}

// OrderIn is [Service.Order] within a transaction of the caller, without the timeline.
func (s *Service) OrderIn(ctx context.Context, tx store.Tx, p Party, id string) (Order, error) {
	o, err := selectOrder(ctx, tx, p, id)
	switch {
	case store.IsNoRows(err):
		return Order{}, errNoOrder()
	case err != nil:
		return Order{}, fmt.Errorf("read an order: %w", err)
	}
	return o, nil
}

func errNoOrder() error { return fault.New(fault.NotFound, "there is no such order") }

// A Filter says which orders to list. Zero fields do not filter.
type Filter struct {
	Status   State
	Domain   fqdn.Name
	From, To time.Time // of creation; From inclusive, To exclusive
	Limit    int       // 1 to MaxPage; 0: DefaultPage
	After    *Position // from Page.Next; nil: from the start
}

// Limits of a page.
const (
	DefaultPage = 25
	MaxPage     = 100
)

// A Position is a place between two orders of a list.
type Position = store.Position

// A Page is a part of the orders.
type Page struct {
	Orders []Order   // with their timelines; never nil
	Next   *Position // for Filter.After of the next page; nil at the end
}

// List returns a page of the party's orders, the newest first. Following the pages by position shows each order
// exactly once, even if orders are placed meanwhile. It fails with [fault.Validation] for bounds out of range.
func (s *Service) List(ctx context.Context, p Party, f Filter) (Page, error) {
	if f.Limit < 0 || f.Limit > MaxPage {
		return Page{}, fault.Invalid("limit", "must be from 1 to %d", MaxPage)
	}
	if f.Limit == 0 {
		f.Limit = DefaultPage
	}
	if f.Status != "" && !f.Status.known() {
		return Page{}, fault.Invalid("status", "is not a state of an order")
	}
	page := Page{}
	err := s.cfg.DB.Read(ctx, func(tx store.Tx) (err error) {
		if page.Orders, err = selectOrders(ctx, tx, p, f); err != nil {
			return err
		}
		if len(page.Orders) > f.Limit {
			page.Orders = page.Orders[:f.Limit]
			last := page.Orders[f.Limit-1]
			page.Next = &Position{At: store.Micros(last.CreatedAt), ID: last.PublicID}
		}
		orders := make([]*Order, len(page.Orders))
		for i := range page.Orders {
			orders[i] = &page.Orders[i]
		}
		return addTimelines(ctx, tx, orders)
	})
	if err != nil {
		return Page{}, fmt.Errorf("list orders: %w", err)
	}
	return page, nil
}

func (s State) known() bool {
	return slices.Contains(states, s)
}
