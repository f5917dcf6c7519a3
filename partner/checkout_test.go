package partner

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/payment"
	"github.com/namewharf/namewharf/payment/checkout"
	"github.com/namewharf/namewharf/payment/testprovider"
	"github.com/namewharf/namewharf/sale"
)

const checkoutBody = `{"domain":"brewhaven.example","return_url":"https://shop.example/thanks?cart=7","cancel_url":"https://shop.example/cart"}`

// card is a test card with a number.
func card(number string) testprovider.Card {
	return testprovider.Card{Number: number, Expiry: "12/34", CVC: "123"}
}

const (
	goodCard    = "4242 4242 4242 4242"
	badCard     = "4000 0000 0000 0002"
	askingCard  = "4000 0025 0000 3155"
	disputeCard = "4000 0000 0000 0259"
)

// session makes a checkout session, and returns its id and the token of its link.
func (s *testServer) session(body string) (id, token string) {
	s.Helper()
	a := s.ok(s.post(root+"/checkout-session", body), http.StatusCreated)
	u, err := url.Parse(a.text("checkout_url"))
	if err != nil || u.Path != "/checkout" {
		s.Fatalf("checkout_url is %q", a.text("checkout_url"))
	}
	return a.text("session_id"), u.Query().Get("pt")
}

// mustView is what the page of a link shows.
func (s *testServer) mustView(token string) checkout.View {
	s.Helper()
	v, err := s.api.Checkout().View(s.Context(), token)
	if err != nil {
		s.Fatalf("open the checkout page: %v", err)
	}
	return v
}

// goPay opens the page, sends the form, and returns the id of the payment.
func (s *testServer) goPay(token string) string {
	s.Helper()
	v, err := s.api.Checkout().Pay(s.Context(), token, checkout.Form{Offer: s.mustView(token).Offer, Email: "ada@buyer.example"})
	if err != nil || v.Step != checkout.GoPay {
		s.Fatalf("send the form: %s, %v", v.Step, err)
	}
	return v.Page[strings.LastIndex(v.Page, "/")+1:]
}

// payBy pays with a card on the provider's page.
func (s *testServer) payBy(id, number string) testprovider.View {
	s.Helper()
	v, err := s.api.TestPayments().Pay(s.Context(), id, card(number))
	if err != nil {
		s.Fatalf("pay: %v", err)
	}
	return v
}

// comeBack is what the browser finds that comes back from the provider.
func (s *testServer) comeBack(token, id string, want checkout.Step) checkout.View {
	s.Helper()
	v, err := s.api.Checkout().Return(s.Context(), token, id)
	if err != nil || v.Step != want {
		s.Fatalf("come back: got %q, %v, want %q", v.Step, err, want)
	}
	return v
}

// buy buys the name of a session, and returns its order and payment.
func (s *testServer) buy(token, number string) (order, id string) {
	s.Helper()
	id = s.goPay(token)
	s.payBy(id, number)
	v := s.comeBack(token, id, checkout.Done)
	return v.Session.OrderID, id
}

// wantPayment waits until a payment has the state, and nothing is to be done about it.
func (s *testServer) wantPayment(id string, want payment.State) payment.Payment {
	s.Helper()
	for end := time.Now().Add(10 * time.Second); ; {
		p, err := s.api.Checkout().Payments().Advance(s.Context(), id)
		if err == nil && p.State == want && p.Todo == payment.ToNothing {
			return p
		}
		if time.Now().After(end) {
			s.Fatalf("payment %s is %s, to do %q, %v; want %s", id, p.State, p.Todo, err, want)
		}
		s.api.Checkout().Payments().Wake()
		time.Sleep(time.Millisecond)
	}
}

