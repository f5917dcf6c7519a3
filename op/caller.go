package op

import (
	"context"
	"reflect"
	"slices"

	"github.com/namewharf/namewharf/fault"
)

// The scopes of the public API.
const (
	ScopePricing = "pricing:read"  // see real marketplace prices
	ScopeDomains = "domains:write" // manage the account's own names
)

// A Caller is who asks. The zero Caller is anonymous.
type Caller struct {
	Account string   // id of the signed-in account; empty: none
	Key     string   // id of the credential that signed the request; empty: none
	Scopes  []string // what the account granted, or the credential may
}

// Anonymous reports whether nobody is signed in and nobody signed.
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

// CallerFrom returns who asks; anonymous where no door has said.
func CallerFrom(ctx context.Context) Caller {
	if c, ok := ctx.Value(CallerKey{}).(*Caller); ok {
		return *c
	}
	return Caller{}
}

// An Event is a part of an answer that is known before the whole: item Done of Total. Item is encodable as JSON;
// it is nil where only the progress is of interest. It must be as the answer has it: with what the operation leaves out
// left out, and what it masks masked.
type Event struct {
	Item        any
	Done, Total int
}

type emitterKey struct{}

// WithEmitter returns a context whose operations hand their events to emit as they happen. emit may be called from
// several goroutines, but never after the call has returned.
func WithEmitter(ctx context.Context, emit func(Event)) context.Context {
	return context.WithValue(ctx, emitterKey{}, emit)
}

// WithoutEmitter returns a context whose operations emit nothing, for a call inside a call.
func WithoutEmitter(ctx context.Context) context.Context {
	return context.WithValue(ctx, emitterKey{}, (func(Event))(nil))
}

func emitterFrom(ctx context.Context) func(Event) {
	emit, _ := ctx.Value(emitterKey{}).(func(Event))
	return emit
}

// Emit hands an event to whoever listens; without a listener it does nothing. Slices of the item are never null, as in
// an answer.
func Emit(ctx context.Context, e Event) {
	emit := emitterFrom(ctx)
	if emit == nil {
		return
	}
	if e.Item != nil {
		if f := newFiller(reflect.TypeOf(e.Item)); f != nil {
			item := reflect.New(reflect.TypeOf(e.Item)).Elem()
			item.Set(reflect.ValueOf(e.Item))
			f.fill(item)
			e.Item = item.Interface()
		}
	}
	emit(e)
}

type reporterKey struct{}

// WithReporter returns a context whose operations hand errors of ours that do not fail the whole call to report,
// so that the door can log them.
func WithReporter(ctx context.Context, report func(error)) context.Context {
	return context.WithValue(ctx, reporterKey{}, report)
}

// Report hands an error that is not the caller's to the door; without a reporter it is dropped.
func Report(ctx context.Context, err error) {
	if report, _ := ctx.Value(reporterKey{}).(func(error)); report != nil {
		report(err)
	}
}
