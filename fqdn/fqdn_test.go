package fqdn_test

import (
	"strings"
	"testing"

	"github.com/namewharf/namewharf/fqdn"
)

func TestParse(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 63)
	for _, test := range []struct{ name, in, ascii, unicode string }{
		{"a name", "example.com", "example.com", "example.com"},
		{"capitals, spaces around, a root dot", "  EXAMPLE.Com. ", "example.com", "example.com"},
		{"a label", "acme", "acme", "acme"},
		{"Unicode", "bücher.de", "xn--bcher-kva.de", "bücher.de"},
		{"A-labels", "xn--bcher-kva.de", "xn--bcher-kva.de", "bücher.de"},
		{"A-labels in capitals", "XN--BCHER-KVA.DE", "xn--bcher-kva.de", "bücher.de"},
		{"decomposed letters are composed", "bu\u0308cher.de", "xn--bcher-kva.de", "bücher.de"},
		{"an ideographic full stop", "例え。jp", "xn--r8jz45g.jp", "例え.jp"},
		{"full-width letters", "ｅｘａｍｐｌｅ.com", "example.com", "example.com"},
		{"sharp s is not mapped away", "straße.de", "xn--strae-oqa.de", "straße.de"},
		{"hyphens in third and fourth place", "r3---sn.example.com", "r3---sn.example.com", "r3---sn.example.com"},
		{"digits", "123.com", "123.com", "123.com"},
		{"a label of 63", long + ".com", long + ".com", long + ".com"},
		{"a name of 253", strings.Repeat("abc.", 62) + "abcde", strings.Repeat("abc.", 62) + "abcde", strings.Repeat("abc.", 62) + "abcde"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			n, err := fqdn.Parse(test.in)
			if err != nil || n.String() != test.ascii || n.Unicode() != test.unicode {
				t.Errorf("Parse(%q): got %q, %q, %v; want %q, %q", test.in, n, n.Unicode(), err, test.ascii, test.unicode)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, in, reason string }{
		{"nothing", " ", "is empty"},
		{"the root", ".", "is empty"},
		{"two dots", "a..com", "empty label"},
		{"a leading dot", ".com", "empty label"},
		{"an underscore", "_dmarc.example.com", "underscore"},
		{"a label of 64", strings.Repeat("a", 64) + ".com", "63"},
		{"a name of 254", strings.Repeat("abc.", 62) + "abcdef", "253"},
		{"a very long text", strings.Repeat("a", 5000), "253"},
		{"an IPv4 address", "192.0.2.1", "IP address"},
		{"an IPv6 address", "2001:db8::1", "IP address"},
		{"a bracketed one", "[::1]", "IP address"},
		{"a numeric top level", "1.2.3", "number"},
		{"a NUL", "a\x00.com", "control"},
		{"a C1 control", "a\u0085b.com", "control"},
		{"a right-to-left override", "a\u202eb.com", "internationalized"},
		{"a space", "a b.com", "space"},
		{"an e-mail address", "me@example.com", "e-mail"},
		{"a leading hyphen", "-a.com", "hyphen"},
		{"a trailing hyphen", "a-.com", "hyphen"},
		{"a slash", "a/b.com", ""},
		{"a star", "*.com", ""},
		{"punycode of nothing", "xn--.com", "empty label"},
		{"punycode that overflows", "xn--99999999999.com", "internationalized"},
		{"mixed directions", "aא.com", "internationalized"},
		{"not UTF-8", "a\xff.com", "UTF-8"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			n, err := fqdn.Parse(test.in)
			if err == nil {
				t.Fatalf("Parse(%q) = %q, want a refusal", test.in, n)
			}
			if !strings.Contains(err.Error(), test.reason) || strings.Contains(err.Error(), strings.TrimSpace(test.in)) && len(strings.TrimSpace(test.in)) > 1 {
				t.Errorf("Parse(%q): %q, want %q in it and the text not repeated", test.in, err, test.reason)
			}
		})
	}
}

