package pages

import (
	"github.com/namewharf/namewharf/account"
	"github.com/namewharf/namewharf/fault"
)

// logLines is how much of the security log a page shows.
const logLines = 100

func (p *Pages) overview(v *visit) (answer, error) {
	return answer{page: "overview", title: "Your account", data: v.session}, nil
}

func (p *Pages) apps(v *visit) (answer, error) {
	grants, err := p.oauth.Grants(v.Context(), v.session.AccountID)
	return answer{page: "apps", title: "Connected apps", data: grants}, err
}

func (p *Pages) revokeApp(v *visit) (answer, error) {
	err := p.oauth.RevokeGrant(v.Context(), v.session.AccountID, v.PostForm.Get("grant"))
	if err != nil && !fault.Is(err, fault.NotFound) { // one that is gone already is what was wanted
		return answer{}, err
	}
	a, err := p.apps(v)
	a.notice = "The app is disconnected."
	return a, err
}

// A browser is a session as the page lists it.
type browser struct {
	account.Session
	This bool
}

func (p *Pages) sessions(v *visit) (answer, error) {
	list, err := p.accounts.Sessions(v.Context(), v.session.AccountID)
	browsers := make([]browser, len(list))
	for i, s := range list {
		browsers[i] = browser{s, s.ID == v.session.ID}
	}
	return answer{page: "sessions", title: "Where you are signed in", data: browsers}, err
}

// endSession ends one session, or all with all apps.
func (p *Pages) endSession(v *visit) (answer, error) {
	id := v.PostForm.Get("session")
	if id == "all" {
		if err := p.accounts.EndSessions(v.Context(), v.session.AccountID, v.from); err != nil {
			return answer{}, err
		}
		p.oauth.Forget()
		return p.signedOut(v, "All browsers and apps are signed out.")
	}
	if err := p.accounts.EndSessionByID(v.Context(), v.session.AccountID, id, v.from); err != nil {
		return answer{}, err
	}
	if id == v.session.ID {
		return p.signedOut(v, "You are signed out.")
	}
	a, err := p.sessions(v)
	a.notice = "The browser is signed out."
	return a, err
}

// signedOut is the sign-in page for who was signed in until now.
func (p *Pages) signedOut(v *visit, notice string) (answer, error) {
	p.leave(v)
	a, err := p.signInPage(v, "", "")
	a.notice = notice
	return a, err
}

// A safe is what the security page shows.
type safe struct {
	Account     account.Session
	HasPassword bool
	Fresh       bool // signed in a moment ago
	Providers   []account.Button
	Identities  []account.Identity
	Log         []account.Entry
}

func (p *Pages) security(v *visit) (answer, error) {
	s := safe{Account: v.session, Fresh: p.accounts.Fresh(v.session), Providers: p.accounts.Providers()}
	var err error
	if s.HasPassword, err = p.accounts.HasPassword(v.Context(), v.session.AccountID); err != nil {
		return answer{}, err
	}
	if s.Identities, err = p.accounts.Identities(v.Context(), v.session.AccountID); err != nil {
		return answer{}, err
	}
	s.Log, err = p.accounts.Log(v.Context(), v.session.AccountID, logLines)
	return answer{page: "security", title: "Security", data: s}, err
}

func (p *Pages) changePassword(v *visit) (answer, error) {
	err := p.accounts.ChangePassword(v.Context(), v.session, v.PostForm.Get("current"), v.PostForm.Get("password"), v.from)
	if stale := stepUpAt(err, securityPath); stale != nil {
		return *stale, nil
	}
	if fault.Is(err, fault.AuthenticationRequired) {
		err = fault.New(fault.Forbidden, "The current password is wrong")
	}
	if err != nil {
		a, ours := p.security(v)
		if ours != nil {
			return answer{}, ours
		}
		return again(a, err)
	}
	p.oauth.Forget()
	return p.signedOut(v, "The password is changed, and all browsers and apps are signed out. Sign in with the new one.")
}

func (p *Pages) mailVerification(v *visit) (answer, error) {
	if err := p.accounts.RequestVerification(v.Context(), v.session.AccountID); err != nil {
		return answer{}, err
	}
	a, err := p.security(v)
	a.notice = "A link is on its way to your address. It is good for two days."
	return a, err
}

// A departure is the last page before a provider.
type departure struct{ Name, Address string }

// linkProvider begins to link an account elsewhere. The way out is a link on a page of its own, since the redirects of
// a form are held against form-action.
func (p *Pages) linkProvider(v *visit) (answer, error) {
	id := v.PostForm.Get("provider")
	address, flow, err := p.accounts.BeginUpstream(v.Context(), id, v.session, "")
	if stale := stepUpAt(err, withQuery(linkPath, "provider", id)); stale != nil {
		return *stale, nil
	}
	if err != nil {
		return answer{}, err
	}
	d := departure{Address: address}
	for _, b := range p.accounts.Providers() {
		if b.ID == id {
			d.Name = b.Name
		}
	}
	p.keepFlow(v, flow, securityPath)
	return answer{page: "continue", title: "Go on at " + d.Name, data: d}, nil
}

func (p *Pages) unlinkProvider(v *visit) (answer, error) {
	provider, subject := v.PostForm.Get("provider"), v.PostForm.Get("subject")
	err := p.accounts.Unlink(v.Context(), v.session, provider, subject, warned(v), v.from)
	if stale := stepUpAt(err, withQuery(unlinkPath, "provider", provider, "subject", subject)); stale != nil {
		return *stale, nil
	}
	if fault.Is(err, fault.Conflict) {
		return conflicting(p.unlinkPage(v, provider, subject))
	}
	if err != nil && !fault.Is(err, fault.NotFound) { // one that is gone already is what was wanted
		return answer{}, err
	}
	a, err := p.security(v)
	a.notice = "The account is not linked any more."
	return a, err
}

// A ring is the page of passkeys.
type ring struct {
	Keys []account.Passkey
	Work bool
	Name string // of one to be added
}

func (p *Pages) passkeys(v *visit) (answer, error) {
	keys, err := p.accounts.Passkeys(v.Context(), v.session.AccountID)
	work := p.accounts.PasskeysWork()
	return answer{page: "passkeys", title: "Passkeys", data: ring{keys, work, v.URL.Query().Get("name")}, script: work}, err
}

func (p *Pages) removePasskey(v *visit) (answer, error) {
	id := v.PostForm.Get("passkey")
	err := p.accounts.RemovePasskey(v.Context(), v.session, id, warned(v), v.from)
	if stale := stepUpAt(err, withQuery(passkeysPath+"/remove", "passkey", id)); stale != nil {
		return *stale, nil
	}
	if fault.Is(err, fault.Conflict) {
		return conflicting(p.removePasskeyPage(v, id))
	}
	if err != nil && !fault.Is(err, fault.NotFound) { // one that is gone already is what was wanted
		return answer{}, err
	}
	a, err := p.passkeys(v)
	a.notice = "The passkey is removed."
	return a, err
}
