package guard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// loopback allows 127.0.0.0/8 and the ports of the servers.
func loopback(servers ...*httptest.Server) Config {
	cfg := Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Rate: 1000}
	for _, s := range servers {
		cfg.Ports = append(cfg.Ports, portOf(s.URL))
	}
	return cfg
}

func portOf(raw string) uint16 {
	u, _ := url.Parse(raw)
	n, _ := strconv.ParseUint(u.Port(), 10, 16)
	return uint16(n)
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func guarded(t *testing.T, cfg Config) *Guard {
	t.Helper()
	g := New(cfg)
	t.Cleanup(g.Close)
	return g
}

func code(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func ExampleGuard_Get() {
	g := New(Config{})
	defer g.Close()
	_, err := g.Get(context.Background(), "http://169.254.169.254/latest/meta-data/", "application/json", 1<<10)
	fmt.Println(err)
	// Output: refused: the address or port is not allowed
}

// TestGoesOutThroughEgress shows that the guard connects to nothing that package egress would not, whose own tests try
// every form of an address, and to the ports of registries only.
func TestGoesOutThroughEgress(t *testing.T) {
	t.Parallel()
	strict := guarded(t, Config{Resolver: names{
		"inside.example": addrs("127.0.0.1"),
		"both.example":   addrs("10.0.0.1", "8.8.8.8", "::1", "8.8.4.4"),
	}})
	open := guarded(t, Config{Allow: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}, Ports: []uint16{9001}})
	for _, c := range []struct {
		what, address string
		strict, open  bool
	}{
		{"the WHOIS port", "8.8.8.8:43", true, true},
		{"another port of https", "8.8.8.8:8443", true, true},
		{"another port", "8.8.8.8:22", false, false},
		{"a configured port", "8.8.8.8:9001", false, true},
		{"loopback", "127.0.0.1:443", false, false},
		{"an allowed private address", "10.1.0.1:443", false, true},
		{"an allowed private address on another port", "10.1.0.1:6379", false, false},
		{"the cloud's metadata", "169.254.169.254:80", false, false},
		{"a mapped loopback", "[::ffff:127.0.0.1]:443", false, false},
		{"a decimal loopback", "2130706433:443", false, false},
	} {
		for _, g := range []struct {
			guard *Guard
			want  bool
		}{{strict, c.strict}, {open, c.open}} {
			pass, err := g.guard.Acquire(t.Context(), c.address)
			if (err == nil) != g.want || err != nil && code(err) != Refused {
				t.Errorf("%s: Acquire(%s): got %v, want allowed %v", c.what, c.address, err, g.want)
			}
			if err == nil {
				pass.Release()
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if conn, err := g.guard.Dial(ctx, "tcp", c.address); err == nil {
				conn.Close()
				t.Errorf("%s: Dial(%s) connected on an ended context", c.what, c.address)
			}
		}
	}
	if _, err := strict.Acquire(t.Context(), "inside.example:443"); code(err) != Refused {
		t.Errorf("a name inside: got %v, want %q", err, Refused)
	}
	// What is left of a mixed answer has one order, so that a host has one limiter.
	if got, err := strict.out.Addresses(t.Context(), "both.example:443"); fmt.Sprint(got) != "[8.8.4.4:443 8.8.8.8:443]" {
		t.Errorf("a mixed answer: got %v, %v", got, err)
	}
}

// names is a resolver with fixed answers.
type names map[string][]netip.Addr

func (n names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if a, ok := n[host]; ok {
		return append([]netip.Addr(nil), a...), nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

func addrs(texts ...string) (all []netip.Addr) {
	for _, s := range texts {
		all = append(all, netip.MustParseAddr(s))
	}
	return all
}

// TestNamesShareTheirAddress shows that two names of one address have one limit, and two ports of it have two.
func TestNamesShareTheirAddress(t *testing.T) {
	t.Parallel()
	g := guarded(t, Config{Rate: 1, Resolver: names{
		"a.example": addrs("8.8.8.8", "8.8.4.4"),
		"b.example": addrs("8.8.4.4", "8.8.8.8"),
	}})
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	for _, c := range []struct {
		address string
		want    Code
	}{{"a.example:443", ""}, {"b.example:443", Busy}, {"b.example:80", ""}} {
		pass, err := g.Acquire(ctx, c.address)
		if code(err) != c.want {
			t.Errorf("Acquire(%s): got %v, want %q", c.address, err, c.want)
		}
		if err == nil {
			pass.Release()
		}
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	var touched atomic.Int32
	stranger := serve(t, func(w http.ResponseWriter, _ *http.Request) { touched.Add(1) })
	neighbour := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	mux := http.NewServeMux()
	redirect := func(path, to string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) })
	}
	mux.HandleFunc("/ok", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "Application/RDAP+JSON; charset=utf-8")
		fmt.Fprint(w, r.Header.Get("Accept"), " ", r.Header.Get("User-Agent"))
	})
	mux.HandleFunc("/1024", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("x", 1024)) })
	mux.HandleFunc("/1025", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("x", 1025)) })
	mux.HandleFunc("/endless", func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := fmt.Fprint(w, strings.Repeat("x", 1024)); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, "short")
	})
	mux.HandleFunc("/nowhere", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusFound) })
	redirect("/once", "/ok")
	redirect("/3", "/2")
	redirect("/2", "/once")
	redirect("/4", "/3")
	redirect("/loop", "/loop")
	redirect("/file", "file:///etc/passwd")
	redirect("/metadata", "http://169.254.169.254/")
	redirect("/user", "http://u:p@"+strings.TrimPrefix(neighbour.URL, "http://"))
	redirect("/neighbour", neighbour.URL+"/404")
	redirect("/stranger", stranger.URL)
	s := serve(t, mux.ServeHTTP)
	cfg := loopback(s, neighbour)
	cfg.UserAgent = "tester"
	g := guarded(t, cfg)

	for _, c := range []struct {
		path   string
		want   Code
		status int
		same   bool
	}{
		{"/ok", "", 200, true},
		{"/1024", "", 200, true},
		{"/1025", TooLarge, 0, false},
		{"/endless", TooLarge, 0, false},
		{"/cut", Truncated, 0, false},
		{"/nowhere", Redirect, 0, false},
		{"/once", "", 200, true},
		{"/3", "", 200, true},
		{"/4", Redirect, 0, false},
		{"/loop", Redirect, 0, false},
		{"/file", Refused, 0, false},
		{"/metadata", Refused, 0, false},
		{"/user", Refused, 0, false},
		{"/neighbour", "", 404, false},
		{"/stranger", Refused, 0, false},
	} {
		resp, err := g.Get(context.Background(), s.URL+c.path, "application/x", 1024)
		if code(err) != c.want || resp.Status != c.status || resp.Same != c.same || err != nil && resp.Body != nil {
			t.Errorf("Get(%s): got %q, status %d, same %v; want %q, %d, %v", c.path, code(err), resp.Status, resp.Same, c.want, c.status, c.same)
		}
		if c.path == "/ok" && (string(resp.Body) != "application/x tester" || resp.Type != "application/rdap+json") {
			t.Errorf("Get(%s): got body %q of type %q", c.path, resp.Body, resp.Type)
		}
		if err != nil && strings.Contains(err.Error(), s.URL) {
			t.Errorf("Get(%s): the error repeats the URL: %v", c.path, err)
		}
	}
	if n := touched.Load(); n != 0 {
		t.Errorf("the server on a port that is not allowed got %d requests, want 0", n)
	}
}

