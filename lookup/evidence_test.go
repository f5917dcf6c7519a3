package lookup_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/internal/demoregistry"
	"github.com/namewharf/namewharf/lookup"
)

// TestRDAPEvidence is the RDAP part of the evidence table: what a reply may say, and never "available" wrongly.
func TestRDAPEvidence(t *testing.T) {
	t.Parallel()
	elsewhere, _ := serveRDAP(t, reply(404, rdapJSON, `{"errorCode":404}`))
	header := func(status int, name, value string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set(name, value)
			reply(status, rdapJSON, `{"errorCode":`+fmt.Sprint(status)+`}`)(w, r)
		}
	}
	registered := domain("a.com", `"status":["active"]`)
	for _, c := range []struct {
		what    string
		handler http.HandlerFunc
		want    lookup.Status
		code    string
		retry   time.Duration
	}{
		{"200 with the name", reply(200, rdapJSON, registered), lookup.Registered, "200", 0},
		{"200 with the name in capitals", reply(200, rdapJSON, domain("A.COM", "")), lookup.Registered, "200", 0},
		{"200 in the redemption period", reply(200, rdapJSON, domain("a.com", `"status":["redemption period"]`)), lookup.Expiring, "200", 0},
		{"200 pending delete", reply(200, rdapJSON, domain("a.com", `"status":["active","pending delete"]`)), lookup.Expiring, "200", 0},
		{"200 with the EPP spelling", reply(200, rdapJSON, domain("a.com", `"status":["pendingDelete"]`)), lookup.Expiring, "200", 0},
		{"200 reserved", reply(200, rdapJSON, domain("a.com", `"status":["reserved"]`)), lookup.Reserved, "200", 0},
		{"200 with another name", reply(200, rdapJSON, domain("b.com", "")), lookup.Unknown, "other_name", 0},
		{"200 with an error object", reply(200, rdapJSON, `{"errorCode":404}`), lookup.Unknown, "not_domain", 0},
		{"200 with a nameserver", reply(200, rdapJSON, `{"objectClassName":"nameserver","ldhName":"a.com"}`), lookup.Unknown, "not_domain", 0},
		{"200 with HTML", reply(200, "text/html", "<html>a.com not found</html>"), lookup.Unknown, "malformed", 0},
		{"200 with nothing", reply(200, rdapJSON, ""), lookup.Unknown, "malformed", 0},
		{"200 cut inside the JSON", reply(200, rdapJSON, registered[:len(registered)-3]), lookup.Unknown, "malformed", 0},
		{"200 cut on the wire", header(200, "Content-Length", "5000"), lookup.Unknown, "truncated", 0},
		{"200 without end", func(w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := io.WriteString(w, strings.Repeat(" ", 8192)); err != nil {
					return
				}
			}
		}, lookup.Unknown, "too_large", 0},
		{"200 nested deeply", reply(200, rdapJSON, domain("a.com", `"x":`+strings.Repeat("[", 50_000))), lookup.Unknown, "malformed", 0},
		{"204", reply(204, "", ""), lookup.Unknown, "204", 0},

		{"404 with an RDAP error", reply(404, rdapJSON, `{"errorCode":404,"title":"Not Found"}`), lookup.Available, "404", 0},
		{"404 as plain JSON", reply(404, "application/json; charset=utf-8", `{}`), lookup.Available, "404", 0},
		{"404 with an empty body", reply(404, "text/html", ""), lookup.Available, "404", 0},
		{"404 reserved", reply(404, rdapJSON, `{"errorCode":404,"title":"The domain is reserved"}`), lookup.Reserved, "404_reserved", 0},
		{"404 as HTML", reply(404, "text/html", "<h1>Not Found</h1>"), lookup.Unknown, "404_not_json", 0},
		{"404 as text", reply(404, "text/plain", "not found"), lookup.Unknown, "404_not_json", 0},
		{"404 as HTML that says JSON", reply(404, rdapJSON, "<h1>Not Found</h1>"), lookup.Unknown, "404_malformed", 0},
		{"404 cut inside the JSON", reply(404, rdapJSON, `{"errorCode":404,"ti`), lookup.Unknown, "404_malformed", 0},
		{"404 with another error", reply(404, rdapJSON, `{"errorCode":429}`), lookup.Unknown, "404_doubtful", 0},
		{"404 about the TLD", reply(404, rdapJSON, `{"errorCode":404,"title":"TLD not supported"}`), lookup.Unknown, "404_doubtful", 0},
		{"404 of another host", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere+"domain/a.com", http.StatusFound)
		}, lookup.Unknown, "404_elsewhere", 0},
		{"404 after a redirect on the host", func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasPrefix(r.URL.Path, "/moved/") {
				http.Redirect(w, r, "/moved"+r.URL.Path, http.StatusMovedPermanently)
				return
			}
			reply(404, rdapJSON, `{"errorCode":404}`)(w, r)
		}, lookup.Available, "404", 0},

		{"400", reply(400, rdapJSON, `{"errorCode":400}`), lookup.Unknown, "400", 0},
		{"401", reply(401, rdapJSON, `{}`), lookup.Unknown, "401", 0},
		{"410", reply(410, rdapJSON, `{}`), lookup.Unknown, "410", 0},
		{"403", reply(403, rdapJSON, `{"errorCode":403}`), lookup.Unknown, "403", 10 * time.Minute},
		{"429 with seconds", header(429, "Retry-After", "17"), lookup.Unknown, "429", 17 * time.Second},
		{"429 with too many seconds", header(429, "Retry-After", "86400"), lookup.Unknown, "429", 300 * time.Second},
		{"429 without", reply(429, rdapJSON, `{}`), lookup.Unknown, "429", 30 * time.Second},
		{"500", reply(500, rdapJSON, `{"errorCode":500}`), lookup.Unknown, "500", 0},
		{"503 with seconds", header(503, "Retry-After", "3"), lookup.Unknown, "503", 3 * time.Second},
		{"a redirect to itself", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }, lookup.Unknown, "redirect", 0},
		{"a redirect to the metadata service", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/domain/a.com", http.StatusFound)
		}, lookup.Unknown, "refused", 0},
		{"a connection that ends", func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }, lookup.Unknown, "network", 0},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			base, _ := serveRDAP(t, c.handler)
			other := parse(t, `{"rdap_servers":{"io":"`+elsewhere+`"}}`)
			other.RDAP["com"] = []string{base}
			s := start(t, other)
			v := verdict(s, "a.com")
			a := look(t, start(t, other), "a.com")
			if v.Status != c.want || codes(v) != "rdap "+c.code || a.Status != v.Status {
				t.Errorf("got %s in a search, %s in a look-up, evidence %q; want %s, %q", v.Status, a.Status, codes(v), c.want, "rdap "+c.code)
			}
			if v.Status == lookup.Unknown && (v.Reason == "" || v.Confidence != lookup.ByNone || len(a.Warnings) == 0) {
				t.Errorf("unknown with reason %q, confidence %s, warnings %q", v.Reason, v.Confidence, a.Warnings)
			}
			if v.Status != lookup.Unknown && v.Confidence != lookup.ByRegistry {
				t.Errorf("confidence: got %s, want %s", v.Confidence, lookup.ByRegistry)
			}
			if got := v.RetryAt.Sub(v.CheckedAt); c.retry > 0 && got != c.retry || c.retry == 0 && !v.RetryAt.IsZero() {
				t.Errorf("retry: got %s after the check, want %s", got, c.retry)
			}
		})
	}
}

