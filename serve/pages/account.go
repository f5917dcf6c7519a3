package pages

import (
	"github.com/namewharf/namewharf/account"
	"github.com/namewharf/namewharf/fault"
)

// logLines is how many entries of the security log a page shows.
const logLines = 100

func (p *Pages) overview(req *request) (response, error) {
	return response{page: "overview", title: "Your account", data: req.session}, nil
}

func (p *Pages) apps(req *request) (response, error) {
	grants, err := p.oauth.Grants(req.Context(), req.session.AccountID)
	return response{page: "apps", title: "Connected apps", data: grants}, err
}

func (p *Pages) revokeApp(req *request) (response, error) {
	err := p.oauth.RevokeGrant(req.Context(), req.session.AccountID, req.PostForm.Get("grant"))
	if err != nil && !fault.Is(err, fault.NotFound) { // already gone is success
		return response{}, err
	}
	a, err := p.apps(req)
	a.notice = "The app is disconnected."
	return a, err
}

// A sessionItem is a session in the list.
type sessionItem struct {
	account.Session
	This bool
}

func (p *Pages) sessions(req *request) (response, error) {
	list, err := p.accounts.Sessions(req.Context(), req.session.AccountID)
	browsers := make([]sessionItem, len(list))
	for i, s := range list {
		browsers[i] = sessionItem{s, s.ID == req.session.ID}
	}
	return response{page: "sessions", title: "Where you are signed in", data: browsers}, err
}

// endSession ends one session, or all with all apps.
func (p *Pages) endSession(req *request) (response, error) {
	id := req.PostForm.Get("session")
	if id == "all" {
		if err := p.accounts.EndSessions(req.Context(), req.session.AccountID, req.from); err != nil {
			return response{}, err
		}
		p.oauth.FlushTokenCache()
		return p.signedOut(req, "All browsers and apps are signed out.")
	}
	if err := p.accounts.EndSessionByID(req.Context(), req.session.AccountID, id, req.from); err != nil {
		return response{}, err
	}
	if id == req.session.ID {
		return p.signedOut(req, "You are signed out.")
	}
	a, err := p.sessions(req)
	a.notice = "The browser is signed out."
	return a, err
}

// signedOut clears the session cookie and returns the sign-in page.
func (p *Pages) signedOut(req *request, notice string) (response, error) {
	p.clearSession(req)
	a, err := p.signInPage(req, "", "")
	a.notice = notice
	return a, err
}

// securityData is the data of the security page.
type securityData struct {
	Account     account.Session
	HasPassword bool
	Fresh       bool // signed in within [account.StepUpLife]
	Providers   []account.Button
	Identities  []account.Identity
	Log         []account.Entry
}

func (p *Pages) security(req *request) (response, error) {
	s := securityData{Account: req.session, Fresh: p.accounts.Fresh(req.session), Providers: p.accounts.Providers()}
	var err error
	if s.HasPassword, err = p.accounts.HasPassword(req.Context(), req.session.AccountID); err != nil {
		return response{}, err
	}
	if s.Identities, err = p.accounts.Identities(req.Context(), req.session.AccountID); err != nil {
		return response{}, err
	}
	s.Log, err = p.accounts.Log(req.Context(), req.session.AccountID, logLines)
	return response{page: "security", title: "Security", data: s}, err
}

func (p *Pages) changePassword(req *request) (response, error) {
	err := p.accounts.ChangePassword(req.Context(), req.session, req.PostForm.Get("current"), req.PostForm.Get("password"), req.from)
	if stale := stepUpRedirect(err, securityPath); stale != nil {
		return *stale, nil
	}
	if fault.Is(err, fault.AuthenticationRequired) {
		err = fault.New(fault.Forbidden, "The current password is wrong")
	}
	if err != nil {
		a, internalErr := p.security(req)
		if internalErr != nil {
			return response{}, internalErr
		}
		return formProblem(a, err)
	}
	p.oauth.FlushTokenCache()
	return p.signedOut(req, "The password is changed, and all browsers and apps are signed out. Sign in with the new one.")
}

func (p *Pages) mailVerification(req *request) (response, error) {
	if err := p.accounts.RequestVerification(req.Context(), req.session.AccountID); err != nil {
		return response{}, err
	}
	a, err := p.security(req)
	a.notice = "We sent a link to your address. It works for two days."
	return a, err
}

// A providerLink is the data of the page with the link to a provider.
type providerLink struct{ Name, Address string }

// linkProvider begins to link an account at a provider. It shows a page with a link, since form-action also applies to the
// redirects of a form.
func (p *Pages) linkProvider(req *request) (response, error) {
	id := req.PostForm.Get("provider")
	address, flow, err := p.accounts.BeginUpstream(req.Context(), id, req.session, "")
	if stale := stepUpRedirect(err, withQuery(linkPath, "provider", id)); stale != nil {
		return *stale, nil
	}
	if err != nil {
		return response{}, err
	}
	d := providerLink{Address: address}
	for _, b := range p.accounts.Providers() {
		if b.ID == id {
			d.Name = b.Name
		}
	}
	p.saveFlow(req, flow, securityPath)
	return response{page: "continue", title: "Continue at " + d.Name, data: d}, nil
}

func (p *Pages) unlinkProvider(req *request) (response, error) {
	provider, subject := req.PostForm.Get("provider"), req.PostForm.Get("subject")
	err := p.accounts.Unlink(req.Context(), req.session, provider, subject, warned(req), req.from)
	if stale := stepUpRedirect(err, withQuery(unlinkPath, "provider", provider, "subject", subject)); stale != nil {
		return *stale, nil
	}
	if fault.Is(err, fault.Conflict) {
		return withConflict(p.unlinkPage(req, provider, subject))
	}
	if err != nil && !fault.Is(err, fault.NotFound) { // already gone is success
		return response{}, err
	}
	a, err := p.security(req)
	a.notice = "The account is unlinked."
	return a, err
}

// passkeysData is the data of the passkeys page.
type passkeysData struct {
	Keys []account.Passkey
	Work bool
	Name string // of one to be added
}

func (p *Pages) passkeys(req *request) (response, error) {
	keys, err := p.accounts.Passkeys(req.Context(), req.session.AccountID)
	work := p.accounts.PasskeysWork()
	return response{page: "passkeys", title: "Passkeys", data: passkeysData{keys, work, req.URL.Query().Get("name")}, script: work}, err
}

func (p *Pages) removePasskey(req *request) (response, error) {
	id := req.PostForm.Get("passkey")
	err := p.accounts.RemovePasskey(req.Context(), req.session, id, warned(req), req.from)
	if stale := stepUpRedirect(err, withQuery(passkeysPath+"/remove", "passkey", id)); stale != nil {
		return *stale, nil
	}
	if fault.Is(err, fault.Conflict) {
		return withConflict(p.removePasskeyPage(req, id))
	}
	if err != nil && !fault.Is(err, fault.NotFound) { // already gone is success
		return response{}, err
	}
	a, err := p.passkeys(req)
	a.notice = "The passkey is removed."
	return a, err
}
