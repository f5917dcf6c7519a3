package payment

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestRulesHold looks at the table of moves by itself: no two rows contradict each other, every state that a payment gets to with
// something to be done has a way on, and what is taken or given has a row only where there may be money.
func TestRulesHold(t *testing.T) {
	t.Parallel()
	type at struct {
		state State
		todo  Todo
	}
	seen := map[at]map[trigger]bool{}
	for _, r := range rules {
		for _, todo := range r.todo {
			from := at{r.from, todo}
			if seen[from] == nil {
				seen[from] = map[trigger]bool{}
			}
			if seen[from][r.on] {
				t.Errorf("%s, %q: two rows for %q", r.from, todo, r.on)
			}
			seen[from][r.on] = true
		}
		if r.next == ToCapture && r.to != Authorized {
			t.Errorf("%s → %s: only what is held is captured", r.from, r.to)
		}
	}
	reached := []at{{Started, ToStart}}
	for i := 0; i < len(reached); i++ {
		from := reached[i]
		ways := 0
		for _, r := range rules {
			if r.from != from.state || !slices.Contains(r.todo, from.todo) {
				continue
			}
			ways++
			next := r.next
			if next == unchanged {
				if next = ToNothing; from.todo == ToRelease {
					next = ToRelease
				}
			}
			for _, todo := range []Todo{next, ToCheck} {
				if todo == ToCheck && next != ToNothing {
					continue
				}
				if to := (at{r.to, todo}); !slices.Contains(reached, to) {
					reached = append(reached, to)
				}
			}
		}
		if ways == 0 && from.state != Refunded {
			t.Errorf("a payment that is %s with %q to be done never moves", from.state, from.todo)
		}
	}
	for _, s := range States() {
		if !slices.ContainsFunc(reached, func(a at) bool { return a.state == s }) {
			t.Errorf("no payment is ever %s", s)
		}
	}
	for from := range seen {
		if !slices.Contains(reached, from) {
			t.Errorf("there are rows for a payment that is %s with %q to be done, which none ever is", from.state, from.todo)
		}
	}
}

func TestWaitsGrow(t *testing.T) {
	t.Parallel()
	last := time.Duration(0)
	for n := 1; n < 100; n++ {
		wait := backOff(n)
		if wait < last || wait < firstWait || wait > longestWait {
			t.Fatalf("after %d failures: %v, after %v before", n, wait, last)
		}
		last = wait
	}
	if last != longestWait {
		t.Errorf("the longest wait is %v, want %v", last, longestWait)
	}
	var told []int
	for n := 1; n <= 100; n++ {
		if stuck(n) {
			told = append(told, n)
		}
	}
	if want := []int{6, 12, 24, 48, 96}; !slices.Equal(told, want) {
		t.Errorf("somebody is told after %v failures, want %v", told, want)
	}
}

// TestNoFloatCarriesMoney reads the source of this package and of the providers.
func TestNoFloatCarriesMoney(t *testing.T) {
	t.Parallel()
	files := 0
	for _, pattern := range []string{"*.go", "stripe/*.go", "testprovider/*.go"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			files++
			set := token.NewFileSet()
			tree, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(tree, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && (strings.HasPrefix(strings.ToLower(id.Name), "float") || strings.HasPrefix(id.Name, "ParseFloat")) {
					t.Errorf("%s: %s", set.Position(id.Pos()), id.Name)
				}
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.FLOAT {
					t.Errorf("%s: %s", set.Position(lit.Pos()), lit.Value)
				}
				return true
			})
		}
	}
	if files < 10 {
		t.Errorf("only %d files were read", files)
	}
}
