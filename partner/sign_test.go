package partner

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/market"
)

// A vector is a signed request as an independent signer made it.
type vector struct {
	name                           string
	method, path, query, body      string
	secret, at, nonce              string
	canonicalQuery, digest, signed string
}

func vectors(t testing.TB) (all []vector) {
	t.Helper()
	text, err := os.ReadFile("testdata/signed.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(text), "\n-- ")[1:] {
		var v vector
		for i, line := range strings.Split(strings.TrimSpace(part), "\n") {
			var target string
			switch i {
			case 0:
				v.name = strings.TrimSuffix(line, " --")
				continue
			case 1:
				v.method, target, _ = strings.Cut(line, " ")
				v.path, v.query, _ = strings.Cut(target, "?")
				continue
			}
			for _, field := range []struct {
				name string
				to   *string
			}{
				{"secret ", &v.secret},
				{"at ", &v.at},
				{"nonce ", &v.nonce},
				{"canonical query ", &v.canonicalQuery},
				{"canonical query", &v.canonicalQuery}, // of none
				{"body digest ", &v.digest},
				{"signature ", &v.signed},
				{"body ", &v.body},
			} {
				if value, ok := strings.CutPrefix(line, field.name); ok {
					*field.to = value
					break
				}
			}
		}
		if err := json.Unmarshal([]byte(v.body), &v.body); err != nil {
			t.Fatalf("%s: body: %v", v.name, err)
		}
		all = append(all, v)
	}
	if len(all) < 14 {
		t.Fatalf("%d vectors, want all", len(all))
	}
	return all
}

func (v vector) signable() Signable {
	return Signable{v.method, v.path, v.query, v.at, v.nonce, BodyDigest(v.method, []byte(v.body))}
}

func TestVectors(t *testing.T) {
	t.Parallel()
	for _, v := range vectors(t) {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			s := v.signable()
			want := strings.Join([]string{v.method, v.path, v.canonicalQuery, v.at, v.nonce, v.digest}, "\n")
			if got, err := s.Canonical(); err != nil || got != want {
				t.Errorf("canonical string: got %q, %v, want %q", got, err, want)
			}
			if got := hex.EncodeToString(s.Body[:]); got != v.digest {
				t.Errorf("body: got %s, want %s", got, v.digest)
			}
			if got := Sign(v.secret, want); got != v.signed {
				t.Errorf("signature: got %s, want %s", got, v.signed)
			}
		})
	}
}

// given makes a credential of the sandbox with the secret of a vector.
func (s *stand) given(secret string) signer {
	s.Helper()
	key := s.credential(s.partner.ID, market.Sandbox, strings.Join(Scopes, ","))
	sealed := testKeys().Seal([]byte(secret), secretContext(key.key, 1))
	if err := s.exec(`UPDATE partner_secrets SET sealed = $1 WHERE key_id = $2`, sealed, key.key); err != nil {
		s.Fatal(err)
	}
	return signer{key.key, secret}
}

// request is the vector's request with its own signature, not ours.
func (v vector) request(t testing.TB, by signer) request {
	t.Helper()
	seconds, err := strconv.ParseInt(v.at, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return request{
		method: v.method, path: v.path, query: v.query, body: v.body, by: by, at: time.Unix(seconds, 0), nonce: v.nonce,
		header: map[string]string{HeaderSignature: v.signed},
	}
}

// Each vector is let in, over the wire; with one byte changed, wherever it is, it is not, and that says so. Not every byte
// of all goes over the wire: that takes time, and shows nothing more.
func TestVectorsOverTheWire(t *testing.T) {
	t.Parallel()
	s := lite(t)
	s.clock.set(time.Unix(1_760_000_000, 0))
	for _, v := range vectors(t) {
		by := s.given(v.secret)
		r := v.request(t, by)
		for i, changed := range r.changes() {
			_, err := s.api.Verify(changed.build(t.Context(), s.http.URL), digestOf([]byte(changed.body)))
			if !fault.Is(err, fault.InvalidSignature) {
				t.Errorf("%s, changed to %s %s?%s %q: got %v, want %s",
					v.name, changed.method, changed.path, changed.query, changed.body, err, fault.InvalidSignature)
			}
			if i%16 == 0 {
				s.want(changed, 401, fault.InvalidSignature)
			}
		}
		if a := s.send(r); a.status == 401 || a.status >= 500 {
			t.Errorf("%s: got %d %s, want it let in", v.name, a.status, a.body)
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
	each(r.header[HeaderSignature], func(r *request, s string) { *r = r.with(HeaderSignature, s) })
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

func TestCanonicalQuery(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, in, want string }{
		{"none", "", ""},
		{"empty segments go", "&&a=1&&b=2&", "a=1&b=2"},
		{"only empty segments", "&&&", ""},
		{"a bare equals sign is an empty pair", "=", "="},
		{"an empty key", "=1&a=2", "=1&a=2"},
		{"the first equals sign parts", "a=b=c", "a=b%3Dc"},
		{"duplicates stay", "a=1&a=1", "a=1&a=1"},
		{"sorted by decoded key, not by what is written", "%62=1&a=2", "a=2&b=1"},
		{"a prefix comes first", "ab=1&a=2", "a=2&ab=1"},
		{"decoded before it is sorted", "a=%7e&a=b", "a=b&a=~"},
		{"plus in a key", "a+b=1", "a%20b=1"},
		{"an encoded plus stays one", "a=%2B", "a=%2B"},
		{"bytes that are no UTF-8", "a=%ff%FE", "a=%FF%FE"},
		{"raw bytes beyond ASCII", "a=ä", "a=%C3%A4"},
		{"a semicolon is a character", "a=1;b=2", "a=1%3Bb%3D2"},
		{"a hash", "a=%23", "a=%23"},
		{"NUL", "a=%00", "a=%00"},
	} {
		if got, err := CanonicalQuery(test.in); err != nil || got != test.want {
			t.Errorf("%s: CanonicalQuery(%q) = %q, %v, want %q", test.name, test.in, got, err, test.want)
		}
	}
	for _, broken := range []string{"%", "a=%", "a=%2", "%zz", "a=%zz", "a=%2g", "a=1&b=%u0041"} {
		if got, err := CanonicalQuery(broken); !fault.Is(err, fault.Validation) {
			t.Errorf("CanonicalQuery(%q) = %q, %v, want %s", broken, got, err, fault.Validation)
		}
	}
}

func FuzzCanonicalQuery(f *testing.F) {
	for _, seed := range []string{"", "a=1&b=2", "q=it's%20(new)!*", "&=&a+b=%ff", "%zz", "a;b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		once, err := CanonicalQuery(raw)
		if err != nil {
			return
		}
		if strings.ContainsFunc(once, func(r rune) bool { return r <= ' ' || r > '~' }) || strings.ContainsAny(once, "+!'()*;#") {
			t.Errorf("CanonicalQuery(%q) = %q, which is not encoded", raw, once)
		}
		if twice, err := CanonicalQuery(once); err != nil || twice != once {
			t.Errorf("CanonicalQuery(%q) = %q, and of that %q, %v", raw, once, twice, err)
		}
	})
}

func BenchmarkSign(b *testing.B) {
	v := vectors(b)[2]
	for b.Loop() {
		canonical, err := v.signable().Canonical()
		if err != nil || Sign(v.secret, canonical) != v.signed {
			b.Fatal(err)
		}
	}
}
