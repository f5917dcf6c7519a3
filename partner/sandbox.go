package partner

import (
	"context"
	"fmt"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/namewharf/namewharf/audit"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/partner/wiring"
	"github.com/namewharf/namewharf/sale"
	"github.com/namewharf/namewharf/store"
)

// Limits of the test clock.
const (
	maxStep  = 366 * 24 * time.Hour      // of one request
	maxAhead = 50 * 366 * 24 * time.Hour // of all requests together
)

// Seconds is a step of the test clock.
type Seconds int64

// Schema is a bounded integer.
func (Seconds) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "integer", Minimum: new(1.0), Maximum: new(maxStep.Seconds())}
}

// A ClockIn moves the test clock.
type ClockIn struct {
	AdvanceSeconds Seconds `json:"advance_seconds" jsonschema:"how far to move the clock on; it never goes back"`
}

// A ClockOut is the time of the test clock.
type ClockOut struct {
	Now          time.Time `json:"now"`
	AheadSeconds int64     `json:"ahead_seconds" jsonschema:"how far it is ahead of the real one"`
}

// inSandbox returns the party of a sandbox request. It fails with [fault.NotFound] outside the sandbox.
func inSandbox(ctx context.Context) (credential.Party, error) {
	p := party(ctx)
	if p.Environment != market.Sandbox {
		return credential.Party{}, fault.New(fault.NotFound, "there is nothing at this path").WithHint("it is the sandbox's: sign with a sandbox credential")
	}
	return p, nil
}

func (a *API) advanceClock() op.Operation[ClockIn, ClockOut] {
	return write(a, op.Operation[ClockIn, ClockOut]{
		Name:  "partner_advance_clock",
		Title: "Move the test clock",
		Doc: "Moves the partner's clock in the sandbox on: quotes expire and webhooks are retried as if the time had passed. " +
			"Signatures go by the real clock.",
		Route:   op.Route{Method: "POST", Path: root + "/sandbox/clock"},
		Scope:   credential.ScopeBuy,
		Example: ClockIn{AdvanceSeconds: 600},
	}, func(ctx context.Context, tx store.Tx, in ClockIn, now time.Time) (ClockOut, error) {
		p, err := inSandbox(ctx)
		if err != nil {
			return ClockOut{}, err
		}
		return a.advance(ctx, tx, p, now, time.Duration(in.AdvanceSeconds)*time.Second)
	})
}

// advance moves the clock of a party from now on by a duration.
func (a *API) advance(ctx context.Context, tx store.Tx, p credential.Party, now time.Time, by time.Duration) (ClockOut, error) {
	var ahead int64
	err := tx.QueryRow(ctx, `
		UPDATE partners SET sandbox_ahead = sandbox_ahead + $1 WHERE id = $2 AND sandbox_ahead <= $3 RETURNING sandbox_ahead`,
		by.Microseconds(), p.Partner, (maxAhead - by).Microseconds()).Scan(&ahead)
	if store.IsNoRows(err) {
		return ClockOut{}, fault.Invalid("advance_seconds", "would take the clock more than 50 years ahead")
	}
	if err != nil {
		return ClockOut{}, fmt.Errorf("move a clock: %w", err)
	}
	if err := a.events.Advance(ctx, tx, wiring.Stream(p), by); err != nil {
		return ClockOut{}, err
	}
	author := audit.Author{Name: wiring.ActorName(p.Partner), Now: a.cfg.Now}
	if err := author.Record(ctx, tx, "clock.advance", p.Partner, map[string]any{"by": by.String(), "ahead": (time.Duration(ahead) * time.Microsecond).String()}); err != nil {
		return ClockOut{}, err
	}
	return ClockOut{Now: now.Add(by).UTC().Truncate(time.Microsecond), AheadSeconds: ahead / time.Second.Microseconds()}, nil
}

// A Play is an operator's action that a partner runs on its own sandbox order.
type SandboxAction string

// The sandbox actions.
const (
	SandboxAdvance SandboxAction = "advance" // to the next state
	SandboxHold    SandboxAction = "hold"
	SandboxClear   SandboxAction = "clear"
	SandboxFail    SandboxAction = "fail" // cancels the order
)

// Schema is the enumeration of the actions.
func (SandboxAction) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Enum: []any{string(SandboxAdvance), string(SandboxHold), string(SandboxClear), string(SandboxFail)}}
}

// A SandboxActionIn names an order and an action on it.
type SandboxActionIn struct {
	PublicID Text          `json:"public_id" jsonschema:"the order's id"`
	Action   SandboxAction `json:"play"`
}

func (a *API) sandboxTransition() op.Operation[SandboxActionIn, sale.Order] {
	return write(a, op.Operation[SandboxActionIn, sale.Order]{
		Name:  "partner_play_order",
		Title: "Play the operator",
		Doc: "Does to an order in the sandbox what the operator does to a real one: advance takes it one state on, up to SETTLED; " +
			"hold and clear its review; fail cancels it.",
		Route:   op.Route{Method: "POST", Path: root + "/sandbox/orders/{public_id}/{play}"},
		Scope:   credential.ScopeBuy,
		Example: SandboxActionIn{PublicID: "ord_06bqexample0000000000000000", Action: SandboxAdvance},
	}, func(ctx context.Context, tx store.Tx, in SandboxActionIn, now time.Time) (sale.Order, error) {
		p, err := inSandbox(ctx)
		if err != nil {
			return sale.Order{}, err
		}
		o, err := a.sales.OrderIn(ctx, tx, wiring.Seller(p), string(in.PublicID))
		if err != nil {
			return sale.Order{}, err
		}
		action, err := in.Action.transition(o)
		if err != nil {
			return sale.Order{}, err
		}
		by := sale.Actor{Name: wiring.ActorName(p.Partner), Reason: "sandbox", Party: wiring.Seller(p)}
		return a.sales.Transition(ctx, tx, string(in.PublicID), action, by, now)
	})
}

// transition returns the transition that an action triggers in the order's current state.
func (p SandboxAction) transition(o sale.Order) (sale.Action, error) {
	switch p {
	case SandboxHold:
		return sale.Hold, nil
	case SandboxClear:
		return sale.Clear, nil
	case SandboxFail:
		return sale.Cancel, nil
	}
	action, ok := o.Status.Next()
	if !ok {
		return "", fault.New(fault.Conflict, "the order is %s, which is an end", o.Status)
	}
	return action, nil
}
