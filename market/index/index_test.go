package index_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/namewharf/namewharf/market/index"
	"github.com/namewharf/namewharf/market/words"
)

// model is an index as simple as can be.
type model map[string]index.Entry

func (m model) sorted(o index.Order, keep func(index.Entry) bool) []string {
	var all []index.Entry
	for _, e := range m {
		if keep == nil || keep(e) {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b index.Entry) int {
		c := 0
		switch o {
		case index.Newest:
			c = cmp.Compare(b.ListedAt, a.ListedAt)
		case index.Length:
			c = cmp.Compare(strings.IndexByte(a.Domain, '.'), strings.IndexByte(b.Domain, '.'))
		case index.Price:
			c = cmp.Compare(a.PriceCents, b.PriceCents)
		}
		labelA, suffixA, _ := strings.Cut(a.Domain, ".")
		labelB, suffixB, _ := strings.Cut(b.Domain, ".")
		return cmp.Or(c, strings.Compare(labelA, labelB), strings.Compare(suffixA, suffixB))
	})
	var out []string
	for _, e := range all {
		out = append(out, e.Domain)
	}
	return out
}

// all follows the pages to the end.
func all(x *index.Index, f index.Filter) []string {
	var out []string
	for {
		p := x.Browse(f)
		out = append(out, domainsOf(p)...)
		if p.Next == nil {
			return out
		}
		f.After = p.Next
	}
}

func TestIndexKeepsUpWithChanges(t *testing.T) {
	t.Parallel()
	lex := words.English()
	r := rand.New(rand.NewPCG(3, 4))
	pool := make([]string, 4000)
	suffixes := []string{"com", "co.uk", "uk", "example"}
	for i := range pool {
		pool[i] = fmt.Sprintf("%s%s%d.%s", lex.Text(words.ID(1+r.IntN(lex.Len()))), []string{"coffee", "shop", "zx", ""}[r.IntN(4)], i, suffixes[r.IntN(4)])
	}
	want := model{}
	x := index.New(lex, 0)
	sizes := []int{1, 3, 2000, 9, 1, 2500, 700, 4000, 4000, 2, 3000, 4000, 5}
	for round, n := range sizes {
		var changes []index.Change
		for range n {
			e := index.Entry{
				Domain: pool[r.IntN(len(pool))], PriceCents: 1 + r.Int64N(50), ListedAt: 1 + r.Int64N(20),
				Currency: []string{"USD", "EUR"}[r.IntN(2)],
			}
			if gone := r.IntN(3) == 0; gone {
				changes = append(changes, index.Change{Entry: e, Gone: true})
				delete(want, e.Domain)
			} else {
				changes = append(changes, index.Change{Entry: e})
				want[e.Domain] = e
			}
		}
		x.Apply(changes)
		if x.Len() != len(want) {
			t.Fatalf("round %d: Len = %d, want %d", round, x.Len(), len(want))
		}
		for _, d := range pool {
			got, ok := x.Get(d)
			if wanted, there := want[d]; ok != there || ok && (got.Domain != d || got.PriceCents != wanted.PriceCents || got.Currency != wanted.Currency || got.ListedAt != wanted.ListedAt) {
				t.Fatalf("round %d: Get(%s) = %+v, %v; want %+v, %v", round, d, got, ok, wanted, there)
			}
		}
		for _, o := range []index.Order{index.Newest, index.Name, index.Length, index.Price} {
			if got, want := all(x, index.Filter{Order: o, Limit: 97}), want.sorted(o, nil); !slices.Equal(got, want) {
				t.Fatalf("round %d, order %d: pages differ from the model: %d and %d entries", round, o, len(got), len(want))
			}
		}
	}

	fresh := index.New(lex, len(want))
	fresh.Load(func(add func(index.Entry) bool) {
		for _, e := range want {
			add(e)
		}
	})
	for _, q := range []string{"coffee", "shop", "zx", "coffee shop", "17", pool[5]} {
		if got, want := x.Search(q, 500), fresh.Search(q, 500); !slices.EqualFunc(got, want, func(a, b index.Hit) bool { return a.Domain == b.Domain && a.Score == b.Score && a.Match == b.Match }) {
			t.Errorf("Search(%q) finds %d entries after changes, %d in a new index", q, len(got), len(want))
		}
	}
	bounds := index.Filter{Suffix: "uk", MinPrice: 10, MaxPrice: 30, Order: index.Newest, Limit: 10}
	suits := func(e index.Entry) bool {
		return strings.HasSuffix(e.Domain, ".uk") && e.PriceCents >= 10 && e.PriceCents <= 30
	}
	if got, want := all(x, bounds), want.sorted(index.Newest, suits); !slices.Equal(got, want) {
		t.Errorf("bounds: %d entries, want %d", len(got), len(want))
	}
	bounds.Order = index.Price
	if got, want := all(x, bounds), want.sorted(index.Price, suits); !slices.Equal(got, want) {
		t.Errorf("bounds by price: %d entries, want %d", len(got), len(want))
	}
	for _, offset := range []int{0, 1, 50, len(want) - 1, len(want), len(want) + 5} {
		names := want.sorted(index.Name, nil)
		if got, want := domainsOf(x.Browse(index.Filter{Order: index.Name, Limit: 7, Offset: offset})), names[min(offset, len(names)):min(offset+7, len(names))]; !slices.Equal(got, want) {
			t.Errorf("offset %d: %v, want %v", offset, got, want)
		}
	}
}

