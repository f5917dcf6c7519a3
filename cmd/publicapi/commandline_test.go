package main

import (
	"bufio"
	"bytes"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestExampleLogin runs examples/login as a person does who has no browser at hand: they go where it says, allow it to
// see prices, and it comes back with those. It does not ask twice, until it is told to sign out.
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
		stderr, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var said []string
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			said = append(said, lines.Text())
			if to, ok := strings.CutPrefix(strings.TrimSpace(lines.Text()), s.url+"/oauth/authorize?"); ok {
				s.allows(t, "/oauth/authorize?"+to)
			}
		}
		if err := cmd.Wait(); err != nil || !strings.HasPrefix(stdout.String(), name+" ") || !strings.Contains(stdout.String(), want) {
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

// allows is a person who allows what an authorization request asks, and whose browser follows the answer to the
// program that asked.
func (s *site) allows(t *testing.T, request string) {
	t.Helper()
	person := s.town(t).Resident()
	answer := person.Fill(person.Open(request), "/oauth/authorize", url.Values{"answer": {"allow"}})
	response, err := http.Get(answer.Header.Get("Location"))
	if err != nil {
		t.Fatalf("allow: got %d to %q: %v", answer.Status, answer.Header.Get("Location"), err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("back at the program: got %d", response.StatusCode)
	}
}
