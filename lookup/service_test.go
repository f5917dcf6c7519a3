package lookup_test

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/internal/demoregistry"
	"github.com/namewharf/namewharf/lookup"
	"github.com/namewharf/namewharf/lookup/record"
)

// clock is a wall clock that shows the same time until the test moves it.
type clock struct{ nanos atomic.Int64 }

func newClock() *clock {
	c := new(clock)
	c.nanos.Store(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC).UnixNano())
	return c
}

func (c *clock) now() time.Time       { return time.Unix(0, c.nanos.Load()) }
func (c *clock) move(d time.Duration) { c.nanos.Add(int64(d)) }

// TestSingleFlight shows that five hundred equal look-ups at once, and as many searches, are one request each.
func TestSingleFlight(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	base, requests := serveRDAP(t, func(w http.ResponseWriter, r *http.Request) {
		<-gate
		reply(200, rdapJSON, domain("ember.com", ""))(w, r)
	})
	s := start(t, lookup.Registry{RDAP: map[string][]string{"com": {base}}})
	for _, ask := range []func() lookup.Status{
		func() lookup.Status { return verdict(s, "ember.com").Status },
		func() lookup.Status { return look(t, s, "www.ember.com").Status },
	} {
		before := requests.Load()
		var wg sync.WaitGroup
		for range 500 {
			wg.Go(func() {
				if got := ask(); got != lookup.Registered {
					t.Errorf("got %s, want %s", got, lookup.Registered)
				}
			})
		}
		for requests.Load() == before {
			runtime.Gosched()
		}
		gate <- struct{}{}
		wg.Wait()
		if n := requests.Load() - before; n != 1 {
			t.Errorf("requests: got %d, want 1", n)
		}
	}
}

// TestCacheLife shows for how long each verdict is answered without a request.
func TestCacheLife(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what    string
		handler http.HandlerFunc
		want    lookup.Status
		life    time.Duration
	}{
		{"registered", reply(200, rdapJSON, domain("ember.com", "")), lookup.Registered, 6 * time.Hour},
		{"expiring", reply(200, rdapJSON, domain("ember.com", `"status":["pending delete"]`)), lookup.Expiring, time.Hour},
		{"available", reply(404, rdapJSON, `{}`), lookup.Available, time.Minute},
		{"unknown", reply(500, rdapJSON, `{}`), lookup.Unknown, 15 * time.Second},
		{"reserved", reply(404, rdapJSON, `{"title":"reserved"}`), lookup.Reserved, 24 * time.Hour},
		{"throttled", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "100")
			reply(429, rdapJSON, `{}`)(w, r)
		}, lookup.Unknown, 100 * time.Second},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			base, requests := serveRDAP(t, c.handler)
			clock := newClock()
			s := start(t, lookup.Registry{RDAP: map[string][]string{"com": {base}}}, func(cfg *lookup.Config) { cfg.Now = clock.now })
			v := verdict(s, "ember.com")
			if got := v.FreshUntil.Sub(v.CheckedAt); v.Status != c.want || got != c.life {
				t.Errorf("got %s for %s, want %s for %s", v.Status, got, c.want, c.life)
			}
			clock.move(c.life - time.Nanosecond)
			if again := verdict(s, "ember.com"); !reflect.DeepEqual(again, v) || requests.Load() != 1 {
				t.Errorf("just before the end: got %+v and %d requests, want the same verdict and 1", again, requests.Load())
			}
			clock.move(time.Nanosecond)
			// The host's rest passes by the wire's time, not by this clock, so a throttled host stays untouched.
			want := int32(2)
			if c.what == "throttled" {
				want = 1
			}
			if again := verdict(s, "ember.com"); again.CheckedAt.Equal(v.CheckedAt) || requests.Load() != want {
				t.Errorf("at the end: got a verdict of %s and %d requests, want a new one and %d", again.CheckedAt, requests.Load(), want)
			}
		})
	}
}

