package whois

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fqdn"
)

// A replyCase is a reply written by hand and what is to be read from it.
type replyCase struct {
	suffix, name fqdn.Name
	verdict      Verdict
	title        string
	want         map[string]string // by the words of testdata/replies.txt
	body         []byte
}

// readReplies reads the cases of a file of testdata.
func readReplies(t *testing.T, file string) []replyCase {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var cases []replyCase
	for _, c := range strings.Split(string(text), "\n== ")[1:] {
		head, rest, _ := strings.Cut(c, "\n")
		spec, title, ok := strings.Cut(head, ": ")
		words := strings.Fields(spec)
		if !ok || len(words) != 3 {
			t.Fatalf("%s: bad head %q", file, head)
		}
		expected, reply, ok := strings.Cut("\n"+rest, "\n--\n")
		if !ok {
			t.Fatalf("%s: %q has no reply", file, head)
		}
		r := replyCase{
			suffix: fqdn.MustParse(words[0]), name: fqdn.MustParse(words[1]), verdict: Verdict(words[2]), title: title,
			want: map[string]string{}, body: []byte(strings.ReplaceAll(reply, "\n", "\r\n")),
		}
		for line := range strings.SplitSeq(strings.TrimSpace(expected), "\n") {
			if key, value, _ := strings.Cut(line, " "); key != "" {
				r.want[key] = strings.TrimPrefix(value, "-")
			}
		}
		cases = append(cases, r)
	}
	return cases
}

// TestReplies reads the replies of testdata.
func TestReplies(t *testing.T) {
	t.Parallel()
	for file, least := range map[string]int{"replies.txt": 40, "published.txt": 150} {
		cases := readReplies(t, file)
		if len(cases) < least {
			t.Fatalf("%s: only %d cases", file, len(cases))
		}
		for _, c := range cases {
			t.Run(c.name.String()+" "+c.title, func(t *testing.T) {
				t.Parallel()
				r := Parse(c.suffix, c.name, c.body)
				if r.Verdict != c.verdict {
					t.Fatalf("verdict %s (%s), want %s", r.Verdict, r.Reason, c.verdict)
				}
				if r.Reason == "" {
					t.Error("no reason")
				}
				got := summary(r)
				for key, value := range got {
					if value != c.want[key] {
						t.Errorf("%s: got %q, want %q", key, value, c.want[key])
					}
				}
				for key := range c.want {
					if _, known := got[key]; !known {
						t.Errorf("unknown expectation %q", key)
					}
				}
			})
		}
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
