package contracttest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// outspoken are the places where the text of an error is declared to be for callers, and why that is right.
var outspoken = map[string]string{
	"internal/clilogin/clilogin.go":   "the program runs on the caller's own machine",
	"internal/apiclient/apiclient.go": "the program runs on the caller's own machine",
	"serve/rest/pages.go":             "Config.Ready fails in words for anybody",
}

// Callers never read the text of a cause: package fault shows errors only where their text was written for callers, and
// nowhere is such a text made of another error's.
func TestCausesStayOutOfFaults(t *testing.T) {
	t.Parallel()
	seen, said := 0, map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", "node_modules", "testdata"}, entry.Name()):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, filepath.Join("..", "..")+string(filepath.Separator)))
		if strings.HasPrefix(name, "fault/") {
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			what, args := construction(n)
			if what == "" {
				return true
			}
			seen++
			if what == "fault.Error" {
				t.Errorf("%s: a fault.Error is made by hand: use fault.New or fault.Invalid", files.Position(n.Pos()))
			}
			if slices.ContainsFunc(args, textOfError) {
				if outspoken[name] == "" {
					t.Errorf("%s: %s is given the text of an error: give it the error, and a text for callers a type with a method Public", files.Position(n.Pos()), what)
				}
				said[name] = true
			}
			return true
		})
		return nil
	})
	if err != nil || seen < 200 {
		t.Fatalf("%d faults are made, %v", seen, err)
	}
	for name := range outspoken {
		if !said[name] {
			t.Errorf("%s is in the list and shows no error's text", name)
		}
	}
}

// construction is what makes a fault, or changes its text, and of what.
func construction(n ast.Node) (what string, args []ast.Expr) {
	switch n := n.(type) {
	case *ast.CallExpr:
		sel, ok := n.Fun.(*ast.SelectorExpr)
		if !ok {
			return "", nil
		}
		if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "fault" && slices.Contains([]string{"New", "Invalid", "Words"}, sel.Sel.Name) {
			return "fault." + sel.Sel.Name, n.Args
		}
		if sel.Sel.Name == "WithHint" || sel.Sel.Name == "WithField" {
			return sel.Sel.Name, n.Args
		}
	case *ast.CompositeLit:
		if sel, ok := n.Type.(*ast.SelectorExpr); ok && sel.Sel.Name == "Error" {
			if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "fault" {
				return "fault.Error", nil
			}
		}
	case *ast.AssignStmt:
		for _, left := range n.Lhs {
			if sel, ok := left.(*ast.SelectorExpr); ok && (sel.Sel.Name == "Detail" || sel.Sel.Name == "Hint") {
				return sel.Sel.Name, n.Rhs
			}
		}
	}
	return "", nil
}

// textOfError reports whether an expression takes the text of an error.
func textOfError(e ast.Expr) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok && (sel.Sel.Name == "Error" && len(call.Args) == 0 ||
			slices.Contains([]string{"Sprint", "Sprintf", "Sprintln"}, sel.Sel.Name) && slices.ContainsFunc(call.Args, isErr)) {
			found = true
		}
		return true
	})
	return found
}

// isErr reports whether an expression is a variable that errors usually have.
func isErr(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && (id.Name == "err" || strings.HasSuffix(id.Name, "Err"))
}
