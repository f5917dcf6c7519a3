package oauthas

import (
	"net/url"
	"slices"
	"strings"
)

// maxState bounds state: some clients put a whole object in it.
const maxState = 4 << 10

// A client is an OAuth client. Its name is unverified.
type client struct {
	id        string
	name      string // may be empty
	redirects []string
	host      string // of its metadata document; empty: a registered client
}

// size is an estimate of its bytes in memory.
func (c client) size() int64 {
	n := 256 + len(c.id) + len(c.name) + len(c.host)
	for _, r := range c.redirects {
		n += 16 + len(r)
	}
	return int64(n)
}

// An oauthError is an OAuth error: a code from the RFCs and a sentence for the developer.
type oauthError struct{ code, description string }

// Error codes of RFC 6749, sections 4.1.2.1 and 5.2, RFC 8707, RFC 7591 and OpenID Connect Core, section 3.1.2.6.
const (
	errInvalidRequest  = "invalid_request"
	errInvalidClient   = "invalid_client"
	errInvalidGrant    = "invalid_grant"
	errInvalidScope    = "invalid_scope"
	errInvalidTarget   = "invalid_target"
	errAccessDenied    = "access_denied"
	errResponseType    = "unsupported_response_type"
	errGrantType       = "unsupported_grant_type"
	errConsentRequired = "consent_required"
	errInvalidRedirect = "invalid_redirect_uri"
	errInvalidMetadata = "invalid_client_metadata"
	errServer          = "server_error"
	errUnavailable     = "temporarily_unavailable"
	errTooManyRequests = "too_many_requests"
	errNotFound        = "not_found"
)

// A request is a checked authorization request. It is stored as JSON while the consent page is open, so that the user grants
// what the page shows.
type request struct {
	ClientID    string `json:"client_id"`
	ClientName  string `json:"client_name"`
	Host        string `json:"host"`
	RedirectURI string `json:"redirect_uri"`
	State       []byte `json:"state"` // verbatim, possibly not UTF-8
	Challenge   string `json:"challenge"`
	Scope       string `json:"scope"`    // separated by spaces
	Resource    string `json:"resource"` // separated by spaces

	silent bool // prompt=none: no page may be shown
	asked  bool // prompt: the user has to be asked even if consent is remembered
}

// param returns the value of a parameter. An empty one counts as absent, and none may be repeated (RFC 6749, section 3.1).
func param(params url.Values, name string) (value string, once bool) {
	values := params[name]
	switch len(values) {
	case 0:
		return "", true
	case 1:
		return values[0], true
	}
	return "", false
}

// authorizeParams are the known parameters, each allowed once; others are ignored.
var authorizeParams = []string{
	"response_type", "state", "scope", "code_challenge", "code_challenge_method", "prompt",
}

// chooseRedirect returns the redirect URI of the request, if the client registered it. problem is the text of an error page:
// errors must not go to an unregistered URI.
func chooseRedirect(c client, params url.Values) (uri, problem string) {
	uri, once := param(params, "redirect_uri")
	switch {
	case !once:
		return "", "The application gave more than one redirect address."
	case uri == "" && len(c.redirects) == 1:
		return c.redirects[0], ""
	case uri == "":
		return "", "The application did not give a redirect address."
	case !slices.ContainsFunc(c.redirects, func(r string) bool { return matchRedirect(r, uri) }):
		return "", "The application did not register this redirect address."
	}
	return uri, ""
}

