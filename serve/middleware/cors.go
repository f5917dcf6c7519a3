package middleware

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// CORS lets pages of other origins call an API, never with credentials.
type CORS struct {
	Origin  func(origin string) bool // which may; nil: any
	Methods string                   // that a page may use
	Headers string                   // that a page may send
	Expose  string                   // that a page may read
}

// REST is open to any origin.
var REST = CORS{
	Methods: "GET, HEAD, POST, PUT, DELETE, OPTIONS",
	Headers: "Authorization, Content-Type, Accept, If-None-Match, Idempotency-Key, Traceparent",
	Expose:  "WWW-Authenticate, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id, ETag, Link, Idempotency-Replayed",
}

var anyOrigin = []string{"*"}

// Set adds the headers of an actual answer (Fetch standard, section 3.3).
func (c *CORS) Set(h http.Header, r *http.Request) {
	if c.Origin == nil {
		h["Access-Control-Allow-Origin"] = anyOrigin
	} else {
		h.Add("Vary", "Origin")
		origin := r.Header.Get("Origin")
		if origin == "" || !c.Origin(origin) {
			return
		}
		h.Set("Access-Control-Allow-Origin", origin)
	}
	if len(r.Header["Origin"]) > 0 { // only a page can use it
		h.Set("Access-Control-Expose-Headers", c.Expose)
	}
}

// Preflight reports whether r asks what a page may do, and if so adds the answer, for which a bare 204 is left.
func (c *CORS) Preflight(h http.Header, r *http.Request) bool {
	if r.Method != http.MethodOptions || r.Header.Get("Origin") == "" || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	if c.Origin == nil || c.Origin(r.Header.Get("Origin")) {
		h.Set("Access-Control-Allow-Methods", c.Methods)
		h.Set("Access-Control-Allow-Headers", c.Headers)
		h.Set("Access-Control-Max-Age", "7200")
	}
	return true
}

// Origins returns a test for our own origin, loopback ones, and those named, each as scheme://host[:port].
func Origins(base string, more ...string) func(origin string) bool {
	own := origin(base)
	return func(candidate string) bool {
		if candidate == own || slices.Contains(more, candidate) {
			return true
		}
		u, err := url.Parse(candidate)
		return err == nil && (u.Scheme == "http" || u.Scheme == "https") && loopback(u.Hostname())
	}
}

// Hosts returns a test for the Host header: our own host, loopback ones, and the hosts of the origins named. A page
// that has its own name resolve to our address (DNS rebinding) sends its own name there.
func Hosts(base string, more ...string) func(host string) bool {
	known := []string{hostOf(base)}
	for _, o := range more {
		known = append(known, hostOf(o))
	}
	return func(host string) bool {
		return slices.Contains(known, strings.ToLower(host)) || loopback(hostname(host))
	}
}

func origin(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

func hostOf(origin string) string {
	u, err := url.Parse(origin)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
}

// hostname is a Host header without the port.
func hostname(host string) string {
	u := url.URL{Host: host}
	return u.Hostname()
}

func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}