// TestWHOISEvidence is the WHOIS part of the evidence table, on a real connection.
func TestWHOISEvidence(t *testing.T) {
	t.Parallel()
	const free = "No match for domain \"A.COM\".\r\n>>> Last update of WHOIS database: 2026-11-20T00:00:00Z <<<\r\n"
	const held = "Domain Name: A.COM\r\nRegistrar: Northgate Names Inc.\r\nCreation Date: 2001-02-03T04:05:06Z\r\nRegistry Expiry Date: 2031-02-03T04:05:06Z\r\nName Server: NS1.EXAMPLE.ORG\r\nDomain Status: %s https://icann.org/epp#x\r\n"
	for _, c := range []struct {
		what, body string
		want       lookup.Status
		confidence lookup.Confidence
		retry      bool
	}{
		{"the server's free phrase", free, lookup.Available, lookup.ByWHOIS, false},
		{"a registration", fmt.Sprintf(held, "ok"), lookup.Registered, lookup.ByWHOIS, false},
		{"pending delete", fmt.Sprintf(held, "pendingDelete"), lookup.Expiring, lookup.ByWHOIS, false},
		{"a free phrase beside a registration", fmt.Sprintf(held, "ok") + free, lookup.Registered, lookup.ByWHOIS, false},
		{"a throttle text", "% Query rate limit exceeded. Please try again later.\r\n", lookup.Unknown, lookup.ByNone, true},
		{"nothing", "", lookup.Unknown, lookup.ByNone, false},
		{"junk", "\x00\xff\xfe hello\r\n", lookup.Unknown, lookup.ByNone, false},
		{"another name", strings.ReplaceAll(fmt.Sprintf(held, "ok"), "A.COM", "B.COM"), lookup.Unknown, lookup.ByNone, false},
		{"a reply that is too large", strings.Repeat("% comment\r\n", 40_000), lookup.Unknown, lookup.ByNone, false},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			address, lines := serveWHOIS(t, func(string) string { return c.body })
			s := start(t, lookup.Registry{WHOIS: map[string]string{"com": address}})
			v := verdict(s, "a.com")
			if v.Status != c.want || v.Confidence != c.confidence || v.RetryAt.IsZero() == c.retry {
				t.Errorf("got %s by %s, retry %v, reason %q, evidence %q; want %s by %s, retry %v", v.Status, v.Confidence, v.RetryAt, v.Reason, codes(v), c.want, c.confidence, c.retry)
			}
			for _, l := range lines() {
				if strings.Count(l, "\r\n") != 1 || !strings.Contains(strings.ToLower(l), "a.com") {
					t.Errorf("query: got %q", l)
				}
			}
		})
	}
}

