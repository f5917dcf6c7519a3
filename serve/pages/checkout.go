package pages

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/payment/checkout"
	"github.com/namewharf/namewharf/payment/testprovider"
	"github.com/namewharf/namewharf/referral"
)

// Buying is what the pages need on which people buy.
type Buying struct {
	Checkout     *checkout.Service      // nil: there is no /checkout and no /market
	TestPayments *testprovider.Provider // nil: there is no /checkout/test-payment
	Listings     Listings               // nil: there is no /market
}

// Paths of the checkout.
const (
	checkoutPath    = "/checkout"
	testPaymentPath = checkoutPath + "/test-payment/"
	marketPath      = "/market/"
)

// checkoutRoutes registers the pages on which buyers pay.
func (p *Pages) checkoutRoutes() {
	if p.buying.Checkout == nil {
		return
	}
	p.handle("GET "+checkoutPath, "checkout", p.showCheckout)
	p.handle("POST "+checkoutPath, "checkout", p.pay)
	p.handle("GET "+checkoutPath+"/return", "checkout_return", p.paid)
	p.handle("GET "+checkoutPath+"/cancel", "checkout_cancel", p.leave)
	if p.buying.TestPayments != nil {
		p.handle("GET "+testPaymentPath+"{id}", "test_payment", p.showTestPayment)
		p.handle("POST "+testPaymentPath+"{id}", "test_payment", p.testPayment)
	}
	if p.buying.Listings != nil {
		p.handle("GET "+marketPath+"{domain}", "market_listing", p.showListing)
		p.handle("POST "+marketPath+"{domain}", "market_buy", p.buyListing)
	}
}

// checkoutData is what the pages of the checkout show.
type checkoutData struct {
	checkout.View
	Token  string // of the link
	Domain string // in Unicode
	ASCII  string // the A-label form, where it differs
	Email  string
}

func (p *Pages) showCheckout(req *request) (response, error) {
	token := req.URL.Query().Get("pt")
	v, err := p.buying.Checkout.View(req.Context(), token)
	if err != nil {
		return checkoutFailed(err)
	}
	return p.checkoutPage(token, v, v.Session.BuyerEmail), nil
}

// pay takes the form of the checkout page, and sends the browser to the page of the payment provider.
func (p *Pages) pay(req *request) (response, error) {
	token := req.PostFormValue("pt")
	form := checkout.Form{Offer: req.PostFormValue("offer"), Email: strings.TrimSpace(req.PostFormValue("email"))}
	if c, err := req.Cookie(referral.CookieName(p.secure)); err == nil && len(c.Value) <= maxVisit {
		form.Visit = c.Value
	}
	v, err := p.buying.Checkout.Pay(req.Context(), token, form)
	if err != nil {
		if v.Step == checkout.Ask { // the form is shown again
			return formProblem(p.checkoutPage(token, v, form.Email), err)
		}
		return checkoutFailed(err)
	}
	switch v.Step {
	case checkout.GoPay:
		return p.toProvider(req, token, v), nil
	case checkout.Done:
		return seeOther(v.Back), nil
	}
	a := p.checkoutPage(token, v, form.Email)
	if v.Before.Currency != "" {
		a.problem = &problem{Text: "The price has changed since you opened this page: it was " + formatPrice(v.Before) + ", and is " + formatPrice(v.Price) + " now. Nothing was charged. Please look at it again before you pay."}
		a.status = http.StatusConflict
	}
	return a, nil
}

// maxVisit is more than the cookie of a tracked link holds.
const maxVisit = 200

// toProvider sends the browser to the page where the buyer pays. One on another origin is reached from a page that forwards at once:
// browsers apply form-action to redirects, and the provider's origin is not known when the form is shown.
func (p *Pages) toProvider(req *request, token string, v checkout.View) response {
	if originOf(v.Page) == originOf(p.mw.BaseURL()) {
		return seeOther(v.Page)
	}
	req.w.Header().Set("Refresh", "0; url="+v.Page)
	return p.checkoutPage(token, v, v.Session.BuyerEmail)
}

// paid is where the browser comes back to from the provider's page.
func (p *Pages) paid(req *request) (response, error) {
	q := req.URL.Query()
	v, err := p.buying.Checkout.Return(req.Context(), q.Get("pt"), q.Get("payment"))
	switch {
	case err != nil:
		return checkoutFailed(err)
	case v.Step == checkout.Done:
		return seeOther(v.Back), nil
	case v.Step == checkout.Wait:
		req.w.Header().Set("Refresh", "3")
	}
	return p.checkoutPage(q.Get("pt"), v, ""), nil
}

// leave is where the browser comes back to when the buyer did not pay.
func (p *Pages) leave(req *request) (response, error) {
	q := req.URL.Query()
	v, err := p.buying.Checkout.Cancel(req.Context(), q.Get("pt"), q.Get("payment"))
	switch {
	case err != nil:
		return checkoutFailed(err)
	case v.Step == checkout.Done, v.Step == checkout.NotPaid:
		return seeOther(v.Back), nil
	}
	return p.checkoutPage(q.Get("pt"), v, ""), nil
}

