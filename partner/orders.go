package partner

import (
	"context"
	"net/http"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/partner/wiring"
	"github.com/namewharf/namewharf/sale"
	"github.com/namewharf/namewharf/store"
)

// Cents is a price in minor units.
type Cents int64

// Schema is a positive amount.
func (Cents) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "integer", Minimum: new(1.0), Maximum: new(float64(money.MaxCents))}
}

// Text is a non-empty text.
type Text string

// Schema is a bounded text.
func (Text) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", MinLength: new(1), MaxLength: new(sale.MaxURL)}
}

// A QuoteIn asks for a quote, which locks a price.
type QuoteIn struct {
	Domain DomainText `json:"domain" jsonschema:"the name to be sold"`
}

func (a *API) createQuote() op.Operation[QuoteIn, sale.Quote] {
	return writeOutside(a, op.Operation[QuoteIn, sale.Quote]{
		Name:  "partner_create_quote",
		Title: "Lock a price",
		Doc: "The current buy-now price of a name, which holds for this partner for 10 minutes. The name is not reserved: " +
			"another may buy it meanwhile.",
		Route:   op.Route{Method: "POST", Path: root + "/quotes", Status: http.StatusCreated},
		Scope:   credential.ScopeBuy,
		Example: QuoteIn{Domain: "brewhaven.example"},
	}, func(ctx context.Context, in QuoteIn) (sale.Quote, error) {
		name, err := in.Domain.parse("domain")
		if err != nil {
			return sale.Quote{}, err
		}
		p := party(ctx)
		now, err := a.time(ctx, p)
		if err != nil {
			return sale.Quote{}, err
		}
		return a.sales.Quote(ctx, wiring.Seller(p), name, now)
	})
}

// An OrderIn is a sale: by a quote, or by name and price.
type OrderIn struct {
	QuoteID            Text       `json:"quote_id,omitzero" jsonschema:"from POST /quotes; this, or domain and expected_price"`
	Domain             DomainText `json:"domain,omitzero" jsonschema:"the name being sold"`
	ExpectedPrice      Cents      `json:"expected_price,omitzero" jsonschema:"what it costs, in cents; it must be the current price"`
	SalePriceCents     Cents      `json:"sale_price_cents,omitzero" jsonschema:"another name of expected_price"`
	Currency           Text       `json:"currency,omitzero" jsonschema:"ISO 4217 code; it must be the listing's"`
	Buyer              sale.Buyer `json:"buyer,omitzero"`
	ReturnURL          Text       `json:"return_url,omitzero" jsonschema:"where the buyer returns after completion"`
	CancelURL          Text       `json:"cancel_url,omitzero" jsonschema:"where the buyer goes on cancel"`
	ExternalPaymentRef Text       `json:"external_payment_ref,omitzero" jsonschema:"the partner's payment reference; one order has it"`
	DryRun             bool       `json:"dry_run,omitzero" jsonschema:"check everything, record nothing, and answer 200"`
}

func (in OrderIn) request() sale.Request {
	return sale.Request{
		QuoteID: string(in.QuoteID), Domain: string(in.Domain), ExpectedPrice: int64(in.ExpectedPrice),
		SalePriceCents: int64(in.SalePriceCents), Currency: string(in.Currency), Buyer: in.Buyer,
		ReturnURL: string(in.ReturnURL), CancelURL: string(in.CancelURL), ExternalPaymentRef: string(in.ExternalPaymentRef),
	}
}

func (a *API) createOrder() op.Operation[OrderIn, sale.Order] {
	o := write(a, op.Operation[OrderIn, sale.Order]{
		Name:  "partner_create_order",
		Title: "Record a sale",
		Doc: "Records that the partner has sold a name and collected the money; the transfer of the name follows. " +
			"Needs an Idempotency-Key: the same request with the same key never sells twice, and gets the same answer.",
		Route: op.Route{Method: "POST", Path: root + "/orders", Status: http.StatusCreated, Also: http.StatusOK},
		Scope: credential.ScopeBuy, Idempotency: op.Required,
		Example: OrderIn{Domain: "brewhaven.example", ExpectedPrice: 9900, Currency: "USD", Buyer: sale.Buyer{Email: "buyer@example.com"}},
	}, a.placeOrder)
	o.Kept = op.WithDryRun(a, o.Kept, func(in OrderIn) bool { return in.DryRun }, a.dryRunOrder)
	return o
}

func (a *API) placeOrder(ctx context.Context, tx store.Tx, in OrderIn, now time.Time) (sale.Order, error) {
	return a.sales.Place(ctx, tx, wiring.Seller(party(ctx)), in.request(), now)
}

// dryRunOrder validates an order and records nothing.
func (a *API) dryRunOrder(ctx context.Context, in OrderIn) (sale.Order, error) {
	p := party(ctx)
	now, err := a.time(ctx, p)
	if err != nil {
		return sale.Order{}, err
	}
	return a.sales.Try(ctx, wiring.Seller(p), in.request(), now)
}

// An OrderID names an order in the path.
type OrderID struct {
	PublicID Text `json:"public_id" jsonschema:"the order's id"`
}

