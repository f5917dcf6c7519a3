package whois

import (
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/lookup/record"
)

func TestQuery(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ title, server, suffix, name, want string }{
		{"plain where nothing is known", "whois.example", "example", "name.example", "name.example"},
		{"com by its registry's keyword", "whois.verisign-grs.com", "com", "example.com", "domain example.com"},
		{"de in A-labels", "whois.denic.de", "de", "müller.de", "-T dn,ace xn--mller-kva.de"},
		{"jp in English", "whois.jprs.jp", "co.jp", "example.co.jp", "example.co.jp/e"},
		{"dk with handles", "whois.punktum.dk", "dk", "example.dk", "--show-handles example.dk"},
		{"an operator's server keeps the suffix's template", "127.0.0.1:4343", "de", "example.de", "-T dn,ace example.de"},
		{"a server in upper case with a root dot", "WHOIS.DENIC.DE.", "de", "example.de", "-T dn,ace example.de"},
	} {
		t.Run(c.title, func(t *testing.T) {
			t.Parallel()
			if got := Query(c.server, fqdn.MustParse(c.suffix), fqdn.MustParse(c.name)); got != c.want {
				t.Errorf("Query(%q, %q, %q) = %q, want %q", c.server, c.suffix, c.name, got, c.want)
			}
		})
	}
	if got := Query("whois.registrar.example", fqdn.Name{}, fqdn.MustParse("example.com")); got != "example.com" {
		t.Errorf("a registrar's server is asked %q, want the bare name", got)
	}
}

func TestParseDate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in         string
		monthFirst bool
		want       string // empty: no date
	}{
		{"2006-01-02T15:04:05Z", false, "2006-01-02T15:04:05Z"},
		{"2006-01-02T15:04:05.999Z", false, "2006-01-02T15:04:05Z"},
		{"2006-01-02T15:04:05-0700", false, "2006-01-02T22:04:05Z"},
		{"2006-01-02T15:04:05+01:00", false, "2006-01-02T14:04:05Z"},
		{"2006-01-02-T15:04:05Z", false, "2006-01-02T15:04:05Z"},
		{"2006-01-02 15:04:05+02", false, "2006-01-02T13:04:05Z"},
		{"2006-01-02 15:04:05 (UTC+8)", false, "2006-01-02T07:04:05Z"},
		{"2006-01-02 15:04:05 (GMT+0:00)", false, "2006-01-02T15:04:05Z"},
		{"2006/01/02 15:04:05 (JST)", false, "2006-01-02T06:04:05Z"},
		{"2006/01/02", false, "2006-01-02T00:00:00Z"},
		{"2006. 01. 02.", false, "2006-01-02T00:00:00Z"},
		{"2006.01.02 15:04:05", false, "2006-01-02T15:04:05Z"},
		{"2006-Jan-02.", false, "2006-01-02T00:00:00Z"},
		{"20060102", false, "2006-01-02T00:00:00Z"},
		{"20060102 #24302", false, "2006-01-02T00:00:00Z"},
		{"20060102150405", false, "2006-01-02T15:04:05Z"},
		{"20060102 15:04:05", false, "2006-01-02T15:04:05Z"},
		{"0-UANIC 20060102150405", false, "2006-01-02T15:04:05Z"},
		{"registrar AT ns.il 20060102 (Assigned)", false, "2006-01-02T00:00:00Z"},
		{"2.1.2006", false, "2006-01-02T00:00:00Z"},
		{"2.1.2006", true, "2006-01-02T00:00:00Z"},
		{"02/01/2006 15:04:05", false, "2006-01-02T15:04:05Z"},
		{"01/02/2006", true, "2006-01-02T00:00:00Z"},
		{"12/25/2006", false, "2006-12-25T00:00:00Z"},
		{"25/12/2006", true, "2006-12-25T00:00:00Z"},
		{"02-Jan-2006 15:04:05 UTC", false, "2006-01-02T15:04:05Z"},
		{"02-Jan-06", false, "2006-01-02T00:00:00Z"},
		{"02-Jan-96", false, "1996-01-02T00:00:00Z"},
		{"2 January 2006", false, "2006-01-02T00:00:00Z"},
		{"January  2 2006", false, "2006-01-02T00:00:00Z"},
		{"Mon Jan  2 15:04:05 2006", false, "2006-01-02T15:04:05Z"},
		{"Mon Jan  2 15:04:05 GMT 2006", false, "2006-01-02T15:04:05Z"},
		{"2nd January 2006 at 15:04:05.000", false, "2006-01-02T15:04:05Z"},
		{"before 1 January 1996", false, "1996-01-01T00:00:00Z"},
		{"before Aug-1996", false, "1996-08-01T00:00:00Z"},
		{"2006-01-02 03:04:05 PM", false, "2006-01-02T15:04:05Z"},
		{"", false, ""},
		{"null", false, ""},
		{"N/A", false, ""},
		{"not defined", false, ""},
		{"0000-00-00", false, ""},
		{"2006-02-30", false, ""},
		{"2006-13-13", false, ""},
		{"Before 2001", false, ""},
		{"2006-01-02 25:00:00", false, ""},
		{"192.0.2.1", false, ""},
	} {
		got := ""
		if d, ok := parseDate(c.in, c.monthFirst); ok {
			got = d.Format(time.RFC3339)
		}
		if got != c.want {
			t.Errorf("parseDate(%q, month first %t) = %q, want %q", c.in, c.monthFirst, got, c.want)
		}
	}
}

