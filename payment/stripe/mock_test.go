package stripe

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	api "github.com/stripe/stripe-go/v85"
	"github.com/stripe/stripe-mock/embedded"
	"github.com/stripe/stripe-mock/server"

	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/payment"
)

// TestStripeKnowsWhatWeAsk makes every call against Stripe's own mock, which checks parameters against the published description
// of the API. It keeps no state: whatever is asked for is made up.
func TestStripeKnowsWhatWeAsk(t *testing.T) {
	t.Parallel()
	spec, err := server.LoadSpec(embedded.OpenAPISpec, "")
	must(t, err)
	fixtures, err := server.LoadFixtures(embedded.OpenAPIFixtures, "")
	must(t, err)
	stub, err := server.NewStubServer(fixtures, spec, false, false)
	must(t, err)
	var refused []string
	mock := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		stub.HandleRequest(rec, r)
		if rec.Code != http.StatusOK {
			refused = append(refused, r.Method+" "+r.URL.Path+": "+rec.Body.String())
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(rec.Code)
		w.Write(rec.Body.Bytes())
	}))
	defer mock.Close()
	p, err := New(Config{Key: "sk_test_123", WebhookSecret: "whsec_x", APIBase: mock.URL})
	must(t, err)
	ctx, of := t.Context(), payment.Payment{ID: "pmt_1", Reference: "cs_1", Charge: "pi_1"}

	if o, err := p.Start(ctx, opening("pmt_1", money.USD(1250_00))); o.Reference == "" && !errors.Is(err, payment.ErrUnknown) {
		t.Errorf("start: %+v, %v", o, err)
	}
	for name, err := range map[string]error{
		"status":  second(p.Status(ctx, of)),
		"capture": second(p.Capture(ctx, of)),
		"void":    second(p.Void(ctx, of)),
		"refund":  second(p.Refund(ctx, of)),
	} {
		if err != nil && !errors.Is(err, payment.ErrUnknown) && !errors.Is(err, payment.ErrFinal) { // of what is made up
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, call := range []func() error{
		func() error { _, err := p.expire(ctx, "cs_1", "a key"); return err },
		func() error { _, err := p.cancel(ctx, "pi_1", "another key"); return err },
		func() error { return second(p.taken(ctx, &api.Charge{ID: "ch_1", Disputed: true})) },
	} {
		if err := call(); err != nil {
			t.Error(err)
		}
	}
	if len(refused) > 0 {
		t.Errorf("Stripe does not know what is asked: %v", refused)
	}
}

func second[T any](_ T, err error) error { return err }
