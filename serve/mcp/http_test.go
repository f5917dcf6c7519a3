package mcp_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
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

// Requests that are refused before their message is read were logged as of no operation.
func TestTheLogNamesToolsAndNothingElse(t *testing.T) {
	t.Parallel()
	s := open(t, option{})
	s.call(t, legacy, "search_domain", map[string]any{"q": "hush-hush"})
	s.call(t, legacy, "hush-tool", map[string]any{"q": "hush-hush"})
	s.call(t, legacy, "search_domain", map[string]any{"hush": "hush-hush"}, "Authorization", "Bearer hush-token")
	s.do(t, http.MethodGet, "/mcp", "", "")
	log := s.log.String()
	if strings.Contains(log, "hush") || strings.Count(log, `"operation":"search_domain"`) != 1 || strings.Count(log, `"operation":"mcp"`) != 3 {
		t.Errorf("the log:\n%s", log)
	}
}
