package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	search   = "/api/domain/search"
	whois    = "/api/tools/whois"
	check    = "/api/domain/check"
	batched  = "/api/batch"
	listings = "/api/market/listings"
	price    = "/api/pricing/tld"
)

// A bad request, and how it is refused.
type bad struct {
	name         string
	method, path string
	body         string
	headers      []string
	status       int
	want         string // in the message or the details
}

var label64, name254 = strings.Repeat("a", 64), strings.Repeat("a.", 125) + "test"

// badRequests hold no name that may be asked about: none of them may send a byte to a registry.
var badRequests = []bad{
	{"no body", "POST", search, "", nil, 400, "empty"},
	{"not JSON", "POST", search, `{"q":`, nil, 400, "ends too early"},
	{"JSON and more", "POST", search, `{"q":"a_b.com"} {}`, nil, 400, "more after"},
	{"an array", "POST", search, `[]`, nil, 400, "must be a JSON object"},
	{"null", "POST", search, `null`, nil, 400, "must be a JSON object"},
	{"a key twice", "POST", search, `{"q":"a.test","q":"b.test"}`, nil, 400, "q is given twice"},
	{"a key twice below", "POST", batched, `{"operations":[{"id":"a","op":"x","params":{"q":1,"q":2}}]}`, nil, 400, "params.q is given twice"},
	{"another case", "POST", search, `{"Q":"a.test"}`, nil, 400, "did you mean q?"},
	{"an unknown field", "POST", search, `{"q":"a.test","colour":"red"}`, nil, 400, "colour is not a known field"},
	{"a number", "POST", search, `{"q":7}`, nil, 400, "q must be a string, not a number"},
	{"null for a name", "POST", whois, `{"domain":null}`, nil, 400, "domain must not be null"},
	{"text for a boolean", "POST", whois, `{"domain":"a.test","include_raw":"true"}`, nil, 400, "include_raw must be true or false"},
	{"an object for a list", "POST", check, `{"domains":{}}`, nil, 400, "domains must be an array"},
	{"a list of numbers", "POST", check, `{"domains":[1]}`, nil, 400, "domains[0] must be a string"},
	{"no names", "POST", check, `{"domains":[]}`, nil, 400, "at least 1"},
	{"201 names", "POST", check, `{"domains":["a_b"` + strings.Repeat(`,"a_b"`, 200) + `]}`, nil, 400, "at most 200"},
	{"31 TLDs", "POST", search, `{"q":"a","tlds":["test"` + strings.Repeat(`,"test"`, 30) + `]}`, nil, 400, "at most 30"},
	{"a NUL", "POST", search, `{"q":"a\u0000.test"}`, nil, 400, "NUL"},
	{"a raw NUL", "POST", search, "{\"q\":\"a\x00.test\"}", nil, 400, ""},
	{"a line feed in a name", "POST", whois, `{"domain":"a.test\r\nb.test"}`, nil, 400, "domain "},
	{"a right-to-left override", "POST", whois, `{"domain":"a\u202emoc.test"}`, nil, 400, "domain "},
	{"a zero-width space", "POST", whois, `{"domain":"a\u200b!.test"}`, nil, 400, "domain "},
	{"bytes that are not UTF-8", "POST", search, "{\"q\":\"a\xff.test\"}", nil, 400, "UTF-8"},
	{"half a surrogate", "POST", whois, `{"domain":"\ud800.test"}`, nil, 400, "domain "},
	{"deep JSON", "POST", search, strings.Repeat(`{"q":`, 40) + "1" + strings.Repeat("}", 40), nil, 400, "nested deeper"},
	{"very deep JSON", "POST", batched, strings.Repeat("[", 200_000), nil, 400, ""},
	{"deep params", "POST", batched, `{"operations":[{"id":"a","op":"x","params":{"q":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}}]}`, nil, 400, "nested deeper"},
	{"a megabyte and a byte", "POST", search, `{"q":"` + strings.Repeat("a", 1<<20-7) + `"}`, nil, 413, "4 KiB"},
	{"254 characters", "POST", search, `{"q":"` + name254 + `"}`, nil, 400, "q "},
	{"254 octets", "POST", whois, `{"domain":"` + name254 + `"}`, nil, 400, "domain "},
	{"a label of 64", "POST", whois, `{"domain":"` + label64 + `.test"}`, nil, 400, "domain "},
	{"an empty label", "POST", whois, `{"domain":"a..test"}`, nil, 400, "domain "},
	{"an underscore", "POST", whois, `{"domain":"a_b.test"}`, nil, 400, "underscore"},
	{"an address", "POST", whois, `{"domain":"127.0.0.1"}`, nil, 400, "domain "},
	{"an IPv6 address", "POST", search, `{"q":"http://[::1]/"}`, nil, 400, "q "},
	{"a bare TLD", "POST", whois, `{"domain":"co.uk"}`, nil, 400, "domain "},
	{"a name under an unknown TLD", "POST", whois, `{"domain":"acme.nosuchsuffix"}`, nil, 400, "domain "},
	{"no operations", "POST", batched, `{"operations":[]}`, nil, 400, "at least 1"},
	{"21 operations", "POST", batched, operations(21), nil, 400, "at most 20"},
	{"an id twice", "POST", batched, `{"operations":[{"id":"a","op":"whois_lookup","params":{"domain":"quietmeadow.test"}},{"id":"a","op":"whois_lookup","params":{"domain":"quietmeadow.test"}}]}`, nil, 400, "operations[1].id"},
	{"an operation without an id", "POST", batched, `{"operations":[{"op":"whois_lookup"}]}`, nil, 400, "operations[0].id is required"},
	{"an empty id", "POST", batched, `{"operations":[{"id":"","op":"whois_lookup"}]}`, nil, 400, "operations[0].id"},
	{"params that are text", "POST", batched, `{"operations":[{"id":"a","op":"whois_lookup","params":"quietmeadow.test"}]}`, nil, 400, "params must be an object"},
	{"a body of another type", "POST", search, `q=a.test`, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "JSON"},
	{"JSON in another encoding", "POST", search, `{"q":"a.test"}`, []string{"Content-Type", "application/json; charset=utf-16"}, 415, "UTF-8"},
	{"a compressed body", "POST", search, `{"q":"a.test"}`, []string{"Content-Encoding", "gzip"}, 415, "compressed"},
	{"a query beside a body", "POST", search + "?q=a.test", `{"q":"a.test"}`, nil, 400, "q is not a known parameter"},

	{"a percent sign and no hex", "GET", price + "?tld=%zz", "", nil, 400, "query"},
	{"a query that is not UTF-8", "GET", price + "?tld=%ff", "", nil, 400, "UTF-8"},
	{"an unknown parameter", "GET", price + "?tld=com&colour=red", "", nil, 400, "colour is not a known parameter"},
	{"a parameter in another case", "GET", price + "?TLD=com", "", nil, 400, "did you mean tld?"},
	{"a parameter twice", "GET", price + "?tld=com&tld=net", "", nil, 400, "tld is given twice"},
	{"no parameter", "GET", price, "", nil, 400, "tld is required"},
	{"an empty parameter", "GET", price + "?tld=", "", nil, 400, "tld must not be empty"},
	{"a TLD of two words", "GET", price + "?tld=a%20b", "", nil, 400, "tld "},
	{"an unknown TLD", "GET", price + "?tld=nosuchsuffix", "", nil, 404, ""},
	{"rules of one nobody has", "GET", "/api/tlds/nosuchsuffix/metadata", "", nil, 404, ""},
	{"rules of what is no TLD", "GET", "/api/tlds/a%20b/metadata", "", nil, 400, "tld "},
	{"rules of NUL", "GET", "/api/tlds/%00/metadata", "", nil, 400, "tld "},
	{"rules of two dots", "GET", "/api/tlds/%2e%2e/metadata", "", nil, 404, ""},
	{"a page of nothing", "GET", listings + "?limit=0", "", nil, 400, "limit must be between 1 and 100"},
	{"a page of 101", "GET", listings + "?limit=101", "", nil, 400, "limit must be between 1 and 100"},
	{"a page of 1e1", "GET", listings + "?limit=1e1", "", nil, 400, "limit must be an integer"},
	{"a page of a great many", "GET", listings + "?limit=99999999999999999999", "", nil, 400, "limit is out of range"},
	{"too far", "GET", listings + "?offset=10001", "", nil, 400, "offset must be between 0 and 10000"},
	{"another order", "GET", listings + "?sort=oldest", "", nil, 400, "sort must be one of"},
	{"a forged cursor", "GET", listings + "?cursor=" + strings.Repeat("A", 64), "", nil, 400, "cursor does not belong"},
	{"a cursor that is no base64", "GET", listings + "?cursor=%21%21", "", nil, 400, "cursor does not belong"},
	{"a cursor of 2 KiB", "GET", listings + "?cursor=" + strings.Repeat("A", 2048), "", nil, 400, "cursor must have at most"},
	{"a price without a token", "GET", listings + "?sort=price", "", nil, 401, "authentication_required"},

	{"nothing there", "GET", "/api/nosuch", "", nil, 404, ""},
	{"two slashes", "GET", "//api/pricing/tld?tld=com", "", nil, 404, ""},
	{"a way round", "GET", "/api/../api/pricing/tld?tld=com", "", nil, 404, ""},
	{"GET of a search", "GET", search, "", nil, 405, "POST"},
	{"DELETE of listings", "DELETE", listings, "", nil, 405, "GET"},
	{"a method nobody has", "BREW", price, "", nil, 405, "GET"},
	{"the list of endpoints", "GET", "/api", "", nil, 401, "authentication_required"},
	{"a bad token", "GET", price + "?tld=com", "", []string{"Authorization", "Bearer nope"}, 401, "invalid_token"},
	{"another scheme", "POST", search, `{"q":"a.test"}`, []string{"Authorization", "Basic eDp5"}, 401, "invalid_token"},
	{"an empty token", "POST", search, `{"q":"a.test"}`, []string{"Authorization", "Bearer "}, 401, "invalid_token"},
	{"two tokens", "POST", search, `{"q":"a.test"}`, []string{"Authorization", "Bearer a", "Authorization", "Bearer b"}, 400, "Authorization"},
}