// TestLookupFeedsSearch shows that a search is answered by the look-up before it.
func TestLookupFeedsSearch(t *testing.T) {
	t.Parallel()
	base, requests := serveRDAP(t, reply(200, rdapJSON, domain("ember.com", "")))
	s := start(t, lookup.Registry{RDAP: map[string][]string{"com": {base}}})
	a := look(t, s, "ember.com")
	if v := verdict(s, "ember.com"); !reflect.DeepEqual(v, a.Verdict) || requests.Load() != 1 {
		t.Errorf("got %+v after %d requests, want the look-up's verdict after 1", v, requests.Load())
	}
}

// TestNames shows what is asked for, and that names no registry could have send nothing.
func TestNames(t *testing.T) {
	t.Parallel()
	var asked sync.Map
	base, requests := serveRDAP(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.URL.Path, true)
		reply(404, rdapJSON, `{}`)(w, r)
	})
	s := start(t, lookup.Registry{RDAP: map[string][]string{"co.uk": {base}, "com": {base}, "harbour": {base}}})
	for name, path := range map[string]string{
		"www.a.co.uk":         "/domain/a.co.uk",
		"Bücher.COM":          "/domain/xn--bcher-kva.com",
		"deep.in.ember.com":   "/domain/ember.com",
		"anything.harbour":    "/domain/anything.harbour",
		"sub.github.io.com":   "/domain/io.com",
		"xn--bcher-kva.co.uk": "/domain/xn--bcher-kva.co.uk",
	} {
		v := verdict(s, name)
		if _, ok := asked.Load(path); v.Status != lookup.Available || !ok {
			t.Errorf("Verdict(%s): got %s, %s asked for: %v; want available, true", name, v.Status, path, ok)
		}
	}
	before := requests.Load()
	for _, name := range []string{"com", "co.uk", "harbour", "a.nowhere", "localhost", "a.internal"} {
		v := verdict(s, name)
		if v.Status != lookup.Invalid || v.Confidence != lookup.ByNone || v.Reason == "" || v.Name.String() != name {
			t.Errorf("Verdict(%s): got %+v, want invalid with a reason", name, v)
		}
		_, err := s.Domain(context.Background(), fqdn.MustParse(name))
		if !fault.Is(err, fault.Validation) || fault.From(err).Fields[0].Field != "domain" || strings.Contains(err.Error(), name) && len(name) > 8 {
			t.Errorf("Domain(%s): got %v, want a validation error of the field domain", name, err)
		}
	}
	if n := requests.Load(); n != before {
		t.Errorf("invalid names made %d requests, want 0", n-before)
	}
}

// TestNamesThatCannotBeRegistered looks for labels that no registry takes. Registries say "not found" of them, so that they
// were called available.
func TestNamesThatCannotBeRegistered(t *testing.T) {
	t.Parallel()
	base, requests := serveRDAP(t, reply(404, rdapJSON, `{}`))
	s := start(t, lookup.Registry{RDAP: map[string][]string{"com": {base}, "app": {base}, "harbour": {base}}})
	for _, name := range []string{"😀.com", "i❤\ufe0fyou.com", "xn--e28h.com", "☃.harbour", "a・b.com", "bücher.app", "www.😀.com"} {
		v := verdict(s, name)
		if v.Status != lookup.Invalid || v.Confidence != lookup.ByNone || v.Reason == "" || v.Suffix.IsZero() || len(v.Evidence) != 1 || v.Evidence[0].Code != "label" {
			t.Errorf("Verdict(%s): got %+v, want invalid with a reason", name, v)
		}
		if _, err := s.Domain(t.Context(), fqdn.MustParse(name)); !fault.Is(err, fault.Validation) || fault.From(err).Fields[0].Field != "domain" {
			t.Errorf("Domain(%s): got %v, want a validation error of the field domain", name, err)
		}
	}
	if n := requests.Load(); n != 0 {
		t.Errorf("got %d requests, want 0", n)
	}
	for _, name := range []string{"bücher.com", "пример.harbour", "😀.ember.com"} {
		if v := verdict(s, name); v.Status != lookup.Available {
			t.Errorf("Verdict(%s): got %+v, want available", name, v)
		}
	}
}

