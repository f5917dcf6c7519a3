package contracttest

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	module       = "github.com/namewharf/namewharf/"
	architecture = "docs/design.md" // its table of layers is what the tests go by
	programs     = "programs"
	inside       = "internal"
)

// generic are the components that know operations and failures only: they cannot learn what a domain is.
var generic = []string{"batch", "serve/middleware", "serve/rest", "serve/mcp"}

// A layer is a part of the table in docs/design.md. A component is a package of the table with all packages below it.
type layer struct {
	name       string
	components []string
}

var (
	tableRow    = regexp.MustCompile("^\\| ([a-z ]*)\\| (`[^|]*`) \\| ")
	packageName = regexp.MustCompile("`([a-z0-9/]+)(?:/…)?`")
)

// layers are those of the table in docs/design.md, the highest first.
func layers(t *testing.T) (all []layer) {
	t.Helper()
	_, section, found := strings.Cut(readFile(t, architecture), "\n## Layers\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.Lines(section) {
		row := tableRow.FindStringSubmatch(line)
		if row == nil {
			continue
		}
		if name := strings.TrimSpace(row[1]); name != "" {
			all = append(all, layer{name: name})
		}
		for _, p := range packageName.FindAllStringSubmatch(row[2], -1) {
			all[len(all)-1].components = append(all[len(all)-1].components, p[1])
		}
	}
	if !found || len(all) < 5 {
		t.Fatalf("%s has no table of layers under the heading Layers", architecture)
	}
	return all
}

// place finds the layer and the component of a package; a component of the table below another one belongs to that one.
func place(all []layer, path string) (at int, component string) {
	for i, l := range all {
		for _, c := range l.components {
			if path == c || strings.HasPrefix(path, c+"/") {
				return i, c
			}
		}
	}
	return -1, ""
}

// TestArrows shows that imports go down only, by the table of layers in docs/design.md.
func TestArrows(t *testing.T) {
	t.Parallel()
	all := layers(t)
	seen := map[string]bool{}
	for _, p := range list(t) {
		from := strings.TrimPrefix(p.ImportPath, module)
		fromLayer, fromComponent := place(all, from)
		if fromLayer < 0 {
			t.Errorf("package %s is in no layer: add a row with its one sentence to the table in %s, in the layer above all that it imports", from, architecture)
			continue
		}
		for part := from; part != ""; part = part[:max(0, strings.LastIndexByte(part, '/'))] {
			seen[part] = true
		}
		if all[fromLayer].name == inside {
			continue // may import anything
		}
		for _, imported := range p.Imports {
			to, ours := strings.CutPrefix(imported, module)
			if !ours {
				continue
			}
			toLayer, toComponent := place(all, to)
			switch {
			case toLayer < 0 || toComponent == fromComponent:
			case all[toLayer].name == inside:
				if all[fromLayer].name != programs {
					t.Errorf("%s imports %s: only programs import internal packages", from, to)
				}
			case toLayer <= fromLayer:
				t.Errorf("%s (%s) imports %s (%s), which is not in a lower layer: declare a small interface where it is needed", from, all[fromLayer].name, to, all[toLayer].name)
			case slices.Contains(generic, fromComponent) && (all[toLayer].name == "business" || toComponent == "fqdn"):
				t.Errorf("%s imports %s: it knows operations and failures only", from, to)
			}
		}
	}
	for _, l := range all {
		for _, c := range l.components {
			if !seen[c] {
				t.Errorf("the table in %s names %s, which is no package", architecture, c)
			}
		}
	}
}

type listed struct {
	ImportPath string
	Imports    []string
}

// list is go list over the whole module, without test files.
func list(t *testing.T) (packages []listed) {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", module+"...").Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			t.Fatalf("go list: %v\n%s", err, failed.Stderr)
		}
		t.Fatal(err)
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
	if len(packages) < 10 {
		t.Fatalf("go list found %d packages, want the whole module", len(packages))
	}
	return packages
}

// productWords are those of what the product sells.
var productWords = regexp.MustCompile(`(?i)pric(e|ing)|domain|marketplace|listings|whois|rdap|registra(r|tion)|registries|\btlds?\b|suffixes`)

// TestGenericPackages shows that op and the generic components name nothing that the product sells. Scopes, fields and texts
// of the product come from tools: from the definitions and the guide of the set, and from the wiring of the programs.
func TestGenericPackages(t *testing.T) {
	t.Parallel()
	files := 0
	for _, component := range append([]string{"op"}, generic...) {
		names, err := filepath.Glob(filepath.Join("..", "..", component, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			files++
			source, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			at := 0
			for line := range strings.Lines(string(source)) {
				at++
				if word := productWords.FindString(line); word != "" {
					t.Errorf("%s:%d says %q: let the set (op.Guide), the definition of the operation or the wiring say it", name, at, word)
				}
			}
		}
	}
	if files < 40 {
		t.Fatalf("%d files, want those of op, batch, rest, mcp and middleware", files)
	}
}
