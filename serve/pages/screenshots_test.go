package pages_test

import (
	"context"
	"flag"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/namewharf/namewharf/account"
	"github.com/namewharf/namewharf/account/portfolio"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/internal/oidctest"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/serve/pages"
)

var retake = flag.Bool("pictures", false, "take the pictures of docs/screenshots again")

const (
	screenshotDir = "../../docs/screenshots"
	screenshotDoc = "../../docs/pages.md"
	maxScreenshot = 120 << 10 // bytes
)

// screenshots are the pages in docs/pages.md, in the order in which they are taken.
var screenshots = []struct {
	name, scheme string
	wide, high   int64
	see          func(*window)
}{
	{"sign-up", "light", desktop, 720, func(b *window) {
		b.open("/signup")
		b.fill("#email", ada)
	}},
	{"sign-in", "light", desktop, 720, func(b *window) {
		b.signUp()
		b.scripts(true)
		b.authenticator()
		b.open("/signin")
	}},
	{"passkeys", "dark", desktop, 720, func(b *window) {
		b.open("/signin?return=/account/passkeys")
		b.signIn("#passkey-add")
		b.fill("#name", "Ada’s laptop")
		b.press("#passkey-add button", ".cards h2")
	}},
	{"consent", "light", desktop, 720, openConsent},
	{"consent-dark", "dark", desktop, 720, openConsent},
	{"consent-phone", "light", phone, 720, openConsent},
	{"apps", "light", desktop, 720, func(b *window) {
		b.connectApp()
		b.open("/account/apps")
	}},
	{"domains", "light", desktop, 900, func(b *window) {
		b.addDomains()
		b.open("/account/domains")
		b.do("unfold", chromedp.Click("li:nth-child(2) summary"), chromedp.WaitVisible("li:nth-child(2) dl"))
	}},
}

const ember = "http://127.0.0.1:49152/cb"

func openConsent(b *window) {
	b.open(authorizeURL(b.registerNamedClient("Ember Assistant", ember), ember) + "&scope=pricing%3Aread+domains%3Awrite")
}

// testScreenshots checks the pictures of docs/pages.md. With -pictures it takes them.
func testScreenshots(t *testing.T, chromium context.Context) {
	if *retake {
		takeScreenshots(t, chromium)
	}
	doc, err := os.ReadFile(screenshotDoc)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(screenshotDir + "/*")
	if want := len(screenshots) + 3; err != nil || len(files) != want { // and those of the README: reference.png, names-light.png and names-dark.png
		t.Errorf("got %d files in %s, %v, want %d", len(files), screenshotDir, err, want)
	}
	for _, p := range screenshots {
		name := p.name + ".png"
		info, err := os.Stat(filepath.Join(screenshotDir, name))
		switch {
		case err != nil:
			t.Errorf("%v; take it by go test ./serve/pages -run TestInABrowser -pictures", err)
		case info.Size() > maxScreenshot:
			t.Errorf("%s is %d bytes, want at most %d", name, info.Size(), maxScreenshot)
		}
		if !strings.Contains(string(doc), "(screenshots/"+name+")") {
			t.Errorf("%s does not show %s", screenshotDoc, name)
		}
	}
}

func takeScreenshots(t *testing.T, chromium context.Context) {
	dns := &fakeNetwork{}
	w := newServer(t, func(a *account.Config, c *pages.Config) {
		withProvider(oidctest.Start(t))(a, c)
		withNames(t, dns)(a, c)
	})
	w.dns = dns
	b := newWindow(w, chromium)
	for _, p := range screenshots {
		b.size(p.wide, p.high)
		b.scheme(p.scheme)
		p.see(b)
		b.do("let go of the focus", chromedp.Evaluate[chromedp.Void]("document.activeElement.blur()"))
		b.screenshot(filepath.Join(screenshotDir, p.name+".png"))
	}
}

// connectApp lets the user allow an application, which gets its tokens.
func (b *window) connectApp() {
	b.Helper()
	app := b.application(httptest.NewServer)
	request := authorizeURL(b.registerNamedClient("Ember Assistant", app), app)
	b.forget()
	b.open(request)
	b.press("button[value=allow]", "#landed")
	b.redeem(b.seen(app+"?").Query().Get("code"), request)
}

// addDomains adds names in all states to the account.
func (b *window) addDomains() {
	b.Helper()
	ctx := b.Context()
	who, err := b.accounts.Find(ctx, ada)
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []struct {
		name  string
		price int64
		prove bool
	}{{"brewhaven.com", 250000, true}, {"cobaltpine.com", 120050, false}, {"emberlane.com", 0, true}, {"xn--bcher-kva.com", 900000, true}} {
		name := fqdn.MustParse(n.name)
		claim, err := b.names.Add(ctx, who.ID, name)
		if err != nil {
			b.Fatal(err)
		}
		changes := []portfolio.Change{{Op: portfolio.Refresh}}
		if n.price > 0 {
			changes = append(changes, portfolio.Change{Op: portfolio.List, Price: money.USD(n.price)})
		}
		if n.prove {
			b.dns.publish(n.name, claim.Proof)
			changes = append(changes, portfolio.Change{Op: portfolio.Verify})
		}
		for _, c := range changes {
			c.Names = []fqdn.Name{name}
			if _, err := b.names.Apply(ctx, who.ID, c); err != nil {
				b.Fatal(err)
			}
		}
	}
}
