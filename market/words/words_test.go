package words

import (
	"strings"
	"testing"
)

func TestX(t *testing.T) {
	l := English()
	for _, s := range strings.Fields("coffeeshop berlincafe expertsexchange emberly spotify zalando solarpanels getcoffee thecoffeebean crypto24 mybestapp realestatepro ecommerce brewhaus choosespain penisland smartwatch datascience techcrunch namewharf webhosting fintech aitools cloudkitchen 4chan cafe-24 speedofart whorepresents therapistfinder americanscrapmetal") {
		var out []string
		for _, p := range l.Split(nil, s) {
			x := p.Text
			if p.Word == 0 {
				x = "?" + x
			}
			out = append(out, x)
		}
		t.Log(s, out)
	}
}

func BenchmarkEnglish(b *testing.B) {
	for b.Loop() {
		English()
	}
}
func BenchmarkSplit(b *testing.B) {
	l := English()
	var dst []Piece
	for b.Loop() {
		dst = l.Split(dst[:0], "berlincoffeeshop")
	}
}
