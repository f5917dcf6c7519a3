// Package signature signs the requests of the partner API: the canonical string, its HMAC-SHA256, and the headers that
// carry them (section 5.1 of the contract). The service verifies with it, and clients written in Go sign with it.
package signature

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/namewharf/namewharf/fault"
)

// signatureVersion begins every signature.
const signatureVersion = "v1="

// emptyBody is the digest of a request without a body, and of every GET and HEAD.
var emptyBody = sha256.Sum256(nil)

// A Credential signs requests. Its secret is shown once, when it is created.
type Credential struct {
	KeyID  string
	Secret string
}

// A Request is the part of a request that the signature covers.
type Request struct {
	Method    string // upper case
	Path      string // escaped, as it is sent
	Query     string // as it is sent, without the question mark
	Timestamp string // Unix time in seconds, as in the header
	Nonce     string
	Body      [sha256.Size]byte // SHA-256 of the body, see [BodyDigest]
}

// BodyDigest returns the digest of a request's body as it is signed: for GET and HEAD that of an empty body.
func BodyDigest(method string, body []byte) [sha256.Size]byte {
	if len(body) == 0 || !CoversBody(method) {
		return emptyBody
	}
	return sha256.Sum256(body)
}

// CoversBody reports whether the signature of a request with this method covers its body. Those of GET and HEAD do not.
func CoversBody(method string) bool { return method != http.MethodGet && method != http.MethodHead }

// Canonical returns the text that is signed: six lines, joined by line feeds. It fails with [fault.Validation] where the
// query is not percent-encoded.
func (s Request) Canonical() (string, error) {
	query, err := CanonicalQuery(s.Query)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.Grow(len(s.Method) + len(s.Path) + len(query) + len(s.Timestamp) + len(s.Nonce) + 2*sha256.Size + 5)
	for _, line := range [...]string{s.Method, s.Path, query, s.Timestamp, s.Nonce} {
		b.WriteString(line)
		b.WriteByte('\n')
	}
	b.WriteString(hex.EncodeToString(s.Body[:]))
	return b.String(), nil
}

// Sign returns the signature of a canonical string: "v1=" and the HMAC-SHA256 in lower-case hexadecimal, keyed with the
// bytes of the secret as written.
func Sign(secret, canonical string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(canonical))
	var sum [sha256.Size]byte
	return signatureVersion + hex.EncodeToString(mac.Sum(sum[:0]))
}

// Match reports, in constant time, whether a signature is that of the secret over the canonical string.
func Match(secret, canonical, signature string) bool {
	return hmac.Equal([]byte(Sign(secret, canonical)), []byte(signature))
}

// CanonicalQuery returns a query in the form that is signed: pairs sorted by key, then by value, both as decoded bytes;
// everything but unreserved characters (RFC 3986, section 2.3) percent-encoded in upper case. A plus sign is a space.
// Blank values and repeated pairs stay; empty segments are dropped. It fails with [fault.Validation] on a percent sign that
// two hexadecimal digits do not follow.
//
// [url.ParseQuery] does not fit: it rejects semicolons, which are data here.
func CanonicalQuery(raw string) (string, error) {
	if raw == "" {
		return "", nil
	}
	type pair struct{ key, value string }
	pairs := make([]pair, 0, strings.Count(raw, "&")+1)
	for segment := range strings.SplitSeq(raw, "&") {
		if segment == "" {
			continue
		}
		key, value, _ := strings.Cut(segment, "=")
		k, keyErr := url.QueryUnescape(key)
		v, valueErr := url.QueryUnescape(value)
		if keyErr != nil || valueErr != nil {
			return "", fault.New(fault.Validation, "the query is not well formed").WithHint("write it as name=value&name=value, percent-encoded")
		}
		pairs = append(pairs, pair{k, v})
	}
	slices.SortStableFunc(pairs, func(a, b pair) int {
		if c := strings.Compare(a.key, b.key); c != 0 {
			return c
		}
		return strings.Compare(a.value, b.value)
	})
	var b strings.Builder
	b.Grow(len(raw) + len(raw)/2)
	for i, p := range pairs {
		if i > 0 {
			b.WriteByte('&')
		}
		b.WriteString(encode(p.key))
		b.WriteByte('=')
		b.WriteString(encode(p.value))
	}
	return b.String(), nil
}

// encode percent-encodes all but unreserved characters. [url.QueryEscape] differs in the space only, which it encodes as a
// plus sign.
func encode(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
