package pages_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/namewharf/namewharf/account"
	"github.com/namewharf/namewharf/account/portfolio"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/internal/oidctest"
	"github.com/namewharf/namewharf/serve/pages"
)

// testPasskey adds a passkey and signs in with it.
func testPasskey(t *testing.T, chromium context.Context) {
	w := newServer(t, nil)
	b := newWindow(w, chromium)
	w.newUser().signUp(ada)
	b.scripts(true)
	b.authenticator()
	b.open("/signin?return=/account/passkeys")
	b.signIn("#passkey-add")
	b.fill("#name", "Laptop")
	b.press("#passkey-add button", ".cards h2")
	b.says("Laptop")
	b.open("/signout")
	b.press("main form button", "#passkey-signin")
	b.press("#passkey-signin", ".tabs")
	b.says(ada)
	b.noComplaints()
}

// authenticator gives the browser a device with a lock that is always opened.
func (b *window) authenticator() {
	b.Helper()
	b.do("add an authenticator", call(webauthn.Enable, webauthn.EnableParams{}),
		call(webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{Options: &webauthn.VirtualAuthenticatorOptions{
			Protocol: webauthn.AuthenticatorProtocolCtap2, Transport: webauthn.AuthenticatorTransportInternal,
			HasResidentKey: true, HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true,
		}}))
}

// withProvider gives a server an OpenID provider.
func withProvider(p *oidctest.Provider) func(*account.Config, *pages.Config) {
	return func(a *account.Config, _ *pages.Config) {
		a.OIDC = []account.Provider{{ID: "example", Name: "Example", Issuer: p.URL, ClientID: oidctest.Client, ClientSecret: oidctest.Secret}}
	}
}

// testProviderInABrowser signs up at a provider on the way to an application whose request is large, then unlinks and
// links the account there.
func testProviderInABrowser(t *testing.T, chromium context.Context) {
	w := newServer(t, withProvider(oidctest.Start(t)))
	b := newWindow(w, chromium)
	state := strings.Repeat("0123456789abcdef", 256) // 4 KiB
	request := authorizeURL(w.registerClient("http://127.0.0.1:1/cb"), "http://127.0.0.1:1/cb") + "&prompt=consent"
	b.open(strings.Replace(request, "state="+url.QueryEscape("a b&c"), "state="+state, 1))
	b.press(`a[href^="/signin/with/example"]`, "button[value=allow]")
	b.says(ada, "Ember <b>")
	b.open("/account/security")
	b.says("Linked ", "The account was created at Example")
	b.press(`form[action$="/unlink"] button`, "main p[role=alert]")
	b.says("a link by mail is all that remains")
	b.press(`form[action$="/unlink"] button`, ".notice")
	b.says("is unlinked", "An account elsewhere was unlinked: Example")
	b.press(`form[action$="/link"] button`, "main .button")
	b.press("main .button", ".tabs")
	b.says("Linked ")
	b.noComplaints("status of 409")
}

// tabTo presses Tab until the element with the selector has the focus, and checks that every focused element is visible.
func (b *window) tabTo(selector string) {
	b.Helper()
	const look = `(() => {
		const e = document.activeElement, s = getComputedStyle(e), r = e.getBoundingClientRect();
		return JSON.stringify({there: e.matches(%q), what: e.outerHTML.slice(0, 120),
			seen: s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2 && r.width > 4 && r.height > 4});
	})()`
	var path []string
	for range 20 {
		b.do("press Tab", chromedp.KeyEvent(kb.Tab))
		text, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](fmt.Sprintf(look, selector)))
		if err != nil {
			b.Fatal(err)
		}
		var at struct {
			There, Seen bool
			What        string
		}
		if err := json.Unmarshal([]byte(text), &at); err != nil {
			b.Fatal(err)
		}
		if path = append(path, at.What); !at.Seen {
			b.Errorf("the focus cannot be seen on %s", at.What)
		}
		if at.There {
			return
		}
	}
	b.Fatalf("Tab does not lead to %s but to %q", selector, path)
}

// testKeyboard signs in and allows an application without a mouse.
func testKeyboard(t *testing.T, chromium context.Context) {
	w := newServer(t, nil)
	w.newUser().signUp(ada)
	b := newWindow(w, chromium)
	app := w.application(httptest.NewServer)
	b.open(authorizeURL(w.registerClient(app), app))
	b.do("wait", chromedp.WaitVisible("#email"))
	b.tabTo("#email")
	b.do("type", chromedp.KeyEvent(ada))
	b.tabTo("#password")
	b.do("type and press Enter", chromedp.KeyEvent(passphrase), chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible("button[value=allow]"))
	b.tabTo("button[value=deny]")
	b.tabTo("button[value=allow]")
	b.do("press Enter", chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible("#landed"))
	b.wantCode("by keyboard", app+"?")

	b.open("/account/security")
	b.tabTo(".skip")
	b.do("skip", chromedp.KeyEvent(kb.Enter))
	b.tabTo("main input:not([type=hidden])") // the tabs are skipped
}

