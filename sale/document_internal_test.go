package sale

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// row is a line of the table of states in docs/partner.md that is about an action.
var row = regexp.MustCompile("(?m)^\\| `([a-z-]+)`[^|]*\\|([^|]*)\\|([^|]*)\\|([^|]*)\\|([^|]*)\\|$")

// What partners read about the states is what holds.
func TestDocumentTellsTheRules(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/partner.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n### States\n")
	section, _, _ = strings.Cut(section, "\n#")
	words := func(cell string) []string { return strings.Fields(strings.ReplaceAll(cell, "`", "")) }
	var told []string
	for _, m := range row.FindAllStringSubmatch(section, -1) {
		told = append(told, m[1])
		r, ok := ruleOf(Action(m[1]))
		if !ok {
			t.Errorf("the document tells of %s, which is no action", m[1])
			continue
		}
		for _, cell := range []struct {
			column    string
			got, want []string
		}{
			{"from", words(m[2]), texts(r.from)},
			{"to", words(m[3]), words(string(r.to))},
			{"review becomes", words(m[4]), words(string(r.review))},
			{"event", words(m[5]), words(r.event)},
		} {
			if !slices.Equal(cell.got, cell.want) {
				t.Errorf("%s, %s: the document says %q, the rule %q", m[1], cell.column, cell.got, cell.want)
			}
		}
	}
	for _, r := range rules {
		if !slices.Contains(told, string(r.action)) {
			t.Errorf("the document does not tell of %s", r.action)
		}
	}
	if len(told) != len(rules) {
		t.Errorf("the document tells of %q, %d actions; there are %d", told, len(told), len(rules))
	}
}
