package sale

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// row is a line of the table of states in docs/partner.md that describes an action.
var row = regexp.MustCompile("(?m)^\\| `([a-z-]+)`[^|]*\\|([^|]*)\\|([^|]*)\\|([^|]*)\\|([^|]*)\\|$")

// docs/partner.md describes the transitions as they are.
func TestDocumentListsTheTransitions(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/partner.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n### States\n")
	section, _, _ = strings.Cut(section, "\n#")
	words := func(cell string) []string { return strings.Fields(strings.ReplaceAll(cell, "`", "")) }
	var documented []string
	for _, m := range row.FindAllStringSubmatch(section, -1) {
		documented = append(documented, m[1])
		r, ok := transitionOf(Action(m[1]))
		if !ok {
			t.Errorf("the document lists %s, which is no action", m[1])
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
	for _, r := range transitions {
		if !slices.Contains(documented, string(r.action)) {
			t.Errorf("the document does not list %s", r.action)
		}
	}
	if len(documented) != len(transitions) {
		t.Errorf("the document lists %q, %d actions; there are %d", documented, len(documented), len(transitions))
	}
}
