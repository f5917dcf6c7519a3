package pages_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	browserlog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// TestInABrowser tests in a real browser what needs one: whether the CSP of a page blocks its own form, what a keyboard
// reaches, and how pages look. Scripts are off except for passkeys.
func TestInABrowser(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("chromium"); err != nil || testing.Short() {
		if os.Getenv("CI") != "" && !testing.Short() {
			t.Fatal("there is no chromium")
		}
		t.Skip("needs chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.IgnoreCertErrors, // of the application's server, which vouches for itself
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-back-forward-cache", true), // a page from memory sends no events that chromedp waits for
		chromedp.UserDataDir(t.TempDir()))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]func(*testing.T, context.Context){
		"consent":             testConsent,
		"foreign frame":       testForeignFrame,
		"passkey":             testPasskey,
		"provider":            testProviderInABrowser,
		"keyboard":            testKeyboard,
		"brokerage progress":  testProgressInABrowser,
		"domains":             testDomainsInABrowser,
		"links by mail":       testMailInABrowser,
		"checkout":            testCheckoutInABrowser,
		"confirming":          testConfirmingInABrowser,
		"signing in again":    testSigningInAgainInABrowser,
		"sign-up modes":       testModesInABrowser,
		"looks and labels":    testAppearance,
		"documents' pictures": testScreenshots,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, ctx)
		})
	}
}

// A window is a new browser. It records its requests and console errors.
type window struct {
	*server
	ctx context.Context

	mu         sync.Mutex
	went       []string
	complaints []string
}

// newWindow opens a window in which scripts do not run.
func newWindow(w *server, chromium context.Context) *window {
	w.Helper()
	ctx, cancel := chromedp.NewContext(chromium, chromedp.WithNewBrowserContext())
	w.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 4*time.Minute)
	w.Cleanup(cancel)
	b := &window{server: w, ctx: ctx}
	err := chromedp.Listen(ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			b.went = append(b.went, e.Request.URL)
		case *cdppage.EventFrameRequestedNavigation:
			b.went = append(b.went, e.URL)
		case *browserlog.EventEntryAdded:
			b.complaints = append(b.complaints, e.Entry.Text+" "+e.Entry.URL)
		case *runtime.EventExceptionThrown:
			b.complaints = append(b.complaints, e.ExceptionDetails.Text)
		}
	})
	if err != nil {
		w.Fatal(err)
	}
	b.scripts(false)
	return b
}

// call is a command to the browser's tab as an action.
func call[P, R any](command cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, command, params)
		return err
	})
}

func (b *window) scripts(on bool) {
	b.Helper()
	b.do("switch scripts", call(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on}))
}

func (b *window) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 30*time.Second)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		late, cancel := context.WithTimeout(b.ctx, 5*time.Second)
		defer cancel()
		text, _ := chromedp.Run(late, chromedp.Evaluate[string]("document.body.innerText"))
		b.mu.Lock()
		defer b.mu.Unlock()
		b.Fatalf("%s: %v\n%s\ncomplaints: %q\nwent: %q", what, err, text, b.complaints, b.went)
	}
}

// open opens a path of the server.
func (b *window) open(path string) {
	b.Helper()
	b.do("open "+path, chromedp.Navigate(b.base+strings.TrimPrefix(path, b.base)))
}

// fill types texts into the fields with the selectors, given in turn.
func (b *window) fill(pairs ...string) {
	b.Helper()
	for pair := range slices.Chunk(pairs, 2) {
		b.do("fill "+pair[0], chromedp.WaitVisible(pair[0]), chromedp.Evaluate[chromedp.Void](fmt.Sprintf("document.querySelector(%q).value = ''", pair[0])), chromedp.SendKeys(pair[0], pair[1]))
	}
}

// press presses a button, and waits until the element then is on another page.
func (b *window) press(button, then string) {
	b.Helper()
	b.do("press "+button, chromedp.WaitVisible(button), chromedp.Evaluate[chromedp.Void]("document.documentElement.dataset.old = 1"),
		chromedp.Click(button), chromedp.WaitVisible("html:not([data-old]) "+then))
}

// says checks that the page shows the texts.
func (b *window) says(texts ...string) {
	b.Helper()
	got, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("document.body.innerText"))
	if err != nil {
		b.Fatal(err)
	}
	for _, text := range texts {
		if !strings.Contains(got, text) {
			b.Errorf("the page lacks %q:\n%s", text, got)
		}
	}
}

// signUp makes an account in the browser.
func (b *window) signUp() {
	b.Helper()
	b.open("/signup")
	b.fill("#email", ada, "#password", passphrase)
	b.press("main form button", ".notice")
}

// signIn fills in the sign-in page that is open, and waits for what follows.
func (b *window) signIn(then string) {
	b.Helper()
	b.fill("#email", ada, "#password", passphrase)
	b.press("main form button", then)
}

// seen waits until the browser has gone to an address with the prefix, and returns it.
func (b *window) seen(prefix string) *url.URL {
	b.Helper()
	for range 600 {
		b.mu.Lock()
		i := slices.IndexFunc(b.went, func(s string) bool { return strings.HasPrefix(s, prefix) })
		var found string
		if i >= 0 {
			found = b.went[i]
		}
		b.mu.Unlock()
		if u, err := url.Parse(found); err == nil && found != "" {
			return u
		}
		time.Sleep(50 * time.Millisecond)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Fatalf("the browser did not go to %s but to %q\ncomplaints: %q", prefix, b.went, b.complaints)
	return nil
}

func (b *window) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.went = nil
}

