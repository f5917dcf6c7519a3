package account

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/ratelimit"
)

// Limits of the sign-in throttle. A few failed sign-ins delay the next ones; so do many sign-ins of any kind, since a
// right password takes as long to check as a wrong one. After the delay the password is checked, so an account is never
// locked, neither by mistakes nor by an attacker. Each process counts in its own memory.
const (
	freeByAccount  = 5           // failures of an account without a delay
	accountEvery   = time.Minute // in which one of them is forgotten
	freeByAddress  = 64          // the same for an IP address, which an office may share
	addressEvery   = 10 * time.Second
	triesByAccount = 20               // sign-ins to an account without a delay, whether they succeed or not
	accountTries   = 10 * time.Second // in which one of them is forgotten
	triesByAddress = 128              // the same for an IP address
	addressTries   = 500 * time.Millisecond

	firstDelay   = 250 * time.Millisecond // doubles with each further failure
	longestDelay = 5 * time.Second
	maxDelayed   = 16 // attempts from one client that may wait at once; more are refused
)

// A throttle slows down password guessing. It reads the system clock, since it measures waiting time.
type throttle struct {
	accounts  *counters
	addresses *counters

	accountTries *counters
	addressTries *counters

	mu      sync.Mutex
	delayed map[netip.Prefix]int // waiting attempts, by client
}

func newThrottle() *throttle {
	return &throttle{
		accounts:     newCounters(accountEvery, freeByAccount+32),
		addresses:    newCounters(addressEvery, freeByAddress+32),
		accountTries: newCounters(accountTries, triesByAccount+32),
		addressTries: newCounters(addressTries, triesByAddress+32),
		delayed:      map[netip.Prefix]int{},
	}
}

// delay is how long an attempt on the account from the client has to wait. It does not depend on whether the account exists.
func (t *throttle) delay(email string, client netip.Prefix) time.Duration {
	return delayOf(max(t.accounts.level(email)-freeByAccount, t.addresses.level(client.String())-freeByAddress))
}

// delayOf is the delay for so many attempts over the limit, none below zero.
func delayOf(over int) time.Duration {
	if over < 0 {
		return 0
	}
	return min(firstDelay<<min(over, 16), longestDelay)
}

// tried counts an attempt before its result is known, and returns its least delay.
func (t *throttle) tried(email string, client netip.Prefix) time.Duration {
	over := max(t.accountTries.level(email)-triesByAccount, t.addressTries.level(client.String())-triesByAddress)
	t.accountTries.add(email)
	t.addressTries.add(client.String())
	return delayOf(over)
}

// wait waits for the rest of the delay of an attempt that began at began. It fails with [fault.RateLimited] if too many
// attempts from the client wait.
func (t *throttle) wait(ctx context.Context, email string, client netip.Prefix, began time.Time, least time.Duration) error {
	left := time.Until(began.Add(max(least, t.delay(email, client))))
	if left <= 0 {
		return nil
	}
	t.mu.Lock()
	if t.delayed[client] >= maxDelayed {
		t.mu.Unlock()
		return fault.New(fault.RateLimited, "too many sign-ins from this address are waiting").WithRetry(longestDelay)
	}
	t.delayed[client]++
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.delayed[client]--; t.delayed[client] == 0 {
			delete(t.delayed, client)
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
func (t *throttle) failed(email string, client netip.Prefix) {
	t.accounts.add(email)
	t.addresses.add(client.String())
}

// succeeded forgets the failures of the account. Those of the address stay: an attacker with an account of their own
// could otherwise sign in to it between guesses.
func (t *throttle) succeeded(email string) { t.accounts.forget(email) }

// clientPrefix is the network of one client: an IPv4 address, or an IPv6 /64 (RFC 6177).
func clientPrefix(from netip.Addr) netip.Prefix { return ratelimit.Host(from) }

// counters count recent attempts by name (leaky bucket). Each rises by one, up to full, and falls by one in the time every.
type counters struct {
	limiter *ratelimit.Limiter
	policy  *ratelimit.Policy
}

const maxCounters = 64 << 10 // beyond which the least recently raised may be forgotten

func newCounters(every time.Duration, full int) *counters {
	p := ratelimit.NewPolicy("sign-ins", ratelimit.Quota{Burst: full, Rate: 1, Per: every})
	return &counters{ratelimit.New(maxCounters, time.Now, p), p}
}

// level is the counter of a name, rounded up.
func (c *counters) level(name string) int {
	draws := []ratelimit.Draw{{Policy: c.policy, Key: c.limiter.Key(name)}} // of nothing: reads the bucket
	c.limiter.Take(draws)
	return c.policy.Quota().Burst - draws[0].Remaining()
}

// add raises the counter unless it is full.
func (c *counters) add(name string) {
	c.limiter.Take([]ratelimit.Draw{{Policy: c.policy, Key: c.limiter.Key(name), Count: 1}})
}

func (c *counters) forget(name string) { c.limiter.Forget(c.policy, c.limiter.Key(name)) }
