package spelling_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/namewharf/namewharf/spelling"
)

func ExampleDidYouMean() {
	fmt.Println("there is no currency USB" + spelling.DidYouMean("USB", []string{"EUR", "USD"}))
	// Output: there is no currency USB; did you mean USD?
}

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"base-url", "data", "db", "com", "co", "cm", "net", "österreich"}
	for word, want := range map[string]string{
		"data": "data", "DATA": "data", "dta": "data", "datta": "data", "adta": "data", "base_url": "base-url", "baseurll": "base-url",
		"cmo": "com", "ney": "net", "osterreich": "österreich", "": "", "xyzzy": "", "bbse-orx": "", "d": "db",
		strings.Repeat("x", 1000): "",
	} {
		if got := spelling.Nearest(word, known); got != want {
			t.Errorf("%.20q: got %q, want %q", word, got, want)
		}
	}
	if got := spelling.DidYouMean("xyzzy", known); got != "" {
		t.Errorf("got %q, want nothing", got)
	}
}
