package portfolio

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/store"
)

// An answer is what DNS or a registry said about a name.
type answer struct {
	err          error        // nil: the fields below are valid
	proof        string       // the TXT value found; for Verify
	registration Registration // for Refresh
}

// queryOutside runs the DNS and registry queries of a change, outside of any transaction.
func (p *Portfolio) queryOutside(ctx context.Context, account string, c Change, names []fqdn.Name) (map[fqdn.Name]answer, error) {
	if c.Op != Verify && c.Op != Refresh {
		return nil, nil
	}
	var claims []Claim
	err := p.cfg.DB.Read(ctx, func(tx store.Tx) (err error) {
		claims, err = claimsOf(ctx, tx, account, names)
		return err
	})
	if err != nil {
		return nil, err
	}
	if c.Op == Refresh {
		return p.queryAll(ctx, claims, func(ctx context.Context, c Claim) (a answer) {
			a.registration, a.err = p.cfg.Registry.Registration(ctx, c.Domain, true)
			return a
		})
	}
	claims = slices.DeleteFunc(claims, func(c Claim) bool { return c.Status == Verified })
	return p.queryAll(ctx, claims, p.findProof)
}

// findProof looks for the proof of a claim.
func (p *Portfolio) findProof(ctx context.Context, c Claim) answer {
	values, err := p.cfg.DNS.TXT(ctx, ProofLabel, c.Domain)
	if err != nil {
		return answer{err: err}
	}
	found := slices.ContainsFunc(values, func(v string) bool { return strings.TrimSpace(v) == c.Proof })
	if !found {
		return answer{err: fault.New(fault.Conflict, "the proof of ownership is not in the DNS").
			WithHint("publish the TXT record %s.%s with the value %s and try again; DNS changes may take a while to show", ProofLabel, c.Domain, c.Proof)}
	}
	return answer{proof: c.Proof}
}

// queryAll asks about the claims concurrently, for queryTimeout, and emits an event after each.
func (p *Portfolio) queryAll(ctx context.Context, claims []Claim, ask func(context.Context, Claim) answer) (map[fqdn.Name]answer, error) {
	limited, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	answers := make([]answer, len(claims))
	var next, done atomic.Int64
	var wait sync.WaitGroup
	for range min(len(claims), maxQueries) {
		wait.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(claims)); i = next.Add(1) - 1 {
				answers[i] = p.query(limited, claims[i], ask)
				op.Emit(ctx, op.Event{Done: int(done.Add(1)), Total: len(claims)})
			}
		})
	}
	wait.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	byDomain := make(map[fqdn.Name]answer, len(claims))
	for i, a := range answers {
		if f := (*fault.Error)(nil); a.err != nil && limited.Err() != nil && !errors.As(a.err, &f) {
			a.err = errNotQueried()
		}
		byDomain[claims[i].Domain] = a
	}
	return byDomain, nil
}

// query waits for a slot and asks about one claim.
func (p *Portfolio) query(ctx context.Context, c Claim, ask func(context.Context, Claim) answer) answer {
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return answer{err: errNotQueried()}
	}
	return ask(ctx, c)
}

// verify makes the account the owner of the names whose proof was found, takes them from their previous owners, and puts
// the offered ones up for sale.
func (w *changeRun) verify(ctx context.Context, tx store.Tx, claims []Claim) error {
	var proven []fqdn.Name
	for _, c := range claims {
		switch a, asked := w.answers[c.Domain]; {
		case c.Status == Verified:
		case !asked:
			w.failed[c.Domain] = errNotQueried()
		case a.err != nil:
			w.failed[c.Domain] = a.err
		case a.proof != c.Proof:
			w.failed[c.Domain] = fault.New(fault.Conflict, "the proof value has changed since").WithHint("get the new one with POST /api/domains")
		default:
			proven = append(proven, c.Domain)
		}
	}
	if err := w.displace(ctx, tx, proven); err != nil {
		return err
	}
	if err := setVerified(ctx, tx, w.account, proven, w.now); err != nil {
		return err
	}
	if err := w.insertKind(ctx, tx, Proven, proven); err != nil {
		return err
	}
	refused, err := w.cfg.Market.Show(ctx, tx, w.account, proven)
	if err != nil {
		return err
	}
	// An offer that waited for its proof ends if somebody else lists the name: it would look as if it were for sale.
	if err := w.cfg.Market.Withdraw(ctx, tx, w.account, slices.Collect(maps.Keys(refused))); err != nil {
		return err
	}
	for _, name := range proven {
		if refused[name] == nil {
			continue
		}
		e := Event{Account: w.account, Domain: name, Kind: Unlisted, Detail: fault.From(refused[name]).Message()}
		if err := w.insertEvents(ctx, tx, e); err != nil {
			return err
		}
	}
	return nil
}

// displace takes names from the accounts that own them.
func (w *changeRun) displace(ctx context.Context, tx store.Tx, names []fqdn.Name) error {
	had, err := ownersOf(ctx, tx, names)
	if err != nil {
		return err
	}
	for _, o := range had {
		if err := unverify(ctx, tx, o.account, o.domain, Pending); err != nil {
			return err
		}
		if err := w.cfg.Market.Suspend(ctx, tx, o.account, []fqdn.Name{o.domain}); err != nil {
			return err
		}
		e := Event{Account: o.account, Domain: o.domain, Kind: Displaced, Detail: "another account has proven that it controls the name"}
		if err := w.insertEvents(ctx, tx, e); err != nil {
			return err
		}
	}
	return nil
}
