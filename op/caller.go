package op

import (
	"context"
	"slices"

	"github.com/namewharf/namewharf/fault"
)

// A Caller is the sender of a request. The zero Caller is anonymous.
type Caller struct {
	Account string   // id of the signed-in account; empty: none
	Key     string   // id of the credential that signed the request; empty: none
	Scopes  []string // what the account granted, or the credential may
}

// Anonymous reports whether the request has neither an access token nor a signature.
func (c Caller) Anonymous() bool { return c.Account == "" && c.Key == "" }

// Has reports whether the caller holds the scope.
func (c Caller) Has(scope string) bool { return slices.Contains(c.Scopes, scope) }

// Need is nil when the caller holds the scope or none is needed, else a *fault.Error:
// [fault.AuthenticationRequired] for an anonymous caller, [fault.InsufficientScope] for a signed-in one,
// [fault.Forbidden] for one that signed.
func (c Caller) Need(scope string) error {
	switch {
	case scope == "" || c.Has(scope):
		return nil
	case c.Anonymous():
		return fault.New(fault.AuthenticationRequired, "this needs a signed-in caller").
			WithHint("sign in with OAuth and ask for the scope %s", scope).WithScope(scope)
	case c.Key != "":
		return fault.New(fault.Forbidden, "the credential lacks the scope %s", scope).WithHint("ask for a credential that has it")
	}
	return fault.New(fault.InsufficientScope, "the access token lacks the scope %s", scope).
		WithHint("sign in again and ask for it").WithScope(scope)
}

// CallerKey is the key under which a context holds a *[Caller], for a context that is a type of its own. Others get one by
// [WithCaller].
type CallerKey struct{}

// WithCaller returns a context in which operations run for c.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, CallerKey{}, &c)
}

// CallerFrom returns the caller; an anonymous one where no transport has set it.
func CallerFrom(ctx context.Context) Caller {
	if c, ok := ctx.Value(CallerKey{}).(*Caller); ok {
		return *c
	}
	return Caller{}
}
