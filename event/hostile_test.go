package event_test

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/namewharf/namewharf/event"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// TestHostileReceivers sends to misbehaving receivers. Each attempt fails in time, and a test event to a good endpoint on the
// same dispatcher is delivered.
func TestHostileReceivers(t *testing.T) {
	t.Parallel()
	inside := newReceiver(t, nil)
	var streamed atomic.Int64
	flood := func(w http.ResponseWriter) {
		for chunk := make([]byte, 64<<10); streamed.Load() < 1<<30; {
			n, err := w.Write(chunk)
			streamed.Add(int64(n))
			if err != nil {
				return
			}
		}
	}
	tests := map[string]struct {
		answer http.HandlerFunc
		status event.Status
		code   int
		reason string
	}{
		"hangs": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, event.Pending, 0, "no answer within 5 seconds"},
		"drips a header": {func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			defer conn.Close()
			for _, c := range "HTTP/1.1 200 OK\r\nX-Slow: " + strings.Repeat("z", 100) {
				if _, err := conn.Write([]byte{byte(c)}); err != nil {
					return
				}
				time.Sleep(200 * time.Millisecond)
			}
		}, event.Pending, 0, "no answer within 5 seconds"},
		"drips a body": {func(w http.ResponseWriter, _ *http.Request) {
			for w.WriteHeader(http.StatusOK); ; time.Sleep(200 * time.Millisecond) {
				if _, err := w.Write([]byte{'z'}); err != nil || http.NewResponseController(w).Flush() != nil {
					return
				}
			}
		}, event.Delivered, 200, ""},
		"redirects": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, inside.URL, http.StatusTemporaryRedirect)
		}, event.Pending, 307, "redirects are not followed"},
		"answers 500": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, event.Pending, 500, ""},
		"is gone":     {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(410) }, event.Pending, 410, ""},
		"answers 204": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, event.Delivered, 204, ""},
		"sends a gigabyte with an error": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(500)
			flood(w)
		}, event.Pending, 500, ""},
		"sends a gigabyte of header": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Big", strings.Repeat("z", 1<<20))
		}, event.Pending, 0, "the connection failed"},
		"hangs up": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, event.Pending, 0, "the connection failed"},
		"talks no HTTP": {func(w http.ResponseWriter, _ *http.Request) {
			if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
				conn.Write([]byte("220 mail.example ESMTP\r\n"))
				conn.Close()
			}
		}, event.Pending, 0, "the connection failed"},
	}
	d := newFixture(t, storetest.Open(t, store.Config{Dir: t.TempDir()}))
	sent := map[string]event.Event{}
	stream := func(name string) event.Stream { return event.Stream{Partner: name, Environment: "LIVE"} }
	for name, test := range tests {
		d.register(stream(name), newReceiver(t, test.answer).URL)
		sent[name] = d.append(stream(name), 1)[0]
	}
	good := newReceiver(t, nil)
	d.register(acme, good.URL)
	d.append(acme, 1)
	good.want(t, 1)
	for name, test := range tests {
		var got event.Delivery
		d.eventually(func() bool {
			got = d.delivery(stream(name), sent[name].ID)
			return len(got.Attempts) > 0 // and more, where the retry is due
		}, func() { t.Fatalf("%s: got no attempt", name) })
		if first := got.Attempts[0]; got.Status != test.status || first.StatusCode != test.code || first.Error != test.reason {
			t.Errorf("%s: got %s after %+v, want %s after status %d and error %q", name, got.Status, first, test.status, test.code, test.reason)
		}
	}
	if n := len(inside.got()); n != 0 {
		t.Errorf("the redirect was followed")
	}
}

// TestGigabytesLeaveMemoryFlat has many deliveries answered with a body that never ends.
func TestGigabytesLeaveMemoryFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("measures memory")
	}
	var written atomic.Int64
	r := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		chunk := make([]byte, 32<<10)
		for range 32 << 10 { // of 32 KiB: a gigabyte
			n, err := w.Write(chunk)
			if written.Add(int64(n)); err != nil {
				return
			}
		}
	}))
	t.Cleanup(r.Close)
	d := newFixture(t, storetest.Open(t, store.Config{Dir: t.TempDir()}))
	d.register(acme, r.URL)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	sent := d.append(acme, 50)
	for _, e := range sent {
		d.wantDelivery(acme, e.ID, event.Delivered, 1)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 16<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
	if n := written.Load(); n > 50*8<<20 {
		t.Errorf("%d MiB were taken of the answers to %d events", n>>20, len(sent))
	}
}

