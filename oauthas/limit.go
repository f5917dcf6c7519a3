package oauthas

import (
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// A RegistrationLimit is how many clients one address may register.
type RegistrationLimit struct{ PerHour, Burst int }

// defaultRegistrations is the limit of the contract.
var defaultRegistrations = RegistrationLimit{PerHour: 60, Burst: 20}

// maxAddresses bounds what a limiter remembers, at some 100 bytes each.
const maxAddresses = 64 << 10

// A limiter is one token bucket an address, kept as the time at which it is full again (the generic cell rate
// algorithm). A bucket that is full is forgotten.
type limiter struct {
	every time.Duration // in which one registration flows back
	burst int
	now   func() time.Time

	mu   sync.Mutex
	full map[netip.Addr]time.Time
}

func newLimiter(l RegistrationLimit, now func() time.Time) *limiter {
	if l.PerHour <= 0 || l.Burst <= 0 {
		l = defaultRegistrations
	}
	return &limiter{every: time.Hour / time.Duration(l.PerHour), burst: l.Burst, now: now, full: map[netip.Addr]time.Time{}}
}

// take draws one and returns 0, or draws nothing and returns how long to wait.
func (l *limiter) take(a netip.Addr) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	full := l.full[a]
	if full.Before(now) {
		full = now
	}
	full = full.Add(l.every)
	if wait := full.Sub(now) - time.Duration(l.burst)*l.every; wait > 0 {
		return wait
	}
	if len(l.full) >= maxAddresses {
		l.shrink(now)
	}
	l.full[a] = full
	return 0
}

// shrink forgets the buckets that are full, and all of them if none is: from that many addresses, a limit by address
// holds nobody up.
func (l *limiter) shrink(now time.Time) {
	for a, full := range l.full {
		if !full.After(now) {
			delete(l.full, a)
		}
	}
	if len(l.full) >= maxAddresses {
		clear(l.full)
	}
}

// connectionAddress is the other end of the connection, IPv6 as its /64, because a client owns all of it.
func connectionAddress(r *http.Request) netip.Addr {
	peer, _ := netip.ParseAddrPort(r.RemoteAddr)
	addr := peer.Addr().Unmap().WithZone("")
	if addr.Is6() {
		if p, err := addr.Prefix(64); err == nil {
			return p.Addr()
		}
	}
	return addr
}
