package op_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/op"
)

type thing struct {
	Name string `json:"name"`
}

// A memory stores one answer, and counts effects.
type memory struct {
	kept    *op.Answer
	effects int
	asked   op.Repeatable
}

func (s *memory) Once(ctx context.Context, r op.Repeatable, effect func(context.Context, int, time.Time) (any, error)) (op.Answer, error) {
	return s.run(r, r.Status, true, func() (any, error) { return effect(ctx, 7, time.Unix(1, 0)) })
}

func (s *memory) Outside(ctx context.Context, r op.Repeatable, effect func(context.Context) (any, error)) (op.Answer, error) {
	return s.run(r, r.Status, true, func() (any, error) { return effect(ctx) })
}

func (s *memory) DryRun(ctx context.Context, r op.Repeatable, effect func(context.Context) (any, error)) (op.Answer, error) {
	return s.run(r, r.DryRunStatus, false, func() (any, error) { return effect(ctx) })
}

func (s *memory) run(r op.Repeatable, status int, keep bool, effect func() (any, error)) (op.Answer, error) {
	s.asked = r
	if s.kept != nil {
		return *s.kept, nil
	}
	s.effects++
	out, err := effect()
	if err != nil {
		return op.Answer{}, err
	}
	body, err := r.Encode(out)
	a := op.Answer{JSON: body, Status: status}
	if keep {
		s.kept = &a
	}
	return a, err
}

func storing(s *memory) op.Operation[thing, thing] {
	return op.Operation[thing, thing]{
		Name: "make_thing", Title: "Make", Doc: "Makes a thing.", Limit: op.Read, Effect: op.Writes, Idempotency: op.Required,
		Route:   op.Route{Method: "POST", Path: "/things", Status: 201, Also: 202},
		Example: thing{"a"},
		Kept: op.WithDryRun(s, op.Once(s, func(_ context.Context, tx int, in thing, now time.Time) (thing, error) {
			if tx != 7 || !now.Equal(time.Unix(1, 0)) {
				return thing{}, errors.New("another transaction or time")
			}
			return thing{in.Name + "!"}, nil
		}), func(in thing) bool { return in.Name == "dry" }, func(context.Context, thing) (thing, error) { return thing{"dry run"}, nil }),
	}
}

func TestKept(t *testing.T) {
	t.Parallel()
	s := &memory{}
	o := op.NewSet(time.Now, storing(s)).Named("make_thing")
	dry, err := o.Call(t.Context(), []byte(`{"name":"dry"}`))
	if err != nil || string(dry.JSON) != `{"name":"dry run"}` || dry.Status != 202 || s.kept != nil {
		t.Errorf("a dry run: %s %d, %v", dry.JSON, dry.Status, err)
	}
	for range 3 {
		got, err := o.Call(t.Context(), []byte(`{"name":"a"}`))
		if err != nil || string(got.JSON) != `{"name":"a!"}` || got.Status != 201 {
			t.Errorf("got %s %d, %v", got.JSON, got.Status, err)
		}
	}
	if s.effects != 2 || s.asked.Idempotency != op.Required {
		t.Errorf("%d effects, asked %+v, want the dry run and one", s.effects, s.asked)
	}
	out, err := s.asked.Decode([]byte(`{"name":"a!"}`))
	if err != nil || out.(*thing).Name != "a!" {
		t.Errorf("decoded %v, %v", out, err)
	}
	if _, err := s.asked.Encode(thing{}); err == nil {
		t.Error("an output of another type is encoded")
	}
	outside := storing(s)
	s.kept, s.effects = nil, 0
	outside.Kept = op.Outside(s, func(context.Context, thing) (thing, error) { return thing{"outside"}, nil })
	if got, err := op.NewSet(time.Now, outside).All()[0].Call(t.Context(), []byte(`{"name":"a"}`)); err != nil || string(got.JSON) != `{"name":"outside"}` {
		t.Errorf("outside: %s, %v", got.JSON, err)
	}
}

// An operation that declares idempotency with a plain Do ran three times for one key, and every test passed: it cannot be
// built.
func TestIdempotencyCannotBeForgotten(t *testing.T) {
	t.Parallel()
	s := &memory{}
	do := func(context.Context, thing) (thing, error) { return thing{}, nil }
	plan := func(context.Context, thing) ([]op.Charge, func(context.Context) (thing, error)) { return nil, nil }
	for name, change := range map[string]func(*op.Operation[thing, thing]){
		"a key is required, and the answer not kept": func(o *op.Operation[thing, thing]) { o.Kept, o.Do = op.Kept[thing, thing]{}, do },
		"a key is honoured, and the answer not kept": func(o *op.Operation[thing, thing]) {
			o.Kept, o.Do, o.Idempotency = op.Kept[thing, thing]{}, do, op.Optional
		},
		"a key is required of a plan":           func(o *op.Operation[thing, thing]) { o.Kept, o.Plan = op.Kept[thing, thing]{}, plan },
		"the answer is kept, and there is a Do": func(o *op.Operation[thing, thing]) { o.Do = do },
		"the answer is kept without keys":       func(o *op.Operation[thing, thing]) { o.Idempotency = op.None },
		"a read takes keys":                     func(o *op.Operation[thing, thing]) { o.Effect = op.Reads },
		"nothing is done":                       func(o *op.Operation[thing, thing]) { o.Kept = op.Kept[thing, thing]{} },
	} {
		func() {
			defer func() {
				if p := recover(); p == nil || !strings.Contains(p.(string), "Kept") {
					t.Errorf("%s: it is built, %v", name, p)
				}
			}()
			o := storing(s)
			change(&o)
			op.NewSet(time.Now, o)
		}()
	}
}
