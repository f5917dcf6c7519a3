package middleware

import (
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

func FuzzBearer(f *testing.F) {
	for _, seed := range []string{"Bearer abc", "bearer  abc== ", "Bearer", "Basic abc", "Bearer a b", "Bearer =", "Bearer a\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		token, ok := bearer(header)
		if !ok {
			return
		}
		if token == "" || len(token) > maxToken || strings.ContainsAny(token, " \t\r\n\x00\",;") {
			t.Errorf("bearer(%q) = %q", header, token)
		}
		if again, ok := bearer("Bearer " + token); !ok || again != token {
			t.Errorf("bearer(%q) = %q, printed and read again %q", header, token, again)
		}
	})
}

func FuzzForwarded(f *testing.F) {
	for _, seed := range []string{"192.0.2.1", "192.0.2.1, 10.0.0.1", "[2001:db8::1]:80", "unknown", ",,", "::ffff:10.0.0.1%eth0", ""} {
		f.Add(seed)
	}
	mw := &Stack{cfg: Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}}
	f.Fuzz(func(t *testing.T, header string) {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = "10.0.0.1:1"
		r.Header["X-Forwarded-For"] = []string{header}
		addr := mw.ClientIP(r)
		if !addr.IsValid() || addr.Is4In6() || addr.Zone() != "" {
			t.Errorf("X-Forwarded-For: %q gives %v", header, addr)
		}
	})
}

func FuzzAccepts(f *testing.F) {
	for _, seed := range []string{"text/event-stream", "application/json;q=0.5, */*", ";q=1", "application/problem+json; q=2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header["Accept"] = []string{header}
		if got := Accepts(r, "application/json"); !(got >= 0 && got <= 1) {
			t.Errorf("Accept: %q weighs %v", header, got)
		}
	})
}
