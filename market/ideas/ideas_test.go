package ideas_test

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/namewharf/namewharf/internal/racedetector"
	"github.com/namewharf/namewharf/market/ideas"
	"github.com/namewharf/namewharf/market/words"
)

var update = flag.Bool("update", false, "write the names of docs/ideas.md; marks of names that stay are left")

var english = sync.OnceValue(words.English)

// completed are the TLDs that may complete a word in these tests.
func completed(tld string) bool {
	return strings.Contains(" ai app art at be cafe club co de dev et in io is it ly me pizza shop so to us ", " "+tld+" ")
}

func names(candidates []ideas.Candidate) []string {
	var list []string
	for _, c := range candidates {
		name := c.Label
		if c.TLD != "" {
			name += "." + c.TLD
		}
		list = append(list, name)
	}
	return list
}

const document = "../../docs/ideas.md"

// TestPhrases holds the first ten names of forty phrases to the table of docs/ideas.md, where the names that somebody
// would not use are struck out: at least six of ten are usable.
func TestPhrases(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.FromSlash(document))
	if err != nil {
		t.Fatal(err)
	}
	maker := ideas.New(english())
	lines := strings.SplitAfter(string(text), "\n")
	rows := 0
	for i, line := range lines {
		fields := strings.Split(strings.TrimSpace(line), "|")
		if len(fields) != 5 || strings.HasPrefix(fields[1], " Phrase") || strings.HasPrefix(fields[1], " ---") {
			continue
		}
		rows++
		phrase := strings.TrimSpace(fields[1])
		got := names(maker.Make(phrase, ideas.Wanted{Limit: 10, TLDs: completed}))
		var want []string
		struck := map[string]bool{}
		for name := range strings.SplitSeq(strings.TrimSpace(fields[2]), ", ") {
			plain := strings.Trim(name, "~")
			struck[plain] = plain != name
			want = append(want, plain)
		}
		usable := 0
		for i, name := range got {
			if struck[name] {
				got[i] = "~~" + name + "~~"
				continue
			}
			usable++
		}
		if *update {
			lines[i] = fmt.Sprintf("| %s | %s | %d |\n", phrase, strings.Join(got, ", "), usable)
			continue
		}
		for i := range got {
			got[i] = strings.Trim(got[i], "~")
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %s; docs/ideas.md has %s", phrase, got, want)
		}
		if marked, err := strconv.Atoi(strings.TrimSpace(fields[3])); err != nil || marked != usable || usable < 6 || len(got) != 10 {
			t.Errorf("%s: %d of %d are usable, docs/ideas.md says %s; want 6 of 10", phrase, usable, len(got), fields[3])
		}
	}
	if rows != 40 {
		t.Errorf("docs/ideas.md has %d phrases, want 40", rows)
	}
	if *update {
		if err := os.WriteFile(filepath.FromSlash(document), []byte(strings.Join(lines, "")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	maker := ideas.New(english())
	for phrase, want := range map[string]string{
		"coffee shop in berlin near the river for students": "coffee berlin river student",
		"dog grooming":       "dog grooming",
		"Café in München":    "cafe munchen",
		"real estate agency": "realestate agency",
		"an app":             "app",
		"brewhaven":          "brew haven",
		"the of and":         "",
		"12 34":              "",
		"кофейня в берлине":  "",
		"car pet":            "car pet",
		"second hand phones": "phone",
		"www brewhaven com":  "brew haven",
	} {
		got := strings.Join(maker.Read(phrase), " ")
		if got != want {
			t.Errorf("Read(%q) = %q, want %q", phrase, got, want)
		}
	}
}

func TestStyles(t *testing.T) {
	t.Parallel()
	maker := ideas.New(english())
	for _, style := range ideas.Styles {
		candidates := maker.Make("coffee shop berlin", ideas.Wanted{Styles: []ideas.Style{style}, TLDs: completed, Limit: 20})
		if len(candidates) == 0 {
			t.Errorf("%s: no candidates", style)
		}
		for _, c := range candidates {
			if c.Style != style || c.Why == "" || len(c.Words) == 0 || (c.TLD != "") != (style == ideas.Hack) {
				t.Errorf("%s: got %+v", style, c)
			}
		}
	}
	for _, c := range maker.Make("coffee shop berlin", ideas.Wanted{MaxLength: 6, TLDs: completed}) {
		if len(c.Label) > 6 {
			t.Errorf("%s is longer than 6 characters", c.Label)
		}
	}
	if got := maker.Make("coffee", ideas.Wanted{Styles: []ideas.Style{ideas.Hack}}); len(got) > 0 {
		t.Errorf("without TLDs: hacks %v", got)
	}
}

func TestNoIdeaIsAnInsultOrAMark(t *testing.T) {
	t.Parallel()
	maker := ideas.New(english())
	harmless := strings.NewReplacer("analyst", " ", "analysis", " ", "therapist", " ", "cucumber", " ", "cumin", " ", "audio", " ", "title", " ", "cocktail", " ")
	for _, phrase := range []string{
		"amazon", "a google for dogs", "adult toys", "sex shop", "nazi", "apple nike adidas", "cock fighting", "rape seed oil", "facebook for cats",
		"penis enlargement", "analyst therapist", "tesla charging", "assassin class", "cum", "hell", "expert exchange", "pen island", "audi dealer",
		"analyst exchange", "cucumber", "cumin", "title",
	} {
		for _, c := range maker.Make(phrase, ideas.Wanted{TLDs: func(string) bool { return true }}) {
			left := harmless.Replace(c.Label + c.TLD)
			for _, bad := range []string{"amazon", "google", "adidas", "nike", "nazi", "penis", "rapist", "facebook", "tesla", "anal", "cum", "sex", "rape", "expertsex", "audi", "tit"} {
				if strings.Contains(left, bad) || c.TLD != "" && strings.Contains(c.Label, bad) {
					t.Errorf("%q suggests %s.%s", phrase, c.Label, c.TLD)
				}
			}
		}
	}
}

// Words such as "canal" were left out of all names for the letters in them, and phrases about them got four names or none.
func TestHarmlessWordsAreUsed(t *testing.T) {
	t.Parallel()
	maker := ideas.New(english())
	for phrase, word := range map[string]string{
		"canal boat hire": "canal", "title insurance": "title", "document storage": "document", "audio books for children": "audio", "spice shop": "spice",
		"cocktail bar": "cocktail", "grape juice": "grape", "unisex clothing": "unisex",
	} {
		got := names(maker.Make(phrase, ideas.Wanted{Limit: 30, TLDs: completed}))
		if len(got) < 20 || !slices.ContainsFunc(got, func(name string) bool { return strings.Contains(name, word) }) {
			t.Errorf("%s: %d names %q; want some with %s", phrase, len(got), got, word)
		}
	}
}

func TestTLDs(t *testing.T) {
	t.Parallel()
	maker := ideas.New(english())
	all := func(string) bool { return true }
	for phrase, want := range map[string]string{
		"coffee shop":          "coffee shop",
		"law firm for startup": "law legal",
		"yoga studio":          "studio yoga",
		"zyntra":               "io co",
	} {
		if got := strings.Join(maker.TLDs(phrase, 2, all), " "); got != want {
			t.Errorf("TLDs(%q) = %s, want %s", phrase, got, want)
		}
	}
	if got := strings.Join(maker.TLDs("coffee shop", 2, func(tld string) bool { return len(tld) == 2 }), " "); got != "io co" {
		t.Errorf("without a price for the others: %s", got)
	}
}

// digest is a hash of all candidates for some phrases.
func digest() string {
	maker := ideas.New(words.English())
	h := sha256.New()
	for _, phrase := range []string{"coffee shop in berlin", "dog grooming", "zyntra", "solar panels for farms", "machine learning consulting"} {
		fmt.Fprintln(h, maker.Make(phrase, ideas.Wanted{TLDs: completed}))
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// TestTheSameInAnotherProcess also runs as the other process, which has other seeds for its maps.
func TestTheSameInAnotherProcess(t *testing.T) {
	const variable = "NAMEWHARF_IDEAS_DIGEST"
	if os.Getenv(variable) != "" {
		fmt.Println("digest", digest())
		return
	}
	t.Parallel()
	cmd := exec.Command(os.Args[0], "-test.run=^TestTheSameInAnotherProcess$", "-test.v")
	cmd.Env = append(os.Environ(), variable+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if want := "digest " + digest(); !strings.Contains(string(out), want) {
		t.Errorf("another process has\n%s\nwant %s", out, want)
	}
}

func FuzzMake(f *testing.F) {
	for _, s := range []string{"ab", "coffee shop in berlin", strings.Repeat("solar panel ", 16), "кофейня", "日本語", "a\x00b\xff", strings.Repeat("x", 200), "ﬁne ßharp", "..", "com"} {
		f.Add(s, 0)
	}
	maker := ideas.New(english())
	f.Fuzz(func(t *testing.T, phrase string, most int) {
		check(t, maker, phrase, most)
	})
}

// check makes names and refuses any that could not be looked up.
func check(t *testing.T, maker *ideas.Maker, phrase string, most int) {
	t.Helper()
	if len(phrase) > 1000 {
		return
	}
	most = 4 + (most&0xff)%27
	for _, c := range maker.Make(phrase, ideas.Wanted{MaxLength: most, TLDs: completed, Limit: 30}) {
		if len(c.Label) > most || len(c.Label)+len(c.TLD) < 4 || strings.Trim(c.Label, "abcdefghijklmnopqrstuvwxyz") != "" || c.Score < 0 || c.Score > 1 {
			t.Fatalf("%q, at most %d: %+v", phrase, most, c)
		}
	}
}

// TestAnyPhrase makes names of 10 000 phrases by chance: words of the lexicon, letters and other characters.
func TestAnyPhrase(t *testing.T) {
	t.Parallel()
	maker, lex := ideas.New(english()), english()
	next := uint64(1)
	draw := func(n int) int {
		next = next*6364136223846793005 + 1442695040888963407
		return int(next >> 33 % uint64(n))
	}
	phrases := 10_000
	if testing.Short() || racedetector.Enabled {
		phrases = 500
	}
	for range phrases {
		var b strings.Builder
		for range 1 + draw(5) {
			switch draw(6) {
			case 0:
				for range 1 + draw(12) {
					b.WriteRune(rune('a' + draw(26)))
				}
			case 1:
				b.WriteRune(rune(draw(0x3000)))
			default:
				b.WriteString(lex.Text(words.ID(1 + draw(lex.Len()))))
			}
			b.WriteByte(' ')
		}
		check(t, maker, b.String(), draw(256))
	}
}

func BenchmarkMake(b *testing.B) {
	maker := ideas.New(english())
	phrases := []string{"coffee shop in berlin near the river for students", "dog grooming", "zyntra", "machine learning consulting"}
	for i := 0; b.Loop(); i++ {
		maker.Make(phrases[i%len(phrases)], ideas.Wanted{Limit: 200, TLDs: completed})
	}
}

func ExampleMaker_Make() {
	maker := ideas.New(words.English())
	for _, c := range maker.Make("vegan bakery", ideas.Wanted{Styles: []ideas.Style{ideas.Compound}, Limit: 2}) {
		fmt.Println(c.Label, "-", c.Why)
	}
	// Output:
	// veganbakery - joins vegan and bakery
	// veganbun - joins vegan and bun (for bakery)
}
