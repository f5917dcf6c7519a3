package mcp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/serve/mcp"
)

// A terminal is a client on stdio.
type terminal struct {
	t     *testing.T
	in    *io.PipeWriter
	out   *bufio.Scanner
	log   *lockedBuffer
	ended chan error
}

func start(ctx context.Context, t *testing.T, caller op.Caller) *terminal {
	t.Helper()
	term := &terminal{t: t, log: &lockedBuffer{}, ended: make(chan error, 1)}
	s, err := mcp.New(mcp.Config{
		Set: operations(), Resources: documents{}, Version: "1.2.3", Logger: slog.New(slog.NewTextHandler(term.log, nil)),
		Caller: func(context.Context) (op.Caller, error) { return caller, nil }, SignIn: "set the token and start again",
	})
	if err != nil {
		t.Fatal(err)
	}
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	term.in, term.out = toServer, bufio.NewScanner(fromServer)
	term.out.Buffer(nil, 1<<20)
	go func() {
		err := s.Stdio(ctx, in, out)
		_ = out.Close()
		term.ended <- err
	}()
	t.Cleanup(func() { _ = toServer.Close() })
	return term
}

func (term *terminal) send(lines ...string) {
	term.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(term.in, line); err != nil {
			term.t.Fatal(err)
		}
	}
}

// next is the next line of the server, which must be a JSON-RPC message.
func (term *terminal) next() message {
	term.t.Helper()
	if !term.out.Scan() {
		term.t.Fatalf("no more output: %v; log: %s", term.out.Err(), term.log)
	}
	if !strings.HasPrefix(term.out.Text(), `{"jsonrpc":"2.0"`) {
		term.t.Fatalf("not a JSON-RPC message: %s", term.out.Text())
	}
	return decode(term.t, term.out.Text())
}

// end closes the input and returns how long the server takes, with what it still says.
func (term *terminal) end() (time.Duration, []message) {
	term.t.Helper()
	begun := time.Now()
	_ = term.in.Close()
	var rest []message
	for term.out.Scan() {
		rest = append(rest, decode(term.t, term.out.Text()))
	}
	if err := <-term.ended; err != nil {
		term.t.Errorf("the end of input: got %v, want nil", err)
	}
	return time.Since(begun), rest
}

// With mcp.NewTool and a raw schema, tools/list on stdio would never be answered.
func TestStdio(t *testing.T) {
	t.Parallel()
	eachEra(t, func(t *testing.T, era string) {
		term := start(t.Context(), t, op.Caller{})
		term.send(body(era, "tools/list", nil) + "\n")
		if m := term.next(); m.Error != nil || strings.Count(string(m.Result), `"inputSchema":{`) != 4 {
			t.Errorf("tools/list: got %s", m.Result)
		}
		term.send("\n \r\n" + callBody(era, "search_domain", map[string]any{"q": "acme"}) + "\r\n")
		if result := asToolResult(t, term.next()); result.IsError || result.Content[0].Text != `{"query":"acme","names":["acme.com","<acme>.net"]}` {
			t.Errorf("tools/call: got %+v", result)
		}
		term.send(callBody(era, "search_domain", map[string]any{}) + "\n")
		if result := asToolResult(t, term.next()); !result.IsError || !strings.HasPrefix(result.Content[0].Text, "q is required") {
			t.Errorf("a bad call: got %+v", result)
		}
		term.send(body(era, "resources/read", map[string]any{"uri": "domains://tlds/nosuch"}) + "\n")
		if m := term.next(); m.Error == nil || m.Error.Message != "the suffix is not known" || string(m.ID) != "7" {
			t.Errorf("an unknown resource: got %+v", m)
		}
		if took, rest := term.end(); took > 500*time.Millisecond || len(rest) != 0 {
			t.Errorf("the end took %v and said %v", took, rest)
		}
	})
}

