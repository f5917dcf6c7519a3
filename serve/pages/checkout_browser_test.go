package pages_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/namewharf/namewharf/account"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/partner"
	"github.com/namewharf/namewharf/partner/admin"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/payment/checkout"
	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/serve/pages"
	"github.com/namewharf/namewharf/store"
)

// A checkoutServer is a server that sells names, and a partner's site on another origin.
type checkoutServer struct {
	*server
	db       *store.DB
	api      *partner.API
	operator *admin.Operator
	partner  string
	site     string // the partner's
}

// newCheckoutServer lists name-0.example to name-49.example for sale at 1,250.50 USD, in both environments.
func newCheckoutServer(t *testing.T) *checkoutServer {
	t.Helper()
	s := &checkoutServer{}
	s.server = newServer(t, func(a *account.Config, c *pages.Config) {
		var csv strings.Builder
		csv.WriteString("domain,price_cents,floor_price_cents,currency,description,keywords\nxn--bcher-kva.example,9900,9900,USD,Books & <b>more</b>,\n")
		for i := range 50 {
			fmt.Fprintf(&csv, "name-%d.example,125050,125050,USD,,\n", i)
		}
		for _, env := range []market.Environment{market.Sandbox, market.Live} {
			if _, err := market.Import(t.Context(), a.DB, strings.NewReader(csv.String()), market.ImportOptions{Environment: env}); err != nil {
				t.Fatal(err)
			}
		}
		m, err := market.New(t.Context(), market.Config{DB: a.DB})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(m.Close)
		keys, err := seal.Parse(seal.NewText())
		if err != nil {
			t.Fatal(err)
		}
		s.db = a.DB
		s.api, err = partner.New(t.Context(), partner.Config{
			DB: a.DB, Keys: keys, Market: m, BaseURL: a.BaseURL, TestPayments: true, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.api.Close)
		s.operator = admin.New(a.DB, keys, a.DB.Now, "test")
		p, err := s.operator.CreatePartner(t.Context(), "Harbour <Registrar>", credential.DefaultTerms())
		if err != nil {
			t.Fatal(err)
		}
		s.partner = p.ID
		c.Buying = pages.Buying{Checkout: s.api.Checkout(), TestPayments: s.api.TestPayments(), Listings: m}
	})
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "<!DOCTYPE html><title>Shop</title><link rel=icon href=data:,><body><p id=shop>shop %s</p>", r.URL.Path)
	}))
	t.Cleanup(site.Close)
	s.site = site.URL
	return s
}

// session is the path of the checkout page of a session in the sandbox.
func (s *checkoutServer) session(name string) string {
	s.Helper()
	var address string
	err := s.db.Tx(s.Context(), func(tx store.Tx) error {
		session, err := s.api.Checkout().Create(s.Context(), tx, checkout.Request{
			Partner: s.partner, Environment: string(market.Sandbox), Domain: name, ReturnURL: s.site + "/thanks?cart=7", CancelURL: s.site + "/cart",
		}, s.db.Now())
		if err != nil {
			return err
		}
		address, err = s.api.Checkout().URL(session)
		return err
	})
	if err != nil {
		s.Fatal(err)
	}
	return strings.TrimPrefix(address, s.base)
}

// back goes back in the history, and waits for the element.
func (b *window) back(to string) {
	b.Helper()
	b.do("go back to "+to, chromedp.Evaluate[chromedp.Void]("document.documentElement.dataset.old = 1; history.back()"), chromedp.WaitVisible("html:not([data-old]) "+to))
}

func (b *window) reload(to string) {
	b.Helper()
	b.do("reload "+to, chromedp.Reload(), chromedp.WaitVisible(to))
}

// card types a card.
func (b *window) card(number string) {
	b.Helper()
	b.fill("#number", number, "#expiry", "12/34", "#cvc", "123")
}

const (
	payButton     = "button[value=pay]"
	approveButton = "button[value=approve]"
	refuseButton  = "button[value=refuse]"
	cancelButton  = "button[value=cancel]"
	buyButton     = "main form button"
)