// testDomainsInABrowser adds a name, proves it, offers it, and changes many.
func testDomainsInABrowser(t *testing.T, chromium context.Context) {
	dns := &fakeNetwork{}
	w := newServer(t, withNames(t, dns))
	b := newWindow(w, chromium)
	b.signUp()
	b.open("/signin?return=/account/domains")
	b.signIn("#domain")
	b.fill("#domain", "not a name")
	b.press("button[value=add]", ".problem")
	b.fill("#domain", "Ember.com")
	b.press("button[value=add]", "details[open]")
	b.says("ember.com is on your list", "_namewharf.ember.com", "TXT", "not proven yet")
	b.press("button[value=verify]", ".problem")
	b.says("The proof of ownership is not in the DNS")
	dns.publish("ember.com", b.text("dl.box dd:last-of-type"))
	b.press("button[value=verify]", ".notice")
	b.says("ember.com is yours.", "Yours since")
	b.fill(`[id="price-ember.com"]`, "12,50")
	b.press("button[value=list]", ".problem")
	b.says("The price must be an amount")
	b.fill(`[id="price-ember.com"]`, "1250.50")
	b.press("button[value=list]", ".notice")
	b.says("ember.com is offered", "1,250.50 USD")
	b.press("button[value=unlist]", ".notice")
	b.says("not offered any more")

	b.open("/account/domains/bulk")
	b.fill("#names", "pine.com, oak.com\nno_name.com\nwww.elm.com ash.com")
	b.press("button[value=preview]", "button[value=apply]")
	b.says("What would happen", "4 of 5 would succeed", "no_name.com")
	if n := b.count(w); n != 1 {
		t.Errorf("after a preview there are %d names, want 1", n)
	}
	b.press("button[value=apply]", "table")
	b.says("What happened", "3 of 5 succeeded", "www.elm.com", "without www")
	if n := b.count(w); n != 4 {
		t.Errorf("after it there are %d names, want 4", n)
	}
	b.open("/account/domains/bulk")
	b.fill("#names", "ember.com pine.com elm.com", "#price", "300")
	b.do("choose", chromedp.SetValue("#op", string(portfolio.List)))
	b.press("button[value=preview]", "button[value=apply]")
	b.says("2 of 3 would succeed", "elm.com")
	b.press("button[value=apply]", "table")
	b.says("2 of 3 succeeded")
	b.open("/account/domains")
	b.says("ember.com", "300.00 USD")
	b.do("unfold", chromedp.Click(`li:first-child summary`), chromedp.WaitVisible(`li:first-child button[value=remove]`))
	b.press(`li:first-child button[value=remove]`, ".notice")
	b.says("ash.com is off your list")
	b.noComplaints("status of 4")
}

func (b *window) text(selector string) string {
	b.Helper()
	text, err := chromedp.Run(b.ctx, chromedp.Text(selector))
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(text)
}

// count is how many names the one account has.
func (b *window) count(w *server) int {
	b.Helper()
	who, err := w.accounts.Find(b.Context(), ada)
	if err != nil {
		b.Fatal(err)
	}
	claims, _, err := w.names.List(b.Context(), who.ID, fqdn.Name{}, 100)
	if err != nil {
		b.Fatal(err)
	}
	return len(claims)
}

// testMailInABrowser resets the password and signs in by a link, then looks at sessions and the log.
func testMailInABrowser(t *testing.T, chromium context.Context) {
	w := newServer(t, nil)
	b := newWindow(w, chromium)
	b.signUp()
	b.open("/forgot")
	b.fill("#email", ada)
	b.press("main form button", ".notice")
	b.open(w.mail.link(t, account.ResetPath))
	b.fill("#password", "three calm herons")
	b.press("main form button", ".notice")
	b.says("The password is set")
	b.open("/signin/mail")
	b.fill("#email", ada)
	b.press("main form button", ".notice")
	b.open(w.mail.link(t, account.LinkPath))
	b.press("main form button", ".tabs")
	b.open("/account/security")
	b.says("The password was reset", "Signed in with a link", "127.0.0.1")
	b.open("/account/sessions")
	b.says("This browser", "Chrome/")
	b.press(".cards .danger", "#password")
	b.says("You are signed out.")
	b.noComplaints("username fields") // whose account it is would be told to whoever has the link
}

// testModesInABrowser signs up by an invitation, and finds sign-up closed.
func testModesInABrowser(t *testing.T, chromium context.Context) {
	mode := func(m account.Mode) func(*account.Config, *pages.Config) {
		return func(a *account.Config, c *pages.Config) { a.Signup, c.Signup = m, m }
	}
	invited := newServer(t, mode(account.Invite))
	b := newWindow(invited, chromium)
	b.open("/signup")
	b.says("needs an invitation")
	link, err := invited.accounts.Invite(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.open(link)
	b.fill("#email", ada, "#password", passphrase)
	b.press("main form button", ".notice")
	b.signIn(".tabs")
	b.says(ada)
	b.noComplaints()

	b = newWindow(newServer(t, mode(account.Closed)), chromium)
	b.open("/signup")
	b.says("Sign-up is closed")
	b.open("/signin")
	if text := b.text("main"); strings.Contains(text, "Sign up") {
		t.Errorf("the sign-in page offers what is closed:\n%s", text)
	}
	b.noComplaints()
}
