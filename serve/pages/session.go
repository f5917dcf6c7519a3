package pages

import (
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/namewharf/namewharf/account"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/serve/middleware"
)

// Cookies. Over https their names begin with __Host-, so that no other host can set them.
const (
	sessionCookie = "nw_session"
	signUpCookie  = "nw_signup" // secret of a sign-up, see [account.Pending]
	flowCookie    = "nw_flow"   // state of a sign-in at a provider
	returnCookie  = "nw_return" // return path, the first of maxReturnParts
)

// flowAge is how many seconds a sign-in at a provider may take.
const flowAge = 600

// A return path is split into several cookies: an authorization request may have 4 KiB of state, three times as much when
// escaped, and browsers limit a cookie to 4096 bytes. All cookies must fit into the headers of a request.
const (
	maxReturnPart  = 3 << 10
	maxReturnParts = 4
)

func (p *Pages) cookieName(name string) string {
	if p.secure {
		return "__Host-" + name
	}
	return name
}

// setCookie sets a cookie for some seconds; a negative age removes it.
func (p *Pages) setCookie(req *request, name, value string, age int) {
	name = p.cookieName(name)
	h := req.w.Header() // a second Set-Cookie for one name is undefined behaviour (RFC 6265, section 4.1.1)
	h["Set-Cookie"] = slices.DeleteFunc(h["Set-Cookie"], func(c string) bool { return strings.HasPrefix(c, name+"=") })
	http.SetCookie(req.w, &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: age,
		HttpOnly: true, Secure: p.secure, SameSite: http.SameSiteLaxMode,
	})
}

func (p *Pages) cookie(req *request, name string) string {
	c, err := req.Cookie(p.cookieName(name))
	if err != nil {
		return ""
	}
	return c.Value
}

// saveReturn stores the return path of a sign-in at a provider or by mail in cookies, for age seconds. If it is too long, the
// sign-in leads to the account page.
func (p *Pages) saveReturn(req *request, back string, age int) {
	if len(back) > maxReturnParts*maxReturnPart {
		back = ""
	}
	for i := range maxReturnParts {
		part := back[:min(len(back), maxReturnPart)]
		back = back[len(part):]
		switch name := returnPart(i); {
		case part != "":
			p.setCookie(req, name, part, age)
		case p.cookie(req, name) != "":
			p.setCookie(req, name, "", -1)
		}
	}
}

// takeReturn returns the path that saveReturn stored, and removes its cookies.
func (p *Pages) takeReturn(req *request) string {
	var back strings.Builder
	for i := range maxReturnParts {
		part := p.cookie(req, returnPart(i))
		if part == "" {
			break
		}
		back.WriteString(part)
	}
	p.saveReturn(req, "", 0)
	return back.String()
}

func returnPart(i int) string {
	if i == 0 {
		return returnCookie
	}
	return returnCookie + strconv.Itoa(i)
}

// loadSession reads the session of the cookie, and extends the cookie's life on GET.
func (p *Pages) loadSession(req *request) error {
	token := p.cookie(req, sessionCookie)
	if token == "" {
		return nil
	}
	s, err := p.accounts.Session(req.Context(), token)
	if fault.Is(err, fault.AuthenticationRequired) {
		return nil
	}
	if err != nil {
		return err
	}
	req.token, req.session = token, s
	middleware.Note(req.Context(), "", middleware.Account)
	if req.Method == http.MethodGet {
		p.setCookie(req, sessionCookie, token, int(account.SessionLife.Seconds()))
	}
	return nil
}

// signInBrowser starts a new session for the browser.
func (p *Pages) signInBrowser(req *request, accountID string) error {
	token, s, err := p.accounts.StartSession(req.Context(), accountID, req.from, req.UserAgent())
	if err != nil {
		return err
	}
	return p.replaceSession(req, token, s)
}

// signInBrowserSince is signInBrowser after a sign-in at a provider.
func (p *Pages) signInBrowserSince(req *request, who account.UpstreamSignIn) error {
	token, s, err := p.accounts.StartSessionSince(req.Context(), who.ID, who.Authenticated, req.from, req.UserAgent())
	if err != nil {
		return err
	}
	return p.replaceSession(req, token, s)
}

// replaceSession ends the session of the browser and sets the cookie of the new one.
func (p *Pages) replaceSession(req *request, token string, s account.Session) error {
	if req.signedIn() {
		if err := p.accounts.EndSession(req.Context(), req.token, req.from); err != nil {
			return err
		}
	}
	req.token, req.session = token, s
	p.setCookie(req, sessionCookie, token, int(account.SessionLife.Seconds()))
	return nil
}

// clearSession removes the session cookie.
func (p *Pages) clearSession(req *request) {
	req.token, req.session = "", account.Session{}
	p.setCookie(req, sessionCookie, "", -1)
}

const (
	home          = "/account"
	authorizePath = "/oauth/authorize"
	maxReturn     = 24 << 10
)

// localPath returns the return path if it is one of our pages that need a session, else the account page. It prevents open
// redirects: it refuses all that a browser could take for the URL of another site.
func localPath(asked string) string {
	if len(asked) > maxReturn || !strings.HasPrefix(asked, "/") || strings.HasPrefix(asked, "//") ||
		strings.ContainsFunc(asked, func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' }) {
		return home
	}
	u, err := url.Parse(asked)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" || u.RawPath != "" || u.Fragment != "" {
		return home
	}
	if u.Path != home && u.Path != authorizePath && !strings.HasPrefix(u.Path, home+"/") || path.Clean(u.Path) != u.Path {
		return home
	}
	return (&url.URL{Path: u.Path, RawQuery: u.RawQuery}).String()
}

// signInURL is the URL of the sign-in page with a return path.
func signInURL(back string) string {
	if back == home {
		return "/signin"
	}
	return "/signin?" + url.Values{"return": {back}}.Encode()
}

// originOf is the scheme and host of an absolute URL.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}
