package partner

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/partner/signature"
	"github.com/namewharf/namewharf/partner/signature/signaturetest"
)

// given makes a credential of the sandbox with the secret of a vector.
func (s *testServer) given(secret string) signer {
	s.Helper()
	key := s.credential(s.partner.ID, market.Sandbox, strings.Join(credential.Scopes, ","))
	sealed := testKeys().Seal([]byte(secret), credential.SecretContext(key.key, 1))
	if err := s.exec(`UPDATE partner_secrets SET sealed = $1 WHERE key_id = $2`, sealed, key.key); err != nil {
		s.Fatal(err)
	}
	return signer{key.key, secret}
}

// vectorRequest is the vector's request with its own signature, not ours.
func vectorRequest(t testing.TB, v signaturetest.Vector, by signer) request {
	t.Helper()
	seconds, err := strconv.ParseInt(v.Timestamp, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return request{
		method: v.Method, path: v.Path, query: v.Query, body: v.Body, by: by, at: time.Unix(seconds, 0), nonce: v.Nonce,
		header: map[string]string{signature.HeaderSignature: v.Signature},
	}
}

// Each vector is let in, over the wire; with one byte changed, wherever it is, it is not, and that says so. Not every byte
// of all goes over the wire: that takes time, and shows nothing more.
func TestVectorsOverTheWire(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	s.clock.set(time.Unix(1_760_000_000, 0))
	for _, v := range signaturetest.Vectors(t) {
		by := s.given(v.Secret)
		r := vectorRequest(t, v, by)
		for i, changed := range r.changes() {
			_, err := s.api.Verify(changed.build(t.Context(), s.http.URL), digestOf([]byte(changed.body)))
			if !fault.Is(err, fault.InvalidSignature) {
				t.Errorf("%s, changed to %s %s?%s %q: got %v, want %s",
					v.Name, changed.method, changed.path, changed.query, changed.body, err, fault.InvalidSignature)
			}
			if i%16 == 0 {
				s.want(changed, 401, fault.InvalidSignature)
			}
		}
		if a := s.send(r); a.status == 401 || a.status >= 500 {
			t.Errorf("%s: got %d %s, want it let in", v.Name, a.status, a.body)
		}
		s.want(r, 401, fault.ReplayDetected)
	}
}

// changes are the request with one byte changed, each place once, to what is as well formed: what is behind the signature
// is not what refuses it.
func (r request) changes() (all []request) {
	each := func(s string, put func(*request, string)) {
		for i := range len(s) {
			changed := r
			put(&changed, s[:i]+string(swapped(s[i]))+s[i+1:])
			all = append(all, changed)
		}
	}
	each(r.path[len("/api/partner/"):], func(r *request, s string) { r.path = "/api/partner/" + s })
	each(r.query, func(r *request, s string) { r.query = s })
	each(r.nonce, func(r *request, s string) { r.nonce = s })
	each(r.header[signature.HeaderSignature], func(r *request, s string) { *r = r.with(signature.HeaderSignature, s) })
	for i := range len(r.body) {
		changed := r
		body := []byte(r.body)
		body[i] ^= 1
		changed.body = string(body)
		all = append(all, changed)
	}
	for _, d := range []time.Duration{1, -1, 10, -299} {
		changed := r
		changed.at = r.at.Add(d * time.Second)
		all = append(all, changed)
	}
	method := r
	method.method = map[string]string{"GET": "DELETE", "POST": "PUT", "PUT": "POST"}[r.method]
	return append(all, method)
}

// swapped is another byte that may stand where this one does.
func swapped(c byte) byte {
	switch {
	case c == '%': // would make two hexadecimal digits literal
		return 'p'
	case '0' <= c && c <= '8' || 'a' <= c && c <= 'e' || 'A' <= c && c <= 'E' || 'g' <= c && c <= 'y':
		return c + 1
	case c == '9' || c == 'f' || c == 'F' || c == 'z':
		return c - 1
	}
	return 'x'
}
