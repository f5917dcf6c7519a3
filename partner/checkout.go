package partner

import (
	"context"
	"net/http"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/partner/wiring"
	"github.com/namewharf/namewharf/payment"
	"github.com/namewharf/namewharf/payment/checkout"
	"github.com/namewharf/namewharf/payment/testprovider"
	"github.com/namewharf/namewharf/store"
)

// A CheckoutIn asks for a link with which a buyer pays the service.
type CheckoutIn struct {
	Domain      DomainText `json:"domain,omitzero" jsonschema:"the name to be sold; this or quote_id"`
	QuoteID     Text       `json:"quote_id,omitzero" jsonschema:"from POST /quotes: its price holds on the page while the quote does"`
	BuyerEmail  Email      `json:"buyer_email,omitzero" jsonschema:"filled in on the page, where the buyer may change it"`
	ReturnURL   Text       `json:"return_url" jsonschema:"where the buyer goes after paying; order and session are added to its query"`
	CancelURL   Text       `json:"cancel_url" jsonschema:"where the buyer goes on cancel"`
	ExternalRef Text       `json:"external_ref,omitzero" jsonschema:"becomes the order's external_payment_ref; one order has it"`
}

// A CheckoutOut is a checkout session as it is made.
type CheckoutOut struct {
	SessionID   string    `json:"session_id"`
	CheckoutURL string    `json:"checkout_url" jsonschema:"redirect the buyer there"`
	Domain      string    `json:"domain"`
	PriceCents  int64     `json:"price_cents" jsonschema:"the price of now; what was paid once it is paid"`
	Currency    string    `json:"currency"`
	ExpiresAt   time.Time `json:"expires_at"`
}

// A CheckoutState is a checkout session as it is now.
type CheckoutState struct {
	CheckoutOut
	Status  CheckoutStatus `json:"status"`
	OrderID string         `json:"order_id,omitzero" jsonschema:"public_id of the order, once it is paid"`
}

// CheckoutStatus is the state of a checkout session.
type CheckoutStatus string

// Schema is the enumeration of the states.
func (CheckoutStatus) Schema() *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, status := range []checkout.Status{checkout.Open, checkout.Paid, checkout.Refunded, checkout.Expired} {
		s.Enum = append(s.Enum, string(status))
	}
	return s
}

func (a *API) createCheckout() op.Operation[CheckoutIn, CheckoutOut] {
	return write(a, op.Operation[CheckoutIn, CheckoutOut]{
		Name:  "partner_create_checkout",
		Title: "Send a buyer to the checkout",
		Doc: "A link to the service's own checkout, good for 7 days, where the buyer pays the service for a name. The sale is attributed " +
			"to the partner, who earns a commission. The name is not reserved: another may buy it meanwhile.",
		Route:   op.Route{Method: "POST", Path: root + "/checkout-session", Status: http.StatusCreated},
		Scope:   credential.ScopeEmbed,
		Example: CheckoutIn{Domain: "brewhaven.example", ReturnURL: "https://shop.example/thanks", CancelURL: "https://shop.example/cart"},
	}, func(ctx context.Context, tx store.Tx, in CheckoutIn, now time.Time) (CheckoutOut, error) {
		p := party(ctx)
		session, err := a.checkout.Create(ctx, tx, checkout.Request{
			Partner: p.Partner, Environment: string(p.Environment), Domain: string(in.Domain), QuoteID: string(in.QuoteID),
			BuyerEmail: string(in.BuyerEmail), ReturnURL: string(in.ReturnURL), CancelURL: string(in.CancelURL), ExternalRef: string(in.ExternalRef),
		}, now)
		if err != nil {
			return CheckoutOut{}, err
		}
		return a.checkoutOut(session)
	})
}

