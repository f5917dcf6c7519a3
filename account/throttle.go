package account

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/ratelimit"
)

// Limits of the sign-in throttle. Failed sign-ins delay the next ones soon. Many sign-ins of any kind do too, since a
// right password costs as much as a wrong one. After the delay the password is checked, so an account is never locked,
// neither by mistakes nor by an attacker. The counts are held in memory by each process.
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

// A throttle slows down password guessing. It measures waiting time, so it reads the clock itself.
type throttle struct {
	accounts  *counters
	addresses *counters

	accountTries *counters
	addressTries *counters

	mu      sync.Mutex
	delayed map[netip.Prefix]int // attempts that are serving a delay
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

// delay is how long an attempt on the account from the client has to wait. It is the same whether or not there is such
// an account.
func (b *throttle) delay(email string, client netip.Prefix) time.Duration {
	return delayOf(max(b.accounts.level(email)-freeByAccount, b.addresses.level(client.String())-freeByAddress))
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
func (b *throttle) tried(email string, client netip.Prefix) time.Duration {
	over := max(b.accountTries.level(email)-triesByAccount, b.addressTries.level(client.String())-triesByAddress)
	b.accountTries.add(email)
	b.addressTries.add(client.String())
	return delayOf(over)
}

// wait sleeps for what is left of the delay of an attempt that began at the time, which is least or more. It fails with
// [fault.RateLimited] when too many attempts from the client wait.
func (b *throttle) wait(ctx context.Context, email string, client netip.Prefix, began time.Time, least time.Duration) error {
	left := time.Until(began.Add(max(least, b.delay(email, client))))
	if left <= 0 {
		return nil
	}
	b.mu.Lock()
	if b.delayed[client] >= maxDelayed {
		b.mu.Unlock()
		return fault.New(fault.RateLimited, "too many sign-ins from this address are waiting").WithRetry(longestDelay)
	}
	b.delayed[client]++
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.delayed[client]--; b.delayed[client] == 0 {
			delete(b.delayed, client)
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
func (b *throttle) failed(email string, client netip.Prefix) {
	b.accounts.add(email)
	b.addresses.add(client.String())
}

// succeeded forgets the failures of the account. Those of the address stay: an attacker with an account of their own
// could otherwise sign in to it between guesses.
func (b *throttle) succeeded(email string) { b.accounts.forget(email) }

// clientPrefix is the network of one client: an IPv4 address, or an IPv6 /64 (RFC 6177).
func clientPrefix(from netip.Addr) netip.Prefix { return ratelimit.Host(from) }

// counters count recent attempts by name. Each rises by one, up to full, and falls by one in the time every.
type counters struct {
	limiter *ratelimit.Limiter
	policy  *ratelimit.Policy
}

const maxCounters = 64 << 10 // beyond which those that rose longest ago may be forgotten

func newCounters(every time.Duration, full int) *counters {
	p := ratelimit.NewPolicy("sign-ins", ratelimit.Quota{Burst: full, Rate: 1, Per: every})
	return &counters{ratelimit.New(maxCounters, time.Now, p), p}
}

// level is the counter of a name, rounded up.
func (c *counters) level(name string) int {
	look := []ratelimit.Draw{{Policy: c.policy, Key: c.limiter.Key(name)}}
	c.limiter.Take(look)
	return c.policy.Quota().Burst - look[0].Remaining()
}

// add raises the counter unless it is full.
func (c *counters) add(name string) {
	c.limiter.Take([]ratelimit.Draw{{Policy: c.policy, Key: c.limiter.Key(name), Count: 1}})
}

func (c *counters) forget(name string) { c.limiter.Forget(c.policy, c.limiter.Key(name)) }
