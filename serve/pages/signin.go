package pages

import (
	"github.com/namewharf/namewharf/account"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/oauthas"
)

// A signUpForm is the data of the sign-up page, as entered, without the password.
type signUpForm struct {
	Email, Invite, Return string
	Open                  bool // sign-up is possible: it is open, or there is an invitation
	Invited               bool // sign-up needs an invitation
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

// signUp answers the same whether the address has an account or not.
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

// A signInForm is the data of the sign-in page, as entered, without the password.
type signInForm struct {
	Email, Return string
	SignUp        bool
	Passkeys      bool
	Providers     []account.Button
}

// signInPage returns the sign-in page. If the return path is an authorization request with remembered consent, the form is
// finally redirected to the application, which form-action must allow.
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
		a, internalErr := p.signInPage(req, email, back)
		if internalErr != nil {
			return response{}, internalErr
		}
		return formProblem(a, err)
	}
	return p.startSession(req, who, back)
}

// startSession starts a session and redirects to the return path.
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

// beginProvider redirects the browser to a provider. It handles a link and not a form, since form-action also applies to the
// redirects of a form.
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
	a, internalErr := p.signInPage(req, "", back)
	if internalErr != nil {
		return response{}, internalErr
	}
	return formProblem(a, err)
}
