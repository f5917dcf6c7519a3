package pages_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/namewharf/namewharf/account"
	"github.com/namewharf/namewharf/brokerage"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/partner"
	"github.com/namewharf/namewharf/referral"
	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/serve/pages"
	"github.com/namewharf/namewharf/store"
)

// withPartners gives a server the public pages of the partner API, whose links begin with a base that is known later.
func withPartners(t *testing.T, api **partner.API, db **store.DB) func(*account.Config, *pages.Config) {
	return func(a *account.Config, c *pages.Config) {
		m, err := market.New(t.Context(), market.Config{DB: a.DB})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(m.Close)
		*db = a.DB
		if *api, err = partner.New(t.Context(), partner.Config{
			DB: a.DB, Keys: seal.Random(), Market: m, BaseURL: a.BaseURL, Logger: slog.New(slog.DiscardHandler),
		}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup((*api).Close)
		c.Partners = pages.Partners{Cases: (*api).Cases(), Links: (*api).Links()}
	}
}

// A broker is a server with a partner who has cases and links.
type broker struct {
	*server
	api *partner.API
	db  *store.DB
}

const brokerPartner = "prt_broker"

func newBroker(t *testing.T) *broker {
	t.Helper()
	b := &broker{}
	b.server = newServer(t, withPartners(t, &b.api, &b.db))
	b.tx(func(tx store.Tx) error {
		_, err := tx.Exec(t.Context(), `
			INSERT INTO partners (id, name, review_limit_cents, service_bp, partner_bp, broker_bp, referral_bp, sandbox_ahead, created_at, suspended_at)
			VALUES ($1, 'Secret Partner Ltd', 0, 0, 0, 2000, 500, 0, 0, 0)`, brokerPartner)
		return err
	})
	return b
}

func (b *broker) tx(do func(store.Tx) error) {
	b.Helper()
	if err := b.db.Tx(b.Context(), do); err != nil {
		b.Fatal(err)
	}
}

// open opens a case in the sandbox and returns it.
func (b *broker) open(domain string, tier brokerage.Tier) (c brokerage.Case) {
	b.Helper()
	b.tx(func(tx store.Tx) (err error) {
		c, err = b.api.Cases().Open(b.Context(), tx, brokerage.Party{Partner: brokerPartner, Environment: "SANDBOX"}, brokerage.Request{
			Domain: fqdn.MustParse(domain), Tier: tier, BuyerEmail: "buyer@shop.example", Budget: money.USD(800_000),
		}, time.Now())
		return err
	})
	return c
}

func (b *broker) act(id string, changes ...brokerage.Change) {
	b.Helper()
	for _, change := range changes {
		b.tx(func(tx store.Tx) error {
			_, err := b.api.Cases().Transition(b.Context(), tx, id, change, brokerage.Actor{Name: "grace", Reason: "x"}, time.Now())
			return err
		})
	}
}

// link makes a tracked link.
func (b *broker) link(r referral.Request) (l referral.Link) {
	b.Helper()
	b.tx(func(tx store.Tx) (err error) {
		l, err = b.api.Links().Create(b.Context(), tx, referral.Party{Partner: brokerPartner, Environment: "SANDBOX"}, r, time.Now())
		return err
	})
	return l
}

// ask sends a request without following redirects, and returns the answer with its body.
func (b *broker) ask(method, target string, form url.Values, header map[string]string) (*http.Response, string) {
	b.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r, err := http.NewRequestWithContext(b.Context(), method, target, body)
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for k, v := range header {
		r.Header.Set(k, v)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil && !errors.Is(err, io.EOF) {
		b.Fatal(err)
	}
	return resp, string(text)
}

const markup = `<script>alert(1)</script><img src=x onerror=alert(1)>`

func TestProgressPage(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	c := b.open("parked-acme.example", brokerage.SelfServe)
	b.act(c.CaseID, brokerage.Change{Action: brokerage.Contact, PublicNote: "We wrote: " + markup, PrivateNote: "owner is Olga Owner"})
	resp, text := b.ask("POST", c.ProgressURL, url.Values{"amount": {"1,200.50"}, "message": {"For my shop. " + markup}}, nil)
	if resp.StatusCode != http.StatusSeeOther || b.base+resp.Header.Get("Location") != c.ProgressURL {
		t.Fatalf("an offer: %d to %q: %s", resp.StatusCode, resp.Header.Get("Location"), text)
	}
	resp, text = b.ask("GET", c.ProgressURL, nil, nil)
	for name, want := range map[string]string{
		"Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex, nofollow", "Cache-Control": "no-store", "X-Frame-Options": "DENY",
	} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if csp := resp.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "script-src") {
		t.Errorf("policy %q", csp)
	}
	for _, want := range []string{"parked-acme.example", "Owner contacted", "1,200.50 USD", "For my shop.", `<meta name="robots" content="noindex, nofollow">`, "We wrote: &lt;script&gt;", "<strong>Test.</strong>"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q: %s", want, text)
		}
	}
	for _, secret := range []string{"Olga", "Secret Partner", brokerPartner, "buyer@shop", c.CaseID, "8,000", "<script>", "<img src=x"} {
		if strings.Contains(text, secret) {
			t.Errorf("the page tells %q", secret)
		}
	}
}

