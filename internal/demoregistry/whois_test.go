package demoregistry

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	whoisparser "github.com/likexian/whois-parser"
)

// ask sends one WHOIS query and reads the reply.
func ask(t testing.TB, address, query string) string {
	t.Helper()
	reply, err := tryAsk(address, query, 5*time.Second)
	if err != nil {
		t.Fatalf("whois %q: %v", query, err)
	}
	return reply
}

// tryAsk reads at most 1 MiB for as long as it may take.
func tryAsk(address, query string, patience time.Duration) (string, error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return "", err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	if _, err := fmt.Fprintf(c, "%s\r\n", query); err != nil {
		return "", err
	}
	b, err := io.ReadAll(io.LimitReader(c, 1<<20))
	return string(b), err
}

// whoisOf asks the host of the name's suffix.
func whoisOf(t testing.TB, r *Registry, name string) string {
	t.Helper()
	return ask(t, r.whois[operatorOf[suffixOf(name)].name], name)
}

// whoisSuffixes are those that have WHOIS.
func whoisSuffixes() []string {
	var all []string
	for _, s := range Suffixes() {
		if operatorOf[s].style != nil {
			all = append(all, s)
		}
	}
	return all
}

// TestWHOISOfRegisteredName reads the reply of each style with whois-parser.
func TestWHOISOfRegisteredName(t *testing.T) {
	t.Parallel()
	r := start(t, Config{})
	// What each style does not say, or whois-parser does not read in it.
	noDates := map[string]bool{"de": true, "eu": true}
	noRegistrar := map[string]bool{"de": true, "jp": true}
	for _, suffix := range whoisSuffixes() {
		name := "cobaltpine." + suffix
		rec, _ := r.record(name)
		reply := whoisOf(t, r, name)
		got, err := whoisparser.Parse(reply)
		if err != nil {
			t.Errorf("%s: %v in\n%s", name, err, reply)
			continue
		}
		if got.Domain.Domain != name {
			t.Errorf("%s: domain: got %q", name, got.Domain.Domain)
		}
		if servers := got.Domain.NameServers; len(servers) < 2 || !strings.HasPrefix(servers[0], rec.Nameservers[0].Host) {
			t.Errorf("%s: name servers: got %q, want %+v", name, got.Domain.NameServers, rec.Nameservers)
		}
		if !noDates[suffix] {
			zone := time.UTC
			if suffix == "jp" {
				zone = time.FixedZone("JST", 9*60*60)
			}
			for what, d := range map[string]struct {
				got  *time.Time
				want time.Time
			}{"created": {got.Domain.CreatedDateInTime, rec.Created}, "expires": {got.Domain.ExpirationDateInTime, rec.Expires}} {
				if d.got == nil || d.got.Format(time.DateOnly) != d.want.In(zone).Format(time.DateOnly) {
					t.Errorf("%s: %s: got %v, want %v in\n%s", name, what, d.got, d.want, reply)
				}
			}
		}
		if !noRegistrar[suffix] && (got.Registrar == nil || !strings.HasPrefix(got.Registrar.Name, rec.Registrar.Name)) {
			t.Errorf("%s: registrar: got %+v, want %+v", name, got.Registrar, rec.Registrar)
		}
	}
}

func TestWHOISPhrases(t *testing.T) {
	t.Parallel()
	r := start(t, Config{})
	for _, c := range []struct{ name, shows, want string }{
		{"quietmeadow.com", "a free name", `No match for "QUIETMEADOW.COM".`},
		{"quietmeadow.org", "a free name", "Domain not found."},
		{"quietmeadow.me", "a free name", "Domain not found."},
		{"quietmeadow.xyz", "a free name", "The queried object does not exist: DOMAIN NOT FOUND"},
		{"quietmeadow.us", "a free name", "No Data Found"},
		{"quietmeadow.co.uk", "a free name", `No match for "quietmeadow.co.uk".`},
		{"quietmeadow.de", "a free name", "Status: free"},
		{"quietmeadow.eu", "a free name", "Status: AVAILABLE"},
		{"quietmeadow.jp", "a free name", "No match!!"},
		{"registry.org", "a reserved name", "This name is reserved by the Registry"},
		{"registry.uk", "a reserved name", "cannot be registered because it is reserved"},
		{"registry.de", "a reserved name", "Status: invalid"},
		{"registry.eu", "a reserved name", "Status: NOT ALLOWED"},
		{"registry.jp", "a reserved name", "[Status]                        Reserved"},
		{"emberlane.org", "a redacted name", "Registrant Name: REDACTED FOR PRIVACY"},
		{"oldharbor.info", "a deleted name", "Domain Status: redemptionPeriod https://icann.org/epp#redemptionPeriod"},
		{"oldharbor.uk", "a deleted name", "SUSPENDED"},
		{"oldharbor.de", "a deleted name", "Status: redemptionPeriod"},
		{"oldharbor.eu", "a deleted name", "Status: QUARANTINE"},
		{"oldharbor.jp", "a deleted name", "Suspended"},
		{"fadingstar.net", "a name about to be free", "Domain Status: pendingDelete"},
		{"xn--mnchen-3ya.de", "an internationalized name", "Domain: xn--mnchen-3ya.de"},
	} {
		reply := whoisOf(t, r, c.name)
		if !strings.Contains(reply, c.want) {
			t.Errorf("%s, %s: got\n%s\nwant %q", c.name, c.shows, reply, c.want)
		}
		if strings.Count(reply, "\n") != strings.Count(reply, "\r\n") {
			t.Errorf("%s: has lines without CR LF", c.name)
		}
	}
	if reply := ask(t, r.whois["meridian"], "cobaltpine.org"); !strings.HasPrefix(reply, "Error:") {
		t.Errorf("a name of another host: got %q, want an error", reply)
	}
}