// Every test card, without scripts, with a reload and a step back on each page.
func testCheckoutInABrowser(t *testing.T, chromium context.Context) {
	s := newCheckoutServer(t)
	for i, c := range []struct {
		card string
		pay  func(b *window)
		paid bool
	}{
		{"4242 4242 4242 4242", func(b *window) { b.press(payButton, "#shop") }, true},
		{"4000 0000 0000 0259", func(b *window) { b.press(payButton, "#shop") }, true},
		{"4000 0025 0000 3155", func(b *window) {
			b.press(payButton, approveButton)
			b.reload(approveButton)
			b.press(approveButton, "#shop")
		}, true},
		{"4000 0025 0000 3155", func(b *window) {
			b.press(payButton, refuseButton)
			b.press(refuseButton, "#problem")
			b.says("declined", "Nothing was charged")
			b.press(cancelButton, "#shop")
		}, false},
		{"4000 0000 0000 0002", func(b *window) {
			b.press(payButton, "#problem")
			b.says("declined")
			b.press(cancelButton, "#shop")
		}, false},
	} {
		b := newWindow(s.server, chromium)
		path := s.session(fmt.Sprintf("name-%d.example", i))
		b.open(path)
		b.says("name-"+fmt.Sprint(i)+".example", "1,250.50 USD", "Namewharf, through Harbour <Registrar>", "TEST", "You pay Namewharf")
		b.reload("#email")
		b.fill("#email", "ada@buyer.example")
		b.press(buyButton, "#number")
		b.says("1,250.50 USD", "4242 4242 4242 4242")
		b.reload("#number")
		b.back("#email")
		b.fill("#email", "ada@buyer.example")
		b.press(buyButton, "#number")
		b.card(c.card)
		c.pay(b)
		b.reload("#shop")
		if c.paid {
			b.says("shop /thanks")
			b.back("main")
			b.open(path)
			b.says("The name is paid for")
			b.reload("main .notice")
		} else {
			b.says("shop /cart")
			b.open(path) // the session is open still
			b.says("Continue to payment")
		}
		b.mu.Lock()
		for _, complaint := range b.complaints {
			if !strings.Contains(complaint, "402") { // the console notes the status of a declined card
				t.Errorf("%s: the browser complains: %s", c.card, complaint)
			}
		}
		b.mu.Unlock()
	}

	b := newWindow(s.server, chromium)
	b.open("/market/name-40.example")
	b.says("Sign in", "TEST")
	b.press(buyButton, "#email")
	b.says("Namewharf", "1,250.50 USD")
	b.fill("#email", "ada@buyer.example")
	b.press(buyButton, "#number")
	b.card("4242 4242 4242 4242")
	b.press(payButton, ".notice")
	b.says("You bought name-40.example")
	b.reload(".notice")
	b.says("You bought name-40.example")
}

