package pages

import (
	"github.com/namewharf/namewharf/account"
	"github.com/namewharf/namewharf/fault"
)

// A mailForm is the data of a form that asks for an e-mail address.
type mailForm struct{ Email string }

// A linkForm holds the token of a mailed link. Opening the link changes nothing, since mail scanners open links too.
type linkForm struct {
	Token  string
	Claims bool // signing in removes the credentials from before the address was confirmed
}

func (p *Pages) showMail(*request) (response, error) { return mailPage(""), nil }

func mailPage(email string) response {
	return response{page: "mail", title: "Sign in by mail", data: mailForm{email}}
}

// sendMail answers the same whether the address has an account or not.
func (p *Pages) sendMail(req *request) (response, error) {
	email := req.PostForm.Get("email")
	if err := p.accounts.RequestLink(req.Context(), email, req.from); err != nil {
		return formProblem(mailPage(email), err)
	}
	a := mailPage(email)
	a.notice = "If this address has an account, we sent a link to it. It works for 15 minutes."
	return a, nil
}

func (p *Pages) showLink(req *request) (response, error) {
	token := req.URL.Query().Get(account.TokenParameter)
	claims, err := p.accounts.RemovesEarlierCredentials(req.Context(), token)
	return response{page: "link", title: "Sign in", data: linkForm{token, claims}}, err
}

// useLink signs in and redirects to the saved return path.
func (p *Pages) useLink(req *request) (response, error) {
	who, err := p.accounts.UseLink(req.Context(), req.PostForm.Get(account.TokenParameter), req.from)
	if err != nil {
		return formProblem(mailPage(""), err)
	}
	p.oauth.FlushTokenCache() // an account that is claimed loses its grants
	return p.startSession(req, who, p.takeReturn(req))
}

// A verifyForm is the data of the page that confirms an address.
type verifyForm struct {
	Token string
	Known bool // this browser signed up, so the form needs no password
}

func (p *Pages) verifyPage(req *request, token string) (response, error) {
	known, err := p.accounts.ConfirmsWithoutPassword(req.Context(), token, p.cookie(req, signUpCookie))
	return response{page: "verify", title: "Confirm your e-mail address", data: verifyForm{token, known}}, err
}

func (p *Pages) showVerify(req *request) (response, error) {
	return p.verifyPage(req, req.URL.Query().Get(account.TokenParameter))
}

func (p *Pages) verify(req *request) (response, error) {
	token := req.PostForm.Get(account.TokenParameter)
	proof := account.Proof{Browser: p.cookie(req, signUpCookie), Password: req.PostForm.Get("password")}
	_, err := p.accounts.VerifyEmail(req.Context(), token, proof, req.from)
	switch {
	case fault.Is(err, fault.AuthenticationRequired):
		err = fault.Invalid("password", "is not the one that was chosen at sign-up")
		fallthrough
	case fault.Is(err, fault.Validation), fault.Is(err, fault.RateLimited):
		a, internalErr := p.verifyPage(req, token)
		if internalErr != nil {
			return response{}, internalErr
		}
		return formProblem(a, err)
	case err != nil:
		return response{}, err
	}
	p.setCookie(req, signUpCookie, "", -1)
	const confirmed = "The e-mail address is confirmed."
	if req.signedIn() {
		req.session.Verified = true
		a, err := p.overview(req)
		a.notice = confirmed
		return a, err
	}
	a, err := p.signInPage(req, "", "")
	a.notice = confirmed
	return a, err
}

func forgotPage(email string) response {
	return response{page: "forgot", title: "Set a new password", data: mailForm{email}}
}

func (p *Pages) showForgot(*request) (response, error) { return forgotPage(""), nil }

// forgot answers the same whether the address has an account or not.
func (p *Pages) forgot(req *request) (response, error) {
	email := req.PostForm.Get("email")
	if err := p.accounts.RequestReset(req.Context(), email, req.from); err != nil {
		return formProblem(forgotPage(email), err)
	}
	a := forgotPage(email)
	a.notice = "If this address has an account, we sent a link to it. It works for an hour."
	return a, nil
}

func resetPage(token string) response {
	return response{page: "reset", title: "Set a new password", data: linkForm{Token: token}}
}

func (p *Pages) showReset(req *request) (response, error) {
	return resetPage(req.URL.Query().Get(account.TokenParameter)), nil
}

func (p *Pages) reset(req *request) (response, error) {
	token := req.PostForm.Get(account.TokenParameter)
	who, err := p.accounts.ResetPassword(req.Context(), account.Reset{
		Token: token, Password: req.PostForm.Get("password"), KeepOthers: req.PostForm.Get("others") == "keep",
	}, req.from)
	if err != nil {
		return formProblem(resetPage(token), err)
	}
	p.oauth.FlushTokenCache()
	p.clearSession(req)
	a, err := p.signInPage(req, who.Email, "")
	a.notice = "The password is set. All browsers and apps are signed out. Sign in with the new password."
	return a, err
}
