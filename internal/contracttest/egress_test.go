package contracttest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
)

// connects are what opens connections, by package.
var connects = map[string][]string{
	"net":  {"Dial", "DialTimeout", "DialTCP", "DialUDP", "DialIP", "DialUnix", "Dialer"},
	"tls":  {"Dial", "DialWithDialer", "Dialer"},
	"http": {"Transport", "Client", "DefaultTransport", "DefaultClient", "Get", "Head", "Post", "PostForm"},
}

// trusted are the files outside egress that connect, and why only the operator says where to.
var trusted = map[string]string{
	"lookup/zone/fetch.go": "the CZDS of the configuration, and where it says that its zones are",
	"lookup/dns.go":        "the resolvers of this machine",
	"account/account.go":   "the OpenID providers of the configuration",
	"account/upstream.go":  "the OpenID providers of the configuration",
	"account/smtp.go":      "the mail server of the configuration",

	"payment/stripe/client.go": "Stripe, or who the configuration names in its place",
}

// TestOneWayOut shows that what the service connects to on a stranger's word goes through package egress: no other
// package opens connections, but for the files in trusted. Programs and examples talk to whom their user names.
func TestOneWayOut(t *testing.T) {
	t.Parallel()
	root := os.DirFS("../..")
	found := map[string]bool{}
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (slices.Contains([]string{"cmd", "examples", "internal", "egress", "node_modules"}, d.Name()) || len(name) > 1 && strings.HasPrefix(d.Name(), ".")) {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		source, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		files := token.NewFileSet()
		tree, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if p, ok := s.X.(*ast.Ident); ok && slices.Contains(connects[p.Name], s.Sel.Name) {
				found[name] = true
				if trusted[name] == "" {
					t.Errorf("%s: %s.%s: use package egress, or say in this test who names the address", files.Position(s.Pos()), p.Name, s.Sel.Name)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range trusted {
		if !found[name] {
			t.Errorf("%s opens no connection any more: take it off the list", name)
		}
	}
}
