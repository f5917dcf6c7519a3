package whois

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fqdn"
)

// TestReplies reads testdata/replies.txt.
func TestReplies(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/replies.txt")
	if err != nil {
		t.Fatal(err)
	}
	cases := strings.Split(string(text), "\n== ")[1:]
	if len(cases) < 40 {
		t.Fatalf("only %d cases", len(cases))
	}
	for _, c := range cases {
		head, rest, _ := strings.Cut(c, "\n")
		spec, title, ok := strings.Cut(head, ": ")
		words := strings.Fields(spec)
		if !ok || len(words) != 3 {
			t.Fatalf("bad head %q", head)
		}
		expected, reply, ok := strings.Cut("\n"+rest, "\n--\n")
		if !ok {
			t.Fatalf("%q has no reply", head)
		}
		t.Run(words[1]+" "+title, func(t *testing.T) {
			t.Parallel()
			r := Parse(fqdn.MustParse(words[0]), fqdn.MustParse(words[1]), []byte(strings.ReplaceAll(reply, "\n", "\r\n")))
			if string(r.Verdict) != words[2] {
				t.Fatalf("verdict %s (%s), want %s", r.Verdict, r.Reason, words[2])
			}
			if r.Reason == "" {
				t.Error("no reason")
			}
			want := map[string]string{}
			for line := range strings.SplitSeq(strings.TrimSpace(expected), "\n") {
				key, value, _ := strings.Cut(line, " ")
				want[key] = strings.TrimPrefix(value, "-")
			}
			for key, got := range summary(r) {
				if got != want[key] {
					t.Errorf("%s: got %q, want %q", key, got, want[key])
				}
				delete(want, key)
			}
			delete(want, "")
			if len(want) > 0 {
				t.Errorf("unknown expectations %v", want)
			}
		})
	}
}

// summary is a reply in the words of testdata/replies.txt.
func summary(r Reply) map[string]string {
	rec := r.Record
	date := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.Format(time.RFC3339)
	}
	var ns []string
	for _, n := range rec.Nameservers {
		host := n.Host
		if len(n.Addresses) > 0 {
			host += "=" + strings.Join(n.Addresses, ",")
		}
		ns = append(ns, host)
	}
	m := map[string]string{
		"registrar": rec.Registrar.Name, "id": rec.Registrar.IANAID, "url": rec.Registrar.URL,
		"abuse":   strings.TrimSpace(rec.Registrar.AbuseEmail + " " + rec.Registrar.AbusePhone),
		"created": date(rec.Created), "updated": date(rec.Updated), "expires": date(rec.Expires),
		"status": strings.Join(rec.Status, " "), "ns": strings.Join(ns, " "), "dnssec": string(rec.DNSSEC),
		"name": rec.Registrant.Name, "org": rec.Registrant.Organization, "country": rec.Registrant.Country,
		"whois": rec.RegistrarWHOIS, "redacted": strings.Join(rec.Redacted, " "), "retry": "",
	}
	if r.RetryAfter > 0 {
		m["retry"] = fmt.Sprint(r.RetryAfter.Seconds(), "s")
	}
	return m
}