// TestOperator shows which servers are asked about which suffix.
func TestOperator(t *testing.T) {
	t.Parallel()
	builtin := table{
		rdap:  map[string][]string{"com": {"http://built-in.example", "https://built-in.example/rdap"}, "uk": {"https://uk.example/"}},
		whois: map[string]string{"com": "whois.built-in.example", "uk": "whois.uk.example", "de": "whois.de.example:4343"},
	}
	r := parse(t, `{"rdap_servers":{"uk":"http://127.0.0.1:1/","harbour":["http://127.0.0.1:2/a","https://127.0.0.1:3"]},"whois_servers":{"co.uk":"127.0.0.1:4","de":"127.0.0.1"}}`)
	s := start(t, r, func(c *lookup.Config) { c.Suffixes = builtin })
	for suffix, want := range map[string]lookup.Servers{
		"com":     {RDAP: []string{"https://built-in.example/rdap/", "http://built-in.example/"}, RDAPSource: "built-in", WHOIS: "whois.built-in.example:43"},
		"org":     {},
		"uk":      {RDAP: []string{"http://127.0.0.1:1/"}, RDAPSource: "operator"},
		"co.uk":   {WHOIS: "127.0.0.1:4"},
		"org.uk":  {RDAP: []string{"http://127.0.0.1:1/"}, RDAPSource: "operator"},
		"de":      {WHOIS: "127.0.0.1:43"},
		"harbour": {RDAP: []string{"http://127.0.0.1:2/a/", "https://127.0.0.1:3/"}, RDAPSource: "operator"},
	} {
		if got := s.Servers(fqdn.MustParse(suffix)); !reflect.DeepEqual(got, want) {
			t.Errorf("Servers(%s)\n got %+v\nwant %+v", suffix, got, want)
		}
	}
	for suffix, want := range map[string]bool{"com": true, "harbour": true, "co.uk": true, "example": false} {
		if got := s.Suffixes().Known(fqdn.MustParse(suffix)); got != want {
			t.Errorf("Suffixes().Known(%s): got %v, want %v", suffix, got, want)
		}
	}
	if v := verdict(s, "ember.org"); v.Status != lookup.Unknown || v.Reason == "" {
		t.Errorf("a suffix without servers: got %s, reason %q; want unknown with a reason", v.Status, v.Reason)
	}
}

// TestDeadline shows that an answer comes within the search's time and the caller's, with what is known by then.
func TestDeadline(t *testing.T) {
	t.Parallel()
	hang, requests := serveRDAP(t, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-time.After(10 * time.Second):
		}
	})
	r := lookup.Registry{RDAP: map[string][]string{"com": {hang}}}
	s := start(t, r, func(c *lookup.Config) {
		c.SearchTime, c.LookupTime = 300*time.Millisecond, 300*time.Millisecond
		c.Zone = zone{name: "x.com"}
	})
	begin := time.Now()
	if v := verdict(s, "ember.com"); v.Status != lookup.LikelyAvailable || codes(v) != "rdap timeout, zone miss" {
		t.Errorf("search: got %s, evidence %q; want likely_available, what is known", v.Status, codes(v))
	}
	if a := look(t, s, "slate.com"); a.Status != lookup.LikelyAvailable || len(a.Warnings) == 0 {
		t.Errorf("look-up: got %s, warnings %q; want likely_available with a warning", a.Status, a.Warnings)
	}
	if took := time.Since(begin); took > 3*time.Second {
		t.Errorf("took %s, want 0.6s", took)
	}

	patient := start(t, r)
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	begin = time.Now()
	if v := patient.Verdict(ctx, fqdn.MustParse("ember.com")); v.Status != lookup.Unknown || v.Reason == "" {
		t.Errorf("the caller's deadline: got %s, want unknown", v.Status)
	}
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("the caller's deadline: took %s, want 0.2s", took)
	}
	before := requests.Load()
	ctx, cancel = context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	if patient.Verdict(ctx, fqdn.MustParse("ember.com")); requests.Load() != before+1 {
		t.Error("an unknown verdict for want of the caller's time was cached")
	}
	ctx, cancel = context.WithCancel(context.Background())
	cancel()
	if _, err := patient.Domain(ctx, fqdn.MustParse("ember.com")); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled look-up: got %v, want %v", err, context.Canceled)
	}
}

