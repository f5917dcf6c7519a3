package op

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Idempotency says whether an operation takes an idempotency key. A request that is repeated with its key has one effect,
// and gets the answer of the first time.
type Idempotency int

// The idempotencies.
const (
	None     Idempotency = iota // no key is taken
	Optional                    // a key is honoured
	Required                    // a key is required
)

// Answers run each request once for its idempotency key, and store the answer. Tx is a transaction of the store.
type Answers[Tx any] interface {
	// Once runs an effect in a transaction and stores its answer in the same one, or returns the stored answer. Concurrent
	// requests with one key wait for one another. The time is the caller's.
	Once(ctx context.Context, r Repeatable, effect func(ctx context.Context, tx Tx, now time.Time) (out any, err error)) (Answer, error)

	// Outside runs an effect that needs no transaction and stores its answer, or returns the stored answer. Of concurrent
	// requests with one key one answer is stored, and returned to all.
	Outside(ctx context.Context, r Repeatable, effect func(ctx context.Context) (out any, err error)) (Answer, error)

	// DryRun runs an effect that changes nothing, and stores no answer. The key is checked, and not used up.
	DryRun(ctx context.Context, r Repeatable, effect func(ctx context.Context) (out any, err error)) (Answer, error)
}

// A Repeatable is what [Answers] know of an operation.
type Repeatable struct {
	Idempotency  Idempotency
	Status       int // of success
	DryRunStatus int // status of a dry run

	encode func(out any) ([]byte, error)
	decode func(text []byte) (any, error)
}

// Encode writes an output as the answer has it. It is a pointer, as effects return it.
func (r Repeatable) Encode(out any) ([]byte, error) { return r.encode(out) }

// Decode reads what Encode wrote, and returns a pointer to it.
func (r Repeatable) Decode(text []byte) (any, error) { return r.decode(text) }

// A Kept is the function of an operation whose answers are stored. Only [Once] and [Outside] make one, so that an operation
// with idempotency keys cannot forget to store its answers.
type Kept[In, Out any] struct {
	run    func(context.Context, Repeatable, In) (Answer, error)
	dryRun func(context.Context, Repeatable, In) (Answer, error)
	dry    func(In) bool
}

// Once is an effect that runs in one transaction with the storage of its answer.
func Once[In, Out, Tx any](a Answers[Tx], effect func(ctx context.Context, tx Tx, in In, now time.Time) (Out, error)) Kept[In, Out] {
	return Kept[In, Out]{run: func(ctx context.Context, r Repeatable, in In) (Answer, error) {
		return a.Once(ctx, r, func(ctx context.Context, tx Tx, now time.Time) (any, error) {
			out, err := effect(ctx, tx, in, now)
			return &out, err
		})
	}}
}

// Outside is an effect that needs no transaction. It may run more than once for one key.
func Outside[In, Out, Tx any](a Answers[Tx], effect func(ctx context.Context, in In) (Out, error)) Kept[In, Out] {
	return Kept[In, Out]{run: func(ctx context.Context, r Repeatable, in In) (Answer, error) {
		return a.Outside(ctx, r, func(ctx context.Context) (any, error) {
			out, err := effect(ctx, in)
			return &out, err
		})
	}}
}

// WithDryRun adds a dry run to k: for inputs that dry is true for, run runs instead and nothing is stored.
func WithDryRun[In, Out, Tx any](a Answers[Tx], k Kept[In, Out], dry func(In) bool, run func(ctx context.Context, in In) (Out, error)) Kept[In, Out] {
	k.dry = dry
	k.dryRun = func(ctx context.Context, r Repeatable, in In) (Answer, error) {
		return a.DryRun(ctx, r, func(ctx context.Context) (any, error) {
			out, err := run(ctx, in)
			return &out, err
		})
	}
	return k
}

// given reports whether k was made by [Once] or [Outside].
func (k Kept[In, Out]) given() bool { return k.run != nil }

// call runs k for an operation.
func (k Kept[In, Out]) call(ctx context.Context, o *Op, in In) (Answer, error) {
	r := Repeatable{
		Idempotency: o.Idempotency, Status: o.Route.Status, DryRunStatus: o.Route.Also,
		encode: func(out any) ([]byte, error) {
			typed, ok := out.(*Out)
			if !ok {
				return nil, fmt.Errorf("encode a %T as the answer of %s", out, o.Name)
			}
			return encodeFilled(*typed)
		},
		decode: func(text []byte) (any, error) {
			out := new(Out)
			return out, json.Unmarshal(text, out)
		},
	}
	if r.DryRunStatus == 0 {
		r.DryRunStatus = http.StatusOK
	}
	if k.dry != nil && k.dry(in) {
		return k.dryRun(ctx, r, in)
	}
	return k.run(ctx, r, in)
}
