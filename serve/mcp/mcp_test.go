package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/serve/mcp"
	"github.com/namewharf/namewharf/serve/middleware"
	"github.com/namewharf/namewharf/tools"
)

// The operations of the tests: as few as show every way in which a call can go.

type askIn struct {
	Q                 string `json:"q" jsonschema:"a label or a domain, e.g. acme or acme.com"`
	RequireRealPrices bool   `json:"require_real_prices,omitzero"`
	Fail              string `json:"fail,omitzero"`
}

type askOut struct {
	Query  string   `json:"query"`
	Caller string   `json:"caller,omitzero"`
	Names  []string `json:"names"`
}

func ask(ctx context.Context, in askIn) (askOut, error) {
	caller := op.CallerFrom(ctx)
	switch {
	case in.RequireRealPrices:
		if err := caller.Need("pricing:read"); err != nil {
			return askOut{}, err
		}
	case in.Fail == "internal":
		return askOut{}, errors.New("secret: the database is at 10.0.0.7")
	case in.Fail == "busy":
		return askOut{}, fault.New(fault.Unavailable, "the registry is busy").WithHint("ask again later").WithRetry(1500 * time.Millisecond)
	case in.Fail == "panic":
		panic("a panic with " + in.Q)
	}
	return askOut{Query: in.Q, Caller: caller.Account, Names: []string{in.Q + ".com", "<" + in.Q + ">.net"}}, nil
}

type countIn struct {
	To int16 `json:"to"`
}

type countOut struct {
	Done int16 `json:"done"`
}

// count emits its progress from several goroutines and returns at once after the last one.
func count(ctx context.Context, in countIn) (countOut, error) {
	var wg sync.WaitGroup
	for i := 1; i < int(in.To); i++ {
		wg.Go(func() { op.Emit(ctx, op.Event{Done: i, Total: int(in.To)}) })
	}
	wg.Wait()
	op.Emit(ctx, op.Event{Done: int(in.To), Total: int(in.To)})
	return countOut{Done: in.To}, nil
}

type waitIn struct {
	MS int64 `json:"ms"`
}

func wait(ctx context.Context, in waitIn) (countOut, error) {
	select {
	case <-ctx.Done():
		return countOut{}, ctx.Err()
	case <-time.After(time.Duration(in.MS) * time.Millisecond):
		return countOut{Done: 1}, nil
	}
}

func route(name string) op.Route { return op.Route{Method: "POST", Path: "/" + name} }

// operations have the guide of the product, whose prompts name some of them.
func operations() *op.Set {
	set := op.NewSet(time.Now,
		op.Operation[askIn, askOut]{
			Name: "search_domain", Title: "Search", Doc: "Searches a name.", Route: route("search"), Tool: true,
			Limit: op.Lookup, Example: askIn{Q: "acme"}, Do: ask,
		},
		op.Operation[countIn, countOut]{
			Name: "check_domains", Title: "Check", Doc: "Checks names.", Route: route("check"), Tool: true,
			Limit: op.Lookup, Example: countIn{To: 1}, Do: count,
		},
		op.Operation[waitIn, countOut]{
			Name: "whois_lookup", Title: "WHOIS", Doc: "Looks up a name.", Route: route("whois"), Tool: true,
			Limit: op.Read, Example: waitIn{MS: 1}, Do: wait,
		},
		op.Operation[askIn, askOut]{
			Name: "bulk_domains", Title: "Bulk", Doc: "Changes names.", Route: route("bulk"), Tool: true,
			Scope: "domains:write", Effect: op.Writes, Limit: op.Read, Example: askIn{Q: "acme"}, Do: ask,
		},
		op.Operation[askIn, askOut]{
			Name: "not_a_tool", Title: "Other", Doc: "Is no tool.", Route: route("other"),
			Limit: op.Read, Example: askIn{Q: "acme"}, Do: ask,
		},
	)
	set.Describe(*tools.New(tools.Config{Secret: make([]byte, 32), Now: time.Now}).Guide())
	return set
}

type documents struct{}

func (d documents) Resources() []op.Resource {
	fixed := func(text string) func(context.Context, string) ([]byte, error) {
		return func(context.Context, string) ([]byte, error) { return []byte(text), nil }
	}
	all := tools.NewReference(nil, nil).Resources()
	all[0].Read, all[1].Read, all[2].Read = fixed(`{"operations":[]}`), fixed(`{"ok":"fine"}`), d.tld
	return all
}

func (documents) tld(_ context.Context, tld string) ([]byte, error) {
	switch tld {
	case "com", "co.uk", "рф":
		return []byte(`{"tld":"` + tld + `"}`), nil
	case "broken":
		return nil, errors.New("secret: disk full")
	}
	return nil, fault.New(fault.NotFound, "the suffix is not known")
}

