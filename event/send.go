package event

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/namewharf/namewharf/egress"
)

// Limits of one attempt.
const (
	attemptTime   = 5 * time.Second // until the answer
	maxHeader     = 16 << 10        // bytes of the answer's header; a longer one is a failure
	maxAnswer     = 4 << 10         // bytes of the answer's body that are read, to reuse the connection
	idleTime      = 30 * time.Second
	maxIdleOfHost = 128 // several partners may use one host
)

// newClient returns a client for endpoints. It uses HTTP/1.1, so that a connection that hangs delays only one attempt.
func newClient(cfg Config) *egress.Client {
	out := egress.Config{
		Allow: cfg.Allow, AnyPort: true, RootCAs: cfg.RootCAs,
		DialTime: attemptTime, TLSTime: attemptTime, HeaderTime: attemptTime, TotalTime: attemptTime,
		MaxHeader: maxHeader, MaxBody: maxAnswer, InFlight: fastPool + slowPool, Total: fastPool + slowPool, // the pools divide them
		IdlePerHost: maxIdleOfHost, IdleTime: idleTime,
	}
	if cfg.Resolver != nil {
		out.Resolver = cfg.Resolver
	}
	return egress.New(out)
}

// A target is the destination of an attempt.
type target struct {
	url           string
	secret        string
	previous      string // empty: none
	previousUntil time.Time
	advanced      time.Duration // of the partner's clock
}

// send makes the attempt with the number, counted from 1, and reports whether the endpoint accepted the event.
func (l *Log) send(ctx context.Context, to target, e Event, number int) (a Attempt, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	at, began := l.cfg.Now(), time.Now()
	code, err := l.post(ctx, to, e, number, at)
	a = Attempt{
		At: at.Add(to.advanced).UTC().Truncate(time.Millisecond), StatusCode: code, Error: reason(ctx, err),
		LatencyMS: time.Since(began).Milliseconds(),
	}
	switch {
	case code >= 200 && code < 300:
		return a, true
	case code >= 300 && code < 400:
		a.Error = "redirects are not followed"
	}
	return a, false
}

// post sends the event and returns the status of the answer.
func (l *Log) post(ctx context.Context, to target, e Event, number int, at time.Time) (code int, err error) {
	body, err := e.body()
	if err != nil {
		return 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	h := req.Header
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", "Namewharf-Webhooks")
	h.Set("X-Service-Signature", Signature(to.secret, body))
	if to.previous != "" && at.Before(to.previousUntil) {
		h.Set("X-Service-Signature-Previous", Signature(to.previous, body))
	}
	h.Set("X-Service-Event-Id", e.ID)
	h.Set("X-Service-Event-Type", e.Type)
	h.Set("X-Service-Delivery-Attempt", strconv.Itoa(number))
	h.Set("Webhook-Id", e.ID)
	h.Set("Webhook-Timestamp", strconv.FormatInt(at.Unix(), 10))
	h.Set("Webhook-Signature", StandardSignature(to.secret, e.ID, at, body))
	// Not sent; it permits the transport to retry if an idle connection turns out to be closed.
	h["Idempotency-Key"] = []string{}
	resp, err := l.out.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body) // up to maxAnswer; only the status counts
	return resp.StatusCode, nil
}

// reason tells the partner why there was no answer. It does not repeat the text of the error, which could reveal internal
// addresses.
func reason(ctx context.Context, err error) string {
	var certificate *tls.CertificateVerificationError
	switch {
	case err == nil:
		return ""
	case errors.Is(err, egress.ErrAddress):
		return "the address is not public"
	case ctx.Err() != nil, egress.Wrap(err).Code == egress.Timeout:
		return "no answer within 5 seconds"
	case errors.Is(err, egress.ErrUnresolved):
		return "the host name cannot be resolved"
	case errors.As(err, &certificate):
		return "the certificate is not valid"
	}
	return "the connection failed"
}