func (a *API) checkoutOut(s checkout.Session) (CheckoutOut, error) {
	address, err := a.checkout.URL(s)
	return CheckoutOut{
		SessionID: s.ID, CheckoutURL: address, Domain: s.Domain.String(), PriceCents: s.Price.Cents, Currency: s.Price.Currency, ExpiresAt: s.ExpiresAt,
	}, err
}

// A SessionIn names a checkout session in the path.
type SessionIn struct {
	SessionID Text `json:"session_id" jsonschema:"the session's id"`
}

func (a *API) getCheckout() op.Operation[SessionIn, CheckoutState] {
	return op.Operation[SessionIn, CheckoutState]{
		Name:  "partner_get_checkout",
		Title: "Look at a checkout session",
		Doc:   "One of the partner's checkout sessions: whether its buyer has paid, and the order.",
		Route: op.Route{Method: "GET", Path: root + "/checkout-session/{session_id}"},
		Scope: credential.ScopeEmbed, Limit: ClassReporting, Effect: op.Reads,
		Example: SessionIn{"chk_06bqexample0000000000000000"},
		Do: func(ctx context.Context, in SessionIn) (CheckoutState, error) {
			p := party(ctx)
			s, err := a.checkout.Get(ctx, p.Partner, string(p.Environment), string(in.SessionID))
			if err != nil {
				return CheckoutState{}, err
			}
			out, err := a.checkoutOut(s)
			return CheckoutState{CheckoutOut: out, Status: CheckoutStatus(s.Status), OrderID: s.OrderID}, err
		},
	}
}

// Checkout is the checkout, for its pages.
func (a *API) Checkout() *checkout.Service { return a.checkout }

// TestPayments is the test provider, for its page.
func (a *API) TestPayments() *testprovider.Provider { return a.testPayments }

// checkoutConfig is how buyers pay: by the test provider in the sandbox and, in the demo, everywhere.
func (a *API) checkoutConfig(ctx context.Context) (wiring.Checkout, error) {
	secret, err := a.cfg.DB.Secret(ctx, "checkout links", a.cfg.Keys)
	if err != nil {
		return wiring.Checkout{}, err
	}
	base := a.cfg.BaseURL
	a.testPayments, err = testprovider.New(ctx, testprovider.Config{
		DB: a.cfg.DB, Keys: a.cfg.Keys, Now: a.cfg.Now, Logger: a.cfg.Logger,
		PageURL: func(id string) string { return base + "/checkout/test-payment/" + id },
	})
	if err != nil {
		return wiring.Checkout{}, err
	}
	cfg := wiring.Checkout{
		Secret: secret, Mail: a.cfg.Receipts, Observer: paymentObserver{a},
		Providers: map[credential.Environment]payment.Provider{market.Sandbox: a.testPayments},
	}
	switch {
	case a.cfg.Payments != nil:
		cfg.Providers[market.Live] = a.cfg.Payments
	case a.cfg.TestPayments:
		cfg.Providers[market.Live] = a.testPayments
	}
	return cfg, nil
}

// A paymentObserver makes what payments changed show, as API.committed does for requests.
type paymentObserver struct{ *API }

// Moved implements [payment.Observer].
func (o paymentObserver) Moved(_ payment.State, p payment.Payment) {
	o.events.Wake(wiring.Stream(credential.Party{Partner: p.Partner, Environment: credential.Environment(p.Environment)}))
	select {
	case o.sold <- struct{}{}:
	default:
	}
}

// Failed implements [payment.Observer].
func (paymentObserver) Failed(payment.Payment) {}

// Stuck implements [payment.Observer].
func (paymentObserver) Stuck(payment.Payment) {}

// followPayments brings the inventory of this process up to what payments sold, until ctx ends.
func (a *API) followPayments(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.sold:
			if err := a.inventory.changed(ctx); err != nil && ctx.Err() == nil {
				a.cfg.Logger.ErrorContext(ctx, "the inventory could not be brought up to date after a payment", "error", err.Error())
			}
		}
	}
}
