package contracttest

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/namewharf/namewharf/"

// layers are the rooms from the ground up. A package imports from layers below its own, and from its own room.
var layers = [][]string{
	{"fault", "fqdn", "money", "cache", "confusable", "spelling", "ratelimit", "egress", "seal", "store"},
	{"op"},
	{"lookup", "tld", "market", "account", "event", "ledger", "sale", "audit"},
	{"tools", "batch", "oauthas", "partner"},
	{"serve/middleware", "serve/static"},
	{"serve/rest", "serve/mcp", "serve/pages"},
	{"cmd/publicapi", "cmd/mcp", "cmd/operator", "examples"},
}

// doors know operations and failures, and cannot learn what a domain is.
var doors = []string{"batch", "serve/middleware", "serve/rest", "serve/mcp"}

type listed struct {
	ImportPath string
	Imports    []string
}

func TestArrows(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, p := range list(t) {
		from := strings.TrimPrefix(p.ImportPath, module)
		if strings.HasPrefix(from, "internal/") {
			continue // programs' insides and test machinery stand beside the house
		}
		fromLayer, fromRoom := place(from)
		if fromLayer < 0 {
			t.Errorf("%s is in no layer: find it a room in docs/design.md and here", from)
			continue
		}
		seen[fromRoom] = true
		for _, imported := range p.Imports {
			to, ours := strings.CutPrefix(imported, module)
			if !ours {
				continue
			}
			if strings.HasPrefix(to, "internal/") {
				if fromLayer < len(layers)-1 {
					t.Errorf("%s imports %s: only programs use internal packages", from, to)
				}
				continue
			}
			toLayer, toRoom := place(to)
			switch {
			case toRoom == fromRoom:
			case toLayer >= fromLayer:
				t.Errorf("%s imports %s, which is not below it", from, to)
			case slices.Contains(doors, fromRoom) && toLayer == 2, slices.Contains(doors, fromRoom) && toRoom == "fqdn":
				t.Errorf("%s imports %s: a door knows operations and failures only", from, to)
			}
		}
	}
	for _, layer := range layers {
		for _, room := range layer {
			if !seen[room] {
				t.Errorf("%s is in the list of layers but not in the module", room)
			}
		}
	}
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

// place finds the layer and the room of a package: a room holds what is below it in the tree.
func place(path string) (layer int, room string) {
	for i, rooms := range layers {
		for _, r := range rooms {
			if path == r || strings.HasPrefix(path, r+"/") {
				return i, r
			}
		}
	}
	return -1, ""
}
