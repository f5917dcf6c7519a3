package brokerage

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/namewharf/namewharf/egress"
	"github.com/namewharf/namewharf/fqdn"
)

// names is a resolver with fixed answers; each answer of a name that has several is given once, the last one for ever.
type names struct {
	mu      sync.Mutex
	answers map[string][]string
}

func (n *names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := n.answers[host]
	if len(all) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(all) > 1 {
		n.answers[host] = all[1:]
	}
	return []netip.Addr{netip.MustParseAddr(all[0])}, nil
}

// A network is sites on loopback. What is "outside" is 127.0.0.1, which may be reached; "inside" is 127.0.0.2, which may not.
type network struct {
	*Sites
	names  *names
	inside atomic.Int64 // requests that reached the server inside
}

func silent(h http.Handler) *httptest.Server {
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	return s
}

// newNetwork serves acme.example over http by h; https is answered by nobody.
func newNetwork(t *testing.T, h http.HandlerFunc) *network {
	t.Helper()
	n := &network{names: &names{answers: map[string][]string{"acme.example": {"127.0.0.1"}}}}
	web := silent(h)
	web.Start()
	t.Cleanup(web.Close)
	port := portOf(web.URL)
	inner, err := net.Listen("tcp", "127.0.0.2"+port)
	if err != nil {
		t.Fatal(err)
	}
	secret := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { n.inside.Add(1) })}
	go secret.Serve(inner)
	t.Cleanup(func() { secret.Close() })
	n.connect(t, port)
	return n
}

func portOf(link string) string {
	u, _ := url.Parse(link)
	return ":" + u.Port()
}

func (n *network) connect(t *testing.T, port string) {
	cfg := SitesConfig()
	cfg.Allow, cfg.AnyAllowedPort, cfg.Resolver = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, true, n.names
	client := egress.New(cfg)
	t.Cleanup(client.Close)
	n.Sites = NewSites(client, time.Now)
	n.ports = map[string]string{"http": port, "https": closedPort(t)}
}

// closedPort is a port on which nobody listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return portOf("http://" + l.Addr().String())
}

var acme = fqdn.MustParse("acme.example")

