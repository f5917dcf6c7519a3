package main

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// left is what the RateLimit header says of a class; -1 when it does not.
func left(r reply, class string) int {
	for item := range strings.SplitSeq(r.Header.Get("RateLimit"), ", ") {
		if after, ok := strings.CutPrefix(item, strconv.Quote(class)+";r="); ok {
			n, err := strconv.Atoi(after[:strings.IndexByte(after+";", ';')])
			if err != nil {
				return -1
			}
			return n
		}
	}
	return -1
}

func wantLimited(t *testing.T, r reply) {
	t.Helper()
	wait, err := strconv.Atoi(r.Header.Get("Retry-After"))
	if r.StatusCode != http.StatusTooManyRequests || err != nil || wait < 1 || wait > 60 || r.problem(t).Code != "rate_limited" {
		t.Errorf("got %d, Retry-After %q, %s; want 429 and when to come again", r.StatusCode, r.Header.Get("Retry-After"), r.text)
	}
}

// twentyPrices is a batch that costs twenty reads.
func twentyPrices() string {
	return strings.ReplaceAll(strings.ReplaceAll(operations(20), "whois_lookup", "tld_registration_price"), `"domain":"quietmeadow.test"`, `"tld":"com"`)
}

func TestTheSixtyFirstLookupOfAMinute(t *testing.T) {
	t.Parallel()
	s := open(t)
	body := `{"q":"cobaltpine.test","tlds":["test"]}`
	var r reply
	for i := range 200 { // a token comes back each second: on a slow machine it takes a few more than 61
		path, in := search, body
		if i%2 == 1 {
			path, in = whois, `{"domain":"cobaltpine.test"}`
		}
		r = s.do(t, "POST", path, in)
		if r.StatusCode == http.StatusTooManyRequests && i >= 60 {
			break
		}
		if r.StatusCode != 200 || left(r, "lookup") < 59-i || !strings.Contains(r.Header.Get("RateLimit-Policy"), `"lookup";q=60;w=60`) {
			t.Fatalf("look-up %d: got %d, %q of %q", i+1, r.StatusCode, r.Header.Get("RateLimit"), r.Header.Get("RateLimit-Policy"))
		}
	}
	wantLimited(t, r)
	// One budget for all transports, and for bad input too; what asks no registry has another.
	m := s.mcp(t, "/mcp", modern, "search_domain", message(modern, "search_domain", body))
	if m.StatusCode != 200 || !strings.Contains(m.text, `"isError":true`) || !strings.Contains(m.text, "code: rate_limited") || !strings.Contains(m.text, "retry after: ") {
		t.Errorf("MCP: got %d %s", m.StatusCode, m.text)
	}
	wantLimited(t, s.do(t, "POST", batched, operations(2)))
	wantLimited(t, s.do(t, "POST", search, body, "Accept", "text/event-stream"))
	if r := s.do(t, "GET", price+"?tld=com", ""); r.StatusCode != 200 || left(r, "read") < 0 {
		t.Errorf("a price: got %d, %q", r.StatusCode, r.Header.Get("RateLimit"))
	}
	// Without a trusted proxy the header is the client's own invention.
	wantLimited(t, s.do(t, "POST", whois, `{"domain":"cobaltpine.test"}`, "X-Forwarded-For", "192.0.2.9"))
}

