package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/serve/mcp"
	"github.com/namewharf/namewharf/serve/middleware"
	"github.com/namewharf/namewharf/serve/rest"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
	"github.com/namewharf/namewharf/tools"
)

// accounts takes the token for the account's id.
type accounts struct{}

func (accounts) Caller(_ context.Context, token, _ string) (op.Caller, error) {
	if !strings.HasPrefix(token, "acc_") {
		return op.Caller{}, fault.New(fault.InvalidToken, "the access token is not one of ours")
	}
	return op.Caller{Account: token, Scopes: []string{tools.ScopeDomains}}, nil
}

// The one difference between the transports: who leaves dry_run out of a tool call gets a dry run, and who leaves it out of a
// request does not.
func TestDryRunIsTheDefaultOfTheToolAlone(t *testing.T) {
	t.Parallel()
	o := newOffice(t, storetest.Open(t, store.Config{Temporary: true}))
	front := middleware.New(middleware.Config{BaseURL: "https://names.example", Tokens: accounts{}, Logger: slog.New(slog.DiscardHandler)})
	web := rest.New(rest.Config{Middleware: front, Set: o.set, Version: tools.APIVersion, MCP: "https://names.example/mcp"})
	server, err := mcp.New(mcp.Config{Set: o.set, Version: tools.APIVersion, Middleware: front, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	mcp := server.Handler("https://names.example/mcp", false)
	send := func(h http.Handler, url, body string) (int, string) {
		r := httptest.NewRequest("POST", url, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		if strings.HasSuffix(url, "/mcp") {
			r.Header.Set("Accept", "application/json, text/event-stream")
		}
		r.Header.Set("MCP-Protocol-Version", "2025-11-25")
		r.Header.Set("Authorization", "Bearer acc_1")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	tool := func(arguments string) string {
		_, body := send(mcp, "https://names.example/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bulk_domains","arguments":`+arguments+`}}`)
		var reply struct {
			Result struct {
				Structured json.RawMessage `json:"structuredContent"`
			}
		}
		if err := json.Unmarshal([]byte(body), &reply); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		return string(reply.Result.Structured)
	}
	request := func(body string) string {
		status, text := send(web, "https://names.example/api/domains/bulk/remove", body)
		if status != http.StatusOK {
			t.Fatalf("%d %s", status, text)
		}
		return strings.TrimSpace(text)
	}
	status, added := send(web, "https://names.example/api/domains", `{"domain":"cobaltpine.com"}`)
	if status != http.StatusCreated || !strings.HasPrefix(added, `{"domain":"cobaltpine.com","status":"pending","proof":{"type":"TXT","name":"_namewharf.cobaltpine.com","value":"`) {
		t.Errorf("POST /api/domains: %d %s", status, added)
	}
	ctx := as(t.Context(), "acc_1")
	const answer, names = `{"op":"remove","dry_run":%v,"results":[{"domain":"cobaltpine.com","ok":true}],"succeeded":1,"failed":0}`, `"domains":["cobaltpine.com"]`
	for _, test := range []struct {
		what string
		call func() string
		dry  bool
	}{
		{"a tool call without dry_run", func() string { return tool(`{"op":"remove",` + names + `}`) }, true},
		{"a tool call with dry_run true", func() string { return tool(`{"op":"remove",` + names + `,"dry_run":true}`) }, true},
		{"a tool call with dry_run false", func() string { return tool(`{"op":"remove",` + names + `,"dry_run":false}`) }, false},
		{"a request with dry_run true", func() string { return request(`{` + names + `,"dry_run":true}`) }, true},
		{"a request without dry_run", func() string { return request(`{` + names + `}`) }, false},
	} {
		o.add(ctx, t, "cobaltpine.com")
		equal(t, test.what, test.call(), fmt.Sprintf(answer, test.dry))
		left := "cobaltpine.com pending"
		if !test.dry {
			left = ""
		}
		equal(t, test.what+" leaves", o.portfolioOf(ctx, t), left)
	}

	_, list := send(mcp, "https://names.example/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	for _, want := range []string{`"name":"bulk_domains"`, `"default":true`, `"destructiveHint":true`} {
		if strings.Count(list, want) != 1 {
			t.Errorf("tools/list has %s %d times, want once", want, strings.Count(list, want))
		}
	}
	if strings.Contains(list, "list_tlds") || !strings.Contains(list, "add_domain") || !strings.Contains(list, "list_domains") {
		t.Error("operations that are not tools are in the list, or tools are not")
	}
	w := httptest.NewRecorder()
	web.ServeHTTP(w, httptest.NewRequest("GET", "https://names.example/openapi.json", nil))
	if text := w.Body.String(); strings.Contains(text, `"default":true`) || !strings.Contains(text, `"/api/domains/bulk/{op}"`) {
		t.Error("/openapi.json has the default of the tool, or lacks the path")
	}
}
