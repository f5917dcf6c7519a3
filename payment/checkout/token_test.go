package checkout

import (
	"testing"
)

// Only what sign wrote opens, with its own kind, secret and number of fields.
func FuzzSigned(f *testing.F) {
	secret := []byte("0123456789abcdef0123456789abcdef")
	f.Add(sign(secret, linkKind, "chk_1", "prt_1", "SANDBOX", "1795940028"), "a", "b")
	f.Add("", "", "\x00")
	f.Add("pt", "Ünïcode", "long text")
	f.Fuzz(func(t *testing.T, text, a, b string) {
		if fields, ok := open(secret, linkKind, text, 4); ok && sign(secret, linkKind, fields...) != text {
			t.Errorf("%q opens to %q, which is signed otherwise", text, fields)
		}
		if len(a)+len(b) > maxSigned/2 {
			return
		}
		signed := sign(secret, offerKind, a, b)
		fields, ok := open(secret, offerKind, signed, 2)
		if !ok || fields[0] != a || fields[1] != b {
			t.Errorf("%q, %q: opened as %q, %v", a, b, fields, ok)
		}
		for what, opened := range map[string]func() ([]string, bool){
			"another kind":             func() ([]string, bool) { return open(secret, linkKind, signed, 2) },
			"another secret":           func() ([]string, bool) { return open([]byte("x"), offerKind, signed, 2) },
			"another number of fields": func() ([]string, bool) { return open(secret, offerKind, signed, 3) },
			"a text behind it":         func() ([]string, bool) { return open(secret, offerKind, signed+"A", 2) },
		} {
			if _, ok := opened(); ok {
				t.Errorf("%q, %q: opened with %s", a, b, what)
			}
		}
	})
}
