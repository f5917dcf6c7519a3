package contracttest

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// metaphors are words that stood for the terms of the field: transport, service, dispatcher, queue, server, package.
// They are written in parts so that this file does not contain them.
var metaphors = regexp.MustCompile(`(?i)cour` + `ier|\bdo` + `or\b|\bde` + `sk\b|hun` + `gry|appe` + `tite|bri` + `sk|\bho` + `use\b|\bla` + `ne\b|\bto` + `wn\b`)

// literals are data in which the words mean what a dictionary says: texts of listings, word lists, queries of benchmarks.
var literals = []string{
	"coffee ho" + "use", "garden ho" + "use", "of the ho" + "use, number", `"dogho` + `use"`,
	`"ho` + `use"`, "partner `ho" + "use`", // the id of the built-in partner
	"yard ho" + "use corner", "route la" + "ne compass", "wave la" + "ne lens", "loft la" + "ne room", "haven ho" + "use lab nest", "hotel ho" + "use insurance",
	"appe" + "tite aptitude", "hire ho" + "use idea", "den de" + "sk direct", "land la" + "ne launch", "region to" + "wn",
	"haven hill ho" + "use kit lab", "la" + "ne lark leaf mill",
}

// Names, comments and documents use the terms of the field, so that a newcomer finds what he searches for.
func TestVocabulary(t *testing.T) {
	t.Parallel()
	root, files := os.DirFS("../.."), 0
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (slices.Contains([]string{"node_modules", "testdata", "bin", "data"}, d.Name()) || len(name) > 1 && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.IsDir() || !slices.Contains([]string{".go", ".md"}, path.Ext(name)):
			return nil
		}
		files++
		source, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		if word := metaphors.FindString(strings.NewReplacer("_", " ", ".", " ").Replace(path.Base(name))); word != "" {
			t.Errorf("%s: the file's name says %q: use the term of the field", name, word)
		}
		at := 0
		for line := range strings.Lines(string(source)) {
			at++
			if word := metaphors.FindString(line); word != "" && !slices.ContainsFunc(literals, func(data string) bool { return strings.Contains(line, data) }) {
				t.Errorf("%s:%d says %q: use the term of the field (docs/design.md), or add the text to literals in this test if it is data", name, at, word)
			}
		}
		return nil
	})
	if err != nil || files < 50 {
		t.Fatalf("%d files, %v", files, err)
	}
}