func (a *API) getOrder() op.Operation[OrderID, sale.Order] {
	return op.Operation[OrderID, sale.Order]{
		Name:  "partner_get_order",
		Title: "Look at an order",
		Doc:   "One of the partner's orders, with the timeline of its transfer.",
		Route: op.Route{Method: "GET", Path: root + "/orders/{public_id}"},
		Scope: credential.ScopeBuy, Limit: ClassReporting, Effect: op.Reads,
		Example: OrderID{"ord_06bqexample0000000000000000"},
		Do: func(ctx context.Context, in OrderID) (sale.Order, error) {
			return a.sales.Order(ctx, wiring.Seller(party(ctx)), string(in.PublicID))
		},
	}
}

// DateOrTime is a date, meaning 00:00 UTC of it, or an RFC 3339 time.
type DateOrTime string

// Schema is a bounded text.
func (DateOrTime) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", MinLength: new(10), MaxLength: new(35)}
}

func (m DateOrTime) parse(field string) (time.Time, error) {
	if m == "" {
		return time.Time{}, nil
	}
	for _, form := range [...]string{time.DateOnly, time.RFC3339Nano} {
		if t, err := time.Parse(form, string(m)); err == nil && t.Year() >= 1970 {
			return t, nil
		}
	}
	return time.Time{}, fault.Invalid(field, "must be a date such as 2026-11-21 or a time such as 2026-11-21T08:00:00Z")
}

// PageLimit is the maximum number of items on a page.
type PageLimit int

// Schema is a bounded integer.
func (PageLimit) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "integer", Minimum: new(1.0), Maximum: new(float64(sale.MaxPage))}
}

// OrdersIn asks for a page of orders.
type OrdersIn struct {
	Status sale.State `json:"status,omitzero"`
	Domain DomainText `json:"domain,omitzero"`
	From   DateOrTime `json:"from,omitzero" jsonschema:"created at this date or time or later"`
	To     DateOrTime `json:"to,omitzero" jsonschema:"created before this date or time"`
	Limit  PageLimit  `json:"limit,omitzero" jsonschema:"orders a page; 25 when left out"`
	Cursor op.Cursor  `json:"cursor,omitzero" jsonschema:"next_cursor of the page before"`
}

// OrdersOut is a page of orders, the newest first.
type OrdersOut struct {
	Orders []sale.Order `json:"orders"`
	Page   Page         `json:"page"`
}

func (a *API) listOrders() op.Operation[OrdersIn, OrdersOut] {
	return op.Operation[OrdersIn, OrdersOut]{
		Name:  "partner_list_orders",
		Title: "List orders",
		Doc:   "The partner's orders, the newest first, by status, domain and time of creation.",
		Route: op.Route{Method: "GET", Path: root + "/orders"},
		Scope: credential.ScopeBuy, Limit: ClassReporting, Effect: op.Reads,
		Example: OrdersIn{Status: sale.ExternallyPaid, Limit: 10},
		Do:      a.orders,
	}
}

func (a *API) orders(ctx context.Context, in OrdersIn) (OrdersOut, error) {
	p := party(ctx)
	f, err := in.filter()
	if err != nil {
		return OrdersOut{}, err
	}
	filters := in
	filters.Limit, filters.Cursor = 0, ""
	list, err := newCursorCodec(a.cfg.Keys, p, "orders", filters)
	if err != nil {
		return OrdersOut{}, err
	}
	if in.Cursor != "" {
		f.After = new(sale.Position)
		if err := list.decode(in.Cursor, f.After); err != nil {
			return OrdersOut{}, err
		}
	}
	page, err := a.sales.List(ctx, wiring.Seller(p), f)
	if err != nil {
		return OrdersOut{}, err
	}
	out := OrdersOut{Orders: page.Orders}
	if page.Next != nil {
		out.Page.NextCursor, err = list.encode(page.Next)
	}
	return out, err
}

func (in OrdersIn) filter() (f sale.Filter, err error) {
	f = sale.Filter{Status: in.Status, Limit: int(in.Limit)}
	if in.Domain != "" {
		if f.Domain, err = in.Domain.parse("domain"); err != nil {
			return sale.Filter{}, err
		}
	}
	if f.From, err = in.From.parse("from"); err != nil {
		return sale.Filter{}, err
	}
	f.To, err = in.To.parse("to")
	return f, err
}

// A RefundIn asks for a refund.
type RefundIn struct {
	OrderID Text   `json:"order_id" jsonschema:"public_id of the order"`
	Reason  Reason `json:"reason,omitzero" jsonschema:"why, in the partner's words"`
}

// Reason is a free text.
type Reason string

// Schema is a bounded text.
func (Reason) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", MaxLength: new(sale.MaxReason)}
}

func (a *API) createRefund() op.Operation[RefundIn, sale.Refund] {
	return write(a, op.Operation[RefundIn, sale.Refund]{
		Name:  "partner_create_refund",
		Title: "Refund an order",
		Doc: "Refunds a sale in full, before its transfer is completed, and puts the name up for sale again. " +
			"It is for sales that the partner collected.",
		Route:   op.Route{Method: "POST", Path: root + "/refunds", Status: http.StatusCreated},
		Scope:   credential.ScopeBuy,
		Example: RefundIn{OrderID: "ord_06bqexample0000000000000000", Reason: "buyer changed their mind"},
	}, func(ctx context.Context, tx store.Tx, in RefundIn, now time.Time) (sale.Refund, error) {
		return a.sales.Refund(ctx, tx, wiring.Seller(party(ctx)), string(in.OrderID), string(in.Reason), now)
	})
}
