package guard

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/namewharf/namewharf/egress"
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
	var rest time.Duration // of the host that answered last
	reply, err := g.out.Fetch(ctx, egress.Request{
		URL: rawURL, Accept: accept, MaxBody: limit,
		Admit: func(ctx context.Context, address string) (func(*http.Response), error) {
			pass, err := g.Acquire(ctx, address)
			if err != nil {
				return nil, err
			}
			return func(r *http.Response) {
				if rest = g.restAfter(r); rest > 0 {
					pass.Rest(rest)
				}
				pass.Release()
			}, nil
		},
	})
	if err != nil {
		return Response{}, err
	}
	first, err := url.Parse(rawURL)
	return Response{
		Status: reply.Status, Type: reply.Type, Body: reply.Body, URL: reply.URL,
		Same: err == nil && sameHost(first, reply.URL), Retry: rest,
	}, nil
}

// restAfter is how long a host wants to be left alone after a reply, which may be nil.
func (g *Guard) restAfter(r *http.Response) time.Duration {
	if r == nil {
		return 0
	}
	wait := r.Header.Get("Retry-After")
	switch {
	case r.StatusCode == http.StatusTooManyRequests:
		return g.retryAfter(wait)
	case r.StatusCode == http.StatusServiceUnavailable && wait != "": // else it is an error like any other, perhaps of this name alone
		return g.retryAfter(wait)
	case r.StatusCode == http.StatusForbidden:
		return ForbiddenRest
	}
	return 0
}

// ReadAll reads r to its end. More than limit bytes are an error of code [TooLarge], not a shorter reply.
func ReadAll(r io.Reader, limit int) ([]byte, error) { return egress.ReadAll(r, limit) }

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

// sameHost reports whether b is served by the host of a: the same name and port, or the https side of the same name.
func sameHost(a, b *url.URL) bool {
	if !strings.EqualFold(a.Hostname(), b.Hostname()) {
		return false
	}
	pa, errA := egress.HostPort(a)
	pb, errB := egress.HostPort(b)
	if errA != nil || errB != nil {
		return false
	}
	return strings.EqualFold(pa, pb) || strings.HasSuffix(pa, ":80") && strings.HasSuffix(pb, ":443")
}
