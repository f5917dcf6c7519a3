package middleware

import (
	"net/http"
	"strconv"
	"strings"
)

// wantsProblem reports whether the request names application/problem+json at least as gladly as application/json.
func wantsProblem(r *http.Request) bool {
	problem := Accepts(r, "application/problem+json")
	return problem > 0 && problem >= Accepts(r, "application/json")
}

// Accepts returns the weight, from 0 to 1, that the Accept header gives to a media type that it names in full
// (RFC 9110, section 12.5.1). Wildcards do not count: they say nothing about a form that must be asked for.
func Accepts(r *http.Request, mediaType string) float64 {
	best := 0.0
	for _, value := range r.Header["Accept"] {
		for value != "" {
			var item string
			item, value, _ = strings.Cut(value, ",")
			name, params, _ := strings.Cut(item, ";")
			if strings.EqualFold(strings.TrimSpace(name), mediaType) {
				best = max(best, Weight(params))
			}
		}
	}
	return best
}

// Weight is the weight, from 0 to 1, in the parameters of an item of an Accept header (RFC 9110, section 12.4.2): 1 without
// one, and 0 for one that is malformed.
func Weight(params string) float64 {
	for params != "" {
		var param string
		param, params, _ = strings.Cut(params, ";")
		name, value, _ := strings.Cut(strings.TrimSpace(param), "=")
		if strings.EqualFold(strings.TrimSpace(name), "q") {
			q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil || !(q >= 0 && q <= 1) {
				return 0
			}
			return q
		}
	}
	return 1
}