func TestWHOISUnderstandsHouseQueries(t *testing.T) {
	t.Parallel()
	r := start(t, Config{})
	for operator, query := range map[string]string{
		"meridian": "domain COBALTPINE.com",
		"rhein":    "-T dn,ace cobaltpine.de",
		"hinode":   "cobaltpine.jp/e",
		"commons":  "=cobaltpine.org",
		"albion":   "  cobaltpine.co.uk.  ",
	} {
		if reply := ask(t, r.whois[operator], query); !strings.Contains(strings.ToLower(reply), "cobaltpine.") || !strings.Contains(strings.ToLower(reply), "server") {
			t.Errorf("%q: got\n%s\nwant a record", query, reply)
		}
	}
}

func TestThinWHOISLeadsToTheRegistrar(t *testing.T) {
	t.Parallel()
	r := start(t, Config{})
	reply := whoisOf(t, r, "cobaltpine.com")
	if strings.Contains(reply, "Registrant") {
		t.Errorf("the registry's reply names a registrant:\n%s", reply)
	}
	_, after, _ := strings.Cut(reply, "Registrar WHOIS Server: ")
	host, _, _ := strings.Cut(after, "\r\n")
	rec, _ := r.record("cobaltpine.com")
	if full := ask(t, host, "cobaltpine.com"); !strings.Contains(full, "Registrant Organization: "+rec.Registrant.Organization) {
		t.Errorf("the reply of the registrar at %s: got\n%s", host, full)
	}
}

// TestWHOISFaults asks for the name of each fault once.
func TestWHOISFaults(t *testing.T) {
	t.Parallel()
	r := start(t, Config{})
	var timeout net.Error
	checks := map[Fault]func(string, error) bool{
		WhoisThrottle: func(s string, _ error) bool { return strings.Contains(s, "LIMIT EXCEEDED") },
		WhoisDenied:   func(s string, _ error) bool { return strings.Contains(s, "Access denied") },
		WhoisSilent:   func(s string, err error) bool { return s == "" && err == nil },
		WhoisSlow: func(s string, err error) bool {
			return len(s) > 0 && len(s) < 20 && errors.As(err, &timeout) && timeout.Timeout()
		},
		WhoisEndless:   func(s string, _ error) bool { return len(s) == 1<<20 },
		WhoisWrongName: func(s string, _ error) bool { return strings.HasPrefix(s, "Domain Name: SOMEBODY-ELSE.BROKEN.EXAMPLE") },
		WhoisReferralLoop: func(s string, _ error) bool {
			return strings.Contains(s, "Registrar WHOIS Server: "+r.whois["broken-whois"]+"\r\n")
		},
		WhoisReferralPrivate: func(s string, _ error) bool { return strings.Contains(s, "Registrar WHOIS Server: 10.0.0.1\r\n") },
	}
	for f := range whoisFaults {
		check := checks[f]
		if check == nil {
			t.Errorf("%s: has no check", f)
			continue
		}
		timeLimit := 20 * time.Second
		if f == WhoisSlow { // never ends
			timeLimit = time.Second
		}
		if s, err := tryAsk(r.whois[operatorOf[suffixOf(f.Name())].name], f.Name(), timeLimit); !check(s, err) {
			t.Errorf("%s: got %.300q %v", f, s, err)
		}
	}
}

func TestEveryHouseHasAThrottleText(t *testing.T) {
	t.Parallel()
	wait := fmt.Sprint(int(RetryAfter/time.Second), " seconds")
	r := start(t, Config{})
	for _, suffix := range whoisSuffixes() {
		r.Fail("quietmeadow."+suffix, WhoisThrottle)
		if reply := whoisOf(t, r, "quietmeadow."+suffix); !strings.Contains(strings.ToLower(reply), wait) || strings.Contains(reply, "fault-") {
			t.Errorf("%s: got %q, want a text with %q", suffix, reply, wait)
		}
	}
}

func FuzzWHOIS(f *testing.F) {
	for _, seed := range []string{"cobaltpine.com\r\n", "domain =emberlane.org\n", "-T dn,ace a.de", "x.jp/e", "\x00", "fault-429.throttled.test", "bücher.com", "co.uk", " \t\r\n"} {
		f.Add(seed)
	}
	r := start(f, Config{})
	f.Fuzz(func(t *testing.T, line string) {
		name := whoisName(line)
		for i := range operators {
			if op := &operators[i]; op.style != nil && r.whoisReply(name, op) == "" {
				t.Errorf("%q: %s has no reply", line, op.name)
			}
		}
	})
}
