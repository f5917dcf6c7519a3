package mcp_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/namewharf/namewharf/serve/mcp"
)

func TestResources(t *testing.T) {
	t.Parallel()
	s := open(t, option{})
	eachEra(t, func(t *testing.T, era string) {
		for method, want := range map[string]string{
			"resources/list":           `domains://catalogue domains://glossary/epp-status`,
			"resources/templates/list": `domains://tlds/{tld}`,
		} {
			var list struct {
				Resources         []struct{ URI, Name, Title, Description, MIMEType string }
				ResourceTemplates []struct{ URITemplate, Name, Title, Description, MIMEType string }
			}
			reply := s.post(t, "/mcp", era, body(era, method, nil))
			if err := json.Unmarshal(reply.last(t).Result, &list); err != nil {
				t.Fatal(err)
			}
			var uris []string
			for _, r := range list.Resources {
				uris = append(uris, r.URI)
				if r.Title == "" || r.Description == "" || r.MIMEType != "application/json" {
					t.Errorf("%s is not described in full: %+v", r.URI, r)
				}
			}
			for _, r := range list.ResourceTemplates {
				uris = append(uris, r.URITemplate)
			}
			if got := strings.Join(uris, " "); got != want {
				t.Errorf("%s: got %s, want %s", method, got, want)
			}
			if hinted := strings.Contains(reply.text, `"cacheScope":"public"`) && strings.Contains(reply.text, `"ttlMs":3600000`); hinted != (era == modern) {
				t.Errorf("%s: cache hints in %s", method, reply.text)
			}
		}
	})
}

// mcp-go has -32603 for every failure of a handler.
func TestReadResource(t *testing.T) {
	t.Parallel()
	s := open(t, option{})
	missing := map[string]int{legacy: -32002, modern: -32602}
	eachEra(t, func(t *testing.T, era string) {
		for _, test := range []struct {
			uri, text string
			code      int
		}{
			{"domains://catalogue", `{"operations":[]}`, 0},
			{"domains://glossary/epp-status", `{"ok":"fine"}`, 0},
			{"domains://tlds/com", `{"tld":"com"}`, 0},
			{"domains://tlds/co.uk", `{"tld":"co.uk"}`, 0},
			{"domains://tlds/%D1%80%D1%84", `{"tld":"рф"}`, 0},
			{"domains://tlds/a/b", "", missing[era]},
			{"domains://tlds/", "the suffix is not known", missing[era]},
			{"domains://tlds/nosuch", "the suffix is not known", missing[era]},
			{"domains://tlds/broken", "something failed on our side; retry with exponential back-off, and send us the request id if it lasts", -32603},
			{"domains://other", "", missing[era]},
		} {
			reply := s.post(t, "/mcp", era, body(era, "resources/read", map[string]any{"uri": test.uri}))
			m := reply.last(t)
			if test.code != 0 {
				if m.Error == nil || m.Error.Code != test.code || test.text != "" && m.Error.Message != test.text || string(m.ID) != "7" {
					t.Errorf("%s: got %s, want %d %s", test.uri, reply.text, test.code, test.text)
				}
				if want := map[bool]int{true: 400, false: 200}[test.code == -32602]; reply.StatusCode != want {
					t.Errorf("%s: got the status %d, want %d", test.uri, reply.StatusCode, want)
				}
				continue
			}
			var result struct {
				Contents []struct{ URI, MIMEType, Text string }
			}
			if err := json.Unmarshal(m.Result, &result); err != nil {
				t.Fatal(err)
			}
			if len(result.Contents) != 1 || result.Contents[0].Text != test.text || result.Contents[0].URI != test.uri {
				t.Errorf("%s: got %s, want %s", test.uri, reply.text, test.text)
			}
		}
		if strings.Contains(s.log.String(), "secret: disk full") == false {
			t.Errorf("the log does not hold the error: %s", s.log)
		}
	})
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	s := open(t, option{})
	template := map[string]any{"type": "ref/resource", "uri": "domains://tlds/{tld}"}
	prompt := func(name string) map[string]any { return map[string]any{"type": "ref/prompt", "name": name} }
	eachEra(t, func(t *testing.T, era string) {
		for _, test := range []struct {
			ref             map[string]any
			argument, value string
			want            string
		}{
			{template, "tld", "co", "com co coffee"},
			{template, "tld", ".COM", "com"},
			{template, "tld", "zzz", ""},
			{template, "other", "co", ""},
			{map[string]any{"type": "ref/resource", "uri": "domains://other"}, "tld", "co", ""},
			{prompt("compare_tlds"), "tlds", "net, co", "net, com|net, co|net, coffee"},
			{prompt("find_a_domain"), "tlds", "n", "net"},
			{prompt("find_a_domain"), "idea", "co", ""},
		} {
			reply := s.post(t, "/mcp", era, body(era, "completion/complete", map[string]any{
				"ref": test.ref, "argument": map[string]any{"name": test.argument, "value": test.value},
			}))
			var result struct {
				Completion struct{ Values []string }
			}
			if err := json.Unmarshal(reply.last(t).Result, &result); err != nil {
				t.Fatal(err)
			}
			separator := " "
			if strings.Contains(test.want, "|") {
				separator = "|"
			}
			if got := strings.Join(result.Completion.Values, separator); got != test.want || result.Completion.Values == nil {
				t.Errorf("%v %s=%q: got %q, want %q", test.ref, test.argument, test.value, got, test.want)
			}
		}
	})
}

