package op

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Idempotency says what an idempotency key is to an operation. A request that is repeated with its key has one effect,
// and gets the answer that it got when it came first.
type Idempotency int

// The idempotencies.
const (
	None     Idempotency = iota // no key is taken
	Optional                    // a key is honoured
	Required                    // a key is required
)

// Answers run what requests do, once for each idempotency key, and keep what was answered. Tx is a transaction of the
// store behind them.
type Answers[Tx any] interface {
	// Once runs an effect in a transaction and keeps its answer in the same one, or gives the answer that is kept. Requests
	// with one key that come at once wait for one another. The time is the caller's.
	Once(ctx context.Context, r Repeatable, effect func(ctx context.Context, tx Tx, now time.Time) (out any, err error)) (Answer, error)

	// Outside runs what stores nothing and keeps its answer, or gives the answer that is kept. Of several that run at once
	// with one key one answer is kept, and given to all.
	Outside(ctx context.Context, r Repeatable, effect func(ctx context.Context) (out any, err error)) (Answer, error)

	// Rehearse runs what stores nothing and keeps no answer. The key is checked, and not used up.
	Rehearse(ctx context.Context, r Repeatable, effect func(ctx context.Context) (out any, err error)) (Answer, error)
}

// A Repeatable is what [Answers] need to know of an operation.
type Repeatable struct {
	Idempotency Idempotency
	Status      int // of success
	Rehearsed   int // status of a rehearsal

	encode func(out any) ([]byte, error)
	decode func(text []byte) (any, error)
}

// Encode writes an output as the answer has it. It is a pointer, as effects return it.
func (r Repeatable) Encode(out any) ([]byte, error) { return r.encode(out) }

// Decode reads what Encode wrote, and returns a pointer to it.
func (r Repeatable) Decode(text []byte) (any, error) { return r.decode(text) }

// A Kept is what an operation does whose answers are kept. Only [Once] and [Outside] make one, so that an operation with
// idempotency keys cannot forget to keep its answers.
type Kept[In, Out any] struct {
	run      func(context.Context, Repeatable, In) (Answer, error)
	rehearse func(context.Context, Repeatable, In) (Answer, error)
	dry      func(In) bool
}

// Once is an effect that takes place in a transaction, together with the keeping of its answer.
func Once[In, Out, Tx any](a Answers[Tx], effect func(ctx context.Context, tx Tx, in In, now time.Time) (Out, error)) Kept[In, Out] {
	return Kept[In, Out]{run: func(ctx context.Context, r Repeatable, in In) (Answer, error) {
		return a.Once(ctx, r, func(ctx context.Context, tx Tx, now time.Time) (any, error) {
			out, err := effect(ctx, tx, in, now)
			return &out, err
		})
	}}
}

// Outside is an effect that stores nothing. It may run more than once for one key.
func Outside[In, Out, Tx any](a Answers[Tx], effect func(ctx context.Context, in In) (Out, error)) Kept[In, Out] {
	return Kept[In, Out]{run: func(ctx context.Context, r Repeatable, in In) (Answer, error) {
		return a.Outside(ctx, r, func(ctx context.Context) (any, error) {
			out, err := effect(ctx, in)
			return &out, err
		})
	}}
}

// Rehearsed returns what rehearses requests of the inputs that dry is true for: it is checked what would happen, and
// nothing is stored.
func Rehearsed[In, Out, Tx any](a Answers[Tx], k Kept[In, Out], dry func(In) bool, rehearsal func(ctx context.Context, in In) (Out, error)) Kept[In, Out] {
	k.dry = dry
	k.rehearse = func(ctx context.Context, r Repeatable, in In) (Answer, error) {
		return a.Rehearse(ctx, r, func(ctx context.Context) (any, error) {
			out, err := rehearsal(ctx, in)
			return &out, err
		})
	}
	return k
}

// given reports whether there is one.
func (k Kept[In, Out]) given() bool { return k.run != nil }

// call runs it for an operation.
func (k Kept[In, Out]) call(ctx context.Context, o *Op, in In) (Answer, error) {
	r := Repeatable{
		Idempotency: o.Idempotency, Status: o.Route.Status, Rehearsed: o.Route.Also,
		encode: func(out any) ([]byte, error) {
			typed, ok := out.(*Out)
			if !ok {
				return nil, fmt.Errorf("encode a %T as the answer of %s", out, o.Name)
			}
			return Encode(*typed)
		},
		decode: func(text []byte) (any, error) {
			out := new(Out)
			return out, json.Unmarshal(text, out)
		},
	}
	if r.Rehearsed == 0 {
		r.Rehearsed = http.StatusOK
	}
	if k.dry != nil && k.dry(in) {
		return k.rehearse(ctx, r, in)
	}
	return k.run(ctx, r, in)
}
