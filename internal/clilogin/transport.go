package clilogin

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// Transport returns a transport that adds the access token to requests for the resource and what is below it, and to
// no others. Where nobody has signed in, requests go out as they are. A token that the resource rejects is renewed, and
// the request is sent once more if its body can be had again. Errors are those of [Login.Token].
func (l *Login) Transport() http.RoundTripper { return transport{l} }

type transport struct{ login *Login }

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	next := t.login.options.Transport
	if !t.login.covers(r.URL) || r.Header.Get("Authorization") != "" {
		return next.RoundTrip(r)
	}
	token, err := t.login.Token(r.Context())
	if errors.Is(err, ErrNotSignedIn) {
		return next.RoundTrip(r)
	}
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // as http.RoundTripper asks
		}
		return nil, err
	}
	response, err := next.RoundTrip(bearing(r, token))
	if err != nil || !rejected(response) {
		return response, err
	}
	if token, err = t.login.Renew(r.Context(), token); err != nil {
		_ = response.Body.Close()
		return nil, err
	}
	again := bearing(r, token)
	switch {
	case r.GetBody != nil:
		if again.Body, err = r.GetBody(); err != nil {
			return response, nil
		}
	case r.Body != nil && r.Body != http.NoBody:
		return response, nil
	}
	_ = response.Body.Close()
	return next.RoundTrip(again)
}

// bearing is the request with the token.
func bearing(r *http.Request, token string) *http.Request {
	with := r.Clone(r.Context())
	with.Header.Set("Authorization", "Bearer "+token)
	return with
}

// rejected reports whether the answer says that the token is not good (RFC 6750, section 3.1).
func rejected(response *http.Response) bool {
	return response.StatusCode == http.StatusUnauthorized &&
		strings.Contains(strings.Join(response.Header.Values("WWW-Authenticate"), " "), `error="invalid_token"`)
}

// covers reports whether a request is for the resource. Any other place must not see the token.
func (l *Login) covers(u *url.URL) bool {
	c := canonical(u)
	rest, below := strings.CutPrefix(c.EscapedPath(), l.resource.EscapedPath())
	return c.Scheme == l.resource.Scheme && c.Host == l.resource.Host && below && (rest == "" || rest[0] == '/')
}