func TestCheckout(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *testServer) {
		body := strings.TrimSuffix(checkoutBody, "}") + `,"external_ref":"cart-7","buyer_email":"ada@buyer.example"}`
		id, token := s.session(body)
		a := s.ok(s.get(root+"/checkout-session/"+id), http.StatusOK)
		if a.text("status") != "open" || a.json["price_cents"] != 9900.0 || a.text("order_id") != "" || a.text("domain") != "brewhaven.example" {
			t.Errorf("an open session is %s", a.body)
		}
		v := s.mustView(token)
		if v.Step != checkout.Ask || v.Price != money.USD(9900) || v.Partner != "Example Registrar" || !v.Test || v.Session.BuyerEmail != "ada@buyer.example" {
			t.Errorf("the page shows %+v", v)
		}
		order, pay := s.buy(token, goodCard)
		if got, want := s.mustView(token).Back, "https://shop.example/thanks?cart=7&order="+order+"&session="+id; got != want {
			t.Errorf("the buyer returns to %s, want %s", got, want)
		}
		a = s.ok(s.get(root+"/checkout-session/"+id), http.StatusOK)
		if a.text("status") != "paid" || a.text("order_id") != order {
			t.Errorf("a paid session is %s", a.body)
		}
		a = s.ok(s.get(root+"/orders/"+order), http.StatusOK)
		if a.text("status") != "PAID" || a.text("payment_model") != "service_collected" || a.text("external_payment_ref") != "cart-7" ||
			a.json["sale_price_cents"] != 9900.0 {
			t.Errorf("the order is %s", a.body)
		}
		if a = s.ok(s.get(root+"/events"), http.StatusOK); strings.Count(a.body, `"order.recorded"`) != 1 || !strings.Contains(a.body, order) {
			t.Errorf("the events are %s", a.body)
		}
		s.wantPayment(pay, payment.Captured)
		if n := s.count(`SELECT CAST(SUM(amount_cents) AS BIGINT) FROM commissions WHERE order_id = $1 AND state = 'accrued'`, order); n != 990 {
			t.Errorf("the partner's commission is %d cents, want 990", n)
		}
		s.wantBooks()
		s.want(s.post(root+"/checkout-session", checkoutBody), http.StatusConflict, fault.Conflict)
		s.want(s.post(root+"/checkout-session", strings.Replace(body, "brewhaven.example", "brewpath.test", 1)), http.StatusConflict, fault.Conflict)
		s.want(s.post(root+"/refunds", `{"order_id":"`+order+`"}`).keyed(uuid.NewString()), http.StatusConflict, fault.Conflict)
	})
}

// A sale, a quote and the price that a form fixes.
func TestCheckoutPrice(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *testServer) {
		reprice := func(cents int) {
			csv := fmt.Sprintf("domain,price_cents,floor_price_cents,currency,description,keywords\nbrewhaven.example,%d,%d,USD,,\n", cents, cents)
			if _, err := s.api.cfg.Market.Import(t.Context(), strings.NewReader(csv), market.ImportOptions{Environment: market.Sandbox}); err != nil {
				t.Fatal(err)
			}
		}
		svc := s.api.Checkout()
		_, token := s.session(checkoutBody)
		v := s.mustView(token)
		reprice(12000)
		fixed, err := svc.Pay(t.Context(), token, checkout.Form{Offer: v.Offer, Email: "a@b.example"})
		if err != nil || fixed.Step != checkout.GoPay || fixed.Price != money.USD(9900) {
			t.Errorf("a form of a moment ago: %s, %v, %v; want its own price", fixed.Step, fixed.Price, err)
		}
		s.clock.advance(checkout.OfferLife)
		changed, err := svc.Pay(t.Context(), token, checkout.Form{Offer: v.Offer, Email: "a@b.example"})
		if err != nil || changed.Step != checkout.Ask || changed.Before != money.USD(9900) || changed.Price != money.USD(12000) {
			t.Errorf("a form of 15 minutes ago: %+v, %v; want the price before and now", changed, err)
		}
		again, err := svc.Pay(t.Context(), token, checkout.Form{Offer: changed.Offer, Email: "a@b.example"})
		if err != nil || again.Step != checkout.GoPay || again.Price != money.USD(12000) {
			t.Errorf("the form with the price of now: %+v, %v", again, err)
		}

		quote := s.ok(s.post(root+"/quotes", `{"domain":"brewhaven.example"}`), http.StatusCreated).text("quote_id")
		reprice(15000)
		byQuote := `{"quote_id":"` + quote + `","return_url":"https://shop.example/a","cancel_url":"https://shop.example/b"}`
		_, token = s.session(byQuote)
		if v := s.mustView(token); v.Price != money.USD(12000) {
			t.Errorf("with a quote: got %v, want its 120.00", v.Price)
		}
		_, later := s.session(byQuote)
		s.clock.advance(sale.QuoteLife)
		if v := s.mustView(later); v.Price != money.USD(15000) {
			t.Errorf("after a quote: got %v, want the listing's 150.00", v.Price)
		}
		s.want(s.post(root+"/checkout-session", byQuote), http.StatusUnprocessableEntity, fault.QuoteExpired)

		fresh := s.ok(s.post(root+"/quotes", `{"domain":"brewpath.test"}`), http.StatusCreated).text("quote_id")
		byQuote = strings.Replace(byQuote, quote, fresh, 1)
		_, token = s.session(byQuote)
		order, _ := s.buy(token, goodCard)
		if n := s.count(`SELECT COUNT(*) FROM orders WHERE id = $1 AND quote <> ''`, order); n != 1 {
			t.Error("the quote is not used up by the order")
		}
		s.want(s.post(root+"/checkout-session", byQuote), http.StatusConflict, fault.Conflict)
		s.want(s.order(`{"quote_id":"`+fresh+`"}`), http.StatusConflict, fault.Conflict)
	})
}

