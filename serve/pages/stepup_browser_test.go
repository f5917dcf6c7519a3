package pages_test

import (
	"context"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/namewharf/namewharf/account"
)

// testConfirmingInABrowser confirms an address in the browser in which it signed up, and in another one; then somebody
// who did not sign up takes the address.
func testConfirmingInABrowser(t *testing.T, chromium context.Context) {
	w := newServer(t, verifyFirst)
	b := newWindow(w, chromium)
	b.signUp()
	b.says("Follow the link in it")
	b.open("/signin")
	b.fill("#email", ada, "#password", passphrase)
	b.press("main form button", ".problem")
	b.says("follow the link in our mail")
	link := w.mail.link(t, account.VerifyPath)

	other := newWindow(w, chromium)
	other.open(link)
	other.says("Somebody signed up with your address")
	other.fill("#password", "not the one")
	other.press("main form button", ".problem")
	other.says("is not the one that was chosen")

	b.open(link)
	b.says("Press the button to confirm")
	b.press("main form button", ".notice")
	b.says("The e-mail address is confirmed.")
	b.open("/signin")
	b.signIn(".tabs")
	b.says(ada, "confirmed")
	b.noComplaints("status of 403")

	w.newUser().signUpWith("bob@names.example", strangersPassword)
	other.open(w.mail.link(t, account.VerifyPath))
	other.press(`a[href^="/reset"]`, "#others")
	other.fill("#password", ownersPassword)
	other.press("main form button", ".notice")
	other.says("The password is set")
	other.fill("#email", "bob@names.example", "#password", ownersPassword)
	other.press("main form button", ".tabs")
	other.says("bob@names.example")
	other.noComplaints("status of 400", "username fields") // whose account it is would be told to whoever has the link
}

// testSigningInAgainInABrowser adds and removes a passkey, exports and deletes the account in sessions that are too old, and
// signs in again by each method.
func testSigningInAgainInABrowser(t *testing.T, chromium context.Context) {
	w := newTimedServer(t)
	b := newWindow(w.server, chromium)
	b.scripts(true)
	b.authenticator()
	b.signUp()
	b.open(w.mail.link(t, account.VerifyPath))
	b.press("main form button", ".notice")
	b.open("/signin?return=/account/passkeys")
	b.signIn("#passkey-add")
	w.expireStepUp()
	b.fill("#name", "Ada’s laptop")
	b.press("#passkey-add button", `form[action="/signin/again"]`)
	b.says("Confirm that it is you", ada)
	b.fill("#password", passphrase)
	b.press(`form[action="/signin/again"] button`, "#passkey-add")
	b.press("#passkey-add button", ".cards h2") // the name is still there
	b.says("Ada’s laptop")

	w.expireStepUp()
	b.open("/account/passkeys")
	b.press(".cards .danger", "#passkey-signin")
	b.press("#passkey-signin", ".danger")
	b.says("Remove the passkey Ada’s laptop?")
	b.press("main .danger", ".notice")
	b.says("The passkey is removed.")

	w.expireStepUp()
	b.open("/account")
	b.press(`a[href="/account/export"]`, `form[action="/account/export"]`)
	b.press(`form[action="/account/export"] button`, `form[action="/signin/again/mail"]`)
	b.press(`form[action="/signin/again/mail"] button`, ".notice")
	b.says("We sent a link to your address")
	b.open(w.mail.link(t, account.LinkPath))
	b.press("main form button", `form[action="/account/export"]`)
	b.forget()
	b.do("download", chromedp.Click(`form[action="/account/export"] button`)) // which leaves the page where it is
	b.seen(b.base + "/account/export")
	b.noComplaints()

	b = newWindow(w.server, chromium)
	b.open("/signin?return=/account/delete")
	b.signIn(`form[action="/account/delete"]`)
	w.expireStepUp()
	b.press(`form[action="/account/delete"] button`, `form[action="/signin/again"]`)
	b.fill("#password", passphrase)
	b.press(`form[action="/signin/again"] button`, `form[action="/account/delete"]`)
	b.says("Delete your account?", ada, "Your offers are withdrawn")
	b.press(`form[action="/account/delete"] button`, ".notice")
	b.says("Your account is deleted.")
	b.noComplaints()
}
