package egress

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"
)

// A Request is a GET request of [Client.Fetch].
type Request struct {
	URL     string
	Accept  string // the header; empty: none
	MaxBody int    // zero or less: the Config's

	// Admit, if set, replaces the slots: it is called before each exchange, redirects included. At the end of the exchange
	// done is called with the response, which is nil after an error.
	Admit func(ctx context.Context, address string) (done func(*http.Response), err error)
}

// A Response is a complete HTTP response.
type Response struct {
	Status int
	Header http.Header
	Type   string   // media type without parameters, lower case
	Body   []byte   // complete, and decompressed where Config.Gzip asked for compression
	URL    *url.URL // that answered, after redirects
}

// Fetch gets a URL with its whole body and follows the allowed redirects, each with the same checks. Every failure is an
// [*Error]; a status of 400 or more is not a failure.
func (c *Client) Fetch(ctx context.Context, q Request) (Response, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.TotalTime)
	defer cancel()
	u, err := url.Parse(q.URL)
	if err != nil {
		return Response{}, fail(Refused, "the URL cannot be parsed")
	}
	if q.MaxBody <= 0 {
		q.MaxBody = c.cfg.MaxBody
	}
	first, visited := u, []string{}
	for {
		resp, next, err := c.fetchOne(ctx, q, u)
		if err != nil {
			return Response{}, Wrap(err)
		}
		if next == "" {
			return resp, nil
		}
		if len(visited) == c.cfg.Redirects.Max {
			return Response{}, fail(Redirect, "too many redirects")
		}
		visited = append(visited, plain(u))
		if u, err = c.follow(first, u, next, visited); err != nil {
			return Response{}, err
		}
	}
}

// follow returns the target of a redirect from u, if it is allowed.
func (c *Client) follow(first, u *url.URL, location string, visited []string) (*url.URL, error) {
	target, err := u.Parse(location)
	if err != nil {
		return nil, fail(Redirect, "the redirect's URL cannot be parsed")
	}
	target.Fragment, target.RawFragment = "", ""
	switch {
	case u.Scheme == "https" && target.Scheme != "https":
		return nil, fail(Redirect, "a redirect from https to another scheme")
	case c.cfg.Redirects.SameSite && Site(first.Hostname()) != Site(target.Hostname()):
		return nil, fail(Redirect, "a redirect to another site")
	}
	for _, before := range visited {
		if before == plain(target) {
			return nil, fail(Redirect, "a redirect loop")
		}
	}
	return target, nil
}

// plain normalizes a URL to compare visited ones.
func plain(u *url.URL) string {
	return strings.ToLower(u.Scheme+"://"+u.Host) + u.EscapedPath() + "?" + u.RawQuery
}

// Site returns the registrable domain of a host (publicsuffix.org, with the private suffixes of hosting platforms), in
// lower case; of a host that has none, such as an address, the host itself.
func Site(host string) string {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if _, err := netip.ParseAddr(host); err == nil {
		return host
	}
	if site, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return site
	}
	return host
}

// fetchOne makes one exchange. next is the target of a redirect to follow.
func (c *Client) fetchOne(ctx context.Context, q Request, u *url.URL) (resp Response, next string, err error) {
	req := (&http.Request{Method: http.MethodGet, URL: u, Host: u.Host, Header: http.Header{}}).WithContext(ctx)
	if q.Accept != "" {
		req.Header.Set("Accept", q.Accept)
	}
	if c.cfg.UserAgent != "" {
		req.Header.Set("User-Agent", c.cfg.UserAgent)
	}
	if c.cfg.Gzip {
		req.Header.Set("Accept-Encoding", "gzip")
	}
	address, err := HostPort(u)
	if err != nil {
		return Response{}, "", err
	}
	var r *http.Response
	if q.Admit == nil {
		release, err := c.slots.Acquire(ctx, destination(address))
		if err != nil {
			return Response{}, "", err
		}
		defer release()
	} else {
		done, err := q.Admit(ctx, address)
		if err != nil {
			return Response{}, "", err
		}
		defer func() { done(r) }()
	}
	if r, err = c.transport.RoundTrip(req); err != nil {
		return Response{}, "", err
	}
	defer r.Body.Close()
	if c.cfg.Redirects.Max > 0 && isRedirect(r.StatusCode) {
		if next = r.Header.Get("Location"); next == "" {
			return Response{}, "", fail(Redirect, "a redirect without a target")
		}
		return Response{}, next, nil
	}
	resp = Response{Status: r.StatusCode, Header: r.Header, Type: mediaType(r.Header.Get("Content-Type")), URL: u}
	resp.Body, err = c.readBody(r, q.MaxBody)
	return resp, "", err
}