func (documents) Complete(argument, prefix string, limit int) ([]string, int) {
	if argument != "tld" && argument != "tlds" {
		return nil, 0
	}
	prefix = strings.ToLower(strings.TrimPrefix(prefix, "."))
	var found []string
	for _, tld := range []string{"com", "co", "coffee", "net"} {
		if strings.HasPrefix(tld, prefix) {
			found = append(found, tld)
		}
	}
	return found[:min(limit, len(found))], len(found)
}

// verifier knows three tokens.
type verifier struct{}

func (verifier) Caller(_ context.Context, token, resource string) (op.Caller, error) {
	switch {
	case !strings.HasSuffix(resource, "/mcp") && !strings.HasSuffix(resource, "/mcp/signed-in"):
	case token == "priced":
		return op.Caller{Account: "acc_1", Scopes: []string{"pricing:read"}}, nil
	case token == "owner":
		return op.Caller{Account: "acc_1", Scopes: []string{"pricing:read", "domains:write"}}, nil
	case token == "bare":
		return op.Caller{Account: "acc_2"}, nil
	}
	return op.Caller{}, fault.New(fault.InvalidToken, "the access token is unknown")
}

// A site is a server on loopback.
type site struct {
	url    string
	server *mcp.Server
	log    *lockedBuffer
}

type option struct {
	limits map[op.Class]middleware.Quota
	cfg    mcp.Config
}

func open(t testing.TB, o option) *site {
	t.Helper()
	s := &site{log: &lockedBuffer{}}
	mux := http.NewServeMux()
	web := httptest.NewUnstartedServer(mux)
	s.url = "http://" + web.Listener.Addr().String()
	logger := slog.New(slog.NewJSONHandler(s.log, nil))
	middlewareConfig := middleware.Config{BaseURL: s.url, Tokens: verifier{}, DefaultScope: "pricing:read", Logger: logger}
	if o.limits != nil {
		middlewareConfig.Limits = middleware.NewLimits(o.limits, time.Now)
	}
	cfg := o.cfg
	cfg.Set, cfg.Resources, cfg.Version, cfg.Logger, cfg.Middleware = operations(), documents{}, "1.2.3", logger, middleware.New(middlewareConfig)
	server, err := mcp.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s.server = server
	mux.Handle("/mcp", server.Handler(s.url+"/mcp", false))
	mux.Handle("/mcp/signed-in", server.Handler(s.url+"/mcp/signed-in", true))
	web.Start()
	t.Cleanup(web.Close)
	return s
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// The protocol eras.
const (
	modern = "2026-07-28"
	legacy = "2025-11-25"
)

// body is a request in an era.
func body(era, method string, params map[string]any) string {
	if params == nil {
		params = map[string]any{}
	}
	if era == modern {
		meta, _ := params["_meta"].(map[string]any)
		if meta == nil {
			meta = map[string]any{}
		}
		meta["io.modelcontextprotocol/protocolVersion"] = modern
		meta["io.modelcontextprotocol/clientCapabilities"] = map[string]any{}
		params["_meta"] = meta
	}
	raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// A reply is what came back over HTTP.
type reply struct {
	*http.Response
	text   string
	events []message // of a stream, in order; one without a stream
}

// A message is a JSON-RPC message of the server.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params map[string]any  `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

// last is the answer itself.
func (r *reply) last(t testing.TB) message {
	t.Helper()
	if len(r.events) == 0 {
		t.Fatalf("no message in the answer %d %q", r.StatusCode, r.text)
	}
	return r.events[len(r.events)-1]
}

func (r *reply) result(t testing.TB) toolResult {
	t.Helper()
	return asToolResult(t, r.last(t))
}

type toolResult struct {
	Content []struct {
		Type, Text string
	} `json:"content"`
	Structured json.RawMessage `json:"structuredContent"`
	IsError    bool            `json:"isError"`
}

func asToolResult(t testing.TB, m message) toolResult {
	t.Helper()
	var result toolResult
	if m.Error != nil {
		t.Fatalf("got the error %d %s, want a result", m.Error.Code, m.Error.Message)
	}
	if err := json.Unmarshal(m.Result, &result); err != nil {
		t.Fatalf("result %s: %v", m.Result, err)
	}
	return result
}

// post sends a body as a client of that era would. Headers are pairs; an empty value removes one.
func (s *site) post(t testing.TB, path, era, text string, headers ...string) *reply {
	t.Helper()
	return s.do(t, http.MethodPost, path, era, text, headers...)
}

func (s *site) do(t testing.TB, method, path, era, text string, headers ...string) *reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if era != "" {
		r.Header.Set("Mcp-Protocol-Version", era)
	}
	if era == modern {
		m := decodeMethod(text)
		r.Header.Set("Mcp-Method", m.Method)
		if name := m.Params.Name + m.Params.URI; name != "" {
			r.Header.Set("Mcp-Name", name)
		}
	}
	for i := 0; i < len(headers); i += 2 {
		switch {
		case headers[i] == "Host":
			r.Host = headers[i+1]
		case headers[i+1] == "":
			r.Header.Del(headers[i])
		default:
			r.Header.Add(headers[i], headers[i+1])
		}
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("reading the answer: %v", err)
	}
	answer := &reply{Response: resp, text: string(raw)}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		for event := range strings.SplitSeq(strings.TrimSpace(answer.text), "\n\n") {
			data, ok := strings.CutPrefix(event, "event: message\ndata: ")
			if !ok {
				t.Fatalf("a strange event: %q", event)
			}
			answer.events = append(answer.events, decode(t, data))
		}
	} else if strings.HasPrefix(answer.text, `{"jsonrpc":`) {
		answer.events = []message{decode(t, answer.text)}
	}
	return answer
}

