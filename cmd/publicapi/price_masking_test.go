package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/internal/oauthtest"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/store"
)

// passingBy is what differs between answers about the same: when, for which request, who was asked, and who was the
// first to say. In the text of an MCP result the quotes are escaped.
var passingBy = regexp.MustCompile(`\\?"(checked_at|fetched_at|as_of|confidence)\\?":\\?"[^"\\]*\\?"|\\?"evidence\\?":\[[^\]]*\]|"request_id":"[^"]*"|checked [0-9T:-]+Z`)

func masked(text string) string { return passingBy.ReplaceAllString(text, "~") }

// offers are the demo's listings and two in other currencies, with prices of their own for each seed: other digits,
// other lengths, another order.
func offers(t *testing.T, seed string) (file []byte, prices map[string]int64) {
	t.Helper()
	rows, err := csv.NewReader(market.Demo()).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	columns := map[string]int{}
	for i, name := range rows[0] {
		columns[name] = i
	}
	for i, currency := range []string{"EUR", "JPY"} {
		row := slices.Clone(rows[1])
		row[columns["domain"]], row[columns["currency"]] = fmt.Sprintf("quietmeadow%d.com", i), currency
		rows = append(rows, row)
	}
	prices = map[string]int64{}
	for _, row := range rows[1:] {
		name := row[columns["domain"]]
		sum := crc32.ChecksumIEEE([]byte(seed + name))
		cents := int64(sum%9+1) * []int64{100, 10_000, 1_000_000, 100_000_000}[sum>>8%4]
		prices[name] = cents + int64(sum>>16%90)
		row[columns["price_cents"]] = strconv.FormatInt(prices[name], 10)
		row[columns["floor_price_cents"]] = row[columns["price_cents"]]
	}
	var b bytes.Buffer
	if err := csv.NewWriter(&b).WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), prices
}

