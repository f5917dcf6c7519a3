package pages

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/namewharf/namewharf/oauthas"
	"github.com/namewharf/namewharf/ratelimit"
)

// authorize is the authorization endpoint (RFC 6749, section 3.1). Applications send browsers here by GET or POST; the answer
// of the consent page comes by POST, and only from our own page.
func (p *Pages) authorize(req *request) (response, error) {
	params := req.URL.Query()
	if req.Method == http.MethodPost {
		if req.PostForm.Has("interaction") {
			return p.decide(req)
		}
		params = req.PostForm
	}
	d, err := p.oauth.Authorize(req.Context(), oauthas.AuthorizeRequest{Params: params, Session: req.ref(), Method: req.Method, From: req.from})
	if err != nil {
		return response{}, err
	}
	return p.show(req, d, params)
}

// decide takes the answer of the consent page.
func (p *Pages) decide(req *request) (response, error) {
	if err := p.crossOrigin.Check(req.Request); err != nil {
		return response{}, errCrossOrigin()
	}
	d, err := p.oauth.Answer(req.Context(), req.PostForm.Get("interaction"), req.ref(), req.PostForm.Get("answer") == "allow")
	if err != nil {
		return response{}, err
	}
	return p.show(req, d, nil)
}

// show returns the response for a decision.
func (p *Pages) show(req *request, d oauthas.Decision, params url.Values) (response, error) {
	switch d := d.(type) {
	case oauthas.ErrorPage:
		ratelimit.WriteRetryAfter(req.w.Header(), d.Retry)
		return response{
			page: "failed", title: "This did not work", status: d.Status,
			data: failure{Text: d.Text, Detail: d.Detail},
		}, nil
	case oauthas.SignIn:
		return seeOther(signInURL(authorizePath + "?" + params.Encode())), nil
	case oauthas.Redirect:
		return seeOther(d.URL), nil
	case oauthas.Consent:
		return response{
			page: "consent", title: "Allow access?", formAction: d.FormAction,
			data: consentData{Consent: d, Local: strings.HasPrefix(d.RedirectURI, "http://"), App: strings.HasSuffix(d.RedirectHost, ":")},
		}, nil
	}
	return response{}, fmt.Errorf("authorize: a decision of type %T", d)
}

// consentData is the data of the consent page.
type consentData struct {
	oauthas.Consent
	Local bool // the redirect URI is on loopback
	App   bool // the redirect URI has a private-use scheme
}

// authorizeParams returns the parameters of a return path that is an authorization request.
func authorizeParams(back string) (url.Values, bool) {
	query, ok := strings.CutPrefix(back, authorizePath+"?")
	if !ok {
		return nil, false
	}
	params, err := url.ParseQuery(query)
	return params, err == nil
}

// formAction is the CSP source of a client's redirect URI.
func formAction(redirect string) string {
	u, err := url.Parse(redirect)
	switch {
	case err != nil || u.Scheme == "":
		return ""
	case u.Scheme == "http" || u.Scheme == "https":
		return u.Scheme + "://" + u.Host
	}
	return u.Scheme + ":"
}
