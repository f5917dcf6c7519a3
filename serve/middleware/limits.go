package middleware

import (
	"fmt"
	"net/http"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/ratelimit"
)

// A Quota is how much of a class one client may draw a minute.
type Quota struct {
	Anonymous int // by address
	SignedIn  int // by account
}

// Limits are the rate limits of the classes of calls: token buckets that hold one minute's quota. They are
// safe for concurrent use and bounded in memory; see [ratelimit.Limiter].
type Limits struct {
	limiter *ratelimit.Limiter
	classes map[op.Class]*tiers
}

// tiers are the policies of a class for anonymous and for signed-in callers.
type tiers [2]*ratelimit.Policy

const maxClients = 128 << 10

// NewLimits returns limits by the policy. It panics where a quota is not positive: zero never means unlimited.
func NewLimits(policy map[op.Class]Quota, now func() time.Time) *Limits {
	l := &Limits{classes: map[op.Class]*tiers{}}
	var all []*ratelimit.Policy
	for name, q := range policy {
		t := &tiers{
			ratelimit.NewPolicy(string(name), ratelimit.PerMinute(q.Anonymous)),
			ratelimit.NewPolicy(string(name), ratelimit.PerMinute(q.SignedIn)),
		}
		l.classes[name] = t
		all = append(all, t[:]...)
	}
	l.limiter = ratelimit.New(maxClients, now, all...)
	return l
}

// Charge draws what a call costs, by account when the caller in the request's context is signed in, else by address,
// and says in the RateLimit and RateLimit-Policy headers what is left. A call that would draw more than is left draws
// nothing and is [fault.RateLimited] with the time to wait.
func (mw *Stack) Charge(w http.ResponseWriter, r *http.Request, charges []op.Charge) error {
	l := mw.cfg.Limits
	if l == nil {
		return nil
	}
	key, tier := l.client(mw, r)
	var buffer [4]ratelimit.Draw
	draws, err := l.draws(buffer[:0], charges, key, tier)
	if err != nil || len(draws) == 0 {
		return err
	}
	refused := l.limiter.Take(draws)
	ratelimit.WriteHeader(w.Header(), draws)
	if refused == nil {
		return nil
	}
	detail, hint := refused.Reason()
	return fault.New(fault.RateLimited, "%s", detail).WithHint("%s", hint).WithRetry(refused.Wait())
}

// Refund gives back what [Stack.Charge] drew for the same request and caller, and takes back what it said in the headers.
func (mw *Stack) Refund(w http.ResponseWriter, r *http.Request, charges []op.Charge) {
	l := mw.cfg.Limits
	if l == nil {
		return
	}
	key, tier := l.client(mw, r)
	var buffer [4]ratelimit.Draw
	draws, err := l.draws(buffer[:0], charges, key, tier)
	if err != nil || len(draws) == 0 {
		return // it was not charged either
	}
	l.limiter.Return(draws)
	w.Header().Del("RateLimit")
	w.Header().Del("RateLimit-Policy")
}

// Settle gives back what of the charges a call did not use, and says in the headers what is left then. It does nothing
// when unused is empty.
func (mw *Stack) Settle(w http.ResponseWriter, r *http.Request, charges, unused []op.Charge) {
	l := mw.cfg.Limits
	if l == nil || len(unused) == 0 {
		return
	}
	key, tier := l.client(mw, r)
	var buffer, left [4]ratelimit.Draw
	returned, err := l.draws(buffer[:0], unused, key, tier)
	if err != nil || len(returned) == 0 {
		return
	}
	l.limiter.Return(returned)
	draws, err := l.draws(left[:0], charges, key, tier)
	if err != nil {
		return
	}
	for i := range draws {
		draws[i].Count = 0
	}
	l.limiter.Take(draws)
	ratelimit.WriteHeader(w.Header(), draws)
}

// client is the key of the bucket that the request draws on, and its tier.
func (l *Limits) client(mw *Stack, r *http.Request) (key ratelimit.Key, tier int) {
	if account := op.CallerFrom(r.Context()).Account; account != "" {
		return l.limiter.Key(account), 1
	}
	return l.limiter.Network(ratelimit.Host(mw.ClientIP(r))), 0
}

// draws adds the charges up by class.
func (l *Limits) draws(draws []ratelimit.Draw, charges []op.Charge, key ratelimit.Key, tier int) ([]ratelimit.Draw, error) {
next:
	for _, charge := range charges {
		if charge.Count <= 0 {
			continue
		}
		t := l.classes[charge.Class]
		if t == nil {
			return nil, fmt.Errorf("no limit is set for the class %s", charge.Class)
		}
		for i := range draws {
			if draws[i].Policy == t[tier] {
				draws[i].Count += charge.Count
				continue next
			}
		}
		draws = append(draws, ratelimit.Draw{Policy: t[tier], Key: key, Count: charge.Count})
	}
	return draws, nil
}
