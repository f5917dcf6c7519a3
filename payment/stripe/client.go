package stripe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	api "github.com/stripe/stripe-go/v85"

	"github.com/namewharf/namewharf/payment"
)

// Limits of an answer. The largest objects of the part that is used are some tens of kilobytes.
const (
	maxAnswer  = 1 << 20  // bytes
	maxHeaders = 64 << 10 // bytes
)

// newClient returns an HTTP client that follows no redirect, waits a bounded time and reads a bounded answer.
func newClient(transport http.RoundTripper) *http.Client {
	if transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxResponseHeaderBytes = maxHeaders
		transport = t
	}
	return &http.Client{
		Transport:     bounded{transport},
		Timeout:       payment.CallTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// bounded is a transport whose answers end after maxAnswer.
type bounded struct{ http.RoundTripper }

var errTooLong = errors.New("stripe: the answer is too long")

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Del("X-Stripe-Client-User-Agent") // what machine this is
	r.Header.Set("User-Agent", "namewharf stripe-go/"+api.ClientVersion)
	res, err := b.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if res.StatusCode/100 == 3 { // for which nothing here is prepared
		res.Body.Close()
		return nil, errors.New("stripe: the answer is a redirect")
	}
	res.Body = &boundedBody{res.Body, maxAnswer}
	return res, nil
}

type boundedBody struct {
	io.ReadCloser
	left int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLong
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	return n, err
}

// replayed reports whether an error is one that Stripe repeated because of the idempotency key, or one about the key.
func replayed(err error) bool {
	var e *api.Error
	if !errors.As(err, &e) {
		return false
	}
	again := e.LastResponse != nil && e.LastResponse.Header.Get("Idempotent-Replayed") == "true"
	return again && e.HTTPStatusCode >= 500 || e.Type == api.ErrorTypeIdempotency && e.HTTPStatusCode == http.StatusBadRequest
}

// failure puts an error of stripe-go in the words of package payment. Of what Stripe says, its codes and the id of the request are
// kept; its texts and objects may hold what a buyer typed.
func failure(err error) error {
	var e *api.Error
	if !errors.As(err, &e) {
		return connection(err)
	}
	kind := payment.ErrFinal
	switch {
	case e.HTTPStatusCode == http.StatusUnauthorized, e.HTTPStatusCode == http.StatusForbidden, // our key, for somebody to mend
		e.HTTPStatusCode == http.StatusTooManyRequests, e.HTTPStatusCode == http.StatusConflict:
		kind = payment.ErrUnavailable
	case e.HTTPStatusCode >= 500, e.HTTPStatusCode < 400:
		kind = payment.ErrUnknown
	case e.Type == api.ErrorTypeCard, e.HTTPStatusCode == http.StatusPaymentRequired:
		kind = payment.ErrDeclined
	case e.Code == api.ErrorCodeLockTimeout:
		kind = payment.ErrUnavailable
	}
	return fmt.Errorf("%w: stripe answered %d %s (request %s)", kind, e.HTTPStatusCode, word(string(e.Code)), word(e.RequestID))
}

// connection is the failure of a request that has no answer of Stripe's.
func connection(err error) error {
	var op *net.OpError
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns), errors.As(err, &op) && op.Op == "dial":
		return fmt.Errorf("%w: stripe cannot be reached", payment.ErrUnavailable)
	case errors.Is(err, errTooLong):
		return fmt.Errorf("%w: %w", payment.ErrUnknown, errTooLong)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return fmt.Errorf("%w: stripe did not answer in time", payment.ErrUnknown)
	}
	return fmt.Errorf("%w: stripe's answer cannot be read", payment.ErrUnknown)
}

// word is text of Stripe's if it is one word of reasonable length.
func word(s string) string {
	odd := func(c rune) bool {
		return c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	}
	if len(s) > 64 || strings.ContainsFunc(s, odd) {
		return "?"
	}
	return s
}