func TestCheckoutPages(t *testing.T) {
	t.Parallel()
	s := newCheckoutServer(t)
	p := s.newUser()
	path := s.session("name-1.example")
	u, _ := url.Parse(path)
	token := u.Query().Get("pt")

	got := p.open(path)
	p.want("the page", got, http.StatusOK, "name-1.example", "1,250.50 USD", "Harbour &lt;Registrar&gt;", "Test")
	if csp := got.header.Get("Content-Security-Policy"); !strings.Contains(csp, "form-action 'self' "+s.site) {
		t.Errorf("the policy %q does not let the form lead to the partner's site", csp)
	}
	for what, bad := range map[string]string{
		"no token": "/checkout", "another text": "/checkout?pt=abc", "a changed token": "/checkout?pt=A" + token,
		"a forged return": "/checkout/return?pt=abc&payment=pmt_1", "a forged cancel": "/checkout/cancel?pt=" + token + "&payment=pmt_1",
	} {
		got := p.open(bad)
		p.want(what, got, http.StatusBadRequest, "This link does not work", "Nothing was charged")
		if strings.Contains(got.text, "name-1") || strings.Contains(got.text, s.site) || strings.Contains(got.text, "Harbour") {
			t.Errorf("%s: the page names something:\n%s", what, got.text)
		}
	}
	form := url.Values{"pt": {token}, "offer": {got.field("offer")}, "email": {"ada@buyer.example"}}
	foreign := p.request("/checkout", form)
	foreign.Header.Set("Sec-Fetch-Site", "cross-site")
	foreign.Header.Set("Origin", "https://evil.example")
	p.want("a form of another site", p.send(foreign), http.StatusForbidden, "another site")

	tampered := url.Values{"pt": {token}, "offer": {got.field("offer")}, "email": {"ada@buyer.example"}, "price_cents": {"1"}, "price": {"0.01"}, "return_url": {"https://evil.example/"}}
	to := p.post("/checkout", tampered).header.Get("Location")
	if !strings.HasPrefix(to, s.base+"/checkout/test-payment/pmt_") {
		t.Fatalf("the form leads to %q", to)
	}
	p.want("the payment", p.open(to), http.StatusOK, "1,250.50 USD")
	form.Set("offer", got.field("offer")+"A")
	p.want("a changed offer", p.post("/checkout", form), http.StatusBadRequest)
	form.Set("offer", got.field("offer"))
	form.Set("email", "ada@buyer.example\r\nBcc: eve@evil.example")
	p.want("a bad address", p.post("/checkout", form), http.StatusBadRequest, "The e-mail address must be", "Continue to payment")
	form.Set("email", "ada@buyer.example")
	if again := p.post("/checkout", form).header.Get("Location"); again != to {
		t.Errorf("the form sent twice leads to %s and %s", to, again)
	}
	bad := p.post(strings.TrimPrefix(to, s.base), url.Values{"do": {"pay"}, "number": {"4111 1111 1111 1111"}, "expiry": {"12/34"}, "cvc": {"123"}})
	p.want("a real card", bad, http.StatusBadRequest, "is not a test card")
	if strings.Contains(bad.text, "4111") {
		t.Error("the page repeats a card number")
	}
	paid := p.post(strings.TrimPrefix(to, s.base), url.Values{"do": {"pay"}, "number": {"4242 4242 4242 4242"}, "expiry": {"12/34"}, "cvc": {"123"}})
	back := p.open(paid.header.Get("Location"))
	location, _ := url.Parse(back.header.Get("Location"))
	if back.status != http.StatusSeeOther || location.Scheme+"://"+location.Host != s.site || location.Query().Get("cart") != "7" ||
		!strings.HasPrefix(location.Query().Get("order"), "ord_") || !strings.HasPrefix(location.Query().Get("session"), "chk_") {
		t.Errorf("after paying the browser goes to %q", location)
	}
	p.want("the page again", p.open(path), http.StatusOK, "The name is paid for")
	p.want("the payment again", p.open(to), http.StatusOK, "This payment is made")
	p.want("a payment that is none", p.open("/checkout/test-payment/pmt_1"), http.StatusNotFound)

	p.want("a name", p.open("/market/xn--bcher-kva.example"), http.StatusOK, "bücher.example", "to see the price", "Books &amp; &lt;b&gt;more")
	if anonymous := p.open("/market/xn--bcher-kva.example"); strings.Contains(anonymous.text, "99.00") {
		t.Error("the page of a name shows its price to anybody")
	}
	p.want("a name, signed in", s.signedInUser().open("/market/xn--bcher-kva.example"), http.StatusOK, "99.00 USD")
	p.want("a name that is not for sale", p.open("/market/nowhere.example"), http.StatusNotFound, "not for sale")
	p.want("no name", p.open("/market/%20"), http.StatusNotFound)
	p.want("buy what is not for sale", p.post("/market/nowhere.example", nil), http.StatusNotFound)
	p.want("forged thanks", p.open("/market/name-2.example?order=ord_1&session=chk_1"), http.StatusOK, "Buy")
}
