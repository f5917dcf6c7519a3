package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Allows reports whether the client may connect to the address: it is public, or in Config.Allow. IPv6 addresses that embed
// an IPv4 address (RFC 4291, 6052, 3056, 4380) are never public, nor is one with a zone.
func (c *Client) Allows(a netip.Addr) bool {
	return a.IsValid() && a.Zone() == "" && (c.listed(a) || c.public.SafeAddr(a) == nil)
}

// listed reports whether the address is in Config.Allow.
func (c *Client) listed(a netip.Addr) bool {
	return slices.ContainsFunc(c.cfg.Allow, func(p netip.Prefix) bool { return p.Contains(a) })
}

func (c *Client) allows(to netip.AddrPort) bool {
	return c.Allows(to.Addr()) && to.Port() != 0 &&
		(c.cfg.AnyPort || slices.Contains(c.cfg.Ports, to.Port()) || c.cfg.AnyAllowedPort && c.listed(to.Addr()))
}

// control is a [net.Dialer.Control].
func (c *Client) control(network, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !c.allows(to) || !strings.HasPrefix(network, "tcp") && !strings.HasPrefix(network, "udp") {
		return ErrAddress
	}
	return nil
}

// Addresses resolves "host:port" and returns its allowed addresses, at least one, in the resolver's order.
// It fails with an [*Error].
func (c *Client) Addresses(ctx context.Context, address string) ([]netip.AddrPort, error) {
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fail(Refused, "the address is not host:port")
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, fail(Refused, "the port is not a number")
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.DialTime)
	defer cancel()
	if a, err := netip.ParseAddr(host); err == nil {
		if to := netip.AddrPortFrom(a, uint16(port)); c.allows(to) {
			return []netip.AddrPort{to}, nil
		}
		return nil, notAllowed()
	}
	found, err := c.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	allowed := make([]netip.AddrPort, 0, min(len(found), maxAddresses))
	for _, a := range found {
		a = a.Unmap() // the system resolver may write IPv4 as ::ffff:a.b.c.d
		if to := netip.AddrPortFrom(a, uint16(port)); c.allows(to) && len(allowed) < maxAddresses {
			allowed = append(allowed, to)
		}
	}
	if len(allowed) == 0 {
		return nil, notAllowed()
	}
	return allowed, nil
}

func (c *Client) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if err := checkHost(host); err != nil {
		return nil, err
	}
	found, err := c.cfg.Resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		var dns *net.DNSError
		if errors.As(err, &dns) && !dns.Timeout() {
			return nil, &Error{Code: Network, Note: ErrUnresolved.Error(), Cause: ErrUnresolved}
		}
		return nil, Wrap(err)
	}
	return found, nil
}

// checkHost refuses host names that resolvers parse differently: those that end in a number, which some take for an IPv4
// address in another form (127.1, 0x7f000001, 2130706433, 0177.0.0.1), and invalid ones.
func checkHost(host string) error {
	host = strings.TrimSuffix(host, ".")
	if host == "" || len(host) > 253 {
		return fail(Refused, "the host name is empty or too long")
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 || strings.ContainsFunc(label, notInLabel) {
			return fail(Refused, "the host is not a name")
		}
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	if strings.Trim(last, "0123456789") == "" || len(last) > 1 && last[0] == '0' && last[1]|0x20 == 'x' {
		return fail(Refused, "the host is a number") // "ends in a number" in the WHATWG URL Standard
	}
	return nil
}

func notInLabel(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_')
}

// Dial connects to "host:port" over "tcp" or "udp": it resolves the host, drops the addresses that are not allowed, and dials
// the others in turn. It needs no slot. It fails with an [*Error].
func (c *Client) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.DialTime)
	defer cancel()
	addrs, err := c.Addresses(ctx, address)
	if err != nil {
		return nil, err
	}
	var first error
	for i, a := range addrs {
		conn, err := c.dialOne(ctx, network, a, len(addrs)-i)
		if err == nil {
			return conn, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, Wrap(first)
}

// dialOne dials an address within its share of the time, of which left addresses remain.
func (c *Client) dialOne(ctx context.Context, network string, to netip.AddrPort, left int) (net.Conn, error) {
	if deadline, ok := ctx.Deadline(); ok && left > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(left))
		defer cancel()
	}
	return c.dialer.DialContext(ctx, network, to.String())
}
