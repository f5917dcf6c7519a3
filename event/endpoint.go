package event

import (
	"context"
	"crypto/subtle"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/namewharf/namewharf/egress"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/store"
)

// Limits of an endpoint.
const (
	MaxURL      = 2 << 10 // bytes
	MinSecret   = 16      // characters
	MaxSecret   = 256
	SecretGrace = 24 * time.Hour // how long a replaced secret also signs
)

// disableAfter is the time without a successful delivery after which a failed one disables the endpoint.
const disableAfter = 5 * 24 * time.Hour

// An Endpoint is the webhook of a stream.
type Endpoint struct {
	URL       string    `json:"url"`
	Active    bool      `json:"active"` // false: disabled after days without a success; nothing is sent
	CreatedAt time.Time `json:"created_at"`
}

// Register creates or changes the endpoint of the stream, and enables it. It receives later events, and those that wait for
// another attempt. A replaced secret also signs for [SecretGrace]. It fails with [fault.Validation] on url for a destination
// that is not allowed, and on secret.
func (l *Log) Register(ctx context.Context, s Stream, rawURL, secret string) (Endpoint, error) {
	if err := checkURL(rawURL, l.out); err != nil {
		return Endpoint{}, err
	}
	if err := checkSecret(secret); err != nil {
		return Endpoint{}, err
	}
	var row endpointRow
	err := l.cfg.DB.Tx(ctx, func(tx store.Tx) error {
		now := l.cfg.Now()
		advanced, err := startStream(ctx, tx, s)
		if err != nil {
			return err
		}
		had, found, err := endpointOf(ctx, tx, s)
		if err != nil {
			return err
		}
		row = endpointRow{url: rawURL, created: now.Add(advanced).Truncate(time.Microsecond), active: true}
		if found {
			row.created, row.previous, row.previousUntil = had.created, had.previous, had.previousUntil
			old, err := l.cfg.Secrets.Open(had.secret, s.sealContext())
			switch {
			case err != nil: // the key is lost; the partner can still replace the secret
				row.previous, row.previousUntil = nil, time.Time{}
			case subtle.ConstantTimeCompare(old, []byte(secret)) == 0:
				row.previous, row.previousUntil = had.secret, now.Add(SecretGrace)
			}
		}
		row.secret = l.cfg.Secrets.Seal([]byte(secret), s.sealContext())
		if err := putEndpoint(ctx, tx, s, row, now); err != nil {
			return err
		}
		details := map[string]any{"after": hostOf(rawURL)}
		if found {
			details["before"], details["was_active"] = hostOf(had.url), had.active
		}
		return l.audit(ctx, tx, s, "webhook.register", s.Partner, details)
	})
	if err != nil {
		return Endpoint{}, fault.Wrap("register a webhook", err)
	}
	return row.endpoint(), nil
}

// audit writes to the audit log, if there is one.
func (l *Log) audit(ctx context.Context, tx store.Tx, s Stream, action, subject string, details map[string]any) error {
	if l.cfg.Audit == nil {
		return nil
	}
	details["environment"] = s.Environment
	return l.cfg.Audit(ctx, tx, s, action, subject, details)
}