func TestProgressPageRefuses(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	c := b.open("parked-acme.example", brokerage.SelfServe)
	managed := b.open("parked-two.example", brokerage.Managed)
	for what, x := range map[string]struct {
		target string
		form   url.Values
		header map[string]string
		status int
	}{
		"no amount":              {c.ProgressURL, url.Values{}, nil, 400},
		"a word":                 {c.ProgressURL, url.Values{"amount": {"much"}}, nil, 400},
		"a decimal comma":        {c.ProgressURL, url.Values{"amount": {"1200,50"}}, nil, 400},
		"an exponent":            {c.ProgressURL, url.Values{"amount": {"1e9"}}, nil, 400},
		"less than nothing":      {c.ProgressURL, url.Values{"amount": {"-5"}}, nil, 400},
		"more than there is":     {c.ProgressURL, url.Values{"amount": {"99999999999999999999"}}, nil, 400},
		"a long message":         {c.ProgressURL, url.Values{"amount": {"5"}, "message": {strings.Repeat("x", 1001)}}, nil, 400},
		"a huge form":            {c.ProgressURL, url.Values{"amount": {"5"}, "message": {strings.Repeat("x", 40_000)}}, nil, 413},
		"another site's form":    {c.ProgressURL, url.Values{"amount": {"5"}}, map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		"a managed case":         {managed.ProgressURL, url.Values{"amount": {"5"}}, nil, 409},
		"a token that is none":   {b.base + "/brokerage/AAAAAAAAAAAAAAAAAAAAAA", url.Values{"amount": {"5"}}, nil, 404},
		"the path without token": {b.base + "/brokerage/", url.Values{"amount": {"5"}}, nil, 404},
	} {
		if resp, text := b.ask("POST", x.target, x.form, x.header); resp.StatusCode != x.status {
			t.Errorf("%s: got %d, want %d: %s", what, resp.StatusCode, x.status, text)
		}
	}
	for target, status := range map[string]int{"/brokerage/AAAAAAAAAAAAAAAAAAAAAA": 404, "/brokerage/": 404, "/brokerage/x/y": 404, "/brokerage/..%2f..%2fetc": 404} {
		if resp, _ := b.ask("GET", b.base+target, nil, nil); resp.StatusCode != status {
			t.Errorf("%s: got %d, want %d", target, resp.StatusCode, status)
		}
	}
	if resp, _ := b.ask("DELETE", c.ProgressURL, nil, nil); resp.StatusCode != 405 {
		t.Errorf("DELETE: %d", resp.StatusCode)
	}
}

func TestReferralLink(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	l := b.link(referral.Request{Type: referral.Domain, Domain: fqdn.MustParse("brewhaven.example")})
	resp, _ := b.ask("GET", l.URL, nil, nil)
	cookie := resp.Header.Get("Set-Cookie")
	if resp.StatusCode != 302 || resp.Header.Get("Location") != "/market/brewhaven.example" || resp.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("a visit: %d %v", resp.StatusCode, resp.Header)
	}
	for _, want := range []string{"nw_ref=", "; Path=/;", "Max-Age=2592000", "HttpOnly", "SameSite=Lax"} {
		if !strings.Contains(cookie+";", want) {
			t.Errorf("the cookie %q lacks %q", cookie, want)
		}
	}
	if strings.Contains(cookie, "Domain=") {
		t.Errorf("the cookie %q is for other hosts too", cookie)
	}
	for what, header := range map[string]map[string]string{
		"a prefetch": {"Sec-Purpose": "prefetch"}, "a foreign frame": {"Sec-Fetch-Dest": "iframe"}, "a foreign image": {"Sec-Fetch-Dest": "image"},
		"a crawler": {"User-Agent": "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"},
	} {
		resp, _ := b.ask("GET", l.URL, nil, header)
		if resp.StatusCode != 302 || resp.Header.Get("Location") != "/market/brewhaven.example" || resp.Header.Get("Set-Cookie") != "" {
			t.Errorf("%s: %d %v", what, resp.StatusCode, resp.Header)
		}
	}
	if resp, _ := b.ask("HEAD", l.URL, nil, nil); resp.StatusCode != 302 || resp.Header.Get("Set-Cookie") != "" {
		t.Errorf("HEAD: %d %v", resp.StatusCode, resp.Header)
	}
	for _, path := range []string{"/r/0123456789abc", "/r/x", "/r/%2f%2fevil.example", "/r/" + strings.Repeat("a", 1000)} {
		if resp, _ := b.ask("GET", b.base+path, nil, nil); resp.StatusCode != 302 || resp.Header.Get("Location") != "/" || resp.Header.Get("Set-Cookie") != "" {
			t.Errorf("%s: %d to %q", path, resp.StatusCode, resp.Header.Get("Location"))
		}
	}
	if resp, _ := b.ask("POST", l.URL, url.Values{}, nil); resp.StatusCode != 405 {
		t.Errorf("POST: %d", resp.StatusCode)
	}
	// Where products lead there is a page.
	for _, product := range []referral.ProductName{"search", "market", "brokerage", "api"} {
		resp, _ := b.ask("GET", b.link(referral.Request{Type: referral.Product, Product: product}).URL, nil, nil)
		if page, _ := b.ask("GET", b.base+resp.Header.Get("Location"), nil, nil); page.StatusCode != 200 {
			t.Errorf("%s leads to %q, which answers %d", product, resp.Header.Get("Location"), page.StatusCode)
		}
	}
}

