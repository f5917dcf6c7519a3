package words_test

import (
	"fmt"

	"github.com/namewharf/namewharf/market/words"
)

func ExampleLexicon_Split() {
	lex := words.English()
	for _, piece := range lex.Split(nil, "thecoffeeshop24") {
		fmt.Println(piece.Text, piece.Word != 0)
	}
	// Output:
	// the true
	// coffee true
	// shop true
	// 24 false
}
