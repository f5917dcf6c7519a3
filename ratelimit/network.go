package ratelimit

import (
	"hash/maphash"
	"net/netip"
)

// Layers limit clients by network: a host, which is an IPv4 address or an IPv6 /64; its site, an IPv6 /48 (RFC 6177); and all
// clients together. Each layer allows a few times more than the one below, so that it limits a client with many addresses.
// An IPv4 address belongs to no site.
type Layers struct {
	Host *Policy
	Site *Policy // nil: no limit
	All  *Policy // nil: no limit
}

// Policies returns the policies that are not nil.
func (y Layers) Policies() []*Policy {
	var all []*Policy
	for _, p := range []*Policy{y.Host, y.Site, y.All} {
		if p != nil {
			all = append(all, p)
		}
	}
	return all
}

// Draws appends a draw on each layer for a client address.
func (l *Limiter) Draws(draws []Draw, y Layers, client netip.Addr, count int) []Draw {
	draws = append(draws, Draw{Policy: y.Host, Key: l.Network(Host(client)), Count: count})
	if site, ok := Site(client); ok && y.Site != nil {
		draws = append(draws, Draw{Policy: y.Site, Key: l.Network(site), Count: count})
	}
	if y.All != nil {
		draws = append(draws, Draw{Policy: y.All, Key: 0, Count: count})
	}
	return draws
}

// Network returns the key of a network.
func (l *Limiter) Network(p netip.Prefix) Key {
	var b [18]byte // begins with a zero byte, unlike names
	address := p.Addr().As16()
	b[1] = byte(p.Bits())
	copy(b[2:], address[:])
	return Key(maphash.Bytes(l.seed, b[:]))
}

// Host is the network of one client: an IPv4 address, or the /64 of an IPv6 address. All connections without an address are
// one client.
func Host(a netip.Addr) netip.Prefix { return network(a, 64) }

// Site is the /48 of an IPv6 address; ok is false for other addresses.
func Site(a netip.Addr) (p netip.Prefix, ok bool) {
	p = network(a, 48)
	return p, p.IsValid() && p.Addr().Is6()
}

// Block is a typical network of one provider: the /32 of an IPv6 address, or the /16 of an IPv4 address.
func Block(a netip.Addr) netip.Prefix {
	if a = a.Unmap(); a.Is4() {
		p, _ := a.Prefix(16) // cannot fail
		return p
	}
	return network(a, 32)
}

// network is a prefix of an address that may be an IPv4 address in an IPv6 one, or have a zone.
func network(a netip.Addr, bits int) netip.Prefix {
	a = a.Unmap().WithZone("")
	if a.Is4() {
		bits = 32
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}
