package guard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// A Response is a complete reply over HTTP.
type Response struct {
	Status int
	Type   string        // media type without parameters, lower case
	Body   []byte        // complete: at most the limit that was asked for
	URL    *url.URL      // the URL that answered, after redirects
	Same   bool          // the host that was asked answered itself; see sameHost
	Retry  time.Duration // how long the host rests after this reply, if it does
}

// Get fetches the URL with at most limit bytes of body, after decompression. It follows at most [MaxRedirects]
// redirects, never from https to http, each through the same checks and limits as the first request.
// A 429 sends the host that answered to rest for its Retry-After, or a while without one; a 503 with a Retry-After for
// that; a 403 for [ForbiddenRest].
// Every failure is an [*Error]; a status of 400 or more is not a failure.
func (g *Guard) Get(ctx context.Context, rawURL, accept string, limit int) (Response, error) {
	first, err := url.Parse(rawURL)
	if err != nil {
		return Response{}, fail(Refused, "the URL cannot be parsed")
	}
	for u, hops := first, 0; ; hops++ {
		resp, next, err := g.get(ctx, u, accept, limit)
		if err != nil {
			return Response{}, Wrap(err)
		}
		if next == "" {
			resp.Same = sameHost(first, u)
			return resp, nil
		}
		if hops == MaxRedirects {
			return Response{}, fail(Redirect, "more than %d redirects", MaxRedirects)
		}
		target, err := u.Parse(next)
		if err != nil {
			return Response{}, fail(Redirect, "the redirect's URL cannot be parsed")
		}
		if u.Scheme == "https" && target.Scheme != "https" {
			return Response{}, fail(Redirect, "a redirect from https to another scheme")
		}
		u = target
	}
}

// get makes one request. next is the target of a redirect, if the reply is one.
func (g *Guard) get(ctx context.Context, u *url.URL, accept string, limit int) (resp Response, next string, err error) {
	address, err := hostPort(u)
	if err != nil {
		return Response{}, "", err
	}
	pass, err := g.Acquire(ctx, address)
	if err != nil {
		return Response{}, "", err
	}
	defer pass.Release()

	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return Response{}, "", fail(Refused, "the URL cannot be asked for")
	}
	req.Header.Set("Accept", accept)
	if g.cfg.UserAgent != "" {
		req.Header.Set("User-Agent", g.cfg.UserAgent)
	}
	r, err := g.client.Do(req)
	if err != nil {
		return Response{}, "", stripURL(err)
	}
	defer r.Body.Close()

	resp = Response{Status: r.StatusCode, Type: mediaType(r.Header.Get("Content-Type")), URL: u}
	wait := r.Header.Get("Retry-After")
	switch r.StatusCode {
	case http.StatusTooManyRequests:
		resp.Retry = g.retryAfter(wait)
	case http.StatusServiceUnavailable:
		if wait != "" { // else it is an error like any other, perhaps of this name alone
			resp.Retry = g.retryAfter(wait)
		}
	case http.StatusForbidden:
		resp.Retry = ForbiddenRest
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		if next = r.Header.Get("Location"); next == "" {
			return Response{}, "", fail(Redirect, "a redirect without a target")
		}
		return resp, next, nil
	}
	if resp.Retry > 0 {
		pass.Rest(resp.Retry)
	}
	resp.Body, err = ReadAll(r.Body, limit)
	return resp, "", err
}

// ReadAll reads r to its end. More than limit bytes are an error of code [TooLarge], not a shorter reply.
func ReadAll(r io.Reader, limit int) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	switch {
	case len(body) > limit:
		return nil, fail(TooLarge, "the reply is over %d bytes", limit)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, &Error{Code: Truncated, cause: err}
	case err != nil:
		if e := Wrap(err); e.Code == Timeout {
			return nil, e
		}
		return nil, &Error{Code: Truncated, cause: err}
	}
	return body, nil
}

// retryAfter reads a Retry-After header (RFC 9110, section 10.2.3), kept between 1 and 300 seconds.
func (g *Guard) retryAfter(header string) time.Duration {
	after := defaultRetryAfter
	header = strings.TrimSpace(header)
	if seconds, err := strconv.ParseUint(header, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		after = time.Duration(min(seconds, uint64(maxRetryAfter/time.Second))) * time.Second
	} else if date, err := http.ParseTime(header); err == nil {
		after = date.Sub(g.cfg.Now())
	}
	return min(max(after, minRetryAfter), maxRetryAfter)
}

// hostPort checks the parts of the URL that the dialer does not see and returns the address to dial.
func hostPort(u *url.URL) (string, error) {
	port := u.Port()
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return "", fail(Refused, "the scheme is neither https nor http")
	case u.User != nil:
		return "", fail(Refused, "the URL holds a user name")
	case u.Hostname() == "":
		return "", fail(Refused, "the URL has no host")
	case port == "" && u.Scheme == "https":
		port = "443"
	case port == "":
		port = "80"
	}
	return net.JoinHostPort(u.Hostname(), port), nil
}

// sameHost reports whether b is served by the host of a: the same name and port, or the https side of the same name.
func sameHost(a, b *url.URL) bool {
	if !strings.EqualFold(a.Hostname(), b.Hostname()) {
		return false
	}
	pa, errA := hostPort(a)
	pb, errB := hostPort(b)
	if errA != nil || errB != nil {
		return false
	}
	return strings.EqualFold(pa, pb) || strings.HasSuffix(pa, ":80") && strings.HasSuffix(pb, ":443")
}

func mediaType(header string) string {
	t, _, _ := strings.Cut(header, ";")
	return strings.ToLower(strings.TrimSpace(t))
}

// stripURL drops the URL that net/http puts in front of its errors: it holds the name that was looked up.
func stripURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		if u.Timeout() {
			return &Error{Code: Timeout, cause: u.Err}
		}
		return fmt.Errorf("http: %w", u.Err)
	}
	return err
}
