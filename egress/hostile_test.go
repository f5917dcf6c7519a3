package egress

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// A server is a real one on loopback that counts what reaches it.
type server struct {
	*httptest.Server
	conns, requests atomic.Int64
}

func newServer(t testing.TB, secure bool, h http.HandlerFunc) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		h(w, r)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.conns.Add(1)
		}
	}
	if secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

func (s *server) port() uint16 {
	u, _ := url.Parse(s.URL)
	n, _ := strconv.ParseUint(u.Port(), 10, 16)
	return uint16(n)
}

func (s *server) roots() *x509.CertPool {
	pool := x509.NewCertPool()
	if c := s.Certificate(); c != nil {
		pool.AddCert(c)
	}
	return pool
}

// rawServer answers every connection, after its request's header, with what write sends.
func rawServer(t testing.TB, write func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var open sync.WaitGroup
	t.Cleanup(func() { l.Close(); open.Wait() })
	open.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() {
				defer conn.Close()
				if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
					write(conn)
				}
			})
		}
	})
	return "http://" + l.Addr().String() + "/"
}

// open is a configuration that reaches loopback.
func open() Config { return Config{Allow: loopback, AnyAllowedPort: true} }

func newClient(t testing.TB, cfg Config) *Client {
	t.Helper()
	c := New(cfg)
	t.Cleanup(c.Close)
	return c
}

