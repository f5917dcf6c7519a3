package op

import (
	"context"
	"reflect"
)

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

// Emit sends an event to the emitter of the context; without one it does nothing. Slices of the item are never null, as in
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
