package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/internal/demoregistry"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/serve/mcp"
	"github.com/namewharf/namewharf/serve/middleware"
	"github.com/namewharf/namewharf/serve/rest"
	"github.com/namewharf/namewharf/tools"
)

// suggested is the names of an answer.
func suggested(out tools.SuggestOut) (names []string) {
	for _, s := range out.Suggestions {
		names = append(names, s.Domain)
	}
	return names
}

func TestSuggest(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	const in = `{"q":"coffee shop in Berlin near the river","limit":8}`
	out, err := call[tools.SuggestOut](t.Context(), t, s, "suggest_domains", in)
	if err != nil || len(out.Suggestions) < 8 || out.Checked < 8 || out.Checked > tools.MaxIdeas || strings.Join(out.Words, " ") != "coffee shop berlin river" {
		t.Fatalf("got %+v, %v", out, err)
	}
	labels, under := map[string]bool{}, map[string]int{}
	for _, one := range out.Suggestions {
		labels[one.Label] = true
		under[one.TLD]++
		if one.Domain != one.Label+"."+one.TLD || one.Why == "" || len(one.Words) == 0 || one.Available != op.Yes || one.Registration.PriceCents == 0 || one.Renewal.PriceCents == 0 {
			t.Errorf("got %+v", one)
		}
	}
	if len(labels) != len(out.Suggestions) || under["com"] == 0 || under["coffee"]+under["shop"] == 0 {
		t.Errorf("labels %v, TLDs %v: want each label once, under com and TLDs that fit", labels, under)
	}
	again, err := call[tools.SuggestOut](t.Context(), t, newFixture(t), "suggest_domains", in)
	if err != nil || !slices.Equal(suggested(out), suggested(again)) {
		t.Errorf("the same question gives %q and %q, %v", suggested(out), suggested(again), err)
	}
	for _, test := range []struct {
		in string
		ok func(tools.Suggestion) bool
	}{
		{`{"q":"dog grooming","tlds":["io",".DEV"]}`, func(s tools.Suggestion) bool { return s.TLD == "io" || s.TLD == "dev" }},
		{`{"q":"dog grooming","max_length":7}`, func(s tools.Suggestion) bool { return len(s.Label) <= 7 }},
		{`{"q":"dog grooming","styles":["suffix","prefix"]}`, func(s tools.Suggestion) bool { return s.Style == "suffix" || s.Style == "prefix" }},
		{`{"q":"brewhaven.com"}`, func(s tools.Suggestion) bool { return !strings.Contains(s.Label, "com") }},
		{`{"q":"https://www.brewhaven.com/menu"}`, func(s tools.Suggestion) bool { return !strings.Contains(s.Label, "www") }},
		{`{"q":"zyntra"}`, func(s tools.Suggestion) bool { return strings.Contains(s.Label, "zyntra") }},
	} {
		out, err := call[tools.SuggestOut](t.Context(), t, s, "suggest_domains", test.in)
		if err != nil || len(out.Suggestions) == 0 {
			t.Errorf("%s: %+v, %v", test.in, out, err)
		}
		for _, one := range out.Suggestions {
			if !test.ok(one) {
				t.Errorf("%s: %+v", test.in, one)
			}
		}
	}
	none, err := call[tools.SuggestOut](t.Context(), t, s, "suggest_domains", `{"q":"dog grooming","tlds":["com"],"styles":["hack"]}`)
	if err != nil || len(none.Suggestions) > 0 || none.Checked != 0 || none.CheckedAt.IsZero() {
		t.Errorf("no hack ends in com: %+v, %v", none, err)
	}
}

