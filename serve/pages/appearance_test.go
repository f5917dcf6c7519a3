package pages_test

import (
	"context"
	_ "embed"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/namewharf/namewharf/account"
	"github.com/namewharf/namewharf/internal/oidctest"
	"github.com/namewharf/namewharf/serve/pages"
)

//go:embed testdata/check.js
var check string

// A pageCheck is a page in one of its states.
type pageCheck struct {
	name string
	see  func(*window)
}

func at(path string) func(*window) { return func(b *window) { b.open(path) } }

// anonymousPages are the pages without a session, in order.
var anonymousPages = []pageCheck{
	{"landing", at("/")},
	{"signup", at("/signup")},
	{"signup-refused", func(b *window) {
		b.do("take the browser's own check away", chromedp.Evaluate[chromedp.Void](`document.querySelector("form").noValidate = true`))
		b.fill("#email", ada, "#password", "short")
		b.press("main form button", ".problem")
	}},
	{"signup-done", func(b *window) {
		b.fill("#email", ada, "#password", passphrase)
		b.press("main form button", ".notice")
	}},
	{"signin", at("/signin")},
	{"signin-refused", func(b *window) {
		b.fill("#email", ada, "#password", "not the one")
		b.press("main form button", ".problem")
	}},
	{"mail", at("/signin/mail")},
	{"mail-sent", func(b *window) {
		b.fill("#email", ada)
		b.press("main form button", ".notice")
	}},
	{"link", at("/signin/link?token=x")},
	{"verify", at("/verify?token=x")},
	{"forgot", at("/forgot")},
	{"reset", at("/reset?token=x")},
	{"failed", at("/oauth/authorize?client_id=nobody")},
	{"unknown", at("/account/nothing")},
}

// signedInPages are the pages with a session, after those.
var signedInPages = []pageCheck{
	{"signout", at("/signout")},
	{"consent", func(b *window) {
		b.open(authorizeURL(b.registerNamedClient("Ember Assistant", "http://127.0.0.1:1/cb"), "http://127.0.0.1:1/cb"))
	}},
	{"consent-wide", func(b *window) {
		const far = "https://" + "a-very-long-label-that-does-not-end-soon.another-one-of-that-kind.xn--bcher-kva.example/cb"
		b.open(authorizeURL(b.registerNamedClient(strings.Repeat("Longnamed", 11), far), far) + "&scope=pricing%3Aread+domains%3Awrite")
	}},
	{"overview", at("/account")},
	{"apps-none", at("/account/apps")},
	{"apps", func(b *window) {
		b.connectApp()
		b.open("/account/apps")
	}},
	{"sessions", at("/account/sessions")},
	{"passkeys", at("/account/passkeys")},
	{"security", at("/account/security")},
	{"security-refused", func(b *window) {
		b.fill("#current", "not the one", "#password", passphrase)
		b.press("form[action$=password] button", ".problem")
	}},
	{"link-provider", at("/account/security/link?provider=example")},
	{"again", at("/signin/again?return=%2Faccount%2Fdelete")},
	{"again-refused", func(b *window) {
		b.fill("#password", "not the one")
		b.press("form[action='/signin/again'] button", ".problem")
	}},
	{"export", at("/account/export")},
	{"delete", at("/account/delete")},
	{"security-again", at("/account/security")},
	{"depart", func(b *window) { b.press("form[action$='/link'] button", "main .button") }},
	{"domains-none", at("/account/domains")},
	{"domains-refused", func(b *window) {
		b.fill("#domain", "a_b.com")
		b.press("button[value=add]", ".problem")
	}},
	{"domains-added", func(b *window) {
		b.fill("#domain", "a-name-that-takes-all-of-the-room-there-is-on-a-telephone-a.com")
		b.press("button[value=add]", "details[open]")
	}},
	{"domains", func(b *window) {
		b.addDomains()
		b.open("/account/domains")
	}},
	{"bulk", at("/account/domains/bulk")},
	{"bulk-ready", func(b *window) {
		b.fill("#names", "brewhaven.com, cobaltpine.com\na_b.com")
		b.do("choose", chromedp.SetValue("#op", "refresh"))
		b.press("button[value=preview]", "button[value=apply]")
	}},
	{"bulk-preview", func(b *window) {
		b.fill("#names", "pine.com, a_b.com", "#price", "1200")
		b.do("choose", chromedp.SetValue("#op", "set_price"))
		b.press("button[value=preview]", "table")
	}},
}