// What the buyer does at the provider, and what the page says when the browser comes back.
func TestCheckoutOutcomes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *testServer) {
		svc, provider := s.api.Checkout(), s.api.TestPayments()
		id, token := s.session(checkoutBody)
		pay := s.goPay(token)
		if again := s.goPay(token); again != pay {
			t.Errorf("the form sent twice began the payments %s and %s", pay, again)
		}
		if v := s.payBy(pay, badCard); v.Step != testprovider.AskCard || !v.Declined {
			t.Errorf("a declined card: %+v", v)
		}
		s.comeBack(token, pay, checkout.Wait)
		if v, err := svc.Cancel(t.Context(), token, pay); err != nil || v.Step != checkout.NotPaid || v.Back != "https://shop.example/cart" {
			t.Errorf("cancel: %+v, %v", v, err)
		}
		s.wantPayment(pay, payment.Failed)
		s.comeBack(token, pay, checkout.NotPaid)

		pay = s.goPay(token)
		s.payBy(pay, askingCard)
		if v, err := provider.Refuse(t.Context(), pay); err != nil || !v.Declined {
			t.Errorf("refuse: %+v, %v", v, err)
		}
		s.payBy(pay, askingCard)
		if v, err := provider.Approve(t.Context(), pay); err != nil || v.Step != testprovider.Done {
			t.Errorf("approve: %+v, %v", v, err)
		}
		if v, err := svc.Cancel(t.Context(), token, pay); err != nil || v.Step != checkout.Done {
			t.Errorf("cancel what is paid: %+v, %v", v, err)
		}
		s.comeBack(token, pay, checkout.Done)
		if v, err := svc.Pay(t.Context(), token, checkout.Form{Email: "a@b.example"}); err != nil || v.Step != checkout.Done {
			t.Errorf("pay what is paid: %+v, %v", v, err)
		}
		if a := s.ok(s.get(root+"/checkout-session/"+id), http.StatusOK); a.text("status") != "paid" {
			t.Errorf("the session is %s", a.body)
		}
		s.wantPayment(pay, payment.Captured)

		_, first := s.session(strings.Replace(checkoutBody, "brewhaven.example", "brewpath.test", 1))
		_, second := s.session(strings.Replace(checkoutBody, "brewhaven.example", "brewpath.test", 1))
		late := s.goPay(second)
		s.buy(first, goodCard)
		s.payBy(late, goodCard)
		s.comeBack(second, late, checkout.Lost)
		s.wantPayment(late, payment.Voided)
		if v := s.mustView(second); v.Step != checkout.SoldOut {
			t.Errorf("the page of a sold name: %+v", v)
		}
		s.wantBooks()
	})
}

