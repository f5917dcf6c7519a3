package whois

import (
	"fmt"
	"github.com/namewharf/namewharf/fqdn"
	"os"
	"strings"
	"testing"
)

func TestDbg(t *testing.T) {
	f := os.Getenv("DBG")
	if f == "" {
		t.Skip()
	}
	for _, f := range strings.Fields(f) {
		b, _ := os.ReadFile(f)
		base := f[strings.LastIndex(f, "/")+1:]
		_, nm, _ := strings.Cut(base, "_")
		n := fqdn.MustParse(nm)
		s := n.Parent()
		if s.IsZero() {
			s = n
		}
		r := Parse(s, n, b)
		v, l := tables().of(s).judge(clean(b), newNames(n))
		fmt.Printf("%s %s judge=%s line=%.100q\n", f, r.Verdict, v, l)
		r.Record.Raw = ""
		fmt.Printf("   %+v\n", r.Record)
	}
}
