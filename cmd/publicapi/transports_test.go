package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/internal/programtest"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/tools"
)

// A question is an input of an operation, with a piece of the answer, so that equal nonsense does not pass.
type question struct {
	name, op, in string
	want         string // in the answer, or in the text of the failure
}

var questions = []question{
	{"free", "search_domain", `{"q":"quietmeadow.com"}`, `"status":"available"`},
	{"registered", "search_domain", `{"q":"cobaltpine.com"}`, `"status":"registered"`},
	{"redacted", "whois_lookup", `{"domain":"emberlane.org"}`, `"redacted":["`},
	{"IDN", "search_domain", `{"q":"bücher.com","tlds":["com","de"]}`, `"domain":"xn--bcher-kva.com"`},
	{"for sale", "search_domain", `{"q":"brewhaven.com"}`, `"listing":{"price":{"currency":"USD","display":"$•••","masked":true}}`},
	{"expiring", "search_domain", `{"q":"oldharbor.net"}`, `"status":"expiring"`},
	{"reserved", "search_domain", `{"q":"registry.shop"}`, `"status":"reserved"`},
	{"throttled", "search_domain", `{"q":"fault-429.throttled.test","tlds":["test"]}`, `"status":"unknown"`},
	{"a label", "search_domain", `{"q":"cobaltpine","tlds":["io","de","co.uk"]}`, `"domain":"cobaltpine.co.uk"`},
	{"a phrase", "search_domain", `{"q":"coffee shop berlin"}`, `"domain":"coffee-shop-berlin.com"`},
	{"a URL", "search_domain", `{"q":"https://www.cobaltpine.co.uk/about?x=1"}`, `"domain":"cobaltpine.co.uk","evidence"`},
	{"an unknown TLD", "search_domain", `{"q":"acme.nosuchsuffix","tlds":["com"]}`, `"status":"invalid"`},
	{"the price to register", "tld_registration_price", `{"tld":"com","op":"register"}`, `"op":"register"`},
	{"to renew", "tld_registration_price", `{"tld":"com","op":"renew"}`, `"op":"renew"`},
	{"to transfer", "tld_registration_price", `{"tld":"com","op":"transfer"}`, `"op":"transfer"`},
	{"to restore", "tld_registration_price", `{"tld":"com","op":"restore"}`, `"op":"restore"`},
	{"rules of com", "tld_metadata", `{"tld":"com"}`, `"type":"generic"`},
	{"of de", "tld_metadata", `{"tld":".DE"}`, `"type":"country-code"`},
	{"of co.uk", "tld_metadata", `{"tld":"co.uk"}`, `"tld":"co.uk"`},
	{"of us", "tld_metadata", `{"tld":"us"}`, `"tld":"us"`},
	{"listings", "market_listings", `{"tld":"com","limit":3}`, `"prices_masked":true`},
	{"listings by words", "market_listings", `{"q":"coffee","sort":"name","limit":2,"offset":1}`, `"listings":[{`},
	{"many names", "check_domains", `{"domains":["quietmeadow.com","a_b.com","bücher.de","brewhaven.com","com"]}`, `"status":"invalid"`},
	{"ideas", "suggest_domains", `{"q":"coffee shop in Berlin","limit":3}`, `"words":["coffee","shop","berlin"]`},
	{"ideas under chosen TLDs", "suggest_domains", `{"q":"dog grooming","tlds":["io","de"],"styles":["suffix"],"max_length":10,"limit":2}`, `"style":"suffix"`},
	{"an idea that is for sale", "suggest_domains", `{"q":"brew haven","tlds":["com"],"styles":["compound"],"limit":1}`, `"listing":{"price":{"currency":"USD","display":"$•••","masked":true}}`},
	{"prices over years", "compare_tld_prices", `{"tlds":["com","NET","nosuchsuffix"],"years":5}`, `"unknown":["nosuchsuffix"]`},
	{"the reply as received", "whois_lookup", `{"domain":"cobaltpine.com","include_raw":true}`, `"raw":"`},
	{"WHOIS only", "whois_lookup", `{"domain":"cobaltpine.de"}`, `"source":"whois"`},
	{"a reserved name's registration", "whois_lookup", `{"domain":"registry.shop"}`, `"warnings":["the registry lists the name as reserved"]`},
	{"a free name's registration", "whois_lookup", `{"domain":"quietmeadow.org"}`, `"registered":false`},

	{"nothing", "search_domain", `{}`, "q is required"},
	{"the wrong case", "search_domain", `{"Q":"acme"}`, "did you mean q?"},
	{"the wrong type", "search_domain", `{"q":5,"tlds":"com"}`, "must be a string"},
	{"a key twice", "search_domain", `{"q":"acme","q":"acme.com"}`, "q is given twice"},
	{"an underscore", "search_domain", `{"q":"a_b.com"}`, "underscore"},
	{"a bare TLD", "whois_lookup", `{"domain":"com"}`, "code: validation_error"},
	{"no such TLD", "tld_registration_price", `{"tld":"nosuchsuffix"}`, "code: not_found"},
	{"not offered", "tld_registration_price", `{"tld":"co.uk","op":"restore"}`, "code: not_found"},
	{"not an action", "tld_registration_price", `{"tld":"com","op":"Renew"}`, "op must be one of"},
	{"an idea without words", "suggest_domains", `{"q":"12 34"}`, "q has no words"},
	{"too many years", "compare_tld_prices", `{"tlds":["com"],"years":11}`, "years must"},
	{"no TLDs to compare", "compare_tld_prices", `{"years":2}`, "tlds is required"},
	{"a forged cursor", "market_listings", `{"cursor":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}`, "cursor"},
	{"real prices of a search", "search_domain", `{"q":"brewhaven.com","require_real_prices":true}`, "code: authentication_required"},
	{"real prices of listings", "market_listings", `{"require_real_prices":true}`, "code: authentication_required"},
	{"an order by price", "market_listings", `{"sort":"price"}`, "code: authentication_required"},
}

