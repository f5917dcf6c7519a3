package pages

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/namewharf/namewharf/account"
	"github.com/namewharf/namewharf/brokerage"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/ratelimit"
	"github.com/namewharf/namewharf/serve/middleware"
	"github.com/namewharf/namewharf/tools"
)

//go:embed assets
var assets embed.FS

// A response is a page, a redirect, JSON or a download.
type response struct {
	page       string // the template, without ".html"
	title      string
	status     int    // 0: 200
	notice     string // success message
	problem    *problem
	data       any
	script     bool   // the page loads passkey.js
	private    bool   // search engines must not list it
	formAction string // CSP source for form-action, besides 'self'
	to         string // target of a 303 redirect; there is no page
	json       any    // for the script; there is no page

	file     func(io.Writer) error // a download; there is no page
	filename string
}

func seeOther(to string) response { return response{to: to} }

// A problem is an error in a form, as a sentence for the user.
type problem struct {
	Text, Field string
	retry       time.Duration
}

// problemOf turns a fault into a problem and its status; it returns internal errors.
func problemOf(err error) (*problem, int, error) {
	var f *fault.Error
	if !errors.As(err, &f) || f.Code == fault.Internal {
		return nil, 0, err
	}
	pr := &problem{Text: sentences(f), retry: f.Retry}
	if len(f.Fields) > 0 {
		pr.Field = f.Fields[0].Field
	}
	return pr, statusOf(f.Code), nil
}

// statusOf is the status of a page about a failure. 401 needs a challenge (RFC 9110, section 15.5.2), which pages do not have.
func statusOf(c fault.Code) int {
	if s := c.Status(); s != http.StatusUnauthorized {
		return s
	}
	return http.StatusForbidden
}

// fieldNames are the labels of fields in forms.
var fieldNames = map[string]string{"email": "The e-mail address", "password": "The password", "domain": "The domain name", "names": "The list of names", "price": "The price", "amount": "The amount", "message": "The message", "number": "The card number", "expiry": "The expiry date", "cvc": "The security code"}

// sentences formats a fault for the user.
func sentences(f *fault.Error) string {
	text := sentence(f.Detail)
	if len(f.Fields) > 0 {
		if name, ok := fieldNames[f.Fields[0].Field]; ok {
			text = sentence(name + " " + f.Fields[0].Reason)
		}
	}
	return strings.TrimSpace(text + " " + sentence(f.Hint))
}

func sentence(s string) string {
	if s == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(s)
	s = string(unicode.ToUpper(first)) + s[size:]
	if strings.ContainsAny(s[len(s)-1:], ".?!") {
		return s
	}
	return s + "."
}

// formProblem shows the form again with the problem. It returns an internal error.
func formProblem(a response, err error) (response, error) {
	pr, status, err := problemOf(err)
	if err != nil {
		return response{}, err
	}
	a.problem, a.status = pr, status
	return a, nil
}

// policy is the Content-Security-Policy of a page. Browsers apply form-action to the redirects of a form too, so the
// consent page has to name its target.
func policy(formAction string, script bool) string {
	p := "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"
	if formAction != "" {
		p += " " + formAction
	}
	if script {
		p += "; script-src 'self'; connect-src 'self'"
	}
	return p
}

// view is the data of the templates.
type view struct {
	Title   string
	Email   string // of the signed-in user; empty: not signed in
	Tabs    []tab  // none: a page without navigation
	Notice  string
	Problem *problem
	Script  bool
	Private bool // search engines must not list it
	Domains bool // there is a page of domains
	Data    any
}

// Bad reports whether the field is invalid.
func (d view) Bad(field string) bool { return d.Problem != nil && d.Problem.Field == field }

// send writes a response.
func (p *Pages) send(req *request, a response) {
	h := req.w.Header()
	status := a.status
	if status == 0 {
		status = http.StatusOK
	}
	switch {
	case a.to != "":
		h.Set("Location", a.to)
		req.w.WriteHeader(http.StatusSeeOther)
		return
	case a.json != nil:
		p.sendJSON(req, status, a.json)
		return
	case a.file != nil:
		p.sendFile(req, a)
		return
	}
	var b bytes.Buffer
	err := templates[a.page].ExecuteTemplate(&b, "layout", view{
		Title: a.title, Email: req.session.Email, Tabs: p.tabs(req, a.page), Notice: a.notice, Problem: a.problem, Script: a.script, Private: a.private,
		Domains: p.portfolios != nil, Data: a.data,
	})
	if err != nil {
		p.mw.WriteError(req.w, req.Request, "", fmt.Errorf("render the page %s: %w", a.page, err))
		return
	}
	if a.problem != nil {
		ratelimit.WriteRetryAfter(h, a.problem.retry)
	}
	h.Set("Content-Security-Policy", policy(a.formAction, a.script))
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	req.w.WriteHeader(status)
	_, _ = req.w.Write(b.Bytes()) // the connection may be closed
}

