package clilogin

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// Transport returns a transport that adds the access token to requests for the resource and paths below it, and to no
// others. Without a sign-in it sends requests unchanged. If the resource rejects the token, it refreshes the token and
// sends the request once more, if the body can be read again. Errors are those of [Login.Token].
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
			_ = r.Body.Close() // as http.RoundTripper requires
		}
		return nil, err
	}
	response, err := next.RoundTrip(withToken(r, token))
	if err != nil || !rejected(response) {
		return response, err
	}
	if token, err = t.login.Renew(r.Context(), token); err != nil {
		_ = response.Body.Close()
		return nil, err
	}
	again := withToken(r, token)
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

// withToken returns the request with the token.
func withToken(r *http.Request, token string) *http.Request {
	clone := r.Clone(r.Context())
	clone.Header.Set("Authorization", "Bearer "+token)
	return clone
}

// rejected reports whether the response says that the token is invalid (RFC 6750, section 3.1).
func rejected(response *http.Response) bool {
	return response.StatusCode == http.StatusUnauthorized &&
		strings.Contains(strings.Join(response.Header.Values("WWW-Authenticate"), " "), `error="invalid_token"`)
}

// covers reports whether a request is for the resource. No other server may see the token.
func (l *Login) covers(u *url.URL) bool {
	c := canonical(u)
	rest, below := strings.CutPrefix(c.EscapedPath(), l.resource.EscapedPath())
	return c.Scheme == l.resource.Scheme && c.Host == l.resource.Host && below && (rest == "" || rest[0] == '/')
}