// A name that is for sale is suggested though it is registered, at a price that is masked as in a search.
func TestSuggestShowsListings(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	for _, test := range []struct {
		ctx  context.Context
		want string
	}{
		{t.Context(), `"listing":{"price":{"masked":true,"display":"$•••","currency":"USD"}}}`},
		{signedIn(t.Context()), `"listing":{"price":{"masked":false,"priceCents":990000,"currency":"USD"}}}`},
	} {
		answer, err := s.set.Named("suggest_domains").Call(test.ctx, []byte(`{"q":"brew haven","tlds":["com"],"styles":["compound"]}`))
		if err != nil || !strings.Contains(string(answer.JSON), `"domain":"brewhaven.com"`) || !strings.Contains(string(answer.JSON), test.want) {
			t.Errorf("got %s, %v; want %s", answer.JSON, err, test.want)
		}
		if masked := op.CallerFrom(test.ctx).Anonymous(); answer.Public != masked || strings.Contains(string(answer.JSON), "990000") == masked {
			t.Errorf("public %v: %s", answer.Public, answer.JSON)
		}
	}
}

func TestSuggestRefuses(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	for in, field := range map[string]string{
		`{}`:        "q",
		`{"q":"a"}`: "q",
		`{"q":"` + strings.Repeat("a", 201) + `"}`: "q",
		`{"q":"12 34"}`:                 "q",
		`{"q":"кофейня у реки"}`:        "q",
		`{"q":"the of and"}`:            "q",
		`{"q":5}`:                       "q",
		`{"q":"coffee","tlds":[]}`:      "tlds",
		`{"q":"coffee","tlds":["a b"]}`: "tlds[0]",
		`{"q":"coffee","tlds":"com"}`:   "tlds",
		`{"q":"coffee","tlds":["a","b","c","d","e","f","g","h","i","j","k"]}`: "tlds",
		`{"q":"coffee","tlds":["nosuchsuffix"]}`:                              "tlds",
		`{"q":"coffee","limit":0}`:                                            "limit",
		`{"q":"coffee","limit":51}`:                                           "limit",
		`{"q":"coffee","limit":"5"}`:                                          "limit",
		`{"q":"coffee","max_length":3}`:                                       "max_length",
		`{"q":"coffee","max_length":31}`:                                      "max_length",
		`{"q":"coffee","styles":[]}`:                                          "styles",
		`{"q":"coffee","styles":["rhyme"]}`:                                   "styles[0]",
		`{"q":"coffee","style":"short"}`:                                      "style",
	} {
		_, err := call[tools.SuggestOut](t.Context(), t, s, "suggest_domains", in)
		if f := fault.From(err); f == nil || f.Code != fault.Validation || len(f.Fields) == 0 || f.Fields[0].Field != field {
			t.Errorf("%s: %+v; want a validation error of %s", in, f, field)
		}
	}
}

// Where nobody answers for a TLD, the names are looked up under the others.
func TestSuggestLeavesASilentTLD(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	out, err := call[tools.SuggestOut](t.Context(), t, s, "suggest_domains", `{"q":"solar panels for farms","tlds":["coffee","com"]}`)
	if err != nil || len(out.Suggestions) < 20 || out.Checked > 60 {
		t.Errorf("%d suggestions of %d names, %v", len(out.Suggestions), out.Checked, err)
	}
}

// everything is a zone that has each name.
type everything struct{}

func (everything) Look(fqdn.Name) (present, loaded bool, date time.Time) {
	return true, true, time.Now()
}

func (everything) Learn(fqdn.Name, bool) {}

// Where nothing is free, a call ends after 100 names.
func TestSuggestEndsAfterAHundredNames(t *testing.T) {
	t.Parallel()
	s := newFixtureOn(t, demoregistry.Config{}, everything{})
	answer, err := s.set.Named("suggest_domains").Call(t.Context(), []byte(`{"q":"solar panels for farms","limit":50}`))
	if err != nil || !strings.Contains(string(answer.JSON), `"suggestions":[],"checked":100,`) || !slices.Equal(answer.Unused, []op.Charge{{Class: op.Lookup}}) {
		t.Errorf("got %s, unused %v, %v; want no suggestions of 100 names, and nothing unused", answer.JSON, answer.Unused, err)
	}
}

