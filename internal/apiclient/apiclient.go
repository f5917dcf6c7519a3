// Package apiclient calls operations of a public API over HTTP.
package apiclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
)

// An API is a public API by its base URL.
type API struct {
	base   string
	token  string
	client *http.Client
}

// Limits of one call.
const (
	callTime   = 15 * time.Second // a look-up takes up to 8 s
	maxAnswer  = 8 << 20
	maxFailure = 64 << 10
)

// New returns the API at an http or https URL. The token, if any, is sent with every call.
func New(base, token string) (*API, error) {
	a, err := NewVia(base, nil)
	if err != nil {
		return nil, err
	}
	a.token = token
	return a, nil
}

// NewVia returns the API at an http or https URL, called over a transport that adds the token. A call returns a
// [*fault.Error] of the transport unchanged. nil is the default transport.
func NewVia(base string, transport http.RoundTripper) (*API, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("must be an http or https URL such as https://names.example")
	}
	client := &http.Client{Transport: transport, Timeout: callTime, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // a redirect would send the token to another server
	}}
	return &API{base: strings.TrimSuffix(base, "/"), client: client}, nil
}

// Call runs the operation with checked input. Its errors are those of the API, [fault.Unavailable] if the API cannot be
// reached, and [fault.Internal] on an invalid response.
func (a *API) Call(ctx context.Context, o *op.Op, raw []byte) (op.Answer, error) {
	request, err := a.request(ctx, o, raw)
	if err != nil {
		return op.Answer{}, err
	}
	response, err := a.client.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return op.Answer{}, ctx.Err()
		}
		if f, ok := errors.AsType[*fault.Error](err); ok {
			return op.Answer{}, f
		}
		return op.Answer{}, fault.New(fault.Unavailable, "the public API at %s does not answer: %s", a.base, fault.Words(reason(err).Error())).WithCause(err).
			WithHint("check that it runs and that -backend is its base URL")
	}
	defer response.Body.Close()
	if response.StatusCode >= 300 {
		return op.Answer{}, failure(response)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return op.Answer{}, fmt.Errorf("read the answer of %s: %w", o.Name, reason(err))
	}
	if len(body) > maxAnswer || !json.Valid(body) {
		return op.Answer{}, fmt.Errorf("the answer of %s is not JSON of at most %d bytes", o.Name, maxAnswer)
	}
	return op.Answer{JSON: bytes.TrimSpace(body), ETag: response.Header.Get("ETag")}, nil
}

// reason removes the request's URL, which may hold a private name, from an error.
func reason(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// request puts the input into the path as the route says, and the rest into the query or the body.
func (a *API) request(ctx context.Context, o *op.Op, raw []byte) (*http.Request, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, fmt.Errorf("decode checked input of %s: %w", o.Name, err)
	}
	path := o.Route.Path
	for name, value := range fields {
		wildcard := "{" + name + "}"
		if !strings.Contains(path, wildcard) {
			continue
		}
		path = strings.Replace(path, wildcard, url.PathEscape(text(value)), 1)
		delete(fields, name)
	}
	target, body := a.base+path, io.Reader(nil)
	if o.Route.Method == http.MethodGet {
		query := url.Values{}
		for name, value := range fields {
			query[name] = texts(value)
		}
		if len(query) > 0 {
			target += "?" + query.Encode()
		}
	} else {
		rest, err := json.Marshal(fields)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(rest)
	}
	request, err := http.NewRequestWithContext(ctx, o.Route.Method, target, body)
	if err != nil {
		return nil, fmt.Errorf("request of %s: %w", o.Name, err)
	}
	request.Header.Set("Accept", "application/json")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if a.token != "" {
		request.Header.Set("Authorization", "Bearer "+a.token)
	}
	return request, nil
}

// text formats a JSON scalar for a query.
func text(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) == nil {
		return s
	}
	return string(value)
}

func texts(value json.RawMessage) []string {
	var list []json.RawMessage
	if json.Unmarshal(value, &list) != nil {
		return []string{text(value)}
	}
	all := make([]string, len(list))
	for i := range list {
		all[i] = text(list[i])
	}
	return all
}

// failure reads the error body of a response.
func failure(response *http.Response) error {
	var body struct {
		Error struct {
			Code    fault.Code    `json:"code"`
			Message string        `json:"message"`
			Details []fault.Field `json:"details"`
		} `json:"error"`
	}
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxFailure))
	if err == nil {
		err = json.Unmarshal(raw, &body)
	}
	if err != nil || body.Error.Code == "" || body.Error.Code.Title() == "" {
		return fmt.Errorf("the public API answered with status %d and an unknown error body", response.StatusCode)
	}
	f := fault.New(body.Error.Code, "%s", body.Error.Message)
	f.Fields = body.Error.Details
	if seconds, err := time.ParseDuration(response.Header.Get("Retry-After") + "s"); err == nil {
		f.Retry = seconds
	}
	return f
}
