package pages_test

import (
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/namewharf/namewharf/account"
	"github.com/namewharf/namewharf/internal/oidctest"
	"github.com/namewharf/namewharf/serve/pages"
)

// A timedServer has a clock that the test can advance.
type timedServer struct {
	*server
	ahead *atomic.Int64
}

func newTimedServer(t *testing.T, changes ...func(*account.Config, *pages.Config)) timedServer {
	t.Helper()
	ahead := &atomic.Int64{}
	return timedServer{newServer(t, func(a *account.Config, c *pages.Config) {
		for _, change := range changes {
			change(a, c)
		}
		a.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	}), ahead}
}

// expireStepUp makes sessions too old for a step-up.
func (w timedServer) expireStepUp() { w.ahead.Add(int64(account.StepUpLife)) }

// After signing in again, by any method, the user returns to the same action.
func TestSigningInAgainLeadsBack(t *testing.T) {
	t.Parallel()
	provider := oidctest.Start(t)
	w := newTimedServer(t, withProvider(provider))
	p := w.newUser()
	p.visitProvider(t, provider, "/signin/with/example")
	p.want("set a password", p.post("/account/security/password", url.Values{"password": {passphrase}}), http.StatusOK, "The password is changed")
	p.want("sign in", p.signIn(ada, ""), http.StatusSeeOther)
	safe := p.open("/account/security")
	wish := url.Values{"provider": {safe.field("provider")}, "subject": {safe.field("subject")}}
	back := "/account/security/unlink?" + wish.Encode()
	ask := "/signin/again?" + url.Values{"return": {back}}.Encode()

	for how, signIn := range map[string]func() page{
		"password": func() page {
			p.want("a wrong one", p.post("/signin/again", url.Values{"password": {"not the one"}, "return": {back}}), http.StatusBadRequest, "The password is wrong", "return", `aria-invalid="true"`)
			return p.post("/signin/again", url.Values{"password": {passphrase}, "return": {back}})
		},
		"provider": func() page {
			return p.visitProvider(t, provider, "/signin/with/example?"+url.Values{"return": {back}}.Encode())
		},
		"mail": func() page {
			p.want("ask for a mail", p.post("/signin/again/mail", url.Values{"return": {back}}), http.StatusOK, "We sent a link to your address")
			link := p.open(w.mail.link(t, account.LinkPath))
			return p.post("/signin/link", url.Values{"token": {link.field("token")}})
		},
	} {
		w.expireStepUp()
		before := p.cookie()
		p.wantTo(how+": unlink in an old session", p.post("/account/security/unlink", wish), ask)
		p.wantTo(how+": the page that asks for it", p.open(back), ask)
		p.want(how+": asked again", p.open(ask), http.StatusOK, ada, `name="password"`, "Sign in with Example", "Get a link by mail")
		p.wantTo(how+": sign in", signIn(), back)
		if _, err := w.accounts.Session(t.Context(), before); err == nil || p.cookie() == before {
			t.Errorf("%s: the old session is good after it", how)
		}
		got := p.open(back)
		p.want(how+": back", got, http.StatusOK, "Remove it")
		if s := got.field("subject"); s != wish.Get("subject") {
			t.Errorf("%s: the form is about %q, want %q", how, s, wish.Get("subject"))
		}
	}
	p.want("then it is done", p.post("/account/security/unlink", wish), http.StatusOK, "is unlinked")

	w.expireStepUp()
	link := "/account/security/link?provider=example"
	p.wantTo("link", p.post("/account/security/link", url.Values{"provider": {"example"}}), "/signin/again?"+url.Values{"return": {link}}.Encode())
	p.wantTo("sign in", p.post("/signin/again", url.Values{"password": {passphrase}, "return": {link}}), link)
	p.want("back to link", p.open(link), http.StatusOK, "Link Example")
	p.want("link", p.post("/account/security/link", url.Values{"provider": {"example"}}), http.StatusOK, "Continue at Example")

	stranger := w.newUser()
	stranger.wantTo("not signed in", stranger.open(ask), "/signin?"+url.Values{"return": {back}}.Encode())
	p.wantTo("back to elsewhere", p.post("/signin/again", url.Values{"password": {passphrase}, "return": {"https://evil.example/"}}), "/account")
}

// An account without a password gets the page to sign in again, not a form that fails.
func TestFirstPasswordAfterSigningInAgain(t *testing.T) {
	t.Parallel()
	provider := oidctest.Start(t)
	w := newTimedServer(t, withProvider(provider))
	p := w.newUser()
	p.visitProvider(t, provider, "/signin/with/example")
	w.expireStepUp()
	old := p.open("/account/security")
	p.want("the page", old, http.StatusOK, "Sign in again before you set one")
	if strings.Contains(old.text, `name="password"`) {
		t.Error("the page has a form that would fail")
	}
	p.wantTo("the form of a page from before", p.post("/account/security/password", url.Values{"password": {passphrase}}), "/signin/again?return=%2Faccount%2Fsecurity")
	p.wantTo("sign in", p.visitProvider(t, provider, "/signin/with/example?return=%2Faccount%2Fsecurity"), "/account/security")
	p.want("the page then", p.open("/account/security"), http.StatusOK, `name="password"`, "Set the password")
}

