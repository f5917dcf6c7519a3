package contracttest

import (
	"fmt"
	"html"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const diagram = "docs/architecture.svg"

// TestDiagram holds docs/architecture.svg against the import graph and the table of layers; -update draws it.
func TestDiagram(t *testing.T) {
	t.Parallel()
	want := draw(layers(t), graph(t))
	path := filepath.Join("..", "..", filepath.FromSlash(diagram))
	got, err := os.ReadFile(path)
	if err == nil && string(got) == want {
		return
	}
	if !*update {
		t.Fatalf("%s is not the import graph any more (%v): go test ./internal/contracttest -run TestDiagram -update", diagram, err)
	}
	if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// graph is which component imports which. What programs import by internal packages counts as theirs.
func graph(t *testing.T) map[string][]string {
	t.Helper()
	all := layers(t)
	imports := map[string][]string{}
	for _, p := range list(t) {
		imports[strings.TrimPrefix(p.ImportPath, module)] = p.Imports
	}
	edges := map[string]map[string]bool{}
	var follow func(component, path string, seen map[string]bool)
	follow = func(component, path string, seen map[string]bool) {
		for _, imported := range imports[path] {
			to, ours := strings.CutPrefix(imported, module)
			if !ours || seen[to] {
				continue
			}
			seen[to] = true
			at, target := place(all, to)
			if at >= 0 && all[at].name == inside {
				follow(component, to, seen)
			} else if at >= 0 && target != component {
				edges[component][target] = true
			}
		}
	}
	for path := range imports {
		at, component := place(all, path)
		if at < 0 || all[at].name == inside {
			continue
		}
		if edges[component] == nil {
			edges[component] = map[string]bool{}
		}
		follow(component, path, map[string]bool{})
	}
	return reduce(edges)
}

// reduce leaves out each import that another one implies, so that the drawing stays readable.
func reduce(edges map[string]map[string]bool) map[string][]string {
	var reaches func(from, to string) bool
	reaches = func(from, to string) bool {
		for next := range edges[from] {
			if next == to || reaches(next, to) {
				return true
			}
		}
		return false
	}
	kept := map[string][]string{}
	for from, targets := range edges {
		for _, to := range slices.Sorted(maps.Keys(targets)) {
			implied := false
			for other := range targets {
				implied = implied || other != to && reaches(other, to)
			}
			if !implied {
				kept[from] = append(kept[from], to)
			}
		}
	}
	return kept
}

// The measures of the drawing, in pixels.
const (
	drawingWidth  = 1000
	bandHeight    = 96
	boxHeight     = 34
	labelWidth    = 110
	bandsPerColor = 6
)

var bandColors = [bandsPerColor]string{"#dbeafe", "#e0e7ff", "#ede9fe", "#dcfce7", "#fef9c3", "#f1f5f9"}

// draw is the layers as bands from the highest down, their components as boxes, and the imports as lines.
func draw(all []layer, edges map[string][]string) string {
	var b, lines strings.Builder
	type point struct{ x, y int }
	center := map[string]point{}
	all = slices.DeleteFunc(slices.Clone(all), func(l layer) bool { return l.name == inside })
	for i, l := range all {
		y := i*bandHeight + 8
		fmt.Fprintf(&b, `<rect x="4" y="%d" width="%d" height="%d" rx="6" fill="%s"/>`+"\n", y, drawingWidth-8, bandHeight-34, bandColors[i%bandsPerColor])
		fmt.Fprintf(&b, `<text x="16" y="%d" font-weight="bold">%s</text>`+"\n", y+36, html.EscapeString(l.name))
		boxes := slices.DeleteFunc(slices.Clone(l.components), func(c string) bool {
			_, component := place(all, c)
			return component != c // it belongs to another box
		})
		step := (drawingWidth - labelWidth - 12) / len(boxes)
		for j, c := range boxes {
			width := min(step-6, 130)
			x := labelWidth + j*step + step/2
			center[c] = point{x, y + 31}
			fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="%d" rx="4" fill="#fff" stroke="#334155"/>`+"\n", x-width/2, y+14, width, boxHeight)
			size := 12
			if len(c)*7 > width-6 {
				size = max(8, (width-6)*12/(len(c)*7))
			}
			fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle" font-size="%d">%s</text>`+"\n", x, y+35, size, html.EscapeString(c))
		}
	}
	for _, from := range slices.Sorted(maps.Keys(edges)) {
		for _, to := range edges[from] {
			f, g := center[from], center[to]
			top, bottom := f.y+boxHeight/2, g.y-boxHeight/2-4
			bend := max(20, (bottom-top)/2)
			fmt.Fprintf(&lines, `<path d="M%d %dC%d %d %d %d %d %d"><title>%s imports %s</title></path>`+"\n",
				f.x, top, f.x, top+bend, g.x, bottom-bend, g.x, bottom, from, to)
		}
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12" fill="#0f172a">
<title>Layers and imports of Namewharf, made by TestDiagram in internal/contracttest</title>
<defs><marker id="tip" viewBox="0 0 6 6" refX="4" refY="3" markerWidth="6" markerHeight="6" orient="auto"><path d="M0 0L6 3L0 6z" fill="#64748b"/></marker></defs>
<rect width="100%%" height="100%%" fill="#fff"/>
%s<g fill="none" stroke="#64748b" stroke-opacity=".6" marker-end="url(#tip)">
%s</g>
</svg>
`, drawingWidth, len(all)*bandHeight-18, b.String(), lines.String())
}