func TestStdioHandshake(t *testing.T) {
	t.Parallel()
	term := start(t.Context(), t, op.Caller{})
	term.send(body("", "initialize", map[string]any{"protocolVersion": legacy, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "t", "version": "1"}}) + "\n")
	if m := term.next(); !strings.Contains(string(m.Result), `"protocolVersion":"2025-11-25"`) {
		t.Errorf("initialize: got %s", m.Result)
	}
	term.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n", body("", "ping", nil)+"\n")
	if m := term.next(); string(m.Result) != "{}" {
		t.Errorf("ping: got %s", m.Result)
	}
}

func TestStdioDiscover(t *testing.T) {
	t.Parallel()
	term := start(t.Context(), t, op.Caller{})
	term.send(body(modern, "server/discover", nil) + "\n")
	if m := term.next(); !strings.Contains(string(m.Result), modern) || !strings.Contains(string(m.Result), `"cacheScope":"public"`) {
		t.Errorf("server/discover: got %s", m.Result)
	}
	term.send(body(modern, "subscriptions/listen", map[string]any{"notifications": map[string]any{"toolsListChanged": true}}) + "\n")
	if m := term.next(); m.Method != "notifications/subscriptions/acknowledged" {
		t.Errorf("first %+v, want the acknowledgement", m)
	}
	if m := term.next(); m.Error != nil || string(m.ID) != "7" {
		t.Errorf("then %+v, want the result", m)
	}
}

func TestStdioProgressArrivesWhole(t *testing.T) {
	t.Parallel()
	eachEra(t, func(t *testing.T, era string) {
		term := start(t.Context(), t, op.Caller{})
		for range 100 {
			term.send(body(era, "tools/call", map[string]any{
				"name": "check_domains", "arguments": map[string]any{"to": 5}, "_meta": map[string]any{"progressToken": "tok"},
			}) + "\n")
			reached := 0.0
			m := term.next()
			for ; m.Method == "notifications/progress"; m = term.next() {
				reached, _ = m.Params["progress"].(float64)
			}
			if result := asToolResult(t, m); result.IsError || reached != 5 {
				t.Fatalf("the last progress is %v, want 5; then %+v", reached, result)
			}
		}
	})
}

func TestStdioEnd(t *testing.T) {
	t.Parallel()
	wait := func(ms int) string { return callBody(modern, "whois_lookup", map[string]any{"ms": ms}) }
	for _, test := range []struct {
		name    string
		input   string
		longest time.Duration
		answers int
		failed  bool
	}{
		{"a running call is finished", wait(300) + "\n", 900 * time.Millisecond, 1, false},
		{"the last line needs no newline", wait(1), 500 * time.Millisecond, 1, false},
		{"all that came before are answered", strings.Repeat(wait(50)+"\n", 40), 900 * time.Millisecond, 40, false},
		{"a call that takes too long is cancelled", wait(20_000) + "\n", time.Second, 1, true},
		{"half a message", wait(1)[:20], 500 * time.Millisecond, 1, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				term := start(t.Context(), t, op.Caller{})
				term.send(test.input)
				took, rest := term.end()
				if took > test.longest || len(rest) != test.answers {
					t.Fatalf("took %v with %d answers, want at most %v and %d", took, len(rest), test.longest, test.answers)
				}
				for _, m := range rest {
					if failed := m.Error != nil || asToolResult(t, m).IsError; failed != test.failed {
						t.Errorf("got %+v", m)
					}
				}
			})
		})
	}
}

func TestStdioEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	term := start(ctx, t, op.Caller{})
	term.send(body(legacy, "ping", nil) + "\n")
	term.next()
	cancel()
	if err := <-term.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