func TestWait(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"and will be replenished in 50 seconds.":          50 * time.Second,
		"Excessive querying, grace period of 30 s":        30 * time.Second,
		"Please try again in 5 minutes":                   5 * time.Minute,
		"Still in grace period, wait 7777777 seconds":     24 * time.Hour,
		"blocked for 3h":                                  3 * time.Hour,
		"blocked for 48 hours":                            24 * time.Hour,
		"Rate limit exceeded. Try again after: 1h30m0s":   90 * time.Minute,
		"request limit exceeded for 127.0.0.1":            0,
		"Maximum queries per hour reached (100)":          0,
		"only 1 request per second allowed, wait 0 s":     0,
		"You have exceeded the limit, wait 99999999999 s": 0,
	} {
		if got := wait(text); got != want {
			t.Errorf("wait(%q) = %v, want %v", text, got, want)
		}
	}
}

// TestRefusals shows how kinds of refusals are recognized, with and without terms of use behind them.
func TestRefusals(t *testing.T) {
	t.Parallel()
	terms := strings.Repeat("\r\nYou agree that you may use this data only for lawful purposes and not to exceed our query rate limit", 12)
	for _, c := range []struct {
		suffix, text string
		want         Verdict
		wait         time.Duration
	}{
		{"org", "Error: WHOIS LIMIT EXCEEDED - SEE WWW.REGISTRY.EXAMPLE FOR DETAILS", Throttled, 0},
		{"at", "% Quota exceeded", Throttled, 0},
		{"au", "BLACKLISTED: You have exceeded the query limit for your network or IP address and have been blacklisted.", Throttled, 0},
		{"ca", "% Rate limit exceeded. Please wait 60 seconds", Throttled, time.Minute},
		{"cz", "Your connection limit exceeded. Please slow down and try again later.", Throttled, 0},
		{"ru", "You have exceeded allowed connection rate.", Throttled, 0},
		{"dk", "# Too many connections.", Throttled, 0},
		{"nz", "query_status: 440 Request Denied", Throttled, 0},
		{"sg", "Your request cannot be completed at this time due to query limit controls.\r\nPlease wait and try again in 60 minutes", Throttled, time.Hour},
		{"it", "ERROR: Request limit exceeded", Throttled, 0},
		{"eu", "-3: Query rate exceeded", Throttled, 0},
		{"ch", "Requests of this client are not permitted. Please use the web for queries.", Denied, 0},
		{"es", "The IP address used to perform the query is not authorised", Denied, 0},
		{"example", "Invalid query", Invalid, 0},
		{"example", "This name is reserved by the registry", Reserved, 0},
		{"example", "An internal matter came up", Unknown, 0},
	} {
		suffix := fqdn.MustParse(c.suffix)
		name, err := fqdn.MustParse("example").Under(suffix)
		if err != nil {
			t.Fatal(err)
		}
		for _, body := range []string{c.text, c.text + terms} {
			r := Parse(suffix, name, []byte(body))
			if r.Verdict != c.want || r.RetryAfter != c.wait {
				t.Errorf(".%s: %q judged %s, wait %v, want %s, wait %v", c.suffix, cut(body, 100), r.Verdict, r.RetryAfter, c.want, c.wait)
			}
		}
	}
}

func TestStatusCodes(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"clientTransferProhibited": "clientTransferProhibited",
		"CLIENT TRANSFER PROHIBITED https://icann.org/epp#clientTransferProhibited": "clientTransferProhibited",
		"client_hold":                     "clientHold",
		"active":                          "ok",
		"ok (paid and in zone)":           "ok",
		"ok - Normal state.":              "ok",
		"redemption period":               "redemptionPeriod",
		"Active, clientUpdateProhibited":  "ok clientUpdateProhibited",
		"Transfer Locked":                 "Transfer Locked",
		"pendingDelete (https://x.test/)": "pendingDelete",
	} {
		s := newScanner(tables().other, fqdn.MustParse("name.example"))
		s.putStatus(in)
		if got := strings.Join(s.rec.Status, " "); got != want {
			t.Errorf("status %q read as %q, want %q", in, got, want)
		}
	}
}

