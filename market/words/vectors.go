package words

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
)

// vectorFile is made by gen from GloVe's vectors and english.txt.
//
//go:embed vectors.bin
var vectorFile []byte

// Dimensions is how many numbers a [Vector] has.
const Dimensions = 64

// A Vector is the meaning of a word or a phrase: a direction. The nearer two are in meaning, the smaller the angle between.
type Vector [Dimensions]float32

// Add adds a multiple of another vector.
func (v *Vector) Add(o *Vector, times float32) {
	for i := range v {
		v[i] += times * o[i]
	}
}

// Dot is the cosine of the angle between two vectors of length 1.
func (v *Vector) Dot(o *Vector) (sum float32) {
	for i := range v {
		sum += v[i] * o[i]
	}
	return sum
}

// Normalize makes the length 1. It reports false, and changes nothing, for the vector of length 0.
func (v *Vector) Normalize() bool {
	length := float32(math.Sqrt(float64(v.Dot(v))))
	if length < 1e-6 {
		return false
	}
	for i := range v {
		v[i] /= length
	}
	return true
}

// rowBytes is the size of a vector in the table: two numbers a byte.
const rowBytes = Dimensions / 2

// VectorMagic begins a table of vectors. It is followed by the CRC-32 of the word list, the number of rows, the 16 values that
// numbers have, a bit for each word of the list that says whether it has a row, and the rows by ID; all little-endian.
const VectorMagic = "NWV1"

// Vectors are the meanings of base forms of a [Lexicon]. They are immutable.
type Vectors struct {
	values [16]float32
	rows   []byte
	row    []uint16 // by ID: 1 + its row; 0: it has none
}

// EnglishVectors are those of [English]. Making them takes less than a millisecond, and 160 kB beside what the program
// file holds.
func EnglishVectors() *Vectors {
	v, err := ParseVectors(vectorFile)
	if err != nil {
		panic("words: built-in vectors: " + err.Error())
	}
	return v
}

// ParseVectors reads a table of vectors, and refers to its bytes from then on.
func ParseVectors(table []byte) (*Vectors, error) {
	const head = len(VectorMagic) + 4 + 4 + 16*4
	if len(table) < head || string(table[:len(VectorMagic)]) != VectorMagic {
		return nil, errors.New("not a table of word vectors")
	}
	count := int(binary.LittleEndian.Uint32(table[8:]))
	v := &Vectors{}
	for i := range v.values {
		v.values[i] = math.Float32frombits(binary.LittleEndian.Uint32(table[12+4*i:]))
	}
	size := len(table) - head - count*rowBytes
	if count >= 1<<16 || size < 0 {
		return nil, errors.New("the table of word vectors is cut short")
	}
	set := table[head : head+size]
	v.rows = table[head+size:]
	v.row = make([]uint16, 8*size)
	row := 0
	for at, b := range set {
		for ; b != 0; b &= b - 1 {
			row++
			v.row[8*at+bits.TrailingZeros8(b)] = uint16(row)
		}
	}
	if row != count {
		return nil, errors.New("the table of word vectors has rows of no word")
	}
	return v, nil
}

// Known reports whether the word has a vector. Only base forms do.
func (v *Vectors) Known(id ID) bool { return int(id) < len(v.row) && v.row[id] != 0 }

// Of is the vector of a word; of length 0 when it has none.
func (v *Vectors) Of(id ID) (out Vector) {
	for i, b := range v.bytes(id) {
		out[2*i], out[2*i+1] = v.values[b&15], v.values[b>>4]
	}
	return out
}

func (v *Vectors) bytes(id ID) []byte {
	if !v.Known(id) {
		return nil
	}
	at := (int(v.row[id]) - 1) * rowBytes
	return v.rows[at : at+rowBytes : at+rowBytes]
}

// Products are what the numbers of one vector make with each pair of numbers that a byte of the table can hold, so that the
// similarity to many words costs 32 additions a word.
type Products [rowBytes][256]float32

// Set prepares the products for a vector.
func (p *Products) Set(v *Vectors, q *Vector) {
	for i := range p {
		for b := range p[i] {
			p[i][b] = q[2*i]*v.values[b&15] + q[2*i+1]*v.values[b>>4]
		}
	}
}

// Similarity is the cosine between the vector of the products and that of a word: about 0 for what has nothing in common, 1
// for the same, and 0 for a word without a vector.
func (v *Vectors) Similarity(p *Products, id ID) float32 {
	row := v.bytes(id)
	if row == nil {
		return 0
	}
	r := (*[rowBytes]byte)(row)
	var a, b, c, d float32
	for i := 0; i < rowBytes; i += 4 {
		a += p[i][r[i]]
		b += p[i+1][r[i+1]]
		c += p[i+2][r[i+2]]
		d += p[i+3][r[i+3]]
	}
	return a + b + c + d
}
