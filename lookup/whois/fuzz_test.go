package whois

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/lookup/record"
)

// FuzzParse shows that no reply makes Parse panic, and that its results are within the limits of package record: every
// text within its size, without control and bidirectional formatting characters.
func FuzzParse(f *testing.F) {
	text, err := os.ReadFile("testdata/replies.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range strings.Split(string(text), "\n== ")[1:] {
		head, reply, _ := strings.Cut(c, "\n--\n")
		suffix, rest, _ := strings.Cut(head, " ")
		name, _, _ := strings.Cut(rest, " ")
		f.Add(suffix, name, []byte(reply))
	}
	f.Add("com", "example.com", []byte("Registrar WHOIS Server: x"))
	f.Add("com", "example.com", []byte("Domain Name: EXAMPLE.COM\r\nRegistrar: a\x00b\x1b[31m\u202ec\xff\r\n"))
	f.Fuzz(func(t *testing.T, suffix, name string, body []byte) {
		sfx, err := fqdn.Parse(suffix)
		if err != nil {
			t.Skip()
		}
		n, err := fqdn.Parse(name)
		if err != nil {
			t.Skip()
		}
		if q := Query("whois.example", sfx, n); strings.ContainsAny(q, "\r\n") || !strings.Contains(q, n.String()) {
			t.Errorf("query %q", q)
		}
		r := Parse(sfx, n, body)
		if rank[r.Verdict] == 0 || r.Reason == "" {
			t.Errorf("verdict %q, reason %q", r.Verdict, r.Reason)
		}
		checkRecord(t, r.Record)
		if r.Verdict == Free && (len(r.Record.Nameservers) > 0 || r.Record.Registrar.Name != "" || !r.Record.Created.IsZero()) {
			t.Error("free, with registration data")
		}
	})
}

func checkRecord(t *testing.T, r record.Record) {
	t.Helper()
	texts := []string{
		r.Registrar.Name, r.Registrar.IANAID, r.Registrar.URL, r.Registrar.AbuseEmail, r.Registrar.AbusePhone,
		r.Registrant.Name, r.Registrant.Organization, r.Registrant.Country, r.RegistrarWHOIS, r.RegistrarRDAP,
	}
	texts = append(append(texts, r.Status...), r.Redacted...)
	for _, ns := range r.Nameservers {
		texts = append(append(texts, ns.Host), ns.Addresses...)
		if _, err := fqdn.Parse(ns.Host); err != nil {
			t.Errorf("nameserver %q", ns.Host)
		}
	}
	for _, s := range texts {
		if len(s) > record.MaxField || strings.IndexFunc(s, dropped) >= 0 || strings.ContainsAny(s, "\n\t") || !utf8.ValidString(s) {
			t.Errorf("field %q", s)
		}
	}
	if len(r.Raw) > record.MaxRaw || strings.IndexFunc(r.Raw, dropped) >= 0 || !utf8.ValidString(r.Raw) {
		t.Errorf("raw %q", r.Raw)
	}
	if len(r.Nameservers) > record.MaxNameservers || len(r.Status) > record.MaxStatus {
		t.Errorf("%d nameservers, %d statuses", len(r.Nameservers), len(r.Status))
	}
}

// FuzzParseDate shows that dates are read in linear steps and come out within the years that registries can mean.
func FuzzParseDate(f *testing.F) {
	for _, s := range []string{"2003-01-09T00:00:00Z", "09/01/2003", "before Aug-1996", "2017/06/01 01:05:09 (JST)", "0-UANIC 20020903000000"} {
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, s string, monthFirst bool) {
		d, ok := parseDate(s, monthFirst)
		if ok != !d.IsZero() || (ok && (d.Year() < 1969 || d.Year() > 2201)) {
			t.Errorf("%q: %v, %t", s, d, ok)
		}
	})
}