func TestBodies(t *testing.T) {
	t.Parallel()
	suffix, name := fqdn.MustParse("example"), fqdn.MustParse("name.example")
	for _, c := range []struct{ title, body, registrar string }{
		{"Latin-1", "Registrar: Soci\xe9t\xe9 Exemple\n", "Société Exemple"},
		{"UTF-8", "Registrar: Société Exemple\n", "Société Exemple"},
		{"controls and bidi", "Registrar: a\x00\x1b[1mb\u202ec\u0085d\r\n", "a[1mbcd"},
		{"a bare carriage return ends a line", "Registrar: a\rCreated: 2001-02-03\r", "a"},
		{"no newline at the end", "Registrar: a", "a"},
		{"a byte order mark", "\ufeffRegistrar: a\n", "a"},
		{"a field over its limit", "Registrar: " + strings.Repeat("é", record.MaxField) + "\n", strings.Repeat("é", record.MaxField/2)},
	} {
		t.Run(c.title, func(t *testing.T) {
			t.Parallel()
			r := Parse(suffix, name, []byte(c.body))
			if r.Record.Registrar.Name != c.registrar {
				t.Errorf("registrar %q, want %q", r.Record.Registrar.Name, c.registrar)
			}
		})
	}
	flood := "Domain Name: name.example\nRegistrar: a\n" + strings.Repeat("Name Server: ns%.example\nStatus: s%\n", 1)
	var b strings.Builder
	for i := range 5000 {
		b.WriteString(strings.ReplaceAll(flood, "%", strings.Repeat("x", i%60)+"1"))
	}
	r := Parse(suffix, name, []byte(b.String()))
	checkRecord(t, r.Record)
	if r.Verdict != Registered || len(r.Record.Nameservers) != record.MaxNameservers || len(r.Record.Status) != record.MaxStatus {
		t.Errorf("%s with %d nameservers and %d statuses", r.Verdict, len(r.Record.Nameservers), len(r.Record.Status))
	}
}

func TestReferralIsAHost(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"whois.registrar.example":         "whois.registrar.example",
		"WHOIS://WHOIS.Registrar.example": "whois.registrar.example",
		"http://registrar.example/whois":  "registrar.example",
		"rwhois.registrar.example:4321":   "rwhois.registrar.example",
		"127.0.0.1":                       "",
		"localhost":                       "",
		"[::1]":                           "",
		"":                                "",
		"a registrar's page":              "",
	} {
		r := Parse(fqdn.MustParse("com"), fqdn.MustParse("example.com"), []byte("Registrar: a\nRegistrar WHOIS Server: "+in))
		if r.Referral != want || r.Record.RegistrarWHOIS != want {
			t.Errorf("referral %q read as %q, want %q", in, r.Referral, want)
		}
	}
}

// TestRegistriesRefuses shows which mistakes in the data file do not pass.
func TestRegistriesRefuses(t *testing.T) {
	t.Parallel()
	lists := "list generic\nfree a\n\nlist refusals\ndenied b\n\nlist reserves\nreserved c\n\nlist short\ndenied d\n\n"
	if _, err := readRegistries(lists + "suffix x\nfree y\n"); err != nil {
		t.Fatalf("a sound file is refused: %v", err)
	}
	for title, text := range map[string]string{
		"an unknown word":            "suffix x\nfreee y\n",
		"a word without a value":     "suffix x\nfree\n",
		"a suffix twice":             "suffix x\n\nsuffix x\n",
		"a server twice":             "suffix x\nserver a\n\nsuffix y\nserver a\n",
		"a query without a name":     "suffix x\nquery -T\n",
		"an unknown order of dates":  "suffix x\ndates ydm\n",
		"a list that does not stand": "suffix x\nuse nothing\n",
	} {
		if _, err := readRegistries(lists + text); err == nil {
			t.Errorf("%s passes", title)
		}
	}
	if _, err := readRegistries("suffix x\nfree y\n"); err == nil {
		t.Error("a file without the general lists passes")
	}
	for title, text := range map[string]string{
		"an unknown section":         "in nowhere\n",
		"a line without a colon":     "in any\ncreated\n",
		"an unknown field":           "in any\nborn: created\n",
		"an empty label":             "in any\ncreated: a,, b\n",
		"a label with two meanings":  "in any\ncreated: a\nupdated: a\n",
		"a heading for no section":   "open nowhere: a\n",
		"an unknown word with a key": "when created: a\n",
	} {
		if _, err := readLabels(text); err == nil {
			t.Errorf("labels: %s passes", title)
		}
	}
}

// TestEveryFreePhraseIsFree shows that every registry's own phrases are judged by it as the file says.
func TestEveryFreePhraseIsFree(t *testing.T) {
	t.Parallel()
	for suffix, reg := range tables().suffix {
		sfx := fqdn.MustParse(suffix)
		name, err := fqdn.MustParse("example").Under(sfx)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range reg.own {
			if p.verdict != Free || p.open {
				continue
			}
			line := strings.Map(func(r rune) rune { // registries vary the case of ASCII letters only
				if 'a' <= r && r <= 'z' {
					r -= 'a' - 'A'
				}
				return r
			}, p.before)
			if p.named {
				line = p.before + name.String() + p.after
			}
			if r := Parse(sfx, name, []byte("% comment\n\n"+line+"\n")); r.Verdict != Free {
				t.Errorf(".%s: %q judged %s (%s)", suffix, line, r.Verdict, r.Reason)
			}
		}
	}
}
