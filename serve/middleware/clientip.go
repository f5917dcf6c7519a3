package middleware

import (
	"net/http"
	"net/netip"
	"strings"
)

// ClientIP is the client's address as the limits see it: IPv6 as its /64, because a client owns all of it. Behind
// trusted proxies it is the last address in X-Forwarded-For that is not a trusted proxy's own; what others write in
// that header is ignored. It is invalid only for a connection that has no address.
func (mw *Stack) ClientIP(r *http.Request) netip.Addr {
	peer, _ := netip.ParseAddrPort(r.RemoteAddr)
	addr := plain(peer.Addr())
	if len(mw.cfg.TrustedProxies) > 0 && mw.trusted(addr) {
		addr = mw.forwarded(r.Header["X-Forwarded-For"], addr)
	}
	if addr.Is6() {
		prefix, err := addr.Prefix(64)
		if err == nil {
			return prefix.Addr()
		}
	}
	return addr
}

// forwarded walks the header from the nearest hop outwards. A hop that is not an address ends the walk.
func (mw *Stack) forwarded(headers []string, nearest netip.Addr) netip.Addr {
	for i := len(headers) - 1; i >= 0; i-- {
		rest := headers[i]
		for rest != "" {
			hop := rest
			if comma := strings.LastIndexByte(rest, ','); comma >= 0 {
				rest, hop = rest[:comma], rest[comma+1:]
			} else {
				rest = ""
			}
			addr, ok := parseHop(strings.TrimSpace(hop))
			if !ok {
				return nearest
			}
			nearest = addr
			if !mw.trusted(addr) {
				return nearest
			}
		}
	}
	return nearest
}

// parseHop reads an address with or without a port, as proxies write them.
func parseHop(s string) (netip.Addr, bool) {
	if addr, err := netip.ParseAddr(s); err == nil {
		return plain(addr), true
	}
	if port, err := netip.ParseAddrPort(s); err == nil {
		return plain(port.Addr()), true
	}
	return netip.Addr{}, false
}

func plain(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

func (mw *Stack) trusted(a netip.Addr) bool {
	for _, p := range mw.cfg.TrustedProxies {
		if p.Contains(a) {
			return true
		}
	}
	return false
}
