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

// maxConnections is the default of -max-conns-per-addr: twenty times what a browser opens.
const maxConnections = 128

// A count is a flag for a positive number that records whether it was given.
type count struct {
	n     int
	given bool
}

func (c *count) String() string { return strconv.Itoa(c.n) }

// Set parses a positive number.
func (c *count) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 {
		return errors.New("must be a positive number")
	}
	c.n, c.given = n, true
	return nil
}

// A limited listener limits the open connections of one client address. Over the limit it closes an idle connection of the
// address; if there is none, it answers the new one with 429 and closes it. It does not limit trusted proxies, whose
// connections carry requests of many clients.
type limited struct {
	net.Listener
	most    int
	proxies []netip.Prefix

	mu      sync.Mutex
	clients map[netip.Prefix][]*conn
}

// limitConns limits the connections that the server accepts from l to most per client address.
func limitConns(l net.Listener, server *http.Server, most int, proxies []netip.Prefix) net.Listener {
	server.ConnState = func(c net.Conn, state http.ConnState) {
		if c, ok := c.(*conn); ok {
			c.idle.Store(state == http.StateIdle)
		}
	}
	return &limited{Listener: l, most: most, proxies: proxies, clients: map[netip.Prefix][]*conn{}}
}

// Accept returns the next connection within the limit.
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
		// A few bytes into an empty socket buffer: this does not block.
		_ = accepted.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = accepted.Write(refusal(l.most))
		_ = accepted.Close()
	}
}

// client returns the client of a connection, and whether it is limited.
func (l *limited) client(c net.Conn) (netip.Prefix, bool) {
	addr, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}, false
	}
	peer := addr.AddrPort().Addr().Unmap().WithZone("")
	return ratelimit.Host(peer), !slices.ContainsFunc(l.proxies, func(p netip.Prefix) bool { return p.Contains(peer) })
}

// admit adds a connection, or returns nil over the limit.
func (l *limited) admit(accepted net.Conn, client netip.Prefix) *conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.clients[client]
	if len(all) >= l.most {
		at := slices.IndexFunc(all, func(c *conn) bool { return c.idle.Load() })
		if at < 0 {
			return nil
		}
		_ = all[at].Conn.Close() // the server then calls conn.Close, which finds it removed already
		all = l.remove(all[at])
	}
	c := &conn{Conn: accepted, listener: l, client: client}
	l.clients[client] = append(all, c)
	return c
}

// remove removes a connection and returns the client's other ones.
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

// A conn is a limited connection.
type conn struct {
	net.Conn
	listener *limited
	client   netip.Prefix
	idle     atomic.Bool // between two requests
}

// Close closes the connection and removes it from the count.
func (c *conn) Close() error {
	c.listener.mu.Lock()
	c.listener.remove(c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite closes only the sending side, so that the client can read the rest of the response.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// refusal is the HTTP response for a connection over the limit, with the usual error body.
func refusal(most int) []byte {
	f := fault.New(fault.RateLimited, "more than %d connections from this address are open", most).
		WithHint("reuse connections, or close some").WithRetry(time.Second)
	id := middleware.NewRequestID()
	body, err := json.Marshal(middleware.NewFailure(f, id))
	if err != nil {
		panic(err) // impossible: it consists of strings
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nCache-Control: no-store\r\nX-Request-Id: %s\r\n"+
		"Retry-After: %d\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s",
		f.Code.Status(), http.StatusText(f.Code.Status()), id, f.RetrySeconds(), len(body), body)
	return b.Bytes()
}
