package stripe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stripe/stripe-go/v85/webhook"

	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/payment"
	"github.com/namewharf/namewharf/payment/stripe/stripetest"
)

// connect returns a provider on a server of ours.
func connect(t testing.TB, s *stripetest.Server) *Provider {
	t.Helper()
	p, err := New(Config{Key: stripetest.Key, WebhookSecret: stripetest.WebhookSecret, APIBase: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func opening(id string, a money.Amount) payment.Opening {
	return payment.Opening{
		ID: id, Amount: a, Title: "ember.example", Email: "ada@example.com",
		ReturnURL: "https://w.example/back", CancelURL: "https://w.example/no", ExpiresAt: time.Now().Add(payment.AttemptLife),
	}
}

// TestAsStripeHasIt holds what is asked and what is reported against the state of the server.
func TestAsStripeHasIt(t *testing.T) {
	t.Parallel()
	s := stripetest.New(nil)
	defer s.Close()
	p, ctx := connect(t, s), t.Context()
	usd := money.USD(1250_00)
	begin := func(id string) payment.Payment {
		t.Helper()
		of, as := payment.Payment{ID: id}, opening(id, usd)
		for range 2 { // with one idempotency key: one session
			o, err := p.Start(ctx, as)
			if err != nil || !strings.HasPrefix(o.Reference, "cs_") || o.PageURL == "" || o.ExpiresAt.Before(as.ExpiresAt.Truncate(time.Second)) ||
				of.Reference != "" && of.Reference != o.Reference {
				t.Fatalf("start: %+v, %v", o, err)
			}
			of.Reference = o.Reference
		}
		return of
	}
	want := func(what string, r payment.Report, err error, at payment.Status, amount money.Amount) {
		t.Helper()
		if err != nil || r.Status != at || r.Amount != amount {
			t.Errorf("%s: %+v, %v; want %s, %v", what, r, err, at, amount)
		}
	}
	of := begin("pmt_1")
	r, err := p.Status(ctx, of)
	want("before it is paid", r, err, payment.Open, money.Amount{})
	must(t, s.Pay(of.ID))
	r, err = p.Status(ctx, of)
	want("paid", r, err, payment.Held, usd)
	of.Charge = r.Charge
	for range 2 {
		r, err = p.Capture(ctx, of)
		want("captured", r, err, payment.Taken, usd)
	}
	r, err = p.Void(ctx, of)
	want("voided too late", r, err, payment.Taken, usd)
	must(t, s.Dispute(of.ID))
	r, err = p.Status(ctx, of)
	want("disputed", r, err, payment.InDispute, usd)
	if _, err := p.Refund(ctx, of); !errors.Is(err, payment.ErrFinal) {
		t.Errorf("refund of what is disputed: %v", err)
	}
	must(t, s.CloseDispute(of.ID, false))
	r, err = p.Status(ctx, of)
	want("won", r, err, payment.Taken, usd)

	of = begin("pmt_2")
	must(t, s.Pay(of.ID))
	r, err = p.Status(ctx, of)
	want("paid", r, err, payment.Held, usd)
	of.Charge = r.Charge
	for range 2 {
		r, err = p.Void(ctx, of)
		want("voided", r, err, payment.Void, money.Amount{})
	}
	if _, err := p.Capture(ctx, of); !errors.Is(err, payment.ErrFinal) {
		t.Errorf("capture of what was voided: %v", err)
	}

	of = begin("pmt_3")
	for range 2 {
		r, err = p.Void(ctx, of)
		want("voided before it was paid", r, err, payment.Void, money.Amount{})
	}
	if err := s.Pay(of.ID); err == nil {
		t.Error("a session that was ended takes money")
	}

	of = begin("pmt_4")
	must(t, s.Pay(of.ID))
	r, err = p.Capture(ctx, of) // without knowing the charge yet
	want("captured without the charge", r, err, payment.Held, usd)
	of.Charge = r.Charge
	if r, err = p.Capture(ctx, of); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r, err = p.Refund(ctx, of)
		want("refunded", r, err, payment.GivenBack, usd)
	}
	r, err = p.Status(ctx, of)
	want("refunded", r, err, payment.GivenBack, usd)

	of = begin("pmt_5")
	must(t, s.Pay(of.ID))
	r, _ = p.Status(ctx, of)
	of.Charge = r.Charge
	_, err = p.Capture(ctx, of)
	must(t, err)
	must(t, s.Dispute(of.ID))
	must(t, s.CloseDispute(of.ID, true))
	r, err = p.Status(ctx, of)
	want("lost", r, err, payment.ChargedBack, usd)
	if _, err := p.Status(ctx, payment.Payment{ID: "pmt_none", Reference: "cs_none"}); !errors.Is(err, payment.ErrFinal) {
		t.Errorf("a session that is not there: %v", err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestOneKeyOneEffect: a call whose answer is lost is made again with the same key, and takes effect once.
func TestOneKeyOneEffect(t *testing.T) {
	t.Parallel()
	s := stripetest.New(nil)
	defer s.Close()
	var lose atomic.Bool
	keys := make(chan string, 16)
	s.Intercept = func(w http.ResponseWriter, r *http.Request, after bool) bool {
		if !after && r.Method == http.MethodPost {
			keys <- r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:] + " " + r.Header.Get("Idempotency-Key")
		}
		if after && r.Method == http.MethodPost && lose.CompareAndSwap(true, false) {
			io.WriteString(w, `{"id":`) // a request without any answer is repeated by net/http itself, because of its key
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		return false
	}
	p, ctx := connect(t, s), t.Context()
	o, err := p.Start(ctx, opening("pmt_1", money.USD(1250_00)))
	must(t, err)
	must(t, s.Pay("pmt_1"))
	of := payment.Payment{ID: "pmt_1", Reference: o.Reference}
	r, err := p.Status(ctx, of)
	must(t, err)
	of.Charge = r.Charge
	for _, call := range []func(context.Context, payment.Payment) (payment.Report, error){p.Capture, p.Refund} {
		lose.Store(true)
		if _, err := call(ctx, of); !errors.Is(err, payment.ErrUnknown) {
			t.Errorf("the answer was lost: %v, want unknown", err)
		}
		_, err := call(ctx, of)
		must(t, err)
	}
	close(keys)
	var got []string
	for key := range keys {
		got = append(got, key)
	}
	want := "sessions pmt_1/start, capture pmt_1/capture, capture pmt_1/capture, refunds pmt_1/refund, refunds pmt_1/refund"
	if strings.Join(got, ", ") != want {
		t.Errorf("keys: %s\nwant: %s", strings.Join(got, ", "), want)
	}
	if st, _ := s.State("pmt_1"); st.Intent != "succeeded" || !st.Refunded {
		t.Errorf("the payment: %+v", st)
	}
}

// TestKeptFailureIsAskedAgain: Stripe answers a 500 to the same key again and again, which must not last.
func TestKeptFailureIsAskedAgain(t *testing.T) {
	t.Parallel()
	s := stripetest.New(nil)
	defer s.Close()
	p, ctx := connect(t, s), t.Context()
	o, err := p.Start(ctx, opening("pmt_1", money.USD(1250_00)))
	must(t, err)
	must(t, s.Pay("pmt_1"))
	of := payment.Payment{ID: "pmt_1", Reference: o.Reference}
	r, err := p.Status(ctx, of)
	must(t, err)
	of.Charge = r.Charge
	s.KeepFailure("/v1/payment_intents/"+of.Charge+"/capture", "pmt_1/capture", url.Values{"expand[0]": {"latest_charge"}})
	if r, err = p.Capture(ctx, of); err != nil || r.Status != payment.Taken {
		t.Errorf("got %+v, %v; want it captured", r, err)
	}
}

// TestFailures: what each answer of Stripe means, and that nothing that a buyer typed is in what is returned.
func TestFailures(t *testing.T) {
	t.Parallel()
	stripeSays := func(status int, kind, code string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Request-Id", "req_1")
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"error":{"type":%q,"code":%q,"message":"ada@example.com and sk_live_secret"}}`, kind, code)
		}
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   error
	}{
		"declined":      {stripeSays(402, "card_error", "card_declined"), payment.ErrDeclined},
		"wrong key":     {stripeSays(401, "invalid_request_error", ""), payment.ErrUnavailable},
		"not allowed":   {stripeSays(403, "invalid_request_error", ""), payment.ErrUnavailable},
		"too many":      {stripeSays(429, "invalid_request_error", "rate_limit"), payment.ErrUnavailable},
		"key in use":    {stripeSays(409, "idempotency_error", "idempotency_key_in_use"), payment.ErrUnavailable},
		"locked":        {stripeSays(400, "invalid_request_error", "lock_timeout"), payment.ErrUnavailable},
		"expired":       {stripeSays(400, "invalid_request_error", "charge_expired_for_capture"), payment.ErrFinal},
		"not there":     {stripeSays(404, "invalid_request_error", "resource_missing"), payment.ErrFinal},
		"too small":     {stripeSays(400, "invalid_request_error", "amount_too_small"), payment.ErrFinal},
		"broken":        {stripeSays(500, "api_error", ""), payment.ErrUnknown},
		"over capacity": {stripeSays(503, "api_error", ""), payment.ErrUnknown},
		"a proxy's page": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(502)
			io.WriteString(w, "<h1>ada@example.com")
		}, payment.ErrUnknown},
		"no JSON":        {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ada@example.com") }, payment.ErrUnknown},
		"half an answer": {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"id":"pi_1","status":"succ`) }, payment.ErrUnknown},
		"another object": {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"object":"list","data":[]}`) }, payment.ErrUnknown},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://ada.example/", http.StatusFound)
		}, payment.ErrUnknown},
		"the line is cut": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, payment.ErrUnknown},
		"two megabytes": {func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"id":"`+strings.Repeat("x", 2<<20)+`"}`)
		}, payment.ErrUnknown},
		"long codes": {stripeSays(400, "invalid_request_error", "ada@example.com "+strings.Repeat("x", 500)), payment.ErrFinal},
		"a float for money": {func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"id":"cs_1","status":"complete","payment_intent":{"id":"pi_1","status":"succeeded","amount_received":12.5}}`)
		}, payment.ErrUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				c.answer(w, r)
			}))
			defer s.Close()
			p, err := New(Config{Key: "sk_live_secret", WebhookSecret: "whsec_secret", APIBase: s.URL})
			must(t, err)
			_, err = p.Status(t.Context(), payment.Payment{ID: "pmt_1", Reference: "cs_1", Charge: "pi_1"})
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if err != nil && (strings.Contains(err.Error(), "ada") || strings.Contains(err.Error(), "secret") || len(err.Error()) > 300) {
				t.Errorf("the failure says too much: %v", err)
			}
			if asked.Load() != 1 {
				t.Errorf("asked %d times, want once", asked.Load())
			}
		})
	}
	t.Run("nobody listens", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		l.Close()
		p, err := New(Config{Key: "sk_x", WebhookSecret: "whsec_x", APIBase: "http://" + l.Addr().String()})
		must(t, err)
		if _, err := p.Start(t.Context(), opening("pmt_1", money.USD(100))); !errors.Is(err, payment.ErrUnavailable) {
			t.Errorf("got %v, want unavailable", err)
		}
	})
}

// TestSlowAnswerIsNotWaitedFor: a provider that takes the request and says nothing costs its time and no more.
func TestSlowAnswerIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		silent := transport(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		p, err := New(Config{Key: "sk_x", WebhookSecret: "whsec_x", Transport: silent})
		must(t, err)
		began := time.Now()
		if _, err := p.Status(t.Context(), payment.Payment{ID: "pmt_1", Reference: "cs_1"}); !errors.Is(err, payment.ErrUnknown) {
			t.Errorf("got %v, want unknown", err)
		}
		if took := time.Since(began); took != payment.CallTime {
			t.Errorf("it took %v, want %v", took, payment.CallTime)
		}
	})
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestConfig(t *testing.T) {
	t.Parallel()
	good := Config{Key: "sk_live_1", WebhookSecret: "whsec_1"}
	for name, c := range map[string]struct {
		change func(*Config)
		ok     bool
	}{
		"complete":               {func(*Config) {}, true},
		"no key":                 {func(c *Config) { c.Key = "" }, false},
		"a key with a line end":  {func(c *Config) { c.Key += "\n" }, false},
		"the publishable key":    {func(c *Config) { c.Key = "pk_live_1" }, false},
		"no webhook secret":      {func(c *Config) { c.WebhookSecret = "" }, false},
		"loopback":               {func(c *Config) { c.APIBase = "http://127.0.0.1:12111" }, true},
		"loopback by name":       {func(c *Config) { c.APIBase = "http://localhost:12111/" }, true},
		"in clear over the net":  {func(c *Config) { c.APIBase = "http://api.stripe.com" }, false},
		"no URL":                 {func(c *Config) { c.APIBase = "api.stripe.com" }, false},
		"with user info":         {func(c *Config) { c.APIBase = "https://sk_live_1@api.stripe.com" }, false},
		"a scheme of its own":    {func(c *Config) { c.APIBase = "ftp://api.stripe.com" }, false},
		"a proxy under its name": {func(c *Config) { c.APIBase = "https://stripe.example" }, true},
	} {
		cfg := good
		c.change(&cfg)
		_, err := New(cfg)
		if (err == nil) != c.ok || err != nil && strings.Contains(err.Error(), "live_1") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAmounts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		amount money.Amount
		unit   int64 // 0: Stripe does not take it
	}{
		"two decimals":                {money.USD(1250_99), 125099},
		"no decimals":                 {money.Amount{Cents: 5000, Currency: "JPY"}, 5000},
		"none, counted in hundredths": {money.Amount{Cents: 5000, Currency: "ISK"}, 500000},
		"the same in Uganda":          {money.Amount{Cents: 5000, Currency: "UGX"}, 500000},
		"three decimals":              {money.Amount{Cents: 1250_990, Currency: "KWD"}, 1250990},
		"three, not in tens":          {money.Amount{Cents: 1250_999, Currency: "KWD"}, 0},
		"two that nobody counts":      {money.Amount{Cents: 1250_00, Currency: "MGA"}, 1250},
		"fractions of those":          {money.Amount{Cents: 1250_50, Currency: "MGA"}, 0},
		"nothing":                     {money.USD(0), 0},
		"less than nothing":           {money.USD(-1), 0},
		"too much":                    {money.USD(money.MaxCents + 1), 0},
		"the most, in hundredths":     {money.Amount{Cents: money.MaxCents, Currency: "ISK"}, money.MaxCents * 100},
	} {
		unit, currency, err := toStripe(c.amount)
		if unit != c.unit || (err == nil) != (c.unit != 0) || err != nil && !errors.Is(err, payment.ErrFinal) {
			t.Errorf("%s: %v is %d, %v; want %d", name, c.amount, unit, err, c.unit)
		}
		if err != nil {
			continue
		}
		if back, err := fromStripe(unit, currency); err != nil || back != c.amount {
			t.Errorf("%s: %d %s is %v, %v; want %v", name, unit, currency, back, err, c.amount)
		}
	}
	if _, err := fromStripe(150, "isk"); err == nil {
		t.Error("half a króna was taken for an amount")
	}
}

// TestCurrenciesOnTheWire: what Stripe is told to charge.
func TestCurrenciesOnTheWire(t *testing.T) {
	t.Parallel()
	s := stripetest.New(nil)
	defer s.Close()
	p := connect(t, s)
	for i, c := range []struct {
		amount money.Amount
		unit   int64
	}{
		{money.USD(1), 0}, // less than Stripe takes
		{money.USD(125_000), 125_000},
		{money.Amount{Cents: 90_000, Currency: "JPY"}, 90_000},
		{money.Amount{Cents: 90_000, Currency: "ISK"}, 9_000_000},
		{money.Amount{Cents: 90_000, Currency: "TND"}, 90_000},
	} {
		id := fmt.Sprintf("pmt_%d", i)
		o, err := p.Start(t.Context(), opening(id, c.amount))
		if c.unit == 0 {
			if !errors.Is(err, payment.ErrFinal) {
				t.Errorf("%v: %v, want final", c.amount, err)
			}
			continue
		}
		must(t, err)
		must(t, s.Pay(id))
		st, _ := s.State(id)
		r, err := p.Status(t.Context(), payment.Payment{ID: id, Reference: o.Reference})
		if err != nil || st.Amount != c.unit || st.Currency != strings.ToLower(c.amount.Currency) || r.Amount != c.amount {
			t.Errorf("%v: Stripe has %d %s, we read %v, %v", c.amount, st.Amount, st.Currency, r.Amount, err)
		}
	}
}

func TestNotices(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	p, err := New(Config{Key: "sk_x", WebhookSecret: stripetest.WebhookSecret, Now: func() time.Time { return now }})
	must(t, err)
	event := func(kind, object string) string {
		return fmt.Sprintf(`{"id":"evt_1","type":%q,"data":{"object":%s}}`, kind, object)
	}
	for name, c := range map[string]struct {
		body string
		want payment.Notice
	}{
		"completed":        {event("checkout.session.completed", `{"client_reference_id":"pmt_1"}`), payment.Notice{ID: "evt_1", Payment: "pmt_1"}},
		"expired":          {event("checkout.session.expired", `{"client_reference_id":"pmt_1"}`), payment.Notice{ID: "evt_1", Payment: "pmt_1"}},
		"another's":        {event("checkout.session.completed", `{"client_reference_id":null}`), payment.Notice{ID: "evt_1"}},
		"capturable":       {event("payment_intent.amount_capturable_updated", `{"id":"pi_1","metadata":{"namewharf_payment":"pmt_1"}}`), payment.Notice{ID: "evt_1", Payment: "pmt_1", Charge: "pi_1"}},
		"refunded":         {event("charge.refunded", `{"id":"ch_1","payment_intent":"pi_1","metadata":{}}`), payment.Notice{ID: "evt_1", Charge: "pi_1"}},
		"disputed":         {event("charge.dispute.created", `{"id":"dp_1","payment_intent":"pi_1"}`), payment.Notice{ID: "evt_1", Charge: "pi_1"}},
		"disputed, whole":  {event("charge.dispute.closed", `{"id":"dp_1","payment_intent":{"id":"pi_1"}}`), payment.Notice{ID: "evt_1", Charge: "pi_1"}},
		"no intent":        {event("charge.refunded", `{"id":"ch_1","payment_intent":null}`), payment.Notice{ID: "evt_1"}},
		"of another kind":  {event("customer.created", `{"metadata":5}`), payment.Notice{ID: "evt_1"}},
		"without any data": {`{"id":"evt_1","type":"ping"}`, payment.Notice{ID: "evt_1"}},
	} {
		if n, err := p.Notice(stripetest.Sign(now, []byte(c.body)), []byte(c.body)); err != nil || n != c.want {
			t.Errorf("%s: %+v, %v; want %+v", name, n, err, c.want)
		}
	}
	body := []byte(event("checkout.session.completed", `{"client_reference_id":"pmt_1"}`))
	sum := func(at time.Time, secret string) string {
		return fmt.Sprintf("%x", webhook.ComputeSignature(at, body, secret))
	}
	unix := now.Unix()
	right := sum(now, stripetest.WebhookSecret)
	for name, c := range map[string]struct {
		header string
		ok     bool
	}{
		"right":                       {fmt.Sprintf("t=%d,v1=%s", unix, right), true},
		"with spaces":                 {fmt.Sprintf("t=%d, v1=%s", unix, right), true},
		"one of two":                  {fmt.Sprintf("t=%d,v1=%s,v1=%s", unix, sum(now, "old"), right), true},
		"with another scheme":         {fmt.Sprintf("t=%d,v0=%s,v1=%s", unix, right, right), true},
		"exactly five minutes ago":    {fmt.Sprintf("t=%d,v1=%s", unix-300, sum(now.Add(-300*time.Second), stripetest.WebhookSecret)), true},
		"longer ago":                  {fmt.Sprintf("t=%d,v1=%s", unix-301, sum(now.Add(-301*time.Second), stripetest.WebhookSecret)), false},
		"signed in the future":        {fmt.Sprintf("t=%d,v1=%s", unix+301, sum(now.Add(301*time.Second), stripetest.WebhookSecret)), false},
		"another secret":              {fmt.Sprintf("t=%d,v1=%s", unix, sum(now, "other")), false},
		"another time than signed":    {fmt.Sprintf("t=%d,v1=%s", unix-1, right), false},
		"two times":                   {fmt.Sprintf("t=%d,t=%d,v1=%s", unix, unix, right), false},
		"the old scheme only":         {fmt.Sprintf("t=%d,v0=%s", unix, right), false},
		"no time":                     {"v1=" + right, false},
		"cut short":                   {fmt.Sprintf("t=%d,v1=%s", unix, right[:20]), false},
		"nothing":                     {"", false},
		"a signature beyond the last": {fmt.Sprintf("t=%d%s,v1=%s", unix, strings.Repeat(",v1="+sum(now, "old"), 8), right), false},
	} {
		_, err := p.Notice(http.Header{"Stripe-Signature": {c.header}}, body)
		if (err == nil) != c.ok || err != nil && !errors.Is(err, payment.ErrSignature) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, broken := range []string{"", "null", "[]", "{", `{"id":""}`, `{"id":5}`, event("charge.refunded", `{"payment_intent":5}`), event("charge.refunded", `"ch_1"`)} {
		if _, err := p.Notice(stripetest.Sign(now, []byte(broken)), []byte(broken)); !errors.Is(err, payment.ErrSignature) {
			t.Errorf("%q: %v", broken, err)
		}
	}
}

// FuzzVerify holds our check of signatures against that of Stripe's own library: never laxer.
func FuzzVerify(f *testing.F) {
	now := time.Now()
	good := stripetest.Sign(now, []byte(`{"id":"evt_1"}`)).Get(SignatureHeader)
	f.Add(good, []byte(`{"id":"evt_1"}`))
	f.Add("t=1,v1=00", []byte(`{}`))
	f.Add(strings.Repeat("v1=,", 100), []byte{})
	f.Fuzz(func(t *testing.T, header string, body []byte) {
		ours := verify(header, body, []byte(stripetest.WebhookSecret), now)
		theirs := webhook.ValidatePayloadWithTolerance(body, header, stripetest.WebhookSecret, payment.NoticeTolerance+time.Hour)
		if ours && theirs != nil {
			t.Errorf("%q: we take what Stripe's library refuses: %v", header, theirs)
		}
	})
}

// FuzzParse reads events of any form.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"id":"evt_1","type":"charge.refunded","data":{"object":{"payment_intent":{"id":"pi_1"},"metadata":{"namewharf_payment":"pmt_1"}}}}`))
	f.Add([]byte(`{"id":"evt_1","type":"checkout.session.completed","data":{"object":{"client_reference_id":"pmt_1"}}}`))
	f.Add([]byte(`{"id":"evt_1","type":"payment_intent.succeeded","data":{"object":null}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		n, err := parse(body)
		if err != nil {
			if !errors.Is(err, payment.ErrSignature) || n != (payment.Notice{}) {
				t.Errorf("%q: %+v, %v", body, n, err)
			}
			return
		}
		if n.ID == "" || !json.Valid(body) {
			t.Errorf("%q was read as %+v", body, n)
		}
	})
}
