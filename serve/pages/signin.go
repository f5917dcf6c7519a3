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

func (p *Pages) signUpPage(email, invite, back string) answer {
	f := signUpForm{Email: email, Invite: invite, Return: ownPath(back), Providers: p.accounts.Providers()}
	f.Invited = p.signup == account.Invite
	f.Open = p.signup == account.Open || f.Invited && invite != ""
	return answer{page: "signup", title: "Sign up", data: f}
}

func (p *Pages) showSignUp(v *visit) (answer, error) {
	q := v.URL.Query()
	if v.signedIn() {
		return seeOther(ownPath(q.Get("return"))), nil
	}
	return p.signUpPage("", q.Get(account.InviteParameter), q.Get("return")), nil
}

// signUp says the same whether the address had an account or not.
func (p *Pages) signUp(v *visit) (answer, error) {
	email, invite, back := v.PostForm.Get("email"), v.PostForm.Get(account.InviteParameter), v.PostForm.Get("return")
	made, err := p.accounts.SignUp(v.Context(), email, v.PostForm.Get("password"), invite, v.from)
	if err != nil {
		return again(p.signUpPage(email, invite, back), err)
	}
	p.setCookie(v, signUpCookie, made.Browser, int(account.PendingLife.Seconds()))
	a, err := p.signInPage(v, email, back)
	a.notice = "We have sent a mail to this address; follow the link in it. Sign in to go on."
	return a, err
}

// A signInForm is the sign-in page as it was filled in, without the password.
type signInForm struct {
	Email, Return string
	SignUp        bool
	Passkeys      bool
	Providers     []account.Button
}

// signInPage is the sign-in page. When it leads to an authorization request whose answer is known, the form is
// redirected to the application in the end, and the browser must be told that this is in order.
func (p *Pages) signInPage(v *visit, email, back string) (answer, error) {
	back = ownPath(back)
	f := signInForm{
		Email: email, Return: back, SignUp: p.signup != account.Closed,
		Passkeys: p.accounts.PasskeysWork(), Providers: p.accounts.Providers(),
	}
	a := answer{page: "signin", title: "Sign in", data: f, script: f.Passkeys}
	params, ok := authorizeParams(back)
	if !ok {
		return a, nil
	}
	d, err := p.oauth.Authorize(v.Context(), oauthas.AuthorizeRequest{Params: params, From: v.from})
	if err != nil {
		return answer{}, err
	}
	if _, good := d.(oauthas.SignIn); good { // so the redirect is one of the client's
		a.formAction = formAction(params.Get("redirect_uri"))
	}
	return a, nil
}

func (p *Pages) showSignIn(v *visit) (answer, error) {
	back := v.URL.Query().Get("return")
	if v.signedIn() {
		return seeOther(ownPath(back)), nil
	}
	return p.signInPage(v, "", back)
}

func (p *Pages) signIn(v *visit) (answer, error) {
	email, back := v.PostForm.Get("email"), v.PostForm.Get("return")
	who, err := p.accounts.SignIn(v.Context(), email, v.PostForm.Get("password"), v.from)
	if err != nil {
		a, ours := p.signInPage(v, email, back)
		if ours != nil {
			return answer{}, ours
		}
		return again(a, err)
	}
	return p.welcome(v, who, back)
}

// welcome starts a session and goes on to where the person wanted to go.
func (p *Pages) welcome(v *visit, who account.Account, back string) (answer, error) {
	if err := p.enter(v, who.ID); err != nil {
		return answer{}, err
	}
	return seeOther(ownPath(back)), nil
}

func (p *Pages) showSignOut(v *visit) (answer, error) {
	if !v.signedIn() {
		return seeOther("/signin"), nil
	}
	return answer{page: "signout", title: "Sign out"}, nil
}

func (p *Pages) signOut(v *visit) (answer, error) {
	if v.signedIn() {
		if err := p.accounts.EndSession(v.Context(), v.token, v.from); err != nil {
			return answer{}, err
		}
	}
	p.leave(v)
	a, err := p.signInPage(v, "", "")
	a.notice = "You are signed out."
	return a, err
}

// beginProvider sends the browser to a provider. It is a link and not a form, since a form's redirects are held against
// form-action.
func (p *Pages) beginProvider(v *visit) (answer, error) {
	q := v.URL.Query()
	begin := func() (address, flow string, err error) {
		return p.accounts.BeginUpstream(v.Context(), v.PathValue("provider"), account.Session{}, q.Get(account.InviteParameter))
	}
	if q.Has("again") {
		begin = func() (address, flow string, err error) {
			return p.accounts.BeginUpstreamAgain(v.Context(), v.PathValue("provider"))
		}
	}
	address, flow, err := begin()
	if err != nil {
		return answer{}, err
	}
	p.keepFlow(v, flow, ownPath(q.Get("return")))
	return seeOther(address), nil
}

func (p *Pages) keepFlow(v *visit, flow, back string) {
	p.setCookie(v, flowCookie, flow, flowAge)
	p.keepReturn(v, back, flowAge)
}

func (p *Pages) finishProvider(v *visit) (answer, error) {
	flow, back := p.cookie(v, flowCookie), p.takeReturn(v)
	p.setCookie(v, flowCookie, "", -1)
	who, err := p.accounts.FinishUpstream(v.Context(), v.PathValue("provider"), flow, v.URL.Query(), v.session, v.from)
	if err == nil {
		p.oauth.Forget() // an account that is claimed loses its grants
		if err := p.enterSince(v, who); err != nil {
			return answer{}, err
		}
		return seeOther(ownPath(back)), nil
	}
	if fault.Is(err, fault.Unavailable) {
		p.mw.Report(v.Context(), err)
	}
	a, ours := p.signInPage(v, "", back)
	if ours != nil {
		return answer{}, ours
	}
	return again(a, err)
}
