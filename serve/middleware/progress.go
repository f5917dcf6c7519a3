package middleware

import (
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/ratelimit"
)

// progress counts the requests in progress of clients behind trusted proxies. Elsewhere connections are counted, before
// they cost anything; a proxy's connections are shared by all of its clients.
type progress struct {
	mu      sync.Mutex
	clients map[netip.Prefix]int
}

// enter counts a request in until leave is called, or reports that its client has too many in progress.
func (mw *Stack) enter(r *http.Request) (leave func(), ok bool) {
	if mw.cfg.PerAddress == 0 || !mw.proxied(r) {
		return func() {}, true
	}
	client, p := ratelimit.Host(mw.ClientIP(r)), &mw.progress
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.clients[client] >= mw.cfg.PerAddress {
		return nil, false
	}
	p.clients[client]++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.clients[client]--; p.clients[client] == 0 {
			delete(p.clients, client)
		}
	}, true
}

// proxied reports whether the request comes over a trusted proxy.
func (mw *Stack) proxied(r *http.Request) bool {
	if len(mw.cfg.TrustedProxies) == 0 {
		return false
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && mw.trusted(plain(peer.Addr()))
}

func errCrowded(most int) error {
	return fault.New(fault.RateLimited, "more than %d requests of this address are in progress", most).
		WithHint("wait for some of them to be answered").WithRetry(time.Second)
}
