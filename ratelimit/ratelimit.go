// Package ratelimit limits requests by token buckets per client, and writes the RateLimit header fields.
//
// A [Policy] is a named quota. A [Limiter] holds the buckets of several policies in memory, each as the time at which it is
// full again (the generic cell rate algorithm). A call draws from several buckets, such as those of its address, its network
// and all clients: from all of them or from none. For a bucket in a database use [Policy.Draw], which has the same
// arithmetic.
//
// Zero never means unlimited: a quota that is not positive panics.
package ratelimit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// A Quota is the size and rate of a token bucket: Burst units at once, then Rate units in every Per.
type Quota struct {
	Burst int
	Rate  int
	Per   time.Duration
}

// PerMinute is a burst of n, and n a minute.
func PerMinute(n int) Quota { return Quota{n, n, time.Minute} }

// PerHour is a burst of n, and n an hour.
func PerHour(n int) Quota { return Quota{n, n, time.Hour} }

// PerDay is a burst of n, and n a day.
func PerDay(n int) Quota { return Quota{n, n, 24 * time.Hour} }

// String is the quota in words: "60 a minute", "20 at once and 60 an hour".
func (q Quota) String() string {
	rate := fmt.Sprintf("%d in %v", q.Rate, q.Per)
	switch q.Per {
	case time.Second:
		rate = fmt.Sprintf("%d a second", q.Rate)
	case time.Minute:
		rate = fmt.Sprintf("%d a minute", q.Rate)
	case time.Hour:
		rate = fmt.Sprintf("%d an hour", q.Rate)
	case 24 * time.Hour:
		rate = fmt.Sprintf("%d a day", q.Rate)
	}
	if q.Burst == q.Rate {
		return rate
	}
	return fmt.Sprintf("%d at once and %s", q.Burst, rate)
}

// A Policy is a named quota for one tier of clients. Different tiers, such as anonymous and signed-in callers, are different
// policies with separate buckets, and may share a name.
type Policy struct {
	name   string
	quota  Quota
	salt   uint64 // separates the buckets of policies with the same key
	burst  int64
	every  int64    // nanoseconds to refill one unit
	header []string // the RateLimit-Policy field for this policy alone
}

// longestFill bounds the time in which an empty bucket fills, so that the arithmetic cannot overflow.
const longestFill = 10 * 365 * 24 * time.Hour

// NewPolicy returns a policy. It panics if a part of the quota is not positive or a bucket would take longer than ten years to
// fill. The name must need no escaping in a quoted string.
func NewPolicy(name string, q Quota) *Policy {
	if q.Burst <= 0 || q.Rate <= 0 || q.Per <= 0 || int64(q.Per) < int64(q.Rate) {
		panic(fmt.Sprintf("ratelimit: the quota of %s is not positive: %+v", name, q))
	}
	every := int64(q.Per) / int64(q.Rate)
	if int64(q.Burst) > int64(longestFill)/every {
		panic(fmt.Sprintf("ratelimit: the quota of %s fills too slowly: %+v", name, q))
	}
	p := &Policy{name: name, quota: q, salt: rand.Uint64(), burst: int64(q.Burst), every: every}
	p.header = []string{fmt.Sprintf("%q;q=%d;w=%d", name, q.Burst, seconds(p.full()))}
	return p
}

// Name returns the name in the header fields.
func (p *Policy) Name() string { return p.name }

// Quota returns the quota of the policy.
func (p *Policy) Quota() Quota { return p.quota }

// full is the nanoseconds in which an empty bucket fills.
func (p *Policy) full() int64 { return p.every * p.burst }

// Draw draws count units, all or none, from a bucket that is full again after untilFull. [Draw.Reset] of the result is the new
// state of the bucket.
func (p *Policy) Draw(untilFull time.Duration, count int) Draw {
	d := Draw{Policy: p, Count: count, missing: max(0, int64(untilFull))}
	if d.check(); d.wait == 0 {
		d.missing += d.cost()
	}
	return d
}

// A Draw takes units from one bucket, and holds the result. A Count of zero only reads the bucket.
type Draw struct {
	Policy *Policy
	Key    Key // whose bucket
	Count  int // units, not negative

	bucket  uint64
	missing int64 // nanoseconds until the bucket is full
	wait    int64 // nanoseconds until the draw would succeed; 0: it succeeded
}

func (d *Draw) cost() int64 { return int64(d.Count) * d.Policy.every }

// check sets how long to wait for the units.
func (d *Draw) check() {
	d.wait = 0
	switch {
	case d.Count < 0:
		panic("ratelimit: a negative draw")
	case int64(d.Count) > d.Policy.burst:
		d.wait = d.Policy.full()
	case d.missing+d.cost() > d.Policy.full():
		d.wait = d.missing + d.cost() - d.Policy.full()
	}
}

// Refused reports whether the bucket has too little.
func (d *Draw) Refused() bool { return d.wait > 0 }

// Wait is the time until the draw would succeed; zero if it was not refused.
func (d *Draw) Wait() time.Duration { return time.Duration(d.wait) }

// Never reports whether the draw is larger than the whole bucket.
func (d *Draw) Never() bool { return int64(d.Count) > d.Policy.burst }

// Remaining is the number of units left.
func (d *Draw) Remaining() int {
	return int(max(0, (d.Policy.full()-d.missing)/d.Policy.every))
}

// Reset is the time until the bucket is full.
func (d *Draw) Reset() time.Duration { return time.Duration(d.missing) }

// Reason says why the draw was refused, and what the client can do.
func (d *Draw) Reason() (detail, hint string) {
	if d.Never() {
		return fmt.Sprintf("this costs %d of the limit %q, which is %s", d.Count, d.Policy.name, d.Policy.quota), "ask for less at once"
	}
	return fmt.Sprintf("the limit %q of %s is used up", d.Policy.name, d.Policy.quota), "wait the seconds in Retry-After"
}

// seconds rounds nanoseconds up to whole seconds.
func seconds(ns int64) int64 {
	const second = int64(time.Second)
	if ns > math.MaxInt64-second {
		return ns / second
	}
	return (ns + second - 1) / second
}