// The progress page and an offer in a real browser, without scripts.
func testProgressInABrowser(t *testing.T, chromium context.Context) {
	b := newBroker(t)
	c := b.open("parked-acme.example", brokerage.SelfServe)
	w := newWindow(b.server, chromium)
	w.open(strings.TrimPrefix(c.ProgressURL, b.base))
	w.fill("#amount", "1,250", "#message", "It is for my shop.\n"+markup)
	w.do("send the offer", chromedp.Click("form button.main"), chromedp.WaitVisible("ul.cards li"))
	text := w.text("body")
	for _, want := range []string{"Acquiring parked-acme.example", "1,250.00 USD", "It is for my shop.", markup, "The buyer offered 1250.00 USD.", "You may make 19 more"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q: %s", want, text)
		}
	}
	w.do("load it again", chromedp.Reload())
	offers, err := b.api.Cases().Offers(t.Context(), c.CaseID)
	if err != nil || len(offers) != 1 {
		t.Errorf("%d offers after the page was loaded again, %v", len(offers), err)
	}
	b.act(c.CaseID, brokerage.Change{Action: brokerage.Contact}, brokerage.Change{Action: brokerage.Negotiate}, brokerage.Change{Action: brokerage.Agree, PriceCents: 125_000})
	w.open(strings.TrimPrefix(c.ProgressURL, b.base))
	if text := w.text("body"); !strings.Contains(text, "Agreed price: 1,250.00 USD") || strings.Contains(text, "Make an offer") {
		t.Errorf("after the agreement: %s", text)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.complaints) > 0 {
		t.Errorf("the browser complains: %q", w.complaints)
	}
}