// TestNothingInsideIsReached registers names that resolve to internal addresses, at once or later.
func TestNothingInsideIsReached(t *testing.T) {
	t.Parallel()
	var conns atomic.Int64
	r := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") }))
	r.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	r.StartTLS() // with a certificate for example.com
	t.Cleanup(r.Close)
	roots := x509.NewCertPool()
	roots.AddCert(r.Certificate())
	_, port, err := net.SplitHostPort(r.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	addresses := newNames(t)
	for name, test := range map[string]struct {
		allow []netip.Prefix
		first string // address of example.com; what follows is always 127.0.0.1
		want  []string
	}{
		"a name at a loopback address":             {nil, "127.0.0.1", []string{"the address is not public"}},
		"an address that rebinds":                  {[]netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}, "127.0.0.2", []string{"", "the address is not public"}},
		"the same where both are allowed":          {loopback, "127.0.0.2", []string{"", ""}},
		"a name at an address of the cloud's host": {nil, "169.254.169.254", []string{"the address is not public"}},
	} {
		t.Run(name, func(t *testing.T) {
			resolver := addresses.resolver(test.first, "127.0.0.1")
			d := newFixture(t, storetest.Open(t, store.Config{Dir: t.TempDir()}), func(c *event.Config) {
				c.Allow, c.RootCAs, c.Resolver = test.allow, roots, resolver
			})
			if test.first == "127.0.0.2" {
				proxyTo(t, net.JoinHostPort(test.first, port), r.Listener.Addr().String())
			}
			before := conns.Load()
			d.register(sandbox, "https://example.com:"+port+"/")
			reached := int64(0)
			for i, want := range test.want {
				e := d.append(sandbox, 1)[0]
				status := event.Delivered
				if want != "" {
					status = event.Pending
				} else {
					reached++
				}
				got := d.wantDelivery(sandbox, e.ID, status, 1).Attempts[0]
				if got.Error != want {
					t.Errorf("event %d: got %+v, want error %q", i+1, got, want)
				}
			}
			if n := conns.Load() - before; n != reached {
				t.Errorf("the receiver saw %d connections, want %d", n, reached)
			}
		})
	}
}

// proxyTo listens at an address and forwards connections to another.
func proxyTo(t *testing.T, from, to string) {
	t.Helper()
	l, err := net.Listen("tcp", from)
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("this system has one loopback address only: %v", err)
		}
		t.Skipf("this system has one loopback address only: %v", err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer in.Close()
				out, err := net.Dial("tcp", to)
				if err != nil {
					return
				}
				defer out.Close()
				var wg sync.WaitGroup
				wg.Go(func() { pipe(out, in) })
				wg.Go(func() { pipe(in, out) })
				wg.Wait()
			}()
		}
	}()
}

// pipe copies until either side ends, and ends the other.
func pipe(to, from net.Conn) {
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				break
			}
		}
		if err != nil {
			break
		}
	}
	to.Close()
	from.Close()
}

// names is a name server on loopback.
type names struct {
	address string
	mu      sync.Mutex
	answers []string // in turn; the last one stays
}

func newNames(t *testing.T) *names {
	t.Helper()
	n := &names{}
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n.address = conn.LocalAddr().String()
	s := &dns.Server{PacketConn: conn, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg).SetReply(q)
		if q.Question[0].Qtype == dns.TypeA {
			m.Answer = append(m.Answer, &dns.A{
				Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET}, A: net.ParseIP(n.next()),
			})
		}
		w.WriteMsg(m)
	})}
	go s.ActivateAndServe()
	t.Cleanup(func() { s.Shutdown() })
	return n
}

func (n *names) next() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	a := n.answers[0]
	if len(n.answers) > 1 {
		n.answers = n.answers[1:]
	}
	return a
}

// resolver asks the server, which gives these addresses from now on.
func (n *names) resolver(answers ...string) *net.Resolver {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answers = answers
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", n.address)
	}}
}

// TestHangingReceiversDelayNoOthers has a healthy endpoint among many that hang, each with a backlog.
func TestHangingReceiversDelayNoOthers(t *testing.T) {
	t.Parallel()
	d := newLog(t, storetest.Open(t, store.Config{Dir: t.TempDir()}))
	var mu sync.Mutex
	now, most := map[string]int{}, 0
	stop := make(chan struct{})
	h := newReceiver(t, func(_ http.ResponseWriter, req *http.Request) {
		mu.Lock()
		now[req.URL.Path]++
		most = max(most, now[req.URL.Path])
		mu.Unlock()
		select {
		case <-stop:
		case <-req.Context().Done():
		}
		mu.Lock()
		now[req.URL.Path]--
		mu.Unlock()
	})
	for i := range 20 {
		s := event.Stream{Partner: fmt.Sprintf("prt_%d", i), Environment: "LIVE"}
		d.register(s, fmt.Sprintf("%s/%d", h.URL, i))
		d.appendAtOnce(s, 40)
	}
	r := newReceiver(t, nil)
	d.register(acme, r.URL)
	d.start()
	t.Cleanup(func() { close(stop) }) // before the dispatcher waits for them
	h.want(t, 20)
	began := time.Now()
	var took []time.Duration
	for i := range 20 {
		at := time.Now()
		d.append(acme, 1)
		r.want(t, i+1)
		took = append(took, time.Since(at))
	}
	slices.Sort(took)
	t.Logf("from append to arrival: median %v, longest %v", took[len(took)/2], took[len(took)-1])
	if all := time.Since(began); all > 40*5*time.Second/8 { // behind the others it would take several times as long
		t.Errorf("20 events took %v", all)
	}
	mu.Lock()
	defer mu.Unlock()
	if most > 5 { // four, and one whose end the receiver has not noticed
		t.Errorf("%d attempts were under way to one endpoint that hangs", most)
	}
}
