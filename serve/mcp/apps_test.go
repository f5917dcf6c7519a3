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

// Clients show the icon and the title in their lists of servers and tools.
func TestIconsAndTitles(t *testing.T) {
	t.Parallel()
	s := open(t, option{cfg: mcp.Config{Icons: []mcp.Icon{{Type: "image/svg+xml", Size: "any", Body: []byte("<svg/>")}}}})
	hello := string(s.post(t, "/mcp", "2025-11-25", body("2025-11-25", "initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "test", "version": "1"},
	})).last(t).Result)
	for _, part := range []string{`"title":"Namewharf"`, `"icons":[{"src":"data:image/svg+xml;base64,PHN2Zy8+","mimeType":"image/svg+xml","sizes":["any"]}]`} {
		if !strings.Contains(hello, part) {
			t.Errorf("initialize lacks %s: %s", part, hello)
		}
	}
	var list struct {
		Tools []struct {
			Name, Title string
			Annotations struct{ Title string }
		}
	}
	if err := json.Unmarshal(s.post(t, "/mcp", modern, body(modern, "tools/list", nil)).last(t).Result, &list); err != nil || len(list.Tools) == 0 {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		if tool.Title == "" || tool.Annotations.Title != tool.Title {
			t.Errorf("%s has the titles %q and %q", tool.Name, tool.Title, tool.Annotations.Title)
		}
	}
}
