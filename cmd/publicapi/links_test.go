package main

import (
	"html"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
)

// browserAccept is what browsers send.
const browserAccept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

// A browser used to be shown JSON where there is nothing, and nothing for what it asks for by itself.
func TestWhatBrowsersAskFor(t *testing.T) {
	t.Parallel()
	s := open(t, "-rate-limits", "off")
	for _, path := range []string{"/nosuchpage", "/docs/nosuch", "/api/nosuch"} {
		r := s.do(t, "GET", path, "", "Accept", browserAccept)
		if r.StatusCode != http.StatusNotFound || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") || !strings.Contains(r.text, "There is nothing at this address") ||
			!strings.Contains(r.text, "/api/domain/search") || strings.Contains(r.text, "nosuch") || r.Header.Get("Content-Security-Policy") == "" {
			t.Errorf("GET %s as a browser: %d %v %s", path, r.StatusCode, r.Header, r.text)
		}
		for _, accept := range []string{"", "*/*", "application/json", "application/json, text/html"} {
			if r := s.do(t, "GET", path, "", "Accept", accept); r.StatusCode != http.StatusNotFound || !strings.Contains(r.text, `"not_found"`) {
				t.Errorf("GET %s, Accept %q: %d %s", path, accept, r.StatusCode, r.text)
			}
		}
		if r := s.do(t, "POST", "/nosuchpage", "{}", "Accept", browserAccept); r.StatusCode != http.StatusNotFound || !strings.Contains(r.text, `"not_found"`) {
			t.Errorf("POST %s: %d %s", path, r.StatusCode, r.text)
		}
	}
	for path, mediaType := range map[string]string{"/favicon.ico": "image/svg+xml", "/robots.txt": "text/plain", "/docs/": "text/html", "/docs": "text/html"} {
		if r := s.do(t, "GET", path, ""); r.StatusCode != http.StatusOK || !strings.HasPrefix(r.Header.Get("Content-Type"), mediaType) || r.text == "" {
			t.Errorf("GET %s: %d %v", path, r.StatusCode, r.Header)
		}
	}
	llms := s.do(t, "GET", "/llms.txt", "").text
	for _, want := range []string{"## Partner operations", "partner_create_order: POST /api/partner/v1/orders", "(scope buy)", "partner_put_webhook", "## Errors"} {
		if !strings.Contains(llms, want) {
			t.Errorf("llms.txt lacks %q", want)
		}
	}
	if readme := readText(t, "../../README.md"); !strings.Contains(readme, "&code_challenge_method=S256&") {
		t.Error("the README's authorization request does not say which challenge it sends")
	}
}

// link is what a page or a text leads to, as far as it is ours.
var link = regexp.MustCompile(`(?:href|src|action)="([^"#]+)[^"]*"|\]\(([^)\s#]+)[^)\s]*\)|(https?://[^\s"'<>)\x60,;]+)`)

// Every link that leads from the first page, through whatever pages, to this site leads to something.
func TestEveryLinkWorks(t *testing.T) {
	t.Parallel()
	s := open(t, "-rate-limits", "off")
	from := map[string]string{"/": "the start", "/signin": "the start", "/signup": "the start", "/nosuchpage": "the start"}
	todo := []string{"/", "/signin", "/signup", "/nosuchpage"}
	for len(todo) > 0 {
		path := todo[0]
		todo = todo[1:]
		r := s.do(t, "GET", path, "", "Accept", browserAccept)
		ok := r.StatusCode < 400 || path == "/nosuchpage" || r.StatusCode == http.StatusUnauthorized || r.StatusCode == http.StatusMethodNotAllowed
		if !ok {
			t.Errorf("%s, linked from %s: %d", path, from[path], r.StatusCode)
		}
		kind := r.Header.Get("Content-Type")
		if !strings.HasPrefix(kind, "text/html") && path != "/llms.txt" && path != "/.well-known/api-catalog" {
			continue
		}
		for _, m := range link.FindAllStringSubmatch(html.UnescapeString(r.text), -1) {
			to := m[1] + m[2] + m[3]
			if rest, ours := strings.CutPrefix(to, s.url); ours {
				to = rest
			}
			if !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.ContainsAny(to, "{…") || from[to] != "" {
				continue
			}
			from[to] = path
			todo = append(todo, to)
		}
		if len(from) > 500 {
			t.Fatal("the site has no end")
		}
	}
	for _, want := range []string{"/docs", "/openapi.json", "/llms.txt", "/style.css", "/icon.svg", "/docs/page.js", "/docs/swagger-ui-bundle.js"} {
		if from[want] == "" {
			t.Errorf("nothing leads to %s", want)
		}
	}
	if len(from) < 15 {
		t.Errorf("only %d addresses were found", len(from))
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
