package pages

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/namewharf/namewharf/oauthas"
	"github.com/namewharf/namewharf/ratelimit"
)

// authorize is the authorization endpoint (RFC 6749, section 3.1). Applications send people here by GET or POST; the
// form of the question comes back by POST, and only from our own page.
func (p *Pages) authorize(v *visit) (answer, error) {
	params := v.URL.Query()
	if v.Method == http.MethodPost {
		if v.PostForm.Has("interaction") {
			return p.decide(v)
		}
		params = v.PostForm
	}
	d, err := p.oauth.Authorize(v.Context(), oauthas.AuthorizeRequest{Params: params, Session: v.ref(), Method: v.Method, From: v.from})
	if err != nil {
		return answer{}, err
	}
	return p.show(v, d, params)
}

// decide takes the answer to the question.
func (p *Pages) decide(v *visit) (answer, error) {
	if err := p.foreign.Check(v.Request); err != nil {
		return answer{}, errForeign()
	}
	d, err := p.oauth.Answer(v.Context(), v.PostForm.Get("interaction"), v.ref(), v.PostForm.Get("answer") == "allow")
	if err != nil {
		return answer{}, err
	}
	return p.show(v, d, nil)
}

// show is a decision as the browser gets it.
func (p *Pages) show(v *visit, d oauthas.Decision, params url.Values) (answer, error) {
	switch d := d.(type) {
	case oauthas.ErrorPage:
		ratelimit.WriteRetryAfter(v.w.Header(), d.Retry)
		return answer{
			page: "failed", title: "This did not work", status: d.Status,
			data: failure{Text: d.Text, Detail: d.Detail},
		}, nil
	case oauthas.SignIn:
		return seeOther(signInFor(authorizePath + "?" + params.Encode())), nil
	case oauthas.Redirect:
		return seeOther(d.URL), nil
	case oauthas.Consent:
		return answer{
			page: "consent", title: "Allow access?", formAction: d.FormAction,
			data: question{Consent: d, Local: strings.HasPrefix(d.RedirectURI, "http://"), App: strings.HasSuffix(d.RedirectHost, ":")},
		}, nil
	}
	return answer{}, fmt.Errorf("authorize: a decision of type %T", d)
}

// A question is what the consent page asks.
type question struct {
	oauthas.Consent
	Local bool // the answer goes to a program on the person's own computer
	App   bool // it goes to an application that claims a scheme on the device
}

// authorizeParams are those of the authorization request that a path of ours is.
func authorizeParams(back string) (url.Values, bool) {
	query, ok := strings.CutPrefix(back, authorizePath+"?")
	if !ok {
		return nil, false
	}
	params, err := url.ParseQuery(query)
	return params, err == nil
}

// formAction is the CSP source of a redirect URI that was found to be a client's.
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
