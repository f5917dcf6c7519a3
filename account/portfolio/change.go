package portfolio

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/store"
)

// An Op is an action on names of a portfolio.
type Op string

// The ops.
const (
	List     Op = "list"      // offer at a price; for sale once the name is proven
	SetPrice Op = "set_price" // of a name that is offered
	Unlist   Op = "unlist"    // end the offer, if there is one
	Verify   Op = "verify"    // look for the proof in the DNS
	Refresh  Op = "refresh"   // ask the registry again
	Remove   Op = "remove"    // end the offer and the claim
)

// A Change is one op on up to [MaxChange] names of an account.
type Change struct {
	Op     Op
	Names  []fqdn.Name
	Price  money.Amount // for List and SetPrice
	DryRun bool         // report the results and roll back
}

// MaxChange is how many names a change may hold.
const MaxChange = 1000

// queryTimeout bounds the queries to DNS and registries of one change, for which a caller waits.
const queryTimeout = 10 * time.Second

// errDryRun ends the transaction of a dry run.
var errDryRun = errors.New("dry run")

// Apply does the change and returns one result per name, in order: nil or that name's error. The error is [fault.NotFound]
// for a name that the account does not claim, even if another account claims it; [fault.Unavailable] for one without an
// answer in time; [fault.Conflict] if the name's state does not permit the change. One transaction writes all names that
// succeed; a dry run rolls it back. A dry run also queries DNS and registries, so its results are those of a real run.
func (p *Portfolio) Apply(ctx context.Context, account string, c Change) ([]error, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	names := slices.Compact(slices.SortedFunc(slices.Values(c.Names), byName))
	answers, err := p.queryOutside(ctx, account, c, names)
	if err != nil {
		return nil, fault.Wrap("change names", err)
	}
	w := &changeRun{Portfolio: p, account: account, change: c, answers: answers}
	err = p.cfg.DB.Tx(ctx, func(tx store.Tx) error {
		w.failed, w.now = map[fqdn.Name]error{}, p.cfg.DB.Now()
		if err := w.do(ctx, tx, names); err != nil {
			return err
		}
		if c.DryRun {
			return errDryRun
		}
		return nil
	})
	if err != nil && !errors.Is(err, errDryRun) {
		return nil, fault.Wrap("change names", err)
	}
	if !c.DryRun {
		if err := p.cfg.Market.Refresh(ctx); err != nil {
			return nil, fault.Wrap("make changed names visible", err)
		}
	}
	results := make([]error, len(c.Names))
	for i, name := range c.Names {
		results[i] = w.failed[name]
	}
	return results, nil
}

func (c Change) check() error {
	switch c.Op {
	case List, SetPrice:
		if c.Price.Cents < 1 || c.Price.Cents > money.MaxCents {
			return fault.Invalid("params.priceCents", "must be from 1 to %d", int64(money.MaxCents))
		}
		if _, err := money.ParseCurrency(c.Price.Currency); err != nil {
			return fault.Invalid("params.currency", "is %s", err)
		}
	case Unlist, Verify, Refresh, Remove:
	default:
		return fault.Invalid("op", "must be list, set_price, unlist, verify, refresh or remove")
	}
	if len(c.Names) > MaxChange {
		return fault.Invalid("domains", "must hold at most %d names", MaxChange)
	}
	return nil
}

func byName(a, b fqdn.Name) int {
	switch {
	case a.String() < b.String():
		return -1
	case a.String() > b.String():
		return 1
	}
	return 0
}

// changeRun is the state of one change.
type changeRun struct {
	*Portfolio
	account string
	change  Change
	answers map[fqdn.Name]answer // to the queries before the transaction
	now     time.Time
	failed  map[fqdn.Name]error
}

// do runs the op on those of the names that the account claims.
func (w *changeRun) do(ctx context.Context, tx store.Tx, names []fqdn.Name) error {
	claims, err := w.claims(ctx, tx, w.account, names)
	if err != nil {
		return err
	}
	slices.SortFunc(claims, func(a, b Claim) int { return byName(a.Domain, b.Domain) })
	missing := make(map[fqdn.Name]bool, len(names))
	for _, name := range names {
		missing[name] = true
	}
	for _, c := range claims {
		delete(missing, c.Domain)
	}
	for name := range missing {
		w.failed[name] = fault.New(fault.NotFound, "the domain is not in the portfolio").WithHint("add it with POST /api/domains")
	}
	switch w.change.Op {
	case List:
		return w.offer(ctx, tx, claims)
	case SetPrice:
		return w.reprice(ctx, tx, claims)
	case Unlist:
		return w.cfg.Market.Withdraw(ctx, tx, w.account, domainsOf(claims))
	case Verify:
		return w.verify(ctx, tx, claims)
	case Refresh:
		return w.refresh(ctx, tx, claims)
	default:
		return w.remove(ctx, tx, claims)
	}
}

// offer offers the names, and puts the proven ones up for sale.
func (w *changeRun) offer(ctx context.Context, tx store.Tx, claims []Claim) error {
	groups := map[bool][]fqdn.Name{}
	for _, c := range claims {
		groups[c.Status == Verified] = append(groups[c.Status == Verified], c.Domain)
	}
	for _, shown := range []bool{true, false} {
		refused, err := w.cfg.Market.Offer(ctx, tx, w.account, groups[shown], w.change.Price, shown)
		if err != nil {
			return err
		}
		maps.Copy(w.failed, refused)
	}
	return nil
}

// reprice changes the prices of offered names.
func (w *changeRun) reprice(ctx context.Context, tx store.Tx, claims []Claim) error {
	claims = slices.DeleteFunc(claims, func(c Claim) bool {
		if c.Price == (money.Amount{}) {
			w.failed[c.Domain] = fault.New(fault.Conflict, "the domain is not offered").WithHint("offer it with the op list")
			return true
		}
		return false
	})
	return w.offer(ctx, tx, claims)
}

func (w *changeRun) remove(ctx context.Context, tx store.Tx, claims []Claim) error {
	names := domainsOf(claims)
	if err := w.cfg.Market.Withdraw(ctx, tx, w.account, names); err != nil {
		return err
	}
	if err := deleteClaims(ctx, tx, w.account, names); err != nil {
		return err
	}
	return w.insertKind(ctx, tx, Removed, names)
}

// insertKind stores an event of one kind for each of the names.
func (w *changeRun) insertKind(ctx context.Context, tx store.Tx, kind Kind, names []fqdn.Name) error {
	events := make([]Event, len(names))
	for i, name := range names {
		events[i] = Event{Account: w.account, Domain: name, Kind: kind}
	}
	return w.insertEvents(ctx, tx, events...)
}

// refresh stores what the registry said, and acts on it.
func (w *changeRun) refresh(ctx context.Context, tx store.Tx, claims []Claim) error {
	for _, c := range claims {
		a, asked := w.answers[c.Domain]
		switch {
		case !asked: // claimed since the queries
			w.failed[c.Domain] = errNotQueried()
		case a.err != nil:
			w.failed[c.Domain] = a.err
		default:
			if err := w.observe(ctx, tx, w.account, c, a.registration); err != nil {
				return err
			}
		}
	}
	return nil
}

func errNotQueried() error {
	return fault.New(fault.Unavailable, "the DNS and registry queries of this change took too long").WithHint("send it again").WithRetry(time.Minute)
}