func TestPagesShowEveryEntryOnceWhileOthersComeAndGo(t *testing.T) {
	t.Parallel()
	lex := words.English()
	for _, query := range []string{"", "coffee"} {
		for _, o := range []index.Order{index.Newest, index.Name, index.Length, index.Price} {
			r := rand.New(rand.NewPCG(5, uint64(o)))
			x := index.New(lex, 0)
			entry := func(kind string, i int) index.Entry {
				return index.Entry{Domain: fmt.Sprintf("coffee-%s-%d.com", kind, i), PriceCents: 1 + r.Int64N(9), ListedAt: 1 + r.Int64N(9)}
			}
			var changes []index.Change
			for i := range 300 {
				changes = append(changes, index.Change{Entry: entry("stays", i)}, index.Change{Entry: entry("goes", i)})
			}
			x.Apply(changes)
			seen := map[string]int{}
			f := index.Filter{Order: o, Limit: 20, Query: query}
			for i := 0; ; i++ {
				p := x.Browse(f)
				for _, d := range domainsOf(p) {
					seen[d]++
				}
				if f.After = p.Next; p.Next == nil {
					break
				}
				x.Apply([]index.Change{{Entry: entry("comes", i)}, {Entry: entry("goes", i), Gone: true}, {Entry: entry("goes", 299-i), Gone: true}})
			}
			for i := range 300 {
				if d := fmt.Sprintf("coffee-stays-%d.com", i); seen[d] != 1 {
					t.Errorf("query %q, order %d: %s was shown %d times", query, o, d, seen[d])
				}
			}
		}
	}
}

func TestReadersSeeBatchesWhole(t *testing.T) {
	t.Parallel()
	x := index.New(words.English(), 0)
	pair := func(price int64) []index.Change {
		return []index.Change{
			{Entry: index.Entry{Domain: "coffee-left.com", PriceCents: price}},
			{Entry: index.Entry{Domain: "coffee-right.com", PriceCents: price}},
		}
	}
	x.Apply(pair(0))
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 3 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				hits := x.Search("coffee", 10)
				if len(hits) != 2 || hits[0].PriceCents != hits[1].PriceCents {
					t.Errorf("Search sees half a batch: %+v", hits)
					return
				}
				if p := x.Browse(index.Filter{Limit: 10}); len(p.Entries) != 2 || p.Entries[0].PriceCents != p.Entries[1].PriceCents {
					t.Errorf("Browse sees half a batch: %+v", p.Entries)
					return
				}
			}
		})
	}
	for price := range int64(5000) {
		x.Apply(pair(price + 1))
	}
	close(stop)
	wg.Wait()
}

func TestGetAllocatesNothing(t *testing.T) {
	x := filled(t, inventory)
	if n := testing.AllocsPerRun(100, func() { x.Get("coffee.com"); x.Get("absent.com"); x.Get("coffee.absent") }); n != 0 {
		t.Errorf("Get allocates %v times", n)
	}
}

func FuzzSearch(f *testing.F) {
	for _, q := range []string{"coffee shop", "ember.com", "https://a.b/c", "xn--bcher-kva.de", "\xff", "ß", "a-b--c", ".", "www.x.y.z"} {
		f.Add(q)
	}
	x := filled(f, inventory)
	f.Fuzz(func(t *testing.T, q string) {
		hits := x.Search(q, 10)
		if len(hits) > 10 {
			t.Errorf("Search(%q): %d hits", q, len(hits))
		}
		for i := 1; i < len(hits); i++ {
			if hits[i].Score > hits[i-1].Score {
				t.Errorf("Search(%q) is not sorted: %v", q, hits)
			}
		}
		browsed := all(x, index.Filter{Query: q, Order: index.Name, Limit: 3})
		for _, h := range hits {
			if !slices.Contains(browsed, h.Domain) {
				t.Errorf("Search(%q) finds %s, Browse does not", q, h.Domain)
			}
		}
	})
}
