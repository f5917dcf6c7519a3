package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/namewharf/namewharf/internal/demoregistry"
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

// spoil are the faults after which it is unknown whether the name is free. The others leave an answer that is right.
var spoil = map[demoregistry.Fault]bool{
	demoregistry.BadRequest: true, demoregistry.Denied: true, demoregistry.TooMany: true, demoregistry.TooManyDate: true, demoregistry.Broken: true,
	demoregistry.HTMLNotFound: true, demoregistry.ForeignNotFound: true, demoregistry.WrongName: true, demoregistry.Truncated: true, demoregistry.Cut: true,
	demoregistry.Junk: true, demoregistry.Deep: true, demoregistry.Slow: true, demoregistry.Endless: true, demoregistry.RedirectLoop: true, demoregistry.RedirectPrivate: true,
	demoregistry.WhoisThrottle: true, demoregistry.WhoisDenied: true, demoregistry.WhoisSilent: true, demoregistry.WhoisSlow: true, demoregistry.WhoisEndless: true,
	demoregistry.WhoisWrongName: true,
}

// resting are the faults after which a host is left alone for all names.
var resting = map[demoregistry.Fault]bool{
	demoregistry.Denied: true, demoregistry.TooMany: true, demoregistry.TooManyDate: true, demoregistry.WhoisThrottle: true, demoregistry.WhoisDenied: true,
}

// Whatever the registry of a registered name does, the name is never called free, and the answer comes in time.
func TestFaults(t *testing.T) {
	t.Parallel()
	shared := open(t, "-rate-limits", "off")
	for _, fault := range demoregistry.Faults() {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			s := shared
			if resting[fault] {
				s = open(t, "-rate-limits", "off")
			}
			name := fault.Name()
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
			if fault == demoregistry.Slow || fault == demoregistry.WhoisSlow {
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
	file := fmt.Sprintf(`{"rdap_servers":{"broken.test":%q,"test":%q},"whois_servers":{"broken.example":%q,"throttled.example":%q},"allow_private_cidrs":["127.0.0.0/8"],"rate_per_host":1000}`,
		reg.RDAP("broken.test"), reg.RDAP("test"), reg.WHOIS("broken.example"), reg.WHOIS("throttled.example"))
	s := openOn(t, reg, []byte(file), "-rate-limits", "off")
	for _, name := range []string{
		"fault-400.broken.test", "fault-503.broken.test", "fault-html-404.broken.test", "fault-foreign-404.broken.test", "fault-wrong-name.broken.test", "fault-truncated.broken.test",
		"fault-junk.broken.test", "fault-deep.broken.test", "fault-endless.broken.test", "fault-redirect-loop.broken.test", "fault-redirect-private.broken.test",
		"fault-whois-silent.broken.example", "fault-whois-wrong-name.broken.example", "fault-whois-endless.broken.example", "fault-whois-denied.throttled.example",
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
	for _, test := range []struct{ fault, suffix string }{{"fault-429", "throttled.test"}, {"fault-whois-throttle", "throttled.example"}} {
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
	reg, err := demoregistry.Start(demoregistry.Config{Count: true, Latency: 300 * time.Millisecond})
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
	if got, want := reg.Requests("quietmeadow.org"), (demoregistry.Count{RDAP: 1, DNS: 1}); got != want {
		t.Errorf("500 searches: the registry got %+v, want %+v", got, want)
	}
	many(whois, `{"domain":"cobaltpine.de"}`)
	if got, want := reg.Requests("cobaltpine.de"), (demoregistry.Count{WHOIS: 1}); got != want {
		t.Errorf("500 look-ups: the registry got %+v, want %+v", got, want)
	}
}

// Thirteen names on thirteen hosts cost the slowest host's round trip, not the sum.
func TestNamesAreLookedUpSideBySide(t *testing.T) {
	t.Parallel()
	const latency = 300 * time.Millisecond
	reg, err := demoregistry.Start(demoregistry.Config{Latency: latency})
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

// The demo prints names to try. One that made its host throttle used to do so below every TLD, so that a user who tried it
// got no answers about other names for 20 seconds.
func TestTheDemosNamesWorkInAnyOrder(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"free": "available", "registered": "registered", "redacted": "registered", "WHOIS only": "registered", "expiring": "expiring",
		"about to be deleted": "expiring", "reserved": "reserved", "IDN": "registered", "for sale": "registered",
		"throttled": "likely_available", "throttled WHOIS": "likely_available", "broken registry": "likely_available", // says DNS alone
	}
	for order, backwards := range map[string]bool{"as printed": false, "backwards": true} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			s := openDemo(t, "-rate-limits", "off")
			samples := s.samples(t, len(want))
			if backwards {
				slices.Reverse(samples)
			}
			for _, sample := range samples {
				if v := s.exact(t, sample.name); v.Status != want[sample.kind] {
					t.Errorf("%s, %s: got %+v, want %s", sample.kind, sample.name, v, want[sample.kind])
				}
			}
			for _, suffix := range demoregistry.Suffixes() {
				if strings.HasPrefix(suffix, "throttled.") {
					continue
				}
				for label, want := range map[string]string{"quietmeadow": "available", "cobaltpine": "registered", "fault-429": "available"} {
					if v := s.exact(t, label+"."+suffix); v.Status != want {
						t.Errorf("afterwards, %s.%s: got %+v, want %s", label, suffix, v, want)
					}
				}
			}
			for _, part := range []string{"TXT record", "mail", "standard error"} {
				if !strings.Contains(s.said.String(), part) {
					t.Errorf("the demo does not tell of %q: %s", part, s.said.String())
				}
			}
		})
	}
}

type sample struct{ kind, name string }

// samples are the names that the demo prints, once it has printed so many.
func (s *site) samples(t *testing.T, n int) (all []sample) {
	t.Helper()
	for began := time.Now(); len(all) < n; time.Sleep(time.Millisecond) {
		if all = nil; time.Since(began) > 10*time.Second {
			t.Fatalf("the demo said %q", s.said.String())
		}
		_, list, _ := strings.Cut(s.said.String(), "A name of each kind to try:\n\n")
		list, _, _ = strings.Cut(list, "\n\n")
		for line := range strings.Lines(list) {
			if words := strings.Fields(line); len(words) > 1 {
				last := len(words) - 1
				all = append(all, sample{strings.Join(words[:last], " "), words[last]})
			}
		}
	}
	return all
}

// exact is what a search for a name says of it.
func (s *site) exact(t *testing.T, name string) (v struct{ Status, Reason string }) {
	t.Helper()
	r := s.do(t, "POST", search, `{"q":"`+name+`"}`)
	var got struct {
		Results []struct{ Kind, Status, Reason string }
	}
	if err := json.Unmarshal([]byte(r.text), &got); err != nil || len(got.Results) == 0 || got.Results[0].Kind != "exact" {
		t.Fatalf("search of %s: got %d %s", name, r.StatusCode, r.text)
	}
	v.Status, v.Reason = got.Results[0].Status, got.Results[0].Reason
	return v
}
