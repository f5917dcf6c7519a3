package account

import (
	"context"
	"hash/maphash"
	"net/netip"
	"sync"
	"time"

	"github.com/namewharf/namewharf/fault"
)

// How sign-ins slow down those that follow: failed ones soon, and many of any kind, since a right password costs us as
// much as a wrong one. A delay is served, then the password is looked at: so nobody is locked out, neither by mistakes
// nor by an attacker's failures. The counts are those of this process and start afresh with it.
const (
	freeByAccount  = 5           // failures without consequence for an account...
	accountEvery   = time.Minute // ...one of which is forgotten in this time
	freeByAddress  = 64          // the same for an address, behind which there may be an office
	addressEvery   = 10 * time.Second
	triesByAccount = 20               // sign-ins to an account without consequence, whether they succeed or not...
	accountTries   = 10 * time.Second // ...one of which is forgotten in this time
	triesByAddress = 128              // the same for an address
	addressTries   = 500 * time.Millisecond

	firstDelay   = 250 * time.Millisecond // doubles with each further failure
	longestDelay = 5 * time.Second
	maxDelayed   = 16 // attempts from one address that may be serving a delay; more are refused
)

// A brake slows down the guessing of passwords. Its time is that of waiting, so it reads the clock itself.
type brake struct {
	accounts  *gauges[string]
	addresses *gauges[netip.Prefix]

	accountTries *gauges[string]
	addressTries *gauges[netip.Prefix]

	mu      sync.Mutex
	delayed map[netip.Prefix]int // attempts that are serving a delay
}

func newBrake() *brake {
	return &brake{
		accounts:     newGauges[string](accountEvery, freeByAccount+32),
		addresses:    newGauges[netip.Prefix](addressEvery, freeByAddress+32),
		accountTries: newGauges[string](accountTries, triesByAccount+32),
		addressTries: newGauges[netip.Prefix](addressTries, triesByAddress+32),
		delayed:      map[netip.Prefix]int{},
	}
}

// delay is how long an attempt on the account from the place has to wait. It is the same whether or not there is such
// an account.
func (b *brake) delay(email string, place netip.Prefix) time.Duration {
	now := time.Now()
	return delayOf(max(b.accounts.level(email, now)-freeByAccount, b.addresses.level(place, now)-freeByAddress))
}

// delayOf is the delay for as many beyond what is free, none below zero.
func delayOf(over int) time.Duration {
	if over < 0 {
		return 0
	}
	return min(firstDelay<<min(over, 16), longestDelay)
}

// tried counts an attempt before anything is known of it, and returns how long it has to wait at least because of those
// before it.
func (b *brake) tried(email string, place netip.Prefix) time.Duration {
	now := time.Now()
	over := max(b.accountTries.level(email, now)-triesByAccount, b.addressTries.level(place, now)-triesByAddress)
	b.accountTries.add(email, now)
	b.addressTries.add(place, now)
	return delayOf(over)
}

// wait serves what is left of the delay of an attempt that began at the time, which is least or more. It fails with
// [fault.RateLimited] when too many attempts from the place wait.
func (b *brake) wait(ctx context.Context, email string, place netip.Prefix, began time.Time, least time.Duration) error {
	left := time.Until(began.Add(max(least, b.delay(email, place))))
	if left <= 0 {
		return nil
	}
	b.mu.Lock()
	if b.delayed[place] >= maxDelayed {
		b.mu.Unlock()
		return fault.New(fault.RateLimited, "too many sign-ins from this address are waiting").WithRetry(longestDelay)
	}
	b.delayed[place]++
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.delayed[place]--; b.delayed[place] == 0 {
			delete(b.delayed, place)
		}
	}()
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// failed counts a wrong password.
func (b *brake) failed(email string, place netip.Prefix) {
	now := time.Now()
	b.accounts.add(email, now)
	b.addresses.add(place, now)
}

// succeeded forgets the failures of the account. Those of the address stay: an attacker with an account of their own
// could otherwise sign in to it between guesses.
func (b *brake) succeeded(email string) { b.accounts.forget(email) }

// placeOf is whom an address stands for: itself, or for IPv6 the network that one subscriber has (RFC 6177).
func placeOf(from netip.Addr) netip.Prefix {
	from = from.Unmap().WithZone("")
	bits := from.BitLen()
	if from.Is6() {
		bits = 64
	}
	place, _ := from.Prefix(bits) // fails for the zero address only, all of which are one place
	return place
}

// gauges are leaky counters: each rises by one, up to full, and falls by one in every. They are safe for concurrent use
// and bounded: beyond maxGauges, those that rose longest ago are forgotten.
type gauges[K comparable] struct {
	every time.Duration
	full  int
	seed  maphash.Seed // keys are kept as their hashes, which are short, and nobody can make two collide

	mu         sync.Mutex
	young, old map[uint64]time.Time // when the counter will have fallen to zero
	turned     time.Time
}

const maxGauges = 64 << 10 // in each of the two generations

func newGauges[K comparable](every time.Duration, full int) *gauges[K] {
	return &gauges[K]{every: every, full: full, seed: maphash.MakeSeed(), young: map[uint64]time.Time{}, old: map[uint64]time.Time{}}
}

// level is the counter, rounded up.
func (g *gauges[K]) level(key K, now time.Time) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.height(g.empty(maphash.Comparable(g.seed, key), now), now)
}

// empty is when the counter will have fallen to zero, now at the earliest.
func (g *gauges[K]) empty(key uint64, now time.Time) time.Time {
	at, ok := g.young[key]
	if !ok {
		at = g.old[key]
	}
	if at.Before(now) {
		return now
	}
	return at
}

func (g *gauges[K]) height(empty, now time.Time) int {
	return int((empty.Sub(now) + g.every - 1) / g.every)
}

// add raises the counter unless it is full, and reports whether it did.
func (g *gauges[K]) add(key K, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	// A counter that was not raised for the time in which a full one falls to zero is zero, so that turning over the
	// generations that slowly forgets nothing.
	if now.Sub(g.turned) > g.every*time.Duration(g.full) || len(g.young) >= maxGauges {
		g.young, g.old, g.turned = map[uint64]time.Time{}, g.young, now
	}
	hash := maphash.Comparable(g.seed, key)
	empty := g.empty(hash, now)
	if g.height(empty, now) >= g.full {
		return false
	}
	g.young[hash] = empty.Add(g.every)
	return true
}

func (g *gauges[K]) forget(key K) {
	g.mu.Lock()
	defer g.mu.Unlock()
	hash := maphash.Comparable(g.seed, key)
	delete(g.young, hash)
	delete(g.old, hash)
}
