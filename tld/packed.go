package tld

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
)

// The data files are carried compressed, which spares the programs a quarter of a megabyte; the texts beside them are
// for readers. A test checks that both are equal and writes the compressed ones (make golden).
var (
	//go:embed facts.txt.gz
	factsPacked []byte
	//go:embed tariffs.txt.gz
	tariffsPacked []byte
)

// unpack returns the text of a file that is part of the program; it panics where that is damaged.
func unpack(packed []byte) string {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		panic("tld: built-in data: " + err.Error())
	}
	text, err := io.ReadAll(z)
	if err != nil {
		panic("tld: built-in data: " + err.Error())
	}
	return string(text)
}