// An answerer is a way to ask. It returns the answer, or the text of a failure as an assistant gets it, in one form.
type answerer struct {
	name   string
	serves func(*op.Op) bool
	ask    func(t *testing.T, q question) string
	linked bool // its answers hold links
}

func TestEveryTransport(t *testing.T) {
	t.Parallel()
	reg := newRegistry(t)
	var file map[string]any
	if err := json.Unmarshal(reg.File(), &file); err != nil {
		t.Fatal(err)
	}
	delete(file, "dns_servers") // DNS races the registry, and the evidence says who won
	raw, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	s := openOn(t, reg, raw, "-rate-limits", "off")
	set := tools.New(tools.Config{Secret: make([]byte, 32), Now: time.Now})
	all := questions
	for _, o := range set.All() {
		all = append(all, question{"the example of " + o.Name, o.Name, string(o.Example), ""})
	}
	mcp := programtest.Build(t, "mcp")
	isTool := func(o *op.Op) bool { return o.Tool }
	routes := []answerer{
		{"batch", func(o *op.Op) bool { return o.Batch }, s.askBatch, true},
		{"MCP " + legacy, isTool, func(t *testing.T, q question) string { return s.askMCP(t, legacy, q) }, true},
		{"MCP " + modern, isTool, func(t *testing.T, q question) string { return s.askMCP(t, modern, q) }, true},
		{"stdio with -backend", isTool, newTerminal(t, mcp, legacy, "-backend", s.url).ask, true},
		{"stdio with -registry", isTool, newTerminal(t, mcp, modern, "-registry", s.file, "-data", s.data).ask, false},
	}
	for _, q := range all {
		t.Run(q.name, func(t *testing.T) {
			o := set.Named(q.op)
			want := s.askREST(t, o, q)
			if !strings.Contains(want, q.want) {
				t.Errorf("%s(%s) over REST: got\n%s\nwant %s in it", q.op, q.in, want, q.want)
			}
			for _, mw := range routes {
				if !mw.serves(o) {
					continue
				}
				want := want
				if !mw.linked {
					want = unlinked(t, want)
				}
				got := mw.ask(t, q)
				if mw.name != "batch" { // where REST names a path, an assistant gets the name of a tool
					got = strings.ReplaceAll(got, "the tool batch_lookup with the op list_tlds", "GET /api/tlds")
				}
				if got != want {
					t.Errorf("%s(%s) over %s: got\n%s\nwant, as over REST,\n%s", q.op, q.in, mw.name, got, want)
				}
			}
		})
	}
}

// passing are the fields of answers that tell of time.
var passing = map[string]bool{"ms": true, "checked_at": true, "fetched_at": true, "retry_after_s": true}

// canonical is an answer with its keys in order and without what time changes.
func canonical(t *testing.T, answer []byte) string {
	t.Helper()
	return rewritten(t, answer, func(key string) bool { return passing[key] })
}

// unlinked is a canonical answer without links, which need an address.
func unlinked(t *testing.T, answer string) string {
	t.Helper()
	if !strings.HasPrefix(answer, "{") {
		return answer // a failure
	}
	return rewritten(t, []byte(answer), func(key string) bool { return key == "resource_metadata" })
}

func rewritten(t *testing.T, answer []byte, drop func(key string) bool) string {
	t.Helper()
	var value any
	if err := json.Unmarshal(answer, &value); err != nil {
		t.Fatalf("%q is not JSON: %v", answer, err)
	}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, below := range v {
				if drop(key) {
					delete(v, key)
				}
				walk(below)
			}
		case []any:
			for _, below := range v {
				walk(below)
			}
		}
	}
	walk(value)
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

