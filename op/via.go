package op

import "context"

// Via returns the operations of the set as run by a remote service: input is checked here, then passed to do. The remote
// service checks scopes, because it knows the caller, and caches answers.
func (s *Set) Via(do func(ctx context.Context, o *Op, raw []byte) (Answer, error)) *Set {
	via := &Set{byName: make(map[string]*Op, len(s.ops)), answers: s.answers, now: s.now, guide: s.guide}
	for _, o := range s.ops {
		remote := *o
		remote.Scope = ""
		remote.begin = func(_ context.Context, o *Op, raw []byte) (*Call, error) {
			if err := o.check.check(raw); err != nil {
				return nil, err
			}
			return &Call{Charges: o.charge(), run: func(ctx context.Context) (Answer, error) { return do(ctx, o, raw) }}, nil
		}
		via.ops = append(via.ops, &remote)
		via.byName[o.Name] = &remote
	}
	return via
}