// operations is a batch of n look-ups.
func operations(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`{"id":"%d","op":"whois_lookup","params":{"domain":"quietmeadow.test"}}`, i))
	}
	return `{"operations":[` + strings.Join(list, ",") + `]}`
}

// refused sends a bad request and checks how it is refused.
func (s *site) refused(t *testing.T, b bad) {
	t.Helper()
	r := s.do(t, b.method, b.path, b.body, b.headers...)
	p := r.problem(t)
	if r.StatusCode != b.status || !strings.Contains(p.Code+" "+p.Message+fmt.Sprint(p.Details), b.want) {
		t.Errorf("%s: got %d %.300s\nwant %d and %q", b.name, r.StatusCode, r.text, b.status, b.want)
	}
	if p.RequestID != r.Header.Get("X-Request-Id") || r.Header.Get("Access-Control-Allow-Origin") != "*" || r.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%s: headers %v, want the request id, any origin, no-store", b.name, r.Header)
	}
	if challenge := r.Header.Get("WWW-Authenticate"); (challenge != "") != (b.status == 401) || challenge != "" && !strings.Contains(challenge, `resource_metadata="`+s.url) {
		t.Errorf("%s: WWW-Authenticate %q", b.name, challenge)
	}
	if allow := r.Header.Get("Allow"); (allow != "") != (b.status == 405) || !strings.Contains(allow, "OPTIONS") && allow != "" {
		t.Errorf("%s: Allow %q", b.name, allow)
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	s := open(t, "-rate-limits", "off")
	for _, b := range badRequests {
		t.Run(b.name, func(t *testing.T) { s.refused(t, b) })
	}
	t.Run("through an assistant", s.badCalls)
	t.Run("in the middle of others", s.badOperation)
	if count := s.registry.Requests("quietmeadow.test"); count.RDAP+count.WHOIS+count.DNS != 1 {
		t.Errorf("quietmeadow.test was asked about %+v times, want once: by the batch that is well formed", count)
	}
	if count := s.registry.Requests(""); count.RDAP+count.WHOIS+count.DNS != 1 {
		t.Errorf("the registry got %+v, want one request", count)
	}
}

