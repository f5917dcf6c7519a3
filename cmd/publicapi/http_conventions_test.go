package main

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func TestHTTPConventions(t *testing.T) {
	t.Parallel()
	s := open(t, "-rate-limits", "off")
	t.Run("HEAD", func(t *testing.T) {
		full, head := s.do(t, "GET", price+"?tld=com", ""), s.do(t, "HEAD", price+"?tld=com", "")
		if head.StatusCode != 200 || head.text != "" || head.Header.Get("ETag") != full.Header.Get("ETag") || head.ContentLength != int64(len(full.text)) {
			t.Errorf("got %d %q %v", head.StatusCode, head.text, head.Header)
		}
	})
	t.Run("conditional", func(t *testing.T) {
		for _, path := range []string{price + "?tld=com", "/api/tlds/com/metadata", listings + "?limit=3", "/api/tlds", batched, "/openapi.json", "/docs", "/llms.txt"} {
			first := s.do(t, "GET", path, "")
			etag := first.Header.Get("ETag")
			again := s.do(t, "GET", path, "", "If-None-Match", `"other", `+etag)
			if etag == "" || again.StatusCode != 304 || again.text != "" || again.Header.Get("ETag") != etag || again.Header.Get("Cache-Control") != first.Header.Get("Cache-Control") {
				t.Errorf("%s: ETag %q, then %d %v", path, etag, again.StatusCode, again.Header)
			}
		}
		if r := s.do(t, "GET", price+"?tld=com", ""); r.Header.Get("Cache-Control") != "public, max-age=3600" {
			t.Errorf("a price: Cache-Control %q", r.Header.Get("Cache-Control"))
		}
	})
	t.Run("preflight", func(t *testing.T) {
		r := s.do(t, "OPTIONS", search, "", "Origin", "https://page.example", "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "content-type")
		h := r.Header
		if r.StatusCode != 204 || h.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(h.Get("Access-Control-Allow-Methods"), "POST") ||
			!strings.Contains(h.Get("Access-Control-Allow-Headers"), "Content-Type") || h.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("got %d %v", r.StatusCode, h)
		}
		r = s.do(t, "POST", search, `{"q":"a_b"}`, "Origin", "https://page.example")
		for _, name := range []string{"WWW-Authenticate", "RateLimit", "RateLimit-Policy", "Retry-After", "X-Request-Id"} {
			if !strings.Contains(r.Header.Get("Access-Control-Expose-Headers"), name) {
				t.Errorf("a page cannot read %s: %v", name, r.Header)
			}
		}
		if r := s.do(t, "OPTIONS", search, ""); r.StatusCode != 204 || r.Header.Get("Allow") != "OPTIONS, POST" {
			t.Errorf("OPTIONS: %d %v", r.StatusCode, r.Header)
		}
	})
	t.Run("compressed", func(t *testing.T) {
		plain := s.do(t, "GET", "/openapi.json", "", "Accept-Encoding", "identity").text
		for coding, unpack := range map[string]func(io.Reader) (io.Reader, error){
			"gzip": func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
			"zstd": func(r io.Reader) (io.Reader, error) { return zstd.NewReader(r) },
		} {
			r := s.do(t, "GET", "/openapi.json", "", "Accept-Encoding", coding)
			var text []byte
			u, err := unpack(strings.NewReader(r.text))
			if err == nil {
				text, err = io.ReadAll(u)
			}
			if err != nil || r.Header.Get("Content-Encoding") != coding || string(text) != plain || !strings.Contains(r.Header.Get("Vary"), "Accept-Encoding") {
				t.Errorf("%s: %v, %v, %d bytes for %d", coding, err, r.Header, len(r.text), len(plain))
			}
		}
	})
	t.Run("problem document", func(t *testing.T) {
		r := s.do(t, "POST", search, `{}`, "Accept", "application/problem+json")
		var p struct {
			Type, Title, Detail, Code string
			Status                    int
		}
		if err := json.Unmarshal([]byte(r.text), &p); err != nil || r.Header.Get("Content-Type") != "application/problem+json" || p.Status != 400 || p.Code != "validation_error" || p.Type == "" || p.Title == "" || p.Detail == "" {
			t.Errorf("got %s %s", r.Header.Get("Content-Type"), r.text)
		}
	})
	t.Run("stream", s.stream)
}

// stream is a search as events: a result for each name, then the rest.
func (s *site) stream(t *testing.T) {
	whole := as[struct{ Results []json.RawMessage }](t, s.do(t, "POST", search, `{"q":"cobaltpine.com"}`))
	r := s.do(t, "POST", search, `{"q":"cobaltpine.com"}`, "Accept", "text/event-stream")
	if r.StatusCode != 200 || r.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("got %d %s", r.StatusCode, r.Header.Get("Content-Type"))
	}
	var events []string
	results := map[string]bool{}
	for line := range strings.Lines(r.text) {
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			events = append(events, strings.TrimSpace(name))
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok && events[len(events)-1] == "result" {
			results[strings.TrimSpace(data)] = true
		}
	}
	want := strings.Repeat("result ", len(whole.Results)) + "done"
	if got := strings.Join(events, " "); got != want {
		t.Errorf("events %s, want %s", got, want)
	}
	for _, result := range whole.Results {
		if !results[string(result)] {
			t.Errorf("the stream lacks %s", result)
		}
	}
	if r := s.do(t, "POST", search, `{}`, "Accept", "text/event-stream"); r.StatusCode != 400 || r.Header.Get("Content-Type") != "application/json" {
		t.Errorf("a refused stream: %d %s", r.StatusCode, r.Header.Get("Content-Type"))
	}
}