func TestPrompts(t *testing.T) {
	t.Parallel()
	s := open(t, option{cfg: mcp.Config{}})
	eachEra(t, func(t *testing.T, era string) {
		var list struct {
			Prompts []struct {
				Name, Title, Description string
				Arguments                []struct {
					Name     string
					Required bool
				}
			}
		}
		if err := json.Unmarshal(s.post(t, "/mcp", era, body(era, "prompts/list", nil)).last(t).Result, &list); err != nil {
			t.Fatal(err)
		}
		// The others are not offered, because the tools they need are not among those of the test.
		if len(list.Prompts) != 1 || list.Prompts[0].Name != "vet_domain" {
			t.Errorf("got %+v", list.Prompts)
		}
		for _, test := range []struct {
			name      string
			arguments map[string]string
			want      string // in the text
			wrong     string // in the error
		}{
			{"vet_domain", map[string]string{"domain": "example.com"}, "Vet the domain example.com.", ""},
			{"vet_domain", nil, "", "domain is required: the domain, e.g. example.com"},
			{"vet_domain", map[string]string{"domain": " "}, "", "domain is required: the domain, e.g. example.com"},
			{"vet_domain", map[string]string{"domain": strings.Repeat("é", 501)}, "", "domain must have at most 500 characters"},
			{"vet_domain", map[string]string{"domain": "a.b", "x": "y"}, "", "the prompt vet_domain has no such argument"},
		} {
			reply := s.post(t, "/mcp", era, body(era, "prompts/get", map[string]any{"name": test.name, "arguments": test.arguments}))
			m := reply.last(t)
			if test.wrong != "" {
				if m.Error == nil || m.Error.Code != -32602 || m.Error.Message != test.wrong {
					t.Errorf("%s %v: got %s, want -32602 %s", test.name, test.arguments, reply.text, test.wrong)
				}
				continue
			}
			var result struct {
				Messages []struct {
					Role    string
					Content struct{ Type, Text string }
				}
			}
			if err := json.Unmarshal(m.Result, &result); err != nil {
				t.Fatal(err)
			}
			if len(result.Messages) != 1 || result.Messages[0].Role != "user" || !strings.Contains(result.Messages[0].Content.Text, test.want) {
				t.Errorf("%s %v: got %s, want %q", test.name, test.arguments, reply.text, test.want)
			}
		}
	})
}
