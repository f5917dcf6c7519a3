package pages

import (
	"github.com/namewharf/namewharf/account"
)

// A mailForm asks for an address to write to.
type mailForm struct{ Email string }

// A linkForm holds the token of a link in a mail. Opening the link changes nothing: programs that look through mail
// open links too.
type linkForm struct{ Token string }

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
	return answer{page: "link", title: "Sign in", data: linkForm{v.URL.Query().Get(account.TokenParameter)}}, nil
}

func (p *Pages) useLink(v *visit) (answer, error) {
	who, err := p.accounts.UseLink(v.Context(), v.PostForm.Get(account.TokenParameter), v.from)
	if err != nil {
		return again(mailPage(""), err)
	}
	p.oauth.Forget() // an account that is claimed loses its grants
	return p.welcome(v, who, "")
}

func (p *Pages) showVerify(v *visit) (answer, error) {
	return answer{page: "verify", title: "Confirm your e-mail address", data: linkForm{v.URL.Query().Get(account.TokenParameter)}}, nil
}

func (p *Pages) verify(v *visit) (answer, error) {
	if _, err := p.accounts.VerifyEmail(v.Context(), v.PostForm.Get(account.TokenParameter), v.from); err != nil {
		return answer{}, err
	}
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
	return answer{page: "reset", title: "Set a new password", data: linkForm{token}}
}

func (p *Pages) showReset(v *visit) (answer, error) {
	return resetPage(v.URL.Query().Get(account.TokenParameter)), nil
}

func (p *Pages) reset(v *visit) (answer, error) {
	token := v.PostForm.Get(account.TokenParameter)
	who, err := p.accounts.ResetPassword(v.Context(), token, v.PostForm.Get("password"), v.from)
	if err != nil {
		return again(resetPage(token), err)
	}
	p.oauth.Forget()
	p.leave(v)
	a, err := p.signInPage(v, who.Email, "")
	a.notice = "The password is set, and all browsers and apps are signed out. Sign in with it."
	return a, err
}