func TestCheckoutTokens(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *testServer) {
		svc := s.api.Checkout()
		id, token := s.session(checkoutBody)
		offer := s.mustView(token).Offer
		flipped := []byte(token)
		flipped[len(flipped)/2] ^= 1
		for what, pt := range map[string]string{
			"nothing": "", "no token": "chk_1", "a changed token": string(flipped), "a cut token": token[:len(token)-4],
			"an offer": offer, "a token and more": token + "A", "a long text": strings.Repeat("A", 1<<20),
		} {
			for call, err := range map[string]error{
				"view": second(svc.View(t.Context(), pt)), "pay": second(svc.Pay(t.Context(), pt, checkout.Form{Offer: offer, Email: "a@b.example"})),
				"return": second(svc.Return(t.Context(), pt, "pmt_1")), "cancel": second(svc.Cancel(t.Context(), pt, "pmt_1")),
			} {
				if !fault.Is(err, fault.Validation) || strings.Contains(err.Error(), "brewhaven") {
					t.Errorf("%s with %s: %v", call, what, err)
				}
			}
		}
		other := openSQLite(t)
		_, foreign := other.session(checkoutBody)
		if _, err := svc.View(t.Context(), foreign); !fault.Is(err, fault.Validation) {
			t.Errorf("the link of another service: %v", err)
		}
		_, neighbour := s.session(strings.Replace(checkoutBody, "brewhaven.example", "brewpath.test", 1))
		cheap := s.mustView(neighbour).Offer
		for what, f := range map[string]string{"no offer": "", "another session's": cheap, "a changed one": "A" + offer, "a link": token} {
			if _, err := svc.Pay(t.Context(), token, checkout.Form{Offer: f, Email: "a@b.example"}); !fault.Is(err, fault.Validation) {
				t.Errorf("a form with %s: %v", what, err)
			}
		}
		for _, email := range []string{"", "a", "a@b.example\r\nBcc: c@d.example", "Ada <a@b.example>", "a@b.example, c@d.example", strings.Repeat("a", 250) + "@b.example"} {
			if _, err := svc.Pay(t.Context(), token, checkout.Form{Offer: offer, Email: email}); !fault.Is(err, fault.Validation) {
				t.Errorf("the e-mail address %.40q: %v", email, err)
			}
		}
		pay := s.goPay(token)
		if _, err := svc.Return(t.Context(), neighbour, pay); !fault.Is(err, fault.Validation) {
			t.Errorf("a payment of another session: %v", err)
		}

		s.want(s.get(root+"/checkout-session/"+id).signedBy(s.another(market.Sandbox, "embed")), http.StatusNotFound, fault.NotFound)
		s.want(s.get(root+"/checkout-session/"+id).signedBy(s.credential(s.partner.ID, market.Live, "embed")), http.StatusNotFound, fault.NotFound)
		s.want(s.get(root+"/checkout-session/"+id).signedBy(s.credential(s.partner.ID, market.Sandbox, "buy,report")), http.StatusForbidden, fault.Forbidden)
		s.ok(s.post(root+"/sandbox/clock", fmt.Sprintf(`{"advance_seconds":%d}`, int(checkout.SessionLife/time.Second)+1)), http.StatusOK)
		if _, err := svc.View(t.Context(), token); !fault.Is(err, fault.Gone) || strings.Contains(err.Error(), "brewhaven") {
			t.Errorf("a link of 7 days ago: %v", err)
		}
		if a := s.ok(s.get(root+"/checkout-session/"+id), http.StatusOK); a.text("status") != "expired" {
			t.Errorf("a session of 7 days ago is %s", a.body)
		}
		if err := s.operator.Suspend(t.Context(), s.partner.ID, "a test"); err != nil {
			t.Fatal(err)
		}
		_, err := svc.View(t.Context(), token)
		if !fault.Is(err, fault.Gone) {
			t.Errorf("a link of a suspended partner: %v", err)
		}
	})
}

func second[T any](_ T, err error) error { return err }

