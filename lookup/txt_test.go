package lookup_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/internal/demoregistry"
	"github.com/namewharf/namewharf/lookup"
)

func TestTXT(t *testing.T) {
	t.Parallel()
	reg, err := demoregistry.Start(demoregistry.Config{Count: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reg.Close() })
	file, err := lookup.ParseRegistry(reg.File())
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, file)
	many := make([]string, 40)
	for i := range many {
		many[i] = fmt.Sprintf("value %02d %s", i, strings.Repeat("x", 100))
	}
	long := strings.Repeat("0123456789", 60)
	reg.SetTXT("_proof.cobaltpine.com", `one="a\b"; two`, "two", "é")
	reg.SetTXT("_proof.cobaltpine.co.uk", long)
	reg.SetTXT("_proof.emberlane.org", many...)
	reg.SetTXT("_proof.quietmeadow.com", "free, but there")
	for _, c := range []struct {
		what, label, name string
		want              []string
	}{
		{"several values unchanged", "_proof", "cobaltpine.com", []string{`one="a\b"; two`, "two", "é"}},
		{"a value of several strings", "_proof", "cobaltpine.co.uk", []string{long}},
		{"more than UDP holds", "_proof", "emberlane.org", many},
		{"no such label", "_other", "cobaltpine.com", nil},
		{"no such name", "_proof", "quietmeadow.org", nil},
		{"a name with nothing else", "_proof", "quietmeadow.com", []string{"free, but there"}},
	} {
		got, err := s.TXT(t.Context(), c.label, fqdn.MustParse(c.name))
		slices.Sort(got)
		want := slices.Sorted(slices.Values(c.want))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: TXT(%s, %s) = %q, %v; want %q", c.what, c.label, c.name, got, err, want)
		}
	}
	reg.SetTXT("_proof.cobaltpine.com")
	if got, err := s.TXT(t.Context(), "_proof", fqdn.MustParse("cobaltpine.com")); err != nil || len(got) > 0 {
		t.Errorf("after its removal: %q, %v; want nothing, at once", got, err)
	}
	for name, want := range map[string]fault.Code{
		"a.nosuchsuffix":                      fault.Validation,
		strings.Repeat("a12345.", 34) + "com": fault.Validation,
		"fault-dns-servfail.broken.test":      fault.Unavailable,
		"fault-dns-refused.broken.test":       fault.Unavailable,
	} {
		label := "_proof"
		if strings.HasPrefix(name, "a12345.") {
			label = "_a-label-of-some-length"
		}
		if got, err := s.TXT(t.Context(), label, fqdn.MustParse(name)); !fault.Is(err, want) || got != nil {
			t.Errorf("TXT(%s, %s) = %q, %v; want %s", label, name, got, err, want)
		}
	}
}

// TestTXTReplies shows what is taken from a resolver's reply, and that a silent server costs its share of the time only.
func TestTXTReplies(t *testing.T) {
	t.Parallel()
	server := func(rcode int, records ...string) string {
		address, _ := serveDNS(t, func(_, reply *dns.Msg) {
			reply.Rcode = rcode
			for _, text := range records {
				rr, err := dns.NewRR(text)
				if err != nil {
					t.Error(err)
				}
				reply.Answer = append(reply.Answer, rr)
			}
		})
		return address
	}
	other, _ := serveDNS(t, func(_, reply *dns.Msg) {
		reply.Question[0].Name = "_proof.b.com."
		reply.Answer = []dns.RR{&dns.TXT{Hdr: dns.RR_Header{Name: "_proof.b.com.", Rrtype: dns.TypeTXT, Class: dns.ClassINET}, Txt: []string{"there"}}}
	})
	silent, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	for _, c := range []struct {
		what    string
		servers []string
		want    []string
		fails   bool
	}{
		{"along an alias", []string{server(dns.RcodeSuccess,
			`_proof.a.com. 60 IN CNAME b.example.`, `b.example. 60 IN CNAME c.example.`, `c.example. 60 IN TXT "there"`, `d.example. 60 IN TXT "elsewhere"`)}, []string{"there"}, false},
		{"a circle of aliases", []string{server(dns.RcodeSuccess,
			`_proof.a.com. 60 IN CNAME b.example.`, `b.example. 60 IN CNAME _proof.a.com.`, `c.example. 60 IN TXT "there"`)}, nil, false},
		{"records of another name", []string{server(dns.RcodeSuccess, `a.com. 60 IN TXT "there"`)}, nil, false},
		{"records of another type", []string{server(dns.RcodeSuccess, `_proof.a.com. 60 IN A 192.0.2.1`)}, nil, false},
		{"the server after a silent one", []string{silent.LocalAddr().String(), server(dns.RcodeSuccess, `_proof.a.com. 60 IN TXT "there"`)}, []string{"there"}, false},
		{"the server after a broken one", []string{server(dns.RcodeServerFailure), server(dns.RcodeNameError)}, nil, false},
		{"an answer to another question", []string{other}, nil, true},
		{"no server to ask", nil, nil, true},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			s := start(t, lookup.Registry{}, func(cfg *lookup.Config) { cfg.Resolvers = c.servers })
			got, err := s.TXT(t.Context(), "_proof", fqdn.MustParse("a.com"))
			if !slices.Equal(got, c.want) || fault.Is(err, fault.Unavailable) != c.fails || !c.fails && err != nil {
				t.Errorf("got %q, %v; want %q, unavailable %v", got, err, c.want, c.fails)
			}
		})
	}
	s := start(t, lookup.Registry{}, func(cfg *lookup.Config) { cfg.Resolvers = []string{silent.LocalAddr().String()} })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	if got, err := s.TXT(ctx, "_proof", fqdn.MustParse("a.com")); !fault.Is(err, fault.Unavailable) || time.Since(began) > 2*time.Second {
		t.Errorf("with little time: %q, %v after %v; want unavailable at once", got, err, time.Since(began))
	}
}

// TestAfresh shows that the registry is asked again, and that its answer stays for those who come after.
func TestAfresh(t *testing.T) {
	t.Parallel()
	base, requests := serveRDAP(t, reply(200, rdapJSON, domain("ember.com", "")))
	s := start(t, lookup.Registry{RDAP: map[string][]string{"com": {base}}})
	for i, ask := range []func(context.Context, fqdn.Name) (lookup.Answer, error){s.Domain, s.Domain, s.Afresh, s.Domain} {
		if a, err := ask(t.Context(), fqdn.MustParse("ember.com")); err != nil || a.Status != lookup.Registered {
			t.Errorf("call %d: %s, %v", i, a.Status, err)
		}
	}
	if got := requests.Load(); got != 2 {
		t.Errorf("%d requests, want 2", got)
	}
}
