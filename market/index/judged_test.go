package index_test

import (
	"flag"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/namewharf/namewharf/market/index"
	"github.com/namewharf/namewharf/market/words"
)

var judgedFile = flag.String("judged", "", "judge the search by this file instead of those in testdata")

// A topic is some labels, and queries of somebody who looks for one of them.
type topic struct {
	name            string
	labels, queries []string
}

// readTopics reads lines "name | label … | query; query …".
func readTopics(t testing.TB, file string) (topics []topic) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}
		fields := strings.Split(line, "|")
		if len(fields) != 3 {
			t.Fatalf("%s: %q is not a name, labels and queries", file, line)
		}
		one := topic{name: strings.TrimSpace(fields[0]), labels: strings.Fields(strings.ReplaceAll(fields[1], ",", " "))}
		for q := range strings.SplitSeq(fields[2], ";") {
			one.queries = append(one.queries, strings.TrimSpace(q))
		}
		topics = append(topics, one)
	}
	return topics
}

// judge searches for every query among the labels of all topics and some thousand other names. It returns the share of
// queries with a label of their topic among the first five hits, and the share of those hits that are of the topic.
func judge(t *testing.T, topics []topic, others int) (hit, precision float64) {
	lex := words.English()
	var entries []index.Entry
	of := map[string]string{}
	for _, one := range topics {
		for _, label := range one.labels {
			of[label+".com"] = one.name
			entries = append(entries, index.Entry{Domain: label + ".com", PriceCents: 100, Currency: "USD"})
		}
	}
	entries = slices.AppendSeq(entries, plain(lex, topics, others))
	x := index.New(lex, len(entries))
	x.Load(slices.Values(entries))
	var queries, hits, shown, right float64
	for _, one := range topics {
		for _, q := range one.queries {
			queries++
			found := x.Search(q, 5)
			ok := false
			var got []string
			for _, h := range found {
				shown++
				mark := ""
				if of[h.Domain] == one.name {
					right++
					ok, mark = true, "*"
				}
				got = append(got, mark+strings.TrimSuffix(h.Domain, ".com"))
			}
			if ok {
				hits++
			}
			t.Logf("%-5v %-28s %s", ok, q, strings.Join(got, " "))
		}
	}
	return hits / queries, right / max(1, shown)
}

// plain is n entries with names of two common words, none of which is in a query of the topics.
func plain(lex *words.Lexicon, topics []topic, n int) iter.Seq[index.Entry] {
	var common []string
	asked := map[words.ID]bool{}
	for _, one := range topics {
		for w := range strings.FieldsSeq(strings.Join(one.queries, " ")) {
			asked[lex.Base(lex.Find(w))] = true
		}
	}
	for id := words.ID(1); int(id) <= lex.Len(); id++ {
		if w := lex.Text(id); len(w) > 2 && lex.Base(id) == id && !lex.Common(id) && lex.Vectors().Known(id) && lex.Frequent(id) && !asked[id] {
			common = append(common, w)
		}
	}
	return func(yield func(index.Entry) bool) {
		r := rand.New(rand.NewPCG(3, 4))
		for range n {
			if !yield(index.Entry{Domain: common[r.IntN(len(common))] + common[r.IntN(len(common))] + ".net", PriceCents: 100, Currency: "USD"}) {
				return
			}
		}
	}
}

// reached is what each set reaches, less a little.
var reached = map[string]struct{ hit, precision float64 }{
	"judged-develop.txt": {0.80, 0.52},
	"judged-given.txt":   {0.91, 0.58},
	"judged-last.txt":    {0.80, 0.52},
}

// TestJudged holds the search to what it reaches on sets of topics that were made for it.
func TestJudged(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/judged-*.txt")
	if *judgedFile != "" {
		files = []string{*judgedFile}
	} else if err != nil || len(files) == 0 {
		t.Fatal("no sets to judge by in testdata", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			hit, precision := judge(t, readTopics(t, file), 500)
			t.Logf("hit at five %.3f, precision %.3f", hit, precision)
			least := reached[filepath.Base(file)]
			if hit < least.hit || precision < least.precision {
				t.Errorf("hit at five %.3f, want %.2f; precision %.3f, want %.2f", hit, least.hit, precision, least.precision)
			}
		})
	}
}
