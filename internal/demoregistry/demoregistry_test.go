package demoregistry

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fqdn"
)

var noon = time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)

func at(t time.Time) func() time.Time { return func() time.Time { return t } }

func start(t testing.TB, cfg Config) *Registry {
	t.Helper()
	if cfg.Now == nil {
		cfg.Now = at(noon)
	}
	r, err := Start(cfg)
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return r
}

// TestCloseLeavesNoGoroutine is not parallel: it looks at all goroutines of the process, and parallel tests start after it.
func TestCloseLeavesNoGoroutine(t *testing.T) {
	r, err := Start(Config{Now: at(noon), Latency: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	var open []net.Conn
	dial := func(address, send string) {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatalf("dialling: %v", err)
		}
		open = append(open, c)
		if _, err := c.Write([]byte(send)); err != nil {
			t.Fatalf("writing: %v", err)
		}
		if send != "" {
			if _, err := c.Read(make([]byte, 1)); err != nil {
				t.Fatalf("reading: %v", err)
			}
		}
	}
	rdapHost := strings.TrimSuffix(strings.TrimPrefix(r.rdap["bench"], "http://"), rdapPath)
	get := func(f Fault) string {
		return "GET " + rdapPath + "domain/" + f.Name() + " HTTP/1.1\r\nHost: x\r\n\r\n"
	}
	dial(rdapHost, "")           // connected and silent
	dial(rdapHost, get(Slow))    // in the middle of an answer
	dial(rdapHost, get(Endless)) // not read by the client
	dial(rdapHost, get(TooMany)) // kept alive
	dial(r.whois["folio"], "")   // no query yet
	dial(r.whois["broken-whois"], WhoisSlow.Name()+"\r\n")
	dial(r.whois["broken-whois"], WhoisEndless.Name()+"\r\n")
	dial(r.dnsAddr, "")

	began := time.Now()
	if err := r.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("Close took %v", took)
	}
	for _, c := range open {
		c.Close()
	}
	// A goroutine that has said it is done may still have to return from its last function.
	var left []string
	for deadline := time.Now().Add(time.Second); time.Now().Before(deadline); runtime.Gosched() {
		if left = serving(); len(left) == 0 {
			return
		}
	}
	t.Errorf("still running after Close:\n%s", strings.Join(left, "\n\n"))
}

// serving is the stacks of the goroutines that serve something.
func serving() (stacks []string) {
	buf := make([]byte, 1<<20)
	for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		for _, ours := range []string{"registry.(*Registry)", "http.(*conn)", "http.(*Server)", "dns.(*Server)"} {
			if strings.Contains(stack, ours) {
				stacks = append(stacks, stack)
				break
			}
		}
	}
	return stacks
}

func TestStartRefusesOtherThanLoopback(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"0.0.0.0", "192.0.2.1", "localhost", "::"} {
		if r, err := Start(Config{ListenHost: host}); err == nil {
			r.Close()
			t.Errorf("Start on %q: got no error, want one", host)
		}
	}
}

func TestStartOnIPv6(t *testing.T) {
	t.Parallel()
	if l, err := net.Listen("tcp", "[::1]:0"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("this machine has no IPv6 loopback: %v", err)
		}
		t.Skip("this machine has no IPv6 loopback")
	} else {
		l.Close()
	}
	r := start(t, Config{ListenHost: "::1"})
	if status, _, _ := get(t, rdapURL(r, "cobaltpine.com")); status != http.StatusOK {
		t.Errorf("status: got %d, want 200", status)
	}
	if !strings.Contains(string(r.File()), `"::1/128"`) {
		t.Errorf("File: got %s, want ::1/128 allowed", r.File())
	}
}

func TestEverySuffixHasNamesInEveryState(t *testing.T) {
	t.Parallel()
	r := start(t, Config{})
	if n := len(r.names); n < 3000 || n > 9000 {
		t.Errorf("names: got %d, want a few thousand", n)
	}
	for _, suffix := range Suffixes() {
		seen := map[state]int{}
		for name, s := range r.names {
			if suffixOf(name) == suffix {
				seen[s]++
			}
		}
		for s := registered; s <= reserved; s++ {
			if seen[s] == 0 {
				t.Errorf("%s: no name in state %d", suffix, s)
			}
		}
		if _, taken := r.record("quietmeadow." + suffix); taken {
			t.Errorf("quietmeadow.%s: got taken, want free", suffix)
		}
	}
	for name := range r.names {
		if n, err := fqdn.Parse(name); err != nil || n.String() != name {
			t.Errorf("%q: is not in canonical form", name)
		}
	}
}

func TestRecordsAreTheSameInEveryProcess(t *testing.T) {
	t.Parallel()
	a, b := start(t, Config{}), start(t, Config{Now: at(noon.Add(5 * time.Hour))})
	for name := range a.names {
		x, _ := a.record(name)
		y, _ := b.record(name)
		jx, _ := json.Marshal(x)
		jy, _ := json.Marshal(y)
		if string(jx) != string(jy) {
			t.Fatalf("%s: got %s and %s", name, jx, jy)
		}
	}
	// A date that moves here moves in every document that quotes the demo.
	rec, _ := a.record("cobaltpine.com")
	if got, want := rec.Created.Format(time.RFC3339), "2022-10-23T14:14:38Z"; got != want {
		t.Errorf("cobaltpine.com created: got %s, want %s", got, want)
	}
}

