// Package partnercli is a client of the partner API for the command line: it signs and sends requests, and receives
// webhooks.
package partnercli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/partner/signature"
)

// A Credential signs requests.
type Credential struct{ KeyID, Secret string }

// A Request is a request to sign.
type Request struct {
	Method         string
	Target         string // path and query, e.g. /api/partner/v1/orders?limit=5
	Body           []byte // JSON; empty: none
	IdempotencyKey string // empty: none

	Timestamp, Nonce string // empty: the current time, and a random UUID
}

// A Signed is a signed request. It can be sent once, because its nonce is used then.
type Signed struct {
	Method    string
	Target    string // with the query as it is signed
	Body      []byte
	Headers   []Header
	Canonical string // the text that is signed
}

// A Header is a header field of a request.
type Header struct{ Name, Value string }

// Sign signs a request. It percent-encodes characters of the target that a request line cannot contain. It fails if the
// target is not a path, or its query is malformed.
func (c Credential) Sign(r Request, now time.Time) (Signed, error) {
	u, err := url.Parse("http://host" + r.Target)
	if err != nil || !strings.HasPrefix(r.Target, "/") || strings.Contains(r.Target, "#") {
		return Signed{}, errors.New("the path must be one such as /api/partner/v1/orders?limit=5")
	}
	query, err := signature.CanonicalQuery(u.RawQuery)
	if err != nil {
		return Signed{}, errors.New(fault.From(err).Message())
	}
	text := signature.Request{
		Method: strings.ToUpper(r.Method), Path: u.EscapedPath(), Query: query, Timestamp: r.Timestamp, Nonce: r.Nonce,
	}
	if text.Timestamp == "" {
		text.Timestamp = strconv.FormatInt(now.Unix(), 10)
	}
	if text.Nonce == "" {
		text.Nonce = uuid.NewString()
	}
	text.Body = signature.BodyDigest(text.Method, r.Body)
	s := Signed{Method: text.Method, Target: text.Path, Body: r.Body}
	if query != "" {
		s.Target += "?" + query
	}
	if s.Canonical, err = text.Canonical(); err != nil {
		return Signed{}, err
	}
	s.Headers = []Header{
		{signature.HeaderKeyID, c.KeyID},
		{signature.HeaderTimestamp, text.Timestamp},
		{signature.HeaderNonce, text.Nonce},
		{signature.HeaderSignature, signature.Sign(c.Secret, s.Canonical)},
	}
	if r.IdempotencyKey != "" {
		s.Headers = append(s.Headers, Header{signature.HeaderIdempotencyKey, r.IdempotencyKey})
	}
	if len(r.Body) > 0 {
		s.Headers = append(s.Headers, Header{"Content-Type", "application/json"})
	}
	return s, nil
}

// Curl returns a shell command that sends the request.
func (s Signed) Curl(base string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "curl --globoff --path-as-is -X %s %s", shellQuote(s.Method), shellQuote(base+s.Target))
	for _, h := range s.Headers {
		fmt.Fprintf(&b, " \\\n  -H %s", shellQuote(h.Name+": "+h.Value))
	}
	if len(s.Body) > 0 {
		fmt.Fprintf(&b, " \\\n  --data-raw %s", shellQuote(string(s.Body)))
	}
	return b.String()
}

// shellQuote quotes a word for a POSIX shell.
func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// A Client sends signed requests.
type Client struct {
	base string
	by   Credential
	http *http.Client
}

// Limits of one request.
const (
	requestTimeout = 30 * time.Second
	maxResponse    = 8 << 20
)

// NewClient returns a client of the service at an http or https URL.
func NewClient(base string, by Credential) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("must be an http or https URL such as https://names.example")
	}
	noRedirects := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // a signature is valid for one path
	return &Client{strings.TrimSuffix(base, "/"), by, &http.Client{Timeout: requestTimeout, CheckRedirect: noRedirects}}, nil
}

// An Answer is the service's response.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Do signs a request and sends it. A refusal is an answer; see [Answer.Err].
func (c *Client) Do(ctx context.Context, r Request) (Response, error) {
	s, err := c.by.Sign(r, time.Now())
	if err != nil {
		return Response{}, err
	}
	request, err := http.NewRequestWithContext(ctx, s.Method, c.base+s.Target, bytes.NewReader(s.Body))
	if err != nil {
		return Response{}, err
	}
	for _, h := range s.Headers {
		request.Header.Set(h.Name, h.Value)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return Response{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxResponse))
	if err != nil {
		return Response{}, fmt.Errorf("read the answer: %w", err)
	}
	return Response{response.StatusCode, response.Header, body}, nil
}

// Err is what a refusal says, nil for an answer that is none.
func (a Response) Err() error {
	if a.Status < 300 {
		return nil
	}
	var body struct {
		Error struct{ Code, Message string }
	}
	if json.Unmarshal(a.Body, &body) != nil || body.Error.Code == "" {
		return fmt.Errorf("the service answered %d %s", a.Status, http.StatusText(a.Status))
	}
	return fmt.Errorf("the service answered %d %s: %s", a.Status, body.Error.Code, body.Error.Message)
}

// doJSON is Do for an answer that is no refusal, which it decodes into v.
func (c *Client) doJSON(ctx context.Context, method, target string, in, v any) error {
	r := Request{Method: method, Target: target}
	if in != nil {
		body, err := json.Marshal(in)
		if err != nil {
			return err
		}
		r.Body = body
	}
	a, err := c.Do(ctx, r)
	if err == nil {
		err = a.Err()
	}
	if err != nil {
		return err
	}
	return a.decode(v)
}

func (a Response) decode(v any) error {
	if err := json.Unmarshal(a.Body, v); err != nil {
		return fmt.Errorf("the answer makes no sense: %w", err)
	}
	return nil
}