// checkoutTitles are the titles of the page by what is next, and its status.
var checkoutTitles = map[checkout.Step]struct {
	title  string
	status int
}{
	checkout.Ask:      {"Checkout", http.StatusOK},
	checkout.GoPay:    {"Go on to the payment", http.StatusOK},
	checkout.Wait:     {"Waiting for your payment", http.StatusOK},
	checkout.Done:     {"Paid", http.StatusOK},
	checkout.NotPaid:  {"Not paid", http.StatusOK},
	checkout.Lost:     {"Somebody else was faster", http.StatusConflict},
	checkout.SoldOut:  {"No longer for sale", http.StatusConflict},
	checkout.Reversed: {"Payment returned", http.StatusOK},
}

func (p *Pages) checkoutPage(token string, v checkout.View, email string) response {
	t := checkoutTitles[v.Step]
	return response{
		page: "checkout", title: t.title, status: t.status, formAction: formTargets(v.Session.ReturnURL, v.Session.CancelURL),
		data: checkoutData{View: v, Token: token, Domain: v.Session.Domain.Unicode(), ASCII: asciiOf(v.Session.Domain), Email: email},
	}
}

func asciiOf(name fqdn.Name) string {
	if ascii := name.String(); ascii != name.Unicode() {
		return ascii
	}
	return ""
}

// cspSource is an origin that a content security policy can hold.
var cspSource = regexp.MustCompile(`^https?://[A-Za-z0-9.\-\[\]:]+$`)

// formTargets are the origins of addresses, for a content security policy: a form whose answer redirects there works.
func formTargets(addresses ...string) string {
	var origins []string
	for _, a := range addresses {
		if origin := originOf(a); cspSource.MatchString(origin) {
			origins = append(origins, origin)
		}
	}
	return strings.Join(origins, " ")
}

// checkoutFailed is the page about a link that is not good, which names nothing; other failures are returned.
func checkoutFailed(err error) (response, error) {
	title := ""
	switch {
	case fault.Is(err, fault.Validation):
		title = "This link does not work"
	case fault.Is(err, fault.Gone):
		title = "This link has expired"
	case fault.Is(err, fault.PaymentUnavailable):
		title = "Payment is not possible here"
	case fault.Is(err, fault.Unavailable):
		title = "Payment is not possible now"
	default:
		return response{}, err
	}
	a, err := formProblem(response{page: "checkout-failed", title: title}, err)
	return a, err
}

// testPaymentData is what the page of the test provider shows.
type testPaymentData struct {
	testprovider.View
	Cards []testprovider.TestCard
}

func (p *Pages) showTestPayment(req *request) (response, error) {
	v, err := p.buying.TestPayments.View(req.Context(), req.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	return p.testPaymentPage(req, v)
}

// testPayment takes a form of the test provider's page. What is typed for a card is neither stored nor shown again.
func (p *Pages) testPayment(req *request) (response, error) {
	ctx, id := req.Context(), req.PathValue("id")
	var v testprovider.View
	var err error
	switch req.PostFormValue("do") {
	case "pay":
		v, err = p.buying.TestPayments.Pay(ctx, id, testprovider.Card{
			Number: req.PostFormValue("number"), Expiry: req.PostFormValue("expiry"), CVC: req.PostFormValue("cvc"),
		})
		if fault.Is(err, fault.Validation) {
			return p.testCardProblem(req, err)
		}
	case "approve":
		v, err = p.buying.TestPayments.Approve(ctx, id)
	case "refuse":
		v, err = p.buying.TestPayments.Refuse(ctx, id)
	case "cancel":
		v, err = p.buying.TestPayments.Leave(ctx, id)
	default:
		return response{}, fault.New(fault.Validation, "This form cannot be read")
	}
	if err != nil {
		return response{}, err
	}
	switch v.Step {
	case testprovider.Done:
		return seeOther(v.ReturnURL), nil
	case testprovider.Over:
		return seeOther(v.CancelURL), nil
	}
	return seeOther(testPaymentPath + url.PathEscape(id)), nil // so that the browser can go back and reload
}

func (p *Pages) testCardProblem(req *request, problem error) (response, error) {
	v, err := p.buying.TestPayments.View(req.Context(), req.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	a, err := p.testPaymentPage(req, v)
	if err != nil {
		return response{}, err
	}
	return formProblem(a, problem)
}

func (p *Pages) testPaymentPage(req *request, v testprovider.View) (response, error) {
	targets, err := p.buying.Checkout.OfPayment(req.Context(), v.ID)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return response{}, err
	}
	a := response{
		page: "test-payment", title: "Test payment", formAction: formTargets(targets...),
		data: testPaymentData{View: v, Cards: testprovider.Cards()},
	}
	if v.Step == testprovider.AskCard && v.Declined {
		a.problem = &problem{Text: "The card was declined. Nothing was charged. Try another card.", Field: "number"}
		a.status = http.StatusPaymentRequired
	}
	return a, nil
}

// pathEscape writes a name into a path.
func pathEscape(name fqdn.Name) string { return url.PathEscape(name.String()) }
