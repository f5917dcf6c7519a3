package signature

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/namewharf/namewharf/fault"
)

// The headers of a signed request (section 5.1 of the contract).
const (
	HeaderKeyID          = "X-Service-Key-Id"
	HeaderTimestamp      = "X-Service-Timestamp"
	HeaderNonce          = "X-Service-Nonce"
	HeaderSignature      = "X-Service-Signature"
	HeaderIdempotencyKey = "Idempotency-Key" // not signed
)

// MaxSkew is how far a request's timestamp may be from the server's clock, in whole seconds, in the past or the future.
const MaxSkew = 300 * time.Second

// Lengths of a nonce.
const (
	minNonce = 16
	maxNonce = 128
)

// Signed is the signature of a request with its parameters.
type Signed struct {
	Request          // what the client signed; Body is the digest of an empty body
	KeyID     string // of the credential
	Signature string
	Expires   int64 // the last second, Unix time, in which the timestamp is valid
}

// Parse reads the headers of a signed request and checks their form, and the timestamp against now. It fails with
// [fault.MissingCredentials], [fault.MissingSignature] and [fault.InvalidTimestamp], in this order.
func Parse(r *http.Request, now time.Time) (Signed, error) {
	s := Signed{Request: Request{Method: strings.ToUpper(r.Method), Path: sentPath(r), Query: r.URL.RawQuery, Body: emptyBody}}
	var err error
	if s.KeyID, err = header(r, HeaderKeyID); err != nil {
		return Signed{}, err
	}
	if s.KeyID == "" {
		return Signed{}, fault.New(fault.MissingCredentials, "the request carries no %s", HeaderKeyID).WithHint("send the key id of your credential, and sign the request")
	}
	for _, h := range [...]struct {
		name string
		to   *string
	}{{HeaderTimestamp, &s.Timestamp}, {HeaderNonce, &s.Nonce}, {HeaderSignature, &s.Signature}} {
		if *h.to, err = header(r, h.name); err != nil {
			return Signed{}, err
		}
		if *h.to == "" {
			return Signed{}, fault.New(fault.MissingSignature, "the request carries no %s", h.name).WithHint("sign the request")
		}
	}
	if !visible(s.Nonce) || len(s.Nonce) < minNonce || len(s.Nonce) > maxNonce {
		return Signed{}, fault.New(fault.MissingSignature, "%s is not %d to %d visible ASCII characters", HeaderNonce, minNonce, maxNonce).
			WithHint("send a fresh random UUID with every request")
	}
	seconds, err := parseTimestamp(s.Timestamp, now)
	if err != nil {
		return Signed{}, err
	}
	s.Expires = seconds + int64(MaxSkew/time.Second)
	return s, nil
}

// header returns the value of a header that may be given at most once.
func header(r *http.Request, name string) (string, error) {
	switch values := r.Header[name]; len(values) {
	case 0:
		return "", nil
	case 1:
		return values[0], nil
	}
	return "", fault.New(fault.MissingSignature, "%s is given twice", name).WithHint("send it once")
}

// sentPath returns the path of the request as it was sent: neither cleaned nor decoded.
func sentPath(r *http.Request) string {
	if !strings.HasPrefix(r.RequestURI, "/") { // the absolute form of a proxy, or a request made by a test
		return r.URL.EscapedPath()
	}
	path, _, _ := strings.Cut(r.RequestURI, "?")
	return path
}

// visible reports whether all characters are visible ASCII.
func visible(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// parseTimestamp reads a timestamp, which must be within [MaxSkew] of now.
func parseTimestamp(timestamp string, now time.Time) (seconds int64, err error) {
	seconds, err = strconv.ParseInt(timestamp, 10, 64)
	if err != nil || strings.Trim(timestamp, "0123456789") != "" {
		return 0, fault.New(fault.InvalidTimestamp, "%s is not an integer of Unix seconds", HeaderTimestamp)
	}
	if limit := int64(MaxSkew / time.Second); seconds < now.Unix()-limit || seconds > now.Unix()+limit {
		return 0, fault.New(fault.InvalidTimestamp, "%s is more than %d seconds away from our clock", HeaderTimestamp, limit).
			WithHint("send Unix time in seconds, not milliseconds, and set your clock by NTP")
	}
	return seconds, nil
}
