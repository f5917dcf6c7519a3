package speed_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/internal/oauthtest"
	"github.com/namewharf/namewharf/tools"
)

// search is the question that the benchmarks ask: a name and its twelve siblings.
const (
	searchInput = `{"q":"cobaltpine.de"}`
	searchPath  = "/api/domain/search"
)

// contenders are the product, with the answer known, and the references that give the same answer.
func contenders(b *testing.B) (ours, control, bare *runner) {
	post := request("POST", searchPath, searchInput)
	ours = &runner{name: "namewharf", server: start(b, "namewharf", ""), request: post, want: "200"}
	answer := ask(b, ours.server, post)
	var out tools.SearchOut
	if err := json.Unmarshal(answer, &out); err != nil || len(out.Results) != 13 {
		b.Fatalf("got %s, %v; want 13 results", answer, err)
	}
	file := filepath.Join(b.TempDir(), "answer.json")
	if err := os.WriteFile(file, answer, 0o600); err != nil {
		b.Fatal(err)
	}
	control = &runner{name: "control", server: start(b, "control", file), request: post, want: "200"}
	bare = &runner{name: "bare", server: start(b, "bare", file), request: post, want: "200"}
	return ours, control, bare
}

// BenchmarkSearch is POST /api/domain/search answered from the cache, with log, limits, metrics and request id, beside
// a plain handler that encodes the same answer (at most 1.4 times its CPU) and one that only writes it (at least 60 %
// of its requests a second).
func BenchmarkSearch(b *testing.B) {
	ours, control, bare := contenders(b)
	race(b, ours, control, bare)
	b.ReportMetric(ours.micros()/control.micros(), "cpu/control")
	b.ReportMetric(ours.rate()/bare.rate(), "rate/bare")
}

// BenchmarkRealPrices is a search that finds a listing, for a caller who is signed in and sees its price, beside one for
// an anonymous caller (within 5 % of each other), and beside one whose request is as long: what reading a longer request
// costs is net/http's.
func BenchmarkRealPrices(b *testing.B) {
	const input = `{"q":"brewhaven.com"}`
	server := start(b, "namewharf", "")
	oauth := &oauthtest.Server{TB: b, Base: "http://" + server.addr}
	tokens := oauth.SignedInUser().Tokens(oauth.NewClient(), nil)
	masked := &runner{name: "masked", server: server, request: request("POST", searchPath, input), want: "200"}
	real := &runner{name: "real", server: server, request: request("POST", searchPath, input, "Authorization", "Bearer "+tokens.Access), want: "200"}
	if got := string(ask(b, server, masked.request)); !strings.Contains(got, `"prices_masked":true`) {
		b.Fatalf("masked: %s", got)
	}
	if got := string(ask(b, server, real.request)); !strings.Contains(got, `"prices_masked":false`) {
		b.Fatalf("real: %s", got)
	}
	padded := &runner{name: "padded", server: server, request: request("POST", searchPath, input, "X-As-Long-As-A", "Bearer "+tokens.Access), want: "200"}
	race(b, masked, padded, real)
	b.ReportMetric(real.micros()/masked.micros(), "cpu/masked")
	b.ReportMetric(real.micros()/padded.micros(), "cpu/padded")
}

// BenchmarkConditional is a GET whose answer the client has, beside the same plain handler (at most 1.1 times its CPU).
func BenchmarkConditional(b *testing.B) {
	ours, control, _ := contenders(b)
	const path = "/api/pricing/tld?tld=com&op=renew"
	r, err := http.Get("http://" + ours.server.addr + path)
	if err != nil {
		b.Fatal(err)
	}
	_ = r.Body.Close()
	etag := r.Header.Get("ETag")
	if etag == "" {
		b.Fatal("no ETag")
	}
	ours.request, ours.want = request("GET", path, "", "If-None-Match", etag), "304"
	race(b, ours, control)
	b.ReportMetric(ours.micros()/control.micros(), "cpu/control")
}

