package confusable_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/namewharf/namewharf/confusable"
)

func ExampleSkeleton() {
	fmt.Println(confusable.Skeleton("Ꭺmber Ⅼake") == confusable.Skeleton("AMBER-LAKE"))
	// Output: true
}

// Every way of writing a name that a person takes for it has its skeleton.
func TestSkeleton(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"NAMEWHARF", "N a m e - w h a r f", "Námëwhärf", "N4m3wh4rf", "Narnewharf", "Namevvharf", "Nameuuharf", "ＮａｍｅＷｈａｒｆ", "𝐍𝐚𝐦𝐞𝐰𝐡𝐚𝐫𝐟", "𝓝𝓪𝓶𝓮𝔀𝓱𝓪𝓻𝓯",
		"ɴᴀᴍᴇᴡʜᴀʀꜰ", "ꓠamewharf", "NameᎳharf", "Nam℮wharf", "Nаmеwhаrf", "ꓠꓮꓟꓰꓪꓧꓮꓣꓝ", "ⓃⒶⓂⒺⓌⒽⒶⓇⒻ", "🅽🅰🅼🅴🆆🅷🅰🆁🅵", "🅝🅐🅜🅔🅦🅗🅐🅡🅕", "🇳🇦🇲🇪🇼🇭🇦🇷🇫",
		"ᴺᵃᵐᵉʷʰᵃʳᶠ", "Ɲamewharf", "Nⱥmewharf", "Nameẇharf", "Nɑmewharf", "Namewħarf", "Namewhaɍf", "Namewharƒ", "Ⲛamewharf", "ⓝⓐⓜⓔ ⓦⓗⓐⓡⓕ", "⒩⒜⒨⒠⒲⒣⒜⒭⒡",
		"N\u0363mewharf", "Nаⅿewharf", "Νamewharf", "𝖭𝖠𝖬𝖤𝖶𝖧𝖠𝖱𝖥", "ℕ𝔸𝕄𝔼𝕎ℍ𝔸ℝ𝔽", "Nameɯharf", "Nɐmewharf", "Namǝwharf", "Namewhаꮁf", "Nameѡharf", "Nameԝharf",
	} {
		if got := confusable.Skeleton(text); got != "namewharf" {
			t.Errorf("%q: got %q, want namewharf", text, got)
		}
	}
	for _, text := range []string{"Harbour names", "Wharf", "New market", "Имена", "名前", "Nameship", ""} {
		if got := confusable.Skeleton(text); strings.Contains(got, "namewharf") {
			t.Errorf("%q: got %q", text, got)
		}
	}
}

func TestMixed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"Ember for Mac": false, "Café Öhlund": false, "名前アプリ": false, "ドメインくん Pro": false, "도메인 Manager": false, "漢字 한글 Latin": false, "網域ㄅㄆㄇ app": false, "Домены 2": false,
		"Όνομα": false, "שמות": false, "नाम खोज": false, "ชื่อ": false, "أسماء ٢": false, "Անուններ": false, "დომენი": false, "ᏣᎳᎩ": false, "Ember 🔥": false, "<b>": false, "": false, "ኢትዮጵያ": false,
		"Cоffee": true, "Яндекс Go": true, "NameᎳharf": true, "ꓠamewharf": true, "Αpple": true, "Apple・アプリ Имя": true, "가カ": true, "שמות names": true, "Имя 名前": true,
	} {
		if got := confusable.Mixed(text); got != want {
			t.Errorf("%q: mixed %t, want %t", text, got, want)
		}
	}
}

func TestLatinate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"аррӏе": true, "Ѕсоре": true, "ꓠꓮꓟꓰꓪꓧꓮꓣꓝ": true, "ᎪᏢᏢ": true, "ΑΤΜ": true, "рау 24": true,
		"Домены": false, "Погода": false, "Όνομα": false, "Я": false, "А": false, "ᏣᎳᎩ": false, "scope": false, "Café": false, "名前": false, "أهلا": false, "סוס": false, "24": false, "": false,
	} {
		if got := confusable.Latinate(text); got != want {
			t.Errorf("%q: reads as Latin %t, want %t", text, got, want)
		}
	}
}

func FuzzSkeleton(f *testing.F) {
	for _, s := range []string{"Ember", "ɴᴀᴍᴇ", "ﬃ", "\xff", "rnn", "Ⅷ", "İ", "e\u0301\u0323", "🇳🇦"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		shape := confusable.Skeleton(text)
		if !utf8.ValidString(shape) || strings.ContainsAny(shape, " \n\x00") {
			t.Errorf("%q: skeleton %q", text, shape)
		}
		if again := confusable.Skeleton(shape); len(again) > len(shape) {
			t.Errorf("%q: skeleton %q grows to %q", text, shape, again)
		}
		if upper := confusable.Skeleton(text + "-"); upper != shape {
			t.Errorf("%q: with a hyphen %q, without %q", text, upper, shape)
		}
		if confusable.Mixed(text) && confusable.Latinate(text) {
			t.Errorf("%q is of one script and of several", text)
		}
	})
}
