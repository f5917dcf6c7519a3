// Package demoregistry is a small real registry on loopback: RDAP over HTTP, WHOIS over TCP and authoritative DNS over
// UDP and TCP, with a fixed set of names in every state and faults on demand. It is a test bed, and the registry
// that the demo asks.
//
// # Names
//
// A few thousand names made of two English words ("brewhaven") are registered under the suffixes of [Suffixes]. They
// are the same in every process; only their dates move with [Config.Now]. These labels mean the same under every
// suffix, including example and test, which hold little else:
//
//	cobaltpine                  registered, with its registrant
//	emberlane                   registered, registrant redacted (RFC 9537; "REDACTED FOR PRIVACY" in WHOIS)
//	oldharbor                   expiring: redemption period
//	fadingstar                  expiring: pending delete
//	registry                    reserved
//	xn--bcher-kva (bücher)      registered, internationalized (also xn--mnchen-3ya, münchen)
//	quietmeadow                 free
//
// Names of faults are below suffixes that have hosts of their own. They are registered but not delegated, and the host misbehaves as
// the [Fault] of that name says: fault-junk.broken.test, fault-whois-slow.broken.example, and those that make a client
// stay away for a while below throttled.test and throttled.example, such as fault-429.throttled.test.
//
// # Hosts
//
// Each [Registry] operator has an RDAP host, a WHOIS host or both, every one on a port of its own, so that limits
// per host show. com and net are a thin registry: its replies lead to the registrar's own RDAP and WHOIS hosts, which
// alone know the registrant. me, de, eu, jp and example have WHOIS only; app, dev, fr, ch, ws and test RDAP only. ws is
// a wildcard zone: DNS has an answer for every name below it. A real client lets a host rest after a 403 or 429; other
// names than those of faults are not affected, their hosts being others.
package demoregistry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"sync"
	"time"
)

// Config is how a registry is started. The zero Config is valid.
type Config struct {
	ListenHost string           // a loopback address; empty: 127.0.0.1
	Now        func() time.Time // nil: time.Now; the dates of all names count from its value at [Start]
	Latency    time.Duration    // how long every host waits before it answers
	Count      bool             // keep a count for each name asked about, for [Registry.Requests]
}

// A Registry is a set of running servers. It is safe for concurrent use.
type Registry struct {
	cfg     Config
	epoch   time.Time
	names   map[string]state
	rdap    map[string]string // base URL by operator
	whois   map[string]string // address by operator
	dnsAddr string

	ctx     context.Context // done once Close has begun: ends slow answers
	cancel  context.CancelFunc
	stops   []func() // one for each server; it returns once the server takes no more connections
	running sync.WaitGroup

	mu     sync.Mutex
	faults map[string][]Fault
	txt    map[string][]string
	counts map[string]Count
	total  Count
	err    error // of servers that ended before Close
}

// Start listens on free loopback ports and answers until Close. It fails when ListenHost is not a loopback address
// or cannot be listened on.
func Start(cfg Config) (*Registry, error) {
	if cfg.ListenHost == "" {
		cfg.ListenHost = "127.0.0.1"
	}
	if ip, err := netip.ParseAddr(cfg.ListenHost); err != nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("starting the registry: the listen host is not a loopback address")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	r := &Registry{
		cfg:    cfg,
		epoch:  cfg.Now().UTC().Truncate(24 * time.Hour),
		names:  fixedNames(),
		rdap:   map[string]string{},
		whois:  map[string]string{},
		faults: map[string][]Fault{},
		txt:    map[string][]string{},
		counts: map[string]Count{},
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	if err := r.listen(); err != nil {
		r.Close()
		return nil, fmt.Errorf("starting the registry: %w", err)
	}
	return r, nil
}

func (r *Registry) listen() error {
	for i := range operators {
		op := &operators[i]
		if op.rdap {
			l, err := net.Listen("tcp", net.JoinHostPort(r.cfg.ListenHost, "0"))
			if err != nil {
				return err
			}
			r.rdap[op.name] = "http://" + l.Addr().String() + rdapPath
			r.serveRDAP(l, op)
		}
		if op.style != nil {
			l, err := net.Listen("tcp", net.JoinHostPort(r.cfg.ListenHost, "0"))
			if err != nil {
				return err
			}
			r.whois[op.name] = l.Addr().String()
			r.serveWHOIS(l, op)
		}
	}
	return r.serveDNS()
}

// Close stops every server, cuts every connection and returns when no goroutine of the registry is left. Its error
// is that of a server that ended before.
func (r *Registry) Close() error {
	r.cancel()
	for _, stop := range r.stops {
		stop()
	}
	r.running.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// failed stores the error of a server for Close to report.
func (r *Registry) failed(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = errors.Join(r.err, err)
}

// pause waits for Config.Latency, or until Close.
func (r *Registry) pause() {
	if r.cfg.Latency > 0 {
		r.sleep(r.cfg.Latency)
	}
}

// sleep waits for d and reports whether the registry is still open.
func (r *Registry) sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.ctx.Done():
		return false
	}
}