// When a passkey is added in an old session, the script follows the redirect, and the name is not lost.
func TestPasskeyInAnOldSession(t *testing.T) {
	t.Parallel()
	w := newTimedServer(t)
	p := w.signedInUser()
	w.expireStepUp()
	r, _ := http.NewRequest(http.MethodPost, p.base+"/account/passkeys/begin", strings.NewReader(`{"name":"Ada’s laptop"}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	got := p.send(r)
	const back = "/account/passkeys?name=Ada%E2%80%99s+laptop"
	var said struct{ Location string }
	asked := "/signin/again?" + url.Values{"return": {back}}.Encode()
	if err := json.Unmarshal([]byte(got.text), &said); err != nil || got.status != http.StatusOK || said.Location != asked {
		t.Errorf("begin: got %d %s", got.status, got.text)
	}
	p.wantTo("sign in", p.post("/signin/again", url.Values{"password": {passphrase}, "return": {back}}), back)
	p.want("back", p.open(back), http.StatusOK, `value="Ada’s laptop"`)
}

// A confirmation link asks for the password in another browser than that of the sign-up, and GET changes nothing.
func TestConfirmingOnAnotherDevice(t *testing.T) {
	t.Parallel()
	w := newServer(t, verifyFirst)
	p, telephone := w.newUser(), w.newUser()
	p.want("sign up", p.signUp(ada), http.StatusOK, "Follow the link in it")
	link := w.mail.link(t, account.VerifyPath)
	asked := telephone.open(link)
	telephone.want("on the telephone", asked, http.StatusOK, `name="password"`, "Set a new password")
	if known := p.open(link); strings.Contains(known.text, `name="password"`) {
		t.Error("the browser in which the account was made is asked for the password")
	}
	token := asked.field("token")
	telephone.want("without a password", telephone.post("/verify", url.Values{"token": {token}}), http.StatusBadRequest, "The password must be the one")
	telephone.want("with a wrong one", telephone.post("/verify", url.Values{"token": {token}, "password": {"not the one"}}), http.StatusBadRequest, "The password is not the one", `aria-invalid="true"`)
	telephone.want("not signed in by trying", telephone.signIn(ada, ""), http.StatusForbidden, "follow the link in our mail")
	telephone.want("with the right one", telephone.post("/verify", url.Values{"token": {token}, "password": {passphrase}}), http.StatusOK, "address is confirmed")
	telephone.want("sign in", telephone.signIn(ada, ""), http.StatusSeeOther)
}

func TestTakingAnAddressFromAStranger(t *testing.T) {
	t.Parallel()
	w := newServer(t, verifyFirst)
	stranger, owner := w.newUser(), w.newUser()
	stranger.signUpWith(ada, strangersPassword)
	page := owner.open(w.mail.link(t, account.VerifyPath))
	own := owner.open("/reset?token=" + page.field("token"))
	owner.want("a password of one's own", own, http.StatusOK, "Remove them")
	owner.want("set it", owner.post("/reset", url.Values{"token": {own.field("token")}, "password": {ownersPassword}}), http.StatusOK, "The password is set")
	owner.want("the owner", owner.signInWith(ada, ownersPassword), http.StatusSeeOther)
	stranger.want("the stranger", stranger.signInWith(ada, strangersPassword), http.StatusForbidden)
}

// A mailed link would confirm the address, and take away the password and passkeys of an account that is not confirmed.
func TestUnconfirmedAccountsSignInAgainWithoutMail(t *testing.T) {
	t.Parallel()
	w := newTimedServer(t)
	p := w.signedInUser()
	w.expireStepUp()
	got := p.open("/signin/again?return=%2Faccount%2Fdelete")
	p.want("asked again", got, http.StatusOK, `name="password"`)
	if strings.Contains(got.text, "/signin/again/mail") {
		t.Error("the page offers a link by mail")
	}
	p.want("ask for a link all the same", p.post("/signin/mail", url.Values{"email": {ada}}), http.StatusOK, "we sent a link")
	p.want("which says what it does", p.open(w.mail.link(t, account.LinkPath)), http.StatusOK, "existing passwords, passkeys and linked accounts are removed")
}

func TestExportAndDelete(t *testing.T) {
	t.Parallel()
	dns := &fakeNetwork{}
	w := newServer(t, withNames(t, dns))
	p := w.signedInUser()
	w.mail.link(t, account.VerifyPath)
	request := authorizeURL(w.registerClient("http://127.0.0.1:1/cb"), "http://127.0.0.1:1/cb")
	consent := p.post("/oauth/authorize", url.Values{"interaction": {p.open(request).field("interaction")}, "answer": {"allow"}})
	to, _ := url.Parse(consent.header.Get("Location"))
	w.redeem(to.Query().Get("code"), request)
	for _, name := range []string{"ember.com", "pine.com"} {
		p.post("/account/domains", url.Values{"domain": {name}, "do": {"add"}})
	}
	p.post("/account/domains", url.Values{"domain": {"ember.com"}, "do": {"list"}, "price": {"1200"}})

	p.want("overview", p.open("/account"), http.StatusOK, "Export your data", "Delete account")
	p.want("export", p.open("/account/export"), http.StatusOK, "Download the file")
	got := p.post("/account/export", nil)
	if d := got.header.Get("Content-Disposition"); got.status != http.StatusOK || !strings.HasPrefix(d, "attachment") || got.header.Get("Content-Type") != "application/json" {
		t.Errorf("export: got %d, %v", got.status, got.header)
	}
	var file struct {
		AccountID, Email   string
		HasPassword        bool
		Sessions, Passkeys []struct{ ID string }
		Apps               []struct{ Name string }
		SecurityLog        []struct{ What string }
		Domains            []struct{ Domain, Status, Proof, Price string }
		Listings           []struct{ Domain, Status, Price string }
		DomainEvents       []struct{ Domain, What string }
	}
	if err := json.Unmarshal([]byte(got.text), &file); err != nil {
		t.Fatalf("export: %v\n%s", err, got.text)
	}
	var log []string
	for _, e := range file.SecurityLog {
		log = append(log, e.What)
	}
	if file.Email != ada || !file.HasPassword || len(file.Sessions) != 1 || file.Passkeys == nil || len(file.Apps) != 1 || file.Apps[0].Name != "Ember <b>" ||
		len(file.Domains) != 2 || file.Domains[0].Price != "1200.00 USD" || file.Domains[1].Proof == "" ||
		len(file.Listings) != 1 || file.Listings[0].Status != "pending" || len(file.DomainEvents) != 2 || !slices.Contains(log, "data_exported") {
		t.Errorf("export: got %s", got.text)
	}
	if strings.Contains(got.text, "argon2") || strings.Contains(got.text, p.cookie()) {
		t.Error("the export holds a secret")
	}

	p.want("delete", p.open("/account/delete"), http.StatusOK, ada, "Your offers are withdrawn", "Delete my account for good")
	old := p.cookie()
	p.want("do it", p.post("/account/delete", nil), http.StatusOK, "Your account is deleted.")
	if _, err := w.accounts.Session(t.Context(), old); err == nil || p.cookie() != "" {
		t.Error("the session is good after it")
	}
	if m := w.mails(1)[0]; !strings.Contains(m.Subject, "deleted") {
		t.Errorf("got a mail %q", m.Subject)
	}
	p.want("sign in", p.signIn(ada, ""), http.StatusForbidden, "password is wrong")
	p.want("sign up again", p.signUp(ada), http.StatusOK)
	p.want("sign in again", p.signIn(ada, ""), http.StatusSeeOther)
	p.want("nothing is left", p.open("/account/domains"), http.StatusOK, "Domain")
	if strings.Contains(p.open("/account/domains").text, "ember.com") {
		t.Error("the new account has the names of the old one")
	}
}

func TestProvidersAreAskedForAnotherSignIn(t *testing.T) {
	t.Parallel()
	provider := oidctest.Start(t)
	w := newServer(t, withProvider(provider))
	p := w.newUser()
	provider.SignedIn = time.Now().Add(-time.Hour)
	p.visitProvider(t, provider, "/signin/with/example")
	const ask = "/signin/again?return=%2Faccount%2Fdelete"
	p.wantTo("delete after a sign-in that asked nothing", p.post("/account/delete", nil), ask)
	p.wantTo("the same once more", p.visitProvider(t, provider, "/signin/with/example?return=%2Faccount%2Fdelete"), "/account/delete")
	p.wantTo("which leads back", p.open("/account/delete"), ask)
	link := regexp.MustCompile(`href="(/signin/with/example[^"]*)"`).FindStringSubmatch(p.open(ask).text)
	if link == nil {
		t.Fatal("the page has no link to the provider")
	}
	p.wantTo("by the page's own link", p.visitProvider(t, provider, html.UnescapeString(link[1])), "/account/delete")
	p.want("then the page is there", p.open("/account/delete"), http.StatusOK, "Delete my account for good")
}
