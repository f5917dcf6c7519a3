package assistant_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/serve/assistant"
	"github.com/namewharf/namewharf/serve/door"
)

func TestToolsList(t *testing.T) {
	t.Parallel()
	s := open(t, option{})
	eachEra(t, func(t *testing.T, era string) {
		reply := s.post(t, "/mcp", era, body(era, "tools/list", nil))
		var list struct {
			Tools []struct {
				Name, Title, Description  string
				InputSchema, OutputSchema struct {
					Type       string
					Properties map[string]any
					Required   []string
				}
				Annotations map[string]any
			}
			TTLMs      *int
			CacheScope string
		}
		if err := json.Unmarshal(reply.last(t).Result, &list); err != nil {
			t.Fatal(err)
		}
		if len(list.Tools) != 4 {
			t.Fatalf("got %d tools, want 4: %s", len(list.Tools), reply.text)
		}
		for _, tool := range list.Tools {
			if tool.Title == "" || tool.Description == "" || tool.InputSchema.Type != "object" || tool.OutputSchema.Type != "object" {
				t.Errorf("%s is not described in full: %+v", tool.Name, tool)
			}
			reads := tool.Name != "bulk_domains"
			want := map[string]any{
				"title": tool.Title, "readOnlyHint": reads, "destructiveHint": !reads, "idempotentHint": reads,
				"openWorldHint": tool.Name == "search_domain" || tool.Name == "check_domains",
			}
			for hint, value := range want {
				if got := tool.Annotations[hint]; got != value {
					t.Errorf("%s: %s is %v, want %v", tool.Name, hint, got, value)
				}
			}
		}
		switch {
		case era == modern && (list.TTLMs == nil || *list.TTLMs != 3_600_000 || list.CacheScope != "public"):
			t.Errorf("cache hints: got %v %q, want an hour, public", list.TTLMs, list.CacheScope)
		case era == legacy && list.TTLMs != nil:
			t.Errorf("cache hints in the older protocol: %d", *list.TTLMs)
		}
	})
}

func TestCall(t *testing.T) {
	t.Parallel()
	s := open(t, option{})
	eachEra(t, func(t *testing.T, era string) {
		reply := s.call(t, era, "search_domain", map[string]any{"q": "acme"})
		result := reply.result(t)
		want := `{"query":"acme","names":["acme.com","<acme>.net"]}`
		if result.IsError || len(result.Content) != 1 || result.Content[0].Text != want {
			t.Errorf("text: got %+v, want %s", result, want)
		}
		var structured, text any
		if err := json.Unmarshal(result.Structured, &structured); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(want), &text); err != nil {
			t.Fatal(err)
		}
		if got, want := marshal(structured), marshal(text); got != want {
			t.Errorf("structured content: got %s, want %s", got, want)
		}
		if reply.StatusCode != http.StatusOK || reply.Header.Get("Content-Type") != "application/json" {
			t.Errorf("got %d %s", reply.StatusCode, reply.Header.Get("Content-Type"))
		}
	})
}

func marshal(v any) string {
	raw, _ := json.Marshal(v)
	return string(raw)
}

// mcp-go turns an error of a handler into -32603, and its own validation answers with a dump of Go values.
func TestFailuresTellHowToMendTheCall(t *testing.T) {
	t.Parallel()
	s := open(t, option{})
	for _, test := range []struct {
		name      string
		tool      string
		arguments any
		want      string
	}{
		{"a field is missing", "search_domain", map[string]any{}, "q is required: a label or a domain, e.g. acme or acme.com\ncode: validation_error"},
		{"no arguments", "search_domain", nil, "q is required: a label or a domain, e.g. acme or acme.com\ncode: validation_error"},
		{
			"two fields are wrong", "search_domain",
			map[string]any{"q": 1, "fail": true},
			"fail must be a string, not a boolean\nq must be a string, not a number\ncode: validation_error",
		},
		{
			"an unknown field", "search_domain",
			map[string]any{"Q": "x"},
			"Q is not a known field; did you mean q?\nq is required: a label or a domain, e.g. acme or acme.com\ncode: validation_error",
		},
		{"arguments that are no object", "search_domain", "acme", "the input must be a JSON object, not a string\ncode: validation_error"},
		{"out of range", "check_domains", map[string]any{"to": 70000}, "to must be between -32768 and 32767\ncode: validation_error"},
		{
			"a time to wait", "search_domain",
			map[string]any{"q": "x", "fail": "busy"},
			"the registry is busy; ask again later\ncode: unavailable\nretry after: 2 s",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachEra(t, func(t *testing.T, era string) {
				reply := s.call(t, era, test.tool, test.arguments)
				result := reply.result(t)
				if !result.IsError || len(result.Structured) != 0 || len(result.Content) != 1 || result.Content[0].Text != test.want {
					t.Errorf("%s(%v):\n got %+v\nwant %q", test.tool, test.arguments, result, test.want)
				}
			})
		})
	}
}

