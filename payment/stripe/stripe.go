// Package stripe lets buyers pay on Stripe's own page, with manual capture.
//
// A payment is one Stripe Checkout session, of half an hour; the money is its payment intent. Requests carry
// idempotency keys made of the payment's id and the step, and a notice of Stripe (a webhook) only says at which payment to
// look; its status is asked for.
package stripe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	api "github.com/stripe/stripe-go/v85"

	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/payment"
)

// Name is stored with payments of this provider.
const Name = "stripe"

// metadataKey is under which our id of a payment is in Stripe's objects.
const metadataKey = "namewharf_payment"

// expirySlack is added to the end of a session: Stripe refuses one that is less than 30 minutes away when the request arrives.
const expirySlack = time.Minute

// Config configures a [Provider].
type Config struct {
	Key           string            // Stripe's secret key, sk_… or rk_…
	WebhookSecret string            // of the webhook endpoint, whsec_…
	APIBase       string            // empty: Stripe's; http only for loopback addresses
	Transport     http.RoundTripper // nil: the standard one
	Now           func() time.Time  // nil: time.Now
}

// A Provider is Stripe. It is safe for concurrent use.
type Provider struct {
	backend api.Backend // of stripe-go: its client for all services of Stripe would make the program 10 MB larger
	key     string
	secret  []byte
	now     func() time.Time
}

var _ payment.Provider = (*Provider)(nil)

// New returns Stripe. It fails with a sentence that names what in cfg is wrong, and no secret; it asks Stripe nothing.
func New(cfg Config) (*Provider, error) {
	switch {
	case strings.TrimSpace(cfg.Key) != cfg.Key || cfg.Key == "":
		return nil, errors.New("stripe: the secret key is empty or has spaces around it")
	case strings.HasPrefix(cfg.Key, "pk_"):
		return nil, errors.New("stripe: the key is a publishable one (pk_…); the secret key (sk_… or rk_…) is needed")
	case strings.TrimSpace(cfg.WebhookSecret) != cfg.WebhookSecret || cfg.WebhookSecret == "":
		return nil, errors.New("stripe: the webhook secret is empty or has spaces around it")
	}
	if cfg.APIBase == "" {
		cfg.APIBase = api.APIURL
	}
	if err := checkBase(cfg.APIBase); err != nil {
		return nil, err
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	backend := api.GetBackendWithConfig(api.APIBackend, &api.BackendConfig{
		URL: &cfg.APIBase, HTTPClient: newClient(cfg.Transport),
		MaxNetworkRetries: new(int64), // package payment repeats
		EnableTelemetry:   new(bool),
		LeveledLogger:     &api.LeveledLogger{Level: api.LevelNull}, // what it would print holds what buyers typed
	})
	return &Provider{backend: backend, key: cfg.Key, secret: []byte(cfg.WebhookSecret), now: cfg.Now}, nil
}

// checkBase checks the address of Stripe's API.
func checkBase(base string) error {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("stripe: the base of the API must be an absolute URL such as https://api.stripe.com")
	}
	address, err := netip.ParseAddr(u.Hostname())
	loopback := err == nil && address.IsLoopback() || u.Hostname() == "localhost"
	if u.Scheme != "https" && (u.Scheme != "http" || !loopback) {
		return errors.New("stripe: the base of the API must be https; http is for loopback addresses")
	}
	return nil
}

// Name is [Name].
func (p *Provider) Name() string { return Name }

