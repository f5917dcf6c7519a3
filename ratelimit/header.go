package ratelimit

import (
	"net/http"
	"strconv"
	"time"
)

// WriteHeader writes the RateLimit and RateLimit-Policy fields of the draws (draft-ietf-httpapi-ratelimit-headers-11):
// for each policy the quota q, the seconds w in which an empty bucket fills, the remaining units r, and the seconds t until
// the bucket is full. The field names are in canonical form, which avoids canonicalising them.
func WriteHeader(h http.Header, draws []Draw) {
	if len(draws) == 0 {
		return
	}
	policy := draws[0].Policy.header
	var buf [128]byte
	left := buf[:0]
	for i := range draws {
		d := &draws[i]
		if i > 0 {
			left = append(left, ", "...)
			policy = []string{policy[0] + ", " + d.Policy.header[0]}
		}
		left = append(left, '"')
		left = append(left, d.Policy.name...)
		left = append(left, `";r=`...)
		left = strconv.AppendInt(left, int64(d.Remaining()), 10)
		left = append(left, ";t="...)
		left = strconv.AppendInt(left, seconds(d.missing), 10)
	}
	h["Ratelimit-Policy"] = policy
	h["Ratelimit"] = []string{string(left)}
}

// WriteRetryAfter writes the Retry-After field in seconds, rounded up (RFC 9110, section 10.2.3), if wait is positive.
func WriteRetryAfter(h http.Header, wait time.Duration) {
	if wait > 0 {
		h.Set("Retry-After", strconv.FormatInt(seconds(int64(wait)), 10))
	}
}
