package words

import (
	"encoding/binary"
	"hash/crc32"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestProgramsCarryTheReviewedText(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("english.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := unpack(packed); err != nil || got != string(want) {
		t.Errorf("english.txt.gz unpacks to %d bytes, %v; it is not english.txt, which has %d: run go generate", len(got), err, len(want))
	}
}

func TestSplit(t *testing.T) {
	t.Parallel()
	l := English()
	tests := []struct{ in, want string }{ // a question mark precedes what is no word
		{"coffeeshop", "coffee shop"},
		{"thecoffeebean", "the coffee bean"},
		{"berlincafe", "berlin cafe"},
		{"mybestapp", "my best app"},
		{"solarpanels", "solar panels"},
		{"doghouse", "doghouse"},
		{"expertsexchange", "experts exchange"},
		{"penisland", "pen island"},
		{"whorepresents", "who represents"},
		{"therapistfinder", "therapist finder"},
		{"speedofart", "speed of art"},
		{"americanscrapmetal", "american scrap metal"},
		{"namewharf", "name wharf"},
		{"emberly", "ember ly"},
		{"aitools", "ai tools"},
		{"xqzcoffee", "?xqz coffee"},
		{"zyntra", "?zyntra"},
		{"crypto24", "crypto ?24"},
		{"24-7-cafe", "?24 ?7 cafe"},
		{"cafe--bar", "cafe bar"},
		{"", ""},
		{"--", ""},
	}
	for _, tt := range tests {
		var got []string
		for _, p := range l.Split(nil, tt.in) {
			if p.Word == 0 {
				p.Text = "?" + p.Text
			}
			got = append(got, p.Text)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("Split(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestWordsAreRelated(t *testing.T) {
	t.Parallel()
	l := English()
	for _, tt := range []struct{ word, base string }{
		{"beans", "bean"}, {"shops", "shop"}, {"apps", "app"}, {"went", "go"}, {"glass", "glass"}, {"news", "news"}, {"bean", "bean"},
	} {
		if got := l.Text(l.Base(l.Find(tt.word))); got != tt.base {
			t.Errorf("Base(%s) = %s, want %s", tt.word, got, tt.base)
		}
	}
	for _, tt := range []struct {
		from, to string
		near     bool
	}{
		{"coffee", "brew", true},
		{"coffee", "roast", true},
		{"shop", "haven", true},
		{"haven", "shop", false}, // nothing leads back to what is in every other name
		{"lawyer", "attorney", true},
		{"car", "automobile", true},
		{"coffee", "lawyer", false},
	} {
		near := false
		for _, link := range l.Neighbours(l.Find(tt.from)) {
			near = near || link.To == l.Find(tt.to)
		}
		if near != tt.near {
			t.Errorf("%s leads to %s: %v, want %v", tt.from, tt.to, near, tt.near)
		}
	}
	for _, tt := range []struct{ word, first, second string }{
		{"doghouse", "dog", "house"}, {"carwash", "car", "wash"}, {"carpet", "", ""}, {"together", "", ""},
	} {
		first, second := l.Parts(l.Find(tt.word))
		if l.Text(first) != tt.first || l.Text(second) != tt.second {
			t.Errorf("Parts(%s) = %q, %q; want %q, %q", tt.word, l.Text(first), l.Text(second), tt.first, tt.second)
		}
	}
	for word, want := range map[string]uint8{"shop": 1, "agency": 1, "online": 1, "the": 0, "coffee": FullMass, "garden": FullMass} {
		if got := l.Mass(l.Find(word)); got != want {
			t.Errorf("Mass(%s) = %v, want %v", word, got, want)
		}
	}
	for word, want := range map[string]bool{"the": true, "for": true, "coffee": false, "shop": false} {
		if got := l.Common(l.Find(word)); got != want {
			t.Errorf("Common(%s) = %v, want %v", word, got, want)
		}
	}
}

func TestEveryWordIsFound(t *testing.T) {
	t.Parallel()
	l := English()
	for id := ID(1); id <= ID(l.Len()); id++ {
		if got := l.Find(l.Text(id)); got != id {
			t.Fatalf("Find(%q) = %d, want %d", l.Text(id), got, id)
		}
		if base := l.Base(id); l.Base(base) != base {
			t.Errorf("base of the base of %q is another", l.Text(id))
		}
	}
	for _, absent := range []string{"", "qqq", "coffe", "Coffee", "a b", "é"} {
		if id := l.Find(absent); id != 0 {
			t.Errorf("Find(%q) = %q", absent, l.Text(id))
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a line without a cost":         "bean\n",
		"a cost over 255":               "bean\t256\n",
		"a word in upper case":          "Bean\t9\n",
		"words out of order":            "b\t9\na\t9\n",
		"a word twice":                  "a\t9\na\t9\n",
		"a base that is no word":        "beans\t9\t=bean\n",
		"a cut behind the end":          "bean\t9\t+4\n",
		"a neighbour that is no word":   "bean\t9\tcoffee:5\n",
		"a neighbour without strength":  "bean\t9\tbean\n",
		"a neighbour as strong as that": "bean\t9\tbean:10\n",
	} {
		if _, err := Parse(text); err == nil {
			t.Errorf("Parse takes %s: %q", name, text)
		}
	}
	if l, err := Parse("# comment\n\nbean\t9"); err != nil || l.Find("bean") == 0 {
		t.Errorf("Parse refuses a short list: %v", err)
	}
}

func FuzzSplit(f *testing.F) {
	for _, s := range []string{"coffeeshop", "a", "", "24x7", "é", strings.Repeat("coffee", 50), strings.Repeat("q", 200), "\xff\xfe", "A-b"} {
		f.Add(s)
	}
	l := English()
	f.Fuzz(func(t *testing.T, s string) {
		s = s[:min(len(s), 1000)]
		var joined strings.Builder
		for _, p := range l.Split(nil, s) {
			if p.Text == "" {
				t.Errorf("Split(%q) has an empty piece", s)
			}
			if p.Word != 0 && l.Text(p.Word) != p.Text {
				t.Errorf("Split(%q): piece %q is said to be %q", s, p.Text, l.Text(p.Word))
			}
			joined.WriteString(p.Text)
		}
		want := strings.Map(func(r rune) rune {
			if r < utf8.RuneSelf && (r < 'a' || r > 'z') && (r < '0' || r > '9') {
				return -1
			}
			return r
		}, s)
		if utf8.ValidString(s) && joined.String() != want {
			t.Errorf("Split(%q) makes %q, want %q", s, joined.String(), want)
		}
	})
}

func BenchmarkEnglish(b *testing.B) {
	for b.Loop() {
		English()
	}
}

func BenchmarkSplit(b *testing.B) {
	l := English()
	var pieces []Piece
	for b.Loop() {
		pieces = l.Split(pieces[:0], "berlincoffeeshop")
	}
}

func TestCorrected(t *testing.T) {
	t.Parallel()
	l := English()
	for text, want := range map[string]string{
		"cofee": "coffee", "coffe": "coffee", "cofffee": "coffee", "coffea": "coffee", "cofefe": "coffee", "resturant": "restaurant",
		"jewellry": "jewelry", "plumbng": "plumbing", "dentsit": "dentist", "xqzzyw": "", "a": "", "b\xc3\xbccher": "", "": "",
	} {
		if got := l.Text(l.Corrected(text)); got != want {
			t.Errorf("Corrected(%q) = %q, want %q", text, got, want)
		}
	}
}

func FuzzCorrected(f *testing.F) {
	l := English()
	f.Add("cofee")
	f.Fuzz(func(t *testing.T, s string) {
		if got := l.Text(l.Corrected(s)); got != "" && (got[0] != s[0] || len(got) < len(s)-1 || len(got) > len(s)+1) {
			t.Errorf("Corrected(%q) = %q, more than an edit away", s, got)
		}
	})
}

func FuzzParseVectors(f *testing.F) {
	f.Add([]byte(VectorMagic))
	f.Add(vectorFile[:4096])
	f.Fuzz(func(t *testing.T, table []byte) {
		v, err := ParseVectors(table)
		if err != nil {
			return
		}
		for id := range ID(len(v.row)) {
			v.Of(id)
		}
	})
}

func TestVectorsFitTheList(t *testing.T) {
	t.Parallel()
	text, err := unpack(packed)
	if err != nil {
		t.Fatal(err)
	}
	if sum := binary.LittleEndian.Uint32(vectorFile[4:]); sum != crc32.ChecksumIEEE([]byte(text)) {
		t.Errorf("vectors.bin was made for another english.txt: make it again (gen -embeddings)")
	}
	l, v := English(), EnglishVectors()
	near := func(a, b string) float32 {
		x, y := v.Of(l.Find(a)), v.Of(l.Find(b))
		return x.Dot(&y)
	}
	for _, tt := range []struct{ a, b, far string }{{"coffee", "espresso", "lawyer"}, {"dentist", "tooth", "car"}, {"car", "vehicle", "loan"}} {
		if near(tt.a, tt.b) < 0.7 || near(tt.a, tt.far) > 0.35 {
			t.Errorf("%s: %s is at %.2f, %s at %.2f", tt.a, tt.b, near(tt.a, tt.b), tt.far, near(tt.a, tt.far))
		}
	}
}