func page(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestSites(t *testing.T) {
	t.Parallel()
	active, parked := page(t, "active/shop.html"), page(t, "parked/godaddy.html")
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		want  Use
	}{
		"a site":            {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, active) }, InUse},
		"a parked page":     {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, parked) }, NotInUse},
		"an empty page":     {func(http.ResponseWriter, *http.Request) {}, NotInUse},
		"no home page":      {http.NotFound, NotInUse},
		"a password":        {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }, InUse},
		"a default refusal": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(403) }, NotInUse},
		"a failing server":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503); io.WriteString(w, active) }, UseUnsure},
		"data": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{}`)
		}, InUse},
		"compressed": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(zipped([]byte(parked)))
		}, NotInUse},
		"a large page":      {func(w http.ResponseWriter, _ *http.Request) { w.Write(bytes.Repeat([]byte(parked), 1000)) }, InUse},
		"to another site":   {redirect("https://bigger.example/acme"), InUse},
		"to a lander":       {redirect("https://www.hugedomains.com/domain_profile.cfm?d=acme"), NotInUse},
		"to another scheme": {redirect("gopher://acme.example/"), UseUnsure},
		"within the site":   {chain(2, active), InUse},
		"two and then one":  {chain(3, active), UseUnsure},
		"in a circle":       {redirect("/"), UseUnsure},
		"without a target":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(302) }, UseUnsure},
		"with a user":       {redirect("http://ada:secret@acme.example/"), UseUnsure},
		"no valid status":   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(429) }, UseUnsure},
		"a page not asked in": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			io.WriteString(w, "x")
		}, UseUnsure},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNetwork(t, c.serve)
			if got := n.Use(t.Context(), acme, nil); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

func redirect(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Location", to); w.WriteHeader(302) }
}

// chain redirects n times and then shows a page.
func chain(n int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var at int
		fmt.Sscanf(r.URL.Path, "/%d", &at)
		if at == n {
			io.WriteString(w, body)
			return
		}
		redirect(fmt.Sprintf("/%d", at+1))(w, r)
	}
}

func zipped(data []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(data)
	z.Close()
	return b.Bytes()
}

// Servers that do not exist, and names without an address.
func TestSitesThatAreNotThere(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, page(t, "active/blog.html")) })
	if got := n.Use(t.Context(), fqdn.MustParse("nothing.example"), nil); got != NotInUse {
		t.Errorf("a name without an address: got %d, want %d", got, NotInUse)
	}
	n.names.answers["www.blog.example"] = []string{"127.0.0.1"}
	if got := n.Use(t.Context(), fqdn.MustParse("blog.example"), nil); got != InUse {
		t.Errorf("a name whose www alone has an address: got %d, want %d", got, InUse)
	}
	n.ports["http"] = closedPort(t)
	n.names.answers["closed.example"] = []string{"127.0.0.1"}
	if got := n.Use(t.Context(), fqdn.MustParse("closed.example"), nil); got != NotInUse {
		t.Errorf("a host that refuses connections: got %d, want %d", got, NotInUse)
	}
	if got := n.Use(t.Context(), acme, []string{"ns1.sedoparking.com"}); got != NotInUse {
		t.Errorf("a name with the nameservers of a parking service: got %d, want %d", got, NotInUse)
	}
}

// What a site says is remembered, so that the request after the question does not ask it again.
func TestSitesAreRemembered(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	n := newNetwork(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		io.WriteString(w, page(t, "active/blog.html"))
	})
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { n.Use(t.Context(), acme, nil) })
	}
	all.Wait()
	if got := asked.Load(); got != 1 {
		t.Errorf("the site was asked %d times, want once", got)
	}
}

// Whatever a site does, nothing inside is reached, and the time and the memory it costs are bounded.
func TestHostileSites(t *testing.T) {
	t.Parallel()
	bomb := zipped(make([]byte, 64<<20))
	forever := func(write func(w io.Writer) error) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				return
			}
			defer conn.Close()
			b := bufio.NewWriterSize(conn, 64<<10)
			for end := time.Now().Add(2 * SiteTime); time.Now().Before(end); {
				if write(b) != nil || b.Flush() != nil {
					return
				}
			}
		}
	}
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		ready func(n *network)
		want  Use
	}{
		"a redirect to loopback":         {serve: redirect("http://127.0.0.2%PORT%/"), want: UseUnsure},
		"a redirect to the metadata":     {serve: redirect("http://169.254.169.254/latest/meta-data/"), want: UseUnsure},
		"a redirect to a number":         {serve: redirect("http://2130706434%PORT%/"), want: InUse}, // another site; it is not asked
		"a redirect to a name inside":    {serve: redirect("http://intern.acme.example%PORT%/"), want: UseUnsure, ready: func(n *network) { n.names.answers["intern.acme.example"] = []string{"127.0.0.2"} }},
		"a redirect to a mapped address": {serve: redirect("http://[::ffff:127.0.0.2]%PORT%/"), want: UseUnsure},
		"an address inside":              {serve: http.NotFound, want: UseUnsure, ready: func(n *network) { n.names.answers["acme.example"] = []string{"127.0.0.2"} }},
		"rebinding after the first answer": {serve: redirect("/again"), want: UseUnsure, ready: func(n *network) {
			n.names.answers["acme.example"] = []string{"127.0.0.1", "127.0.0.1", "127.0.0.2"} // https, http, the redirect
		}},
		"never an answer": {serve: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, want: UseUnsure},
		"a byte at a time": {serve: forever(func(w io.Writer) error {
			time.Sleep(100 * time.Millisecond)
			_, err := io.WriteString(w, "H")
			return err
		}), want: UseUnsure},
		"a slow page": {serve: func(w http.ResponseWriter, r *http.Request) {
			for range 200 {
				if _, err := io.WriteString(w, "a word "); err != nil || http.NewResponseController(w).Flush() != nil {
					return
				}
				time.Sleep(100 * time.Millisecond)
			}
		}, want: UseUnsure},
		"headers without end": {serve: forever(func(w io.Writer) error {
			_, err := io.WriteString(w, "HTTP/1.1 200 OK\r\n"+strings.Repeat("X-More: "+strings.Repeat("x", 100)+"\r\n", 100))
			return err
		}), want: UseUnsure},
		"interim answers without end": {serve: forever(func(w io.Writer) error {
			_, err := io.WriteString(w, "HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n")
			return err
		}), want: UseUnsure},
		"a page without end": {serve: func(w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		}, want: InUse},
		"a compressed bomb": {serve: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(bomb)
		}, want: InUse},
		"a bomb within a bomb": {serve: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip, gzip")
			w.Write(zipped(bomb))
		}, want: UseUnsure},
		"a length that is not true": {serve: func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "100000000000") }, want: InUse},
		"no HTTP at all": {serve: forever(func(w io.Writer) error {
			_, err := w.Write(bytes.Repeat([]byte{0xff}, 1000))
			return err
		}), want: UseUnsure},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var n *network
			n = newNetwork(t, func(w http.ResponseWriter, r *http.Request) {
				c.serve(portWriter{w, n.ports["http"]}, r)
			})
			if c.ready != nil {
				c.ready(n)
			}
			began := time.Now()
			if got := n.Use(t.Context(), acme, nil); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
			if took := time.Since(began); took > SiteTime+2*time.Second {
				t.Errorf("it took %v, which is more than %v", took, SiteTime)
			}
			if got := n.inside.Load(); got != 0 {
				t.Errorf("%d requests reached what is inside", got)
			}
		})
	}
}

// A portWriter puts the port of the servers into the target of a redirect.
type portWriter struct {
	http.ResponseWriter
	port string
}

func (w portWriter) WriteHeader(status int) {
	if to := w.Header().Get("Location"); to != "" {
		w.Header().Set("Location", strings.ReplaceAll(to, "%PORT%", w.port))
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w portWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w portWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return w.ResponseWriter.(http.Hijacker).Hijack()
}

// Many hostile sites at once cost no more than the slots that there are.
func TestManyHostileSites(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures memory")
	}
	bomb := zipped(make([]byte, 64<<20))
	n := newNetwork(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(bomb)
	})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var all sync.WaitGroup
	for i := range 100 {
		name := fmt.Sprintf("bomb%d.example", i)
		n.names.mu.Lock()
		n.names.answers[name] = []string{"127.0.0.1"}
		n.names.mu.Unlock()
		all.Go(func() { n.Use(t.Context(), fqdn.MustParse(name), nil) })
	}
	all.Wait()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 128<<20 {
		t.Errorf("100 bombs of 64 MiB made the heap grow by %d MiB", grown>>20)
	}
}
