package oauthas

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/ratelimit"
)

// maxBody bounds the body of every request to the server.
const maxBody = 16 << 10

// A form is a request to the token or the revocation endpoint.
type form struct {
	values url.Values
	client string // client_id of the sender; empty: not given
	basic  bool   // in an Authorization header
}

// A refusal is an error answer (RFC 6749, section 5.2).
type refusal struct {
	status    int
	err       oauthError
	wantBasic bool // the client tried Basic, for which RFC 6749 requires a challenge
}

func newRefusal(status int, code, description string) *refusal {
	return &refusal{status: status, err: oauthError{code, description}}
}

func (r *refusal) challenge(basic bool) *refusal {
	r.wantBasic = basic
	return r
}

func (r *refusal) write(w http.ResponseWriter) {
	if r.wantBasic {
		w.Header().Set("WWW-Authenticate", `Basic realm="token"`)
	}
	writeJSON(w, r.status, struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}{r.err.code, r.err.description})
}

// writeJSON writes a response that may not be cached.
func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := op.Marshal(v)
	if err != nil { // impossible: it consists of strings and numbers
		panic(err)
	}
	h := w.Header()
	h["Content-Type"] = []string{"application/json"}
	h["Cache-Control"] = []string{"no-store"}
	h["Pragma"] = []string{"no-cache"}
	w.WriteHeader(status)
	w.Write(append(body, '\n'))
}

// fail logs an internal error and answers 500.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	s.cfg.Logger.ErrorContext(r.Context(), "oauth request failed", "path", r.URL.Path, "error", err.Error())
	newRefusal(http.StatusInternalServerError, errServer, "something went wrong on our side").write(w)
}

// readForm reads the body and identifies the client. Parameters must be in the body, since URLs end up in logs, and only
// resource may be repeated, since parsers disagree about repeated ones.
func readForm(w http.ResponseWriter, r *http.Request) (form, *refusal) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/x-www-form-urlencoded" {
		return form{}, newRefusal(http.StatusBadRequest, errInvalidRequest, "the body must be application/x-www-form-urlencoded")
	}
	if r.URL.RawQuery != "" || r.URL.ForceQuery {
		return form{}, newRefusal(http.StatusBadRequest, errInvalidRequest, "parameters must be in the body, not in the query")
	}
	body, refused := readBody(w, r)
	if refused != nil {
		return form{}, refused
	}
	values, err := url.ParseQuery(string(body))
	if err != nil {
		return form{}, newRefusal(http.StatusBadRequest, errInvalidRequest, "the body is not a form")
	}
	for name, v := range values {
		if len(v) > 1 && name != "resource" {
			return form{}, newRefusal(http.StatusBadRequest, errInvalidRequest, "a parameter is given twice")
		}
	}
	f := form{values: values, client: values.Get("client_id")}
	return f, f.authenticate(r.Header["Authorization"])
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, *refusal) {
	if r.ContentLength > maxBody { // before any of it is read
		return nil, errBodyTooLarge()
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, errBodyTooLarge()
	}
	if f, ok := errors.AsType[*fault.Error](err); ok { // it did not come in time, or there is no memory for it
		if f.Code == fault.Unavailable {
			ratelimit.WriteRetryAfter(w.Header(), f.Retry)
			return nil, newRefusal(f.Code.Status(), errUnavailable, f.Message())
		}
		return nil, newRefusal(f.Code.Status(), errInvalidRequest, f.Message())
	}
	if err != nil {
		return nil, newRefusal(http.StatusBadRequest, errInvalidRequest, "the body could not be read")
	}
	return body, nil
}

func errBodyTooLarge() *refusal {
	return newRefusal(http.StatusRequestEntityTooLarge, errInvalidRequest, "the body is over the limit of 16 KiB")
}

// authenticate finds the client in the form or a Basic header (RFC 6749, section 2.3.1). Clients are public: a secret is
// refused, except an empty one in a Basic header, which some libraries send.
func (f *form) authenticate(headers []string) *refusal {
	if f.values.Get("client_secret") != "" || f.values.Get("client_assertion") != "" {
		return newRefusal(http.StatusUnauthorized, errInvalidClient, "clients here are public and have no secret")
	}
	switch len(headers) {
	case 0:
		return nil
	case 1:
	default:
		return newRefusal(http.StatusBadRequest, errInvalidRequest, "the Authorization header is given twice")
	}
	f.basic = true
	bad := newRefusal(http.StatusUnauthorized, errInvalidClient, "the Authorization header is not Basic with a client_id and an empty secret")
	id, secret, ok := (&http.Request{Header: http.Header{"Authorization": headers}}).BasicAuth()
	if !ok || secret != "" {
		return bad.challenge(true)
	}
	id, err := url.QueryUnescape(id)
	if err != nil || id == "" {
		return bad.challenge(true)
	}
	if f.client != "" && f.client != id {
		return newRefusal(http.StatusBadRequest, errInvalidRequest, "client_id and the Authorization header differ")
	}
	f.client = id
	return nil
}
