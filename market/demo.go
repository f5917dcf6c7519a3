package market

import (
	_ "embed"
	"io"
	"strings"
)

//go:embed demo.csv
var demo string

// Demo is some 250 sample listings as a file for [Import]: names that the demo registry has as registered, a few on
// naming themes under .example, and one internationalized.
func Demo() io.Reader { return strings.NewReader(demo) }