// noComplaints checks that the console has no errors but the given ones.
func (b *window) noComplaints(but ...string) {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.complaints {
		if !slices.ContainsFunc(but, func(known string) bool { return strings.Contains(c, known) }) {
			b.Errorf("the browser complains: %s", c)
		}
	}
}

// application starts an application, and returns its redirect URI. It has to listen: otherwise the browser shows its own
// error page.
func (w *server) application(start func(http.Handler) *httptest.Server) string {
	s := start(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<link rel="icon" href="data:,"><p id="landed">back in the app</p>`)
	}))
	w.Cleanup(s.Close)
	return s.URL + "/cb"
}

// testConsent goes through sign-up, sign-in and consent for applications of each kind.
func testConsent(t *testing.T, chromium context.Context) {
	w := newServer(t, nil)
	local, site := w.application(httptest.NewServer), w.application(httptest.NewTLSServer)
	b := newWindow(w, chromium)
	b.signUp()
	const private = "com.example.ember:/cb"
	const allow, deny, landed = "button[value=allow]", "button[value=deny]", "#landed"

	onPort, onSite := authorizeURL(w.registerClient("http://127.0.0.1:1/cb"), local), authorizeURL(w.registerClient(site), site)
	b.open(onSite)
	b.signIn(allow)
	b.says("Ember <b>", ada, strings.TrimSuffix(strings.TrimPrefix(site, "https://"), "/cb"), "The name is not verified", "See marketplace prices")
	b.press(allow, landed)
	b.wantCode("https", site+"?")

	b.forget()
	b.open(onPort)
	b.says("a program on your own computer")
	b.press(allow, landed)
	b.wantCode("loopback, on another port than was registered", local+"?")

	for to, request := range map[string]string{site: onSite, local: onPort} {
		b.forget()
		b.open(request)
		b.press(deny, landed)
		if q := b.seen(to + "?").Query(); q.Get("error") != "access_denied" || q.Has("code") || q.Get("state") != "a b&c" || q.Get("iss") != w.base {
			t.Errorf("deny: got %v, want access_denied", q)
		}
	}

	b.connectApp()
	b.open("/account/apps")
	b.says("Ember Assistant", "See marketplace prices", "Last used")
	b.press(".cards .danger", ".notice")
	b.says("The app is disconnected.", "No app is connected.")

	b.forget() // last, since a browser may ask before it opens an app, and then takes no clicks
	b.open(authorizeURL(w.registerClient(private), private))
	b.says("an app on your own device", "com.example.ember:")
	b.do("allow an app of a private scheme", chromedp.Click(allow))
	b.wantCode("private scheme", private+"?")
	b.noComplaints("com.example.ember") // there is no such app here
}

// wantCode checks that the browser was redirected with a code.
func (b *window) wantCode(what, prefix string) {
	b.Helper()
	if q := b.seen(prefix).Query(); q.Get("code") == "" || q.Get("iss") != b.base || q.Get("state") != "a b&c" {
		b.Errorf("%s: got %v, want a code", what, q)
	}
}

// testForeignFrame frames the consent page in one of another origin, to which the browser would send the cookie.
func testForeignFrame(t *testing.T, chromium context.Context) {
	w := newServer(t, nil)
	request := w.base + authorizeURL(w.registerClient("http://127.0.0.1:1/cb"), "http://127.0.0.1:1/cb")
	trap := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(rw, `<link rel="icon" href="data:,"><h1>Win a boat</h1><iframe src="%s" width="600" height="600"></iframe>`, strings.ReplaceAll(request, "&", "&amp;"))
	}))
	t.Cleanup(trap.Close)
	b := newWindow(w, chromium)
	b.signUp()
	b.open("/signin")
	b.signIn(".tabs")
	b.open(request)
	b.do("the page stands alone", chromedp.WaitVisible("button[value=allow]"))
	b.forget()
	for i, host := range []string{"localhost", "127.0.0.1"} { // of our site with another origin, and of another site
		b.do("open the trap", call(cdppage.Navigate, cdppage.NavigateParams{URL: strings.Replace(trap.URL, "127.0.0.1", host, 1)}))
		b.refused(i + 1)
		b.do("look into the frame", chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			got, err := cdp.Call(ctx, target, cdppage.GetFrameTree, cdp.Empty{})
			if err != nil {
				return err
			}
			for _, f := range got.FrameTree.ChildFrames { // none, where the browser gives the frame a process of its own
				if strings.HasPrefix(f.Frame.URL, w.base) { // and not nothing, or the browser's page about the refusal
					return fmt.Errorf("the frame shows %s", f.Frame.URL)
				}
			}
			return nil
		}))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if drawn := slices.Index(b.went, w.base+"/style.css"); drawn >= 0 {
		t.Error("the frame draws on our style sheet: it shows a page")
	}
}

// refused waits until the browser has refused to frame our pages so many times.
func (b *window) refused(times int) {
	b.Helper()
	const words = "Framing '%s/' violates the following Content Security Policy directive: \"frame-ancestors 'none'\""
	var n int
	for range 600 {
		n = 0
		b.mu.Lock()
		for _, c := range b.complaints {
			if strings.HasPrefix(c, fmt.Sprintf(words, b.base)) {
				n++
			}
		}
		b.mu.Unlock()
		if n == times {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	b.Fatalf("the browser refused the frame %d times, want %d: %q", n, times, b.complaints)
}