// Start opens a Checkout session.
func (p *Provider) Start(ctx context.Context, o payment.Opening) (payment.Opened, error) {
	unit, currency, err := toStripe(o.Amount)
	if err != nil {
		return payment.Opened{}, err
	}
	mode, capture, card, one, off := "payment", "manual", "card", int64(1), false
	expires := o.ExpiresAt.Add(expirySlack).Unix()
	metadata := map[string]string{metadataKey: o.ID}
	params := &api.CheckoutSessionCreateParams{
		Mode: &mode, ClientReferenceID: &o.ID, Metadata: metadata,
		SuccessURL: &o.ReturnURL, CancelURL: &o.CancelURL, ExpiresAt: &expires,
		PaymentMethodTypes: []*string{&card},                                               // all of them can be held before they are taken
		AdaptivePricing:    &api.CheckoutSessionCreateAdaptivePricingParams{Enabled: &off}, // the price is in the currency it was offered in
		PaymentIntentData:  &api.CheckoutSessionCreatePaymentIntentDataParams{CaptureMethod: &capture, Description: &o.Title, Metadata: metadata},
		LineItems: []*api.CheckoutSessionCreateLineItemParams{{
			Quantity: &one,
			PriceData: &api.CheckoutSessionCreateLineItemPriceDataParams{
				Currency: &currency, UnitAmount: &unit,
				ProductData: &api.CheckoutSessionCreateLineItemPriceDataProductDataParams{Name: &o.Title},
			},
		}},
	}
	if o.Email != "" {
		params.CustomerEmail = &o.Email
	}
	s, err := once(p, o.ID+"/start", func(key string) (*api.CheckoutSession, error) {
		params.Context, params.IdempotencyKey = ctx, &key
		return ask[api.CheckoutSession](p, http.MethodPost, "/v1/checkout/sessions", params)
	})
	if err != nil {
		return payment.Opened{}, err
	}
	if s.ID == "" || s.URL == "" {
		return payment.Opened{}, fmt.Errorf("%w: a session without id or address", payment.ErrUnknown)
	}
	return payment.Opened{Reference: s.ID, PageURL: s.URL, ExpiresAt: time.Unix(s.ExpiresAt, 0).UTC()}, nil
}

// Status asks for the status of a payment.
func (p *Provider) Status(ctx context.Context, of payment.Payment) (payment.Report, error) {
	_, r, err := p.look(ctx, of)
	return r, err
}

// look returns the session of a payment too.
func (p *Provider) look(ctx context.Context, of payment.Payment) (*api.CheckoutSession, payment.Report, error) {
	params := &api.CheckoutSessionRetrieveParams{Params: api.Params{Context: ctx}}
	params.AddExpand("payment_intent.latest_charge")
	s, err := ask[api.CheckoutSession](p, http.MethodGet, api.FormatURLPath("/v1/checkout/sessions/%s", of.Reference), params)
	if err != nil {
		return nil, payment.Report{}, failure(err)
	}
	r, err := p.report(ctx, s)
	return s, r, err
}

// report is the status of a session, in the words of package payment.
func (p *Provider) report(ctx context.Context, s *api.CheckoutSession) (payment.Report, error) {
	switch {
	case s.Status == api.CheckoutSessionStatusOpen:
		return payment.Report{Status: payment.Open}, nil
	case s.PaymentIntent != nil && s.PaymentIntent.Status != "" && s.Status == api.CheckoutSessionStatusComplete:
		return p.intent(ctx, s.PaymentIntent)
	case s.Status == api.CheckoutSessionStatusExpired:
		return payment.Report{Status: payment.Void}, nil
	}
	return payment.Report{}, fmt.Errorf("%w: a session that is neither open, complete nor expired", payment.ErrUnknown)
}

// intent is the status of the money.
func (p *Provider) intent(ctx context.Context, i *api.PaymentIntent) (r payment.Report, err error) {
	var unit int64
	switch i.Status {
	case api.PaymentIntentStatusCanceled:
		return payment.Report{Status: payment.Void}, nil
	case api.PaymentIntentStatusRequiresCapture:
		r.Status, unit = payment.Held, i.AmountCapturable
	case api.PaymentIntentStatusSucceeded:
		unit = i.AmountReceived
		if r.Status, err = p.taken(ctx, i.LatestCharge); err != nil {
			return payment.Report{}, err
		}
	default:
		return payment.Report{Status: payment.Open}, nil
	}
	if r.Amount, err = fromStripe(unit, string(i.Currency)); err != nil {
		return payment.Report{}, err
	}
	r.Charge = i.ID
	return r, nil
}