// Where hosts are slow, a call ends in time with what is known: the names that it looked up, and none of them free.
func TestSuggestEndsInTime(t *testing.T) {
	t.Parallel()
	s := newFixtureOn(t, demoregistry.Config{Latency: time.Minute}, nil)
	began := time.Now()
	answer, err := s.set.Named("suggest_domains").Call(t.Context(), []byte(`{"q":"solar panels for farms","limit":50}`))
	const busy = time.Second / 2 // of a busy machine
	if took := time.Since(began); err != nil || took > tools.IdeaDeadline+busy || !strings.Contains(string(answer.JSON), `"suggestions":[]`) {
		t.Errorf("after %v: %s, %v; want an answer within %v", took, answer.JSON, err, tools.IdeaDeadline)
	}
}

// A prompt names the operations that it needs, and no others.
func TestPromptsNameTheirOperations(t *testing.T) {
	t.Parallel()
	set := newFixture(t).set
	for _, p := range set.Guide().Prompts {
		text := p.Text(map[string]string{"idea": "a bakery", "domain": "example.com", "tlds": "com, de"})
		for _, o := range set.All() {
			if named := strings.Contains(text, o.Name); named != slices.Contains(p.Operations, o.Name) {
				t.Errorf("%s: the text names %s: %v; it needs %q", p.Name, o.Name, named, p.Operations)
			}
		}
		if p.Name == "find_a_domain" && !strings.Contains(text, "a bakery.\nCall suggest_domains for it under com, de.") {
			t.Errorf("%s: %s", p.Name, text)
		}
	}
}

// What a stream shows is what the answer holds, in the same order.
func TestSuggestStreams(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	var events []string
	done := 0
	ctx := op.WithEmitter(t.Context(), func(e op.Event) {
		one, ok := e.Item.(tools.Suggestion)
		if !ok || e.Done != done+1 || e.Total < e.Done {
			t.Errorf("event %+v after %d", e, done)
		}
		done = e.Done
		events = append(events, one.Domain)
	})
	out, err := call[tools.SuggestOut](ctx, t, s, "suggest_domains", `{"q":"solar panels for farms"}`)
	if err != nil || len(events) == 0 || !slices.Equal(events, suggested(out)) {
		t.Errorf("streamed %q, answered %q, %v", events, suggested(out), err)
	}
}

func TestSuggestCosts(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	o := s.set.Named("suggest_domains")
	for in, want := range map[string]int{`{"q":"coffee shop"}`: 10, `{"q":"12 34"}`: 1, `{"q":"coffee","tlds":["a b"]}`: 1} {
		c, err := o.Begin(t.Context(), []byte(in))
		if err != nil || len(c.Charges) != 1 || c.Charges[0] != (op.Charge{Class: op.Lookup, Count: want}) {
			t.Errorf("%s: %+v, %v; want %d look-ups", in, c, err, want)
		}
	}
	for _, in := range []string{`{"q":"coffee shop","limit":1}`, `{"q":"coffee shop"}`, `{"q":"dog grooming","tlds":["com"],"styles":["hack"]}`} {
		answer, err := o.Call(t.Context(), []byte(in))
		var out tools.SuggestOut
		if err != nil || json.Unmarshal(answer.JSON, &out) != nil {
			t.Fatal(err)
		}
		want := []op.Charge{{Class: op.Lookup, Count: 10 - max(1, (out.Checked+9)/10)}}
		if !slices.Equal(answer.Unused, want) {
			t.Errorf("%s: %d names looked up, %v unused; want %v", in, out.Checked, answer.Unused, want)
		}
	}
}

