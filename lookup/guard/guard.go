// Package guard is the only way out to registries and registrars: what they name is not trusted, so every address
// is checked after resolution and the checked one is dialled, every wait and every body is bounded, and no host is
// asked faster than it is willing to answer.
package guard

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"code.dny.dev/ssrf"

	"github.com/namewharf/namewharf/cache"
)

// Limits that every exchange keeps, whatever the other side does.
const (
	DialTime   = 2 * time.Second // name resolution and connection together
	TLSTime    = 3 * time.Second
	HeaderTime = 4 * time.Second // from the end of the request to the end of the response's header

	MaxRedirects = 3

	DefaultRate     = 2.0 // requests a second to one host
	DefaultInFlight = 4   // requests to one host at a time

	maxHeader    = 64 << 10
	maxAddresses = 4                // addresses of one host that are tried
	maxHosts     = 4096             // hosts remembered by the limiter
	maxNames     = 1024             // host names remembered by the resolver
	nameLife     = 60 * time.Second // short, so that a registry that moves is followed
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
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// A Guard makes guarded exchanges. It is safe for concurrent use.
type Guard struct {
	cfg    Config
	safe   *ssrf.Guardian
	dialer net.Dialer
	client *http.Client
	names  *cache.Cache[string, []netip.Addr]

	mu    sync.Mutex
	hosts map[netip.AddrPort]*host
}

// New returns a guard that keeps the limits of cfg.
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
	g := &Guard{
		cfg:   cfg,
		safe:  guardian(cfg),
		names: cache.New(cache.Config[string, []netip.Addr]{Entries: maxNames}),
		hosts: map[netip.AddrPort]*host{},
	}
	// Control sees the address that the socket is about to be connected to: the last word.
	g.dialer = net.Dialer{Timeout: DialTime, KeepAlive: -1, Control: g.safe.Safe}
	g.client = &http.Client{
		Transport: &http.Transport{
			Proxy:                  nil, // a proxy would be dialled instead of the checked address
			DialContext:            g.Dial,
			TLSClientConfig:        &tls.Config{RootCAs: cfg.RootCAs, MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:    TLSTime,
			ResponseHeaderTimeout:  HeaderTime,
			MaxResponseHeaderBytes: maxHeader,
			MaxIdleConns:           64,
			MaxIdleConnsPerHost:    cfg.InFlight,
			IdleConnTimeout:        30 * time.Second,
			ForceAttemptHTTP2:      true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return g
}

func guardian(cfg Config) *ssrf.Guardian {
	var v4, v6 []netip.Prefix
	for _, p := range cfg.Allow {
		if p.Addr().Is4() {
			v4 = append(v4, p)
		} else {
			v6 = append(v6, p)
		}
	}
	return ssrf.New(
		ssrf.WithNetworks("tcp4", "tcp6", "udp4", "udp6"),
		ssrf.WithPorts(append([]uint16{43, 80, 443, 8443}, cfg.Ports...)...),
		ssrf.WithAllowedV4Prefixes(v4...),
		ssrf.WithAllowedV6Prefixes(v6...),
	)
}

// Close drops the idle connections. Exchanges that run are not disturbed.
func (g *Guard) Close() {
	g.client.CloseIdleConnections()
	g.names.Wait()
}

// A Code says in one word why an exchange failed.
type Code string

// The codes of [Error].
const (
	Refused   Code = "refused"   // the address, the port, the scheme or the URL is not allowed; nothing was sent
	Resting   Code = "resting"   // the host asked for a pause that is not over; nothing was sent
	Busy      Code = "busy"      // our own limit towards the host leaves no room before the deadline; nothing was sent
	Timeout   Code = "timeout"   // a time limit passed
	TooLarge  Code = "too_large" // the reply is over its limit
	Truncated Code = "truncated" // the reply ended before it was complete
	Redirect  Code = "redirect"  // too many redirects, or one that is not followed
	Network   Code = "network"   // no connection, or none that held
)

// An Error is why an exchange failed. Its text holds neither addresses nor names that the other side chose.
type Error struct {
	Code  Code
	Retry time.Duration // when a next attempt makes sense, if that is known
	cause error
}

func (e *Error) Error() string {
	if e.cause == nil {
		return string(e.Code)
	}
	return string(e.Code) + ": " + e.cause.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

func fail(code Code, format string, args ...any) *Error {
	return &Error{Code: code, cause: fmt.Errorf(format, args...)}
}

// Wrap returns err as an [*Error]: itself if it is one, else of the code that its kind suggests.
func Wrap(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	var n net.Error
	switch {
	case errors.Is(err, ssrf.ErrProhibitedIP), errors.Is(err, ssrf.ErrProhibitedPort), errors.Is(err, ssrf.ErrProhibitedNetwork):
		return &Error{Code: Refused, cause: errNotAllowed}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), errors.As(err, &n) && n.Timeout():
		return &Error{Code: Timeout, cause: err}
	}
	return &Error{Code: Network, cause: err}
}

var errNotAllowed = errors.New("the address or port is not allowed")

// Dial connects to "host:port" over "tcp" or "udp". It resolves the host, drops the addresses that are not allowed,
// and dials one of the others. It does not ask the limiter: see [Guard.Acquire].
func (g *Guard) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, DialTime)
	defer cancel()
	addrs, err := g.addresses(ctx, address)
	if err != nil {
		return nil, err
	}
	var firstErr error
	for i, a := range addrs {
		conn, err := g.dialOne(ctx, network, a, len(addrs)-i)
		if err == nil {
			return conn, nil
		}
		if firstErr == nil {
			firstErr = err
		}
	}
	return nil, Wrap(firstErr)
}

// dialOne gives the address its share of the time that is left for it and those after it.
func (g *Guard) dialOne(ctx context.Context, network string, a netip.AddrPort, left int) (net.Conn, error) {
	if deadline, ok := ctx.Deadline(); ok && left > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(left))
		defer cancel()
	}
	return g.dialer.DialContext(ctx, network, a.String())
}