// taken is what became of money that was taken.
func (p *Provider) taken(ctx context.Context, c *api.Charge) (payment.Status, error) {
	switch {
	case c == nil || !c.Disputed && !c.Refunded:
		return payment.Taken, nil
	case c.Refunded:
		return payment.GivenBack, nil
	}
	list, err := ask[api.DisputeList](p, http.MethodGet, "/v1/disputes", &disputesOf{api.Params{Context: ctx}, &c.ID})
	if err != nil {
		return "", failure(err)
	}
	at := payment.Taken
	for _, d := range list.Data {
		switch d.Status {
		case api.DisputeStatusLost:
			return payment.ChargedBack, nil
		case api.DisputeStatusWon, api.DisputeStatusWarningClosed, api.DisputeStatusPrevented:
		default:
			at = payment.InDispute
		}
	}
	return at, nil
}

// Capture takes what is held.
func (p *Provider) Capture(ctx context.Context, of payment.Payment) (payment.Report, error) {
	if of.Charge == "" {
		return p.Status(ctx, of) // which says what to capture
	}
	i, err := once(p, of.ID+"/capture", func(key string) (*api.PaymentIntent, error) {
		params := &api.PaymentIntentCaptureParams{Params: api.Params{Context: ctx, IdempotencyKey: &key}}
		params.AddExpand("latest_charge")
		return ask[api.PaymentIntent](p, http.MethodPost, api.FormatURLPath("/v1/payment_intents/%s/capture", of.Charge), params)
	})
	if err != nil {
		return payment.Report{}, err
	}
	return p.intent(ctx, i)
}

// Void ends an open session, and lets go of what is held.
func (p *Provider) Void(ctx context.Context, of payment.Payment) (payment.Report, error) {
	s, r, err := p.look(ctx, of)
	if err != nil {
		return payment.Report{}, err
	}
	switch r.Status {
	case payment.Open:
		if s.Status != api.CheckoutSessionStatusOpen { // the bank is at it; nothing can be said yet
			return r, nil
		}
		_, err = once(p, of.ID+"/expire", func(key string) (*api.CheckoutSession, error) { return p.expire(ctx, of.Reference, key) })
	case payment.Held:
		_, err = once(p, of.ID+"/void", func(key string) (*api.PaymentIntent, error) { return p.cancel(ctx, s.PaymentIntent.ID, key) })
	default:
		return r, nil
	}
	if err != nil && !errors.Is(err, payment.ErrFinal) { // refused because it moved meanwhile
		return payment.Report{}, err
	}
	return p.Status(ctx, of)
}

// disputesOf are the parameters of a list of a charge's disputes. Those of stripe-go are for lists of several pages, and this has one.
type disputesOf struct {
	api.Params `form:"*"`
	Charge     *string `form:"charge"`
}

func (p *Provider) expire(ctx context.Context, session, key string) (*api.CheckoutSession, error) {
	params := &api.CheckoutSessionExpireParams{Params: api.Params{Context: ctx, IdempotencyKey: &key}}
	return ask[api.CheckoutSession](p, http.MethodPost, api.FormatURLPath("/v1/checkout/sessions/%s/expire", session), params)
}

func (p *Provider) cancel(ctx context.Context, intent, key string) (*api.PaymentIntent, error) {
	params := &api.PaymentIntentCancelParams{Params: api.Params{Context: ctx, IdempotencyKey: &key}}
	return ask[api.PaymentIntent](p, http.MethodPost, api.FormatURLPath("/v1/payment_intents/%s/cancel", intent), params)
}