func TestErrorsOfOursAreHidden(t *testing.T) {
	t.Parallel()
	s := open(t, option{})
	eachEra(t, func(t *testing.T, era string) {
		reply := s.call(t, era, "search_domain", map[string]any{"q": "x", "fail": "internal"})
		id := reply.Header.Get("X-Request-Id")
		result := reply.result(t)
		want := "something failed on our side; retry with exponential back-off, and send us the request id if it lasts\n" +
			"code: internal_error\nrequest id: " + id
		if !result.IsError || result.Content[0].Text != want {
			t.Errorf("got %+v\nwant %q", result, want)
		}
		if log := s.log.String(); !strings.Contains(log, `"id":"`+id+`","error":"secret: the database is at 10.0.0.7"`) {
			t.Errorf("the log does not hold the error: %s", log)
		}
	})
}

func TestPanicInAnOperation(t *testing.T) {
	t.Parallel()
	s := open(t, option{})
	eachEra(t, func(t *testing.T, era string) {
		reply := s.call(t, era, "search_domain", map[string]any{"q": "hush", "fail": "panic"})
		if reply.StatusCode != http.StatusInternalServerError || strings.Contains(reply.text, "hush") {
			t.Errorf("got %d %s, want 500 without the cause", reply.StatusCode, reply.text)
		}
		if again := s.call(t, era, "search_domain", map[string]any{"q": "acme"}); again.result(t).IsError {
			t.Errorf("afterwards: got %s", again.text)
		}
	})
}

// Of mcp-go's own progress notifications the last is lost in one call of four.
func TestProgressArrivesWhole(t *testing.T) {
	t.Parallel()
	s := open(t, option{})
	eachEra(t, func(t *testing.T, era string) {
		for _, token := range []any{"tok", 17.0} {
			for range 50 {
				params := map[string]any{"name": "check_domains", "arguments": map[string]any{"to": 5}, "_meta": map[string]any{"progressToken": token}}
				reply := s.post(t, "/mcp", era, body(era, "tools/call", params))
				if result := reply.result(t); result.IsError || string(result.Structured) != `{"done":5}` {
					t.Fatalf("got %s", reply.text)
				}
				progress := reply.events[:len(reply.events)-1]
				before := 0.0
				for _, m := range progress {
					reached, _ := m.Params["progress"].(float64)
					if m.Method != "notifications/progress" || m.Params["progressToken"] != token || m.Params["total"] != 5.0 || reached <= before {
						t.Fatalf("got %+v after %v", m, before)
					}
					before = reached
				}
				if before != 5 {
					t.Fatalf("the last progress is %v, want 5: %s", before, reply.text)
				}
			}
		}
	})
}

