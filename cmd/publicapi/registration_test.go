package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// registerFrom registers an application from an address, as a proxy tells of it.
func (s *site) registerFrom(t *testing.T, address string) reply {
	t.Helper()
	return s.do(t, "POST", "/api/oauth/register", `{"redirect_uris":["https://app.example/cb"]}`, "X-Forwarded-For", address)
}

// A client with many addresses is limited by the next layer, and an honest client of another network is not.
func TestRegistrationsAreLimitedInLayers(t *testing.T) {
	t.Parallel()
	s := open(t, "-trusted-proxies", "127.0.0.0/8", "-max-registrations-per-day", "500")
	for _, test := range []struct {
		name    string
		address func(i int) string
		want    int // accepted of 120
		limit   string
	}{
		{"one /64", func(i int) string { return fmt.Sprintf("2001:db8::%x", i) }, 20, "registrations"},
		{"many /64s of one /48", func(i int) string { return fmt.Sprintf("2001:db9:1:%x::1", i) }, 80, "registrations-network"},
		{"many /48s of one /32", func(i int) string { return fmt.Sprintf("2001:dba:%x::1", i) }, 100, "registrations-block"},
		{"many addresses of one IPv4 /16", func(i int) string { return fmt.Sprintf("192.0.%d.1", i) }, 100, "registrations-block"},
	} {
		accepted := 0
		var refused reply
		for i := range 120 {
			r := s.registerFrom(t, test.address(i))
			switch r.StatusCode {
			case http.StatusCreated:
				accepted++
			case http.StatusTooManyRequests:
				refused = r
			default:
				t.Fatalf("%s: got %d %s", test.name, r.StatusCode, r.text)
			}
		}
		if accepted != test.want {
			t.Errorf("%s: got %d accepted of 120, want %d", test.name, accepted, test.want)
			continue
		}
		if refused.Header.Get("Retry-After") == "" || left(refused, test.limit) != 0 || !strings.Contains(refused.text, test.limit) {
			t.Errorf("%s: got %v %s; want when to come again, and which limit it was", test.name, refused.Header, refused.text)
		}
		if r := s.registerFrom(t, "203.0.113.7"); r.StatusCode != http.StatusCreated {
			t.Errorf("%s: an honest client beside: got %d %s", test.name, r.StatusCode, r.text)
		}
	}
}