// BenchmarkToolCall is a tools/call over HTTP in both eras of the protocol, beside a bare mcp-go tool that answers with
// as many bytes (at most 1.3 times its CPU).
func BenchmarkToolCall(b *testing.B) {
	for _, era := range []string{"2025-11-25", "2026-07-28"} {
		b.Run(era, func(b *testing.B) {
			post := toolCall(era)
			ours := &runner{name: "namewharf", server: start(b, "namewharf", ""), request: post, want: "200"}
			size := len(ask(b, ours.server, post))
			empty := len(ask(b, start(b, "bare-mcp", "0"), post))
			bare := &runner{name: "bare", server: start(b, "bare-mcp", strconv.Itoa(size-empty)), request: post, want: "200"}
			if got := len(ask(b, bare.server, post)); got != size {
				b.Fatalf("the reference answers with %d bytes, want %d", got, size)
			}
			race(b, ours, bare)
			b.ReportMetric(ours.micros()/bare.micros(), "cpu/bare")
		})
	}
}

func toolCall(era string) string {
	params := map[string]any{"name": "search_domain", "arguments": json.RawMessage(searchInput)}
	headers := []string{"Accept", "application/json, text/event-stream", "Mcp-Protocol-Version", era}
	if era == "2026-07-28" {
		params["_meta"] = map[string]any{
			"io.modelcontextprotocol/protocolVersion": era, "io.modelcontextprotocol/clientCapabilities": map[string]any{},
		}
		headers = append(headers, "Mcp-Method", "tools/call", "Mcp-Name", "search_domain")
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
	if err != nil {
		panic(err)
	}
	return strings.Replace(request("POST", "/mcp", string(body), headers...), "Accept: */*\r\n", "", 1)
}

// twenty is a batch of searches of 13 names, prices and rules.
func twenty() []byte {
	var list []string
	for i := range 20 {
		item := [...]string{
			`"op":"search_domain","params":{"q":"cobaltpine.de"}`,
			`"op":"tld_registration_price","params":{"tld":"com","op":"renew"}`,
			`"op":"tld_metadata","params":{"tld":"de"}`,
			`"op":"search_domain","params":{"q":"brewhaven.com","tlds":["com","net"]}`,
		}[i%4]
		list = append(list, fmt.Sprintf(`{"id":"%d",%s}`, i, item))
	}
	return []byte(`{"operations":[` + strings.Join(list, ",") + `]}`)
}

// BenchmarkBatch is a batch of 20 operations whose answers are known (at most 200 µs), as an operation and over HTTP.
func BenchmarkBatch(b *testing.B) {
	b.Run("operation", func(b *testing.B) {
		application, set, err := open(b.Context(), "http://127.0.0.1", "")
		if err != nil {
			b.Fatal(err)
		}
		defer application.Close()
		o, raw := set.Named("batch_lookup"), twenty()
		if _, err := o.Call(b.Context(), raw); err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := o.Call(b.Context(), raw); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("http", func(b *testing.B) {
		ours := &runner{name: "namewharf", server: start(b, "namewharf", ""), request: request("POST", "/api/batch", string(twenty())), want: "200"}
		race(b, ours)
	})
}

// BenchmarkHosts is a search of 13 names that are not cached, against 13 hosts that take 100 ms each (at most
// 130 ms).
func BenchmarkHosts(b *testing.B) {
	slow := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(100 * time.Millisecond)
		w.Header().Set("Content-Type", "application/rdap+json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"errorCode":404}`))
	})
	rdap := map[string]string{}
	for _, suffix := range append([]string{"de"}, tools.DefaultSuffixes...) {
		host := httptest.NewServer(slow)
		defer host.Close()
		rdap[suffix] = host.URL + "/"
	}
	raw, err := json.Marshal(map[string]any{"rdap_servers": rdap, "allow_private_cidrs": []string{"127.0.0.0/8"}, "rate_per_host": 1000})
	if err != nil {
		b.Fatal(err)
	}
	file := filepath.Join(b.TempDir(), "registry.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		b.Fatal(err)
	}
	server := start(b, "namewharf", file)
	c := dial(b, server.addr)
	slowest := time.Duration(0)
	for i := 0; b.Loop(); i++ {
		begun := time.Now()
		if err := c.exchange(request("POST", searchPath, fmt.Sprintf(`{"q":"nobody%d.de"}`, i)), "200"); err != nil {
			b.Fatal(err)
		}
		slowest = max(slowest, time.Since(begun))
		if n := strings.Count(string(c.body), `"status":"available"`); n != 13 {
			b.Fatalf("%d names are available, want 13: %s", n, c.body)
		}
	}
	b.ReportMetric(float64(slowest.Microseconds())/1000, "slowest-ms")
}