// checkRequest checks the parameters of a request with a known client and redirect URI. On an error the result has only the
// state.
func checkRequest(a audience, c client, redirect string, params url.Values) (request, *oauthError) {
	state, once := param(params, "state")
	if !once || len(state) > maxState {
		return request{}, &oauthError{errInvalidRequest, "state is given twice or is too long"}
	}
	refused := request{State: []byte(state)}
	for _, name := range authorizeParams {
		if len(params[name]) > 1 {
			return refused, &oauthError{errInvalidRequest, name + " is given twice"}
		}
	}
	switch t := params.Get("response_type"); t {
	case "code":
	case "":
		return refused, &oauthError{errInvalidRequest, "response_type is missing"}
	default:
		return refused, &oauthError{errResponseType, "response_type must be code"}
	}
	challenge := params.Get("code_challenge")
	if e := checkChallenge(challenge, params.Get("code_challenge_method")); e != nil {
		return refused, e
	}
	scope, ok := findScopes(params.Get("scope"))
	if !ok {
		return refused, &oauthError{errInvalidScope, "the scopes are " + strings.Join(scopes, " and ")}
	}
	resources, ok := a.find(present(params["resource"]))
	if !ok {
		return refused, &oauthError{errInvalidTarget, "resource is not one that this server protects"}
	}
	prompts := strings.Fields(params.Get("prompt"))
	silent := slices.Contains(prompts, "none")
	if silent && len(prompts) > 1 {
		return refused, &oauthError{errInvalidRequest, "prompt=none excludes other prompts"}
	}
	return request{
		ClientID: c.id, ClientName: c.name, Host: c.host, RedirectURI: redirect, State: []byte(state),
		Challenge: challenge, Scope: scope, Resource: strings.Join(resources, " "),
		silent: silent, asked: len(prompts) > 0 && !silent,
	}, nil
}

// challengeLength is the length of SHA-256 in base64url (RFC 7636, section 4.2).
const challengeLength = 43

// checkChallenge checks the PKCE parameters. An absent method means S256 here, as OAuth 2.1 clients expect, not plain as in
// RFC 7636.
func checkChallenge(challenge, method string) *oauthError {
	switch {
	case challenge == "":
		return &oauthError{errInvalidRequest, "code_challenge is missing: PKCE is required"}
	case method != "" && method != "S256":
		return &oauthError{errInvalidRequest, "code_challenge_method must be S256"}
	case len(challenge) != challengeLength || !base64url(challenge):
		return &oauthError{errInvalidRequest, "code_challenge must be 43 characters of base64url"}
	}
	return nil
}

// findScopes returns the requested scopes in a fixed order; an empty list means pricing:read. ok is false if one is unknown.
func findScopes(scope string) (found string, ok bool) {
	asked := strings.Fields(scope)
	if len(asked) == 0 {
		return scopes[0], true
	}
	var list []string
	for _, s := range scopes {
		if slices.Contains(asked, s) {
			list = append(list, s)
		}
	}
	for _, s := range asked {
		if !slices.Contains(scopes, s) {
			return "", false
		}
	}
	return strings.Join(list, " "), true
}

// within reports whether every scope in narrow is in wide, both separated by spaces.
func within(narrow, wide string) bool {
	held := strings.Fields(wide)
	for s := range strings.FieldsSeq(narrow) {
		if !slices.Contains(held, s) {
			return false
		}
	}
	return true
}

// present removes empty values, which count as absent.
func present(values []string) []string {
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == "" })
}

// rememberable reports whether consent to the request may be remembered. Anybody can register a client, listen on a loopback
// port or claim a private scheme, so only https redirects of metadata documents qualify (RFC 8252, section 8.6).
func (r request) rememberable() bool {
	t := targetOf(r.RedirectURI)
	return r.Host != "" && t.web && !t.loopback
}

// answerURL is the redirect URI with the authorization response appended to its query.
func (r request) answerURL(issuer string, answer url.Values) string {
	if len(r.State) > 0 {
		answer.Set("state", string(r.State))
	}
	answer.Set("iss", issuer) // RFC 9207
	joint := "?"
	if _, query, found := strings.Cut(r.RedirectURI, "?"); found {
		joint = "&"
		if query == "" || strings.HasSuffix(query, "&") {
			joint = ""
		}
	}
	return r.RedirectURI + joint + answer.Encode()
}

// errorURL is answerURL for an error.
func (r request) errorURL(issuer string, e *oauthError) string {
	return r.answerURL(issuer, url.Values{"error": {e.code}, "error_description": {e.description}})
}