func TestStdioBadInput(t *testing.T) {
	t.Parallel()
	term := start(t.Context(), t, op.Caller{})
	for _, test := range []struct {
		line string
		code int
	}{
		{"hello", -32700},
		{"{}", -32600},
		{`{"jsonrpc":"1.0","id":1,"method":"ping"}`, -32600},
		{`{"jsonrpc":"2.0","id":1,"method":"no/such"}`, -32601},
		{strings.Repeat("x", 300<<10), -32600},
		{`[` + body(legacy, "ping", nil) + `]`, -32600},
		{callBody(legacy, "search_domain", map[string]any{"q": "hush", "fail": "panic"}), -32603},
	} {
		term.send(test.line + "\n")
		if m := term.next(); m.Error == nil || m.Error.Code != test.code || strings.Contains(m.Error.Message, "hush") {
			t.Errorf("%.60s: got %+v, want %d", test.line, m, test.code)
		}
	}
	term.send(body(legacy, "ping", nil) + "\n")
	if m := term.next(); m.Error != nil {
		t.Errorf("afterwards: got %+v", m.Error)
	}
}

func TestStdioCancel(t *testing.T) {
	t.Parallel()
	term := start(t.Context(), t, op.Caller{})
	term.send(callBody(modern, "whois_lookup", map[string]any{"ms": 20_000})+"\n",
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`+"\n",
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"no such"}}`+"\n")
	if took, rest := term.end(); took > 500*time.Millisecond || len(rest) != 0 {
		t.Errorf("a call taken back ran on for %v and was answered with %v", took, rest)
	}
}

func TestStdioSignIn(t *testing.T) {
	t.Parallel()
	priced := callBody(modern, "search_domain", map[string]any{"q": "acme", "require_real_prices": true})
	for _, test := range []struct {
		name   string
		caller op.Caller
		want   string
	}{
		{"nobody is told how to sign in", op.Caller{}, "this needs a signed-in caller; to sign in, set the token and start again\ncode: authentication_required"},
		{
			"a token without the scope",
			op.Caller{Account: "acc_2"},
			"the access token lacks the scope pricing:read; to sign in, set the token and start again\ncode: insufficient_scope",
		},
		{"a token with it", op.Caller{Account: "acc_1", Scopes: []string{"pricing:read"}}, `{"query":"acme","caller":"acc_1","names":["acme.com","<acme>.net"]}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			term := start(t.Context(), t, test.caller)
			term.send(priced + "\n")
			if result := asToolResult(t, term.next()); result.Content[0].Text != test.want {
				t.Errorf("got %q\nwant %q", result.Content[0].Text, test.want)
			}
		})
	}
}

func TestStdioKeepsErrorsOfOursInTheLog(t *testing.T) {
	t.Parallel()
	term := start(t.Context(), t, op.Caller{})
	term.send(callBody(legacy, "search_domain", map[string]any{"q": "x", "fail": "internal"}) + "\n")
	result := asToolResult(t, term.next())
	if !result.IsError || strings.Contains(fmt.Sprint(result), "10.0.0.7") || !strings.Contains(term.log.String(), "10.0.0.7") {
		t.Errorf("got %+v, log %s", result, term.log)
	}
}

// A message that the protocol refuses is refused in words for its sender, not in those of encoding/json.
func TestStdioRefusesMisshapenMessages(t *testing.T) {
	t.Parallel()
	for params, want := range map[string]string{
		`{"name":"search_tea","arguments":{},"_meta":5}`: "params._meta is of the wrong type",
		`{"name":5}`:                               "params.name is of the wrong type",
		`"search_tea"`:                             "params is of the wrong type",
		`{"name":"search_tea","task":7}`:           "params.task is of the wrong type",
		`{"name":"search_tea","inputResponses":7}`: "params.inputResponses is of the wrong type",
	} {
		term := start(t.Context(), t, op.Caller{})
		term.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + "}\n")
		if m := term.next(); m.Error == nil || !strings.HasPrefix(m.Error.Message, want) || strings.Contains(m.Error.Message, "Go") {
			t.Errorf("%s: got %+v, want %q", params, m.Error, want)
		}
	}
}
