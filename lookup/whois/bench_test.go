package whois

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	whoisparser "github.com/likexian/whois-parser"

	"github.com/namewharf/namewharf/fqdn"
)

// BenchmarkParse reads a whole .com reply of a registrar, registry record and terms of use, beside whois-parser.
func BenchmarkParse(b *testing.B) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/likexian/whois-parser").Output()
	if err != nil {
		b.Skip(err)
	}
	body, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "testdata", "noterror", "com_git.com"))
	if err != nil {
		b.Skip(err)
	}
	body = bytes.ReplaceAll(body, []byte("\n"), []byte("\r\n")) // as it comes over the wire
	suffix, name := fqdn.MustParse("com"), fqdn.MustParse("git.com")
	b.Run("here", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			if r := Parse(suffix, name, body); r.Verdict != Registered {
				b.Fatal(r.Verdict)
			}
		}
	})
	b.Run("whois-parser", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := whoisparser.Parse(string(body)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkParseFree reads a .com reply for a free name, with the registry's terms of use.
func BenchmarkParseFree(b *testing.B) {
	body := []byte("No match for \"EXAMPLE-FREE.COM\".\r\n>>> Last update of whois database: 2024-01-01T00:00:00Z <<<\r\n\r\n" +
		strings.Repeat("TERMS OF USE: You are not authorized to access or query our Whois database through\r\n", 40))
	suffix, name := fqdn.MustParse("com"), fqdn.MustParse("example-free.com")
	b.ReportAllocs()
	for b.Loop() {
		if r := Parse(suffix, name, body); r.Verdict != Free {
			b.Fatal(r.Verdict)
		}
	}
}