// addresses resolves "host:port" and returns the allowed addresses in a fixed order, at least one.
func (g *Guard) addresses(ctx context.Context, address string) ([]netip.AddrPort, error) {
	name, portText, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fail(Refused, "the address is not host:port")
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, fail(Refused, "the port is not a number")
	}
	addrs, err := g.resolve(ctx, name)
	if err != nil {
		return nil, err
	}
	allowed := make([]netip.AddrPort, 0, len(addrs))
	for _, a := range addrs {
		ap := netip.AddrPortFrom(a, uint16(port))
		if g.safe.SafeAddrPort(ap) == nil && len(allowed) < maxAddresses {
			allowed = append(allowed, ap)
		}
	}
	if len(allowed) == 0 {
		return nil, &Error{Code: Refused, cause: errNotAllowed}
	}
	return allowed, nil
}

func (g *Guard) resolve(ctx context.Context, name string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(name); err == nil {
		return []netip.Addr{a}, nil
	}
	if name == "" || len(name) > 254 {
		return nil, fail(Refused, "the host name is empty or too long")
	}
	addrs, err := g.names.Load(ctx, name, func(ctx context.Context) ([]netip.Addr, time.Time, error) {
		ctx, cancel := context.WithTimeout(ctx, DialTime)
		defer cancel()
		found, err := g.cfg.Resolver.LookupNetIP(ctx, "ip", name)
		if err != nil {
			return nil, time.Time{}, err
		}
		for i, a := range found {
			found[i] = a.Unmap() // the system resolver may write IPv4 as ::ffff:a.b.c.d
		}
		// The order of an answer rotates; ours does not, so that a host keeps its limiter.
		slices.SortFunc(found, netip.Addr.Compare)
		return slices.Compact(found), time.Now().Add(nameLife), nil
	})
	if err != nil {
		var dns *net.DNSError
		if errors.As(err, &dns) && !dns.Timeout() {
			return nil, fail(Network, "the host name does not resolve")
		}
		return nil, Wrap(err)
	}
	return addrs, nil
}
