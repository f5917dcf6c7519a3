package oauthas

import (
	"crypto/x509"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/namewharf/namewharf/egress"
)

// Limits of a client metadata document.
const (
	maxDocument   = 5 << 10
	documentTime  = 5 * time.Second // of one fetch
	documentLife  = 24 * time.Hour  // a document is fetched again after this, whatever it says
	maxDocumentID = 2 << 10
)

// checkDocumentID checks a client_id against section 3 of the draft: https, a path without dot segments, no user, no
// fragment.
func checkDocumentID(id string) error {
	u, err := url.Parse(id)
	switch {
	case err != nil || len(id) > maxDocumentID || strings.ContainsFunc(id, notInURI):
		return errors.New("client_id is not a URL")
	case u.Scheme != "https" || u.Host == "" || u.Opaque != "":
		return errors.New("client_id must be an https URL")
	case u.User != nil || strings.Contains(id, "#"):
		return errors.New("client_id must have neither user nor fragment")
	case u.Path == "" || u.Path == "/" || dotSegments(u.Path):
		return errors.New("client_id must have a path without dot segments")
	}
	return checkWeb(u)
}

// dotSegments reports whether an unescaped path has a dot segment.
func dotSegments(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			return true
		}
	}
	return false
}

// documentHost is the host of a client's metadata document; empty for a registered client.
func documentHost(id string) string {
	if !strings.HasPrefix(id, "https://") {
		return ""
	}
	u, err := url.Parse(id)
	if err != nil {
		return ""
	}
	return u.Host
}

// freshness is how long a response may be cached by its headers (RFC 9111, section 4.2).
type freshness struct {
	fresh time.Duration // without a new fetch
	stale time.Duration // after that, while fetches fail (stale-if-error; RFC 5861, section 4)
}

// freshnessOf reads the headers of a document. Without a lifetime it is stale at once. With no-store, no-cache, private or
// must-revalidate it may not be used stale (RFC 9111, section 4.2.4).
func freshnessOf(h http.Header, now time.Time) freshness {
	age, maxAge, stale := time.Duration(0), time.Duration(-1), staleLife
	for directive := range strings.SplitSeq(strings.ToLower(strings.Join(h["Cache-Control"], ",")), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
		switch name {
		case "no-store", "no-cache", "private":
			return freshness{}
		case "must-revalidate", "proxy-revalidate":
			stale = 0
		case "stale-if-error":
			n, err := strconv.ParseUint(strings.Trim(value, `"`), 10, 31)
			if err != nil {
				return freshness{}
			}
			stale = min(stale, time.Duration(n)*time.Second)
		case "max-age":
			n, err := strconv.ParseUint(strings.Trim(value, `"`), 10, 31)
			if err != nil {
				return freshness{}
			}
			maxAge = time.Duration(n) * time.Second
		}
	}
	if n, err := strconv.ParseUint(h.Get("Age"), 10, 31); err == nil {
		age = time.Duration(n) * time.Second
	}
	if maxAge < 0 {
		if expires, err := http.ParseTime(h.Get("Expires")); err == nil {
			maxAge = expires.Sub(now)
		}
	}
	return freshness{min(max(maxAge-age, 0), documentLife), stale}
}

// DocumentClient returns an SSRF-safe client for documents at untrusted URLs: it connects only to public addresses on ports
// 443 and 8443, and to allowed addresses on any port. Nil roots are the system's.
func DocumentClient(allowed []netip.Prefix, roots *x509.CertPool) *egress.Client {
	return egress.New(egress.Config{
		Allow: allowed, Ports: []uint16{443, 8443}, AnyAllowedPort: true, RootCAs: roots,
		DialTime: documentTime, TLSTime: documentTime, HeaderTime: documentTime, TotalTime: documentTime,
		MaxHeader: 16 << 10, MaxBody: maxDocument, HTTP2: true,
	})
}
