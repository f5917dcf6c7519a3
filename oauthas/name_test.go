package oauthas

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/namewharf/namewharf/confusable"
)

func TestClientNames(t *testing.T) {
	t.Parallel()
	base, _ := url.Parse("https://portfolio.example")
	own := ownNames(base)
	for _, c := range []struct {
		name, text string
		want       bool
	}{
		{"none", "", true},
		{"plain", "Ember for Mac", true},
		{"other scripts", "名前アプリ", true},
		{"accents", "Café Öhlund", true},
		{"markup is only text", "<b>Ember</b> & Co", true},
		{"an emoji", "Ember 🔥", true},
		{"the longest", strings.Repeat("ö", maxName), true},

		{"too long", strings.Repeat("a", maxName+1), false},
		{"blank", "   ", false},
		{"line feed", "Ember\nVerified by us", false},
		{"escape", "Ember\x1b[31m", false},
		{"NUL", "Ember\x00", false},
		{"C1 control", "Ember\u0085", false},
		{"right-to-left override", "Ember \u202egnp.exe", false},
		{"isolate", "\u2066Ember\u2069", false},
		{"right-to-left mark", "Ember\u200f", false},
		{"zero-width space", "Em\u200bber", false},
		{"zero-width joiner", "Em\u200dber", false},
		{"word joiner", "Em\u2060ber", false},
		{"byte order mark", "\ufeffEmber", false},
		{"soft hyphen", "Em\u00adber", false},
		{"Hangul filler", "Ember\u3164", false},
		{"Braille blank", "Ember\u2800", false},
		{"combining grapheme joiner", "Em\u034fber", false},
		{"line separator", "Ember\u2028x", false},
		{"no-break space", "Ember\u00a0x", false},
		{"tag characters", "Ember\U000e0041", false},
		{"private use", "Ember\ue000", false},
		{"bad UTF-8", "Ember\xff", false},

		{"our name", "Namewharf", false},
		{"our name in capitals", "NAMEWHARF", false},
		{"our name with more", "Namewharf Support", false},
		{"our name apart", "N a m e - w h a r f", false},
		{"our name in Cyrillic", "Nаmеwhаrf", false},
		{"our name in full width", "Ｎａｍｅｗｈａｒｆ", false},
		{"our name in mathematical letters", "𝐍𝐚𝐦𝐞𝐰𝐡𝐚𝐫𝐟", false},
		{"our name with accents", "Námëwhärf", false},
		{"our name with a digit", "N4m3wharf", false},
		{"our name with r and n for m", "Narnewharf", false},
		{"our name with two v for w", "Namevvharf", false},
		{"our host", "portfolio.example", false},
		{"our name in small capitals", "ɴᴀᴍᴇᴡʜᴀʀꜰ", false},
		{"our name with a letter of Lisu", "ꓠamewharf", false},
		{"our name with a letter of Cherokee", "NameᎳharf", false},
		{"our name with a letterlike symbol", "Nam℮wharf", false},
		{"our name in Lisu", "ꓠꓮꓟꓰꓪꓧꓮꓣꓝ", false},
		{"our name in flags", "🇳🇦🇲🇪🇼🇭🇦🇷🇫", false},
		{"our name in squares", "🅽🅰🅼🅴🆆🅷🅰🆁🅵 Support", false},
		{"another's name with one Cyrillic letter", "Gооgle", false},
		{"another's name in Cyrillic letters", "аррӏе", false},
		{"two alphabets", "Αpple Music", false},

		{"Russian", "Домены и имена", true},
		{"Greek", "Ονόματα", true},
		{"Armenian", "Անուններ", true},
		{"Hebrew", "שמות מתחם", true},
		{"Arabic", "أسماء النطاقات", true},
		{"Hindi", "नाम खोज", true},
		{"Thai", "ชื่อโดเมน", true},
		{"Korean with Latin", "도메인 Manager", true},
		{"Japanese with Latin", "ドメインくん Pro", true},
		{"Chinese with Latin", "域名 Tool 2", true},
		{"Cherokee", "ᏣᎳᎩ", true},
		{"Turkish", "İsim Kâşifi", true},
		{"Vietnamese", "Tên miền Việt", true},
		{"German with a hyphen", "Straßen-Namen", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := checkName(c.text, own)
			if (err == nil) != c.want {
				t.Errorf("%q: got %v, want accepted: %v", c.text, err, c.want)
			}
			if err != nil && c.text != "" && strings.Contains(err.Error(), c.text) {
				t.Errorf("%q: the error repeats it: %v", c.text, err)
			}
		})
	}
}

func FuzzName(f *testing.F) {
	for _, s := range []string{"Ember", "Namewharf", "Em\u200bber", "ﬃ", "\xff", "ɴᴀᴍᴇᴡʜᴀʀꜰ", "Яндекс", "名前アプリ"} {
		f.Add(s)
	}
	own := []string{confusable.Skeleton(ownName)}
	f.Fuzz(func(t *testing.T, name string) {
		if checkName(name, own) != nil {
			return
		}
		if !utf8.ValidString(name) || strings.ContainsAny(name, "\x00\n\u202e\u200b") {
			t.Fatalf("%q is accepted", name)
		}
		if strings.Contains(strings.ToLower(norm.NFKC.String(name)), ownName) {
			t.Fatalf("%q is accepted, and is our name", name)
		}
	})
}