// TestWHOISHostRests shows that a server that throttles is not asked again, about any name, until its time is over.
func TestWHOISHostRests(t *testing.T) {
	t.Parallel()
	address, lines := serveWHOIS(t, func(string) string { return "% Query rate limit exceeded\r\n" })
	s := start(t, lookup.Registry{WHOIS: map[string]string{"com": address}})
	verdict(s, "a.com")
	v := verdict(s, "b.com")
	if v.Status != lookup.Unknown || codes(v) != "whois resting" || v.RetryAt.IsZero() || len(lines()) != 1 {
		t.Errorf("second name: got %s, evidence %q, retry %v, %d queries; want unknown, whois resting, a time, 1", v.Status, codes(v), v.RetryAt, len(lines()))
	}
}

// TestWHOISAfterRDAP shows that WHOIS is asked where RDAP is unknown, and not where it knows.
func TestWHOISAfterRDAP(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what    string
		rdap    http.HandlerFunc
		want    lookup.Status
		by      lookup.Confidence
		queries int
	}{
		{"RDAP knows", reply(404, rdapJSON, `{}`), lookup.Available, lookup.ByRegistry, 0},
		{"RDAP fails", reply(500, "text/html", "oops"), lookup.Registered, lookup.ByWHOIS, 1},
		{"RDAP answers 404 as HTML", reply(404, "text/html", "oops"), lookup.Registered, lookup.ByWHOIS, 1},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			base, _ := serveRDAP(t, c.rdap)
			address, lines := serveWHOIS(t, func(string) string {
				return "Domain Name: A.COM\r\nRegistrar: R\r\nCreation Date: 2001-02-03T04:05:06Z\r\n"
			})
			s := start(t, lookup.Registry{RDAP: map[string][]string{"com": {base}}, WHOIS: map[string]string{"com": address}})
			a := look(t, s, "a.com")
			if a.Status != c.want || a.Confidence != c.by || len(lines()) != c.queries {
				t.Errorf("got %s by %s with %d queries, evidence %q; want %s by %s with %d", a.Status, a.Confidence, len(lines()), codes(a.Verdict), c.want, c.by, c.queries)
			}
			if c.queries > 0 && (a.Source != "whois" || a.Record.Registrar.Name != "R" || len(a.Servers) != 2 || len(a.Warnings) != 1) {
				t.Errorf("got source %q, registrar %q, servers %q, warnings %q", a.Source, a.Record.Registrar.Name, a.Servers, a.Warnings)
			}
		})
	}
}

