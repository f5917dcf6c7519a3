// Package guard limits the rate of requests to registries and registrars. It connects through package egress, which checks
// addresses and bounds every wait and every body.
package guard

import (
	"context"
	"crypto/x509"
	"math"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/namewharf/namewharf/cache"
	"github.com/namewharf/namewharf/egress"
)

// Limits of every exchange.
const (
	DialTime   = egress.DefaultDialTime // name resolution and connection together
	TLSTime    = egress.DefaultTLSTime
	HeaderTime = egress.DefaultHeaderTime // from the end of the request to the end of the response's header

	MaxRedirects = 3

	DefaultRate     = 2.0 // requests a second to one host
	DefaultInFlight = 4   // requests to one host at a time

	maxHosts = 4096             // hosts remembered by the limiter
	maxNames = 1024             // host names remembered by the resolver
	nameLife = 60 * time.Second // short, so that a registry that moves is followed

	// An exchange ends with its caller's time, which waiting for a turn is a part of; this is for callers without one.
	totalTime = 60 * time.Second
)

// Config says where connections may go and how often. The zero Config is the strict one: public addresses, the
// standard ports, [DefaultRate] and [DefaultInFlight].
type Config struct {
	Allow     []netip.Prefix   // addresses that are reachable although they are not public
	Ports     []uint16         // ports beyond 43, 80, 443 and 8443
	Rate      float64          // requests a second to one host, the burst being no larger; zero or less: DefaultRate
	InFlight  int              // requests to one host at a time; zero or less: DefaultInFlight
	RootCAs   *x509.CertPool   // nil: the system's
	UserAgent string           // empty: Go's
	Resolver  Resolver         // nil: the system's
	Now       func() time.Time // wall clock against which a Retry-After date is read; nil: time.Now
}

// A Resolver finds the addresses of a host; [net.Resolver] is one.
type Resolver = egress.Resolver

// A Guard makes guarded exchanges. It is safe for concurrent use.
type Guard struct {
	cfg      Config
	out      *egress.Client
	resolver *cachedResolver

	mu    sync.Mutex
	hosts map[netip.AddrPort]*host
}

// New returns a guard with the limits of cfg.
func New(cfg Config) *Guard {
	if cfg.Rate <= 0 || math.IsNaN(cfg.Rate) {
		cfg.Rate = DefaultRate
	}
	if cfg.InFlight <= 0 {
		cfg.InFlight = DefaultInFlight
	}
	if cfg.Resolver == nil {
		cfg.Resolver = net.DefaultResolver
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	known := &cachedResolver{cfg.Resolver, cache.New(cache.Config[string, []netip.Addr]{Entries: maxNames})}
	return &Guard{
		cfg:      cfg,
		resolver: known,
		out: egress.New(egress.Config{
			Allow: cfg.Allow, Ports: append([]uint16{43, 80, 443, 8443}, cfg.Ports...), Redirects: egress.Redirects{Max: MaxRedirects},
			DialTime: DialTime, TLSTime: TLSTime, HeaderTime: HeaderTime, TotalTime: totalTime, Gzip: true,
			IdlePerHost: cfg.InFlight, HTTP2: true, RootCAs: cfg.RootCAs, UserAgent: cfg.UserAgent, Resolver: known,
		}),
		hosts: map[netip.AddrPort]*host{},
	}
}

// Close drops the idle connections. Exchanges that run are not disturbed.
func (g *Guard) Close() {
	g.out.Close()
	g.resolver.known.Wait()
}

// An Error is why an exchange failed. Its text holds neither addresses nor names that the other side chose.
type Error = egress.Error

// A Code says in one word why an exchange failed.
type Code = egress.Code

// The codes of [Error].
const (
	Refused   = egress.Refused
	Resting   = Code("resting") // the host asked for a pause that is not over; nothing was sent
	Busy      = egress.Busy     // our own limit towards the host allows no request before the deadline; nothing was sent
	Timeout   = egress.Timeout
	TooLarge  = egress.TooLarge
	Truncated = egress.Truncated
	Redirect  = egress.Redirect
	Network   = egress.Network
)

// Wrap returns err as an [*Error]: itself if it is one, else of the code that its kind suggests.
func Wrap(err error) *Error { return egress.Wrap(err) }

// Dial connects to "host:port" over "tcp" or "udp", as [egress.Client.Dial] does. It does not ask the limiter: see
// [Guard.Acquire].
func (g *Guard) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return g.out.Dial(ctx, network, address)
}

// cachedResolver is a resolver with a cache.
type cachedResolver struct {
	from  Resolver
	known *cache.Cache[string, []netip.Addr]
}

// LookupNetIP returns addresses that other callers get too.
func (r *cachedResolver) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	return r.known.Load(ctx, host, func(ctx context.Context) ([]netip.Addr, time.Time, error) {
		ctx, cancel := context.WithTimeout(ctx, DialTime)
		defer cancel()
		found, err := r.from.LookupNetIP(ctx, network, host)
		if err != nil {
			return nil, time.Time{}, err
		}
		for i, a := range found {
			found[i] = a.Unmap()
		}
		// The order of an answer rotates; ours does not, so that a host has one limiter.
		slices.SortFunc(found, netip.Addr.Compare)
		return slices.Compact(found), time.Now().Add(nameLife), nil
	})
}
