package middleware_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/namewharf/namewharf/serve/middleware"
)

func TestOrigins(t *testing.T) {
	t.Parallel()
	may := middleware.Origins("https://names.test:8443", "https://chat.example")
	for origin, want := range map[string]bool{
		"https://names.test:8443":        true,
		"https://names.test":             false,
		"http://names.test:8443":         false,
		"https://chat.example":           true,
		"https://chat.example.evil.test": false,
		"http://localhost:3000":          true,
		"http://LOCALHOST":               true,
		"http://127.0.0.1:6274":          true,
		"http://127.8.9.1":               true,
		"http://[::1]:6274":              true,
		"http://127.0.0.1.evil.test":     false,
		"http://localhost.evil.test":     false,
		"https://evil.test":              false,
		"null":                           false,
		"":                               false,
		"file://localhost":               false,
	} {
		if got := may(origin); got != want {
			t.Errorf("origin %q: got %t, want %t", origin, got, want)
		}
	}
}

func TestHosts(t *testing.T) {
	t.Parallel()
	known := middleware.Hosts("https://names.test", "https://names.example:8443")
	for host, want := range map[string]bool{
		"names.test":          true,
		"NAMES.test":          true,
		"names.example:8443":  true,
		"names.example":       false,
		"localhost:8080":      true,
		"127.0.0.1:8080":      true,
		"[::1]:8080":          true,
		"[::1]":               true,
		"rebound.evil.test":   false,
		"127.0.0.1.evil.test": false,
		"":                    false,
	} {
		if got := known(host); got != want {
			t.Errorf("host %q: got %t, want %t", host, got, want)
		}
	}
}

func TestCORSOfSome(t *testing.T) {
	t.Parallel()
	cors := middleware.CORS{Origin: middleware.Origins("https://names.test"), Methods: "POST", Headers: "Content-Type", Expose: "X-Request-Id"}
	for origin, want := range map[string]string{"https://names.test": "https://names.test", "https://evil.test": "", "": ""} {
		r := httptest.NewRequest("OPTIONS", "/mcp", nil)
		r.Header.Set("Access-Control-Request-Method", "POST")
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		h := http.Header{}
		cors.Set(h, r)
		asked := cors.Preflight(h, r)
		if h.Get("Access-Control-Allow-Origin") != want || h.Get("Vary") != "Origin" || (h.Get("Access-Control-Allow-Methods") != "") != (want != "") || asked != (origin != "") {
			t.Errorf("origin %q: %t %v", origin, asked, h)
		}
	}
}
