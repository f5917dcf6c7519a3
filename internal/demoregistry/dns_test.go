package demoregistry

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// resolve asks the registry's DNS server.
func resolve(t testing.TB, r *Registry, network, name string, kind uint16) *dns.Msg {
	t.Helper()
	m, _, err := (&dns.Client{Net: network}).Exchange(new(dns.Msg).SetQuestion(dns.Fqdn(name), kind), r.dnsAddr)
	if err != nil {
		t.Fatalf("%s %s over %s: %v", name, dns.TypeToString[kind], network, err)
	}
	return m
}

func TestDNS(t *testing.T) {
	t.Parallel()
	r := start(t, Config{})
	for _, c := range []struct {
		shows, name string
		kind        uint16
		rcode       int
		answers     int
	}{
		{"a delegated name", "cobaltpine.com", dns.TypeNS, dns.RcodeSuccess, 2},
		{"case does not matter", "CobaltPine.COM", dns.TypeNS, dns.RcodeSuccess, 2},
		{"a WHOIS-only name", "emberlane.de", dns.TypeNS, dns.RcodeSuccess, 2},
		{"an internationalized name", "xn--bcher-kva.com", dns.TypeSOA, dns.RcodeSuccess, 1},
		{"an address", "cobaltpine.com", dns.TypeA, dns.RcodeSuccess, 1},
		{"a host of a delegated name", "www.cobaltpine.com", dns.TypeA, dns.RcodeSuccess, 1},
		{"a type that is not there", "cobaltpine.com", dns.TypeMX, dns.RcodeSuccess, 0},
		{"a host that is not there", "nothing.cobaltpine.com", dns.TypeA, dns.RcodeNameError, 0},
		{"a free name", "quietmeadow.com", dns.TypeNS, dns.RcodeNameError, 0},
		{"a deleted name is not delegated", "oldharbor.com", dns.TypeNS, dns.RcodeNameError, 0},
		{"a reserved name is not delegated", "registry.com", dns.TypeNS, dns.RcodeNameError, 0},
		{"the name of a fault is not delegated", "fault-429.throttled.test", dns.TypeNS, dns.RcodeNameError, 0},
		{"a suffix", "co.uk", dns.TypeNS, dns.RcodeSuccess, 2},
		{"a suffix's SOA", "com", dns.TypeSOA, dns.RcodeSuccess, 1},
		{"a wildcard zone, a free name", "quietmeadow.ws", dns.TypeA, dns.RcodeSuccess, 1},
		{"a wildcard zone's name servers", "any-thing-at-all.ws", dns.TypeNS, dns.RcodeSuccess, 2},
		{"a zone that is not here", "example.museum", dns.TypeNS, dns.RcodeRefused, 0},
		{"SERVFAIL", DNSFailure.Name(), dns.TypeNS, dns.RcodeServerFailure, 0},
		{"REFUSED", DNSRefused.Name(), dns.TypeNS, dns.RcodeRefused, 0},
	} {
		for _, network := range []string{"udp", "tcp"} {
			m := resolve(t, r, network, c.name, c.kind)
			if m.Rcode != c.rcode || len(m.Answer) != c.answers {
				t.Errorf("%s over %s: got\n%v\nwant %s with %d answers", c.shows, network, m, dns.RcodeToString[c.rcode], c.answers)
			}
			negative := m.Authoritative && len(m.Answer) == 0
			if negative && (len(m.Ns) != 1 || m.Ns[0].Header().Rrtype != dns.TypeSOA) {
				t.Errorf("%s over %s: got authority %v, want the SOA (RFC 2308)", c.shows, network, m.Ns)
			}
		}
	}
}

func TestDNSGlueIsWhatTheRegistryPublishes(t *testing.T) {
	t.Parallel()
	r := start(t, Config{})
	m := resolve(t, r, "udp", "ns1.cobaltpine.eu", dns.TypeAAAA)
	if len(m.Answer) != 1 || m.Answer[0].(*dns.AAAA).AAAA.String() != "2001:db8::53" {
		t.Errorf("ns1.cobaltpine.eu AAAA: got %v", m.Answer)
	}
}

func TestDNSSilentFault(t *testing.T) {
	t.Parallel()
	r := start(t, Config{})
	client := dns.Client{Timeout: 200 * time.Millisecond}
	_, _, err := client.Exchange(new(dns.Msg).SetQuestion(dns.Fqdn(DNSSilent.Name()), dns.TypeNS), r.dnsAddr)
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v, want a timeout", err)
	}
}

func TestSetTXT(t *testing.T) {
	t.Parallel()
	r := start(t, Config{})
	const name = "_proof.cobaltpine.com"
	texts := func(network string) (all []string) {
		for _, rr := range resolve(t, r, network, name, dns.TypeTXT).Answer {
			all = append(all, strings.Join(rr.(*dns.TXT).Txt, ""))
		}
		return all
	}
	if m := resolve(t, r, "udp", name, dns.TypeTXT); m.Rcode != dns.RcodeNameError {
		t.Errorf("before: got %s, want NXDOMAIN", dns.RcodeToString[m.Rcode])
	}
	r.SetTXT("_Proof.Cobaltpine.com.", "one", `two "quoted" \ words`)
	if got := texts("udp"); len(got) != 2 || got[0] != "one" || got[1] != `two \"quoted\" \\ words` {
		t.Errorf("set: got %q (in zone file form)", got)
	}
	if m := resolve(t, r, "udp", name, dns.TypeA); m.Rcode != dns.RcodeSuccess || len(m.Answer) != 0 {
		t.Errorf("another type: got %v, want no data", m)
	}
	long := strings.Repeat("0123456789", 60)
	r.SetTXT(name, long)
	if m := resolve(t, r, "udp", name, dns.TypeTXT); !m.Truncated {
		t.Errorf("600 octets over UDP: got %v, want it truncated", m)
	}
	if got := texts("tcp"); len(got) != 1 || got[0] != long {
		t.Errorf("600 octets over TCP: got %q", got)
	}
	r.SetTXT(name)
	if got := texts("udp"); len(got) != 0 {
		t.Errorf("removed: got %q", got)
	}
}

func TestDNSWithTheSystemResolver(t *testing.T) {
	t.Parallel()
	r := start(t, Config{})
	r.SetTXT("_proof.cobaltpine.com", "token-1")
	resolver := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, r.dnsAddr)
	}}
	got, err := resolver.LookupTXT(t.Context(), "_proof.cobaltpine.com")
	if err != nil || len(got) != 1 || got[0] != "token-1" {
		t.Errorf("LookupTXT: got %q %v", got, err)
	}
}
