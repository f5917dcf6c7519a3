package oauthas

import (
	"net/http"
	"net/netip"
	"time"

	"github.com/namewharf/namewharf/ratelimit"
)

// A RegistrationLimit is how many clients one address may register.
type RegistrationLimit struct{ PerHour, Burst int }

// defaultRegistrations is the limit of the contract.
var defaultRegistrations = RegistrationLimit{PerHour: 60, Burst: 20}

// maxAddresses bounds what a limiter remembers.
const maxAddresses = 64 << 10

// A limiter is one token bucket an address.
type limiter struct {
	layers  ratelimit.Layers
	limiter *ratelimit.Limiter
}

func newLimiter(l RegistrationLimit, now func() time.Time) *limiter {
	if l.PerHour <= 0 || l.Burst <= 0 {
		l = defaultRegistrations
	}
	layers := ratelimit.Layers{Host: ratelimit.NewPolicy("registrations", ratelimit.Quota{Burst: l.Burst, Rate: l.PerHour, Per: time.Hour})}
	return &limiter{layers, ratelimit.New(maxAddresses, now, layers.Policies()...)}
}

// take draws one and returns 0, or draws nothing and returns how long to wait.
func (l *limiter) take(a netip.Addr) (wait time.Duration) {
	var room [1]ratelimit.Draw
	if refused := l.limiter.Take(l.limiter.Draws(room[:0], l.layers, a, 1)); refused != nil {
		return refused.Wait()
	}
	return 0
}

// connectionAddress is the other end of the connection.
func connectionAddress(r *http.Request) netip.Addr {
	peer, _ := netip.ParseAddrPort(r.RemoteAddr)
	return peer.Addr()
}
