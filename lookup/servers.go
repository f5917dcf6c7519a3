package lookup

import (
	"slices"
	"strings"

	"github.com/namewharf/namewharf/fqdn"
)

// Servers are those asked about the names under a suffix.
type Servers struct {
	RDAP       []string // base URLs, https first; none: the suffix has no RDAP
	RDAPSource string   // "operator", "iana" (the refreshed bootstrap) or "built-in"; empty without RDAP
	WHOIS      string   // host:port; empty: no WHOIS
}

// Servers returns those in force now for the suffix.
func (s *Service) Servers(suffix fqdn.Name) Servers {
	if v, ok := s.operatorServers(suffix.String()); ok {
		return v
	}
	var v Servers
	tld := suffix.TLD()
	for key := range parents(suffix.String()) {
		if urls := s.bootstrap.urls(key); len(urls) > 0 {
			v.RDAP, v.RDAPSource = urls, "iana"
			break
		}
	}
	if v.RDAP == nil {
		for _, u := range s.cfg.Suffixes.RDAP(tld) {
			if normal, err := baseURL(u); err == nil {
				v.RDAP, v.RDAPSource = append(v.RDAP, normal), "built-in"
			}
		}
		httpsFirst(v.RDAP)
	}
	if server := s.cfg.Suffixes.WHOIS(tld); server != "" {
		if normal, err := hostPort(server, "43"); err == nil {
			v.WHOIS = normal
		}
	}
	return v
}

// operatorServers returns what the operator says about the suffix, by the longest key that covers it.
func (s *Service) operatorServers(suffix string) (Servers, bool) {
	for key := range parents(suffix) {
		urls, rdap := s.cfg.Registry.RDAP[key]
		server, whois := s.cfg.Registry.WHOIS[key]
		switch {
		case rdap:
			return Servers{RDAP: urls, RDAPSource: "operator", WHOIS: server}, true
		case whois:
			return Servers{WHOIS: server}, true
		}
	}
	return Servers{}, false
}

// parents yields the name and those above it, longest first.
func parents(name string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for {
			if !yield(name) {
				return
			}
			_, rest, more := strings.Cut(name, ".")
			if !more {
				return
			}
			name = rest
		}
	}
}

// httpsFirst moves https in front, keeping the order otherwise: http can be forged on the way.
func httpsFirst(urls []string) {
	slices.SortStableFunc(urls, func(a, b string) int {
		switch as, bs := strings.HasPrefix(a, "https:"), strings.HasPrefix(b, "https:"); {
		case as == bs:
			return 0
		case as:
			return -1
		}
		return 1
	})
}
