package main

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/namewharf/namewharf/internal/registry"
	"github.com/namewharf/namewharf/tools"
)

// A verdict is what a test reads of a search result.
type verdict struct {
	Domain, Status, Reason string
	Available              *bool
	Evidence               []struct{ Source, Code string }
	Registration           *struct{}
	RetryAfter             int `json:"retry_after_s"`
}

// verdictOn searches one name under its own suffix.
func (s *site) verdictOn(t *testing.T, name string) verdict {
	t.Helper()
	_, suffix, _ := strings.Cut(name, ".")
	out := as[struct{ Results []verdict }](t, s.do(t, "POST", search, fmt.Sprintf(`{"q":%q,"tlds":[%q]}`, name, suffix)))
	if len(out.Results) != 1 || out.Results[0].Domain != name {
		t.Fatalf("%s: got %+v, want one result", name, out)
	}
	return out.Results[0]
}

// patience is what a machine that is busy with other tests may add to a deadline.
const patience = 3 * time.Second

// spoil are the faults after which nobody can say whether the name is free. The others leave an answer that is right.
var spoil = map[registry.Fault]bool{
	registry.BadRequest: true, registry.Denied: true, registry.TooMany: true, registry.TooManyDate: true, registry.Broken: true,
	registry.HTMLNotFound: true, registry.ForeignNotFound: true, registry.WrongName: true, registry.Truncated: true, registry.Cut: true,
	registry.Junk: true, registry.Deep: true, registry.Slow: true, registry.Endless: true, registry.RedirectLoop: true, registry.RedirectPrivate: true,
	registry.WhoisThrottle: true, registry.WhoisDenied: true, registry.WhoisSilent: true, registry.WhoisSlow: true, registry.WhoisEndless: true,
	registry.WhoisWrongName: true,
}

// resting are the faults after which a host is left alone for all names.
var resting = map[registry.Fault]bool{
	registry.Denied: true, registry.TooMany: true, registry.TooManyDate: true, registry.WhoisThrottle: true, registry.WhoisDenied: true,
}

// Whatever the registry of a registered name does, the name is never called free, and the answer comes in time.
func TestFaults(t *testing.T) {
	t.Parallel()
	shared := open(t, "-rate-limits", "off")
	for _, fault := range registry.Faults() {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			s := shared
			if resting[fault] {
				s = open(t, "-rate-limits", "off")
			}
			suffix := "test"
			if strings.HasPrefix(string(fault), "whois-") {
				suffix = "example"
			}
			name := fault.Name(suffix)
			begun := time.Now()
			v := s.verdictOn(t, name)
			if took := time.Since(begun); took > tools.SearchDeadline+patience {
				t.Errorf("%s: the search took %v, want at most %v", name, took, tools.SearchDeadline)
			}
			if spoil[fault] {
				if v.Status != "unknown" && v.Status != "likely_available" || v.Available != nil || v.Reason == "" {
					t.Errorf("%s: got %+v, want unknown with a reason", name, v)
				}
			} else if v.Status != "registered" || v.Available == nil || *v.Available {
				t.Errorf("%s: got %+v, want registered", name, v)
			}
			if fault == registry.Slow || fault == registry.WhoisSlow {
				return // a look-up would take all of its time too, which is another eight seconds
			}
			begun = time.Now()
			r := s.do(t, "POST", whois, fmt.Sprintf(`{"domain":%q,"include_raw":true}`, name))
			out := as[struct {
				Registered *bool
				Warnings   []string
				RetryAfter int `json:"retry_after_s"`
			}](t, r)
			if took := time.Since(begun); took > patience {
				t.Errorf("%s: the look-up took %v", name, took)
			}
			switch {
			case out.Registered != nil && !*out.Registered:
				t.Errorf("%s: the look-up says that it is free: %s", name, r.text)
			case out.Registered == nil && len(out.Warnings) == 0:
				t.Errorf("%s: unknown without a warning: %s", name, r.text)
			}
			for _, secret := range []string{"169.254.169.254", "goroutine", ".go:"} {
				if strings.Contains(r.text, secret) && !strings.Contains(string(fault), "private") {
					t.Errorf("%s: the answer holds %q: %s", name, secret, r.text)
				}
			}
		})
	}
}

