package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/namewharf/namewharf/internal/programtest"
)

// TestExampleLogin runs examples/login as a person does who has no browser at hand: they go where it says, allow it to
// see prices, and it comes back with those. It does not ask again before it signs out.
func TestExampleLogin(t *testing.T) {
	t.Parallel()
	s := open(t)
	program := filepath.Join(t.TempDir(), "login")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../examples/login").CombinedOutput(); err != nil {
		t.Fatalf("build the example: %v\n%s", err, out)
	}
	config := t.TempDir()
	example := func(args ...string) (cmd *exec.Cmd, stdout *bytes.Buffer) {
		stdout = &bytes.Buffer{}
		cmd = exec.CommandContext(t.Context(), program, append([]string{"-api", s.url}, args...)...)
		cmd.Env = []string{"XDG_CONFIG_HOME=" + config, "PATH=" + config} // where no browser is
		cmd.Stdout = stdout
		return cmd, stdout
	}
	const name, want = "brewhaven.com", " USD\n"
	for _, asked := range []bool{true, false} {
		cmd, stdout := example(name)
		said, err := s.runs(t, cmd)
		if err != nil || !strings.HasPrefix(stdout.String(), name+" ") || !strings.Contains(stdout.String(), want) {
			t.Fatalf("got %v:\n%s\n%s\nwant %s with its price", err, strings.Join(said, "\n"), stdout, name)
		}
		if (len(said) > 0) != asked {
			t.Errorf("said %q, want a question: %v", said, asked)
		}
	}
	if cmd, _ := example("-sign-out"); cmd.Run() != nil {
		t.Errorf("sign out: %s", cmd.ProcessState)
	}
	files, err := filepath.Glob(filepath.Join(config, "namewharf", "sign-ins", "*.json"))
	if err != nil || len(files) > 0 {
		t.Errorf("signed out: got the files %v, %v; want none", files, err)
	}
}

// TestMCPLogin shows an assistant's server on stdio that sees what the person sees who signed in on this computer, at once
// and without a new start, and no more once they have signed out.
func TestMCPLogin(t *testing.T) {
	t.Parallel()
	s := open(t)
	mcp, config := programtest.Build(t, "mcp"), t.TempDir()
	program := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), mcp, append(args, "-backend", s.url)...)
		cmd.Env = []string{"XDG_CONFIG_HOME=" + config, "PATH=" + config, "HOME=" + config}
		return cmd
	}
	server := programtest.StartCommand(t, program())
	ask := message(legacy, "search_domain", `{"q":"brewhaven.com","tlds":["com"],"require_real_prices":true}`)
	mine := message(legacy, "bulk_domains", `{"op":"refresh","domains":["brewhaven.com"]}`)
	steps := []struct{ word, want string }{
		{"", `mcp login -backend ` + s.url},
		{"login", `"masked":false,"priceCents":`},
		{"logout", `mcp login -backend ` + s.url},
		{"logout", `mcp login -backend ` + s.url},
	}
	for _, step := range steps {
		if step.word != "" {
			if said, err := s.runs(t, program(step.word)); err != nil {
				t.Fatalf("mcp %s: %v: %q", step.word, err, said)
			}
		}
		wants := map[string]string{ask: step.want, mine: step.want}
		if step.word == "login" {
			wants[mine] = `"code":"not_found"` // it is not in the portfolio
		}
		for line, want := range wants {
			if _, err := fmt.Fprintln(server.Stdin, line); err != nil || !server.Lines.Scan() {
				t.Fatalf("no answer: %v, %s", err, server.Stderr())
			}
			if got := server.Lines.Text(); !strings.Contains(got, want) {
				t.Errorf("after %q: got %s, want %s", step.word, got, want)
			}
		}
	}
}

// runs runs a program to its end. A person goes where it says on standard error, and allows what it asks for.
func (s *site) runs(t *testing.T, cmd *exec.Cmd) (said []string, err error) {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		said = append(said, lines.Text())
		if to, ok := strings.CutPrefix(strings.TrimSpace(lines.Text()), s.url+"/oauth/authorize?"); ok {
			s.allows(t, "/oauth/authorize?"+to)
		}
	}
	return said, cmd.Wait()
}

// allows is a person who allows what an authorization request asks, and whose browser follows the answer to the
// program that asked.
func (s *site) allows(t *testing.T, request string) {
	t.Helper()
	person := s.oauth(t).SignedInUser()
	answer := person.SubmitForm(person.Open(request), "/oauth/authorize", url.Values{"answer": {"allow"}})
	response, err := http.Get(answer.Header.Get("Location"))
	if err != nil {
		t.Fatalf("allow: got %d to %q: %v", answer.Status, answer.Header.Get("Location"), err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("back at the program: got %d", response.StatusCode)
	}
}
