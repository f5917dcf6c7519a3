package httpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/ratelimit"
	"github.com/namewharf/namewharf/serve/middleware"
)

// maxConnections is how many connections one address may have unless -max-conns-per-addr says otherwise: what a browser
// opens, twenty times over.
const maxConnections = 128

// A count is a flag of a positive number, which knows whether it was given.
type count struct {
	n     int
	given bool
}

func (c *count) String() string { return strconv.Itoa(c.n) }

// Set takes a positive number.
func (c *count) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 {
		return errors.New("must be a positive number")
	}
	c.n, c.given = n, true
	return nil
}

// A limited listener accepts at most so many connections of one client address at a time. Where an address has that
// many already, one of them that waits for its next request makes room; where none does, the new one is told so and
// closed. Connections of trusted proxies are everybody's, and not counted.
type limited struct {
	net.Listener
	most    int
	proxies []netip.Prefix

	mu      sync.Mutex
	clients map[netip.Prefix][]*conn
}

// crowd limits what the server accepts from l.
func crowd(l net.Listener, server *http.Server, most int, proxies []netip.Prefix) net.Listener {
	server.ConnState = func(c net.Conn, state http.ConnState) {
		if c, ok := c.(*conn); ok {
			c.idle.Store(state == http.StateIdle)
		}
	}
	return &limited{Listener: l, most: most, proxies: proxies, clients: map[netip.Prefix][]*conn{}}
}

// Accept returns the next connection that its address may have.
func (l *limited) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		client, ok := l.client(accepted)
		if !ok {
			return accepted, nil
		}
		if c := l.admit(accepted, client); c != nil {
			return c, nil
		}
		// A few bytes into an empty buffer: this does not wait for anybody.
		_ = accepted.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = accepted.Write(refusal(l.most))
		_ = accepted.Close()
	}
}

// client is who connects, and whether that is counted.
func (l *limited) client(c net.Conn) (netip.Prefix, bool) {
	addr, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}, false
	}
	peer := addr.AddrPort().Addr().Unmap().WithZone("")
	return ratelimit.Host(peer), !slices.ContainsFunc(l.proxies, func(p netip.Prefix) bool { return p.Contains(peer) })
}

// admit counts a connection in, or returns nil.
func (l *limited) admit(accepted net.Conn, client netip.Prefix) *conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.clients[client]
	if len(all) >= l.most {
		at := slices.IndexFunc(all, func(c *conn) bool { return c.idle.Load() })
		if at < 0 {
			return nil
		}
		_ = all[at].Conn.Close() // the server hears of it and closes its side, which finds it counted out
		all = l.remove(all[at])
	}
	c := &conn{Conn: accepted, listener: l, client: client}
	l.clients[client] = append(all, c)
	return c
}

// remove counts a connection out and returns those that its client has left.
func (l *limited) remove(c *conn) []*conn {
	all := l.clients[c.client]
	if at := slices.Index(all, c); at >= 0 {
		all = slices.Delete(all, at, at+1)
	}
	if len(all) == 0 {
		delete(l.clients, c.client)
		return nil
	}
	l.clients[c.client] = all
	return all
}

// A conn is a connection that is counted.
type conn struct {
	net.Conn
	listener *limited
	client   netip.Prefix
	idle     atomic.Bool // between two requests
}

// Close counts the connection out.
func (c *conn) Close() error {
	c.listener.mu.Lock()
	c.listener.remove(c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite ends our side alone, so that the client gets to read what was written to it.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// refusal is the answer for a connection too many, as any other error is answered.
func refusal(most int) []byte {
	f := fault.New(fault.RateLimited, "more than %d connections of this address are open", most).
		WithHint("use those there are, or close some").WithRetry(time.Second)
	id := middleware.NewRequestID()
	body, err := json.Marshal(middleware.NewFailure(f, id))
	if err != nil {
		panic(err) // of strings
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nCache-Control: no-store\r\nX-Request-Id: %s\r\n"+
		"Retry-After: %d\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s",
		f.Code.Status(), http.StatusText(f.Code.Status()), id, f.RetrySeconds(), len(body), body)
	return b.Bytes()
}
