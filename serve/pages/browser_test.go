package pages_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	browserlog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
)

// A window is a real browser, with what it went to and what it complained about.
type window struct {
	*town
	ctx context.Context

	mu         sync.Mutex
	went       []string
	complaints []string
}

func newWindow(w *town) *window {
	w.Helper()
	if _, err := exec.LookPath("chromium"); err != nil || testing.Short() {
		w.Skip("needs chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.UserDataDir(w.TempDir()))
	ctx, cancel := chromedp.NewExecAllocator(w.Context(), options...)
	w.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	w.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 90*time.Second)
	w.Cleanup(cancel)
	b := &window{town: w, ctx: ctx}
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
	return b
}

func (b *window) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 20*time.Second)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		text, _ := chromedp.Run(b.ctx, chromedp.Text("body"))
		b.mu.Lock()
		defer b.mu.Unlock()
		b.Fatalf("%s: %v\n%s\ncomplaints: %q\nwent: %q", what, err, text, b.complaints, b.went)
	}
}

// seen waits until the browser has gone to an address with the prefix, and returns it.
func (b *window) seen(prefix string) *url.URL {
	b.Helper()
	for range 200 {
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

// TestConsentInABrowser goes through sign-up, sign-in and consent in a real browser, since only one shows whether the
// policy of a page stops its own form from leading to where it should.
func TestConsentInABrowser(t *testing.T) {
	t.Parallel()
	w := newTown(t, nil)
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<link rel="icon" href="data:,"><p id="landed">back in the app</p>`)
	}))
	t.Cleanup(app.Close)
	b := newWindow(w)
	b.do("sign up", chromedp.Navigate(w.base+"/signup"), chromedp.WaitVisible("#password"),
		chromedp.SendKeys("#email", ada), chromedp.SendKeys("#password", passphrase), chromedp.Click("main form button"), chromedp.WaitVisible(".notice"))

	onPort := w.client("http://127.0.0.1:1/cb")
	request := w.base + ask(onPort, app.URL+"/cb")
	b.do("sign in for an application", chromedp.Navigate(request), chromedp.WaitVisible("#password"),
		chromedp.SendKeys("#email", ada), chromedp.SendKeys("#password", passphrase), chromedp.Click("main form button"), chromedp.WaitVisible("button[value=allow]"))
	b.do("allow", chromedp.Click("button[value=allow]"), chromedp.WaitVisible("#landed"))
	if q := b.seen(app.URL + "/cb?").Query(); q.Get("code") == "" || q.Get("iss") != w.base || q.Get("state") != "a b&c" {
		t.Errorf("allow: got %v, want a code", q)
	}

	b.forget()
	b.do("deny", chromedp.Navigate(request), chromedp.WaitVisible("button[value=deny]"), chromedp.Click("button[value=deny]"), chromedp.WaitVisible("#landed"))
	if q := b.seen(app.URL + "/cb?").Query(); q.Get("error") != "access_denied" || q.Has("code") {
		t.Errorf("deny: got %v, want access_denied", q)
	}

	const private = "com.example.ember:/cb"
	b.forget()
	b.do("allow an app of a private scheme", chromedp.Navigate(w.base+ask(w.client(private), private)),
		chromedp.WaitVisible("button[value=allow]"), chromedp.Click("button[value=allow]"))
	if q := b.seen(private + "?").Query(); q.Get("code") == "" {
		t.Errorf("private scheme: got %v, want a code", q)
	}
	b.noComplaints()
}

func (b *window) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.went = nil
}

func (b *window) noComplaints() {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.complaints {
		if !strings.Contains(c, "com.example.ember") { // there is no such app here
			b.Errorf("the browser complains: %s", c)
		}
	}
}

// TestPasskeyInABrowser adds a passkey and signs in with it.
func TestPasskeyInABrowser(t *testing.T) {
	t.Parallel()
	w := newTown(t, nil)
	b := newWindow(w)
	w.person().signUp(ada)
	b.do("sign in", chromedp.Navigate(w.base+"/signin?return=/account/passkeys"), chromedp.WaitVisible("#password"),
		chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			if _, err := cdp.Call(ctx, target, webauthn.Enable, webauthn.EnableParams{}); err != nil {
				return err
			}
			_, err := cdp.Call(ctx, target, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{Options: &webauthn.VirtualAuthenticatorOptions{
				Protocol: webauthn.AuthenticatorProtocolCtap2, Transport: webauthn.AuthenticatorTransportInternal,
				HasResidentKey: true, HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true,
			}})
			return err
		}),
		chromedp.SendKeys("#email", ada), chromedp.SendKeys("#password", passphrase), chromedp.Click("main form button"), chromedp.WaitVisible("#passkey-add"))
	b.do("add", chromedp.SendKeys("#name", "Laptop"), chromedp.Click("#passkey-add button"), chromedp.WaitVisible("main li h2"))
	b.do("sign out", chromedp.Navigate(w.base+"/signout"), chromedp.Click("main form button"), chromedp.WaitVisible("#passkey-signin"))
	b.do("sign in with it", chromedp.Click("#passkey-signin"), chromedp.WaitVisible(`nav a[aria-current="page"]`))
	if text, err := chromedp.Run(b.ctx, chromedp.Text("main")); err != nil || !strings.Contains(text, ada) {
		t.Errorf("after the sign-in: got %q, %v, want the account", text, err)
	}
	b.noComplaints()
}