func TestDatesAreInOrder(t *testing.T) {
	t.Parallel()
	r := start(t, Config{})
	for name, s := range r.names {
		rec, _ := r.record(name)
		expiring := s == redemption || s == pendingDelete
		if !rec.Created.Before(rec.Updated) || !rec.Updated.Before(noon) || rec.Expires.Before(noon) != expiring {
			t.Errorf("%s in state %d: created %v, updated %v, expires %v", name, s, rec.Created, rec.Updated, rec.Expires)
		}
	}
}

func TestFilePointsAtEveryHost(t *testing.T) {
	t.Parallel()
	r := start(t, Config{})
	var file struct {
		RDAP        map[string]string `json:"rdap_servers"`
		WHOIS       map[string]string `json:"whois_servers"`
		DNS         []string          `json:"dns_servers"`
		Allow       []string          `json:"allow_private_cidrs"`
		RatePerHost float64           `json:"rate_per_host"`
	}
	if err := json.Unmarshal(r.File(), &file); err != nil {
		t.Fatalf("File: %v", err)
	}
	for _, suffix := range Suffixes() {
		if file.RDAP[suffix] == "" && file.WHOIS[suffix] == "" {
			t.Errorf("%s: has no host", suffix)
		}
	}
	for _, c := range []struct {
		suffix      string
		rdap, whois bool
	}{{"com", true, true}, {"de", false, true}, {"dev", true, false}, {"co.uk", true, true}, {"test", true, false}, {"example", false, true}} {
		if got := file.RDAP[c.suffix] != ""; got != c.rdap {
			t.Errorf("%s has RDAP: got %v, want %v", c.suffix, got, c.rdap)
		}
		if got := file.WHOIS[c.suffix] != ""; got != c.whois {
			t.Errorf("%s has WHOIS: got %v, want %v", c.suffix, got, c.whois)
		}
	}
	if file.RDAP["com"] != file.RDAP["net"] || file.RDAP["com"] == file.RDAP["org"] {
		t.Errorf("hosts: got com %s, net %s, org %s; want com and net alone on one", file.RDAP["com"], file.RDAP["net"], file.RDAP["org"])
	}
	if !slices.Equal(file.DNS, []string{r.dnsAddr}) || !slices.Equal(file.Allow, []string{"127.0.0.0/8"}) || file.RatePerHost <= 0 {
		t.Errorf("File: got %s", r.File())
	}
}

func TestSamplesAreWhatTheySay(t *testing.T) {
	t.Parallel()
	r := start(t, Config{})
	want := map[string]state{
		"free": 0, "registered": registered, "redacted": redacted, "WHOIS only": registered, "expiring": redemption,
		"about to be deleted": pendingDelete, "reserved": reserved, "IDN": registered, "for sale": registered,
		"throttled": undelegated, "throttled WHOIS": undelegated, "broken registry": undelegated,
	}
	for _, s := range r.Samples() {
		w, known := want[s.Kind]
		if got := r.stateOf(canonical(s.Name)); !known || got != w {
			t.Errorf("%s sample %s: got state %d, want %d", s.Kind, s.Name, got, w)
		}
		delete(want, s.Kind)
	}
	if len(want) > 0 {
		t.Errorf("Samples: without %v", want)
	}
}

func TestRequestsAreCountedByNameAndProtocol(t *testing.T) {
	t.Parallel()
	r := start(t, Config{Count: true})
	get(t, rdapURL(r, "cobaltpine.com"))
	get(t, rdapURL(r, "COBALTPINE.com"))
	ask(t, r.whois["meridian"], "cobaltpine.com")
	get(t, rdapURL(r, "quietmeadow.com"))
	if got, want := r.Requests("cobaltpine.com"), (Count{RDAP: 2, WHOIS: 1}); got != want {
		t.Errorf("Requests(cobaltpine.com): got %+v, want %+v", got, want)
	}
	if got, want := r.Requests(""), (Count{RDAP: 3, WHOIS: 1}); got != want {
		t.Errorf("Requests: got %+v, want %+v", got, want)
	}

	quiet := start(t, Config{})
	get(t, rdapURL(quiet, "cobaltpine.com"))
	if got := quiet.Requests("cobaltpine.com"); got != (Count{}) {
		t.Errorf("Requests without Config.Count: got %+v, want none", got)
	}
}

func TestLatencyDelaysEveryAnswer(t *testing.T) {
	t.Parallel()
	const latency = 50 * time.Millisecond
	r := start(t, Config{Latency: latency})
	for protocol, query := range map[string]func(){
		"RDAP":  func() { get(t, rdapURL(r, "cobaltpine.com")) },
		"WHOIS": func() { ask(t, r.whois["meridian"], "cobaltpine.com") },
		"DNS":   func() { resolve(t, r, "udp", "cobaltpine.com", 2) },
	} {
		began := time.Now()
		query()
		if took := time.Since(began); took < latency {
			t.Errorf("%s answered after %v, want at least %v", protocol, took, latency)
		}
	}
}

func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		r, err := Start(Config{Now: at(noon)})
		if err != nil {
			b.Fatal(err)
		}
		r.Close()
	}
}