func code(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// names is a resolver with fixed answers; each answer of a name that has several is given once, the last one for ever.
type names struct {
	mu      sync.Mutex
	answers map[string][][]netip.Addr
	asked   int
}

func (n *names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked++
	all := n.answers[host]
	if len(all) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(all) > 1 {
		n.answers[host] = all[1:]
	}
	return append([]netip.Addr(nil), all[0]...), nil
}

func addrs(texts ...string) (all []netip.Addr) {
	for _, s := range texts {
		all = append(all, netip.MustParseAddr(s))
	}
	return all
}

// TestAddressesThatAreRefused checks every form of an address with a strict client and one that allows some networks.
func TestAddressesThatAreRefused(t *testing.T) {
	t.Parallel()
	strict := newClient(t, Config{})
	lenient := newClient(t, Config{
		Allow: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00::/8")}, Ports: []uint16{443, 9001},
	})
	web := newClient(t, Config{Allow: loopback, AnyAllowedPort: true, Ports: []uint16{443}})
	hooks := newClient(t, Config{AnyPort: true})
	const s, l, w, h = 1, 2, 4, 8 // who connects
	for _, c := range []struct {
		what, address string
		by            int
	}{
		{"a public address", "8.8.8.8:443", s | l | w | h},
		{"a public IPv6 address", "[2606:4700::1111]:443", s | l | w | h},
		{"a public address on the port of http", "8.8.8.8:80", s | h},
		{"a public address on another port", "8.8.8.8:22", h},
		{"a configured port", "8.8.8.8:9001", l | h},
		{"port 0", "8.8.8.8:0", 0},
		{"loopback", "127.0.0.1:443", w},
		{"loopback on another port", "127.0.0.1:6379", w},
		{"loopback elsewhere", "127.8.9.10:443", w},
		{"IPv6 loopback", "[::1]:443", 0},
		{"IPv6 loopback written out", "[0:0:0:0:0:0:0:1]:443", 0},
		{"the unspecified address", "0.0.0.0:443", 0},
		{"the unspecified IPv6 address", "[::]:443", 0},
		{"this network", "0.1.2.3:443", 0},
		{"a private address", "10.2.0.1:443", 0},
		{"an allowed private address", "10.1.0.1:443", l},
		{"an allowed private address on another port", "10.1.0.1:6379", 0},
		{"172.16/12", "172.31.0.1:443", 0},
		{"192.168/16", "192.168.0.1:443", 0},
		{"link-local, the cloud's metadata", "169.254.169.254:80", 0},
		{"CGNAT", "100.64.0.1:443", 0},
		{"the metadata address inside CGNAT", "100.100.100.200:80", 0},
		{"benchmarking", "198.18.0.1:443", 0},
		{"documentation", "192.0.2.1:443", 0},
		{"multicast", "224.0.0.1:443", 0},
		{"reserved", "240.0.0.1:443", 0},
		{"broadcast", "255.255.255.255:443", 0},
		{"IPv6 multicast", "[ff02::1]:443", 0},
		{"IPv6 link-local", "[fe80::1]:443", 0},
		{"IPv6 link-local with a zone", "[fe80::1%eth0]:443", 0},
		{"a public address with a zone", "[2606:4700::1111%eth0]:443", 0},
		{"site-local", "[fec0::1]:443", 0},
		{"a unique local address", "[fc00::1]:443", 0},
		{"the metadata address of IPv6", "[fd00:ec2::254]:443", l},
		{"a mapped loopback", "[::ffff:127.0.0.1]:443", 0},
		{"a mapped loopback in hexadecimal", "[::ffff:7f00:1]:443", 0},
		{"a mapped public address", "[::ffff:8.8.8.8]:443", 0},
		{"a mapped allowed address", "[::ffff:10.1.0.1]:443", 0},
		{"a compatible loopback", "[::7f00:1]:443", 0},
		{"NAT64 of loopback", "[64:ff9b::7f00:1]:443", 0},
		{"local-use NAT64", "[64:ff9b:1::1]:443", 0},
		{"6to4 of a private address", "[2002:0a00:0001::1]:443", 0},
		{"Teredo", "[2001:0:4136:e378::1]:443", 0},
		{"ORCHID", "[2001:20::1]:443", 0},
		{"IPv6 documentation", "[2001:db8::1]:443", 0},
		{"discard only", "[100::1]:443", 0},
		{"decimal", "2130706433:443", 0},
		{"hexadecimal", "0x7f000001:443", 0},
		{"hexadecimal parts", "0x7f.0.0.0x1:443", 0},
		{"octal", "0177.0.0.1:443", 0},
		{"octal with a dot at the end", "0177.0.0.1.:443", 0},
		{"two parts", "127.1:443", 0},
		{"an address with a dot at the end", "127.0.0.1.:443", 0},
		{"five parts", "127.0.0.1.1:443", 0},
		{"full-width digits", "１２７.0.0.1:443", 0},
		{"another full stop", "127。0。0。1:443", 0},
		{"a name with a space", "a b:443", 0},
		{"a name with a slash", "a/b:443", 0},
		{"an empty label", "a..example:443", 0},
		{"no port", "8.8.8.8", 0},
		{"a port name", "8.8.8.8:https", 0},
		{"a port that is too large", "8.8.8.8:65979", 0},
		{"an empty host", ":443", 0},
		{"a dot", ".:443", 0},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			for i, client := range []*Client{strict, lenient, web, hooks} {
				_, err := client.Addresses(context.Background(), c.address)
				if want := c.by&(1<<i) != 0; (err == nil) != want || err != nil && code(err) != Refused {
					t.Errorf("client %d: Addresses(%s): got %v, want allowed %v", i, c.address, err, want)
				}
				if conn, err := client.Dial(canceled(), "tcp", c.address); err == nil {
					conn.Close()
					t.Errorf("client %d: Dial(%s) connected on an ended context", i, c.address)
				}
				// The last word before a connection is the same.
				if to, err := netip.ParseAddrPort(c.address); err == nil {
					if got, want := client.control("tcp", to.String(), nil) == nil, c.by&(1<<i) != 0; got != want {
						t.Errorf("client %d: control(%s): got %v, want %v", i, to, got, want)
					}
				}
			}
		})
	}
	if strict.control("unix", "8.8.8.8:443", nil) == nil || strict.control("tcp", "/run/x.sock", nil) == nil {
		t.Error("a socket of another kind is allowed")
	}
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestResolution(t *testing.T) {
	t.Parallel()
	c := newClient(t, Config{Resolver: &names{answers: map[string][][]netip.Addr{
		"inside.example":   {addrs("127.0.0.1")},
		"inside.example.":  {addrs("127.0.0.1")},
		"mapped.example":   {addrs("::ffff:10.0.0.1")},
		"written.example":  {addrs("::ffff:8.8.8.8")},
		"mixed.example":    {addrs("10.0.0.1", "8.8.8.8", "2606:4700::1", "::1", "169.254.169.254")},
		"many.example":     {addrs("8.8.8.1", "8.8.8.2", "8.8.8.3", "8.8.8.4", "8.8.8.5", "8.8.8.6")},
		"none.example":     {{}},
		"localhost":        {addrs("127.0.0.1", "::1")},
		"metadata.example": {addrs("169.254.169.254")},
	}}})
	for _, test := range []struct{ address, want string }{
		{"inside.example:443", "refused"},
		{"inside.example.:443", "refused"},
		{"mapped.example:443", "refused"},
		{"written.example:443", "[8.8.8.8:443]"},
		{"mixed.example:443", "[8.8.8.8:443 [2606:4700::1]:443]"},
		{"many.example:443", "[8.8.8.1:443 8.8.8.2:443 8.8.8.3:443 8.8.8.4:443]"},
		{"none.example:443", "refused"},
		{"localhost:443", "refused"},
		{"metadata.example:80", "refused"},
		{"nowhere.example:443", "network"},
	} {
		got, err := c.Addresses(context.Background(), test.address)
		text := fmt.Sprint(got)
		if err != nil {
			text = string(code(err))
		}
		if text != test.want {
			t.Errorf("Addresses(%s): got %s, want %s", test.address, text, test.want)
		}
	}
}

