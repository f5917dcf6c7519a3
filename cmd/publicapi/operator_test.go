package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/internal/programtest"
)

// What the operator does to the store of a running server shows in its answers.
func TestOperatorsWorkShowsWhileTheServerRuns(t *testing.T) {
	t.Parallel()
	s := open(t, "-rate-limits", "off")
	program := programtest.Build(t, "operator")
	operate := func(args ...string) {
		t.Helper()
		if out, err := exec.Command(program, append(args, "-data", s.data)...).CombinedOutput(); err != nil {
			t.Fatalf("operator %q: %v\n%s", args, err, out)
		}
	}
	// soon asks until the answer holds a text.
	soon := func(want, method, path, body string, within time.Duration) reply {
		t.Helper()
		begun := time.Now()
		for {
			r := s.do(t, method, path, body)
			if strings.Contains(r.text, want) {
				return r
			}
			if time.Since(begun) > within {
				t.Fatalf("%s %s does not hold %q after %v: %s", method, path, want, within, r.text)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	const offer = `{"q":"quietmeadow.org","tlds":["org"]}`
	before := s.do(t, "POST", search, offer) // now a cached answer
	if strings.Contains(before.text, `"listing"`) {
		t.Fatalf("quietmeadow.org is for sale: %s", before.text)
	}
	operate("listing", "import", write(t, "l.csv", "domain,price_cents,description\nquietmeadow.org,123456,A quiet place\n"), "-env", "live")
	soon(`"listing":{"price":{"masked":true`, "POST", search, offer, 2*time.Second+patience)
	r := soon(`"domain":"quietmeadow.org"`, "GET", listings+"?q=quietmeadow", "", time.Second)
	if strings.Contains(r.text, "123456") || !strings.Contains(r.text, "A quiet place") {
		t.Errorf("got %s, want the description and no price", r.text)
	}
	path := price + "?tld=com"
	etag := s.do(t, "GET", path, "").Header.Get("ETag")
	operate("pricing", "import", write(t, "p.csv", "suffix,register,as_of\ncom,4321,2026-11-01\n"))
	r = soon(`"priceCents":4321`, "GET", path, "", 5*time.Second+patience)
	if r.Header.Get("ETag") == etag {
		t.Errorf("another price with the same ETag %s", etag)
	}
	if r := s.do(t, "GET", path, "", "If-None-Match", etag); r.StatusCode != 200 {
		t.Errorf("the ETag of the old price: got %d, want 200", r.StatusCode)
	}
	operate("pricing", "import", write(t, "p.json", `{"status":"SUCCESS","pricing":{"com":{"registration":"9.99","renewal":"10.50","transfer":"9.99"}}}`))
	soon(`"priceCents":999`, "GET", path, "", 5*time.Second+patience)
	soon(`"priceCents":1050`, "GET", path+"&op=renew", "", time.Second)
	operate("db", "check")
	operate("db", "backup", filepath.Join(t.TempDir(), "copy.db"))
}
