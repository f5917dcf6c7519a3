package pages

import (
	"github.com/namewharf/namewharf/account"
	"github.com/namewharf/namewharf/fault"
)

// A mailForm asks for an address to write to.
type mailForm struct{ Email string }

// A linkForm holds the token of a link in a mail. Opening the link changes nothing: programs that look through mail
// open links too.
type linkForm struct {
	Token  string
	Claims bool // it removes what was set up before the address was confirmed
}

func (p *Pages) showMail(*visit) (answer, error) { return mailPage(""), nil }

func mailPage(email string) answer {
	return answer{page: "mail", title: "Sign in by mail", data: mailForm{email}}
}

// sendMail says the same whether the address has an account or not.
func (p *Pages) sendMail(v *visit) (answer, error) {
	email := v.PostForm.Get("email")
	if err := p.accounts.RequestLink(v.Context(), email, v.from); err != nil {
		return again(mailPage(email), err)
	}
	a := mailPage(email)
	a.notice = "If this address has an account, a link is on its way to it. It is good for 15 minutes."
	return a, nil
}

func (p *Pages) showLink(v *visit) (answer, error) {
	token := v.URL.Query().Get(account.TokenParameter)
	claims, err := p.accounts.Claims(v.Context(), token)
	return answer{page: "link", title: "Sign in", data: linkForm{token, claims}}, err
}

// useLink signs in, and goes on where a mail that was asked for on the way to a page leads.
func (p *Pages) useLink(v *visit) (answer, error) {
	who, err := p.accounts.UseLink(v.Context(), v.PostForm.Get(account.TokenParameter), v.from)
	if err != nil {
		return again(mailPage(""), err)
	}
	p.oauth.Forget() // an account that is claimed loses its grants
	return p.welcome(v, who, p.takeReturn(v))
}

// A verifyForm is the page behind a link that confirms an address.
type verifyForm struct {
	Token string
	Known bool // this browser chose the password; any other is asked for it
}

func (p *Pages) verifyPage(v *visit, token string) (answer, error) {
	known, err := p.accounts.Confirms(v.Context(), token, p.cookie(v, signUpCookie))
	return answer{page: "verify", title: "Confirm your e-mail address", data: verifyForm{token, known}}, err
}

func (p *Pages) showVerify(v *visit) (answer, error) {
	return p.verifyPage(v, v.URL.Query().Get(account.TokenParameter))
}

func (p *Pages) verify(v *visit) (answer, error) {
	token := v.PostForm.Get(account.TokenParameter)
	proof := account.Proof{Browser: p.cookie(v, signUpCookie), Password: v.PostForm.Get("password")}
	_, err := p.accounts.VerifyEmail(v.Context(), token, proof, v.from)
	switch {
	case fault.Is(err, fault.AuthenticationRequired):
		err = fault.Invalid("password", "is not the one that was chosen when the account was made")
		fallthrough
	case fault.Is(err, fault.Validation), fault.Is(err, fault.RateLimited):
		a, ours := p.verifyPage(v, token)
		if ours != nil {
			return answer{}, ours
		}
		return again(a, err)
	case err != nil:
		return answer{}, err
	}
	p.setCookie(v, signUpCookie, "", -1)
	const confirmed = "The e-mail address is confirmed."
	if v.signedIn() {
		v.session.Verified = true
		a, err := p.overview(v)
		a.notice = confirmed
		return a, err
	}
	a, err := p.signInPage(v, "", "")
	a.notice = confirmed
	return a, err
}

func forgotPage(email string) answer {
	return answer{page: "forgot", title: "Set a new password", data: mailForm{email}}
}

func (p *Pages) showForgot(*visit) (answer, error) { return forgotPage(""), nil }

// forgot says the same whether the address has an account or not.
func (p *Pages) forgot(v *visit) (answer, error) {
	email := v.PostForm.Get("email")
	if err := p.accounts.RequestReset(v.Context(), email, v.from); err != nil {
		return again(forgotPage(email), err)
	}
	a := forgotPage(email)
	a.notice = "If this address has an account, a link is on its way to it. It is good for an hour."
	return a, nil
}

func resetPage(token string) answer {
	return answer{page: "reset", title: "Set a new password", data: linkForm{Token: token}}
}

func (p *Pages) showReset(v *visit) (answer, error) {
	return resetPage(v.URL.Query().Get(account.TokenParameter)), nil
}

func (p *Pages) reset(v *visit) (answer, error) {
	token := v.PostForm.Get(account.TokenParameter)
	who, err := p.accounts.ResetPassword(v.Context(), account.Reset{
		Token: token, Password: v.PostForm.Get("password"), KeepOthers: v.PostForm.Get("others") == "keep",
	}, v.from)
	if err != nil {
		return again(resetPage(token), err)
	}
	p.oauth.Forget()
	p.leave(v)
	a, err := p.signInPage(v, who.Email, "")
	a.notice = "The password is set, and all browsers and apps are signed out. Sign in with it."
	return a, err
}
