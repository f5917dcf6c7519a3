package main

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"github.com/namewharf/namewharf/internal/oauthtest"
	"github.com/namewharf/namewharf/internal/programtest"
)

// A stranger signs up with somebody's address; its owner signs up after, and follows what is mailed to her. His
// password never gets in, and neither of them learns from an answer that the other was there.
func TestStrangersWhoSignUpWithAnAddress(t *testing.T) {
	t.Parallel()
	mail := newSink(t)
	s := open(t, "-smtp", "smtp://"+mail.address, "-mail-from", "Namewharf <signin@names.example>", "-rate-limits", "off")
	oauth := s.oauth(t)
	stranger, owner := oauth.NewUser(), oauth.NewUser()
	stranger.Email = owner.Email
	signUp := func(p *oauthtest.User) oauthtest.Answer {
		return p.SubmitForm(p.Open("/signup"), "/signup", url.Values{"email": {p.Email}, "password": {p.Password}})
	}
	signIn := func(p *oauthtest.User) oauthtest.Answer {
		return p.Submit("/signin", url.Values{"email": {p.Email}, "password": {p.Password}})
	}
	known := oauth.NewUser() // whose account is there, and confirmed
	create := exec.Command(programtest.Build(t, "operator"), "account", "create", "-email", known.Email, "-data", s.data)
	create.Stdin = strings.NewReader(known.Password + "\n")
	if out, err := create.CombinedOutput(); err != nil {
		t.Fatalf("create an account: %v\n%s", err, out)
	}
	other := oauth.NewUser()
	other.Email = known.Email
	text := func(a oauthtest.Answer, p *oauthtest.User) string {
		return strings.ReplaceAll(a.Text, p.Email, "E")
	}
	if fresh, taken := signUp(stranger), signUp(other); fresh.Status != taken.Status || text(fresh, stranger) != text(taken, other) {
		t.Errorf("sign-up tells a fresh address from a known one:\n%s\n%s", fresh.Text, taken.Text)
	}
	if fresh, taken := signIn(stranger), signIn(other); fresh.Status != http.StatusForbidden || fresh.Status != taken.Status || text(fresh, stranger) != text(taken, other) {
		t.Errorf("sign-in after it tells a fresh address from a known one: %d\n%s\n%d\n%s", fresh.Status, fresh.Text, taken.Status, taken.Text)
	}

	signUp(owner)
	path := func(link string) string {
		u, err := url.Parse(link)
		if err != nil {
			t.Fatal(err)
		}
		return u.RequestURI()
	}
	blessing := path(mail.link(t, owner.Email, "/verify")) // bound to the stranger's browser
	page := owner.Open(blessing)
	form, _ := page.Form("/verify")
	if a := owner.Submit("/verify", form); a.Status != http.StatusBadRequest || signIn(stranger).Status != http.StatusForbidden {
		t.Errorf("the stranger's link on the owner's browser: got %d", a.Status)
	}
	if a := owner.SubmitForm(page, "/verify", url.Values{"password": {owner.Password}}); a.Status != http.StatusBadRequest {
		t.Errorf("the stranger's link with the owner's password: got %d", a.Status)
	}
	if a := owner.SubmitForm(owner.Open(path(mail.link(t, owner.Email, "/reset"))), "/reset", url.Values{"password": {owner.Password}}); a.Status != http.StatusOK {
		t.Fatalf("the owner's own link: got %d %s", a.Status, a.Text)
	}
	if a := signIn(stranger); a.Status != http.StatusForbidden {
		t.Errorf("the stranger in the end: got %d", a.Status)
	}
	if a := signIn(owner); a.Status != http.StatusSeeOther {
		t.Errorf("the owner in the end: got %d %s", a.Status, a.Text)
	}
}

// Who deletes the account takes names, offers, apps and sessions along, and may come back to nothing.
func TestDeletedAccounts(t *testing.T) {
	t.Parallel()
	s := open(t, "-rate-limits", "off")
	o := s.owner(t)
	const name = "quietheron.com"
	claim := o.add(t, name)
	o.prove(claim)
	o.change(t, "verify", []string{name}, "")
	o.change(t, "list", []string{name}, `,"params":{"priceCents":120000}`)
	shown := func() bool { return strings.Contains(s.forSale(t, name), `"domain":"`+name+`"`) }
	if !shown() {
		t.Fatal("the name is not for sale")
	}
	if !s.good(t, o.token) {
		t.Fatal("the token is no good")
	}
	got := o.SubmitForm(o.Open("/account/export"), "/account/export", nil)
	var file struct {
		Email    string
		Domains  []struct{ Domain string }
		Listings []struct{ Status string }
		Apps     []struct{ ClientID string }
	}
	if err := json.Unmarshal([]byte(got.Text), &file); err != nil || file.Email != o.Email || len(file.Domains) != 1 || len(file.Listings) != 1 || len(file.Apps) != 1 {
		t.Errorf("export: got %d, %v\n%s", got.Status, err, got.Text)
	}
	session := o.Cookie("nw_session")
	if a := o.SubmitForm(o.Open("/account/delete"), "/account/delete", nil); a.Status != http.StatusOK || !strings.Contains(a.Text, "Your account is deleted") {
		t.Fatalf("delete: got %d %s", a.Status, a.Text)
	}
	if s.good(t, o.token) {
		t.Error("the token is good after it")
	}
	if shown() {
		t.Error("the name is for sale after it")
	}
	if a := o.Server.Get("/account", "Cookie", "nw_session="+session); a.Status != http.StatusSeeOther {
		t.Errorf("the session after it: got %d", a.Status)
	}
	again := o.SignUp().SignIn()
	if a := again.Open("/account/domains"); strings.Contains(a.Text, name) {
		t.Error("the new account has the old one's names")
	}
}
