// Package pages serves the web pages for users: sign-up, sign-in, consent to applications, account management, and the checkout.
//
// Pages are rendered on the server and work without scripts; only passkeys need one. GET changes nothing in an account,
// and POST is accepted from our own forms only.
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
	"github.com/namewharf/namewharf/brokerage"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/oauthas"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/referral"
	"github.com/namewharf/namewharf/serve/middleware"
)

// Portfolios are the portfolios of accounts, as in [portfolio.Portfolio].
type Portfolios interface {
	Add(ctx context.Context, account string, name fqdn.Name) (portfolio.Claim, error)
	List(ctx context.Context, account string, after fqdn.Name, limit int) (claims []portfolio.Claim, more bool, err error)
	Apply(ctx context.Context, account string, c portfolio.Change) ([]error, error)
	Events(ctx context.Context, account string, after portfolio.Event, limit int) ([]portfolio.Event, error)
	Listings(ctx context.Context, account string, after portfolio.Listing, limit int) ([]portfolio.Listing, error)
	Refresh(ctx context.Context) error
}

// Config configures [New]. Accounts, OAuth and Middleware are required.
type Config struct {
	Accounts   *account.Accounts
	OAuth      *oauthas.Server
	Middleware *middleware.Stack // with an https BaseURL, cookies are Secure
	Signup     account.Mode      // what the sign-up page offers; empty: [account.Open]
	Portfolios Portfolios        // nil: there is no /account/domains
	Partners   Partners          // what partners have for the public
	Buying     Buying            // what the pages need on which people buy
}

// Pages are the pages of one service. They are safe for concurrent use.
type Pages struct {
	accounts    *account.Accounts
	oauth       *oauthas.Server
	mw          *middleware.Stack
	signup      account.Mode
	portfolios  Portfolios
	partners    Partners
	buying      Buying
	secure      bool
	crossOrigin *http.CrossOriginProtection
	methods     map[string][]string // by path, for Allow
	mux         *http.ServeMux
	handler     http.Handler
}

// New returns the pages, wrapped by [middleware.Stack.Wrap]. They use /style.css and /icon.svg, which package rest serves.
// It panics if cfg is not complete.
func New(cfg Config) *Pages {
	if cfg.Accounts == nil || cfg.OAuth == nil || cfg.Middleware == nil {
		panic("pages: Accounts, OAuth and Middleware are required")
	}
	if cfg.Signup == "" {
		cfg.Signup = account.Open
	}
	base := cfg.Middleware.BaseURL()
	p := &Pages{
		accounts: cfg.Accounts, oauth: cfg.OAuth, mw: cfg.Middleware, signup: cfg.Signup, portfolios: cfg.Portfolios, partners: cfg.Partners, buying: cfg.Buying,
		secure: strings.HasPrefix(base, "https://"), crossOrigin: http.NewCrossOriginProtection(),
		methods: map[string][]string{}, mux: http.NewServeMux(),
	}
	if err := p.crossOrigin.AddTrustedOrigin(originOf(base)); err != nil {
		panic("pages: " + err.Error())
	}
	p.routes()
	p.handler = cfg.Middleware.Wrap(http.HandlerFunc(p.serve))
	return p
}

// Patterns returns the [http.ServeMux] patterns at which to mount the pages.
func Patterns() []string {
	return []string{
		account.SignUpPath, "/signin", "/signin/", "/signout", account.VerifyPath, account.ResetPath, account.ForgotPath,
		"/oauth/authorize", "/account", "/account/", "/passkey.js", brokerage.ProgressPath, referral.LinkPath,
		checkoutPath, checkoutPath + "/", marketPath,
	}
}

// ServeHTTP serves the paths of [Patterns].
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.handler.ServeHTTP(w, r) }