func TestCosts(t *testing.T) {
	t.Parallel()
	s := open(t, "-trusted-proxies", "127.0.0.0/8")
	names := func(n int) string {
		return `{"domains":["cobaltpine.test"` + strings.Repeat(`,"cobaltpine.test"`, n-1) + `]}`
	}
	for i, test := range []struct {
		name, path, body string
		class            string
		left             int // of 60 look-ups or 300 reads
	}{
		{"a search", search, `{"q":"cobaltpine","tlds":["test"]}`, "lookup", 59},
		{"a refused search", search, `{}`, "lookup", 59},
		{"one name", check, names(1), "lookup", 59},
		{"ten names", check, names(10), "lookup", 59},
		{"eleven names", check, names(11), "lookup", 58},
		{"two hundred names", check, names(200), "lookup", 40},
		{"ideas, with ten names looked up", "/api/domain/suggest", `{"q":"coffee shop","limit":2}`, "lookup", 59},
		{"ideas in a batch", batched, `{"operations":[{"id":"a","op":"suggest_domains","params":{"q":"coffee shop","limit":2}}]}`, "lookup", 59},
		{"refused ideas", "/api/domain/suggest", `{"q":"12 34"}`, "lookup", 59},
		{"twenty look-ups in a batch", batched, operations(20), "lookup", 40},
		{"twenty prices in a batch", batched, twentyPrices(), "read", 280},
	} {
		client := fmt.Sprintf("192.0.2.%d", i+1)
		r := s.do(t, "POST", test.path, test.body, "X-Forwarded-For", client)
		if got := left(r, test.class); got != test.left {
			t.Errorf("%s: %d, %q; want %d left of %s", test.name, r.StatusCode, r.Header.Get("RateLimit"), test.left, test.class)
		}
	}
}

func TestWhoIsLimited(t *testing.T) {
	t.Parallel()
	s := open(t, "-trusted-proxies", "127.0.0.0/8,10.0.0.0/8")
	ask := func(forwarded ...string) int {
		t.Helper()
		var headers []string
		for _, f := range forwarded {
			headers = append(headers, "X-Forwarded-For", f)
		}
		r := s.do(t, "POST", batched, twentyPrices(), headers...) // five tokens a second come back
		if r.StatusCode != 200 {
			t.Fatalf("%q: got %d %s", forwarded, r.StatusCode, r.text)
		}
		return left(r, "read")
	}
	for _, test := range []struct {
		name      string
		forwarded []string
		fresh     bool // a client that was not seen before
	}{
		{"a client", []string{"192.0.2.1"}, true},
		{"the same", []string{"192.0.2.1"}, false},
		{"another", []string{"192.0.2.2"}, true},
		{"the last that is no proxy counts", []string{"203.0.113.5, 192.0.2.1, 10.0.0.7"}, false},
		{"in two headers", []string{"192.0.2.1", "10.0.0.7"}, false},
		{"an invention in front of it", []string{"198.51.100.77, 192.0.2.2"}, false},
		{"an IPv6 network", []string{"2001:db8:1:2::1"}, true},
		{"another address of it", []string{"2001:db8:1:2:ffff::9"}, false},
		{"the next network", []string{"2001:db8:1:3::1"}, true},
		{"an IPv4 address in IPv6", []string{"::ffff:192.0.2.1"}, false},
	} {
		if got := ask(test.forwarded...); (got == 280) != test.fresh {
			t.Errorf("%s: %q: %d left, want a new client: %t", test.name, test.forwarded, got, test.fresh)
		}
	}
}

// Guessing of tokens is throttled by each transport.
func TestGuessingTokensIsLimited(t *testing.T) {
	t.Parallel()
	s := open(t, "-trusted-proxies", "127.0.0.0/8")
	for i, ask := range map[string]func(headers ...string) reply{
		"192.0.2.1": func(headers ...string) reply { return s.do(t, "GET", price+"?tld=com", "", headers...) },
		"192.0.2.2": func(headers ...string) reply { return s.do(t, "POST", "/mcp", "{}", headers...) },
		"192.0.2.3": func(headers ...string) reply { return s.do(t, "GET", "/api", "", headers...) },
	} {
		var r reply
		for range 330 {
			if r = ask("Authorization", "Bearer nope", "X-Forwarded-For", i); r.StatusCode != http.StatusUnauthorized {
				break
			}
		}
		if r.StatusCode != http.StatusTooManyRequests || r.Header.Get("Retry-After") == "" || r.Header.Get("WWW-Authenticate") != "" {
			t.Errorf("client %s: got %d %v, want 429 in the end", i, r.StatusCode, r.Header)
		}
	}
}