func TestCheckoutInput(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	good := map[string]any{"domain": "brewhaven.example", "return_url": "https://shop.example/a", "cancel_url": "http://127.0.0.1:9/b"}
	for _, c := range []struct {
		field string
		value any
		code  fault.Code
	}{
		{"domain", nil, fault.Validation},
		{"domain", "nowhere.example", fault.NotFound},
		{"domain", "not a name", fault.Validation},
		{"return_url", nil, fault.Validation},
		{"cancel_url", nil, fault.Validation},
		{"return_url", "", fault.Validation},
		{"return_url", "javascript:alert(1)", fault.Validation},
		{"return_url", "//shop.example/", fault.Validation},
		{"return_url", "https://user:pass@shop.example/", fault.Validation},
		{"cancel_url", "https://shop.example\\@evil.example/", fault.Validation},
		{"cancel_url", "data:text/html,x", fault.Validation},
		{"return_url", "https://shop.example/\r\nSet-Cookie: a=b", fault.Validation},
		{"return_url", "https://shop.example/" + strings.Repeat("a", 3000), fault.Validation},
		{"buyer_email", "nobody", fault.Validation},
		{"buyer_email", "a@b.example\nBcc: c@d.example", fault.Validation},
		{"external_ref", strings.Repeat("a", 256), fault.Validation},
		{"external_ref", "a\x00b", fault.Validation},
		{"quote_id", "qt_forged", fault.Validation},
		{"price_cents", 1, fault.Validation},
		{"domain", 7, fault.Validation},
	} {
		in := map[string]any{}
		maps.Copy(in, good)
		if in[c.field] = c.value; c.value == nil {
			delete(in, c.field)
		}
		body, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		if a := s.send(s.post(root+"/checkout-session", string(body))); a.code() != c.code || c.code == fault.Validation && !strings.Contains(a.fields(), c.field) {
			t.Errorf("%s = %.40q: got %d %s, want %s on it", c.field, c.value, a.status, a.body, c.code)
		}
	}
	if n := s.count(`SELECT COUNT(*) FROM checkout_sessions`); n != 0 {
		t.Errorf("%d sessions were made of bad input", n)
	}
	a := s.want(s.post(root+"/checkout-session", checkoutBody).signedBy(s.credential(s.partner.ID, market.Live, "embed")), http.StatusNotFound, fault.NotFound)
	_ = a
	if _, err := market.Import(t.Context(), s.db, strings.NewReader(fewNames), market.ImportOptions{Environment: market.Live}); err != nil {
		t.Fatal(err)
	}
	s.want(s.post(root+"/checkout-session", checkoutBody).signedBy(s.credential(s.partner.ID, market.Live, "embed")), http.StatusUnprocessableEntity, fault.PaymentUnavailable)
}

