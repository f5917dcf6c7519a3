package middleware

import (
	"net/http"
	"strings"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
)

// maxToken bounds an access token; ours are under 64 bytes.
const maxToken = 512

// Caller finds out who sent the request, for a resource given by its URL. Without an Authorization header the caller
// is anonymous. A header that is not a bearer token (RFC 6750, section 2.1), or whose token the [TokenVerifier] refuses, is
// [fault.InvalidToken] and never anonymous; two headers are [fault.Validation]. Tokens in the query are ignored.
func (mw *Stack) Caller(r *http.Request, resource string) (op.Caller, error) {
	values := r.Header["Authorization"]
	switch {
	case len(values) == 0:
		return op.Caller{}, nil
	case len(values) > 1:
		return op.Caller{}, fault.New(fault.Validation, "the Authorization header is given twice").WithHint("send it once")
	}
	token, ok := bearer(values[0])
	if !ok {
		return op.Caller{}, fault.New(fault.InvalidToken, "the Authorization header is not a bearer token").
			WithHint("send it as: Authorization: Bearer TOKEN")
	}
	caller, err := mw.cfg.Tokens.Caller(r.Context(), token, resource)
	if err != nil {
		return op.Caller{}, err
	}
	Note(r.Context(), "", Account)
	return caller, nil
}

// As returns the request with its caller: operations in its context run for that caller. Inside [Stack.Wrap] that is the
// request itself. It must be called from the goroutine that serves the request.
func As(r *http.Request, caller op.Caller) *http.Request {
	if rec := accessRecordFrom(r.Context()); rec != nil {
		rec.asks = caller
		return r
	}
	return r.WithContext(op.WithCaller(r.Context(), caller))
}

// bearer takes the token out of an Authorization header: the scheme in any case, then a b64token.
func bearer(header string) (string, bool) {
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	token = strings.Trim(token, " ")
	body := strings.TrimRight(token, "=")
	if body == "" || len(token) > maxToken {
		return "", false
	}
	for i := range len(body) {
		switch c := body[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~+/", c) >= 0:
		default:
			return "", false
		}
	}
	return token, true
}

// Challenge is the WWW-Authenticate value (RFC 6750, section 3; RFC 9728, section 5.1) that leads a client to the
// authorization server of the resource. A nil err, or one that a missing token explains, names no error code.
func (mw *Stack) Challenge(resource string, err *fault.Error) string {
	var b strings.Builder
	b.WriteString("Bearer ")
	scope := mw.cfg.DefaultScope
	if err != nil {
		if err.Scope != "" {
			scope = err.Scope
		}
		if code := oauthError(err.Code); code != "" {
			b.WriteString(`error="` + code + `", error_description="`)
			b.WriteString(quotable(err.Message()))
			b.WriteString(`", `)
		}
	}
	b.WriteString(`resource_metadata="` + metadataURL(resource) + `"`)
	if scope != "" {
		b.WriteString(`, scope="` + scope + `"`)
	}
	return b.String()
}

func oauthError(code fault.Code) string {
	switch code {
	case fault.InvalidToken:
		return "invalid_token"
	case fault.InsufficientScope:
		return "insufficient_scope"
	}
	return ""
}

// metadataURL is the address of the protected-resource document of a resource: the well-known path goes between the
// host and the path of the resource (RFC 9728, section 3.1).
func metadataURL(resource string) string {
	const wellKnown = "/.well-known/oauth-protected-resource"
	start := strings.Index(resource, "://") + len("://")
	if slash := strings.IndexByte(resource[start:], '/'); slash >= 0 {
		return resource[:start+slash] + wellKnown + resource[start+slash:]
	}
	return resource + wellKnown
}

// quotable removes what an error_description may not hold: it leaves printable ASCII without quotes and backslashes.
func quotable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '"' || r == '\\':
			return '\''
		case r < ' ' || r > '~':
			return -1
		}
		return r
	}, s)
}

// challenged reports whether an answer of this code asks the client to authenticate.
func challenged(code fault.Code) bool {
	switch code {
	case fault.AuthenticationRequired, fault.InvalidToken, fault.InsufficientScope:
		return true
	}
	return false
}