// routes registers every page. The names appear in the access log.
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
	p.handle("GET "+signInAgainPath, "signin_again", p.withReturn(p.signInAgainPage))
	p.handle("POST "+signInAgainPath, "signin_again", p.withReturn(p.signInAgain))
	p.handle("POST "+signInAgainPath+"/mail", "signin_again", p.withReturn(p.mailSignInAgain))
	p.handle("GET /signout", "signout", p.showSignOut)
	p.handle("POST /signout", "signout", p.signOut)
	p.handle("GET "+account.VerifyPath, "verify", p.showVerify)
	p.handle("POST "+account.VerifyPath, "verify", p.verify)
	p.handle("GET "+account.ForgotPath, "forgot", p.showForgot)
	p.handle("POST "+account.ForgotPath, "forgot", p.forgot)
	p.handle("GET "+account.ResetPath, "reset", p.showReset)
	p.handle("POST "+account.ResetPath, "reset", p.reset)
	p.handle("GET /oauth/authorize", "authorize", p.authorize)
	p.handleCrossSite("POST /oauth/authorize", "authorize", p.authorize)

	p.handleSignedIn("GET /account", "account", p.overview)
	p.handleSignedIn("GET /account/apps", "account_apps", p.apps)
	p.handleSignedIn("POST /account/apps", "account_apps", p.revokeApp)
	p.handleSignedIn("GET /account/sessions", "account_sessions", p.sessions)
	p.handleSignedIn("POST /account/sessions", "account_sessions", p.endSession)
	p.handleSignedIn("GET "+exportPath, "account_export", p.showExport)
	p.handleSignedIn("POST "+exportPath, "account_export", p.export)
	p.handleSignedIn("GET "+deletePath, "account_delete", p.showDelete)
	p.handleSignedIn("POST "+deletePath, "account_delete", p.delete)
	p.handleSignedIn("GET "+securityPath, "account_security", p.security)
	p.handleSignedIn("POST /account/security/password", "account_security", p.changePassword)
	p.handleSignedIn("POST /account/security/verify", "account_security", p.mailVerification)
	p.handleSignedIn("GET "+linkPath, "account_security", p.showLinkProvider)
	p.handleSignedIn("POST "+linkPath, "account_security", p.linkProvider)
	p.handleSignedIn("GET "+unlinkPath, "account_security", p.showUnlinkProvider)
	p.handleSignedIn("POST "+unlinkPath, "account_security", p.unlinkProvider)
	p.handleSignedIn("GET /account/passkeys/remove", "account_passkeys", p.showRemovePasskey)
	p.handleSignedIn("GET /account/passkeys", "account_passkeys", p.passkeys)
	p.handleSignedIn("POST /account/passkeys/remove", "account_passkeys", p.removePasskey)
	p.handleSignedIn("POST /account/passkeys/begin", "account_passkeys", p.beginPasskey)
	p.handleSignedIn("POST /account/passkeys/finish", "account_passkeys", p.finishPasskey)
	if p.portfolios != nil {
		p.handleSignedIn("GET /account/domains", "account_domains", p.domains)
		p.handleSignedIn("POST /account/domains", "account_domains", p.changeDomains)
		p.handleSignedIn("GET "+bulkPath, "account_domains", p.bulk)
		p.handleSignedIn("POST "+bulkPath, "account_domains", p.changeMany)
	}
	p.checkoutRoutes()
	if p.partners.Links != nil {
		p.mux.HandleFunc("GET "+referralPath, p.followLink)
		p.refuseOthers(referralPath, "GET, HEAD")
	}
	if p.partners.Cases != nil {
		p.handle("GET "+progressPath, "brokerage_progress", p.progress)
		p.handle("POST "+progressPath, "brokerage_progress", p.makeOffer)
	}
	p.mux.HandleFunc("GET /passkey.js", p.script)
	p.refuseOthers("/passkey.js", "GET, HEAD")
	for path, methods := range p.methods {
		p.refuseOthers(path, strings.Join(methods, ", "))
	}
	p.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		p.fail(p.newRequest(w, r), fault.New(fault.NotFound, "There is no such page"))
	})
}

// refuseOthers answers 405 to the methods of a path that have no page.
func (p *Pages) refuseOthers(path, allow string) {
	p.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", allow)
		p.fail(p.newRequest(w, r), fault.New(fault.MethodNotAllowed, "This page does not take the method %s", r.Method))
	})
}

