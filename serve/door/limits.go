package door

import (
	"fmt"
	"hash/maphash"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
)

// A Quota is how much of a class one client may draw a minute.
type Quota struct {
	Anonymous int // by address
	SignedIn  int // by account
}

// Limits are token buckets, one for each client and class: a full minute's quota at once, then as much as flows back.
// They are safe for concurrent use, start no goroutine, and hold at most maxClients × 2 buckets; where more clients
// come than that within a minute, those seen longest ago start afresh.
type Limits struct {
	classes map[op.Class]*class
	now     func() time.Time
	start   time.Time
	seed    maphash.Seed
	shards  [shards]shard
}

const (
	window     = time.Minute
	shards     = 64
	maxClients = 128 << 10
)

// A class of calls with the quota of each tier of clients.
type class struct {
	name  op.Class
	tiers [2]tier // anonymous, signed in
}

type tier struct {
	quota  int64
	every  int64    // nanoseconds in which one token flows back
	policy []string // the RateLimit-Policy header of a call that draws on this class alone
}

// full is the time in which an empty bucket fills.
func (t *tier) full() int64 { return t.every * t.quota }

// A shard holds the buckets of some clients, each as the time at which it will be full again (the generic cell rate
// algorithm). A bucket that nobody touched for a window is full, which is what an absent one is: so two generations
// of maps, turned over once a window, forget only what does not matter.
type shard struct {
	mu         sync.Mutex
	young, old map[bucket]int64
	turned     int64
	_          [64]byte // shards do not share a cache line
}

type bucket struct {
	client
	class op.Class
}

// A client is an account or, for anonymous callers, an address.
type client struct {
	account string
	address netip.Addr
}

func (c client) tier() int {
	if c.account != "" {
		return 1
	}
	return 0
}

// NewLimits returns limits that hold the policy. It panics where a quota is not positive: zero never means unlimited.
func NewLimits(policy map[op.Class]Quota, now func() time.Time) *Limits {
	l := &Limits{classes: map[op.Class]*class{}, now: now, start: now(), seed: maphash.MakeSeed()}
	for name, q := range policy {
		c := &class{name: name}
		for i, quota := range [2]int{q.Anonymous, q.SignedIn} {
			if quota <= 0 {
				panic(fmt.Sprintf("door: the limit %s is not positive", name))
			}
			c.tiers[i] = tier{quota: int64(quota), every: int64(window) / int64(quota), policy: []string{policyText(name, quota)}}
		}
		l.classes[name] = c
	}
	for i := range l.shards {
		l.shards[i].young, l.shards[i].old = map[bucket]int64{}, map[bucket]int64{}
	}
	return l
}

func policyText(name op.Class, quota int) string {
	return fmt.Sprintf("%q;q=%d;w=%d", string(name), quota, int(window/time.Second))
}

// A draw is what one call takes from one class.
type draw struct {
	*class
	count  int64
	fullAt int64 // when the bucket is full again
}

// take draws all or nothing, and leaves in each draw how its bucket stands then. It returns the time, and the first
// draw for which too little is left, if there is one.
func (l *Limits) take(who client, draws []draw) (now int64, refused *draw) {
	s := &l.shards[maphash.Comparable(l.seed, who)%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	now = int64(l.now().Sub(l.start))
	s.turn(now)
	for i := range draws {
		d := &draws[i]
		t := &d.tiers[who.tier()]
		at := bucket{who, d.name}
		fullAt, ok := s.young[at]
		if !ok {
			fullAt = s.old[at]
		}
		d.fullAt = max(fullAt, now)
		if d.fullAt+d.count*t.every-now > t.full() && refused == nil {
			refused = d
		}
	}
	if refused != nil {
		return now, refused
	}
	for i := range draws {
		d := &draws[i]
		d.fullAt += d.count * d.tiers[who.tier()].every
		s.young[bucket{who, d.name}] = d.fullAt
	}
	return now, nil
}

func (s *shard) turn(now int64) {
	if now-s.turned < int64(window) && len(s.young) < maxClients/shards {
		return
	}
	clear(s.old)
	s.young, s.old = s.old, s.young
	s.turned = now
}

// Charge draws what a call costs, by account when the caller in the request's context is signed in, else by address,
// and says in the RateLimit and RateLimit-Policy headers what is left (draft-ietf-httpapi-ratelimit-headers-11; t is
// the time until the whole quota is back). A call that would draw more than is left draws nothing and is
// [fault.RateLimited] with the time to wait.
func (d *Door) Charge(w http.ResponseWriter, r *http.Request, charges []op.Charge) error {
	l := d.cfg.Limits
	if l == nil {
		return nil
	}
	var room [4]draw
	draws, err := l.draws(room[:0], charges)
	if err != nil || len(draws) == 0 {
		return err
	}
	who := client{account: op.CallerFrom(r.Context()).Account}
	if who.account == "" {
		who.address = d.Address(r)
	}
	now, refused := l.take(who, draws)
	header(w.Header(), draws, who.tier(), now)
	if refused == nil {
		return nil
	}
	return refused.fault(who.tier(), now)
}

// draws adds the charges up by class.
func (l *Limits) draws(draws []draw, charges []op.Charge) ([]draw, error) {
next:
	for _, charge := range charges {
		if charge.Count <= 0 {
			continue
		}
		for i := range draws {
			if draws[i].name == charge.Class {
				draws[i].count += int64(charge.Count)
				continue next
			}
		}
		c := l.classes[charge.Class]
		if c == nil {
			return nil, fmt.Errorf("no limit is set for the class %s", charge.Class)
		}
		draws = append(draws, draw{class: c, count: int64(charge.Count)})
	}
	return draws, nil
}

func (d *draw) fault(tier int, now int64) error {
	t := &d.tiers[tier]
	if d.count > t.quota {
		return fault.New(fault.RateLimited, "this costs %d of the limit %q, which is %d a minute", d.count, string(d.name), t.quota).
			WithHint("ask for less at once").WithRetry(window)
	}
	wait := time.Duration(d.fullAt + d.count*t.every - now - t.full())
	return fault.New(fault.RateLimited, "the limit %q of %d a minute is used up", string(d.name), t.quota).
		WithHint("wait the seconds in Retry-After").WithRetry(wait)
}

// header writes the RateLimit fields. The names are as net/http canonicalises them, which spares the work of it.
func header(h http.Header, draws []draw, tier int, now int64) {
	policy := draws[0].tiers[tier].policy
	var room [128]byte
	left := room[:0]
	for i := range draws {
		d := &draws[i]
		t := &d.tiers[tier]
		if i > 0 {
			left = append(left, ", "...)
			policy = []string{policy[0] + ", " + t.policy[0]}
		}
		missing := d.fullAt - now
		left = append(left, '"')
		left = append(left, d.name...)
		left = append(left, `";r=`...)
		left = strconv.AppendInt(left, (t.full()-missing)/t.every, 10)
		left = append(left, ";t="...)
		left = strconv.AppendInt(left, (missing+int64(time.Second)-1)/int64(time.Second), 10)
	}
	h["Ratelimit-Policy"] = policy
	h["Ratelimit"] = []string{string(left)}
}
