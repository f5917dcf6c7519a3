// Package egress is an SSRF-safe client for addresses that outsiders supply.
//
// A [Client] resolves a host itself, drops the addresses that are not public, and dials one of those that it checked, which
// prevents DNS rebinding. Waits, replies and the exchanges per destination are limited. There are no cookies, no credentials
// and no proxies, even from the environment: a proxy would be dialled instead of the checked address.
//
// [Client.Fetch] gets a whole reply and follows the allowed redirects. [Client.Do] makes one exchange of any method.
// [Client.Dial] is for protocols other than HTTP.
package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"time"

	"code.dny.dev/ssrf"
)

// Defaults of a [Config].
const (
	DefaultDialTime   = 2 * time.Second  // name resolution and connection together
	DefaultTLSTime    = 3 * time.Second  // of the handshake
	DefaultHeaderTime = 4 * time.Second  // from the end of the request to the end of the reply's header
	DefaultTotalTime  = 10 * time.Second // of an exchange to the end of its body, and of a fetch with its redirects

	DefaultMaxHeader = 64 << 10
	DefaultMaxBody   = 256 << 10
	DefaultInFlight  = 4   // exchanges with one destination at a time
	DefaultTotal     = 256 // exchanges at a time
)

// maxAddresses is the number of addresses of one host that are tried.
const maxAddresses = 4

// Config says which addresses a [Client] may connect to and limits its exchanges. The zero Config is the strictest: public
// addresses, ports 80 and 443, no redirects, no connection used twice. A limit of zero or less is the default, never
// unlimited.
type Config struct {
	Allow          []netip.Prefix // non-public addresses that are allowed
	Ports          []uint16       // allowed ports; empty: 80 and 443
	AnyPort        bool           // all ports are allowed
	AnyAllowedPort bool           // all ports of the addresses in Allow are allowed

	Redirects Redirects // that Fetch follows

	DialTime, TLSTime, HeaderTime, TotalTime time.Duration

	MaxHeader int  // bytes of a reply's header
	MaxBody   int  // bytes of a reply's body, as sent and after decompression
	Gzip      bool // Fetch asks for compressed bodies

	InFlight int // exchanges with one destination, a host and port, at a time
	Total    int // exchanges at a time

	IdlePerHost int           // idle connections per host; 0: none
	IdleTime    time.Duration // after which an idle connection is closed; 0: 30 seconds
	HTTP2       bool          // where the server speaks it

	RootCAs   *x509.CertPool // nil: the system's
	UserAgent string         // of Fetch; empty: Go's
	Resolver  Resolver       // nil: the system's
}

// Redirects limits the redirects that [Client.Fetch] follows. It never follows one from https to another scheme, to a URL that
// it has requested in the same fetch, or to a destination that is not allowed.
type Redirects struct {
	Max      int  // zero or less: the redirect itself is the reply
	SameSite bool // only within the registrable domain of the first URL (publicsuffix.org)
}

// A Resolver finds the addresses of a host; [net.Resolver] is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// A Client makes guarded exchanges. It is safe for concurrent use.
type Client struct {
	cfg       Config
	public    *ssrf.Guardian
	dialer    net.Dialer
	transport *http.Transport
	slots     *Slots
}

// New returns a client with the limits of cfg.
func New(cfg Config) *Client {
	cfg.setDefaults()
	c := &Client{cfg: cfg, public: ssrf.New(ssrf.WithAnyPort()), slots: NewSlots(cfg.InFlight, cfg.Total)}
	// Control checks the address that the socket is about to connect to.
	c.dialer = net.Dialer{KeepAlive: -1, Control: c.control}
	c.transport = &http.Transport{
		Proxy:                  nil,
		DialContext:            c.Dial,
		TLSClientConfig:        &tls.Config{RootCAs: cfg.RootCAs, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    cfg.TLSTime,
		ResponseHeaderTimeout:  cfg.HeaderTime,
		MaxResponseHeaderBytes: int64(cfg.MaxHeader),
		MaxIdleConns:           max(64, 4*cfg.IdlePerHost),
		MaxIdleConnsPerHost:    cfg.IdlePerHost,
		DisableKeepAlives:      cfg.IdlePerHost <= 0,
		IdleConnTimeout:        cfg.IdleTime,
		DisableCompression:     true, // Fetch decompresses, and counts what it decompresses
		ForceAttemptHTTP2:      cfg.HTTP2,
	}
	return c
}

func (cfg *Config) setDefaults() {
	for _, d := range []struct {
		value    *time.Duration
		standard time.Duration
	}{
		{&cfg.DialTime, DefaultDialTime},
		{&cfg.TLSTime, DefaultTLSTime},
		{&cfg.HeaderTime, DefaultHeaderTime},
		{&cfg.TotalTime, DefaultTotalTime},
		{&cfg.IdleTime, 30 * time.Second},
	} {
		if *d.value <= 0 {
			*d.value = d.standard
		}
	}
	for _, d := range []struct {
		value    *int
		standard int
	}{
		{&cfg.MaxHeader, DefaultMaxHeader},
		{&cfg.MaxBody, DefaultMaxBody},
		{&cfg.InFlight, DefaultInFlight},
		{&cfg.Total, DefaultTotal},
	} {
		if *d.value <= 0 {
			*d.value = d.standard
		}
	}
	if len(cfg.Ports) == 0 {
		cfg.Ports = []uint16{80, 443}
	}
	if cfg.Resolver == nil {
		cfg.Resolver = net.DefaultResolver
	}
}

// Close closes idle connections. It does not interrupt exchanges.
func (c *Client) Close() { c.transport.CloseIdleConnections() }