// A request is one request of a browser.
type request struct {
	*http.Request
	w       http.ResponseWriter
	from    netip.Addr
	token   string          // of the session; empty: not signed in
	session account.Session // zero: not signed in
}

func (req *request) signedIn() bool { return req.token != "" }

// ref is the session for the authorization server.
func (req *request) ref() oauthas.SessionRef {
	return oauthas.SessionRef{ID: req.session.ID, AccountID: req.session.AccountID}
}

// A pageHandler handles a request. A *fault.Error that it returns becomes an error page.
type pageHandler func(*request) (response, error)

// Limits of request bodies.
const (
	maxForm   = 32 << 10  // bytes; an authorization request may have 4 KiB of state
	maxScript = 160 << 10 // bytes of a passkey's response as JSON, with its flow
	maxNames  = 512 << 10 // bytes of a form with [portfolio.MaxChange] names of the greatest length, and their separators
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

// handle adds a page that needs no session. It refuses POST from other sites (CSRF).
func (p *Pages) handle(pattern, name string, act pageHandler) {
	p.handleCrossSite(pattern, name, func(req *request) (response, error) {
		if err := p.crossOrigin.Check(req.Request); err != nil {
			return response{}, errCrossOrigin()
		}
		return act(req)
	})
}

func errCrossOrigin() error {
	return fault.New(fault.Forbidden, "This form was sent from another site").WithHint("nothing was changed")
}

// handleSignedIn adds a page for signed-in users. Others are redirected to the sign-in page.
func (p *Pages) handleSignedIn(pattern, name string, act pageHandler) {
	p.handle(pattern, name, func(req *request) (response, error) {
		if req.signedIn() {
			return act(req)
		}
		if isScript(req.Request) {
			return response{}, fault.New(fault.AuthenticationRequired, "Your session has ended").WithHint("load the page again")
		}
		if req.Method == http.MethodGet || req.Method == http.MethodHead {
			return seeOther(signInURL(req.URL.RequestURI())), nil
		}
		return seeOther(signInURL(accountPage(req.URL.Path))), nil
	})
}

// accountPage is the path of the page with the form that posts to path.
func accountPage(path string) string {
	parts := strings.SplitN(path, "/", 4)
	return strings.Join(parts[:min(len(parts), 3)], "/")
}

// handleCrossSite adds a page that takes POST from other sites too.
func (p *Pages) handleCrossSite(pattern, name string, act pageHandler) {
	method, path, _ := strings.Cut(pattern, " ")
	if p.methods[path] = append(p.methods[path], method); method == http.MethodGet {
		p.methods[path] = append(p.methods[path], http.MethodHead) // which GET implies
	}
	p.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		middleware.Note(r.Context(), name, "")
		req := p.newRequest(w, r)
		if err := p.loadSession(req); err != nil {
			p.fail(req, err)
			return
		}
		if err := p.charge(req, []op.Charge{{Class: op.Page, Count: 1}}); err != nil {
			p.fail(req, err)
			return
		}
		if r.ContentLength > bodyLimit(r) { // before any of it is read
			p.fail(req, errFormTooLarge())
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, bodyLimit(r))
		if err := readForm(r); err != nil {
			p.fail(req, err)
			return
		}
		a, err := act(req)
		if err != nil {
			p.fail(req, err)
			return
		}
		p.send(req, a)
	})
}

// charge draws from the rate limits of the account, or of the client address without a session.
func (p *Pages) charge(req *request, charges []op.Charge) error {
	ctx := op.WithCaller(req.Context(), op.Caller{Account: req.session.AccountID})
	return p.mw.Charge(req.w, req.WithContext(ctx), charges)
}

func (p *Pages) newRequest(w http.ResponseWriter, r *http.Request) *request {
	return &request{Request: r, w: w, from: p.mw.ClientIP(r)}
}

func errFormTooLarge() error { return fault.New(fault.PayloadTooLarge, "This form is too large") }

// readForm parses the form of a POST; handlers decode the JSON of the script.
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

// serve sets the headers of every response.
func (p *Pages) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy("", false))
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	p.mux.ServeHTTP(w, r)
}

// scriptMaxAge is how long a browser may cache the script.
const scriptMaxAge = 5 * time.Minute
