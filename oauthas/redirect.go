package oauthas

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Bounds of a client's redirect URIs.
const (
	maxRedirects    = 10
	maxRedirectSize = 2 << 10
)

// neverSchemes run code, read files or open no application. The configuration cannot allow them.
var neverSchemes = []string{
	"javascript", "data", "vbscript", "file", "blob", "about", "ws", "ftp", "mailto",
	"wss", "filesystem", "view-source", "http", "https",
}

// redirectRules decide which redirect URIs a client may register. schemes are the allowed ones without a dot.
type redirectRules struct{ schemes []string }

func newRedirectRules(schemes []string) (redirectRules, error) {
	for _, s := range schemes {
		if slices.Contains(neverSchemes, s) || !validScheme(s) {
			return redirectRules{}, fmt.Errorf("oauthas: %q is no private-use scheme for redirects", s)
		}
	}
	return redirectRules{schemes}, nil
}

// validScheme reports whether s is a scheme by RFC 3986, section 3.1, in lower case.
func validScheme(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		default:
			return false
		}
	}
	return s != ""
}

// checkAll checks the redirect URIs of one client. Its errors are for the client's developer.
func (rules redirectRules) checkAll(uris []string) error {
	if len(uris) == 0 {
		return errors.New("at least one redirect URI is needed")
	}
	if len(uris) > maxRedirects {
		return fmt.Errorf("at most %d redirect URIs are possible", maxRedirects)
	}
	for i, uri := range uris {
		if err := rules.check(uri); err != nil {
			return fmt.Errorf("redirect URI %d %w", i+1, err)
		}
	}
	return nil
}

// check checks one redirect URI. Its errors complete a sentence that begins with the URI, and do not repeat it.
func (rules redirectRules) check(uri string) error {
	if uri == "" || len(uri) > maxRedirectSize {
		return fmt.Errorf("must have 1 to %d bytes", maxRedirectSize)
	}
	if i := strings.IndexFunc(uri, notInURI); i >= 0 {
		return errors.New("holds a character that is not allowed in a URI, or a wildcard")
	}
	if strings.Contains(uri, "#") {
		return errors.New("must not have a fragment")
	}
	u, err := url.Parse(uri)
	if err != nil {
		return errors.New("is not a URI")
	}
	if u.User != nil {
		return errors.New("must not name a user")
	}
	switch u.Scheme {
	case "https":
		return checkWeb(u)
	case "http":
		if _, _, ok := loopbackParts(uri); !ok {
			return errors.New("must use https; http is for 127.0.0.1, [::1] and localhost only")
		}
		return nil
	}
	return rules.checkPrivate(u)
}

// notInURI reports characters that RFC 3986 does not allow in URIs, and the asterisk, which other servers take as a wildcard.
func notInURI(r rune) bool {
	return r <= ' ' || r > '~' || strings.ContainsRune(`"<>\^`+"`"+`{|}*`, r)
}

// checkWeb checks an https redirect.
func checkWeb(u *url.URL) error {
	host := u.Hostname()
	if u.Opaque != "" || host == "" {
		return errors.New("must name a host")
	}
	if strings.HasSuffix(u.Host, ":") || u.Port() != "" && !validPort(u.Port()) {
		return errors.New("has a bad port")
	}
	if strings.HasPrefix(u.Host, "[") {
		if _, err := netip.ParseAddr(host); err != nil {
			return errors.New("has a bad address")
		}
		return nil
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(host, "."), ".") {
		if label == "" || strings.ContainsFunc(label, notInHost) {
			return errors.New("has a bad host name")
		}
	}
	return nil
}

func notInHost(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '_':
		return false
	}
	return true
}

// checkPrivate checks a redirect of a private-use scheme (RFC 8252, section 7.1).
func (rules redirectRules) checkPrivate(u *url.URL) error {
	switch {
	case slices.Contains(neverSchemes, u.Scheme):
		return errors.New("has a scheme that no application may use")
	case u.Scheme == "":
		return errors.New("must be absolute")
	case strings.Contains(u.Scheme, "."), slices.Contains(rules.schemes, u.Scheme):
		return nil
	}
	return errors.New("must use https, http on loopback, or a private-use scheme with a dot, such as com.example.app")
}

func validPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0 && strconv.FormatUint(n, 10) == port
}

// loopbackParts splits an http URI on loopback into host and rest, from the path on, without the port. ok is false for any
// other URI. It works on the text, since a URL parser would normalize it.
func loopbackParts(uri string) (host, rest string, ok bool) {
	after, ok := strings.CutPrefix(uri, "http://")
	if !ok {
		return "", "", false
	}
	authority := after
	if i := strings.IndexAny(after, "/?#"); i >= 0 {
		authority, rest = after[:i], after[i:]
	}
	for _, host := range []string{"127.0.0.1", "[::1]", "localhost"} {
		tail, found := strings.CutPrefix(authority, host)
		if !found {
			continue
		}
		port, colon := strings.CutPrefix(tail, ":")
		if tail == "" || colon && validPort(port) {
			return host, rest, true
		}
	}
	return "", "", false
}

// matchRedirect reports whether the redirect URI of a request is the registered one: an exact match, but any port on
// loopback, where applications use a free one (RFC 8252, section 7.3).
func matchRedirect(registered, requested string) bool {
	if registered == requested {
		return true
	}
	host, rest, ok := loopbackParts(registered)
	if !ok {
		return false
	}
	host2, rest2, ok := loopbackParts(requested)
	return ok && host == host2 && rest == rest2
}

// A target describes a checked redirect URI for pages.
type target struct {
	display  string // its host, or its scheme with a colon
	origin   string // as a CSP source
	loopback bool
	web      bool // https
}

func targetOf(uri string) target {
	u, err := url.Parse(uri)
	if err != nil { // impossible: registration parsed it
		return target{}
	}
	if _, _, ok := loopbackParts(uri); ok {
		return target{display: u.Host, origin: "http://" + u.Host, loopback: true}
	}
	if u.Scheme == "https" {
		return target{display: u.Host, origin: "https://" + u.Host, web: true, loopback: loopbackHost(u.Hostname())}
	}
	return target{display: u.Scheme + ":", origin: u.Scheme + ":"}
}
