package lookup_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/internal/demoregistry"
	"github.com/namewharf/namewharf/lookup"
)

// table is a suffix table of a few TLDs.
type table struct {
	rdap  map[string][]string
	whois map[string]string
}

func (table) Delegated() []string           { return []string{"com", "org", "de", "uk", "app", "io", "arpa"} }
func (t table) RDAP(suffix string) []string { return t.rdap[suffix] }
func (t table) WHOIS(suffix string) string  { return t.whois[suffix] }
func (table) ASCIIOnly() []string           { return []string{"app"} }

// start returns a service that asks what the registry says and nothing else.
func start(t testing.TB, r lookup.Registry, change ...func(*lookup.Config)) *lookup.Service {
	t.Helper()
	if r.Allow == nil {
		r.Allow = parse(t, `{"allow_private_cidrs":["127.0.0.0/8"]}`).Allow
	}
	if r.RatePerHost == 0 {
		r.RatePerHost = 1000
	}
	cfg := lookup.Config{Suffixes: table{}, Registry: r, BootstrapURL: lookup.BootstrapOff}
	for _, f := range change {
		f(&cfg)
	}
	s, err := lookup.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func parse(t testing.TB, file string) lookup.Registry {
	t.Helper()
	r, err := lookup.ParseRegistry([]byte(file))
	if err != nil {
		t.Fatalf("ParseRegistry(%s): %v", file, err)
	}
	return r
}

// serveRDAP serves RDAP and counts the requests.
func serveRDAP(t testing.TB, h http.HandlerFunc) (base string, requests *atomic.Int32) {
	t.Helper()
	requests = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		h(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/", requests
}

// reply writes one RDAP reply.
func reply(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

const rdapJSON = "application/rdap+json"

// domain is a domain object with further members.
func domain(name, members string) string {
	if members != "" {
		members = "," + members
	}
	return `{"objectClassName":"domain","ldhName":"` + name + `"` + members + `}`
}

// serveWHOIS answers each query line with what f returns and notes the lines.
func serveWHOIS(t testing.TB, f func(line string) string) (address string, lines func() []string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l.Addr().String(), serveWHOISOn(t, l, f)
}

func serveWHOISOn(t testing.TB, l net.Listener, f func(line string) string) (lines func() []string) {
	var mu sync.Mutex
	var seen []string
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer conn.Close()
				line, _ := bufio.NewReader(conn).ReadString('\n')
				mu.Lock()
				seen = append(seen, line)
				mu.Unlock()
				io.WriteString(conn, f(line))
			})
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), seen...)
	}
}

// serveDNS answers queries over UDP by f.
func serveDNS(t testing.TB, f func(q, reply *dns.Msg)) (address string, queries *atomic.Int32) {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	queries = new(atomic.Int32)
	ready := make(chan struct{})
	s := &dns.Server{PacketConn: conn, NotifyStartedFunc: func() { close(ready) }, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		queries.Add(1)
		m := new(dns.Msg).SetReply(q)
		f(q, m)
		_ = w.WriteMsg(m)
	})}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.ActivateAndServe() }()
	<-ready
	t.Cleanup(func() { _ = s.Shutdown(); <-done })
	return conn.LocalAddr().String(), queries
}

func ns(name string) dns.RR {
	return &dns.NS{Hdr: dns.RR_Header{Name: dns.Fqdn(name), Rrtype: dns.TypeNS, Class: dns.ClassINET, Ttl: 60}, Ns: "ns.example."}
}

func verdict(s *lookup.Service, name string) lookup.Verdict {
	return s.Verdict(context.Background(), fqdn.MustParse(name))
}

func look(t testing.TB, s *lookup.Service, name string) lookup.Answer {
	t.Helper()
	a, err := s.Domain(context.Background(), fqdn.MustParse(name))
	if err != nil {
		t.Fatalf("Domain(%s): %v", name, err)
	}
	return a
}

// codes is the evidence as "source code", in order.
func codes(v lookup.Verdict) string {
	var all []string
	for _, e := range v.Evidence {
		all = append(all, e.Source+" "+e.Code)
	}
	return strings.Join(all, ", ")
}

func ExampleService_Domain() {
	r, err := demoregistry.Start(demoregistry.Config{})
	if err != nil {
		panic(err)
	}
	defer r.Close()
	file, err := lookup.ParseRegistry(r.File())
	if err != nil {
		panic(err)
	}
	s, err := lookup.New(lookup.Config{Suffixes: table{}, Registry: file, BootstrapURL: lookup.BootstrapOff})
	if err != nil {
		panic(err)
	}
	defer s.Close()
	a, err := s.Domain(context.Background(), fqdn.MustParse("www.emberlane.app"))
	if err != nil {
		panic(err)
	}
	fmt.Println(a.Name, a.Status, a.Source)
	fmt.Println(a.Record.Registrar.Name, a.Record.Redacted[:2])
	_, err = s.Domain(context.Background(), fqdn.MustParse("app"))
	fmt.Println(fault.Is(err, fault.Validation))
	// Output:
	// emberlane.app registered rdap
	// Northgate Names Inc. [registrant.name registrant.organization]
	// true
}

func ExampleService_Verdict() {
	r, err := demoregistry.Start(demoregistry.Config{})
	if err != nil {
		panic(err)
	}
	defer r.Close()
	file, err := lookup.ParseRegistry(r.File())
	if err != nil {
		panic(err)
	}
	s, err := lookup.New(lookup.Config{Suffixes: table{}, Registry: file, BootstrapURL: lookup.BootstrapOff})
	if err != nil {
		panic(err)
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, name := range []string{"quietmeadow.app", "oldharbor.app", "www.registry.app", "quietmeadow.nowhere"} {
		v := s.Verdict(ctx, fqdn.MustParse(name))
		fmt.Println(v.Name, v.Status, v.Confidence)
	}
	// Output:
	// quietmeadow.app available registry
	// oldharbor.app expiring registry
	// registry.app reserved registry
	// quietmeadow.nowhere invalid none
}
