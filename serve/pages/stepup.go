package pages

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/namewharf/namewharf/account"
	"github.com/namewharf/namewharf/fault"
)

// Paths of actions that need a recent sign-in. Each also has a GET page with the same form, as the return path of the new
// sign-in.
const (
	signInAgainPath = "/signin/again"
	securityPath    = "/account/security"
	linkPath        = "/account/security/link"
	unlinkPath      = "/account/security/unlink"
	passkeysPath    = "/account/passkeys"
	exportPath      = "/account/export"
	deletePath      = "/account/delete"
)

// mailAge is how many seconds the return path of a mailed link is stored.
const mailAge = 15 * 60

// signInAgainURL is the URL of the page that asks a signed-in user to sign in again, with a return path.
func signInAgainURL(back string) string { return withQuery(signInAgainPath, "return", back) }

// withQuery adds query parameters to a path, given as alternating names and values.
func withQuery(path string, pairs ...string) string {
	q := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	return path + "?" + q.Encode()
}

// warned reports whether the form showed the warning about the last way to sign in.
func warned(req *request) account.Warned { return account.Warned(req.PostForm.Get("warned") == "yes") }

// An againForm is the data of the page to sign in again, with the methods of the account.
type againForm struct {
	Return string
	account.SignInMethods
}

func (p *Pages) signInAgainPage(req *request, back string) (response, error) {
	f := againForm{Return: localPath(back)}
	var err error
	f.SignInMethods, err = p.accounts.SignInMethods(req.Context(), req.session.AccountID)
	if !req.session.Verified && (f.Password || f.Passkeys > 0) {
		f.Mail = false // a mailed link would remove these, see [account.Accounts.UseLink]
	}
	return response{page: "stepup", title: "Confirm that it is you", data: f, script: f.Passkeys > 0}, err
}

// withReturn passes the return path to the handler. Without a session it redirects to sign-in with that return path.
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

// signInAgain checks the password and replaces the session.
func (p *Pages) signInAgain(req *request, back string) (response, error) {
	who, err := p.accounts.SignIn(req.Context(), req.session.Email, req.PostForm.Get("password"), req.from)
	if fault.Is(err, fault.AuthenticationRequired) {
		err = fault.Invalid("password", "is wrong")
	}
	if err != nil {
		a, internalErr := p.signInAgainPage(req, back)
		if internalErr != nil {
			return response{}, internalErr
		}
		return formProblem(a, err)
	}
	return p.startSession(req, who, back)
}

// mailSignInAgain mails a sign-in link that leads to the return path in this browser.
func (p *Pages) mailSignInAgain(req *request, back string) (response, error) {
	err := p.accounts.RequestLink(req.Context(), req.session.Email, req.from)
	a, internalErr := p.signInAgainPage(req, back)
	if internalErr != nil {
		return response{}, internalErr
	}
	if err != nil {
		return formProblem(a, err)
	}
	p.saveReturn(req, localPath(back), mailAge)
	a.notice = "We sent a link to your address. Open it in this browser within 15 minutes."
	return a, nil
}

// requireRecentSignIn shows the page, or redirects to sign in again if the last sign-in is too old.
func (p *Pages) requireRecentSignIn(req *request, page func() (response, error)) (response, error) {
	if !p.accounts.Fresh(req.session) {
		return seeOther(signInAgainURL(req.URL.RequestURI())), nil
	}
	return page()
}

// A removal is the data of the page that confirms the removal of a way to sign in.
type removal struct {
	What      string
	Path      string
	Passkey   string // its id
	Provider  string
	Subject   string
	Last      bool // it is the last one beside mail
	Mail      bool // links by mail work
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

// withConflict sets the status of a page to 409.
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

// showLinkProvider shows the form to link a provider, after a new sign-in.
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

// stepUpRedirect returns the redirect to sign in again, with page as the return path, if err is [account.ErrStepUp], else nil.
func stepUpRedirect(err error, page string) *response {
	if !errors.Is(err, account.ErrStepUp) {
		return nil
	}
	a := seeOther(signInAgainURL(page))
	return &a
}
