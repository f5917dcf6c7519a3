package op

import "context"

// Via returns the operations of the set as run somewhere else: input is checked here, then do gets it. Who may call is
// for the other side to say, which knows the caller, and nothing is given again from memory: that is its part too.
func (s *Set) Via(do func(ctx context.Context, o *Op, raw []byte) (Answer, error)) *Set {
	via := &Set{byName: make(map[string]*Op, len(s.ops)), answers: s.answers, now: s.now, guide: s.guide}
	for _, o := range s.ops {
		elsewhere := *o
		elsewhere.Scope = ""
		elsewhere.begin = func(_ context.Context, o *Op, raw []byte) (*Call, error) {
			if err := o.check.check(raw); err != nil {
				return nil, err
			}
			return &Call{Charges: o.charge(), run: func(ctx context.Context) (Answer, error) { return do(ctx, o, raw) }}, nil
		}
		via.ops = append(via.ops, &elsewhere)
		via.byName[o.Name] = &elsewhere
	}
	return via
}
