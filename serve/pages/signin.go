package pages

import (
	"github.com/namewharf/namewharf/account"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/oauthas"
)

// A signUpForm is the sign-up page as it was filled in, without the password.
type signUpForm struct {
	Email, Invite, Return string
	Open                  bool // sign-up is possible with what is there
	Invited               bool // an invitation is what it takes
	Providers             []account.Button
}

func (p *Pages) signUpPage(email, invite, back string) response {
	f := signUpForm{Email: email, Invite: invite, Return: localPath(back), Providers: p.accounts.Providers()}
	f.Invited = p.signup == account.Invite
	f.Open = p.signup == account.Open || f.Invited && invite != ""
	return response{page: "signup", title: "Sign up", data: f}
}

func (p *Pages) showSignUp(req *request) (response, error) {
	q := req.URL.Query()
	if req.signedIn() {
		return seeOther(localPath(q.Get("return"))), nil
	}
	return p.signUpPage("", q.Get(account.InviteParameter), q.Get("return")), nil
}

// signUp says the same whether the address had an account or not.
func (p *Pages) signUp(req *request) (response, error) {
	email, invite, back := req.PostForm.Get("email"), req.PostForm.Get(account.InviteParameter), req.PostForm.Get("return")
	made, err := p.accounts.SignUp(req.Context(), email, req.PostForm.Get("password"), invite, req.from)
	if err != nil {
		return formProblem(p.signUpPage(email, invite, back), err)
	}
	p.setCookie(req, signUpCookie, made.Browser, int(account.PendingLife.Seconds()))
	a, err := p.signInPage(req, email, back)
	a.notice = "We sent a mail to this address. Follow the link in it, then sign in."
	return a, err
}

// A signInForm is the sign-in page as it was filled in, without the password.
type signInForm struct {
	Email, Return string
	SignUp        bool
	Passkeys      bool
	Providers     []account.Button
}

// signInPage is the sign-in page. When it leads to an authorization request with remembered consent, the form
// is redirected to the application in the end, and the CSP must allow that.
func (p *Pages) signInPage(req *request, email, back string) (response, error) {
	back = localPath(back)
	f := signInForm{
		Email: email, Return: back, SignUp: p.signup != account.Closed,
		Passkeys: p.accounts.PasskeysWork(), Providers: p.accounts.Providers(),
	}
	a := response{page: "signin", title: "Sign in", data: f, script: f.Passkeys}
	params, ok := authorizeParams(back)
	if !ok {
		return a, nil
	}
	d, err := p.oauth.Authorize(req.Context(), oauthas.AuthorizeRequest{Params: params, From: req.from})
	if err != nil {
		return response{}, err
	}
	if _, good := d.(oauthas.SignIn); good { // so the redirect is one of the client's
		a.formAction = formAction(params.Get("redirect_uri"))
	}
	return a, nil
}

func (p *Pages) showSignIn(req *request) (response, error) {
	back := req.URL.Query().Get("return")
	if req.signedIn() {
		return seeOther(localPath(back)), nil
	}
	return p.signInPage(req, "", back)
}

func (p *Pages) signIn(req *request) (response, error) {
	email, back := req.PostForm.Get("email"), req.PostForm.Get("return")
	who, err := p.accounts.SignIn(req.Context(), email, req.PostForm.Get("password"), req.from)
	if err != nil {
		a, ours := p.signInPage(req, email, back)
		if ours != nil {
			return response{}, ours
		}
		return formProblem(a, err)
	}
	return p.startSession(req, who, back)
}

// startSession starts a session and goes on to where the person wanted to go.
func (p *Pages) startSession(req *request, who account.Account, back string) (response, error) {
	if err := p.signInBrowser(req, who.ID); err != nil {
		return response{}, err
	}
	return seeOther(localPath(back)), nil
}

func (p *Pages) showSignOut(req *request) (response, error) {
	if !req.signedIn() {
		return seeOther("/signin"), nil
	}
	return response{page: "signout", title: "Sign out"}, nil
}

func (p *Pages) signOut(req *request) (response, error) {
	if req.signedIn() {
		if err := p.accounts.EndSession(req.Context(), req.token, req.from); err != nil {
			return response{}, err
		}
	}
	p.clearSession(req)
	a, err := p.signInPage(req, "", "")
	a.notice = "You are signed out."
	return a, err
}

// beginProvider sends the browser to a provider. It is a link and not a form, since a form's redirects are held against
// form-action.
func (p *Pages) beginProvider(req *request) (response, error) {
	q := req.URL.Query()
	begin := func() (address, flow string, err error) {
		return p.accounts.BeginUpstream(req.Context(), req.PathValue("provider"), account.Session{}, q.Get(account.InviteParameter))
	}
	if q.Has("again") {
		begin = func() (address, flow string, err error) {
			return p.accounts.BeginUpstreamAgain(req.Context(), req.PathValue("provider"))
		}
	}
	address, flow, err := begin()
	if err != nil {
		return response{}, err
	}
	p.saveFlow(req, flow, localPath(q.Get("return")))
	return seeOther(address), nil
}

func (p *Pages) saveFlow(req *request, flow, back string) {
	p.setCookie(req, flowCookie, flow, flowAge)
	p.saveReturn(req, back, flowAge)
}

func (p *Pages) finishProvider(req *request) (response, error) {
	flow, back := p.cookie(req, flowCookie), p.takeReturn(req)
	p.setCookie(req, flowCookie, "", -1)
	who, err := p.accounts.FinishUpstream(req.Context(), req.PathValue("provider"), flow, req.URL.Query(), req.session, req.from)
	if err == nil {
		p.oauth.FlushTokenCache() // an account that is claimed loses its grants
		if err := p.signInBrowserSince(req, who); err != nil {
			return response{}, err
		}
		return seeOther(localPath(back)), nil
	}
	if fault.Is(err, fault.Unavailable) {
		p.mw.Report(req.Context(), err)
	}
	a, ours := p.signInPage(req, "", back)
	if ours != nil {
		return response{}, ours
	}
	return formProblem(a, err)
}
