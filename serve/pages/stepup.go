package pages

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/namewharf/namewharf/account"
	"github.com/namewharf/namewharf/fault"
)

// Paths of what takes a recent sign-in. Each has a page that asks for the same as its form, without a secret in its
// address: there people come back to after signing in again.
const (
	signInAgainPath = "/signin/again"
	securityPath    = "/account/security"
	linkPath        = "/account/security/link"
	unlinkPath      = "/account/security/unlink"
	passkeysPath    = "/account/passkeys"
	exportPath      = "/account/export"
	deletePath      = "/account/delete"
)

// mailAge is how many seconds a mailed link leads back to where it was asked for.
const mailAge = 15 * 60

// signInAgainFor is the page that asks who is signed in to show that once more, and leads back to one of our paths.
func signInAgainFor(back string) string { return withQuery(signInAgainPath, "return", back) }

// withQuery is a path with query parameters, given as names and values in turn.
func withQuery(path string, pairs ...string) string {
	q := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	return path + "?" + q.Encode()
}

// warned reports whether the form was shown with the warning about the last means of signing in.
func warned(v *visit) account.Warned { return account.Warned(v.PostForm.Get("warned") == "yes") }

// An againForm is the page at which a person signs in once more, by what the account has.
type againForm struct {
	Return string
	account.Means
}

func (p *Pages) signInAgainPage(v *visit, back string) (answer, error) {
	f := againForm{Return: ownPath(back)}
	var err error
	f.Means, err = p.accounts.Means(v.Context(), v.session.AccountID)
	if !v.session.Verified && (f.Password || f.Passkeys > 0) {
		f.Mail = false // it would take these away, see [account.Accounts.UseLink]
	}
	return answer{page: "stepup", title: "Show that it is you", data: f, script: f.Passkeys > 0}, err
}

// someone adds nothing for who is signed in; others sign in for the first time, and go to the same page.
func (p *Pages) someone(act func(v *visit, back string) (answer, error)) action {
	return func(v *visit) (answer, error) {
		back := v.URL.Query().Get("return")
		if v.Method == http.MethodPost {
			back = v.PostForm.Get("return")
		}
		if !v.signedIn() {
			return seeOther(signInFor(ownPath(back))), nil
		}
		return act(v, back)
	}
}

// signInAgain takes the password. The session of before ends, as after any sign-in.
func (p *Pages) signInAgain(v *visit, back string) (answer, error) {
	who, err := p.accounts.SignIn(v.Context(), v.session.Email, v.PostForm.Get("password"), v.from)
	if fault.Is(err, fault.AuthenticationRequired) {
		err = fault.Invalid("password", "is wrong")
	}
	if err != nil {
		a, ours := p.signInAgainPage(v, back)
		if ours != nil {
			return answer{}, ours
		}
		return again(a, err)
	}
	return p.welcome(v, who, back)
}

// mailSignInAgain mails a link that leads back here in this browser.
func (p *Pages) mailSignInAgain(v *visit, back string) (answer, error) {
	err := p.accounts.RequestLink(v.Context(), v.session.Email, v.from)
	a, ours := p.signInAgainPage(v, back)
	if ours != nil {
		return answer{}, ours
	}
	if err != nil {
		return again(a, err)
	}
	p.keepReturn(v, ownPath(back), mailAge)
	a.notice = "A link is on its way to your address. Open it in this browser within 15 minutes to go on."
	return a, nil
}

// freshly answers a page that leads to what takes a recent sign-in: without one, with the way to it.
func (p *Pages) freshly(v *visit, page func() (answer, error)) (answer, error) {
	if !p.accounts.Fresh(v.session) {
		return seeOther(signInAgainFor(v.URL.RequestURI())), nil
	}
	return page()
}

// A removal asks whether a means of signing in is to be removed.
type removal struct {
	What      string
	Path      string
	Passkey   string // its id
	Provider  string
	Subject   string
	Last      bool // it is the last one
	Mail      bool // but for links by mail
	Returning string
}

func (p *Pages) showRemovePasskey(v *visit) (answer, error) {
	return p.freshly(v, func() (answer, error) { return p.removePasskeyPage(v, v.URL.Query().Get("passkey")) })
}

func (p *Pages) removePasskeyPage(v *visit, id string) (answer, error) {
	keys, err := p.accounts.Passkeys(v.Context(), v.session.AccountID)
	if err != nil {
		return answer{}, err
	}
	for _, k := range keys {
		if k.ID == id {
			return p.removalPage(v, removal{What: "the passkey " + k.Name, Path: passkeysPath + "/remove", Passkey: id, Returning: passkeysPath})
		}
	}
	return seeOther(passkeysPath), nil // it is gone already
}

func (p *Pages) showUnlinkProvider(v *visit) (answer, error) {
	q := v.URL.Query()
	return p.freshly(v, func() (answer, error) { return p.unlinkPage(v, q.Get("provider"), q.Get("subject")) })
}

func (p *Pages) unlinkPage(v *visit, provider, subject string) (answer, error) {
	linked, err := p.accounts.Identities(v.Context(), v.session.AccountID)
	if err != nil {
		return answer{}, err
	}
	for _, i := range linked {
		if i.Provider == provider && i.Subject == subject {
			return p.removalPage(v, removal{What: "the link to your account at " + i.Name, Path: unlinkPath, Provider: provider, Subject: subject, Returning: securityPath})
		}
	}
	return seeOther(securityPath), nil // it is gone already
}

// conflicting is a page that says itself what stands against what was asked for.
func conflicting(a answer, err error) (answer, error) {
	if a.to == "" {
		a.status = http.StatusConflict
	}
	return a, err
}

func (p *Pages) removalPage(v *visit, r removal) (answer, error) {
	m, err := p.accounts.Means(v.Context(), v.session.AccountID)
	r.Last, r.Mail = m.Last(), m.Mail
	return answer{page: "removal", title: "Remove " + r.What + "?", data: r}, err
}

// showLinkProvider asks once more for what the form on the security page asks for.
func (p *Pages) showLinkProvider(v *visit) (answer, error) {
	return p.freshly(v, func() (answer, error) {
		for _, b := range p.accounts.Providers() {
			if b.ID == v.URL.Query().Get("provider") {
				return answer{page: "link-provider", title: "Link your account at " + b.Name + "?", data: b}, nil
			}
		}
		return seeOther(securityPath), nil
	})
}

func (p *Pages) showDelete(v *visit) (answer, error) {
	return p.freshly(v, func() (answer, error) { return deletePage(), nil })
}

func deletePage() answer { return answer{page: "delete", title: "Delete your account?"} }

func (p *Pages) delete(v *visit) (answer, error) {
	err := p.accounts.Delete(v.Context(), v.session)
	if stale := stepUpAt(err, deletePath); stale != nil {
		return *stale, nil
	}
	if err != nil {
		return again(deletePage(), err)
	}
	p.oauth.Forget()
	if p.names != nil {
		if err := p.names.Refresh(v.Context()); err != nil {
			p.mw.Report(v.Context(), err) // the account is gone; its offers follow in a moment
		}
	}
	return p.signedOut(v, "Your account is deleted.")
}

// stepUpAt is where to go on an error that asks for a recent sign-in: there, and then back to the page. It is nil on any
// other error.
func stepUpAt(err error, page string) *answer {
	if !errors.Is(err, account.ErrStepUp) {
		return nil
	}
	a := seeOther(signInAgainFor(page))
	return &a
}