// badCalls sends the bodies of the bad requests as arguments.
func (s *site) badCalls(t *testing.T) {
	tools := map[string]string{search: "search_domain", whois: "whois_lookup", check: "check_domains", batched: "batch_lookup"}
	for _, b := range badRequests {
		tool := tools[b.path]
		if tool == "" || b.headers != nil || !json.Valid([]byte(b.body)) || b.status != 400 || strings.Contains(b.body, "\xff") || b.body == "null" {
			continue
		}
		for _, era := range []string{legacy, modern} {
			r := s.mcp(t, "/mcp", era, tool, message(era, tool, b.body))
			var m toolMessage
			if err := json.Unmarshal([]byte(r.text), &m); err != nil || r.StatusCode != 200 || !m.Result.IsError || len(m.Result.Content) != 1 ||
				!strings.Contains(m.Result.Content[0].Text, b.want) || !strings.Contains(m.Result.Content[0].Text, "\ncode: validation_error") {
				t.Errorf("%s in %s: got %d %.300s, want %q", b.name, era, r.StatusCode, r.text, b.want)
			}
		}
	}
	ask := message(legacy, "search_domain", `{"q":"a_b"}`)
	for _, test := range []struct {
		name    string
		method  string
		body    string
		headers []string
		status  int
	}{
		{"256 KiB and a byte", "POST", ask + strings.Repeat(" ", 256<<10+1-len(ask)), nil, 413},
		{"not JSON", "POST", "{", nil, 400},
		{"nothing", "POST", "", nil, 415},
		{"very deep JSON", "POST", strings.Repeat("[", 200_000), nil, 400},
		{"deep arguments", "POST", message(legacy, "search_domain", strings.Repeat(`{"q":`, 5_000)+"1"+strings.Repeat("}", 5_000)), nil, 400},
		{"not UTF-8", "POST", message(legacy, "search_domain", `{"q":"x"}`)[:20] + "\xff", nil, 400},
		{"a batch", "POST", "[" + ask + "]", nil, 400},
		{"another type", "POST", ask, []string{"Content-Type", "text/plain"}, 415},
		{"a legacy stream", "GET", "", nil, 405},
		{"a foreign page", "POST", ask, []string{"Origin", "https://evil.example"}, 403},
		{"a bad token", "POST", ask, []string{"Authorization", "Bearer nope"}, 401},
		{"two tokens", "POST", ask, []string{"Authorization", "Bearer a", "Authorization", "Bearer b"}, 400},
		{"real prices", "POST", message(legacy, "search_domain", `{"q":"a.test","require_real_prices":true}`), nil, 401},
	} {
		headers := append([]string{"Accept", "application/json, text/event-stream", "Mcp-Protocol-Version", legacy}, test.headers...)
		r := s.do(t, test.method, "/mcp", test.body, headers...)
		if test.name == "deep arguments" && r.StatusCode == 200 && strings.Contains(r.text, `"isError":true`) {
			continue // refused as the arguments of a tool
		}
		if challenge := r.Header.Get("WWW-Authenticate"); r.StatusCode != test.status || (challenge != "") != (test.status == 401) {
			t.Errorf("%s: got %d %q %.300s, want %d", test.name, r.StatusCode, challenge, r.text, test.status)
		}
	}
}