// failure is a failure in the form that an assistant gets, without what differs by its nature: how one signs in, and
// how long to wait.
func failure(code, message string, more ...string) string {
	if code == "authentication_required" {
		message, _, _ = strings.Cut(message, ";")
	}
	return strings.Join(append(append([]string{message}, more...), "code: "+code), "\n")
}

func (p problem) text() string {
	var more []string
	for _, d := range p.Details[min(1, len(p.Details)):] {
		more = append(more, d.Field+" "+d.Reason)
	}
	return failure(p.Code, p.Message, more...)
}

func (s *site) askREST(t *testing.T, o *op.Op, q question) string {
	t.Helper()
	r := s.call(t, o, q.in)
	if r.StatusCode != http.StatusOK {
		return r.problem(t).text()
	}
	return canonical(t, []byte(r.text))
}

// call sends the input where the route wants it.
func (s *site) call(t *testing.T, o *op.Op, in string) reply {
	t.Helper()
	if o.Route.Method != http.MethodGet {
		return s.do(t, o.Route.Method, o.Route.Path, in)
	}
	var fields map[string]any
	if err := json.Unmarshal([]byte(in), &fields); err != nil {
		t.Fatal(err)
	}
	path, query := o.Route.Path, url.Values{}
	for name, value := range fields {
		if wildcard := "{" + name + "}"; strings.Contains(path, wildcard) {
			path = strings.Replace(path, wildcard, url.PathEscape(fmt.Sprint(value)), 1)
			continue
		}
		if list, ok := value.([]any); ok {
			for _, item := range list {
				query.Add(name, fmt.Sprint(item))
			}
			continue
		}
		query.Set(name, fmt.Sprint(value))
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return s.do(t, http.MethodGet, path, "")
}

func (s *site) askBatch(t *testing.T, q question) string {
	t.Helper()
	r := s.do(t, "POST", "/api/batch", fmt.Sprintf(`{"operations":[{"id":"a","op":%q,"params":%s}]}`, q.op, q.in))
	if r.StatusCode == http.StatusBadRequest { // a key given twice spoils the JSON of the whole batch
		return strings.ReplaceAll(r.problem(t).text(), "operations[0].params.", "")
	}
	out := as[struct {
		Results []struct {
			OK     bool
			Result json.RawMessage
			Error  problem
		}
	}](t, r)
	if len(out.Results) != 1 {
		t.Fatalf("got %s, want one result", r.text)
	}
	if !out.Results[0].OK {
		return out.Results[0].Error.text()
	}
	return canonical(t, out.Results[0].Result)
}

func (s *site) askMCP(t *testing.T, era string, q question) string {
	t.Helper()
	r := s.mcp(t, "/mcp", era, q.op, message(era, q.op, q.in))
	var m toolMessage
	if err := json.Unmarshal([]byte(r.text), &m); err != nil {
		t.Fatalf("%d %q: %v", r.StatusCode, r.text, err)
	}
	return m.canonical(t)
}

// canonical is the answer in the message: the structured one, which a text that is no JSON goes with.
func (m toolMessage) canonical(t *testing.T) string {
	t.Helper()
	switch {
	case m.Error != nil:
		return m.Error.Data.text()
	case len(m.Result.Content) != 1 || m.Result.Content[0].Type != "text":
		t.Fatalf("got %+v, want one text", m.Result)
	case m.Result.IsError:
		var message, code string
		var more []string
		for i, line := range strings.Split(m.Result.Content[0].Text, "\n") {
			if after, ok := strings.CutPrefix(line, "code: "); ok {
				code = after
			} else if i == 0 {
				message = line
			} else if !strings.HasPrefix(line, "retry after: ") {
				more = append(more, line)
			}
		}
		return failure(code, message, more...)
	}
	structured := canonical(t, m.Result.StructuredContent)
	if text := m.Result.Content[0].Text; text == "" || json.Valid([]byte(text)) {
		t.Errorf("the text is\n%s\nand the structured content\n%s", text, structured)
	}
	return structured
}

// A terminal is an assistant's side of stdio.
type terminal struct {
	program *programtest.Program
	era     string
}

func newTerminal(t *testing.T, path, era string, args ...string) *terminal {
	t.Helper()
	cmd := exec.Command(path, args...)
	cmd.Dir = t.TempDir()
	return &terminal{programtest.StartCommand(t, cmd), era}
}

func (term *terminal) ask(t *testing.T, q question) string {
	t.Helper()
	if _, err := fmt.Fprintln(term.program.Stdin, message(term.era, q.op, q.in)); err != nil {
		t.Fatal(err)
	}
	var m toolMessage
	if !term.program.Lines.Scan() {
		t.Fatalf("no more output; standard error: %s", term.program.Stderr())
	}
	if err := json.Unmarshal(term.program.Lines.Bytes(), &m); err != nil {
		t.Fatalf("%q: %v", term.program.Lines.Text(), err)
	}
	return m.canonical(t)
}