// testAppearance checks every page in light and dark, on a desktop and on a phone, and its accessibility tree.
// With SHOTS=DIR it leaves pictures.
func testAppearance(t *testing.T, chromium context.Context) {
	dns := &fakeNetwork{}
	w := newServer(t, func(a *account.Config, c *pages.Config) {
		withProvider(oidctest.Start(t))(a, c)
		withNames(t, dns)(a, c)
	})
	w.dns = dns
	b := newWindow(w, chromium)
	for _, s := range anonymousPages {
		b.checkPage(s)
	}
	b.open("/signin")
	b.signIn(".tabs")
	for _, s := range signedInPages {
		b.checkPage(s)
	}
}

// checkPage opens a page and checks the rules for all pages.
func (b *window) checkPage(s pageCheck) {
	b.Helper()
	b.size(desktop, 800)
	s.see(b)
	dir := os.Getenv("SHOTS")
	for _, scheme := range []string{"light", "dark"} {
		b.scheme(scheme)
		for name, wide := range map[string]int64{"desktop": desktop, "phone": phone} {
			if dir == "" && (scheme == "light") != (name == "desktop") {
				continue // contrast does not hang on width, nor width on colours
			}
			b.size(wide, 800)
			got, err := chromedp.Run(b.ctx, chromedp.Evaluate[struct {
				Wrong []string
				Least float64
			}](check))
			if err != nil {
				b.Fatal(err)
			}
			for _, wrong := range got.Wrong {
				b.Errorf("%s, %s, %s: %s", s.name, scheme, name, wrong)
			}
			b.Logf("%s, %s, %s: least contrast of text %.1f", s.name, scheme, name, got.Least)
			if dir != "" {
				b.screenshot(filepath.Join(dir, s.name+"-"+scheme+"-"+name+".png"))
			}
		}
	}
	b.checkAccessibility(s.name)
	if strings.HasPrefix(s.name, "consent") {
		b.balanced()
	}
}

// Widths of windows in CSS pixels.
const (
	desktop = 1100
	phone   = 360
)

func (b *window) size(wide, high int64) {
	b.Helper()
	b.do("size", chromedp.EmulateViewport(wide, high))
}

func (b *window) scheme(name string) {
	b.Helper()
	b.do("scheme", call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
	}))
}

func (b *window) screenshot(file string) {
	b.Helper()
	picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(file, picture, 0o644); err != nil {
		b.Fatal(err)
	}
}

// checkAccessibility checks what a screen reader needs: landmarks, and a name for every control.
func (b *window) checkAccessibility(name string) {
	b.Helper()
	var nodes []*accessibility.Node
	b.do("read", chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		got, err := cdp.Call(ctx, target, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
		nodes = got.Nodes
		return err
	}))
	text := func(node *accessibility.Value) string {
		if node == nil {
			return ""
		}
		return strings.Trim(string(node.Value), `"`)
	}
	roles := map[string]int{}
	for _, n := range nodes {
		if n.Ignored {
			continue
		}
		role := text(n.Role)
		roles[role]++
		if slices.Contains([]string{"button", "link", "textbox", "combobox", "navigation"}, role) && text(n.Name) == "" {
			b.Errorf("%s: there is a %s without a name", name, role)
		}
	}
	if roles["main"] != 1 || roles["banner"] != 1 || roles["link"] == 0 {
		b.Errorf("%s: got the roles %v, want one main, one banner and links", name, roles)
	}
}

// balanced checks that Allow and Deny look the same.
func (b *window) balanced() {
	b.Helper()
	weigh := func(button string) string {
		weight, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](`(() => {
			const e = document.querySelector("button[value=`+button+`]"), s = getComputedStyle(e), r = e.getBoundingClientRect();
			return [r.width, r.height, r.top, s.color, s.backgroundColor, s.border, s.font, s.boxShadow, s.opacity].join(" | ");
		})()`))
		if err != nil {
			b.Fatal(err)
		}
		return weight
	}
	if allow, deny := weigh("allow"), weigh("deny"); allow != deny {
		b.Errorf("Allow and Deny differ:\n%s\n%s", allow, deny)
	}
}