// TestRebinding resolves a name to a public address first and to an internal one later. A client that checks the address and
// resolves again would connect to the internal one.
func TestRebinding(t *testing.T) {
	t.Parallel()
	inside := newServer(t, false, func(http.ResponseWriter, *http.Request) {})
	good, err := net.Listen("tcp", "127.0.0.2:"+strconv.Itoa(int(inside.port())))
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("this system has one loopback address only: %v", err)
		}
		t.Skipf("this system has one loopback address only: %v", err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	go s.Serve(good)
	t.Cleanup(func() { s.Close() })
	resolver := &names{answers: map[string][][]netip.Addr{"rebind.example": {addrs("127.0.0.2"), addrs("127.0.0.1")}}}
	c := newClient(t, Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}, AnyAllowedPort: true, Resolver: resolver})
	target := fmt.Sprintf("http://rebind.example:%d/", inside.port())
	for i, want := range []Code{"", Refused, Refused} {
		if _, err := c.Fetch(t.Context(), Request{URL: target}); code(err) != want {
			t.Errorf("fetch %d: got %v, want %q", i+1, err, want)
		}
	}
	if resolver.asked != 3 || inside.conns.Load() != 0 {
		t.Errorf("got %d resolutions and %d connections inside, want 3 and 0", resolver.asked, inside.conns.Load())
	}
}

// TestURLsThatAreRefused has URLs whose danger the dialer cannot see. The server is reachable; nothing may arrive.
func TestURLsThatAreRefused(t *testing.T) {
	t.Parallel()
	s := newServer(t, false, func(http.ResponseWriter, *http.Request) {})
	host := strings.TrimPrefix(s.URL, "http://")
	port := strconv.Itoa(int(s.port()))
	c := newClient(t, open())
	for _, raw := range []string{
		"http://user@" + host, "http://user:pass@" + host + "/", "http://@" + host,
		"ftp://" + host, "file:///etc/passwd", "gopher://" + host, "//" + host, "/path", "", "http:" + host, "http:///path", "http://:" + port + "/",
		"http://127.1:" + port, "http://2130706433:" + port, "http://0x7f000001:" + port, "http://0177.0.0.1:" + port, "http://127.0.0.1.:" + port,
		"http://[::ffff:127.0.0.1]:" + port, "http://[::1%25lo]:" + port, "http://%31%32%37.0.0.1:" + port + "\r\nX: y", "http://" + host + "%zz", "http://a_b\x7f/",
		"http://127.0.0.1:" + port + "x/", "http://１２７.0.0.1:" + port, "http://" + strings.Repeat("a.", 140) + "example/",
	} {
		if _, err := c.Fetch(t.Context(), Request{URL: raw}); code(err) != Refused {
			t.Errorf("Fetch(%q): got %v, want %q", raw, err, Refused)
		}
		u, err := url.Parse(raw)
		if err != nil {
			continue
		}
		req := &http.Request{Method: "POST", URL: u, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("x"))}
		if _, err := c.Do(req.WithContext(t.Context())); code(err) != Refused {
			t.Errorf("Do(%q): got %v, want %q", raw, err, Refused)
		}
	}
	req, _ := http.NewRequestWithContext(t.Context(), "GET", s.URL, nil)
	req.Host = "bank.example"
	if _, err := c.Do(req); code(err) != Refused {
		t.Errorf("Do with another Host: got %v, want %q", err, Refused)
	}
	if n := s.conns.Load(); n != 0 {
		t.Errorf("got %d connections, want 0", n)
	}
}

