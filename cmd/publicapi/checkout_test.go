package main

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/internal/partnercli"
	"github.com/namewharf/namewharf/internal/payments"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/payment/checkout"
	"github.com/namewharf/namewharf/payment/stripe/stripetest"
	"github.com/namewharf/namewharf/store"
)

// liveNames are names that the demo sells in LIVE.
func (s *site) liveNames(t *testing.T) []string {
	t.Helper()
	db, err := store.Open(t.Context(), store.Config{Dir: s.data, Existing: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	all, err := market.Inventory(t.Context(), db, market.InventoryFilter{Environment: market.Live, Status: market.Listed, Limit: 10})
	if err != nil || len(all) < 5 {
		t.Fatalf("%d names are listed, %v", len(all), err)
	}
	var names []string
	for _, l := range all {
		names = append(names, l.Domain.String())
	}
	return names
}

// one is the text that a query finds in the store.
func (s *site) one(t *testing.T, query string) (text string) {
	t.Helper()
	db, err := store.Open(t.Context(), store.Config{Dir: s.data, Existing: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Read(t.Context(), func(tx store.Tx) error { return tx.QueryRow(t.Context(), query).Scan(&text) })
	if err != nil && !store.IsNoRows(err) {
		t.Fatal(err)
	}
	return text
}

// The demo sells a name to a person without a partner, by each test card.
func TestBuyAtTheMarket(t *testing.T) {
	t.Parallel()
	s := openDemo(t)
	names := s.liveNames(t)
	for i, c := range []struct {
		card    string
		approve bool
		want    string
	}{
		{"4242424242424242", true, "paid"},
		{"4000002500003155", true, "paid"},
		{"4000002500003155", false, "declined"},
		{"4000000000000002", true, "declined"},
		{"4000000000000259", true, "paid"},
	} {
		address := s.url + "/market/" + names[i]
		bought, err := partnercli.Buy(t.Context(), partnercli.Buyer{URL: address, Card: c.card, Approve: c.approve})
		if err != nil || bought.Result != c.want {
			t.Errorf("buy %s by %s: %+v, %v, want %s", names[i], c.card, bought, err, c.want)
		}
		if c.want == "paid" {
			r := s.do(t, http.MethodGet, strings.TrimPrefix(bought.ReturnedTo, s.url), "")
			if !strings.Contains(r.text, "You bought") || !strings.Contains(r.text, bought.OrderID) {
				t.Errorf("the page afterwards: %s", r.text)
			}
			if r := s.do(t, http.MethodGet, "/market/"+names[i], ""); r.StatusCode != http.StatusNotFound {
				t.Errorf("the page of a sold name: %d", r.StatusCode)
			}
		}
	}
	if n := s.one(t, `SELECT CAST(COUNT(*) AS TEXT) FROM orders WHERE partner = '`+checkout.OwnPartner+`' AND payment_model = 'service_collected'`); n != "3" {
		t.Errorf("%s orders of the built-in partner, want 3", n)
	}
	for _, card := range []string{"4242424242424242", "4242 4242", "4000002500003155"} {
		if strings.Contains(s.log.String(), card) {
			t.Errorf("the log holds the card number %s", card)
		}
	}
}

var hiddenField = regexp.MustCompile(`name="(pt|offer)" value="([^"]*)"`)

// A LIVE purchase by Stripe: the page forwards to Stripe, the notice records and captures, the browser returns. Forged notices are
// refused, a provider that hangs or is gone is not waited for.
func TestBuyByStripe(t *testing.T) {
	t.Parallel()
	stripe := stripetest.New(nil)
	t.Cleanup(stripe.Close)
	hang := make(chan struct{})
	hanging := false
	stripe.Intercept = func(_ http.ResponseWriter, r *http.Request, after bool) bool {
		if hanging && !after {
			select {
			case <-hang:
			case <-r.Context().Done():
			}
			return true
		}
		return false
	}
	s := openDemo(t, "-stripe-key", stripetest.Key, "-stripe-webhook-secret", stripetest.WebhookSecret, "-stripe-api-base", stripe.URL)
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	names := s.liveNames(t)
	begin := func(name string) reply {
		t.Helper()
		r := s.form(t, "/market/"+name, nil)
		page := s.do(t, http.MethodGet, strings.TrimPrefix(r.Header.Get("Location"), s.url), "")
		if page.StatusCode != http.StatusOK || strings.Contains(page.text, ">Test<") {
			t.Fatalf("the checkout page: %d %s", page.StatusCode, page.text)
		}
		form := url.Values{"email": {"ada@buyer.example"}}
		for _, m := range hiddenField.FindAllStringSubmatch(page.text, -1) {
			form.Set(m[1], m[2])
		}
		return s.form(t, "/checkout", form)
	}
	page := begin(names[0])
	_, to, _ := strings.Cut(page.Header.Get("Refresh"), "url=")
	if page.StatusCode != http.StatusOK || !strings.HasPrefix(to, "http") || strings.HasPrefix(to, s.url) || !strings.Contains(page.text, "Continue to payment") {
		t.Fatalf("the form leads to %q: %d %s", to, page.StatusCode, page.text)
	}
	id := s.one(t, `SELECT id FROM payments`)
	if err := stripe.Pay(id); err != nil {
		t.Fatal(err)
	}
	notices := stripe.Notices(id)
	for what, h := range map[string]string{"none": "", "another's": stripetestHeader(time.Now(), []byte("{}")), "an old one": stripetestHeader(time.Now().Add(-time.Hour), notices[0].Body)} {
		if r := s.do(t, http.MethodPost, payments.NoticePath, string(notices[0].Body), "Stripe-Signature", h); r.StatusCode != http.StatusBadRequest {
			t.Errorf("a notice with the signature %s: %d", what, r.StatusCode)
		}
	}
	if r := s.do(t, http.MethodGet, payments.NoticePath, ""); r.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d", r.StatusCode)
	}
	for range 2 {
		for _, n := range notices {
			if r := s.do(t, http.MethodPost, payments.NoticePath, string(n.Body), "Stripe-Signature", n.Header.Get("Stripe-Signature")); r.StatusCode != http.StatusOK {
				t.Errorf("the notice %s: %d %s", n.Kind, r.StatusCode, r.text)
			}
		}
	}
	if state, _ := stripe.State(id); state.Intent != "succeeded" {
		t.Errorf("Stripe holds %+v, want it captured", state)
	}
	if n := s.one(t, `SELECT CAST(COUNT(*) AS TEXT) FROM orders WHERE status = 'PAID'`); n != "1" {
		t.Errorf("%s orders, want one", n)
	}

	hanging = true
	begun := time.Now()
	if r := begin(names[1]); r.StatusCode != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" || !strings.Contains(r.text, "Nothing was charged") {
		t.Errorf("a provider that hangs: %d %s", r.StatusCode, r.text)
	}
	if d := time.Since(begun); d > 15*time.Second {
		t.Errorf("a provider that hangs is waited for %v", d)
	}
	close(hang)
	stripe.Close()
	if r := begin(names[2]); r.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a provider that is gone: %d %s", r.StatusCode, r.text)
	}
	for _, secret := range []string{stripetest.Key, stripetest.WebhookSecret, "ada@buyer.example"} {
		if strings.Contains(s.log.String(), secret) {
			t.Errorf("the log holds %s", secret)
		}
	}
}

func stripetestHeader(at time.Time, body []byte) string {
	return stripetest.Sign(at, body).Get("Stripe-Signature")
}

// form sends a form as a browser does.
func (s *site) form(t *testing.T, path string, form url.Values) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	return s.send(t, r, "Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin")
}
