// Package pages is what a person sees: signing up and in, the question whether an application may act for them, and
// their account.
//
// Pages are rendered here and work without scripts; passkeys alone need the one small script. Nothing a page does by
// GET changes an account, and what it does by POST it does for its own forms only.
package pages

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/namewharf/namewharf/account"
	"github.com/namewharf/namewharf/account/portfolio"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/oauthas"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/serve/middleware"
)

// Names are the portfolios of accounts, as [portfolio.Portfolio] keeps them.
type Names interface {
	Add(ctx context.Context, account string, name fqdn.Name) (portfolio.Claim, error)
	List(ctx context.Context, account string, after fqdn.Name, limit int) (claims []portfolio.Claim, more bool, err error)
	Apply(ctx context.Context, account string, c portfolio.Change) ([]error, error)
	Events(ctx context.Context, account string, after portfolio.Event, limit int) ([]portfolio.Event, error)
	Listings(ctx context.Context, account string, after portfolio.Listing, limit int) ([]portfolio.Listing, error)
	Refresh(ctx context.Context) error
}

// Config is what the pages stand on. Accounts, OAuth and Door are required.
type Config struct {
	Accounts   *account.Accounts
	OAuth      *oauthas.Server
	Middleware *middleware.Stack // whose BaseURL says whether cookies are for https only
	Signup     account.Mode      // what the sign-up page offers; empty: [account.Open]
	Names      Names             // nil: there is no /account/domains
}

// Pages are the pages of one service. They are safe for concurrent use.
type Pages struct {
	accounts *account.Accounts
	oauth    *oauthas.Server
	mw       *middleware.Stack
	signup   account.Mode
	names    Names
	secure   bool
	foreign  *http.CrossOriginProtection
	methods  map[string][]string // that have a page, by path
	mux      *http.ServeMux
	handler  http.Handler
}

// New returns the pages, wrapped in [middleware.Door.Wrap] already. They draw on /style.css and /icon.svg, which the REST door
// serves. It panics where something in cfg is missing: a mistake in the wiring.
func New(cfg Config) *Pages {
	if cfg.Accounts == nil || cfg.OAuth == nil || cfg.Middleware == nil {
		panic("pages: Accounts, OAuth and Door are required")
	}
	if cfg.Signup == "" {
		cfg.Signup = account.Open
	}
	base := cfg.Middleware.BaseURL()
	p := &Pages{
		accounts: cfg.Accounts, oauth: cfg.OAuth, mw: cfg.Middleware, signup: cfg.Signup, names: cfg.Names,
		secure: strings.HasPrefix(base, "https://"), foreign: http.NewCrossOriginProtection(),
		methods: map[string][]string{}, mux: http.NewServeMux(),
	}
	if err := p.foreign.AddTrustedOrigin(originOf(base)); err != nil {
		panic("pages: " + err.Error())
	}
	p.routes()
	p.handler = cfg.Middleware.Wrap(http.HandlerFunc(p.serve))
	return p
}

// Patterns are the [http.ServeMux] patterns at which the pages have to be mounted.
func Patterns() []string {
	return []string{
		account.SignUpPath, "/signin", "/signin/", "/signout", account.VerifyPath, account.ResetPath, account.ForgotPath,
		"/oauth/authorize", "/account", "/account/", "/passkey.js",
	}
}

// ServeHTTP answers for the paths of [Patterns].
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.handler.ServeHTTP(w, r) }