// fail sends an error page, or an error body to the script. It logs internal errors.
func (p *Pages) fail(req *request, err error) {
	if isScript(req.Request) {
		p.failJSON(req, err)
		return
	}
	f := p.mw.Expose(req.Context(), err)
	a := response{page: "failed", title: f.Code.Title(), status: statusOf(f.Code), data: failure{Text: sentences(f)}}
	if f.Code == fault.Internal {
		a.data = failure{Text: "Something failed on our side. Please try again in a moment.", Request: middleware.RequestID(req.Context())}
	}
	ratelimit.WriteRetryAfter(req.w.Header(), f.Retry)
	p.send(req, a)
}

// A failure is the data of the error page.
type failure struct {
	Text    string
	Detail  string // for an application's developer
	Request string // the request's id
}

// templates are the page templates, each with the layout.
var templates = func() map[string]*template.Template {
	layout := template.Must(template.New("layout.html").Funcs(template.FuncMap{"when": formatTime, "scope": scopeText, "event": account.Event.Text, "joint": separator, "price": formatPrice, "state": func(s brokerage.State) string { return stateNames[s] }}).
		ParseFS(assets, "assets/layout.html"))
	files, err := assets.ReadDir("assets")
	if err != nil {
		panic(err)
	}
	all := map[string]*template.Template{}
	for _, f := range files {
		name, ok := strings.CutSuffix(f.Name(), ".html")
		if !ok || name == "layout" {
			continue
		}
		all[name] = template.Must(template.Must(layout.Clone()).ParseFS(assets, "assets/"+f.Name()))
	}
	return all
}()

// A tab is a link in the account's navigation.
type tab struct {
	Path, Name string
	Here       bool
}

// accountTabs are the pages of the account, by the template of each.
var accountTabs = []struct{ page, path, name string }{
	{"overview", "/account", "Overview"},
	{"domains", domainsPath, "Domains"},
	{"apps", "/account/apps", "Apps"},
	{"sessions", "/account/sessions", "Sessions"},
	{"passkeys", "/account/passkeys", "Passkeys"},
	{"security", "/account/security", "Security"},
}

// tabs is the navigation on a page of the account.
func (p *Pages) tabs(req *request, page string) (all []tab) {
	switch page {
	case "bulk":
		page = "domains"
	case "export", "delete":
		page = "overview"
	case "link-provider":
		page = "security"
	}
	found := false
	for _, t := range accountTabs {
		if t.path == domainsPath && p.portfolios == nil {
			continue
		}
		found = found || t.page == page
		all = append(all, tab{t.path, t.name, t.page == page})
	}
	if !found || !req.signedIn() {
		return nil
	}
	return all
}

// formatTime formats a time for a page.
func formatTime(t time.Time) template.HTML {
	if t.IsZero() {
		return "never"
	}
	t = t.UTC()
	return template.HTML(`<time datetime="` + t.Format(time.RFC3339) + `">` + t.Format("2 January 2006, 15:04") + ` UTC</time>`)
}

// separator joins an event and its detail, as one sentence or with a colon.
func separator(e account.Event) string {
	switch e {
	case account.SignedUp, account.SignedIn, account.SignInFailed:
		return " "
	}
	return ": "
}

// formatPrice formats an amount, such as 1,250.50 USD.
func formatPrice(a money.Amount) string {
	text := a.String()
	for i := strings.IndexByte(text, '.') - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// scopeText describes a scope to the user.
func scopeText(scope string) string {
	switch scope {
	case tools.ScopePricing:
		return "See marketplace prices in your name"
	case tools.ScopeDomains:
		return "Manage your domain names: add, verify, offer for sale, change prices, remove"
	}
	return scope
}