func TestProgressIsOnlyForThoseWhoAsk(t *testing.T) {
	t.Parallel()
	s := open(t, option{})
	eachEra(t, func(t *testing.T, era string) {
		with := func(token any) string {
			return body(era, "tools/call", map[string]any{"name": "check_domains", "arguments": map[string]any{"to": 5}, "_meta": map[string]any{"progressToken": token}})
		}
		for name, reply := range map[string]*reply{
			"no token":                s.call(t, era, "check_domains", map[string]any{"to": 5}),
			"a token of another type": s.post(t, "/mcp", era, with(map[string]any{"a": 1})),
			"no event stream":         s.post(t, "/mcp", era, with("t"), "Accept", "", "Accept", "application/json"),
		} {
			if len(reply.events) != 1 || reply.Header.Get("Content-Type") != "application/json" || reply.result(t).IsError {
				t.Errorf("%s: got %s %s", name, reply.Header.Get("Content-Type"), reply.text)
			}
		}
	})
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	s := open(t, option{})
	priced := map[string]any{"q": "acme", "require_real_prices": true}
	missing := `Bearer resource_metadata="` + s.url + `/.well-known/oauth-protected-resource/mcp", scope="pricing:read"`
	for _, test := range []struct {
		name      string
		path      string
		tool      string
		arguments any
		headers   []string
		status    int
		challenge string // begins so
		code      string // in the data of the error; none: a result
	}{
		{"anybody may ask", "/mcp", "search_domain", map[string]any{"q": "acme"}, nil, 200, "", ""},
		{"real prices need a token", "/mcp", "search_domain", priced, nil, 401, missing, "authentication_required"},
		{"with one they come", "/mcp", "search_domain", priced, []string{"Authorization", "Bearer priced"}, 200, "", ""},
		{"the scheme in any case", "/mcp", "search_domain", priced, []string{"Authorization", "bEARER priced"}, 200, "", ""},
		{
			"a token without the scope", "/mcp", "search_domain", priced,
			[]string{"Authorization", "Bearer bare"},
			403,
			`Bearer error="insufficient_scope", error_description="the access token lacks the scope pricing:read; sign in again and ask for it", ` +
				strings.TrimPrefix(missing, "Bearer "), "insufficient_scope",
		},
		{
			"a bad token is never anonymous", "/mcp", "search_domain",
			map[string]any{"q": "acme"},
			[]string{"Authorization", "Bearer nope"},
			401,
			`Bearer error="invalid_token", error_description="the access token is unknown", ` + strings.TrimPrefix(missing, "Bearer "), "invalid_token",
		},
		{
			"another scheme", "/mcp", "search_domain",
			map[string]any{"q": "acme"},
			[]string{"Authorization", "Basic eDp5"},
			401,
			`Bearer error="invalid_token"`, "invalid_token",
		},
		{
			"two headers", "/mcp", "search_domain",
			map[string]any{"q": "acme"},
			[]string{"Authorization", "Bearer priced", "Authorization", "Bearer owner"},
			400,
			"", "validation_error",
		},
		{"a token in the query counts for nothing", "/mcp?access_token=priced", "search_domain", priced, nil, 401, missing, "authentication_required"},
		{
			"writing needs its scope", "/mcp", "bulk_domains",
			map[string]any{"q": "acme"},
			nil, 401,
			strings.Replace(missing, "pricing:read", "domains:write", 1), "authentication_required",
		},
		{
			"and more than the one for prices", "/mcp", "bulk_domains",
			map[string]any{"q": "acme"},
			[]string{"Authorization", "Bearer priced"},
			403,
			`Bearer error="insufficient_scope"`, "insufficient_scope",
		},
		{"the owner may", "/mcp", "bulk_domains", map[string]any{"q": "acme"}, []string{"Authorization", "Bearer owner"}, 200, "", ""},
		{
			"the other address asks at once", "/mcp/signed-in", "search_domain",
			map[string]any{"q": "acme"},
			nil, 401,
			strings.Replace(missing, `/mcp"`, `/mcp/signed-in"`, 1), "authentication_required",
		},
		{"and lets tokens in", "/mcp/signed-in", "search_domain", priced, []string{"Authorization", "Bearer priced"}, 200, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachEra(t, func(t *testing.T, era string) {
				reply := s.post(t, test.path, era, callBody(era, test.tool, test.arguments), test.headers...)
				challenge := reply.Header.Get("Www-Authenticate")
				if reply.StatusCode != test.status || !strings.HasPrefix(challenge, test.challenge) || (challenge == "") != (test.challenge == "") {
					t.Errorf("got %d %q\nwant %d %q", reply.StatusCode, challenge, test.status, test.challenge)
				}
				m := reply.last(t)
				if test.code == "" {
					if asToolResult(t, m).IsError {
						t.Errorf("got %s", reply.text)
					}
					return
				}
				var data door.Problem
				if m.Error == nil || json.Unmarshal(m.Error.Data, &data) != nil || string(data.Code) != test.code || data.RequestID == "" {
					t.Errorf("got %s, want the code %s", reply.text, test.code)
				}
			})
		})
	}
}