// TestBusyHost shows that names beyond a host's rate are unknown with a time to retry, at once.
func TestBusyHost(t *testing.T) {
	t.Parallel()
	base, requests := serveRDAP(t, reply(404, rdapJSON, `{}`))
	s := start(t, lookup.Registry{RDAP: map[string][]string{"com": {base}}, RatePerHost: 0.1})
	verdict(s, "one.com")
	begin := time.Now()
	v := verdict(s, "two.com")
	if v.Status != lookup.Unknown || codes(v) != "rdap busy" || v.RetryAt.IsZero() || requests.Load() != 1 || time.Since(begin) > 2*time.Second {
		t.Errorf("got %s, evidence %q, retry %v, %d requests after %s; want unknown, busy, a time, 1, at once", v.Status, codes(v), v.RetryAt, requests.Load(), time.Since(begin))
	}
}

// TestClose shows that Close ends what runs and leaves no goroutine behind.
func TestClose(t *testing.T) {
	// Not parallel: it counts goroutines.
	before := runtime.NumGoroutine()
	func() {
		r, err := demoregistry.Start(demoregistry.Config{Latency: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		cfg := lookup.Config{Suffixes: table{}, Registry: parse(t, string(r.File())), BootstrapURL: r.RDAP("app")}
		s, err := lookup.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for _, suffix := range []string{"com", "app", "de"} {
			wg.Go(func() { s.Verdict(context.Background(), fqdn.MustParse("ember."+suffix)) })
			wg.Go(func() { _, _ = s.Domain(context.Background(), fqdn.MustParse("ember."+suffix)) })
		}
		time.Sleep(50 * time.Millisecond) // some wait for a server by now; any moment is a fair one
		begin := time.Now()
		s.Close()
		wg.Wait()
		if took := time.Since(begin); took > 3*time.Second {
			t.Errorf("Close took %s, want much less than the servers' 5s", took)
		}
		if v := s.Verdict(context.Background(), fqdn.MustParse("later.com")); v.Status != lookup.Unknown {
			t.Errorf("after Close: got %s, want unknown", v.Status)
		}
	}()
	for end := time.Now().Add(3 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > before {
		buf := make([]byte, 1<<16)
		t.Errorf("goroutines: got %d, had %d\n%s", n, before, buf[:runtime.Stack(buf, true)])
	}
}

// TestRegistrarHop shows a thin registry: the registry decides, the registrar fills blanks, one hop and no further.
func TestRegistrarHop(t *testing.T) {
	t.Parallel()
	var registry string
	further, furtherCount := serveRDAP(t, reply(200, rdapJSON, domain("ember.com", "")))
	registrar, registrarCount := serveRDAP(t, func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/domain/")
		switch name {
		case "gone.com":
			reply(404, rdapJSON, `{"errorCode":404}`)(w, r)
		case "wrong.com":
			reply(200, rdapJSON, domain("other.com", ""))(w, r)
		default:
			reply(200, rdapJSON, domain(name, `"status":["client hold"],
				"events":[{"eventAction":"registration","eventDate":"1999-01-01T00:00:00Z"},{"eventAction":"expiration","eventDate":"2031-01-01T00:00:00Z"}],
				"links":[{"rel":"related","type":"application/rdap+json","href":"`+further+`domain/`+name+`"}],
				"redacted":[{"name":{"type":"Registrant Name"},"method":"removal"}],
				"entities":[{"roles":["registrant"],"vcardArray":["vcard",[["org",{},"text","Ember Ltd"],["adr",{"cc":"GB"},"text",["","","","","","",""]]]]}]`))(w, r)
		}
	})
	registry, _ = serveRDAP(t, func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/domain/")
		link := registrar + "domain/" + name
		switch name {
		case "self.com":
			link = registry + "domain/" + name
		case "private.com":
			link = "http://10.0.0.1/domain/" + name
		}
		reply(200, rdapJSON, domain(name, `"status":["active"],"events":[{"eventAction":"registration","eventDate":"2001-02-03T00:00:00Z"}],
			"entities":[{"roles":["registrar"],"vcardArray":["vcard",[["fn",{},"text","Northgate"]]]}],
			"links":[{"rel":"related","type":"application/rdap+json","href":"`+link+`"}]`))(w, r)
	})
	servers := parse(t, `{"rdap_servers":{"org":"`+registrar+`","io":"`+further+`"}}`)
	servers.RDAP["com"] = []string{registry}
	s := start(t, servers)

	a := look(t, s, "ember.com")
	want := record.Record{
		Domain: fqdn.MustParse("ember.com"), Registrar: record.Registrar{Name: "Northgate"},
		Registrant: record.Contact{Organization: "Ember Ltd", Country: "GB"},
		Created:    time.Date(2001, 2, 3, 0, 0, 0, 0, time.UTC), Expires: time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC),
		Status: []string{"ok"}, Redacted: []string{"registrant.name"}, RegistrarRDAP: registrar + "domain/ember.com",
	}
	a.Record.Raw = ""
	if !reflect.DeepEqual(a.Record, want) || a.Source != "merged" || fmt.Sprint(a.Servers) != fmt.Sprint([]string{registry, registrar}) || codes(a.Verdict) != "rdap 200, rdap 200" {
		t.Errorf("ember.com\n got %+v, %s, %s, %q\nwant %+v, merged", a.Record, a.Source, a.Servers, codes(a.Verdict), want)
	}
	if n := furtherCount.Load(); n != 0 {
		t.Errorf("a second hop made %d requests, want 0", n)
	}
	before := registrarCount.Load()
	for name, warnings := range map[string]int{"self.com": 0, "private.com": 1, "gone.com": 1, "wrong.com": 1} {
		if a := look(t, s, name); a.Status != lookup.Registered || a.Source != "rdap" || len(a.Warnings) != warnings {
			t.Errorf("%s: got %s from %s, warnings %q; want registered from rdap, %d warnings", name, a.Status, a.Source, a.Warnings, warnings)
		}
	}
	verdict(s, "slate.com")
	if n := registrarCount.Load() - before; n != 2 {
		t.Errorf("requests to the registrar: got %d, want 2; a search makes none", n)
	}
}