func TestParts(t *testing.T) {
	t.Parallel()
	n := fqdn.MustParse("www.a.co.uk")
	if n.Label() != "www" || n.Parent().String() != "a.co.uk" || n.TLD() != "uk" || n.Dots() != 3 || n.IDN() {
		t.Errorf("got %s %s %s %d %v", n.Label(), n.Parent(), n.TLD(), n.Dots(), n.IDN())
	}
	if p := fqdn.MustParse("com").Parent(); !p.IsZero() {
		t.Errorf("the parent of a label is %q, want the zero name", p)
	}
	under, err := fqdn.MustParse("a").Under(fqdn.MustParse("co.uk"))
	if err != nil || under.String() != "a.co.uk" {
		t.Errorf("Under: %q, %v", under, err)
	}
	if _, err := fqdn.MustParse(strings.Repeat("a.", 125) + "b").Under(fqdn.MustParse("com")); err == nil {
		t.Error("Under lets a name grow beyond 253")
	}
}

func TestSuffixes(t *testing.T) {
	t.Parallel()
	s := fqdn.NewSuffixes([]string{"com", "uk", "jp", "ck", "io"}, []string{"test", "shop.test", "weird.com"})
	for _, test := range []struct{ name, in, registrable, suffix string }{
		{"under a top-level domain", "www.example.com", "example.com", "com"},
		{"under a longer suffix", "www.a.co.uk", "a.co.uk", "co.uk"},
		{"beside it", "a.uk", "a.uk", "uk"},
		{"a private suffix is its owner's name", "user.github.io", "github.io", "io"},
		{"a wildcard suffix", "x.y.ck", "x.y.ck", "y.ck"},
		{"and its exception", "a.www.ck", "www.ck", "ck"},
		{"a suffix that the operator adds", "a.b.test", "b.test", "test"},
		{"the longest wins", "a.b.shop.test", "b.shop.test", "shop.test"},
		{"below a delegated one", "x.weird.com", "x.weird.com", "weird.com"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r, suffix, err := s.Registrable(fqdn.MustParse(test.in))
			if err != nil || r.String() != test.registrable || suffix.String() != test.suffix {
				t.Errorf("Registrable(%s): got %s, %s, %v; want %s, %s", test.in, r, suffix, err, test.registrable, test.suffix)
			}
		})
	}
	for in, reason := range map[string]string{"com": "TLD itself", "co.uk": "TLD itself", "a.nosuch": "unknown TLD", "de": "unknown TLD"} {
		if _, _, err := s.Registrable(fqdn.MustParse(in)); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("Registrable(%s): %v, want %q", in, err, reason)
		}
	}
	if !s.Known(fqdn.MustParse("co.uk")) || s.Known(fqdn.MustParse("a.co.uk")) || s.Known(fqdn.MustParse("nosuch")) {
		t.Error("Known is wrong about co.uk, a.co.uk or nosuch")
	}
}

// What was parsed parses again to the same name, in either spelling, and keeps the limits.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"example.com", "bücher.de", "xn--bcher-kva.de", "例え。jp", "a..b", "-", "xn--", "１.com", "٣.com"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		n, err := fqdn.Parse(in)
		if err != nil {
			return
		}
		if len(n.String()) > fqdn.MaxLength {
			t.Fatalf("Parse(%q) has %d octets", in, len(n.String()))
		}
		again, err := fqdn.Parse(n.String())
		if err != nil || again != n {
			t.Fatalf("Parse(%q) = %q, which parses to %q, %v", in, n, again, err)
		}
		if again, err := fqdn.Parse(n.Unicode()); err != nil || again != n {
			t.Fatalf("Parse(%q) = %q, whose Unicode %q parses to %q, %v", in, n, n.Unicode(), again, err)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for _, in := range []string{"example.com", "www.bücher.co.uk"} {
		b.Run(in, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := fqdn.Parse(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