// routes names every page. The names stand in the access log.
func (p *Pages) routes() {
	p.handle("GET "+account.SignUpPath, "signup", p.showSignUp)
	p.handle("POST "+account.SignUpPath, "signup", p.signUp)
	p.handle("GET /signin", "signin", p.showSignIn)
	p.handle("POST /signin", "signin", p.signIn)
	p.handle("GET /signin/mail", "signin_mail", p.showMail)
	p.handle("POST /signin/mail", "signin_mail", p.sendMail)
	p.handle("GET "+account.LinkPath, "signin_link", p.showLink)
	p.handle("POST "+account.LinkPath, "signin_link", p.useLink)
	p.handle("POST /signin/passkey/begin", "signin_passkey", p.beginPasskeySignIn)
	p.handle("POST /signin/passkey/finish", "signin_passkey", p.finishPasskeySignIn)
	p.handle("GET /signin/with/{provider}", "signin_provider", p.beginProvider)
	p.handle("GET "+account.CallbackPath("{provider}"), "signin_provider", p.finishProvider)
	p.handle("GET "+signInAgainPath, "signin_again", p.someone(p.signInAgainPage))
	p.handle("POST "+signInAgainPath, "signin_again", p.someone(p.signInAgain))
	p.handle("POST "+signInAgainPath+"/mail", "signin_again", p.someone(p.mailSignInAgain))
	p.handle("GET /signout", "signout", p.showSignOut)
	p.handle("POST /signout", "signout", p.signOut)
	p.handle("GET "+account.VerifyPath, "verify", p.showVerify)
	p.handle("POST "+account.VerifyPath, "verify", p.verify)
	p.handle("GET "+account.ForgotPath, "forgot", p.showForgot)
	p.handle("POST "+account.ForgotPath, "forgot", p.forgot)
	p.handle("GET "+account.ResetPath, "reset", p.showReset)
	p.handle("POST "+account.ResetPath, "reset", p.reset)
	p.handle("GET /oauth/authorize", "authorize", p.authorize)
	p.open("POST /oauth/authorize", "authorize", p.authorize)

	p.own("GET /account", "account", p.overview)
	p.own("GET /account/apps", "account_apps", p.apps)
	p.own("POST /account/apps", "account_apps", p.revokeApp)
	p.own("GET /account/sessions", "account_sessions", p.sessions)
	p.own("POST /account/sessions", "account_sessions", p.endSession)
	p.own("GET "+exportPath, "account_export", p.showExport)
	p.own("POST "+exportPath, "account_export", p.export)
	p.own("GET "+deletePath, "account_delete", p.showDelete)
	p.own("POST "+deletePath, "account_delete", p.delete)
	p.own("GET "+securityPath, "account_security", p.security)
	p.own("POST /account/security/password", "account_security", p.changePassword)
	p.own("POST /account/security/verify", "account_security", p.mailVerification)
	p.own("GET "+linkPath, "account_security", p.showLinkProvider)
	p.own("POST "+linkPath, "account_security", p.linkProvider)
	p.own("GET "+unlinkPath, "account_security", p.showUnlinkProvider)
	p.own("POST "+unlinkPath, "account_security", p.unlinkProvider)
	p.own("GET /account/passkeys/remove", "account_passkeys", p.showRemovePasskey)
	p.own("GET /account/passkeys", "account_passkeys", p.passkeys)
	p.own("POST /account/passkeys/remove", "account_passkeys", p.removePasskey)
	p.own("POST /account/passkeys/begin", "account_passkeys", p.beginPasskey)
	p.own("POST /account/passkeys/finish", "account_passkeys", p.finishPasskey)
	if p.names != nil {
		p.own("GET /account/domains", "account_domains", p.domains)
		p.own("POST /account/domains", "account_domains", p.changeDomains)
		p.own("GET "+bulkPath, "account_domains", p.bulk)
		p.own("POST "+bulkPath, "account_domains", p.changeMany)
	}
	p.mux.HandleFunc("GET /passkey.js", p.script)
	p.refuseOthers("/passkey.js", "GET, HEAD")
	for path, methods := range p.methods {
		p.refuseOthers(path, strings.Join(methods, ", "))
	}
	p.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		p.fail(p.visit(w, r), fault.New(fault.NotFound, "There is no such page"))
	})
}

// refuseOthers answers all methods at a path but those that have a page of their own.
func (p *Pages) refuseOthers(path, allow string) {
	p.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", allow)
		p.fail(p.visit(w, r), fault.New(fault.MethodNotAllowed, "This page does not take the method %s", r.Method))
	})
}

// A visit is one request of a person's browser.
type visit struct {
	*http.Request
	w       http.ResponseWriter
	from    netip.Addr
	token   string          // of the session; empty: nobody is signed in
	session account.Session // zero: nobody is signed in
}

func (v *visit) signedIn() bool { return v.token != "" }

// ref is the session as the authorization server names it.
func (v *visit) ref() oauthas.SessionRef {
	return oauthas.SessionRef{ID: v.session.ID, AccountID: v.session.AccountID}
}

// An action answers a visit. A *fault.Error it returns becomes a page that says so.
type action func(*visit) (answer, error)