// TestEveryBaseURL shows that the servers of a suffix are asked in turn until one knows.
func TestEveryBaseURL(t *testing.T) {
	t.Parallel()
	broken, brokenCount := serveRDAP(t, reply(500, "", ""))
	good, goodCount := serveRDAP(t, reply(404, rdapJSON, `{}`))
	never, neverCount := serveRDAP(t, reply(200, rdapJSON, domain("a.com", "")))
	s := start(t, lookup.Registry{RDAP: map[string][]string{"com": {broken, good, never}}})
	v := verdict(s, "a.com")
	if v.Status != lookup.Available || codes(v) != "rdap 500, rdap 404" || brokenCount.Load() != 1 || goodCount.Load() != 1 || neverCount.Load() != 0 {
		t.Errorf("got %s, evidence %q, requests %d %d %d; want available after two", v.Status, codes(v), brokenCount.Load(), goodCount.Load(), neverCount.Load())
	}
}

// TestHTTPAfterHTTPS shows that a plain http server is not believed about a free name when the https one failed.
func TestHTTPAfterHTTPS(t *testing.T) {
	t.Parallel()
	plain, _ := serveRDAP(t, reply(404, rdapJSON, `{}`))
	s := start(t, lookup.Registry{RDAP: map[string][]string{"com": {strings.Replace(plain, "http:", "https:", 1), plain}}})
	if v := verdict(s, "a.com"); v.Status != lookup.Unknown || codes(v) != "rdap network, rdap 404" {
		t.Errorf("got %s, evidence %q; want unknown after both", v.Status, codes(v))
	}
}

func TestDNSEvidence(t *testing.T) {
	t.Parallel()
	answer := func(f func(q, m *dns.Msg)) func(q, m *dns.Msg) {
		return func(q, m *dns.Msg) {
			if strings.HasPrefix(q.Question[0].Name, "a.") {
				f(q, m)
				return
			}
			m.Rcode = dns.RcodeNameError
		}
	}
	rcode := func(code int) func(q, m *dns.Msg) { return func(_, m *dns.Msg) { m.Rcode = code } }
	for _, c := range []struct {
		what      string
		dns       func(q, m *dns.Msg)
		rdap      http.HandlerFunc
		want      lookup.Status
		by        lookup.Confidence
		wantCodes string
		replies   int32
	}{
		{"a delegation ends the search", answer(func(q, m *dns.Msg) { m.Answer = []dns.RR{ns("a.com")} }), reply(404, rdapJSON, `{}`), lookup.Registered, lookup.ByDNS, "dns delegated", 0},
		{"a referral ends the search", answer(func(q, m *dns.Msg) { m.Ns = []dns.RR{ns("A.com")} }), reply(404, rdapJSON, `{}`), lookup.Registered, lookup.ByDNS, "dns delegated", 0},
		{"NXDOMAIN is not available", rcode(dns.RcodeNameError), reply(500, "", ""), lookup.LikelyAvailable, lookup.ByDNS, "dns nxdomain, rdap 500", 1},
		{"NXDOMAIN does not outweigh the registry", rcode(dns.RcodeNameError), reply(200, rdapJSON, domain("a.com", "")), lookup.Registered, lookup.ByRegistry, "dns nxdomain, rdap 200", 1},
		{"a wildcard zone is no evidence", func(q, m *dns.Msg) { m.Answer = []dns.RR{ns(q.Question[0].Name)} }, reply(404, rdapJSON, `{}`), lookup.Available, lookup.ByRegistry, "dns wildcard, rdap 404", 1},
		{"addresses are no delegation", answer(func(q, m *dns.Msg) {
			m.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{Name: "a.com.", Rrtype: dns.TypeA, Class: dns.ClassINET}, A: []byte{192, 0, 2, 1}}}
		}), reply(404, rdapJSON, `{}`), lookup.Available, lookup.ByRegistry, "dns noerror, rdap 404", 1},
		{"the parent's servers are no delegation", answer(func(q, m *dns.Msg) { m.Ns = []dns.RR{ns("com")} }), reply(500, "", ""), lookup.Unknown, lookup.ByNone, "dns noerror, rdap 500", 1},
		{"a server that fails is no evidence", rcode(dns.RcodeServerFailure), reply(404, rdapJSON, `{}`), lookup.Available, lookup.ByRegistry, "dns servfail, rdap 404", 1},
		{"an answer to another question is none", answer(func(q, m *dns.Msg) { m.Question[0].Name = "b.com."; m.Answer = []dns.RR{ns("a.com")} }), reply(404, rdapJSON, `{}`), lookup.Available, lookup.ByRegistry, "dns mismatch, rdap 404", 1},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			var replies atomic.Int32
			base, _ := serveRDAP(t, func(w http.ResponseWriter, r *http.Request) {
				select {
				case <-r.Context().Done(): // DNS ended the search
				case <-time.After(300 * time.Millisecond): // the DNS server on this machine is first
					replies.Add(1)
					c.rdap(w, r)
				}
			})
			address, _ := serveDNS(t, c.dns)
			s := start(t, lookup.Registry{RDAP: map[string][]string{"com": {base}}, DNS: []string{address}})
			v := verdict(s, "a.com")
			if v.Status != c.want || v.Confidence != c.by || codes(v) != c.wantCodes || replies.Load() != c.replies {
				t.Errorf("got %s by %s, evidence %q, %d RDAP replies; want %s by %s, %q, %d", v.Status, v.Confidence, codes(v), replies.Load(), c.want, c.by, c.wantCodes, c.replies)
			}
		})
	}
}