// TestWHOISHops shows that referrals are followed for blanks, at most two, never in a circle. Referrals name hosts
// without a port, so it needs the right to listen on port 43.
func TestWHOISHops(t *testing.T) {
	t.Parallel()
	names := fakeNames{}
	next := []string{"whois1.example", "whois2.example", "whois3.example", "whois0.example"}
	var lines [4]func() []string
	for i, ns := range next {
		address := fmt.Sprintf("127.43.43.%d", i+1)
		l, err := net.Listen("tcp", address+":43")
		if err != nil {
			if os.Getenv("CI") != "" {
				t.Fatalf("no right to listen on port 43: %v", err)
			}
			t.Skipf("no right to listen on port 43: %v", err)
		}
		names[fmt.Sprintf("whois%d.example", i)] = address
		lines[i] = serveWHOISOn(t, l, func(line string) string {
			referral := ns
			if strings.Contains(line, "loop") {
				referral = "whois0.example"
			}
			name, _, _ := strings.Cut(strings.TrimPrefix(line, "domain "), "\r")
			blank := []string{"", "Creation Date: 2001-02-03T00:00:00Z", "Registry Expiry Date: 2031-02-03T00:00:00Z", "Name Server: ns.example.org"}[i]
			return fmt.Sprintf("Domain Name: %s\r\nRegistrar: R%d\r\n%s\r\nRegistrar WHOIS Server: %s\r\n", name, i, blank, referral)
		})
	}
	s := start(t, lookup.Registry{WHOIS: map[string]string{"com": "whois0.example:43"}}, func(c *lookup.Config) { c.Resolver = names })
	a := look(t, s, "ember.com")
	if r := a.Record; a.Source != "merged" || r.Registrar.Name != "R0" || r.Created.Year() != 2001 || r.Expires.Year() != 2031 || len(r.Nameservers) != 0 ||
		fmt.Sprint(a.Servers) != "[whois0.example whois1.example whois2.example]" {
		r.Raw = ""
		t.Errorf("got %+v, %s from %q; want the first three servers' parts", r, a.Source, a.Servers)
	}
	if a := look(t, s, "loop.com"); a.Source != "whois" || fmt.Sprint(a.Servers) != "[whois0.example]" {
		t.Errorf("a referral to itself: got %s from %q; want whois from the first server alone", a.Source, a.Servers)
	}
	before := len(lines[1]())
	verdict(s, "slate.com")
	if n := len(lines[1]()); n != before {
		t.Errorf("a search asked the registrar %d times, want never", n-before)
	}
}

