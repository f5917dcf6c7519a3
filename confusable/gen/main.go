// Gen writes table.txt, the letters of package confusable that look like ASCII ones.
//
// It reads data.json of the npm package unhomoglyph, which is Unicode's confusables.txt (UTS 39) as JSON, and the names
// of characters. The same input gives the same output. To run it, in the directory confusable:
//
//	npm pack unhomoglyph@1.0.6 && tar -xzf unhomoglyph-1.0.6.tgz package/data.json && go generate
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/unicode/runenames"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	fs := flag.NewFlagSet("gen", flag.ContinueOnError)
	data := fs.String("data", "package/data.json", "data.json of unhomoglyph")
	out := fs.String("out", "table.txt", "file to write")
	if err := fs.Parse(args); err != nil {
		return err
	}
	text, err := os.ReadFile(*data)
	if err != nil {
		return err
	}
	prototypes := map[string]string{}
	if err := json.Unmarshal(text, &prototypes); err != nil {
		return fmt.Errorf("%s: %w", *data, err)
	}
	if len(prototypes) < 5000 {
		return errors.New("that are not the confusables")
	}
	var b bytes.Buffer
	b.WriteString("# Made by confusable/gen; do not edit. Characters in hexadecimal, by what they look like: '=' as Unicode's\n" +
		"# confusables.txt has it, '~' by their names.\n")
	looks := confusables(prototypes)
	write(&b, '=', looks)
	named := letters()
	for r := range looks {
		delete(named, r)
	}
	write(&b, '~', named)
	return os.WriteFile(*out, b.Bytes(), 0o644)
}

// plain is a text in lower case without marks and in ASCII, as package confusable makes it where no table is needed;
// ok is false where that is not possible.
func plain(text string) (ascii string, ok bool) {
	var b strings.Builder
	for _, r := range norm.NFKD.String(strings.ToLower(norm.NFKC.String(text))) {
		switch {
		case r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)):
			b.WriteRune(unicode.ToLower(r))
		case unicode.Is(unicode.M, r) || unicode.Is(unicode.P, r):
		default:
			return "", false
		}
	}
	return b.String(), b.Len() > 0
}

// confusables are the characters with a prototype in ASCII, which needs the table.
func confusables(prototypes map[string]string) map[rune]string {
	looks := map[rune]string{}
	for from, to := range prototypes {
		r, size := utf8.DecodeRuneInString(from)
		if size != len(from) || r < utf8.RuneSelf {
			continue // ASCII is folded by the package itself
		}
		ascii, ok := plain(to)
		if !ok {
			continue
		}
		if own, ok := plain(from); ok && own == ascii {
			continue // seen without a table
		}
		looks[r] = ascii
	}
	return looks
}

// shapes are names of characters that draw a letter of the alphabet, whatever they mean.
var shapes = regexp.MustCompile(`^(?:` + strings.Join([]string{
	`LATIN LETTER SMALL CAPITAL ([A-Z])`,
	`LATIN (?:SMALL|CAPITAL) LETTER (?:SCRIPT |OPEN |BARRED |DOTLESS |LONG )?([A-Z])(?: WITH .*)?`,
	`LATIN (?:SMALL|CAPITAL) LETTER BLACKLETTER ([A-Z])(?: WITH .*)?`,
	`MODIFIER LETTER (?:SMALL|CAPITAL|SMALL CAPITAL) ([A-Z])(?: WITH .*)?`,
	`COMBINING LATIN (?:SMALL|LETTER SMALL CAPITAL) (?:LETTER )?([A-Z])`,
	`REGIONAL INDICATOR SYMBOL LETTER ([A-Z])`,
	`(?:CROSSED )?NEGATIVE (?:CIRCLED|SQUARED) LATIN CAPITAL LETTER ([A-Z])`,
}, `|`) + `)$`)

// letters are the characters whose names say which letter they draw.
func letters() map[rune]string {
	named := map[rune]string{}
	for r := rune(utf8.RuneSelf); r <= unicode.MaxRune; r++ {
		m := shapes.FindStringSubmatch(runenames.Name(r))
		if m == nil {
			continue
		}
		letter := strings.ToLower(strings.Join(m[1:], ""))
		if own, ok := plain(string(r)); ok && own == letter {
			continue
		}
		named[r] = letter
	}
	return named
}

// write writes a line for each text that characters look like.
func write(b *bytes.Buffer, kind byte, looks map[rune]string) {
	byText := map[string][]rune{}
	for r, text := range looks {
		byText[text] = append(byText[text], r)
	}
	for _, text := range slices.Sorted(maps.Keys(byText)) {
		fmt.Fprintf(b, "%c%s", kind, text)
		slices.Sort(byText[text])
		for _, r := range byText[text] {
			fmt.Fprintf(b, " %x", r)
		}
		b.WriteByte('\n')
	}
}