// File is the JSON that points a look-up at this registry and at nothing else.
func (r *Registry) File() []byte {
	file := struct {
		RDAP        map[string]string `json:"rdap_servers"`
		WHOIS       map[string]string `json:"whois_servers"`
		DNS         []string          `json:"dns_servers"`
		Allow       []string          `json:"allow_private_cidrs"`
		Ports       []uint16          `json:"ports"` // of the registrar's hosts, which serve no suffix
		RatePerHost int               `json:"rate_per_host"`
	}{map[string]string{}, map[string]string{}, []string{r.dnsAddr}, []string{r.cidr()}, r.registrarPorts(), 1000}
	for _, suffix := range Suffixes() {
		if base := r.RDAP(suffix); base != "" {
			file.RDAP[suffix] = base
		}
		if address := r.WHOIS(suffix); address != "" {
			file.WHOIS[suffix] = address
		}
	}
	b, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		panic("registry: " + err.Error()) // maps of strings always encode
	}
	return append(b, '\n')
}

// registrarPorts are those of the registrar's own RDAP and WHOIS hosts.
func (r *Registry) registrarPorts() []uint16 {
	u, err := url.Parse(r.rdap[registrarName])
	if err != nil {
		panic("registry: " + err.Error()) // made by listen
	}
	return []uint16{netip.MustParseAddrPort(u.Host).Port(), netip.MustParseAddrPort(r.whois[registrarName]).Port()}
}

// RDAP is the base URL of the suffix's RDAP host; "" when it has none.
func (r *Registry) RDAP(suffix string) string {
	if op := operatorOf[canonical(suffix)]; op != nil {
		return r.rdap[op.name]
	}
	return ""
}

// WHOIS is the address of the suffix's WHOIS host; "" when it has none.
func (r *Registry) WHOIS(suffix string) string {
	if op := operatorOf[canonical(suffix)]; op != nil {
		return r.whois[op.name]
	}
	return ""
}

// DNS is the address of the DNS server, over UDP and TCP.
func (r *Registry) DNS() string { return r.dnsAddr }

// cidr is the loopback network that the hosts listen in.
func (r *Registry) cidr() string {
	ip := netip.MustParseAddr(r.cfg.ListenHost)
	bits := 8
	if ip.Is6() {
		bits = 128
	}
	return netip.PrefixFrom(ip, bits).Masked().String()
}

// A Sample is a name worth trying and what it shows.
type Sample struct {
	Kind string // "free", "registered", "throttled", …
	Name string // in the form a person would type
}

// Samples is one name of each kind, in the order to show them. The one for sale is registered, as most are; that it
// is listed is up to the market. They show what they do in any order: those of faults are on hosts of their own.
func (r *Registry) Samples() []Sample {
	return []Sample{
		{"free", "quietmeadow.com"},
		{"registered", "cobaltpine.com"},
		{"redacted", "emberlane.org"},
		{"WHOIS only", "cobaltpine.de"},
		{"expiring", "oldharbor.net"},
		{"about to be deleted", "fadingstar.io"},
		{"reserved", "registry.shop"},
		{"IDN", "bücher.com"},
		{"for sale", "brewhaven.com"},
		{"throttled", TooMany.Name()},
		{"throttled WHOIS", WhoisThrottle.Name()},
		{"broken registry", Truncated.Name()},
	}
}

// SetTXT publishes TXT records at the name, such as "_proof.cobaltpine.com", in place of those set before.
// Each value is one record; no value removes them.
func (r *Registry) SetTXT(name string, values ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if key := canonical(name); len(values) == 0 {
		delete(r.txt, key)
	} else {
		r.txt[key] = append([]string(nil), values...)
	}
}

// A Count is how many queries arrived over each protocol.
type Count struct{ RDAP, WHOIS, DNS int }

// Requests is how many queries for the name arrived; for "", how many arrived in all. Counts for single names are
// kept only with [Config.Count].
func (r *Registry) Requests(name string) Count {
	r.mu.Lock()
	defer r.mu.Unlock()
	if name == "" {
		return r.total
	}
	return r.counts[canonical(name)]
}

// arrived counts a query.
func (r *Registry) arrived(name string, one Count) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total.add(one)
	if r.cfg.Count {
		c := r.counts[name]
		c.add(one)
		r.counts[name] = c
	}
}

func (c *Count) add(d Count) {
	c.RDAP += d.RDAP
	c.WHOIS += d.WHOIS
	c.DNS += d.DNS
}
