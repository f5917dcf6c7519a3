package lookup

import (
	"encoding/hex"
	"testing"

	"github.com/miekg/dns"
)

// FuzzTXTValue shows that the bytes of a record's strings come out as they went onto the wire.
func FuzzTXTValue(f *testing.F) {
	for _, seed := range []string{"", "plain", `a\b`, `"`, "\x00\xff\x7f", `\065`, "é\\", "\\\\1234"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		var data []byte
		for rest := value; ; rest = rest[min(255, len(rest)):] {
			part := rest[:min(255, len(rest))]
			data = append(append(data, byte(len(part))), part...)
			if len(part) < 255 {
				break
			}
		}
		if len(data) > 60_000 {
			t.Skip("longer than a message")
		}
		m := new(dns.Msg).SetQuestion("a.example.", dns.TypeTXT)
		m.Answer = []dns.RR{&dns.RFC3597{Hdr: dns.RR_Header{Name: "a.example.", Rrtype: dns.TypeTXT, Class: dns.ClassINET}, Rdata: hex.EncodeToString(data)}}
		wire, err := m.Pack()
		if err != nil {
			t.Fatal(err)
		}
		reply := new(dns.Msg)
		if err := reply.Unpack(wire); err != nil {
			t.Fatal(err)
		}
		if got := txtValues("a.example.", reply.Answer); len(got) != 1 || got[0] != value {
			t.Errorf("value %q came out as %q", value, got)
		}
	})
}
