package tld

import (
	"bytes"
	"compress/gzip"
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write the compressed data files")

func TestGoldenPacked(t *testing.T) {
	for name, packed := range map[string][]byte{"facts.txt": factsPacked, "tariffs.txt": tariffsPacked} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(packed) > 0 && unpack(packed) == string(text) {
			continue
		}
		if !*update {
			t.Errorf("%s.gz is not %s: run make golden", name, name)
			continue
		}
		var b bytes.Buffer
		z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := z.Write(text); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name+".gz", b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