// TestDNSOnlyForSearches shows that a look-up asks the registry, and that a service without DNS servers asks none.
func TestDNSOnlyForSearches(t *testing.T) {
	t.Parallel()
	base, _ := serveRDAP(t, reply(200, rdapJSON, domain("a.com", "")))
	address, queries := serveDNS(t, func(_, m *dns.Msg) { m.Answer = []dns.RR{ns("a.com")} })
	r := lookup.Registry{RDAP: map[string][]string{"com": {base}}}
	withDNS := r
	withDNS.DNS = []string{address}
	look(t, start(t, withDNS), "a.com")
	// The machine's resolvers are not for suffixes that the operator names.
	verdict(start(t, r, func(c *lookup.Config) { c.Resolvers = []string{address} }), "a.com")
	if n := queries.Load(); n != 0 {
		t.Errorf("DNS queries: got %d, want 0", n)
	}
}

// zone has one name.
// A zone of .com has one name, and notes what it learns.
type zone struct {
	name   string
	learnt *learnt
}

type learnt struct {
	mu    sync.Mutex
	names map[string]bool
}

var zoneDate = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

func (z zone) Look(n fqdn.Name) (present, loaded bool, date time.Time) {
	return n.String() == z.name, n.TLD() == "com", zoneDate
}

func (z zone) Learn(n fqdn.Name, registered bool) {
	if z.learnt != nil {
		z.learnt.mu.Lock()
		defer z.learnt.mu.Unlock()
		z.learnt.names[n.String()] = registered
	}
}

// TestZoneLearns shows which outcomes the zone index learns: what a registry said, and nothing else.
func TestZoneLearns(t *testing.T) {
	t.Parallel()
	free, _ := serveRDAP(t, reply(404, rdapJSON, `{}`))
	taken, _ := serveRDAP(t, reply(200, rdapJSON, `{"objectClassName":"domain","ldhName":"b.net"}`))
	broken, _ := serveRDAP(t, reply(500, "", ""))
	noted := &learnt{names: map[string]bool{}}
	s := start(t, lookup.Registry{RDAP: map[string][]string{"com": {free}, "net": {taken}, "org": {broken}}}, func(cfg *lookup.Config) { cfg.Zone = zone{"a.com", noted} })
	for _, name := range []string{"a.com", "b.com", "b.net", "b.org"} {
		verdict(s, name)
	}
	if want := map[string]bool{"b.com": false, "b.net": true}; !maps.Equal(noted.names, want) {
		t.Errorf("learnt %v, want %v", noted.names, want)
	}
	look(t, s, "a.com") // the registry is asked, and does not have it any more
	if registered, ok := noted.names["a.com"]; registered || !ok {
		t.Errorf("after a look-up: learnt %v", noted.names)
	}
}