// Bounds of what a browser sends.
const (
	maxForm   = 32 << 10  // bytes; an authorization request may bring 4 KiB of state
	maxScript = 160 << 10 // bytes of a passkey's response as JSON, with its flow
	maxNames  = 512 << 10 // bytes of a form with [portfolio.MaxChange] names of the greatest length, and what stands between them
)

func bodyLimit(r *http.Request) int64 {
	switch {
	case isScript(r):
		return maxScript
	case r.URL.Path == bulkPath:
		return maxNames
	}
	return maxForm
}

// handle adds a page for anybody. Its POST is for our own forms only.
func (p *Pages) handle(pattern, name string, act action) {
	p.open(pattern, name, func(v *visit) (answer, error) {
		if err := p.foreign.Check(v.Request); err != nil {
			return answer{}, errForeign()
		}
		return act(v)
	})
}

func errForeign() error {
	return fault.New(fault.Forbidden, "This was sent from a page that is not ours").WithHint("nothing was changed")
}

// own adds a page for who is signed in. Others are asked to sign in first.
func (p *Pages) own(pattern, name string, act action) {
	p.handle(pattern, name, func(v *visit) (answer, error) {
		if v.signedIn() {
			return act(v)
		}
		if isScript(v.Request) {
			return answer{}, fault.New(fault.AuthenticationRequired, "You are not signed in any more").WithHint("load the page again")
		}
		if v.Method == http.MethodGet || v.Method == http.MethodHead {
			return seeOther(signInFor(v.URL.RequestURI())), nil
		}
		return seeOther(signInFor(accountPage(v.URL.Path))), nil
	})
}

// accountPage is the page with the form that posts to path.
func accountPage(path string) string {
	parts := strings.SplitN(path, "/", 4)
	return strings.Join(parts[:min(len(parts), 3)], "/")
}

// open adds a page that takes POST from other sites too.
func (p *Pages) open(pattern, name string, act action) {
	method, path, _ := strings.Cut(pattern, " ")
	if p.methods[path] = append(p.methods[path], method); method == http.MethodGet {
		p.methods[path] = append(p.methods[path], http.MethodHead) // which comes with it
	}
	p.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		middleware.Note(r.Context(), name, "")
		v := p.visit(w, r)
		if err := p.recognize(v); err != nil {
			p.fail(v, err)
			return
		}
		if err := p.charge(v, []op.Charge{{Class: op.Page, Count: 1}}); err != nil {
			p.fail(v, err)
			return
		}
		if r.ContentLength > bodyLimit(r) { // before any of it is read
			p.fail(v, errFormTooLarge())
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, bodyLimit(r))
		if err := readForm(r); err != nil {
			p.fail(v, err)
			return
		}
		a, err := act(v)
		if err != nil {
			p.fail(v, err)
			return
		}
		p.send(v, a)
	})
}

// charge draws from the limits of the account, or of the address where nobody is signed in.
func (p *Pages) charge(v *visit, charges []op.Charge) error {
	ctx := op.WithCaller(v.Context(), op.Caller{Account: v.session.AccountID})
	return p.mw.Charge(v.w, v.WithContext(ctx), charges)
}

func (p *Pages) visit(w http.ResponseWriter, r *http.Request) *visit {
	return &visit{Request: r, w: w, from: p.mw.ClientIP(r)}
}

func errFormTooLarge() error { return fault.New(fault.PayloadTooLarge, "This form is too large") }

// readForm reads the form of a POST; a script's JSON is left for its action.
func readForm(r *http.Request) error {
	if r.Method != http.MethodPost || isScript(r) {
		return nil
	}
	err := r.ParseForm()
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return errFormTooLarge()
	}
	if f := (*fault.Error)(nil); errors.As(err, &f) { // it did not come in time, or there is no memory for it
		return f
	}
	if err != nil {
		return fault.New(fault.Validation, "This form cannot be read")
	}
	return nil
}

func isScript(r *http.Request) bool {
	return r.Method == http.MethodPost && r.Header.Get("Content-Type") == "application/json"
}

// serve sets what every answer has, whoever writes it.
func (p *Pages) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy("", false))
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	p.mux.ServeHTTP(w, r)
}

// scriptKeeps is how long a browser may keep the script, which changes only with the binary.
const scriptKeeps = 5 * time.Minute