// Over every transport a call draws the most that it may need, and gets back what it did not.
func TestSuggestGivesBackWhatItDidNotNeed(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	still := time.Now()
	limits := middleware.NewLimits(map[op.Class]middleware.Quota{
		op.Lookup: {Anonymous: 30, SignedIn: 30}, op.Read: {Anonymous: 30, SignedIn: 30},
	}, func() time.Time { return still })
	stack := middleware.New(middleware.Config{BaseURL: "https://names.example", Tokens: accounts{}, Limits: limits, Logger: slog.New(slog.DiscardHandler)})
	web := rest.New(rest.Config{Middleware: stack, Set: s.set, Version: tools.APIVersion, MCP: "https://names.example/mcp"})
	server, err := mcp.New(mcp.Config{Set: s.set, Version: tools.APIVersion, Middleware: stack, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	assistants := server.Handler("https://names.example/mcp", false)
	send := func(h http.Handler, client, url, accept, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("POST", url, strings.NewReader(body))
		r.RemoteAddr = client + ":1"
		for name, value := range map[string]string{"Content-Type": "application/json", "Accept": accept, "MCP-Protocol-Version": "2025-11-25"} {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", url, w.Code, w.Body)
		}
		return w
	}
	const (
		in      = `{"q":"coffee shop","limit":2}` // one round of ten names
		events  = "text/event-stream"
		either  = "application/json, text/event-stream"
		suggest = "https://names.example/api/domain/suggest"
		toolURL = "https://names.example/mcp"
	)
	tool := func(name, arguments, meta string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s%s}}`, name, arguments, meta)
	}
	batched := fmt.Sprintf(`{"operations":[{"id":"a","op":"suggest_domains","params":%s},{"id":"b","op":"suggest_domains","params":%s},{"id":"c","op":"tld_registration_price","params":{"tld":"com"}}]}`, in, in)
	for i, test := range []struct {
		name              string
		h                 http.Handler
		url, accept, body string
		header            string // RateLimit of the answer
		used              int
	}{
		{"REST", web, suggest, "application/json", in, `"lookup";r=29;t=2`, 1},
		{"a stream, whose header is sent before", web, suggest, events, in, `"lookup";r=20;t=20`, 1},
		{"a batch", web, "https://names.example/api/batch", "application/json", batched, `"lookup";r=28;t=4, "read";r=29;t=2`, 2},
		{"a stream of a batch", web, "https://names.example/api/batch", events, batched, `"lookup";r=10;t=40, "read";r=29;t=2`, 2},
		{"MCP", assistants, toolURL, either, tool("suggest_domains", in, ""), `"lookup";r=29;t=2`, 1},
		{"MCP with progress", assistants, toolURL, either, tool("suggest_domains", in, `,"_meta":{"progressToken":1}`), `"lookup";r=20;t=20`, 1},
		{"a batch over MCP", assistants, toolURL, either, tool("batch_lookup", batched, ""), `"lookup";r=28;t=4, "read";r=29;t=2`, 2},
		{"a refused input", assistants, toolURL, either, tool("suggest_domains", `{"q":"12 34"}`, ""), `"lookup";r=29;t=2`, 1},
	} {
		client := fmt.Sprintf("192.0.2.%d", i+1)
		w := send(test.h, client, test.url, test.accept, test.body)
		if got := w.Result().Header.Get("RateLimit"); got != test.header {
			t.Errorf("%s: RateLimit %s, want %s", test.name, got, test.header)
		}
		after := send(web, client, "https://names.example/api/domain/check", "application/json", `{"domains":["quietmeadow.com"]}`)
		if got, want := after.Header().Get("RateLimit"), fmt.Sprintf(`"lookup";r=%d;`, 29-test.used); !strings.HasPrefix(got, want) {
			t.Errorf("%s: a check after it has %s, want %s", test.name, got, want)
		}
	}
}

// BenchmarkSuggest asks for twenty free names, of another idea each time, when every host answers in 50 ms.
func BenchmarkSuggest(b *testing.B) {
	s := newFixtureOn(b, demoregistry.Config{Latency: 50 * time.Millisecond}, nil)
	first := strings.Fields("coffee dog law solar wedding bicycle music garden travel book pizza yoga toy wine car shoe")
	second := strings.Fields("school club market service repair delivery lessons festival insurance photography magazine kitchen")
	for i := 0; b.Loop(); i++ {
		in := fmt.Sprintf(`{"q":"%s %s","tlds":["com","net","io"]}`, first[i%len(first)], second[i/len(first)%len(second)])
		out, err := call[tools.SuggestOut](b.Context(), b, s, "suggest_domains", in)
		if err != nil || len(out.Suggestions) < 20 {
			b.Fatalf("%s: %d suggestions, %v", in, len(out.Suggestions), err)
		}
		b.ReportMetric(float64(out.Checked), "names")
	}
}