// list imports offers into the store of a directory, and makes the secret of cursors, which a copy of it then shares.
func list(t *testing.T, dir, seed string) (prices map[string]int64) {
	t.Helper()
	db, err := store.Open(t.Context(), store.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	keys, err := seal.Load(filepath.Join(dir, seal.FileName), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Secret(t.Context(), "cursors", keys); err != nil {
		t.Fatal(err)
	}
	file, prices := offers(t, seed)
	report, err := market.Import(t.Context(), db, bytes.NewReader(file), market.ImportOptions{Environment: market.Live})
	if err != nil || len(report.Bad) > 0 || !report.Applied {
		t.Fatalf("import: %+v, %v", report, err)
	}
	return prices
}

// A stranger writes down everything that somebody without a token can see of the market.
type stranger struct {
	*site
	seen map[string]string
}

// note records the answer: status, headers and body, but for times and ids.
func (s *stranger) note(what string, r reply) reply {
	h := r.Header.Clone()
	for _, name := range []string{"Date", "X-Request-Id", "Ratelimit", "Ratelimit-Policy"} {
		h.Del(name)
	}
	body := masked(r.text)
	if body != r.text { // whose length is that of times
		h.Del("Content-Length")
	}
	if strings.HasPrefix(h.Get("Content-Type"), "text/event-stream") { // events come as answers arrive
		events := strings.SplitAfter(body, "\n\n")
		slices.Sort(events)
		body = strings.Join(events, "")
	}
	var b strings.Builder
	fmt.Fprintln(&b, r.StatusCode)
	_ = h.Write(&b) // to memory
	s.seen[what] = b.String() + "\n" + body
	return r
}

// sorts are those that need no scope.
var sorts = []string{"newest", "name", "length"}

// look asks everything.
func (s *site) look(t *testing.T) map[string]string {
	t.Helper()
	o := &stranger{s, map[string]string{}}
	names := []string{"brewhaven.com", "amberbay.com", "quietmeadow0.com", "quietmeadow1.com", "quietmeadow.com"}
	domains, _ := json.Marshal(map[string]any{"domains": names})
	const ideas = `{"q":"brew haven","tlds":["com"],"styles":["compound"],"limit":2}`
	for _, q := range []string{"brewhaven.com", "brewhaven", "warm name for a music label", "quietmeadow1.com"} {
		body, _ := json.Marshal(map[string]any{"q": q, "tlds": []string{"com", "org", "us"}})
		o.note("search "+q, s.do(t, "POST", search, string(body)))
		o.note("stream "+q, s.do(t, "POST", search, string(body), "Accept", "text/event-stream"))
	}
	o.note("check", s.do(t, "POST", check, string(domains)))
	o.note("stream of a check", s.do(t, "POST", check, string(domains), "Accept", "text/event-stream"))
	o.note("suggest", s.do(t, "POST", "/api/domain/suggest", ideas))
	o.note("stream of suggestions", s.do(t, "POST", "/api/domain/suggest", ideas, "Accept", "text/event-stream"))
	o.pages(t)
	o.refusals(t)
	operations := fmt.Sprintf(`{"operations":[
		{"id":"a","op":"search_domain","params":{"q":"brewhaven.com","tlds":["com"]}},{"id":"b","op":"check_domains","params":%s},
		{"id":"c","op":"market_listings","params":{"limit":7,"sort":"length"}},{"id":"d","op":"market_listings","params":{"sort":"price"}},
		{"id":"e","op":"market_listings","params":{"max_price_cents":500000}}]}`, domains)
	o.note("batch", s.do(t, "POST", batched, operations))
	for tool, arguments := range map[string]string{
		"search_domain": `{"q":"brewhaven.com","tlds":["com","org"]}`, "check_domains": string(domains), "suggest_domains": ideas,
		"market_listings": `{"limit":9,"q":"coffee"}`, "batch_lookup": operations,
	} {
		for _, era := range []string{modern, legacy} {
			o.note(tool+" in "+era, s.mcp(t, "/mcp", era, tool, message(era, tool, arguments)))
			if tool == "market_listings" {
				for path, arguments := range map[string][]string{
					"/mcp":           {`{"sort":"price"}`, `{"min_price_cents":1}`, `{"max_price_cents":1}`, `{"require_real_prices":true}`},
					"/mcp/signed-in": {`{}`},
				} {
					for _, arguments := range arguments {
						r := o.note(fmt.Sprintf("%s of %s in %s", arguments, path, era), s.mcp(t, path, era, tool, message(era, tool, arguments)))
						if r.StatusCode != 401 {
							t.Errorf("%s at %s in %s without a token: got %d %s, want 401", arguments, path, era, r.StatusCode, r.text)
						}
					}
				}
			}
		}
	}
	return o.seen
}

// pages goes through the listings in every order, by cursor and by offset, packed and unpacked, and asks again with
// the validators.
func (s *stranger) pages(t *testing.T) {
	t.Helper()
	for _, sort := range sorts {
		path := listings + "?limit=100&sort=" + sort
		for page := 0; path != ""; page++ {
			r := s.note(fmt.Sprintf("%s, page %d", sort, page), s.do(t, "GET", path, ""))
			s.note(fmt.Sprintf("%s, page %d, again", sort, page), s.do(t, "GET", path, "", "If-None-Match", r.Header.Get("ETag")))
			out := as[struct {
				Page struct {
					Next string `json:"next_cursor"`
				}
			}](t, r)
			if path = ""; out.Page.Next != "" {
				path = listings + "?limit=100&sort=" + sort + "&cursor=" + out.Page.Next
			}
		}
		for _, coding := range []string{"gzip", "zstd"} {
			s.note(sort+" by "+coding, s.do(t, "GET", listings+"?sort="+sort+"&offset=50", "", "Accept-Encoding", coding))
		}
		s.note("head, "+sort, s.do(t, "HEAD", listings+"?sort="+sort, ""))
	}
	for _, query := range []string{"?tld=com", "?q=coffee", "?q=brewhaven.com&limit=1", "?tld=jp&q=garden", "?offset=275", "?q=quietmeadow", "?tld=nosuch"} {
		s.note(query, s.do(t, "GET", listings+query, ""))
	}
}

// refusals asks for what takes a token.
func (s *stranger) refusals(t *testing.T) {
	t.Helper()
	for _, query := range []string{
		"?sort=price", "?min_price_cents=1", "?max_price_cents=1", "?min_price_cents=100000&max_price_cents=200000&tld=com", "?q=brewhaven.com&max_price_cents=99",
		"?require_real_prices=true", "?sort=price&cursor=AAAA", "?min_price_cents=2&max_price_cents=1", "?sort=price&tld=nosuch", "?sort=prices",
	} {
		r := s.note(query, s.do(t, "GET", listings+query, ""))
		if query == "?sort=prices" {
			continue
		}
		if r.StatusCode != 401 || r.problem(t).Code != "authentication_required" {
			t.Errorf("%s without a token: got %d %s, want 401", query, r.StatusCode, r.text)
		}
	}
	for _, body := range []string{`{"q":"brewhaven.com","require_real_prices":true}`, `{"q":"nothing for sale","require_real_prices":true}`} {
		r := s.note("search "+body, s.do(t, "POST", search, body))
		if r.StatusCode != 401 {
			t.Errorf("search %s: got %d, want 401", body, r.StatusCode)
		}
		s.note("stream "+body, s.do(t, "POST", search, body, "Accept", "text/event-stream"))
	}
}

// equal holds what was seen on two occasions against each other.
func equal(t *testing.T, occasion string, got, want map[string]string) {
	t.Helper()
	for _, what := range slices.Sorted(maps.Keys(want)) {
		if got[what] != want[what] {
			t.Errorf("%s: %s differs:\n%.2000s\nwant\n%.2000s", occasion, what, got[what], want[what])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d answers, want %d", occasion, len(got), len(want))
	}
}

// Two sites with the same listings at other prices, and the same site before and after its prices change and its
// signed-in callers look at them, are one to who has no token.
func TestPricesStaySecret(t *testing.T) {
	t.Parallel()
	reg := newRegistry(t)
	one, two := t.TempDir(), t.TempDir()
	pricesOne := list(t, one, "one")
	if err := os.CopyFS(two, os.DirFS(one)); err != nil {
		t.Fatal(err)
	}
	pricesTwo := list(t, two, "two")
	const base = "http://127.0.0.1:8080"
	start := func(dir string) (*site, string) {
		s := openOn(t, reg, reg.File(), "-demo=false", "-bootstrap-url", "off", "-data", dir, "-base-url", base, "-rate-limits", "off")
		oauth := &oauthtest.Server{TB: t, Base: base, Transport: oauthtest.ProxyTransport(s.url)}
		return s, oauth.SignedInUser().Tokens(oauth.NewClient(), url.Values{"scope": {"pricing:read"}}).Access
	}
	first, tokenOne := start(one)
	second, tokenTwo := start(two)
	want := first.look(t)
	if n := len(want); n < 60 {
		t.Fatalf("%d answers were looked at", n)
	}
	for what, answer := range want {
		if strings.Contains(what, "by gzip") || strings.Contains(what, "by zstd") {
			continue
		}
		if strings.Contains(answer, `masked":false`) {
			t.Errorf("%s is not masked: %s", what, answer)
		}
	}
	equal(t, "other prices", second.look(t), want)

	ordersOne, ordersTwo := first.real(t, tokenOne, pricesOne), second.real(t, tokenTwo, pricesTwo)
	if slices.Equal(ordersOne, ordersTwo) {
		t.Error("the prices of the two sites are in one order, which shows nothing")
	}
	equal(t, "after signed-in calls", first.look(t), want)

	pricesOne = list(t, one, "three")
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		// A search answers from the index, which follows the database; a page of listings reads the database.
		r := first.asks(t, "POST", search, `{"q":"brewhaven.com","tlds":["com"]}`, tokenOne)
		if strings.Contains(r.text, fmt.Sprintf(`"priceCents":%d,`, pricesOne["brewhaven.com"])) {
			break
		}
		if time.Since(begun) > 20*time.Second {
			t.Fatalf("the new price does not show: %s", r.text)
		}
	}
	equal(t, "after the prices changed", first.look(t), want)
	first.real(t, tokenOne, pricesOne)
}

// real looks at the real prices through every transport, and returns the names by price.
func (s *site) real(t *testing.T, token string, prices map[string]int64) (byPrice []string) {
	t.Helper()
	var last int64
	for cursor := ""; ; {
		r := s.asks(t, "GET", listings+"?limit=100&sort=price"+cursor, "", token)
		page := as[struct {
			Listings []struct {
				Domain string
				Price  struct {
					Masked bool
					Cents  int64 `json:"priceCents"`
				}
			}
			PricesMasked bool `json:"prices_masked"`
			Unlock       *any `json:"unlock"`
			Page         struct {
				Next string `json:"next_cursor"`
			}
		}](t, r)
		if page.PricesMasked || page.Unlock != nil || r.Header.Get("Cache-Control") != "private, no-store" || !strings.Contains(r.Header.Get("Vary"), "Authorization") {
			t.Errorf("signed in: %v %.300s, want real prices that no cache keeps", r.Header, r.text)
		}
		for _, l := range page.Listings {
			if l.Price.Masked || l.Price.Cents != prices[l.Domain] || l.Price.Cents < last {
				t.Errorf("%s: got %+v after %d, want %d", l.Domain, l.Price, last, prices[l.Domain])
			}
			last, byPrice = l.Price.Cents, append(byPrice, l.Domain)
		}
		if page.Page.Next == "" {
			break
		}
		cursor = "&cursor=" + page.Page.Next
	}
	if len(byPrice) != len(prices) {
		t.Errorf("got %d names by price, want %d", len(byPrice), len(prices))
	}
	// A validator of the masked answer is not one of the real answer.
	public := s.do(t, "GET", listings, "").Header.Get("ETag")
	if r := s.asks(t, "GET", listings, "", token, "If-None-Match", public); r.StatusCode != 200 || r.Header.Get("ETag") == public || public == "" {
		t.Errorf("the masked answer's validator %s with a token: got %d with %s, want 200 with another", public, r.StatusCode, r.Header.Get("ETag"))
	}
	want := fmt.Sprintf(`"priceCents":%d`, prices["brewhaven.com"])
	const body = `{"q":"brewhaven.com","tlds":["com"],"require_real_prices":true}`
	for what, r := range map[string]reply{
		"search":          s.asks(t, "POST", search, body, token),
		"stream":          s.asks(t, "POST", search, body, token, "Accept", "text/event-stream"),
		"check":           s.asks(t, "POST", check, `{"domains":["brewhaven.com"]}`, token),
		"batch":           s.asks(t, "POST", batched, `{"operations":[{"id":"a","op":"search_domain","params":`+body+`}],"require_real_prices":true}`, token),
		"mcp":             s.mcp(t, "/mcp", modern, "search_domain", message(modern, "search_domain", body), "Authorization", "Bearer "+token),
		"mcp, legacy":     s.mcp(t, "/mcp", legacy, "search_domain", message(legacy, "search_domain", body), "Authorization", "Bearer "+token),
		"mcp, signed in":  s.mcp(t, "/mcp/signed-in", modern, "search_domain", message(modern, "search_domain", body), "Authorization", "Bearer "+token),
		"mcp, listings":   s.mcp(t, "/mcp", modern, "market_listings", message(modern, "market_listings", `{"q":"brewhaven.com"}`), "Authorization", "Bearer "+token),
		"mcp, batch":      s.mcp(t, "/mcp", modern, "batch_lookup", message(modern, "batch_lookup", `{"operations":[{"id":"a","op":"search_domain","params":`+body+`}]}`), "Authorization", "Bearer "+token),
		"filter by price": s.asks(t, "GET", fmt.Sprintf(listings+"?min_price_cents=%d&max_price_cents=%[1]d", prices["brewhaven.com"]), "", token),
	} {
		if r.StatusCode != 200 || !strings.Contains(r.text, want) && !strings.Contains(r.text, strings.ReplaceAll(want, `"`, `\"`)) || strings.Contains(r.text, "•") {
			t.Errorf("%s with a token: got %d %s, want %s", what, r.StatusCode, r.text, want)
		}
		if c := r.Header.Get("Cache-Control"); strings.Contains(c, "public") || strings.Contains(c, "max-age") {
			t.Errorf("%s with a token may be kept: Cache-Control %q", what, c)
		}
	}
	return byPrice
}
