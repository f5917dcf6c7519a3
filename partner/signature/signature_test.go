package signature_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/partner/signature"
	"github.com/namewharf/namewharf/partner/signature/signaturetest"
)

func request(v signaturetest.Vector) signature.Request {
	return signature.Request{v.Method, v.Path, v.Query, v.Timestamp, v.Nonce, signature.BodyDigest(v.Method, []byte(v.Body))}
}

func TestVectors(t *testing.T) {
	t.Parallel()
	for _, v := range signaturetest.Vectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			s := request(v)
			want := strings.Join([]string{v.Method, v.Path, v.CanonicalQuery, v.Timestamp, v.Nonce, v.Digest}, "\n")
			if got, err := s.Canonical(); err != nil || got != want {
				t.Errorf("canonical string: got %q, %v, want %q", got, err, want)
			}
			if got := hex.EncodeToString(s.Body[:]); got != v.Digest {
				t.Errorf("body: got %s, want %s", got, v.Digest)
			}
			if got := signature.Sign(v.Secret, want); got != v.Signature {
				t.Errorf("signature: got %s, want %s", got, v.Signature)
			}
		})
	}
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
		if got, err := signature.CanonicalQuery(test.in); err != nil || got != test.want {
			t.Errorf("%s: signature.CanonicalQuery(%q) = %q, %v, want %q", test.name, test.in, got, err, test.want)
		}
	}
	for _, broken := range []string{"%", "a=%", "a=%2", "%zz", "a=%zz", "a=%2g", "a=1&b=%u0041"} {
		if got, err := signature.CanonicalQuery(broken); !fault.Is(err, fault.Validation) {
			t.Errorf("CanonicalQuery(%q) = %q, %v, want %s", broken, got, err, fault.Validation)
		}
	}
}

func FuzzCanonicalQuery(f *testing.F) {
	for _, seed := range []string{"", "a=1&b=2", "q=it's%20(new)!*", "&=&a+b=%ff", "%zz", "a;b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		once, err := signature.CanonicalQuery(raw)
		if err != nil {
			return
		}
		if strings.ContainsFunc(once, func(r rune) bool { return r <= ' ' || r > '~' }) || strings.ContainsAny(once, "+!'()*;#") {
			t.Errorf("CanonicalQuery(%q) = %q, which is not encoded", raw, once)
		}
		if twice, err := signature.CanonicalQuery(once); err != nil || twice != once {
			t.Errorf("CanonicalQuery(%q) = %q, and of that %q, %v", raw, once, twice, err)
		}
	})
}

func BenchmarkSign(b *testing.B) {
	v := signaturetest.Vectors(b)[2]
	for b.Loop() {
		canonical, err := request(v).Canonical()
		if err != nil || signature.Sign(v.Secret, canonical) != v.Signature {
			b.Fatal(err)
		}
	}
}