// TestCAFile shows a registry behind a private certificate authority, and that it is not believed without the file.
func TestCAFile(t *testing.T) {
	t.Parallel()
	srv := httptest.NewTLSServer(reply(404, rdapJSON, `{"errorCode":404}`))
	t.Cleanup(srv.Close)
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	r := lookup.Registry{RDAP: map[string][]string{"com": {srv.URL + "/"}}}
	if v := verdict(start(t, r), "ember.com"); v.Status != lookup.Unknown || codes(v) != "rdap network" {
		t.Errorf("without the file: got %s, evidence %q; want unknown", v.Status, codes(v))
	}
	r.CAFile = file
	if v := verdict(start(t, r), "ember.com"); v.Status != lookup.Available {
		t.Errorf("with the file: got %s, evidence %q; want available", v.Status, codes(v))
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for what, cfg := range map[string]lookup.Config{
		"no table":            {},
		"a CA file missing":   {Suffixes: table{}, Registry: lookup.Registry{CAFile: "testdata/nowhere.pem"}},
		"a CA file without":   {Suffixes: table{}, Registry: lookup.Registry{CAFile: "service_test.go"}},
		"a bad bootstrap URL": {Suffixes: table{}, BootstrapURL: "ftp://x/"},
	} {
		if s, err := lookup.New(cfg); err == nil {
			s.Close()
			t.Errorf("%s: got a service, want an error", what)
		}
	}
}

// BenchmarkVerdictCached is a search for one name that is answered from the cache; it must cost 2 µs at most.
func BenchmarkVerdictCached(b *testing.B) {
	base, _ := serveRDAP(b, reply(404, rdapJSON, `{}`))
	s := start(b, lookup.Registry{RDAP: map[string][]string{"com": {base}}}, func(c *lookup.Config) { c.Now = newClock().now })
	name := fqdn.MustParse("emberlane.com")
	ctx := context.Background()
	s.Verdict(ctx, name)
	b.ReportAllocs()
	for b.Loop() {
		if s.Verdict(ctx, name).Status != lookup.Available {
			b.Fatal("not available")
		}
	}
}

// BenchmarkSearch13 asks 13 hosts that take 100 ms each side by side, about another name each time; 130 ms at most.
func BenchmarkSearch13(b *testing.B) {
	servers := map[string][]string{}
	var names []string
	for i := range 13 {
		base, _ := serveRDAP(b, func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(100 * time.Millisecond)
			w.Header().Set("Content-Type", rdapJSON)
			w.WriteHeader(404)
			io.WriteString(w, `{"errorCode":404}`)
		})
		suffix := fmt.Sprintf("s%02d", i)
		servers[suffix] = []string{base}
		names = append(names, suffix)
	}
	s := start(b, lookup.Registry{RDAP: servers})
	n := 0
	for b.Loop() {
		n++
		var wg sync.WaitGroup
		for _, suffix := range names {
			wg.Go(func() {
				if v := verdict(s, fmt.Sprintf("name%d.%s", n, suffix)); v.Status != lookup.Available {
					b.Errorf("%s: got %s, %q", suffix, v.Status, codes(v))
				}
			})
		}
		wg.Wait()
	}
}

