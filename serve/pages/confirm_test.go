package pages_test

import (
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/namewharf/namewharf/internal/oidctest"

	"github.com/namewharf/namewharf/account"
	"github.com/namewharf/namewharf/serve/pages"
)

// verifyFirst requires confirmed addresses, as with a mail server.
func verifyFirst(a *account.Config, _ *pages.Config) { a.VerifyFirst = true }

const (
	strangersPassword = "the stranger's own words"
	ownersPassword    = "the owner's own words"
)

func (p *user) signUpWith(email, password string) page {
	p.Helper()
	return p.post("/signup", url.Values{"email": {email}, "password": {password}})
}

func (p *user) signInWith(email, password string) page {
	p.Helper()
	return p.post("/signin", url.Values{"email": {email}, "password": {password}})
}

// mails waits for n mails, and for a moment that there are no more.
func (w *server) mails(n int) (all []account.Message) {
	w.Helper()
	for range n {
		select {
		case m := <-w.mail:
			all = append(all, m)
		case <-time.After(10 * time.Second):
			w.Fatalf("got %d mails within 10 s, want %d", len(all), n)
		}
	}
	return all
}

// A stranger signs up with an address before its owner does. Whatever link of the mails the owner uses, the stranger's password
// and sessions stay invalid. A mail that the stranger caused, whose page asked for no password, once made them valid.
func TestConfirmationEndsAStrangersSessions(t *testing.T) {
	t.Parallel()
	w := newServer(t, verifyFirst)
	stranger, owner := w.newUser(), w.newUser()
	stranger.want("the stranger signs up", stranger.signUpWith(ada, strangersPassword), http.StatusOK)
	owner.want("the owner signs up", owner.signUpWith(ada, ownersPassword), http.StatusOK)
	mails := w.mails(2)
	stranger.want("the stranger tries to sign in", stranger.signInWith(ada, strangersPassword), http.StatusForbidden)
	owner.post("/forgot", url.Values{"email": {"nobody@names.example"}}) // is behind whatever the attempt mailed
	w.accounts.Close()
	close(w.mail)
	for m := range w.mail {
		mails = append(mails, m)
	}
	if len(mails) != 2 {
		t.Errorf("a sign-in attempt mailed %q", mails[len(mails)-1].Subject)
	}
	for _, link := range linksTo(account.VerifyPath, mails...) {
		owner.post("/verify", url.Values{"token": {owner.open(link).field("token")}})
	}
	got := stranger.signInWith(ada, strangersPassword)
	stranger.want("the stranger signs in once the owner has pressed each button", got, http.StatusForbidden)
}

// linksTo are the links to a path in mails.
func linksTo(path string, mails ...account.Message) (links []string) {
	for _, m := range mails {
		for word := range strings.FieldsSeq(m.Text) {
			if u, err := url.Parse(word); err == nil && u.Path == path {
				links = append(links, word)
			}
		}
	}
	return links
}

// A sign-up followed by a sign-in revealed whether the address had an account.
func TestSignUpThenSignInRevealsNothing(t *testing.T) {
	t.Parallel()
	w := newServer(t, verifyFirst)
	if _, err := w.accounts.Create(t.Context(), ada, ownersPassword); err != nil {
		t.Fatal(err)
	}
	var answers []page
	for _, email := range []string{ada, "bob@names.example"} {
		p := w.newUser()
		up, in := p.signUpWith(email, strangersPassword), p.signInWith(email, strangersPassword)
		for _, a := range []page{up, in} {
			a.text = strings.ReplaceAll(a.text, email, "E")
			answers = append(answers, a)
		}
	}
	for i, what := range []string{"sign-up", "sign-in after it"} {
		if a, b := answers[i], answers[2+i]; a.status != b.status || a.text != b.text {
			t.Errorf("%s: for an address with an account got %d\n%s\nfor a fresh one %d\n%s", what, a.status, a.text, b.status, b.text)
		}
	}
}

// A session is stolen long after its owner signed in.
func TestStaleSessionsMayNotChangeHowOneSignsIn(t *testing.T) {
	t.Parallel()
	provider := oidctest.Start(t)
	var ahead atomic.Int64
	w := newServer(t, func(a *account.Config, c *pages.Config) {
		withProvider(provider)(a, c)
		a.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	p := w.signedInUser()
	p.want("link, just signed in", p.post("/account/security/link", url.Values{"provider": {"example"}}), http.StatusOK, "Continue at Example")
	ahead.Store(int64(10 * time.Minute))
	for path, form := range map[string]url.Values{
		"/account/security/link":   {"provider": {"example"}},
		"/account/security/unlink": {"provider": {"example"}, "subject": {"person-1"}},
		"/account/passkeys/remove": {"passkey": {"pk_1"}},
		"/account/delete":          {},
		"/account/export":          {},
	} {
		got := p.post(path, form)
		to, _ := url.Parse(got.header.Get("Location"))
		if got.status != http.StatusSeeOther || to.Path != "/signin/again" {
			t.Errorf("%s, ten minutes later: got %d to %q, want the page that asks who it is", path, got.status, to)
		}
	}
}