func TestZoneEvidence(t *testing.T) {
	t.Parallel()
	free, freeCount := serveRDAP(t, reply(404, rdapJSON, `{}`))
	broken, _ := serveRDAP(t, reply(500, "", ""))
	for _, c := range []struct {
		what, name, base string
		want             lookup.Status
		by               lookup.Confidence
		wantCodes        string
	}{
		{"a hit ends the search", "a.com", free, lookup.Registered, lookup.ByZone, "zone hit"},
		{"a miss asks the registry", "b.com", free, lookup.Available, lookup.ByRegistry, "rdap 404, zone miss"},
		{"a miss is likely when the registry fails", "b.com", broken, lookup.LikelyAvailable, lookup.ByZone, "rdap 500, zone miss"},
		{"a zone that is not loaded says nothing", "b.org", broken, lookup.Unknown, lookup.ByNone, "rdap 500"},
	} {
		s := start(t, lookup.Registry{RDAP: map[string][]string{"com": {c.base}, "org": {c.base}}}, func(cfg *lookup.Config) { cfg.Zone = zone{name: "a.com"} })
		if v := verdict(s, c.name); v.Status != c.want || v.Confidence != c.by || codes(v) != c.wantCodes {
			t.Errorf("%s: got %s by %s, evidence %q; want %s by %s, %q", c.what, v.Status, v.Confidence, codes(v), c.want, c.by, c.wantCodes)
		}
	}
	if freeCount.Load() != 1 {
		t.Errorf("requests to the registry: got %d, want 1", freeCount.Load())
	}
	s := start(t, lookup.Registry{RDAP: map[string][]string{"com": {broken}}}, func(cfg *lookup.Config) { cfg.Zone = zone{name: "a.com"} })
	if v := verdict(s, "a.com"); !v.Evidence[0].Date.Equal(zoneDate) {
		t.Errorf("the date of a hit: %v", v.Evidence[0].Date)
	}
	if a := look(t, s, "a.com"); a.Status != lookup.Registered || a.Confidence != lookup.ByZone || a.Source != "" {
		t.Errorf("a look-up with a broken registry: got %s by %s, source %q; want registered by zone without a record", a.Status, a.Confidence, a.Source)
	}
}

func TestRules(t *testing.T) {
	t.Parallel()
	free, requests := serveRDAP(t, reply(404, rdapJSON, `{}`))
	servers := map[string][]string{}
	for _, suffix := range []string{"com", "app", "de", "uk", "arpa"} {
		servers[suffix] = []string{free}
	}
	named := start(t, lookup.Registry{RDAP: map[string][]string{"app": {free}}})
	if v := verdict(named, "www.app"); v.Status != lookup.Available {
		t.Errorf("Verdict(www.app) of a registry that the operator names: got %s, want %s", v.Status, lookup.Available)
	}
	s := start(t, lookup.Registry{RDAP: map[string][]string{"test": {free}}}, func(c *lookup.Config) { c.Suffixes = table{rdap: servers} })
	for _, c := range []struct {
		name string
		want lookup.Status
	}{
		{"ab--cd.com", lookup.Reserved},
		{"xn--bcher-kva.com", lookup.Available},
		{"a.com", lookup.Reserved},
		{"a.app", lookup.Available},
		{"ab.com", lookup.Available},
		{"example.app", lookup.Reserved},
		{"www.app", lookup.Reserved},
		{"nic.app", lookup.Reserved},
		{"example.de", lookup.Available},
		{"example.test", lookup.Available},
		{"www.co.uk", lookup.Available},
	} {
		if v := verdict(s, c.name); v.Status != c.want || (v.Status == lookup.Reserved) != (v.Reason != "") {
			t.Errorf("Verdict(%s), not known to the registry: got %s, reason %q; want %s", c.name, v.Status, v.Reason, c.want)
		}
	}
	before := requests.Load()
	if v := verdict(s, "x.arpa"); v.Status != lookup.Reserved || requests.Load() != before {
		t.Errorf("Verdict(x.arpa): got %s with a request, want reserved without", v.Status)
	}
}

// TestFaults asks the small registry about every name that shows a fault: none may come out available, none may
// take longer than its limit.
func TestFaults(t *testing.T) {
	t.Parallel()
	r, err := demoregistry.Start(demoregistry.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	file := parse(t, string(r.File()))
	for _, fault := range demoregistry.Faults() {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			s := start(t, file, func(c *lookup.Config) { c.SearchTime, c.LookupTime = time.Second, time.Second })
			begin := time.Now()
			v := verdict(s, fault.Name())
			a := look(t, s, fault.Name())
			if v.Status == lookup.Available || a.Status == lookup.Available {
				t.Errorf("got %s and %s, evidence %q", v.Status, a.Status, codes(v))
			}
			if took := time.Since(begin); took > 4*time.Second {
				t.Errorf("took %s, want 2s at most", took)
			}
		})
	}
}