// hostOf is the scheme and host of a URL, for the audit log: path and query may hold a token of the partner.
func hostOf(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// sealContext binds an encrypted secret to its stream.
func (s Stream) sealContext() []byte {
	return []byte("webhook secret\n" + s.Environment + "\n" + s.Partner)
}

// Sealed returns the columns with encrypted secrets of webhooks, replaced ones included.
func Sealed() []store.Sealed {
	secret := store.Sealed{
		Table: "webhook_endpoints", Column: "secret", Key: []string{"partner", "environment"},
		Context: func(key []any) []byte { return Stream{fmt.Sprint(key[0]), fmt.Sprint(key[1])}.sealContext() },
	}
	previous := secret
	previous.Column = "previous"
	return []store.Sealed{secret, previous}
}

func (r endpointRow) endpoint() Endpoint {
	return Endpoint{URL: r.url, Active: r.active, CreatedAt: r.created.UTC()}
}

// errNoEndpoint is the error of calls that need an endpoint.
var errNoEndpoint = fault.New(fault.NotFound, "no webhook is registered").WithHint("register one with PUT")

// Endpoint returns the endpoint of the stream. It fails with [fault.NotFound] if there is none.
func (l *Log) Endpoint(ctx context.Context, s Stream) (Endpoint, error) {
	var e Endpoint
	err := l.cfg.DB.Read(ctx, func(tx store.Tx) error {
		row, found, err := endpointOf(ctx, tx, s)
		if err == nil && !found {
			err = errNoEndpoint
		}
		e = row.endpoint()
		return err
	})
	if err != nil {
		return Endpoint{}, fault.Wrap("read a webhook", err)
	}
	return e, nil
}

// Unregister removes the endpoint of the stream with its secrets, and cancels its pending deliveries, but not a running
// attempt. It fails with [fault.NotFound] if there is none.
func (l *Log) Unregister(ctx context.Context, s Stream) error {
	err := l.cfg.DB.Tx(ctx, func(tx store.Tx) error {
		if err := stopStream(ctx, tx, s); err != nil {
			return err
		}
		found, err := deleteEndpoint(ctx, tx, s)
		if err == nil && !found {
			err = errNoEndpoint
		}
		if err != nil {
			return err
		}
		return l.audit(ctx, tx, s, "webhook.remove", s.Partner, map[string]any{})
	})
	if err != nil {
		return fault.Wrap("remove a webhook", err)
	}
	return nil
}

// Test appends an event of [TestType] and sends it. Without an active endpoint it fails like [Log.Redeliver].
func (l *Log) Test(ctx context.Context, s Stream) (Event, error) {
	var e Event
	err := l.cfg.DB.Tx(ctx, func(tx store.Tx) error {
		made, err := l.TestIn(ctx, tx, s)
		if err == nil {
			e, err = l.AppendEvent(ctx, tx, s, made)
		}
		return err
	})
	if err != nil {
		return Event{}, fault.Wrap("test a webhook", err)
	}
	l.Wake(s)
	return e, nil
}

// TestIn makes the event of [Log.Test] in the caller's transaction, for [Log.AppendEvent].
func (l *Log) TestIn(ctx context.Context, tx store.Tx, s Stream) (Event, error) {
	row, err := activeEndpoint(ctx, tx, s)
	if err != nil {
		return Event{}, err
	}
	return newEvent(s, TestType, map[string]bool{"test": true}, l.cfg.Now().Add(row.advanced))
}

// activeEndpoint fails with [fault.NotFound] if the stream has no endpoint, and with [fault.Conflict] if it is disabled.
func activeEndpoint(ctx context.Context, tx store.Tx, s Stream) (endpointRow, error) {
	row, found, err := endpointOf(ctx, tx, s)
	switch {
	case err != nil:
		return endpointRow{}, err
	case !found:
		return endpointRow{}, errNoEndpoint
	case !row.active:
		return endpointRow{}, fault.New(fault.Conflict, "the webhook is disabled because nothing was delivered for days").
			WithHint("register it again with PUT")
	}
	return row, nil
}

// checkURL refuses a URL that the dispatcher may not send to.
func checkURL(raw string, out *egress.Client) error {
	bad := func(reason string) error { return fault.Invalid("url", "%s", reason) }
	if len(raw) > MaxURL {
		return fault.Invalid("url", "must be at most %d bytes", MaxURL)
	}
	if strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return bad("must be a URL of visible ASCII characters, others percent-encoded")
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Opaque != "" || u.Hostname() == "" || strings.HasSuffix(u.Host, ":"):
		return bad("must be a complete URL, such as https://example.com/events")
	case u.User != nil:
		return bad("must not hold a user name or a password")
	case strings.Contains(raw, "#"):
		return bad("must not have a fragment")
	}
	literal, err := netip.ParseAddr(u.Hostname())
	if err == nil && !out.Allows(literal) {
		return bad("must not be at a private address")
	}
	if _, err := egress.HostPort(u); err != nil && u.Scheme == "https" {
		return bad("must be at a host name or an address in its usual form")
	}
	switch {
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http" && (literal.IsValid() && literal.IsLoopback() || u.Hostname() == "localhost" && allowsLoopback(out)):
		return nil
	}
	return bad("must begin with https://")
}

// allowsLoopback reports whether the client may connect to loopback.
func allowsLoopback(out *egress.Client) bool {
	return out.Allows(netip.AddrFrom4([4]byte{127, 0, 0, 1})) || out.Allows(netip.IPv6Loopback())
}

// checkSecret checks a secret against the limits.
func checkSecret(secret string) error {
	n := utf8.RuneCountInString(secret)
	switch {
	case n < MinSecret || n > MaxSecret:
		return fault.Invalid("secret", "must be %d to %d characters", MinSecret, MaxSecret)
	case !utf8.ValidString(secret) || strings.ContainsFunc(secret, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fault.Invalid("secret", "must consist of printable characters")
	}
	return nil
}
