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

// signInAgainURL is the page that asks who is signed in to show that once more, and leads back to one of our paths.
func signInAgainURL(back string) string { return withQuery(signInAgainPath, "return", back) }

// withQuery is a path with query parameters, given as names and values in turn.
func withQuery(path string, pairs ...string) string {
	q := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	return path + "?" + q.Encode()
}

// warned reports whether the form was shown with the warning about the last means of signing in.
func warned(req *request) account.Warned { return account.Warned(req.PostForm.Get("warned") == "yes") }

// An againForm is the page at which a person signs in once more, by what the account has.
type againForm struct {
	Return string
	account.SignInMethods
}

func (p *Pages) signInAgainPage(req *request, back string) (response, error) {
	f := againForm{Return: localPath(back)}
	var err error
	f.SignInMethods, err = p.accounts.SignInMethods(req.Context(), req.session.AccountID)
	if !req.session.Verified && (f.Password || f.Passkeys > 0) {
		f.Mail = false // it would take these away, see [account.Accounts.UseLink]
	}
	return response{page: "stepup", title: "Confirm that it is you", data: f, script: f.Passkeys > 0}, err
}

// withReturn passes the return path to the handler. Without a session it redirects to sign-in, which leads to that path.
func (p *Pages) withReturn(act func(req *request, back string) (response, error)) pageHandler {
	return func(req *request) (response, error) {
		back := req.URL.Query().Get("return")
		if req.Method == http.MethodPost {
			back = req.PostForm.Get("return")
		}
		if !req.signedIn() {
			return seeOther(signInURL(localPath(back))), nil
		}
		return act(req, back)
	}
}

// signInAgain takes the password. The session of before ends, as after any sign-in.
func (p *Pages) signInAgain(req *request, back string) (response, error) {
	who, err := p.accounts.SignIn(req.Context(), req.session.Email, req.PostForm.Get("password"), req.from)
	if fault.Is(err, fault.AuthenticationRequired) {
		err = fault.Invalid("password", "is wrong")
	}
	if err != nil {
		a, ours := p.signInAgainPage(req, back)
		if ours != nil {
			return response{}, ours
		}
		return formProblem(a, err)
	}
	return p.startSession(req, who, back)
}

// mailSignInAgain mails a link that leads back here in this browser.
func (p *Pages) mailSignInAgain(req *request, back string) (response, error) {
	err := p.accounts.RequestLink(req.Context(), req.session.Email, req.from)
	a, ours := p.signInAgainPage(req, back)
	if ours != nil {
		return response{}, ours
	}
	if err != nil {
		return formProblem(a, err)
	}
	p.saveReturn(req, localPath(back), mailAge)
	a.notice = "We sent a link to your address. Open it in this browser within 15 minutes."
	return a, nil
}

// requireRecentSignIn shows the page, or redirects to sign in again where the last sign-in is too old.
func (p *Pages) requireRecentSignIn(req *request, page func() (response, error)) (response, error) {
	if !p.accounts.Fresh(req.session) {
		return seeOther(signInAgainURL(req.URL.RequestURI())), nil
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

func (p *Pages) showRemovePasskey(req *request) (response, error) {
	return p.requireRecentSignIn(req, func() (response, error) { return p.removePasskeyPage(req, req.URL.Query().Get("passkey")) })
}

func (p *Pages) removePasskeyPage(req *request, id string) (response, error) {
	keys, err := p.accounts.Passkeys(req.Context(), req.session.AccountID)
	if err != nil {
		return response{}, err
	}
	for _, k := range keys {
		if k.ID == id {
			return p.removalPage(req, removal{What: "the passkey " + k.Name, Path: passkeysPath + "/remove", Passkey: id, Returning: passkeysPath})
		}
	}
	return seeOther(passkeysPath), nil // it is gone already
}

func (p *Pages) showUnlinkProvider(req *request) (response, error) {
	q := req.URL.Query()
	return p.requireRecentSignIn(req, func() (response, error) { return p.unlinkPage(req, q.Get("provider"), q.Get("subject")) })
}

func (p *Pages) unlinkPage(req *request, provider, subject string) (response, error) {
	linked, err := p.accounts.Identities(req.Context(), req.session.AccountID)
	if err != nil {
		return response{}, err
	}
	for _, i := range linked {
		if i.Provider == provider && i.Subject == subject {
			return p.removalPage(req, removal{What: "the link to your account at " + i.Name, Path: unlinkPath, Provider: provider, Subject: subject, Returning: securityPath})
		}
	}
	return seeOther(securityPath), nil // it is gone already
}

// withConflict sends a page with status 409 that explains the conflict.
func withConflict(a response, err error) (response, error) {
	if a.to == "" {
		a.status = http.StatusConflict
	}
	return a, err
}

func (p *Pages) removalPage(req *request, r removal) (response, error) {
	m, err := p.accounts.SignInMethods(req.Context(), req.session.AccountID)
	r.Last, r.Mail = m.Last(), m.Mail
	return response{page: "removal", title: "Remove " + r.What + "?", data: r}, err
}

// showLinkProvider asks once more for what the form on the security page asks for.
func (p *Pages) showLinkProvider(req *request) (response, error) {
	return p.requireRecentSignIn(req, func() (response, error) {
		for _, b := range p.accounts.Providers() {
			if b.ID == req.URL.Query().Get("provider") {
				return response{page: "link-provider", title: "Link your account at " + b.Name + "?", data: b}, nil
			}
		}
		return seeOther(securityPath), nil
	})
}

func (p *Pages) showDelete(req *request) (response, error) {
	return p.requireRecentSignIn(req, func() (response, error) { return deletePage(), nil })
}

func deletePage() response { return response{page: "delete", title: "Delete your account?"} }

func (p *Pages) delete(req *request) (response, error) {
	err := p.accounts.Delete(req.Context(), req.session)
	if stale := stepUpRedirect(err, deletePath); stale != nil {
		return *stale, nil
	}
	if err != nil {
		return formProblem(deletePage(), err)
	}
	p.oauth.FlushTokenCache()
	if p.portfolios != nil {
		if err := p.portfolios.Refresh(req.Context()); err != nil {
			p.mw.Report(req.Context(), err) // the account is gone; its offers follow in a moment
		}
	}
	return p.signedOut(req, "Your account is deleted.")
}

// stepUpRedirect is where to go on an error that asks for a recent sign-in: there, and then back to the page. It is nil on any
// other error.
func stepUpRedirect(err error, page string) *response {
	if !errors.Is(err, account.ErrStepUp) {
		return nil
	}
	a := seeOther(signInAgainURL(page))
	return &a
}