// TestWHOISQueryIsSentAsItIs shows that the WHOIS client changes nothing about the query of any template, and that it
// survives a reply whose last line is a referral without a line feed.
func TestWHOISQueryIsSentAsItIs(t *testing.T) {
	t.Parallel()
	for suffix, want := range map[string]string{
		"com": "domain a1.com\r\n",
		"de":  "-T dn,ace a1.de\r\n",
		"dk":  "--show-handles a1.dk\r\n",
		"jp":  "a1.jp/e\r\n",
		"fr":  "a1.fr\r\n",
	} {
		address, lines := serveWHOIS(t, func(string) string {
			return "Domain Name: a1." + suffix + "\r\nCreation Date: 2001-02-03T04:05:06Z\r\nRegistrar WHOIS Server: x"
		})
		s := start(t, lookup.Registry{WHOIS: map[string]string{suffix: address}})
		if v := verdict(s, "a1."+suffix); v.Status != lookup.Registered {
			t.Errorf("%s: got %s (%s), want registered", suffix, v.Status, v.Reason)
		}
		if got := lines(); len(got) != 1 || got[0] != want {
			t.Errorf("%s: the server got %q, want %q", suffix, got, want)
		}
	}
}

// BenchmarkWHOIS is a search that one WHOIS server on loopback answers, about another name each time.
func BenchmarkWHOIS(b *testing.B) {
	address, _ := serveWHOIS(b, func(string) string { return "No match for domain.\r\n" })
	s := start(b, lookup.Registry{WHOIS: map[string]string{"com": address}}, func(c *lookup.Config) { c.RatePerHost = 1e6 })
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		n++
		verdict(s, fmt.Sprintf("name%d.com", n))
	}
}

// everywhere is a zone that has every name.
type everywhere struct{}

func (everywhere) Look(fqdn.Name) (present, loaded bool, date time.Time) { return true, true, zoneDate }
func (everywhere) Learn(fqdn.Name, bool)                                 {}

// BenchmarkSearch30Zone gives verdicts of 30 names, each under another TLD, side by side as a search does: half of them
// from the cache, half from a zone index for the first time. 1 ms at most.
func BenchmarkSearch30Zone(b *testing.B) {
	servers := map[string][]string{}
	for i := range 30 {
		servers[fmt.Sprintf("s%02d", i)] = []string{"http://127.0.0.1:9/"}
	}
	s := start(b, lookup.Registry{RDAP: servers}, func(c *lookup.Config) { c.Zone = everywhere{} })
	ctx := context.Background()
	known, names := make([]fqdn.Name, 30), make([]fqdn.Name, 30)
	for i := range known {
		known[i] = fqdn.MustParse(fmt.Sprintf("ember.s%02d", i))
		s.Verdict(ctx, known[i])
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		b.StopTimer()
		n++
		for i := range names {
			if names[i] = known[i]; i%2 == 0 {
				names[i] = fqdn.MustParse(fmt.Sprintf("ember%d.s%02d", n, i))
			}
		}
		b.StartTimer()
		var wg sync.WaitGroup
		for _, name := range names {
			wg.Go(func() {
				if s.Verdict(ctx, name).Confidence != lookup.ByZone {
					b.Error("not by the zone")
				}
			})
		}
		wg.Wait()
	}
}