func TestEveryRequestOfTheOtherAddressIsChallenged(t *testing.T) {
	t.Parallel()
	s := open(t, option{})
	for _, text := range []string{body(legacy, "initialize", nil), body(legacy, "tools/list", nil), `{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{`, ``} {
		reply := s.post(t, "/mcp/signed-in", legacy, text)
		if reply.StatusCode != 401 || reply.Header.Get("Www-Authenticate") == "" {
			t.Errorf("%q: got %d %s, want 401 and a challenge", text, reply.StatusCode, reply.text)
		}
	}
	reply := s.do(t, http.MethodGet, "/mcp/signed-in", "", "")
	if reply.StatusCode != 401 {
		t.Errorf("GET: got %d, want 401", reply.StatusCode)
	}
}

func TestGuard(t *testing.T) {
	t.Parallel()
	s := open(t, option{cfg: assistant.Config{AllowedOrigins: []string{"https://chat.example"}, AllowedHosts: []string{"mcp.example"}}})
	ask := callBody(legacy, "search_domain", map[string]any{"q": "acme"})
	long := strings.Repeat(" ", 256<<10-len(ask))
	for _, test := range []struct {
		name    string
		method  string
		text    string
		headers []string
		status  int
	}{
		{"no origin", "POST", ask, nil, 200},
		{"our own origin", "POST", ask, []string{"Origin", s.url}, 200},
		{"a loopback origin", "POST", ask, []string{"Origin", "http://localhost:6274"}, 200},
		{"a named origin", "POST", ask, []string{"Origin", "https://chat.example"}, 200},
		{"a named host as origin of another scheme", "POST", ask, []string{"Origin", "http://chat.example"}, 403},
		{"a foreign origin", "POST", ask, []string{"Origin", "https://evil.example"}, 403},
		{"a sandboxed page", "POST", ask, []string{"Origin", "null"}, 403},
		{"a name that looks like loopback", "POST", ask, []string{"Origin", "http://localhost.evil.example"}, 403},
		{"two origins", "POST", ask, []string{"Origin", s.url, "Origin", "https://evil.example"}, 403},
		{"a rebound name", "POST", ask, []string{"Host", "evil.example"}, 403},
		{"a named host", "POST", ask, []string{"Host", "mcp.example"}, 200},
		{"loopback under another name", "POST", ask, []string{"Host", "localhost:1"}, 200},
		{"at the limit", "POST", ask + long, nil, 200},
		{"over the limit", "POST", ask + long + " ", nil, 413},
		{"not JSON by its type", "POST", ask, []string{"Content-Type", "", "Content-Type", "text/plain"}, 415},
		{"a type with parameters", "POST", ask, []string{"Content-Type", "", "Content-Type", "application/json; charset=utf-8"}, 200},
		{"a legacy stream to listen on", "GET", "", nil, 405},
		{"the end of a session", "DELETE", "", nil, 405},
		{"HEAD", "HEAD", "", nil, 405},
		{"a method nobody has", "PUT", ask, nil, 405},
		{"a batch", "POST", "[" + ask + "]", nil, 400},
		{"not JSON", "POST", "{", nil, 400},
		{"nothing", "POST", "", nil, 400},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			reply := s.do(t, test.method, "/mcp", legacy, test.text, test.headers...)
			if reply.StatusCode != test.status {
				t.Errorf("got %d %.200s, want %d", reply.StatusCode, reply.text, test.status)
			}
			if test.status == 405 && reply.Header.Get("Allow") != "POST, OPTIONS" {
				t.Errorf("Allow: got %q", reply.Header.Get("Allow"))
			}
			if test.status >= 400 && test.method != "HEAD" {
				if m := reply.last(t); m.Error == nil || m.Error.Message == "" {
					t.Errorf("got %s, want a JSON-RPC error", reply.text)
				}
			}
		})
	}
}

