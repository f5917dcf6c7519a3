// Package ratelimit is the limiter of requests: token buckets by client, and the header fields that describe them.
//
// A [Policy] is a named quota. A [Limiter] keeps the buckets of any number of policies in memory, each bucket as the
// time at which it is full again (the generic cell rate algorithm). A call draws from one bucket or from several, such
// as those of its address, its network and everybody: from all of them or from none. A bucket that is kept elsewhere,
// such as in a database, uses [Policy.Draw], which is the same arithmetic.
//
// Nothing here is ever unlimited by being zero: a quota that is not positive cannot be built.
package ratelimit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// A Quota is the size of a token bucket and how fast it fills: Burst units at once, then Rate units in every Per.
type Quota struct {
	Burst int
	Rate  int
	Per   time.Duration
}

// PerMinute is n at once, and n a minute.
func PerMinute(n int) Quota { return Quota{n, n, time.Minute} }

// PerHour is n at once, and n an hour.
func PerHour(n int) Quota { return Quota{n, n, time.Hour} }

// PerDay is n at once, and n a day.
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

// A Policy is a named quota for one tier of clients. Where tiers differ, such as anonymous and signed-in callers, each
// is a policy of its own, and they may share a name. Buckets of different policies are different buckets.
type Policy struct {
	name   string
	quota  Quota
	salt   uint64 // makes this policy's buckets of a key differ from those of other policies
	burst  int64
	every  int64    // nanoseconds in which one unit flows back
	header []string // the RateLimit-Policy field of a call that draws on this policy alone
}

// longestFill bounds the time in which an empty bucket fills, so that the arithmetic cannot overflow.
const longestFill = 10 * 365 * 24 * time.Hour

// NewPolicy returns a policy. It panics where a part of the quota is not positive or a bucket would take longer than ten
// years to fill: a mistake in the wiring. The name must be a token that needs no escape in a quoted string.
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

// Name is the name in the header fields.
func (p *Policy) Name() string { return p.name }

// Quota is what the policy was made of.
func (p *Policy) Quota() Quota { return p.quota }

// full is the time in which an empty bucket fills, in nanoseconds.
func (p *Policy) full() int64 { return p.every * p.burst }

// Draw draws count units from a bucket that will be full again after the given time, all of them or none.
// [Draw.Reset] of the result is the state of the bucket after the call.
func (p *Policy) Draw(untilFull time.Duration, count int) Draw {
	d := Draw{Policy: p, Count: count, missing: max(0, int64(untilFull))}
	if d.check(); d.wait == 0 {
		d.missing += d.cost()
	}
	return d
}

// A Draw is what one call takes from one bucket, and what came of it. A Count of zero only looks.
type Draw struct {
	Policy *Policy
	Key    Key // whose bucket
	Count  int // units, not negative

	bucket  uint64
	missing int64 // nanoseconds until the bucket is full
	wait    int64 // nanoseconds until enough is there; 0: there is
}

func (d *Draw) cost() int64 { return int64(d.Count) * d.Policy.every }

// check finds out how long to wait for the units.
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

// Refused reports whether too little is left in this bucket.
func (d *Draw) Refused() bool { return d.wait > 0 }

// Wait is the time until as much as was asked for is there again; zero for what was not refused.
func (d *Draw) Wait() time.Duration { return time.Duration(d.wait) }

// Never reports whether the bucket never holds as much as was asked for, however long one waits.
func (d *Draw) Never() bool { return int64(d.Count) > d.Policy.burst }

// Remaining is how many units are left.
func (d *Draw) Remaining() int {
	return int(max(0, (d.Policy.full()-d.missing)/d.Policy.every))
}

// Reset is the time until the whole quota is back.
func (d *Draw) Reset() time.Duration { return time.Duration(d.missing) }

// Reason says in words why the draw was refused, and what to do about it.
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