// badOperation is a batch of 20 of which one fails.
func (s *site) badOperation(t *testing.T) {
	body := strings.Replace(operations(20), `"id":"7","op":"whois_lookup","params":{"domain":"quietmeadow.test"}`, `"id":"7","op":"whois_lookup","params":{"domain":"a_b.test"}`, 1)
	body = strings.Replace(body, `"id":"8","op":"whois_lookup"`, `"id":"8","op":"batch_lookup"`, 1)
	out := as[struct {
		Results []struct {
			ID     string
			OK     bool
			Status int
			Error  problem
		}
	}](t, s.do(t, "POST", batched, body))
	if len(out.Results) != 20 {
		t.Fatalf("got %d results, want 20", len(out.Results))
	}
	for i, r := range out.Results {
		failed := i == 7 || i == 8
		if r.ID != fmt.Sprint(i) || r.OK == failed || r.Status == 200 == failed || (r.Error.Code == "validation_error") != failed {
			t.Errorf("result %d: %+v", i, r)
		}
	}
}

func TestBodiesOfUnknownLength(t *testing.T) {
	t.Parallel()
	s := open(t, "-rate-limits", "off")
	for _, test := range []struct {
		path   string
		size   int
		status int
	}{
		{search, 100, 400}, {search, 1<<20 + 1, 413}, {search, 8 << 20, 413}, {"/mcp", 256<<10 + 1, 413}, {"/mcp", 8 << 20, 413},
	} {
		r, err := http.NewRequestWithContext(t.Context(), "POST", s.url+test.path, io.MultiReader(strings.NewReader(strings.Repeat(" ", test.size))))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		resp, err := s.client.Do(r)
		if err != nil {
			continue // the server answered and hung up while the client was still sending
		}
		_ = resp.Body.Close()
		if resp.StatusCode != test.status {
			t.Errorf("%d bytes to %s: got %d, want %d", test.size, test.path, resp.StatusCode, test.status)
		}
	}
}