func TestUnboundedBodyIsCut(t *testing.T) {
	t.Parallel()
	s := open(t, option{})
	r, err := http.NewRequestWithContext(t.Context(), "POST", s.url+"/mcp", struct{ *strings.Reader }{strings.NewReader(strings.Repeat(" ", 300<<10))})
	if err != nil {
		t.Fatal(err)
	}
	r.ContentLength = -1
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a body of unknown length: got %d, want 413", resp.StatusCode)
	}
}

func TestCORS(t *testing.T) {
	t.Parallel()
	s := open(t, option{})
	ours := "http://localhost:6274"
	reply := s.do(t, http.MethodOptions, "/mcp", "", "", "Origin", ours, "Access-Control-Request-Method", "POST")
	h := reply.Header
	if reply.StatusCode != 204 || h.Get("Access-Control-Allow-Origin") != ours || h.Get("Access-Control-Allow-Methods") != "POST, OPTIONS" ||
		!strings.Contains(h.Get("Access-Control-Allow-Headers"), "Authorization") || h.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("preflight: got %d %v", reply.StatusCode, h)
	}
	reply = s.do(t, http.MethodOptions, "/mcp", "", "", "Origin", "https://evil.example", "Access-Control-Request-Method", "POST")
	if reply.StatusCode != 403 || reply.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("preflight of a foreign page: got %d %v", reply.StatusCode, reply.Header)
	}
	reply = s.call(t, legacy, "search_domain", map[string]any{"q": "a", "require_real_prices": true}, "Origin", ours)
	if h := reply.Header; h.Get("Access-Control-Allow-Origin") != ours || !strings.Contains(h.Get("Access-Control-Expose-Headers"), "WWW-Authenticate") {
		t.Errorf("a page must be able to read the challenge: got %v", h)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	eachEra(t, func(t *testing.T, era string) {
		s := open(t, option{limits: map[op.Class]door.Quota{op.Lookup: {Anonymous: 2, SignedIn: 3}, op.Read: {Anonymous: 4, SignedIn: 5}}})
		find := func(headers ...string) *reply {
			return s.call(t, era, "search_domain", map[string]any{"q": "acme"}, headers...)
		}
		if reply := find(); reply.result(t).IsError || reply.Header.Get("RateLimit") == "" {
			t.Errorf("the first call: %s", reply.text)
		}
		if reply := s.call(t, era, "search_domain", map[string]any{}); !strings.Contains(reply.text, "q is required") {
			t.Errorf("a refused call: %s", reply.text)
		}
		reply := find()
		if text := reply.result(t).Content[0].Text; !reply.result(t).IsError || !strings.Contains(text, "\ncode: rate_limited\nretry after: ") {
			t.Errorf("over the limit (a refused call counts): got %q", text)
		}
		if reply := find("Authorization", "Bearer priced"); reply.result(t).IsError {
			t.Errorf("a signed-in caller has a budget of its own: %s", reply.text)
		}
		for i := range 5 {
			reply := s.post(t, "/mcp", era, body(era, "tools/list", nil))
			if limited := reply.StatusCode == 429 && reply.Header.Get("Retry-After") != ""; limited != (i == 4) {
				t.Errorf("list %d: got %d, Retry-After %q", i, reply.StatusCode, reply.Header.Get("Retry-After"))
			}
		}
		if reply := s.call(t, era, "no_such_tool", map[string]any{}); reply.StatusCode != 429 {
			t.Errorf("an unknown tool draws too: got %d %s", reply.StatusCode, reply.text)
		}
	})
}