// Refund gives back what was taken.
func (p *Provider) Refund(ctx context.Context, of payment.Payment) (payment.Report, error) {
	if of.Charge == "" {
		return p.Status(ctx, of)
	}
	r, err := once(p, of.ID+"/refund", func(key string) (*api.Refund, error) {
		params := &api.RefundCreateParams{PaymentIntent: &of.Charge, Metadata: map[string]string{metadataKey: of.ID}}
		params.Context, params.IdempotencyKey = ctx, &key
		return ask[api.Refund](p, http.MethodPost, "/v1/refunds", params)
	})
	if err != nil {
		return payment.Report{}, err
	}
	switch r.Status {
	case api.RefundStatusSucceeded, api.RefundStatusPending: // a card's bank takes days to show it
	default:
		return payment.Report{}, fmt.Errorf("%w: a refund that is %s", payment.ErrFinal, r.Status)
	}
	amount, err := fromStripe(r.Amount, string(r.Currency))
	if err != nil {
		return payment.Report{}, err
	}
	return payment.Report{Status: payment.GivenBack, Amount: amount, Charge: of.Charge}, nil
}

// ask sends a request with params, whose context bounds it, and returns the object of the answer.
func ask[T any, R interface {
	*T
	api.LastResponseSetter
}](p *Provider, method, path string, params api.ParamsContainer) (*T, error) {
	v := R(new(T))
	err := p.backend.Call(method, path, p.key, params, v)
	return v, err
}

// once makes a call with an idempotency key. Stripe repeats what it answered to the key before, failures included, so that one of
// those is asked again with a key of the hour; what the call does is safe to repeat by the state of the object.
func once[T any](p *Provider, key string, call func(key string) (T, error)) (T, error) {
	v, err := call(key)
	if replayed(err) {
		v, err = call(fmt.Sprintf("%s/%d", key, p.now().Unix()/3600))
	}
	if err != nil {
		var zero T
		return zero, failure(err)
	}
	return v, nil
}

// decimals are the digits after the point by which Stripe's amounts of a currency differ from ISO 4217's: Stripe counts ISK and UGX
// in hundredths that do not exist, and MGA in whole units.
var decimals = map[string]struct{ iso, stripe int }{
	"ISK": {0, 2}, "UGX": {0, 2}, "MGA": {2, 0},
}

// threeDecimals are counted in thousandths, of which Stripe takes tens only.
var threeDecimals = map[string]bool{"BHD": true, "JOD": true, "KWD": true, "OMR": true, "TND": true}

// toStripe is an amount as Stripe writes it. It fails with [payment.ErrFinal] for one that Stripe cannot take.
func toStripe(a money.Amount) (unit int64, currency string, err error) {
	if a.Cents <= 0 || a.Cents > money.MaxCents {
		return 0, "", fmt.Errorf("%w: not an amount that can be paid", payment.ErrFinal)
	}
	unit, currency = a.Cents, strings.ToLower(a.Currency)
	d := decimals[a.Currency]
	for ; d.stripe > d.iso; d.iso++ {
		unit *= 10
	}
	for ; d.stripe < d.iso; d.iso-- {
		if unit%10 != 0 {
			return 0, "", fmt.Errorf("%w: %s can be paid in whole units only", payment.ErrFinal, a.Currency)
		}
		unit /= 10
	}
	if threeDecimals[a.Currency] && unit%10 != 0 {
		return 0, "", fmt.Errorf("%w: %s can be paid in hundredths only", payment.ErrFinal, a.Currency)
	}
	return unit, currency, nil
}

// fromStripe is the reverse of toStripe.
func fromStripe(unit int64, currency string) (money.Amount, error) {
	a := money.Amount{Cents: unit, Currency: strings.ToUpper(currency)}
	d := decimals[a.Currency]
	for ; d.iso > d.stripe; d.stripe++ {
		a.Cents *= 10
	}
	for ; d.iso < d.stripe; d.stripe-- {
		if a.Cents%10 != 0 {
			return money.Amount{}, fmt.Errorf("%w: an amount with a fraction of %s", payment.ErrUnknown, a.Currency)
		}
		a.Cents /= 10
	}
	return a, nil
}
