package guard

import (
	"context"
	"math"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// How long hosts rest.
const (
	ForbiddenRest = 10 * time.Minute // after a 403: the host refuses us, and more requests make it worse

	minRetryAfter     = 1 * time.Second
	maxRetryAfter     = 300 * time.Second // a longer one is more often a mistake
	defaultRetryAfter = 30 * time.Second  // for a 429 that does not say

	firstThrottle = 60 * time.Second // WHOIS has no Retry-After; the pause doubles while the host keeps refusing
	maxThrottle   = 30 * time.Minute

	maxQueue = 30 * time.Second // the longest wait for a turn, whatever the caller's deadline
)

// host is what the limiter knows about one address and port.
type host struct {
	turns *rate.Limiter
	slots chan struct{}

	mu      sync.Mutex
	users   int       // passes given out or waited for
	rest    time.Time // no request before it
	strikes int       // throttles in a row
}

// A Pass is the permission for one exchange with one host. Release it when the exchange is over.
type Pass struct {
	guard   *Guard
	host    *host
	address string
	once    sync.Once
}

// Acquire waits for the turn to ask "host:port" and returns a pass. It fails with an [*Error] and without touching
// the wire when the address is not allowed ([Refused]), when the host rests ([Resting]), and when the turn would
// come after ctx's deadline ([Busy]); the latter two say when to retry.
// A host is an address and a port: names that share one address share its limit.
func (g *Guard) Acquire(ctx context.Context, address string) (*Pass, error) {
	addrs, err := g.out.Addresses(ctx, address)
	if err != nil {
		return nil, err
	}
	h, err := g.enter(addrs[0])
	if err != nil {
		return nil, err
	}
	if err := h.wait(ctx); err != nil {
		h.leave()
		return nil, err
	}
	return &Pass{guard: g, host: h, address: address}, nil
}

// Dial connects to the host of the pass.
func (p *Pass) Dial(ctx context.Context, network string) (net.Conn, error) {
	return p.guard.Dial(ctx, network, p.address)
}

// Release ends the exchange. Only the first call counts.
func (p *Pass) Release() {
	p.once.Do(func() {
		<-p.host.slots
		p.host.leave()
	})
}

// Rest stops all requests to the host for the time.
func (p *Pass) Rest(d time.Duration) {
	p.host.mu.Lock()
	defer p.host.mu.Unlock()
	p.host.restUntil(time.Now().Add(d))
}

// Throttled notes that the host refused for load, in a protocol without a Retry-After. after is what
// it said, or zero: then the pause is a minute, doubling up to half an hour while it keeps refusing.
// It returns the pause.
func (p *Pass) Throttled(after time.Duration) time.Duration {
	h := p.host
	h.mu.Lock()
	defer h.mu.Unlock()
	if after <= 0 {
		after = firstThrottle << min(h.strikes, 10)
		h.strikes++
	}
	after = min(max(after, minRetryAfter), maxThrottle)
	h.restUntil(time.Now().Add(after))
	return after
}

// Answered notes that the host gave an answer, so that the next throttle starts from the shortest pause.
func (p *Pass) Answered() {
	p.host.mu.Lock()
	defer p.host.mu.Unlock()
	p.host.strikes = 0
}

// enter returns the host's state, counted as in use.
func (g *Guard) enter(addr netip.AddrPort) (*host, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	h, ok := g.hosts[addr]
	if !ok {
		if len(g.hosts) >= maxHosts {
			g.forgetIdle()
		}
		if len(g.hosts) >= maxHosts {
			return nil, &Error{Code: Busy, Retry: minRetryAfter}
		}
		burst := max(1, int(math.Min(g.cfg.Rate, math.MaxInt32)))
		h = &host{turns: rate.NewLimiter(rate.Limit(g.cfg.Rate), burst), slots: make(chan struct{}, g.cfg.InFlight)}
		g.hosts[addr] = h
	}
	h.mu.Lock()
	h.users++
	h.mu.Unlock()
	return h, nil
}

// forgetIdle drops the hosts whose state is that of a host never asked. The caller holds g.mu.
func (g *Guard) forgetIdle() {
	now := time.Now()
	for addr, h := range g.hosts {
		h.mu.Lock()
		idle := h.users == 0 && !now.Before(h.rest) && h.turns.TokensAt(now) >= float64(h.turns.Burst())
		h.mu.Unlock()
		if idle {
			delete(g.hosts, addr)
		}
	}
}

// wait returns when a request may be sent, holding a slot.
func (h *host) wait(ctx context.Context) error {
	if err := h.resting(); err != nil {
		return err
	}
	turn := h.turns.Reserve()
	delay := turn.Delay()
	limit := maxQueue
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline))
	}
	if delay >= limit && delay > 0 {
		turn.Cancel()
		return &Error{Code: Busy, Retry: delay}
	}
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			turn.Cancel()
			return &Error{Code: Busy, Retry: delay, Cause: ctx.Err()}
		}
	}
	select {
	case h.slots <- struct{}{}:
	case <-ctx.Done():
		return &Error{Code: Busy, Retry: minRetryAfter, Cause: ctx.Err()}
	}
	if err := h.resting(); err != nil { // it was sent to rest while we waited
		<-h.slots
		return err
	}
	return nil
}

func (h *host) resting() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if left := time.Until(h.rest); left > 0 {
		return &Error{Code: Resting, Retry: left}
	}
	return nil
}

// restUntil only ever extends a rest. The caller holds h.mu.
func (h *host) restUntil(t time.Time) {
	if t.After(h.rest) {
		h.rest = t
	}
}

func (h *host) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.users--
}