// The operator gives money back; a bank takes it back, from every state of the order.
func TestCheckoutReversals(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *testServer) {
		for _, a := range []sale.Action{sale.RefundBuyer, sale.Cancel} {
			id, token := s.session(checkoutBody)
			order, pay := s.buy(token, goodCard)
			s.wantPayment(pay, payment.Captured)
			if _, err := s.operator.Transition(t.Context(), order, a, "asked for"); err != nil {
				t.Fatalf("%s: %v", a, err)
			}
			s.wantPayment(pay, payment.Refunded)
			if a := s.ok(s.get(root+"/checkout-session/"+id), http.StatusOK); a.text("status") != "refunded" {
				t.Errorf("the session is %s", a.body)
			}
			if v := s.mustView(token); v.Step != checkout.Reversed {
				t.Errorf("the page of a refunded session: %+v", v)
			}
			s.ok(s.get(root+"/pricing?domain=brewhaven.example"), http.StatusOK) // for sale again
		}
		steps := []sale.Action{sale.StartTransfer, sale.ConfirmTransfer, sale.Settle}
		for n, name := range []string{"brewhaven.example", "brewpath.test", "coffeeshop.example", "xn--bcher-kva.example"} {
			_, token := s.session(strings.Replace(checkoutBody, "brewhaven.example", name, 1))
			order, pay := s.buy(token, disputeCard)
			s.wantPayment(pay, payment.Captured)
			for _, a := range steps[:n] {
				if _, err := s.operator.Transition(t.Context(), order, a, "a test"); err != nil {
					t.Fatal(err)
				}
			}
			if p, err := s.operator.Dispute(t.Context(), pay); err != nil || p.State != payment.Disputed {
				t.Fatalf("dispute: %s %q, %v", p.State, p.Todo, err)
			}
			if p, err := s.operator.Chargeback(t.Context(), pay); err != nil || p.State != payment.Refunded {
				t.Fatalf("charge back: %s %q, %v", p.State, p.Todo, err)
			}
			if _, err := s.operator.Chargeback(t.Context(), pay); !fault.Is(err, fault.Conflict) {
				t.Errorf("charge back twice: %v", err)
			}
			a := s.ok(s.get(root+"/orders/"+order), http.StatusOK)
			if a.text("status") != "REFUNDED" || strings.Count(a.body, `"order.charged_back"`) != 1 {
				t.Errorf("after %d steps and a chargeback the order is %s", n, a.body)
			}
			if n := s.count(`SELECT COALESCE(CAST(SUM(amount_cents) AS BIGINT), 0) FROM commissions WHERE order_id = $1 AND state <> 'reversed'`, order); n != 0 {
				t.Errorf("after a chargeback the commission is %d", n)
			}
			listed := s.count(`SELECT COUNT(*) FROM listings WHERE domain = $1 AND status = 'listed'`, name)
			if want := map[bool]int{true: 1, false: 0}[n < 2]; listed != want {
				t.Errorf("after %d steps and a chargeback the name is listed %d times, want %d", n, listed, want)
			}
		}
		if a := s.ok(s.get(root+"/events?limit=100"), http.StatusOK); strings.Count(a.body, `"order.refunded"`) != 6 {
			t.Errorf("%d events tell of refunds, want 6", strings.Count(a.body, `"order.refunded"`))
		}
		s.wantBooks()
	})
}

// Two buyers pay for one name at once, a hundred times: one order, one capture, one void, nobody charged for nothing.
func TestTwoBuyersAtOnce(t *testing.T) {
	t.Parallel()
	const times = 100
	var seed strings.Builder
	seed.WriteString("domain,price_cents,floor_price_cents,currency,description,keywords\n")
	for i := range times {
		fmt.Fprintf(&seed, "race-%d.example,9900,9900,USD,,\n", i)
	}
	each(t, func(t *testing.T, s *testServer) {
		for i := range times {
			var all sync.WaitGroup
			var pays, tokens [2]string
			for b := range 2 {
				_, tokens[b] = s.session(strings.Replace(checkoutBody, "brewhaven.example", fmt.Sprintf("race-%d.example", i), 1))
				pays[b] = s.goPay(tokens[b])
			}
			for b := range 2 {
				all.Go(func() {
					if _, err := s.api.TestPayments().Pay(t.Context(), pays[b], card(goodCard)); err != nil {
						t.Errorf("buyer %d of name %d pays: %v", b, i, err)
					}
					if _, err := s.api.Checkout().Return(t.Context(), tokens[b], pays[b]); err != nil {
						t.Errorf("buyer %d of name %d: %v", b, i, err)
					}
				})
			}
			all.Wait()
		}
		counts := map[payment.State]int{}
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			clear(counts)
			for _, state := range payment.States() {
				counts[state] = s.count(`SELECT COUNT(*) FROM payments WHERE state = $1 AND todo = ''`, state)
			}
			if counts[payment.Captured]+counts[payment.Voided] == 2*times {
				break
			}
		}
		if counts[payment.Captured] != times || counts[payment.Voided] != times {
			t.Errorf("the payments are %v, want %d captured and %d voided", counts, times, times)
		}
		if n := s.count(`SELECT COUNT(*) FROM orders`); n != times {
			t.Errorf("%d orders, want %d", n, times)
		}
		if n := s.count(`SELECT COUNT(*) FROM test_payments t WHERE status = 'captured' AND NOT EXISTS
			(SELECT 1 FROM payments p JOIN orders o ON o.id = p.order_id WHERE p.id = t.id)`); n != 0 {
			t.Errorf("%d buyers were charged without an order", n)
		}
		s.wantBooks()
	}, func(o *options) { o.seed = seed.String() })
}
