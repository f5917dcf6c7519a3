// Package middleware is what every transport does around an operation: request id, access log, caller, rate limits and
// error answers.
//
// A transport mounts its handler inside [Stack.Wrap] and then, for each call, asks [Stack.Caller], [Stack.Charge] and, when
// something failed, [Stack.WriteError]. Neither the log, nor the metrics, nor a trace holds a path, a query, a body or a
// token.
package middleware

import (
	"context"
	"log/slog"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
)

// A TokenVerifier knows which access tokens are valid.
type TokenVerifier interface {
	// Caller returns whom the token speaks for at the resource, the URL of a protected resource. A token that is
	// malformed, expired, revoked, unknown or meant for another resource is a *[fault.Error] of [fault.InvalidToken];
	// any other error is ours.
	Caller(ctx context.Context, token, resource string) (op.Caller, error)
}

// NoTokens refuses every token, as a service does that has no accounts.
var NoTokens TokenVerifier = noTokens{}

type noTokens struct{}

func (noTokens) Caller(context.Context, string, string) (op.Caller, error) {
	return op.Caller{}, errUnknownToken()
}

func errUnknownToken() error {
	return fault.New(fault.InvalidToken, "the access token is unknown or no longer valid").
		WithHint("leave the Authorization header out to call anonymously, or sign in again")
}

// Config is what a [Stack] needs. BaseURL, Tokens and Logger are required.
type Config struct {
	BaseURL        string           // the public address of the service, without a slash at the end
	Tokens         TokenVerifier    // verifies access tokens
	DefaultScope   string           // of a challenge for which no scope is missing; empty: it names none
	Limits         *Limits          // nil: no limits
	Bodies         *Bodies          // the budget of request bodies; nil: one of the default size
	PerAddress     int              // requests in progress of one address behind a trusted proxy; 0: any number
	TrustedProxies []netip.Prefix   // whose X-Forwarded-For counts
	Logger         *slog.Logger     // takes the access log, and the errors that are ours
	Metrics        *Metrics         // nil: none
	Tracer         trace.Tracer     // nil: no traces
	Now            func() time.Time // nil: time.Now
}

// A Stack is shared by the transports of one process, so that a caller has one budget for all of them.
// It is safe for concurrent use.
type Stack struct {
	cfg      Config
	progress progress
}

// New returns a stack. It panics without Tokens, a Logger or an absolute BaseURL: a mistake in the wiring.
func New(cfg Config) *Stack {
	base, err := url.Parse(cfg.BaseURL)
	if err != nil || base.Scheme == "" || base.Host == "" || strings.HasSuffix(cfg.BaseURL, "/") {
		panic("middleware: BaseURL must be absolute, without a slash at the end")
	}
	if cfg.Tokens == nil || cfg.Logger == nil {
		panic("middleware: Tokens and Logger are required")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Bodies == nil {
		cfg.Bodies = NewBodies(BodyConfig{Bytes: DefaultBodyBytes, Rate: DefaultUploadRate})
	}
	return &Stack{cfg: cfg, progress: progress{clients: map[netip.Prefix]int{}}}
}

// BaseURL is the public address of the service, without a slash at the end.
func (mw *Stack) BaseURL() string { return mw.cfg.BaseURL }