// A client that sends its header, or its body, byte by byte delays no other client and is disconnected.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	s := open(t)
	var dripping sync.WaitGroup
	defer dripping.Wait()
	host := strings.TrimPrefix(s.url, "http://")
	for range 20 {
		dripping.Go(func() {
			conn, err := net.Dial("tcp", host)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			begun := time.Now()
			for _, c := range []byte("POST " + search + " HTTP/1.1\r\nHost: " + host + "\r\nX-" + strings.Repeat("a", 1000)) {
				if _, err := conn.Write([]byte{c}); err != nil {
					break
				}
				time.Sleep(50 * time.Millisecond)
				if time.Since(begun) > 9*time.Second {
					t.Error("a header that does not end was waited for over 9 s")
					return
				}
			}
		})
		dripping.Go(func() {
			conn, err := net.Dial("tcp", host)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n{", check, host)
			for range 20 {
				if _, err := conn.Write([]byte(" ")); err != nil {
					t.Errorf("a slow body was cut off at once: %v", err)
					return
				}
				time.Sleep(50 * time.Millisecond)
			}
		})
	}
	begun := time.Now()
	if r := s.do(t, "GET", price+"?tld=com", ""); r.StatusCode != 200 || time.Since(begun) > patience {
		t.Errorf("beside slow clients: %d after %v", r.StatusCode, time.Since(begun))
	}
}