// TestHTTPSStaysHTTPS shows that a redirect does not leave https.
func TestHTTPSStaysHTTPS(t *testing.T) {
	t.Parallel()
	var touched atomic.Int32
	plain := serve(t, func(http.ResponseWriter, *http.Request) { touched.Add(1) })
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, plain.URL, http.StatusFound)
	}))
	t.Cleanup(s.Close)
	cfg := loopback(s, plain)
	untrusting := guarded(t, cfg)
	cfg.RootCAs = s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	g := guarded(t, cfg)
	if _, err := g.Get(context.Background(), s.URL, "*/*", 10); code(err) != Redirect || touched.Load() != 0 {
		t.Errorf("Get over https with a redirect to http: got %v and %d requests, want %q and 0", err, touched.Load(), Redirect)
	}
	if _, err := untrusting.Get(context.Background(), s.URL, "*/*", 10); code(err) != Network {
		t.Errorf("Get with an unknown authority: got %v, want %q", err, Network)
	}
}

func TestSameHost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"https://a/x", "https://A:443/y", true},
		{"http://a/", "https://a/", true},
		{"https://a/", "http://a/", false},
		{"https://a/", "https://b/", false},
		{"http://a:9001/", "http://a:9002/", false},
		{"http://a:9001/", "http://a:9001/x", true},
	} {
		a, _ := url.Parse(c.a)
		b, _ := url.Parse(c.b)
		if got := sameHost(a, b); got != c.want {
			t.Errorf("sameHost(%s, %s): got %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	g := guarded(t, Config{Now: func() time.Time { return now }})
	for _, c := range []struct {
		header string
		want   time.Duration
	}{
		{"7", 7 * time.Second},
		{" 7 ", 7 * time.Second},
		{"0", time.Second},
		{"301", 300 * time.Second},
		{"99999999999999999999999", 300 * time.Second},
		{"-5", defaultRetryAfter},
		{"soon", defaultRetryAfter},
		{"", defaultRetryAfter},
		{now.Add(42 * time.Second).Format(http.TimeFormat), 42 * time.Second},
		{now.Add(-time.Hour).Format(http.TimeFormat), time.Second},
		{now.Add(time.Hour).Format(http.TimeFormat), 300 * time.Second},
	} {
		if got := g.retryAfter(c.header); got != c.want {
			t.Errorf("retryAfter(%q): got %s, want %s", c.header, got, c.want)
		}
	}
}

// A registry that fails for one name would otherwise be silent about all others for a while.
func TestA503WithoutAWordIsNoRest(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	g := guarded(t, loopback(s))
	for range 2 {
		if resp, err := g.Get(context.Background(), s.URL, "*/*", 10); err != nil || resp.Status != 503 || resp.Retry != 0 {
			t.Errorf("got %+v, %v; want status 503 and no rest", resp, err)
		}
	}
}

func TestHostsRest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what   string
		status int
		header string
		want   time.Duration
	}{
		{"429 with seconds", 429, "20", 20 * time.Second},
		{"429 without", 429, "", defaultRetryAfter},
		{"503 with seconds", 503, "5", 5 * time.Second},
		{"403", 403, "", ForbiddenRest},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int32
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				requests.Add(1)
				if c.header != "" {
					w.Header().Set("Retry-After", c.header)
				}
				w.WriteHeader(c.status)
			})
			g := guarded(t, loopback(s))
			resp, err := g.Get(context.Background(), s.URL, "*/*", 10)
			if err != nil || resp.Status != c.status || resp.Retry != c.want {
				t.Fatalf("first: got %+v, %v; want status %d and a rest of %s", resp, err, c.status, c.want)
			}
			_, err = g.Get(context.Background(), s.URL+"/other", "*/*", 10)
			e := Wrap(err)
			if code(err) != Resting || e.Retry > c.want || e.Retry < c.want-5*time.Second || requests.Load() != 1 {
				t.Errorf("second: got %v, retry %s, %d requests on the wire; want %q, about %s, 1", err, e.Retry, requests.Load(), Resting, c.want)
			}
		})
	}
}
