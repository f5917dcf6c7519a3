package fqdn

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/net/idna"
)

// TestRegistrable checks names of many scripts against IDNA 2008. Registries reported the refused ones as free.
func TestRegistrable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what, name string
		want       string // part of the reason; empty: fine; -: Parse refuses it already
	}{
		{"ASCII", "example.com", ""},
		{"hyphens in third and fourth place", "ab--c.com", ""},
		{"German", "bücher.de", ""},
		{"a sharp s", "straße.de", ""},
		{"French", "garçon-élève.fr", ""},
		{"Turkish", "ışık.com", ""},
		{"Polish", "żółć.pl", ""},
		{"Vietnamese", "tiếngviệt.vn", ""},
		{"Cyrillic", "пример.рф", ""},
		{"Ukrainian with a soft sign", "п'ять.укр", "-"},
		{"Ukrainian", "їжак.укр", ""},
		{"Greek with a final sigma", "παράδειγμας.ελ", ""},
		{"polytonic Greek", "ἀρχή.gr", ""},
		{"the Greek numeral sign before a Greek letter", "͵α.gr", ""},
		{"the Greek numeral sign before another letter", "͵x.gr", "beside"},
		{"Hebrew", "דוגמה.קום", ""},
		{"geresh after a Hebrew letter", "צ׳ק.com", ""},
		{"gershayim after a Hebrew letter", "צה״ל.com", ""},
		{"Arabic", "مثال.مصر", ""},
		{"Persian with a zero width non-joiner", "نامه\u200cای.com", ""},
		{"Arabic-Indic digits", "مثال١٢.com", ""},
		{"Extended Arabic-Indic digits", "مثال۱۲.com", ""},
		{"both kinds of Arabic digits", "مثال١۲.com", "-"},
		{"a tatweel", "مثـال.com", "not allowed in domain names"},
		{"Hindi", "उदाहरण.भारत", ""},
		{"Hindi with a zero width joiner after a virama", "क्\u200dष.com", ""},
		{"Hindi with a zero width non-joiner after a virama", "क्\u200cष.com", ""},
		{"Bengali", "উদাহরণ.com", ""},
		{"Tamil", "உதாரணம்.இந்தியா", ""},
		{"Thai", "ตัวอย่าง.ไทย", ""},
		{"Tibetan with its tsheg", "བོད་ཡིག.com", ""},
		{"Chinese, simplified", "例子.中国", ""},
		{"Chinese, traditional", "範例.台灣", ""},
		{"the ideographic zero", "二〇二六.com", ""},
		{"Japanese, Hiragana", "れい.jp", ""},
		{"Japanese, Katakana with its long vowel sign", "ドメイン・コーヒー.jp", ""},
		{"Katakana middle dot among Latin letters", "a・b.jp", "beside"},
		{"Katakana middle dot alone", "・.jp", "beside"},
		{"Korean", "한국.한국", ""},
		{"Georgian", "მაგალითი.გე", ""},
		{"Armenian", "օրինակ.հայ", ""},
		{"Amharic", "ምሳሌ.com", ""},
		{"Cherokee", "ꭳꮴꮕ.com", ""},
		{"Catalan middle dot", "paral·lel.cat", ""},
		{"a middle dot elsewhere", "a·b.cat", "beside"},
		{"an emoji", "😀.com", "emoji"},
		{"an emoji with a variation selector", "❤\ufe0f.com", "emoji"},
		{"an emoji among letters", "i❤you.ws", "emoji"},
		{"a flag", "🇩🇪.com", "emoji"},
		{"an emoji with a skin tone", "👍🏽.to", "emoji"},
		{"an emoji below a longer suffix", "💩.co.uk", "emoji"},
		{"an emoji as an A-label", "xn--e28h.com", "emoji"},
		{"a symbol", "☃.net", "emoji"},
		{"an arrow", "a→b.com", "emoji"},
		{"a currency sign", "€uro.com", "emoji"},
		{"the copyright sign", "©.com", "emoji"},
		{"a square root", "√2.com", "emoji"},
		{"a box", "▲.com", "emoji"},
		{"a musical symbol", "♫.com", "emoji"},
		{"a combining mark for symbols", "a\u20dd.com", "not allowed in domain names"},
		{"Hangul letters that conjoin", "\u1100\u1161\u11ff.com", "not allowed in domain names"},
		{"a vertical repeat mark", "〵.jp", "not allowed in domain names"},
		{"two hyphens in third and fourth place", "ab--ü.com", "hyphens"},
	} {
		n, err := Parse(c.name)
		if c.want == "-" {
			if err == nil {
				t.Errorf("%s: Parse takes it", c.what)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: Parse: %v", c.what, err)
			continue
		}
		err = n.Registrable()
		var e *Error
		switch {
		case c.want == "" && err != nil, c.want != "" && (!errors.As(err, &e) || !strings.Contains(e.Reason, c.want)):
			t.Errorf("%s: %s: got %v, want %q", c.what, n, err, c.want)
		}
	}
}

// TestJoinersNeedTheirContext checks the rules of which UTS 46 takes care (RFC 5892, appendix A.1 and A.2).
func TestJoinersNeedTheirContext(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a\u200db.com", "a\u200cb.com", "\u200dक.com", "👩\u200d💻.com", "xn--ab-m1t.com", "क\u200dष.com"} {
		if n, err := Parse(name); err == nil {
			t.Errorf("Parse(%+q): got %s, want an error", name, n)
		}
	}
}

// TestSuffixesWithoutIDN shows names under a suffix that takes ASCII only.
func TestSuffixesWithoutIDN(t *testing.T) {
	t.Parallel()
	s := NewSuffixes([]string{"com", "us", "uk"}, nil, "us", "co.uk")
	for name, want := range map[string]string{
		"bücher.com":     "",
		"bücher.us":      "a to z",
		"www.bücher.us":  "a to z",
		"bücher.a.us":    "",
		"bücher.co.uk":   "a to z",
		"bücher.org.uk":  "",
		"example.us":     "",
		"😀.us":           "emoji",
		"😀.example.com":  "",
		"www.😀.com":      "emoji",
		"bücher.unknown": "unknown TLD",
	} {
		got, suffix, err := s.Registrable(MustParse(name))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) || err != nil && (!got.IsZero() || !suffix.IsZero()) {
			t.Errorf("%s: got %s, %s, %v; want %q", name, got, suffix, err, want)
		}
	}
}

// FuzzRegistrable holds what is taken against the looser rules of the library, and against its own spelling.
func FuzzRegistrable(f *testing.F) {
	for _, s := range []string{"bücher", "😀", "क्\u200dष", "paral·lel", "xn--e28h", "ß", "ab--ü", "مثال١۲", "・ア", "\u1100", "ǅ", "ﬁ", "Ⅷ", "ｱ"} {
		f.Add(s)
	}
	registration := idna.New(idna.ValidateForRegistration(), idna.CheckHyphens(false))
	f.Fuzz(func(t *testing.T, label string) {
		n, err := Parse(label + ".com")
		if err != nil || n.Registrable() != nil {
			return
		}
		if again, err := Parse(n.Unicode()); err != nil || again != n {
			t.Fatalf("%+q: %s is read again as %s, %v", label, n, again, err)
		}
		if n.IDN() {
			if ascii, err := registration.ToASCII(n.Unicode()); err != nil || ascii != n.String() {
				t.Fatalf("%+q: %s: the library says %q, %v", label, n, ascii, err)
			}
		}
	})
}