// Thousands of bad requests and clients that hang up leave no goroutine and no memory. It runs alone: it counts all
// that is in the process.
func TestNothingIsLeftBehind(t *testing.T) {
	s := open(t, "-rate-limits", "off")
	small := badRequests[:0:0]
	for _, b := range badRequests {
		if len(b.body) < 10_000 {
			small = append(small, b)
		}
	}
	round := func(n int) {
		var workers sync.WaitGroup
		for range 8 {
			workers.Go(func() {
				for i := range n / 8 {
					b := small[i%len(small)]
					s.do(t, b.method, b.path, b.body, b.headers...)
				}
			})
		}
		for range 50 {
			s.hangUp(t)
		}
		workers.Wait()
	}
	settle := func() (goroutines int, heap uint64) {
		s.client.CloseIdleConnections()
		for range 200 { // until what ends has ended
			before := runtime.NumGoroutine()
			time.Sleep(10 * time.Millisecond)
			runtime.GC()
			if runtime.NumGoroutine() >= before {
				break
			}
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return runtime.NumGoroutine(), m.HeapAlloc
	}
	round(800)
	goroutines, heap := settle()
	round(4000)
	s.log.reset()
	var now int
	var used uint64
	for range 100 {
		if now, used = settle(); now <= goroutines {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if now > goroutines {
		stacks := make([]byte, 1<<20)
		t.Errorf("%d goroutines, %d before:\n%s", now, goroutines, stacks[:runtime.Stack(stacks, true)])
	}
	if used > heap+8<<20 {
		t.Errorf("%d KiB of heap, %d KiB before", used>>10, heap>>10)
	}
}

// hangUp begins a stream of a search and closes the connection.
func (s *site) hangUp(t *testing.T) {
	t.Helper()
	host := strings.TrimPrefix(s.url, "http://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	body := `{"q":"quietmeadow.com"}`
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", search, host, len(body), body)
	if _, err := conn.Write(b.Bytes()); err != nil {
		t.Error(err)
	}
	if _, err := bufio.NewReader(conn).ReadString('\n'); err != nil {
		t.Error(err)
	}
}

// TestNamesThatCannotBeRegistered asks for emoji and the like on the wire, with a registry behind that would call them free.
func TestNamesThatCannotBeRegistered(t *testing.T) {
	t.Parallel()
	s := open(t, "-rate-limits", "off")
	for name, want := range map[string]string{
		"😀.com": "emoji", "i❤\ufe0fyou.ws": "emoji", "xn--e28h.org": "emoji", "a・b.jp": "beside certain others", "bücher.us": "a to z", "пример.co.uk": "a to z",
	} {
		for what, r := range map[string]reply{
			"search": s.do(t, "POST", search, `{"q":"`+name+`"}`),
			"check":  s.do(t, "POST", "/api/domain/check", `{"domains":["`+name+`"]}`),
		} {
			var got struct {
				Results []struct{ Status, Reason string }
			}
			if err := json.Unmarshal([]byte(r.text), &got); err != nil || r.StatusCode != 200 || len(got.Results) == 0 {
				t.Fatalf("%s of %s: got %d %s", what, name, r.StatusCode, r.text)
			}
			if first := got.Results[0]; first.Status != "invalid" || !strings.Contains(first.Reason, want) {
				t.Errorf("%s of %s: got %+v, want invalid, %q", what, name, first, want)
			}
			if want == "emoji" && strings.Contains(r.text, `"status":"available"`) {
				t.Errorf("%s of %s: something is available: %s", what, name, r.text)
			}
		}
		if r := s.do(t, "POST", whois, `{"domain":"`+name+`"}`); r.StatusCode != 400 || !strings.Contains(r.text, want) {
			t.Errorf("look-up of %s: got %d %s, want 400, %q", name, r.StatusCode, r.text, want)
		}
	}
	if r := s.do(t, "POST", search, `{"q":"bücher.com"}`); !strings.Contains(r.text, `"status":"registered"`) {
		t.Errorf("search of bücher.com: got %s", r.text)
	}
	if r := s.do(t, "POST", whois, `{"domain":"bücher.com"}`); r.StatusCode != 200 {
		t.Errorf("look-up of bücher.com: got %d", r.StatusCode)
	}
}
