package oauthas

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// audience holds the protected resources and decides which tokens are valid at which.
type audience struct {
	base      string            // the issuer, the resource of a token request that names none
	resources []string          // canonical URLs, base included
	given     []string          // URLs as configured
	canonical map[string]string // from a configured URL
}

func newAudience(base string, resources []string) (audience, error) {
	a := audience{canonical: map[string]string{}}
	for i, r := range append([]string{base}, resources...) {
		c, ok := canonicalResource(r)
		if !ok {
			return audience{}, fmt.Errorf("oauthas: resource %q is not an absolute http or https URL", r)
		}
		if i == 0 {
			a.base = c
		}
		if _, again := a.canonical[r]; again {
			continue
		}
		a.given, a.resources, a.canonical[r] = append(a.given, r), append(a.resources, c), c
	}
	return a, nil
}

// canonicalResource normalizes a URL: URL libraries of clients add a slash to one without a path. RFC 8707, section 2,
// requires an absolute URI without a fragment.
func canonicalResource(resource string) (string, bool) {
	u, err := url.Parse(resource)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || strings.ContainsAny(resource, "#?") {
		return "", false
	}
	if u.Scheme != "https" && u.Scheme != "http" {
		return "", false
	}
	host := strings.ToLower(u.Host)
	if u.Scheme == "https" {
		host = strings.TrimSuffix(host, ":443")
	} else {
		host = strings.TrimSuffix(host, ":80")
	}
	return u.Scheme + "://" + host + strings.TrimSuffix(u.EscapedPath(), "/"), true
}

// find returns the canonical URLs of the resources that a request names, sorted and without duplicates; an empty list means
// the base. ok is false if one is not ours.
func (a audience) find(requested []string) (found []string, ok bool) {
	for _, r := range requested {
		c, valid := canonicalResource(r)
		if !valid || !slices.Contains(a.resources, c) {
			return nil, false
		}
		found = append(found, c)
	}
	if len(found) == 0 {
		return []string{a.base}, true
	}
	slices.Sort(found)
	return slices.Compact(found), true
}

// baseResource maps both endpoints of the MCP server to one: {base}/mcp and {base}/mcp/signed-in accept the same tokens and
// differ in whether they require one.
func baseResource(resource string) string { return strings.TrimSuffix(resource, "/signed-in") }

// covers reports whether a token for the resource granted is valid at target: the same resource, its other endpoint, or one
// below it.
func covers(granted, target string) bool {
	granted, target = baseResource(granted), baseResource(target)
	return target == granted || len(target) > len(granted) && target[len(granted)] == '/' && target[:len(granted)] == granted
}

// accepts reports whether a token for the resources granted, separated by spaces, is valid at target, a URL as configured.
func (a audience) accepts(granted, target string) bool {
	if c, ok := a.canonical[target]; ok {
		target = c
	}
	return coversAny(granted, target)
}

// coversAny is covers for resources separated by spaces, as they are stored.
func coversAny(granted, target string) bool {
	for g := range strings.SplitSeq(granted, " ") {
		if covers(g, target) {
			return true
		}
	}
	return false
}