func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// readBody reads and decompresses a body, at most limit bytes before and after decompression.
func (c *Client) readBody(r *http.Response, limit int) ([]byte, error) {
	if r.ContentLength > int64(limit) {
		return nil, tooLarge()
	}
	var body io.Reader = &limitedReader{r: r.Body, left: limit}
	switch strings.ToLower(r.Header.Get("Content-Encoding")) {
	case "", "identity":
	case "gzip":
		if !c.cfg.Gzip {
			return nil, fail(Network, "the reply is in a coding that was not asked for")
		}
		z, err := gzip.NewReader(body)
		if err != nil {
			return nil, broken(err)
		}
		defer z.Close()
		body = z
	default:
		return nil, fail(Network, "the reply is in a coding that was not asked for")
	}
	return ReadAll(body, limit)
}

// ReadAll reads r to its end. It fails with the code [TooLarge] on more than limit bytes.
func ReadAll(r io.Reader, limit int) ([]byte, error) {
	body, err := io.ReadAll(&limitedReader{r: r, left: limit})
	if err != nil {
		return nil, broken(err)
	}
	return body, nil
}

func tooLarge() *Error { return fail(TooLarge, "the reply is over its limit") }

// broken is the error of an incomplete reply.
func broken(err error) error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	if e := Wrap(err); e.Code == Timeout {
		return e
	}
	return &Error{Code: Truncated, Cause: err}
}

// A limitedReader is an [io.LimitedReader] that fails with TooLarge at the limit.
type limitedReader struct {
	r    io.Reader
	left int
}

func (l *limitedReader) Read(p []byte) (int, error) {
	if len(p) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.r.Read(p)
	if n > l.left {
		n = l.left
		err = tooLarge()
	}
	l.left -= n
	return n, err
}

// Do makes one exchange, without redirects, and returns the response. Its body fails with the code [TooLarge] after
// Config.MaxBody bytes. The caller closes the body, which releases the slot. Every failure is an [*Error].
func (c *Client) Do(req *http.Request) (*http.Response, error) {
	resp, err := c.do(req)
	if err != nil && req.Body != nil {
		req.Body.Close() // if the transport has not; closing twice is harmless
	}
	return resp, err
}

func (c *Client) do(req *http.Request) (*http.Response, error) {
	address, err := HostPort(req.URL)
	if err != nil {
		return nil, err
	}
	if req.Host != "" && req.Host != req.URL.Host {
		return nil, fail(Refused, "the Host header is not the URL's")
	}
	ctx, cancel := req.Context(), func() {}
	if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > c.cfg.TotalTime {
		ctx, cancel = context.WithTimeout(ctx, c.cfg.TotalTime)
		req = req.WithContext(ctx)
	}
	release, err := c.slots.Acquire(ctx, destination(address))
	if err != nil {
		cancel()
		return nil, err
	}
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		release()
		cancel()
		return nil, Wrap(err)
	}
	resp.Body = &heldBody{limitedReader{resp.Body, c.cfg.MaxBody}, resp.Body, func() { release(); cancel() }}
	return resp, nil
}

// heldBody holds a slot until it is closed.
type heldBody struct {
	limitedReader
	body io.Closer
	done func()
}

func (b *heldBody) Close() error {
	defer b.done()
	return b.body.Close()
}

// HostPort checks the parts of a URL that the dialer cannot check and returns the address to dial. It fails with the code
// [Refused].
func HostPort(u *url.URL) (string, error) {
	host, port := u.Hostname(), u.Port()
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return "", fail(Refused, "the scheme is neither https nor http")
	case u.User != nil:
		return "", fail(Refused, "the URL holds a user name")
	case u.Opaque != "" || host == "":
		return "", fail(Refused, "the URL has no host")
	case port == "" && u.Scheme == "https":
		port = "443"
	case port == "":
		port = "80"
	}
	if _, err := netip.ParseAddr(host); err != nil {
		if err := checkHost(host); err != nil {
			return "", err
		}
	}
	return net.JoinHostPort(host, port), nil
}

// destination is the slot key of an address.
func destination(address string) string {
	host, port, _ := net.SplitHostPort(address)
	return strings.ToLower(strings.TrimSuffix(host, ".")) + ":" + port
}

func mediaType(header string) string {
	t, _, _ := strings.Cut(header, ";")
	return strings.ToLower(strings.TrimSpace(t))
}
