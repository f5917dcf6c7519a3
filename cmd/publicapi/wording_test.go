package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/internal/programtest"
	"github.com/namewharf/namewharf/tools"
)

// REST names paths, an assistant has tools: no path in what MCP says of an error, no tool in what REST says.
func TestErrorsAreInTheWordsOfTheTransport(t *testing.T) {
	t.Parallel()
	s := open(t, "-rate-limits", "off")
	o := s.owner(t)
	path, toolName := regexp.MustCompile(`\b(GET|POST|PUT|DELETE) /|/api/`), regexp.MustCompile(`\bthe tools?\b`)
	set := tools.New(tools.Config{Secret: make([]byte, 32), Now: time.Now})
	var names []string
	for _, op := range set.All() {
		names = append(names, op.Name)
	}
	walked := 0
	check := func(name, in string) {
		t.Helper()
		op := set.Named(name)
		rest := ""
		if op.Route.Method == "GET" {
			rest = s.call(t, op, in).text
		} else {
			rest = o.asks(t, op.Route.Method, op.Route.Path, in, o.token).text
		}
		if strings.Contains(rest, `"message":"`) && toolName.MatchString(rest) {
			t.Errorf("%s %s: REST says %s", name, in, rest)
		}
		if !op.Tool {
			return
		}
		for _, token := range []string{"", o.token} {
			var headers []string
			if token != "" {
				headers = []string{"Authorization", "Bearer " + token}
			}
			r := s.mcp(t, "/mcp", legacy, name, message(legacy, name, in), headers...)
			for _, said := range regexp.MustCompile(`"(?:message|text)":"(?:[^"\\]|\\.)*"`).FindAllString(r.text, -1) {
				walked++
				if path.MatchString(said) {
					t.Errorf("%s %s: MCP says %s", name, in, said)
				}
			}
		}
	}
	for _, name := range names {
		example, err := json.Marshal(set.Named(name).Example)
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]any
		if json.Unmarshal(example, &fields) != nil {
			fields = map[string]any{}
		}
		for _, in := range []string{`{}`, `{"nosuchfield":1}`, `{"require_real_prices":true}`} {
			check(name, in)
		}
		for field := range fields { // each field in turn wrong
			for _, wrong := range []any{"", "a..b", "nosuchname.nosuchsuffix", -1, true, []string{}, map[string]any{"x": 1}, strings.Repeat("x", 300)} {
				bad := map[string]any{}
				maps.Copy(bad, fields)
				bad[field] = wrong
				in, err := json.Marshal(bad)
				if err != nil {
					t.Fatal(err)
				}
				check(name, string(in))
			}
		}
	}
	// What states of names lead to.
	o.add(t, "quietmeadow.com")
	for _, do := range []string{"list", "set_price", "unlist", "verify", "refresh", "remove"} {
		params := ""
		if do == "list" || do == "set_price" {
			params = `,"params":{"priceCents":100}`
		}
		check("bulk_domains", fmt.Sprintf(`{"op":%q,"dry_run":true,"domains":["quietmeadow.com","brewhaven.net","a..b"]%s}`, do, params))
	}
	for _, suffix := range []string{"nosuch", "a..b", "co.zz"} {
		check("tld_registration_price", fmt.Sprintf(`{"tld":%q}`, suffix))
		check("tld_metadata", fmt.Sprintf(`{"tld":%q}`, suffix))
		check("batch_lookup", fmt.Sprintf(`{"operations":[{"id":"a","op":"tld_registration_price","params":{"tld":%q}}]}`, suffix))
	}
	if walked < 100 {
		t.Errorf("only %d messages were looked at", walked)
	}
	r := s.mcp(t, "/mcp", legacy, "bulk_domains", message(legacy, "bulk_domains", `{"op":"verify","domains":["brewhaven.net"]}`), "Authorization", "Bearer "+o.token)
	if !strings.Contains(r.text, "with the tool add_domain") {
		t.Errorf("a name that is not in the portfolio: %s", r.text)
	}
}

// Every start says where everything is, what is off, and what to back up.
func TestSummary(t *testing.T) {
	t.Parallel()
	data := t.TempDir() + "/data"
	p := programtest.Start(t, nil, "-addr", "127.0.0.1:0", "-bootstrap-url", "off", "-data", data)
	base := p.Listening()
	var said strings.Builder
	for p.Lines.Scan() {
		said.WriteString(p.Lines.Text() + "\n")
		if strings.Contains(p.Lines.Text(), "the keys") {
			break
		}
	}
	for _, want := range []string{
		"publicapi ", base + "/api", base + "/mcp", base + "/docs", base + "/signin", "SQLite in " + data, "mail (-smtp)", "metrics (-metrics-addr)",
		"-trusted-proxies", "operator db backup", data + "/server.key", "zone index",
	} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("the summary lacks %q:\n%s", want, &said)
		}
	}
	p.Terminate()
	if _, status := p.Wait(); status != 0 {
		t.Errorf("status %d", status)
	}
}