// TestRedirects follows redirects with each policy.
func TestRedirects(t *testing.T) {
	t.Parallel()
	inside := newServer(t, false, func(http.ResponseWriter, *http.Request) {})
	mux := http.NewServeMux()
	s := newServer(t, false, mux.ServeHTTP)
	port := ":" + strconv.Itoa(int(s.port()))
	for path, to := range map[string]string{
		"/1": "/ok", "/2": "/1", "/3": "/2", "/4": "/3", "/self": "/self", "/there": "/back", "/back": "/there", "/case": "HTTP://shop.example" + port + "/case",
		"/fragment": "/fragment#x", "/file": "file:///etc/passwd", "/data": "data:text/html,x", "/metadata": "http://169.254.169.254/", "/bad": "http://[::1/",
		"/user": "http://u:p@shop.example" + port + "/ok", "/decimal": "http://2130706433" + port + "/ok", "/inside": inside.URL, "/scheme": "//www.shop.example" + port + "/ok",
		"/www": "http://www.shop.example" + port + "/ok", "/other": "http://other.example" + port + "/ok", "/dot": "http://www.shop.example." + port + "/ok",
		"/suffix": "http://evilshop.example" + port + "/ok", "/inside-name": "http://inside.shop.example" + port + "/ok",
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", to)
			w.Header().Set("Set-Cookie", "a=b")
			w.WriteHeader(http.StatusFound)
		})
	}
	mux.HandleFunc("/nowhere", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusFound) })
	mux.HandleFunc("/ok", func(w http.ResponseWriter, r *http.Request) {
		if len(r.Header["Cookie"]) > 0 || len(r.Header["Referer"]) > 0 {
			w.WriteHeader(http.StatusTeapot)
		}
		io.WriteString(w, r.Host)
	})
	at := func(a string) [][]netip.Addr { return [][]netip.Addr{addrs(a)} }
	resolver := &names{answers: map[string][][]netip.Addr{
		"shop.example": at("127.0.0.1"), "www.shop.example": at("127.0.0.1"), "www.shop.example.": at("127.0.0.1"), "other.example": at("127.0.0.1"),
		"evilshop.example": at("127.0.0.1"), "inside.shop.example": at("10.0.0.1"),
	}}
	with := func(r Redirects) *Client {
		return newClient(t, Config{Allow: loopback, Ports: []uint16{80, s.port()}, Resolver: resolver, Redirects: r})
	}
	none, site, anywhere := with(Redirects{}), with(Redirects{Max: 2, SameSite: true}), with(Redirects{Max: 3})
	const redirected = "302"
	for _, test := range []struct {
		path                 string
		none, site, anywhere string // status or code
	}{
		{"/ok", "200", "200", "200"},
		{"/1", redirected, "200", "200"},
		{"/2", redirected, "200", "200"},
		{"/3", redirected, "redirect", "200"},
		{"/4", redirected, "redirect", "redirect"},
		{"/self", redirected, "redirect", "redirect"},
		{"/there", redirected, "redirect", "redirect"},
		{"/case", redirected, "redirect", "redirect"},
		{"/fragment", redirected, "redirect", "redirect"},
		{"/file", redirected, "redirect", "refused"},
		{"/data", redirected, "redirect", "refused"},
		{"/metadata", redirected, "redirect", "refused"},
		{"/bad", redirected, "redirect", "redirect"},
		{"/user", redirected, "refused", "refused"},
		{"/decimal", redirected, "redirect", "refused"},
		{"/inside", redirected, "redirect", "refused"},
		{"/inside-name", redirected, "refused", "refused"},
		{"/scheme", redirected, "200", "200"},
		{"/www", redirected, "200", "200"},
		{"/dot", redirected, "200", "200"},
		{"/other", redirected, "redirect", "200"},
		{"/suffix", redirected, "redirect", "200"},
		{"/nowhere", redirected, "redirect", "redirect"},
	} {
		for _, c := range []struct {
			name   string
			client *Client
			want   string
		}{{"none", none, test.none}, {"same site", site, test.site}, {"anywhere", anywhere, test.anywhere}} {
			resp, err := c.client.Fetch(t.Context(), Request{URL: "http://shop.example" + port + test.path})
			got := strconv.Itoa(resp.Status)
			if err != nil {
				got = string(code(err))
			}
			if got != c.want {
				t.Errorf("%s, %s: got %s (%v), want %s", test.path, c.name, got, err, c.want)
			}
		}
	}
	if n := inside.conns.Load(); n != 0 {
		t.Errorf("got %d connections inside, want 0", n)
	}
}

