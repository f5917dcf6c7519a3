package market_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/market/words"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// file is a CSV of n names of one to three words.
func file(n int) io.Reader {
	lex := words.English()
	r := rand.New(rand.NewPCG(1, 2))
	suffixes := []string{"com", "net", "org", "io", "dev", "de", "co.uk", "app", "example"}
	out, in := io.Pipe()
	go func() {
		w := bufio.NewWriter(in)
		fmt.Fprint(w, header)
		for i := range n {
			var label strings.Builder
			for range 1 + r.IntN(3) {
				label.WriteString(lex.Text(words.ID(1 + r.IntN(lex.Len()))))
			}
			price := 1000 + r.IntN(10_000_000)
			fmt.Fprintf(w, "%s%d.%s,%d,%d,USD,A name for a business,\n", label.String(), i, suffixes[r.IntN(len(suffixes))], price, price/2)
		}
		w.Flush()
		in.Close()
	}()
	return out
}

// BenchmarkStart reports how long a market with a million listings takes to open, and how long to fill.
func BenchmarkStart(b *testing.B) {
	const n = 1_000_000
	db := storetest.Open(b, store.Config{Dir: b.TempDir()})
	b.Run("Import", func(b *testing.B) {
		for b.Loop() {
			r, err := market.Import(b.Context(), db, file(n), market.ImportOptions{Environment: market.Live})
			if err != nil || len(r.Bad) > 0 {
				b.Fatalf("import: %+v, %v", r, err)
			}
		}
	})
	b.Run("New", func(b *testing.B) {
		for b.Loop() {
			m, err := market.New(b.Context(), market.Config{DB: db})
			if err != nil {
				b.Fatal(err)
			}
			if m.Len(market.Live) != n {
				b.Fatalf("%d listings, want %d", m.Len(market.Live), n)
			}
			m.Close()
		}
	})
}
