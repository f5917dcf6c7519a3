package ratelimit

import (
	"hash/maphash"
	"math/bits"
	"sync"
	"time"
)

// A Limiter holds token buckets in memory. It is safe for concurrent use, starts no goroutine, and holds at most twice
// maxBuckets buckets of some 30 bytes: with more clients than that in the time in which a bucket fills, the least recently
// seen start with a full one. Each process counts for itself, and its counts end with it.
type Limiter struct {
	now    func() time.Time
	start  time.Time
	window int64 // longest time in which a bucket fills
	most   int   // most buckets in one generation of a shard
	seed   maphash.Seed
	shards [shards]shard
}

const shards = 64 // one for each bit of a set

// A shard holds the buckets of some keys, each as the time at which it is full again. A bucket that was not used for a window
// is full, and so is an absent one. So two generations of maps, rotated once a window, drop only full buckets.
type shard struct {
	mu         sync.Mutex
	young, old map[uint64]int64
	turned     int64
	_          [64]byte // shards do not share a cache line
}

// A Key identifies the owner of a bucket: a seeded hash, so that clients cannot make keys collide.
type Key uint64

// New returns a limiter for the policies. It panics without policies or buckets.
func New(maxBuckets int, now func() time.Time, policies ...*Policy) *Limiter {
	if len(policies) == 0 || maxBuckets <= 0 {
		panic("ratelimit: a limiter needs policies and buckets")
	}
	l := &Limiter{now: now, start: now(), seed: maphash.MakeSeed(), most: max(1, maxBuckets/shards)}
	for _, p := range policies {
		l.window = max(l.window, p.full())
	}
	for i := range l.shards {
		l.shards[i].young, l.shards[i].old = map[uint64]int64{}, map[uint64]int64{}
	}
	return l
}

// Key returns the key of a name, such as the id of an account.
func (l *Limiter) Key(name string) Key { return Key(maphash.String(l.seed, name)) }

func (k Key) shard() int { return int(k % shards) }

// Take draws from all of the buckets or, if one has too little, from none. It returns nil, or the refused draw with the
// longest wait. Afterwards each draw has the state of its bucket. Draws must be for different buckets, and their policies
// those of [New].
func (l *Limiter) Take(draws []Draw) (refused *Draw) {
	now := l.lock(draws)
	for i := range draws {
		d := &draws[i]
		d.missing = l.shards[d.Key.shard()].missing(d.bucket, now)
		if d.check(); d.wait > 0 && (refused == nil || d.wait > refused.wait) {
			refused = d
		}
	}
	for i := range draws {
		d := &draws[i]
		if refused == nil && d.Count > 0 {
			d.missing += d.cost()
			l.shards[d.Key.shard()].young[d.bucket] = now + d.missing
		}
	}
	l.unlock(draws)
	return refused
}

// Return gives back the units of draws that were not used.
func (l *Limiter) Return(draws []Draw) {
	now := l.lock(draws)
	for i := range draws {
		d := &draws[i]
		s := &l.shards[d.Key.shard()]
		d.missing, d.wait = max(0, s.missing(d.bucket, now)-d.cost()), 0
		s.young[d.bucket] = now + d.missing
	}
	l.unlock(draws)
}

// Forget resets the bucket of a key under a policy to full.
func (l *Limiter) Forget(p *Policy, key Key) {
	s := &l.shards[key.shard()]
	s.mu.Lock()
	defer s.mu.Unlock()
	bucket := uint64(key) ^ p.salt
	delete(s.young, bucket)
	delete(s.old, bucket)
}

// lock locks the shards of the draws, lowest first, and returns the time.
func (l *Limiter) lock(draws []Draw) (now int64) {
	var set uint64
	for i := range draws {
		d := &draws[i]
		if d.Policy.full() > l.window {
			panic("ratelimit: a policy that the limiter was not made for: " + d.Policy.name)
		}
		d.bucket = uint64(d.Key) ^ d.Policy.salt
		set |= 1 << d.Key.shard()
	}
	for s := set; s != 0; s &= s - 1 {
		l.shards[bits.TrailingZeros64(s)].mu.Lock()
	}
	now = int64(l.now().Sub(l.start))
	for s := set; s != 0; s &= s - 1 {
		l.shards[bits.TrailingZeros64(s)].turn(now, l.window, l.most)
	}
	return now
}

func (l *Limiter) unlock(draws []Draw) {
	var set uint64
	for i := range draws {
		set |= 1 << draws[i].Key.shard()
	}
	for s := set; s != 0; s &= s - 1 {
		l.shards[bits.TrailingZeros64(s)].mu.Unlock()
	}
}

// missing is the time until a bucket is full. Reading a bucket keeps it in memory, even for a refused call: else a client
// could make the limiter drop its empty bucket by sending from many other addresses.
func (s *shard) missing(bucket uint64, now int64) int64 {
	fullAt, ok := s.young[bucket]
	if !ok {
		if fullAt, ok = s.old[bucket]; ok && fullAt > now {
			s.young[bucket] = fullAt
		}
	}
	return max(0, fullAt-now)
}

func (s *shard) turn(now, window int64, most int) {
	if now-s.turned < window && len(s.young) < most {
		return
	}
	clear(s.old)
	s.young, s.old = s.old, s.young
	s.turned = now
}