func TestHTTPSStaysHTTPS(t *testing.T) {
	t.Parallel()
	plain := newServer(t, false, func(http.ResponseWriter, *http.Request) {})
	s := newServer(t, true, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, plain.URL, http.StatusFound) })
	cfg := open()
	cfg.Redirects.Max = 3
	if _, err := newClient(t, cfg).Fetch(t.Context(), Request{URL: s.URL}); code(err) != Network {
		t.Errorf("an unknown authority: got %v, want %q", err, Network)
	}
	cfg.RootCAs = s.roots()
	if _, err := newClient(t, cfg).Fetch(t.Context(), Request{URL: s.URL}); code(err) != Redirect || plain.conns.Load() != 0 {
		t.Errorf("got %v and %d connections, want %q and none", err, plain.conns.Load(), Redirect)
	}
}

func TestSameSite(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"a.com", "a.com", true},
		{"a.com", "WWW.A.com.", true},
		{"x.a.co.uk", "y.a.co.uk", true},
		{"a.co.uk", "b.co.uk", false},
		{"co.uk", "a.co.uk", false},
		{"a.github.io", "b.github.io", false},
		{"a.com", "a.net", false},
		{"a.com", "evila.com", false},
		{"a.com", "bada.com", false},
		{"10.0.0.1", "11.0.0.1", false},
		{"8.8.8.8", "8.8.8.8", true},
		{"localhost", "x.localhost", false},
	} {
		if got := Site(c.a) == Site(c.b); got != c.want {
			t.Errorf("the same site for %s and %s: got %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

func zipped(data []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(data)
	z.Close()
	return b.Bytes()
}

// TestRepliesThatAreTooMuch has replies that cost memory or time. Each fetch ends soon with the right code.
func TestRepliesThatAreTooMuch(t *testing.T) {
	t.Parallel()
	head := "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
	forever := func(conn net.Conn, first, again string, pause time.Duration) {
		for _, err := io.WriteString(conn, first); err == nil; time.Sleep(pause) {
			_, err = io.WriteString(conn, again)
		}
	}
	empty := string(zipped(nil))
	bomb := string(zipped(make([]byte, 64<<20)))
	for name, test := range map[string]struct {
		write func(net.Conn)
		gzip  bool
		want  Code
	}{
		"says nothing":               {func(c net.Conn) { io.Copy(io.Discard, c) }, false, Timeout},
		"drips a header":             {func(c net.Conn) { forever(c, head, "X: y\r\n", 20*time.Millisecond) }, false, Timeout},
		"drips a body":               {func(c net.Conn) { forever(c, head+"\r\n", "z", 20*time.Millisecond) }, false, Timeout},
		"sends a header without end": {func(c net.Conn) { forever(c, head, "X: "+strings.Repeat("y", 1000)+"\r\n", 0) }, false, Network},
		"sends one huge header":      {func(c net.Conn) { forever(c, head+"X: ", strings.Repeat("y", 1000), 0) }, false, Network},
		"sends a body without end":   {func(c net.Conn) { forever(c, head+"\r\n", strings.Repeat("z", 1000), 0) }, false, TooLarge},
		"announces a huge body":      {func(c net.Conn) { io.WriteString(c, head+"Content-Length: 9000000000\r\n\r\nx") }, false, TooLarge},
		"sends chunks without end": {func(c net.Conn) {
			forever(c, head+"Transfer-Encoding: chunked\r\n\r\n", "5\r\nhello\r\n", 0)
		}, false, TooLarge},
		"breaks off":                {func(c net.Conn) { io.WriteString(c, head+"Content-Length: 100\r\n\r\nshort") }, false, Truncated},
		"hangs up":                  {func(net.Conn) {}, false, Network},
		"talks no HTTP":             {func(c net.Conn) { io.WriteString(c, "220 mail.example ESMTP\r\n") }, false, Network},
		"one byte too much":         {func(c net.Conn) { io.WriteString(c, head+"\r\n"+strings.Repeat("z", 1025)) }, false, TooLarge},
		"exactly the limit":         {func(c net.Conn) { io.WriteString(c, head+"\r\n"+strings.Repeat("z", 1024)) }, false, ""},
		"an informational flood":    {func(c net.Conn) { forever(c, "", "HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n", 0) }, false, Network},
		"a gzip bomb":               {func(c net.Conn) { io.WriteString(c, head+"Content-Encoding: gzip\r\n\r\n"+bomb) }, true, TooLarge},
		"gzip of nothing, for ever": {func(c net.Conn) { forever(c, head+"Content-Encoding: gzip\r\n\r\n", empty, 0) }, true, TooLarge},
		"gzip with a huge header": {func(c net.Conn) {
			forever(c, head+"Content-Encoding: gzip\r\n\r\n\x1f\x8b\x08\x08\x00\x00\x00\x00\x00\x00", "name", 0)
		}, true, Truncated},
		"gzip that breaks off":    {func(c net.Conn) { io.WriteString(c, head+"Content-Encoding: gzip\r\n\r\n"+empty[:12]) }, true, Truncated},
		"gzip that is none":       {func(c net.Conn) { io.WriteString(c, head+"Content-Encoding: gzip\r\n\r\nhello, world") }, true, Truncated},
		"gzip that was not asked": {func(c net.Conn) { io.WriteString(c, head+"Content-Encoding: gzip\r\n\r\n"+bomb) }, false, Network},
		"another coding":          {func(c net.Conn) { io.WriteString(c, head+"Content-Encoding: br\r\n\r\nx") }, true, Network},
		"a coding inside another": {func(c net.Conn) { io.WriteString(c, head+"Content-Encoding: gzip, gzip\r\n\r\nx") }, true, Network},
		"gzip as it should be": {func(c net.Conn) {
			io.WriteString(c, head+"Content-Encoding: gzip\r\n\r\n"+string(zipped(bytes.Repeat([]byte("z"), 1024))))
		}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := open()
			cfg.MaxBody, cfg.MaxHeader, cfg.Gzip = 1024, 4096, test.gzip
			cfg.HeaderTime, cfg.TotalTime = 300*time.Millisecond, 500*time.Millisecond
			if test.want == TooLarge || test.want == Network || test.want == "" { // which a slow machine must not turn into a timeout
				cfg.HeaderTime, cfg.TotalTime = 20*time.Second, 20*time.Second
			}
			began := time.Now()
			resp, err := newClient(t, cfg).Fetch(t.Context(), Request{URL: rawServer(t, test.write)})
			if code(err) != test.want || err != nil && resp.Body != nil || err == nil && len(resp.Body) != 1024 {
				t.Errorf("got %d bytes, %v; want %q", len(resp.Body), err, test.want)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

// TestHangingHandshakes checks the time limit of TLS handshakes.
func TestHangingHandshakes(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	cfg := open()
	cfg.TLSTime = 100 * time.Millisecond
	began := time.Now()
	if _, err := newClient(t, cfg).Fetch(t.Context(), Request{URL: "https://" + l.Addr().String() + "/"}); code(err) != Timeout {
		t.Errorf("got %v, want %q", err, Timeout)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("took %v", took)
	}
}

// TestDoIsBounded shows the limits of an exchange whose body the caller reads.
func TestDoIsBounded(t *testing.T) {
	t.Parallel()
	s := newServer(t, false, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "/endless", http.StatusTemporaryRedirect)
			return
		}
		for {
			if _, err := w.Write(make([]byte, 1000)); err != nil {
				return
			}
		}
	})
	cfg := open()
	cfg.MaxBody, cfg.InFlight, cfg.IdlePerHost = 4<<10, 1, 4
	c := newClient(t, cfg)
	for _, path := range []string{"/endless", "/away", "/endless"} { // with one slot, so that each body gives it back
		req, _ := http.NewRequestWithContext(t.Context(), "POST", s.URL+path, strings.NewReader("x"))
		resp, err := c.Do(req)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		body, err := io.ReadAll(resp.Body)
		if path == "/away" && resp.StatusCode != http.StatusTemporaryRedirect || path != "/away" && (len(body) != 4<<10 || code(err) != TooLarge) {
			t.Errorf("%s: got status %d, %d bytes, %v", path, resp.StatusCode, len(body), err)
		}
		resp.Body.Close()
		resp.Body.Close()
	}
}

// TestNoProxyAndNoSharedConnections shows that the environment's proxy is not asked, and that a connection is used once
// unless the configuration says otherwise.
func TestNoProxyAndNoSharedConnections(t *testing.T) {
	proxy := newServer(t, false, func(http.ResponseWriter, *http.Request) {})
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	s := newServer(t, false, func(http.ResponseWriter, *http.Request) {})
	resolver := &names{answers: map[string][][]netip.Addr{"shop.example": {addrs("127.0.0.1")}}} // the environment's proxy is never asked for loopback
	for _, test := range []struct {
		idle  int
		conns int64
	}{{0, 3}, {2, 1}} {
		cfg := open()
		cfg.Resolver, cfg.IdlePerHost = resolver, test.idle
		c := newClient(t, cfg)
		before := s.conns.Load()
		for range 3 {
			if _, err := c.Fetch(t.Context(), Request{URL: fmt.Sprintf("http://shop.example:%d/", s.port())}); err != nil {
				t.Fatal(err)
			}
		}
		if n := s.conns.Load() - before; n != test.conns {
			t.Errorf("with %d idle connections: got %d connections for 3 fetches, want %d", test.idle, n, test.conns)
		}
	}
	if n := proxy.conns.Load(); n != 0 {
		t.Errorf("the proxy got %d connections", n)
	}
}

// TestErrorsTellNothing checks that no error's text repeats text of the server or describes what an address serves.
func TestErrorsTellNothing(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().String()
	l.Close()
	c := newClient(t, Config{Allow: loopback, AnyAllowedPort: true, Resolver: &names{}})
	for _, raw := range []string{"http://" + closed + "/secret", "http://secret.example/", "http://10.0.0.1/secret", "http://secret@" + closed, "http://[::1/secret"} {
		_, err := c.Fetch(t.Context(), Request{URL: raw})
		if err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "127.0.0.1") || strings.Contains(err.Error(), "10.0.0.1") {
			t.Errorf("Fetch(%s): got %v", raw, err)
		}
	}
}

// FuzzHost holds hosts that pass against what a resolver could make of them.
func FuzzHost(f *testing.F) {
	for _, h := range []string{"a.example", "127.1", "0x7f.1", "1.2.3.4.", "a..b", "xn--bcher-kva.example", "0x", "08", "[::1]", "a_b.example"} {
		f.Add(h)
	}
	f.Fuzz(func(t *testing.T, host string) {
		if checkHost(host) != nil {
			return
		}
		u, err := url.Parse("http://" + host + "/")
		if err != nil || u.Hostname() != host || u.Port() != "" || u.User != nil {
			t.Fatalf("%q passes, and is read as %v, %v", host, u, err)
		}
		if net.ParseIP(strings.TrimSuffix(host, ".")) != nil {
			t.Fatalf("%q passes, and is an address", host)
		}
	})
}