func decode(t testing.TB, text string) message {
	t.Helper()
	var m message
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("message %q: %v", text, err)
	}
	return m
}

// decodeMethod is what the headers of a request repeat of it in the protocol of 2026-07-28.
func decodeMethod(text string) (m struct {
	Method string
	Params struct{ Name, URI string }
},
) {
	_ = json.Unmarshal([]byte(text), &m)
	return m
}

func (s *site) call(t testing.TB, era, tool string, arguments any, headers ...string) *reply {
	t.Helper()
	return s.post(t, "/mcp", era, callBody(era, tool, arguments), headers...)
}

func callBody(era, tool string, arguments any) string {
	return body(era, "tools/call", map[string]any{"name": tool, "arguments": arguments})
}

// eachEra runs a test once for each protocol era.
func eachEra(t *testing.T, f func(t *testing.T, era string)) {
	for _, era := range []string{legacy, modern} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			f(t, era)
		})
	}
}

func TestUnknownToolNames(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		cfg  mcp.Config
		want string
	}{
		{
			"an unknown tool is named with those there are",
			mcp.Config{Tools: []string{"whois"}},
			`there is no tool "whois"; there are search_domain, check_domains, whois_lookup, bulk_domains`,
		},
		{
			"one to leave out must exist too",
			mcp.Config{Exclude: []string{"not_a_tool"}},
			`there is no tool "not_a_tool"; there are search_domain, check_domains, whois_lookup, bulk_domains`,
		},
		{
			"something must be left",
			mcp.Config{Tools: []string{"bulk_domains"}, ReadOnly: true},
			`no tool is left; there are search_domain, check_domains, whois_lookup, bulk_domains`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.cfg.Set, test.cfg.Logger = operations(), slog.New(slog.DiscardHandler)
			_, err := mcp.New(test.cfg)
			if err == nil || err.Error() != test.want {
				t.Errorf("got %v\nwant %s", err, test.want)
			}
		})
	}
}

// The list without output schemas is the same list otherwise.
func TestNoOutputSchemas(t *testing.T) {
	t.Parallel()
	lists := map[bool]string{}
	for _, bare := range []bool{false, true} {
		s := open(t, option{cfg: mcp.Config{NoOutputSchemas: bare}})
		var list struct{ Tools []map[string]any }
		if err := json.Unmarshal(s.post(t, "/mcp", modern, body(modern, "tools/list", nil)).last(t).Result, &list); err != nil {
			t.Fatal(err)
		}
		for _, tool := range list.Tools {
			if _, has := tool["outputSchema"]; has == bare {
				t.Errorf("NoOutputSchemas %v: %s has an output schema: %v", bare, tool["name"], has)
			}
			delete(tool, "outputSchema")
		}
		lists[bare] = marshal(list)
	}
	if lists[true] != lists[false] {
		t.Errorf("got %s\nwant %s", lists[true], lists[false])
	}
}

func TestToolChoice(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		cfg  mcp.Config
		want string
	}{
		{"all", mcp.Config{}, "bulk_domains check_domains search_domain whois_lookup"},
		{"those named", mcp.Config{Tools: []string{"whois_lookup", "search_domain"}}, "search_domain whois_lookup"},
		{"all but some", mcp.Config{Exclude: []string{"whois_lookup"}}, "bulk_domains check_domains search_domain"},
		{"readers", mcp.Config{ReadOnly: true}, "check_domains search_domain whois_lookup"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := open(t, option{cfg: test.cfg})
			var list struct{ Tools []struct{ Name string } }
			if err := json.Unmarshal(s.post(t, "/mcp", modern, body(modern, "tools/list", nil)).last(t).Result, &list); err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, tool := range list.Tools {
				names = append(names, tool.Name)
			}
			if got := strings.Join(names, " "); got != test.want {
				t.Errorf("got %s\nwant %s", got, test.want)
			}
		})
	}
}
