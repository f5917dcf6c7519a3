package contracttest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/namewharf/namewharf/op"
)

var operationRow = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| `([A-Z]+ /[^`]*)` \\|")

// Every operation has a row in the table of its document, and every row its operation.
func TestOperationsAreInTheDocuments(t *testing.T) {
	t.Parallel()
	for document, set := range map[string]*op.Set{"README.md": publicSet(), partnerDoc: partnerAPI(t).Set()} {
		rows := map[string]string{}
		for _, m := range operationRow.FindAllStringSubmatch(readFile(t, document), -1) {
			rows[m[1]] = m[2]
		}
		for _, o := range set.All() {
			if want := o.Route.Method + " " + o.Route.Path; rows[o.Name] != want {
				t.Errorf("the table of operations in %s has %q for %s: add the row\n| `%s` | `%s` | %s |", document, rows[o.Name], o.Name, o.Name, want, o.Title)
			}
			delete(rows, o.Name)
		}
		for name := range rows {
			t.Errorf("the table of operations in %s names %s, which is no operation", document, name)
		}
	}
}

// Every MCP tool is named where the README speaks of them, and called by the run of the inspector.
func TestToolsAreNamed(t *testing.T) {
	t.Parallel()
	_, assistants, ok := strings.Cut(readFile(t, "README.md"), "## AI assistants\n")
	if !ok {
		t.Fatal("README.md has no section \"AI assistants\"")
	}
	assistants, _, _ = strings.Cut(assistants, "\n## ")
	calls := readFile(t, "internal/conformance/inspect.mjs")
	for _, o := range publicSet().All() {
		if !o.Tool {
			continue
		}
		if !strings.Contains(assistants, "`"+o.Name+"`") {
			t.Errorf("\"AI assistants\" in README.md does not name the tool %s", o.Name)
		}
		if !strings.Contains(calls, "\n  "+o.Name+": {") {
			t.Errorf("calls in internal/conformance/inspect.mjs has no call of %s: add `%s: %s,`", o.Name, o.Name, o.Example)
		}
	}
}

var (
	codeBlock    = regexp.MustCompile("(?s)\n```(?:console|sh)\n(.*?)\n```")
	snippetPath  = regexp.MustCompile(`(?:http://127\.0\.0\.1:\d+| )(/api/[^\s?'"]*)`)
	snippetOp    = regexp.MustCompile(`"op":"([a-z_]+)","params"`)
	routePattern = regexp.MustCompile(`\{[a-z_]+\}`)
)

// What the README's commands call exists.
func TestSnippetsCallOperations(t *testing.T) {
	t.Parallel()
	routes := []*regexp.Regexp{regexp.MustCompile(`^/api/oauth/(register|token|revoke)$`)}
	set := publicSet()
	for _, o := range append(set.All(), partnerAPI(t).Set().All()...) {
		routes = append(routes, regexp.MustCompile("^"+routePattern.ReplaceAllString(o.Route.Path, `[^/]+`)+"$"))
	}
	called := 0
	for _, block := range codeBlock.FindAllStringSubmatch(readFile(t, "README.md"), -1) {
		for _, m := range snippetPath.FindAllStringSubmatch(block[1], -1) {
			called++
			if !slices.ContainsFunc(routes, func(r *regexp.Regexp) bool { return r.MatchString(m[1]) }) {
				t.Errorf("a command in README.md calls %s, which is no route", m[1])
			}
		}
		for _, m := range snippetOp.FindAllStringSubmatch(block[1], -1) {
			if o := set.Named(m[1]); o == nil || !o.Batch {
				t.Errorf("a command in README.md asks a batch for %s, which is no operation of a batch", m[1])
			}
		}
	}
	if called < 10 {
		t.Errorf("%d commands found in README.md, want at least 10", called)
	}
}

var (
	documentLink = regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
	sourcePath   = regexp.MustCompile("`((?:[a-z0-9]+/)+[a-z0-9_.]+\\.(?:go|sql|txt|md|json|svg))`")
)

// Links between documents lead somewhere, and so do the files that the architecture page names.
func TestDocumentsNameFilesThatExist(t *testing.T) {
	t.Parallel()
	for _, document := range documents(t) {
		text := readFile(t, document)
		folder := ""
		if strings.HasPrefix(document, "docs/") {
			folder = "docs/"
		}
		for _, m := range documentLink.FindAllStringSubmatch(text, -1) {
			mustExist(t, document, folder+m[1])
		}
		if document == architecture || document == "CONTRIBUTING.md" {
			for _, m := range sourcePath.FindAllStringSubmatch(text, -1) {
				mustExist(t, document, m[1])
			}
		}
	}
}

// documents are the Markdown files at the root and in docs/.
func documents(t *testing.T) (all []string) {
	t.Helper()
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		found, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pattern)))
		if err != nil || len(found) < 3 {
			t.Fatalf("%s: %d files, %v", pattern, len(found), err)
		}
		for _, f := range found {
			all = append(all, strings.TrimPrefix(filepath.ToSlash(f), "../../"))
		}
	}
	return all
}

func mustExist(t *testing.T, document, path string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join("..", "..", filepath.FromSlash(path))); err != nil {
		t.Errorf("%s names %s: %v", document, path, err)
	}
}

// Each direct dependency of go.mod has a row in the table of docs/design.md, and each row is a direct dependency.
func TestDependencies(t *testing.T) {
	t.Parallel()
	_, section, _ := strings.Cut(readFile(t, architecture), "\n## Dependencies\n")
	section, _, _ = strings.Cut(section, "\n## ")
	named := map[string]bool{}
	for _, m := range regexp.MustCompile("`([A-Za-z0-9._/-]+)`").FindAllStringSubmatch(section, -1) {
		named[m[1]] = false
	}
	for line := range strings.Lines(readFile(t, "go.mod")) {
		m := regexp.MustCompile(`^\t([^ ]+) v[^ ]+\n$`).FindStringSubmatch(line) // without "// indirect"
		if m == nil {
			continue
		}
		found := false
		for name := range named {
			if strings.Contains("/"+m[1]+"/", "/"+name+"/") {
				named[name], found = true, true
			}
		}
		if !found {
			t.Errorf("%s is a direct dependency: add a row to the table in %s, what it saves and who maintains it", m[1], architecture)
		}
	}
	for name, used := range named {
		if !used && strings.Contains(name, "/") && name != "internal/" {
			t.Errorf("%s names %s, which is no direct dependency of go.mod", architecture, name)
		}
	}
}
