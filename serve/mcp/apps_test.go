package mcp_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/namewharf/namewharf/serve/mcp"
)

// A page is listed and read by anybody, and the tools whose answers it shows say so to every client, in both eras.
func TestApps(t *testing.T) {
	t.Parallel()
	page := mcp.App{URI: "ui://test/page.html", Name: "page", Title: "Page", Doc: "Shows.", HTML: "<!doctype html><p>é", Tools: []string{"search_domain", "no_such_tool"}}
	eachEra(t, func(t *testing.T, era string) {
		s := open(t, option{cfg: mcp.Config{Apps: []mcp.App{page}}})
		ask := func(method string, params map[string]any) string {
			return string(s.post(t, "/mcp", era, body(era, method, params)).last(t).Result)
		}
		var list struct {
			Tools []struct {
				Name string
				Meta json.RawMessage `json:"_meta"`
			}
		}
		if err := json.Unmarshal([]byte(ask("tools/list", nil)), &list); err != nil {
			t.Fatal(err)
		}
		for _, tool := range list.Tools {
			want := ""
			if tool.Name == "search_domain" {
				want = `{"ui":{"resourceUri":"ui://test/page.html"}}`
			}
			if string(tool.Meta) != want {
				t.Errorf("%s: _meta is %s, want %s", tool.Name, tool.Meta, want)
			}
		}
		const ui = `{"ui":{"csp":{},"prefersBorder":true}}`
		for _, part := range []string{`"uri":"ui://test/page.html"`, `"mimeType":"text/html;profile=mcp-app"`, `"_meta":` + ui, `"domains://catalogue"`} {
			if got := ask("resources/list", nil); !strings.Contains(got, part) {
				t.Errorf("resources/list lacks %s: %s", part, got)
			}
		}
		var read struct {
			Contents []struct {
				URI, MimeType, Text string
				Meta                json.RawMessage `json:"_meta"`
			}
		}
		if err := json.Unmarshal([]byte(ask("resources/read", map[string]any{"uri": page.URI})), &read); err != nil || len(read.Contents) != 1 {
			t.Fatalf("resources/read: %+v, %v", read, err)
		}
		if c := read.Contents[0]; c.URI != page.URI || c.MimeType != "text/html;profile=mcp-app" || c.Text != page.HTML || string(c.Meta) != ui {
			t.Errorf("resources/read: %+v", c)
		}
	})
}
