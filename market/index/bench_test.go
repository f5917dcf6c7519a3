package index_test

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/namewharf/namewharf/market/index"
	"github.com/namewharf/namewharf/market/words"
)

// million is how many names the benchmarks search through.
const million = 1_000_000

// generated is n entries with names of one to three words, of which a few are in very many names, as in real inventories.
func generated(lex *words.Lexicon, n int) iter.Seq[index.Entry] {
	suffixes := []string{"com", "com", "com", "net", "org", "io", "dev", "de", "co.uk", "app", "shop", "example"}
	return func(yield func(index.Entry) bool) {
		r := rand.New(rand.NewPCG(1, 2))
		popular := []string{"shop", "store", "online", "app", "best", "my", "get", "go", "hub", "web", "coffee", "solar", "berlin", "home"}
		word := func() string {
			if r.IntN(5) == 0 {
				return popular[r.IntN(len(popular))]
			}
			// Zipf-like: low ids of a shuffled list are frequent.
			return lex.Text(words.ID(1 + uint64(float64(lex.Len())*r.Float64()*r.Float64()*r.Float64())*2654435761%uint64(lex.Len())))
		}
		seen := make(map[string]bool, n)
		for i := 0; len(seen) < n; i++ {
			var label strings.Builder
			label.WriteString(word())
			for range r.IntN(3) {
				label.WriteString(word())
			}
			if r.IntN(4) == 0 {
				label.WriteString(fmt.Sprint(r.IntN(1000)))
			}
			if r.IntN(10) == 0 {
				label.WriteString(fmt.Sprintf("%c%c%c", 'a'+r.IntN(26), 'a'+r.IntN(26), 'a'+r.IntN(26)))
			}
			domain := label.String() + "." + suffixes[r.IntN(len(suffixes))]
			if seen[domain] {
				continue
			}
			seen[domain] = true
			if !yield(index.Entry{
				Domain:     domain,
				PriceCents: 100 * (1 + r.Int64N(1_000_000)),
				Currency:   "USD",
				ListedAt:   1_700_000_000_000_000 + int64(i)*1000,
			}) {
				return
			}
		}
	}
}

var benchQueries = []string{
	"coffee", "coffee shop", "coffee shop berlin", "ember", "ember.com", "solar energy", "best online store", "shop",
	"my home", "fast car", "dog food", "real estate agent", "https://www.getcoffee.com/menu", "zyntra", "law", "a", "the",
	"money transfer app", "green garden house", "cheap flight travel deals online",
}

// BenchmarkMillion reports how long an index of a million names takes to build, what it weighs on the heap, and how long
// searches take.
func BenchmarkMillion(b *testing.B) {
	lex := words.English()
	entries := slices.Collect(generated(lex, million))
	var x *index.Index
	load := func() {
		x = index.New(lex, len(entries))
		x.Load(slices.Values(entries))
	}
	load()
	b.Run("Load", func(b *testing.B) {
		for b.Loop() {
			x = nil
			before := heap()
			load()
			size := heap() - before
			b.ReportMetric(float64(size)/1e6, "MB")
			b.ReportMetric(float64(size)/float64(x.Len()), "B/entry")
		}
	})
	b.Run("Search", func(b *testing.B) { benchmarkSearch(b, x) })
	for _, q := range benchQueries {
		b.Run("Query/"+q, func(b *testing.B) {
			for b.Loop() {
				x.Search(q, 25)
			}
		})
	}
	b.Run("Get", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			x.Get(entries[i*7919%len(entries)].Domain)
		}
	})
	for name, f := range map[string]index.Filter{
		"newest": {}, "name": {Order: index.Name}, "deep": {Offset: 10_000}, "suffix": {Suffix: "uk"},
		"query": {Query: "coffee shop"}, "price": {MinPrice: 99_999_000, Order: index.Price},
	} {
		b.Run("Browse/"+name, func(b *testing.B) {
			f.Limit = 25
			for b.Loop() {
				x.Browse(f)
			}
		})
	}
	b.Run("Apply/1", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			x.Apply([]index.Change{{Entry: entries[i*7919%len(entries)]}})
		}
	})
	b.Run("Apply/10000", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			var changes []index.Change
			for j := range 10_000 {
				changes = append(changes, index.Change{Entry: entries[(i*10_000+j)%len(entries)]})
			}
			x.Apply(changes)
		}
	})
}

// BenchmarkTenMillion reports how long searches among ten million names take. It needs 5 GB.
func BenchmarkTenMillion(b *testing.B) {
	lex := words.English()
	x := index.New(lex, 10*million)
	x.Load(generated(lex, 10*million))
	b.Run("Search", func(b *testing.B) { benchmarkSearch(b, x) })
}

// benchmarkSearch reports how long searches take, and how much of the processors' time, garbage collection included: at p50 and
// p99 of all, and of the slowest query on average.
func benchmarkSearch(b *testing.B, x *index.Index) {
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	var took, waited []time.Duration
	of := map[string]time.Duration{}
	for i := 0; b.Loop(); i++ {
		q := benchQueries[i%len(benchQueries)]
		start, began := used(), time.Now()
		x.Search(q, 25)
		waited = append(waited, time.Since(began))
		spent := used() - start
		took = append(took, spent)
		of[q] += spent
	}
	slices.Sort(took)
	slices.Sort(waited)
	b.ReportMetric(float64(waited[len(waited)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-CPU-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-CPU-µs")
	slowest := time.Duration(0)
	for _, sum := range of {
		slowest = max(slowest, sum*time.Duration(len(benchQueries))/time.Duration(len(took)))
	}
	b.ReportMetric(float64(slowest.Microseconds()), "slowest-CPU-µs")
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