// Without sessions, mcp-go would let one client cancel the call of another that happens to have the same id.
func TestACallCannotBeCancelledByOthers(t *testing.T) {
	t.Parallel()
	s := open(t, option{})
	done := make(chan *reply, 1)
	go func() { done <- s.call(t, legacy, "whois_lookup", map[string]any{"ms": 300}) }()
	for range 20 {
		reply := s.post(t, "/mcp", legacy, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
		if reply.StatusCode != http.StatusAccepted {
			t.Fatalf("got %d, want 202", reply.StatusCode)
		}
	}
	if got := <-done; got.result(t).IsError {
		t.Errorf("the call of another client was cancelled: %s", got.text)
	}
}

func TestHandshake(t *testing.T) {
	t.Parallel()
	s := open(t, option{})
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		reply := s.post(t, "/mcp", "", body("", "initialize", map[string]any{
			"protocolVersion": version, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "t", "version": "1"},
		}))
		var result struct {
			ProtocolVersion string
			Capabilities    map[string]map[string]any
			ServerInfo      struct{ Name, Title, Version string }
			Instructions    string
		}
		if err := json.Unmarshal(reply.last(t).Result, &result); err != nil {
			t.Fatal(err)
		}
		if result.ProtocolVersion != version || result.ServerInfo.Name != "namewharf" || result.ServerInfo.Version != "1.2.3" {
			t.Errorf("%s: got %+v", version, result)
		}
		if words := len(strings.Fields(result.Instructions)); words == 0 || words > 120 {
			t.Errorf("the instructions have %d words, want 1 to 120", words)
		}
		if got := marshal(result.Capabilities); got != `{"completions":{},"prompts":{},"resources":{},"tools":{}}` {
			t.Errorf("%s: capabilities %s", version, got)
		}
		if id := reply.Header.Get("Mcp-Session-Id"); id != "" {
			t.Errorf("%s: a session %s", version, id)
		}
	}
}

func TestDiscover(t *testing.T) {
	t.Parallel()
	s := open(t, option{})
	var result struct {
		SupportedVersions []string
		Capabilities      map[string]map[string]any
		Instructions      string
		TTLMs             int
		CacheScope        string
	}
	reply := s.post(t, "/mcp", modern, body(modern, "server/discover", nil))
	if err := json.Unmarshal(reply.last(t).Result, &result); err != nil {
		t.Fatal(err)
	}
	if len(result.SupportedVersions) == 0 || result.SupportedVersions[0] != modern || result.Instructions == "" || result.TTLMs != 3_600_000 || result.CacheScope != "public" {
		t.Errorf("got %+v", result)
	}
	if got := marshal(result.Capabilities); got != `{"completions":{},"prompts":{},"resources":{},"tools":{}}` {
		t.Errorf("capabilities %s", got)
	}
}

func TestWhatIsNotServed(t *testing.T) {
	t.Parallel()
	s := open(t, option{})
	eachEra(t, func(t *testing.T, era string) {
		for _, method := range []string{"logging/setLevel", "resources/subscribe", "tasks/list", "tasks/get", "roots/list", "sampling/createMessage", "elicitation/create", "no/such"} {
			reply := s.post(t, "/mcp", era, body(era, method, map[string]any{"level": "info", "uri": "domains://catalogue", "taskId": "t"}))
			if m := reply.last(t); m.Error == nil || m.Error.Code != -32601 {
				t.Errorf("%s: got %s, want -32601", method, reply.text)
			}
		}
		reply := s.call(t, era, "not_a_tool", map[string]any{"q": "x"})
		if m := reply.last(t); m.Error == nil || m.Error.Code != -32602 {
			t.Errorf("an operation that is no tool: got %s, want -32602", reply.text)
		}
	})
	reply := s.post(t, "/mcp", modern, body(modern, "subscriptions/listen", map[string]any{"notifications": map[string]any{"toolsListChanged": true}}))
	if m := reply.last(t); m.Error != nil {
		t.Errorf("a subscription to nothing ends at once: got %s", reply.text)
	}
}

func TestTheLogNamesToolsAndNothingElse(t *testing.T) {
	t.Parallel()
	s := open(t, option{})
	s.call(t, legacy, "search_domain", map[string]any{"q": "hush-hush"})
	s.call(t, legacy, "hush-tool", map[string]any{"q": "hush-hush"})
	s.call(t, legacy, "search_domain", map[string]any{"hush": "hush-hush"}, "Authorization", "Bearer hush-token")
	log := s.log.String()
	if strings.Contains(log, "hush") || strings.Count(log, `"operation":"search_domain"`) != 1 || strings.Count(log, `"operation":"mcp"`) != 1 {
		t.Errorf("the log:\n%s", log)
	}
}
