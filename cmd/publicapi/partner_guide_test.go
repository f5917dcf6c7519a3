package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/internal/partnercli"
	"github.com/namewharf/namewharf/internal/programtest"
)

// partnerDoc is what partners read.
const partnerDoc = "docs/partner.md"

// need skips the test where a tool is missing; in CI none may.
func need(t *testing.T, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err == nil {
			continue
		}
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is not installed", tool)
		}
		t.Skipf("%s is not installed", tool)
	}
}

// checkout is a directory that looks like one of the repository after make run: the examples, the operator, and what the
// demo printed.
func (s *site) checkout(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"examples": examples, "bin": filepath.Dir(programtest.Build(t, "operator"))} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	s.credential(t) // is printed by now
	if err := os.WriteFile(filepath.Join(dir, "demo.txt"), []byte(s.said.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

var (
	printedPartner = regexp.MustCompile(`  key (nw_sandbox_\S+)  secret (sk_sandbox_\S+)\n`)
	printedStore   = regexp.MustCompile(`  store +-data \S+ `)
)

// credential is that of the demo's partner.
func (s *site) credential(t *testing.T) partnercli.Credential {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		said := s.said.String()
		if m := printedPartner.FindStringSubmatch(said); m != nil && printedStore.MatchString(said) {
			return partnercli.Credential{KeyID: m[1], Secret: m[2]}
		}
	}
	t.Fatalf("the demo does not tell of its partner: %s", s.said)
	return partnercli.Credential{}
}

// script runs a bash script in a directory and returns what it prints.
func script(t *testing.T, dir, text string) (stdout string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n"+text)
	cmd.Dir, cmd.WaitDelay = dir, 5*time.Second // for what the script left running
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out.String(), errs.String())
	}
	return out.String()
}

// A passage is a block of commands of the document, and what it says that they print.
type passage struct{ commands, prints string }

var passages = regexp.MustCompile("(?s)<!-- run -->\n```sh\n(.*?)```\n(?:\n```(?:json|text)\n(.*?)```\n)?")

// readPassages are those of the document, in their order.
func readPassages(t *testing.T) (all []passage) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", partnerDoc))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range passages.FindAllStringSubmatch(string(text), -1) {
		all = append(all, passage{m[1], m[2]})
	}
	if marked := strings.Count(string(text), "<!-- run -->"); len(all) != marked || marked < 10 {
		t.Fatalf("%s has %d blocks that run, of %d that are marked", partnerDoc, len(all), marked)
	}
	return all
}

// like reports whether got is what a document shows: … stands for anything, and space does not matter.
func like(shown, got string) bool {
	bare := func(s string) string { return strings.Join(strings.Fields(s), "") }
	pattern := strings.ReplaceAll(regexp.QuoteMeta(bare(shown)), "…", ".*?")
	return regexp.MustCompile("^(?s:" + pattern + ")$").MatchString(bare(got))
}

// TestPartnersDay does what the document says, by its own commands, and holds what comes back against it: search, quote,
// order, the operator moves it, webhooks arrive and verify, another is refunded, the history replayed; then the sandbox.
func TestPartnersDay(t *testing.T) {
	t.Parallel()
	need(t, "bash", "curl", "openssl", "od", "sed")
	s := openDemo(t)
	const separator = "\x1e"
	var text strings.Builder
	all := readPassages(t)
	for _, p := range all {
		text.WriteString(p.commands + "printf '" + separator + "'\n")
	}
	outputs := strings.Split(script(t, s.checkout(t), text.String()), separator)
	if len(outputs) != len(all)+1 {
		t.Fatalf("got %d outputs of %d blocks", len(outputs)-1, len(all))
	}
	for i, p := range all {
		if p.prints != "" && !like(p.prints, outputs[i]) {
			t.Errorf("the document says that\n%s\nprints\n%s\nand it prints\n%s", p.commands, p.prints, outputs[i])
		}
	}
}