// Without DNS to help, a fault of the only source leaves the verdict unknown.
func TestFaultsWithoutDNS(t *testing.T) {
	t.Parallel()
	reg := newRegistry(t)
	file := fmt.Sprintf(`{"rdap_servers":{"test":%q},"whois_servers":{"example":%q},"allow_private_cidrs":["127.0.0.0/8"],"rate_per_host":1000}`,
		reg.RDAP("test"), reg.WHOIS("example"))
	s := openOn(t, reg, []byte(file), "-rate-limits", "off")
	for _, name := range []string{
		"fault-400.test", "fault-503.test", "fault-html-404.test", "fault-foreign-404.test", "fault-wrong-name.test", "fault-truncated.test",
		"fault-junk.test", "fault-deep.test", "fault-endless.test", "fault-redirect-loop.test", "fault-redirect-private.test",
		"fault-whois-silent.example", "fault-whois-wrong-name.example", "fault-whois-endless.example", "fault-whois-denied.example",
	} {
		if v := s.verdictOn(t, name); v.Status != "unknown" || v.Available != nil || v.Reason == "" || v.Registration != nil {
			t.Errorf("%s: got %+v, want unknown with a reason", name, v)
		}
	}
	// Suffixes that the file does not name are not asked about anywhere.
	if v := s.verdictOn(t, "quietmeadow.test"); v.Status != "available" {
		t.Errorf("quietmeadow.test: got %+v, want available", v)
	}
}

func TestAHostThatRestsIsLeftAlone(t *testing.T) {
	t.Parallel()
	s := open(t, "-rate-limits", "off")
	for _, test := range []struct{ fault, suffix string }{{"fault-429", "test"}, {"fault-whois-throttle", "example"}} {
		if v := s.verdictOn(t, test.fault+"."+test.suffix); v.RetryAfter < 1 || v.RetryAfter > 20 {
			t.Errorf("%s.%s: got %+v, want a wait of at most 20 s", test.fault, test.suffix, v)
		}
		before := s.registry.Requests("")
		v := s.verdictOn(t, "quietmeadow."+test.suffix)
		after := s.registry.Requests("")
		if v.Status == "available" || v.RetryAfter < 1 || !strings.Contains(v.Reason, "pause") {
			t.Errorf("quietmeadow.%s: got %+v, want that the host rests", test.suffix, v)
		}
		if after.RDAP != before.RDAP || after.WHOIS != before.WHOIS {
			t.Errorf("quietmeadow.%s: the host that rests got %+v, %+v before", test.suffix, after, before)
		}
	}
}

func TestEqualLookupsAreOne(t *testing.T) {
	t.Parallel()
	reg, err := registry.Start(registry.Config{Count: true, Latency: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reg.Close() })
	s := openOn(t, reg, reg.File(), "-rate-limits", "off")
	many := func(path, body string) {
		var all sync.WaitGroup
		for range 500 {
			all.Go(func() {
				if r := s.do(t, "POST", path, body); r.StatusCode != 200 {
					t.Errorf("got %d %s", r.StatusCode, r.text)
				}
			})
		}
		all.Wait()
	}
	many(search, `{"q":"quietmeadow.org","tlds":["org"]}`)
	if got, want := reg.Requests("quietmeadow.org"), (registry.Count{RDAP: 1, DNS: 1}); got != want {
		t.Errorf("500 searches: the registry got %+v, want %+v", got, want)
	}
	many(whois, `{"domain":"cobaltpine.de"}`)
	if got, want := reg.Requests("cobaltpine.de"), (registry.Count{WHOIS: 1}); got != want {
		t.Errorf("500 look-ups: the registry got %+v, want %+v", got, want)
	}
}

// Thirteen names on thirteen hosts cost the slowest host's round trip, not the sum.
func TestNamesAreLookedUpSideBySide(t *testing.T) {
	t.Parallel()
	const latency = 300 * time.Millisecond
	reg, err := registry.Start(registry.Config{Latency: latency})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reg.Close() })
	s := openOn(t, reg, reg.File(), "-rate-limits", "off")
	begun := time.Now()
	out := as[struct{ Results []verdict }](t, s.do(t, "POST", search,
		`{"q":"quietmeadow","tlds":["com","org","me","app","xyz","co","uk","de","eu","jp","fr","ch","test"]}`))
	if took := time.Since(begun); len(out.Results) != 13 || took > 6*latency {
		t.Errorf("%d results after %v, want 13 within %v", len(out.Results), took, 6*latency)
	}
}
