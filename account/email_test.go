package account

import (
	"strings"
	"testing"

	"github.com/namewharf/namewharf/fault"
)

func TestEmailIsNormalized(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"plain", "ada@names.example", "ada@names.example"},
		{"capitals and space around", " Ada.Byron@Names.EXAMPLE\n", "ada.byron@names.example"},
		{"plus addresses stay", "ada+wharf@names.example", "ada+wharf@names.example"},
		{"all signs of an atom", "!#$%&'*+-/=?^_`{|}~@names.example", "!#$%&'*+-/=?^_`{|}~@names.example"},
		{"domain in Unicode", "ada@bücher.example", "ada@xn--bcher-kva.example"},
		{"domain in A-labels", "ada@XN--BCHER-KVA.example", "ada@xn--bcher-kva.example"},
		{"longest local part", strings.Repeat("a", 64) + "@names.example", strings.Repeat("a", 64) + "@names.example"},
	}
	for _, tt := range tests {
		got, err := normalizeEmail(tt.in)
		if err != nil || got != tt.want {
			t.Errorf("%s: normalizeEmail(%q): got %q, %v; want %q", tt.name, tt.in, got, err, tt.want)
		}
	}
}

func TestEmailRefused(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in string }{
		{"empty", ""},
		{"no at", "names.example"},
		{"no local part", "@names.example"},
		{"no domain", "ada@"},
		{"two ats", "ada@b@names.example"},
		{"domain of one label", "ada@localhost"},
		{"IP address", "ada@192.0.2.1"},
		{"address literal", "ada@[192.0.2.1]"},
		{"root dot", "ada@names.example."},
		{"dots in a row", "ada..b@names.example"},
		{"dot first", ".ada@names.example"},
		{"dot last", "ada.@names.example"},
		{"space inside", "ada b@names.example"},
		{"quoted", `"ada b"@names.example`},
		{"display name", "Ada <ada@names.example>"},
		{"line feed in the middle", "ada\nBcc:x@names.example"},
		{"line feed in the domain", "ada@names.example\r\nBcc: all@names.example"},
		{"NUL", "ada\x00@names.example"},
		{"letters beyond ASCII before the at", "аda@names.example"},
		{"list", "ada@names.example,bob@names.example"},
		{"local part too long", strings.Repeat("a", 65) + "@names.example"},
		{"all too long", strings.Repeat("a", 64) + "@" + strings.Repeat(strings.Repeat("b", 60)+".", 3) + "example"},
	}
	for _, tt := range tests {
		got, err := normalizeEmail(tt.in)
		if !fault.Is(err, fault.Validation) || got != "" {
			t.Errorf("%s: normalizeEmail(%q): got %q, %v; want %s", tt.name, tt.in, got, err, fault.Validation)
		}
		if err != nil && tt.in != "" && strings.Contains(err.Error(), tt.in) {
			t.Errorf("%s: the refusal repeats the input: %v", tt.name, err)
		}
	}
}

func FuzzEmail(f *testing.F) {
	for _, s := range []string{"ada@names.example", "A.b+c@BÜCHER.example", "a@b", "\"a b\"@c.d", "a@[1.2.3.4]", "a\r\n@b.c", strings.Repeat("a", 65) + "@b.c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := normalizeEmail(s)
		if err != nil {
			return
		}
		if again, err := normalizeEmail(got); err != nil || again != got {
			t.Errorf("normalizeEmail(%q) is %q, which becomes %q, %v", s, got, again, err)
		}
		if len(got) > maxEmail || strings.ContainsAny(got, " \r\n\t\x00<>,;:\"\\()[]") || strings.Count(got, "@") != 1 {
			t.Errorf("normalizeEmail(%q): got %q", s, got)
		}
	})
}
