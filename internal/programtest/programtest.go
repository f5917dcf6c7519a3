// Package programtest runs a program of this module in a test as a shell would: as a process with flags, an environment,
// streams, signals and an exit status.
package programtest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/namewharf/namewharf/internal/settings"
)

// asProgram is the variable that makes a test binary run the program.
const asProgram = "PROGRAMTEST_MAIN"

// Main is the body of a TestMain: it runs the program in a process that [Start] or [Run] started, else the tests. So the
// program under test is built once, with the tests and their race detector.
func Main(m *testing.M, program func()) {
	if os.Getenv(asProgram) != "" {
		program()
		os.Exit(0)
	}
	status := m.Run()
	if directory, err := buildDirectory(); err == nil {
		_ = os.RemoveAll(directory)
	}
	os.Exit(status)
}

// buildDirectory is where [Build] writes to. [Main] removes it.
var buildDirectory = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "programtest") })

// builds are the programs of [Build] by name, each a func() (path string, err error).
var builds sync.Map

// Build builds a program in cmd/ that is not the one under test, once for all tests of the process, and returns its path.
func Build(t testing.TB, program string) (path string) {
	t.Helper()
	build, _ := builds.LoadOrStore(program, sync.OnceValues(func() (string, error) {
		directory, err := buildDirectory()
		if err != nil {
			return "", err
		}
		path := filepath.Join(directory, program, program)
		if runtime.GOOS == "windows" {
			path += ".exe"
		}
		out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", path, "github.com/namewharf/namewharf/cmd/"+program).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("go build: %w\n%s", err, out)
		}
		return path, nil
	}))
	path, err := build.(func() (string, error))()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// timeout limits the life of a process.
const timeout = 2 * time.Minute

// A Program is a running process.
type Program struct {
	Stdin io.WriteCloser
	Lines *bufio.Scanner // standard output; [Program.Wait] reads the rest

	t      testing.TB
	cmd    *exec.Cmd
	stderr buffer
	exited bool
}

// buffer can be read while the process writes to it.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// Command returns the command that runs the program with arguments, in the environment of the test with more variables,
// each as NAME=value. Its working directory and its directory for temporary files are new.
func Command(t testing.TB, env []string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Dir = t.TempDir()
	// The race detector would otherwise hold every process for a second at its end.
	cmd.Env = append(os.Environ(), asProgram+"=1", "GORACE=atexit_sleep_ms=0", "TMPDIR="+t.TempDir())
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// Start starts the program. The end of the test kills it if it still runs.
func Start(t testing.TB, env []string, args ...string) *Program {
	t.Helper()
	return StartCommand(t, Command(t, env, args...))
}

// StartCommand starts a command, which may be another program.
func StartCommand(t testing.TB, cmd *exec.Cmd) *Program {
	t.Helper()
	p := &Program{t: t, cmd: cmd}
	var err error
	if p.Stdin, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = &p.stderr
	p.Lines = bufio.NewScanner(stdout)
	p.Lines.Buffer(nil, 4<<20)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(timeout, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() {
		kill.Stop()
		if !p.exited {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return p
}

// Listening reads the first line of standard output, which must be "listening on " and a base URL, and returns that.
func (p *Program) Listening() string {
	p.t.Helper()
	url, ok := "", p.Lines.Scan()
	if ok {
		url, ok = strings.CutPrefix(p.Lines.Text(), "listening on ")
	}
	if !ok || !strings.HasPrefix(url, "http://") {
		p.t.Fatalf("the first line is %q, want listening on http://HOST:PORT; standard error: %s", p.Lines.Text(), p.Stderr())
	}
	return url
}

// Stderr returns what the program has written to standard error so far.
func (p *Program) Stderr() string { return p.stderr.String() }

// Terminate sends SIGTERM.
func (p *Program) Terminate() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
}

// Wait waits for the end and returns the rest of standard output and the exit status.
func (p *Program) Wait() (stdout string, status int) {
	p.t.Helper()
	var rest strings.Builder
	for p.Lines.Scan() {
		rest.WriteString(p.Lines.Text() + "\n")
	}
	err := p.cmd.Wait()
	p.exited = true
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		p.t.Fatal(err)
	}
	return rest.String(), p.cmd.ProcessState.ExitCode()
}

// Run runs the program to its end, with empty standard input.
func Run(t testing.TB, env []string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	p := Start(t, env, args...)
	_ = p.Stdin.Close()
	stdout, status = p.Wait()
	return stdout, p.Stderr(), status
}

// Flags returns the names of the flags in the usage that a program prints for -h.
func Flags(usage string) (names []string) {
	for line := range strings.Lines(usage) {
		if rest, ok := strings.CutPrefix(line, "  -"); ok {
			name, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
			name, _, _ = strings.Cut(name, "\t")
			names = append(names, name)
		}
	}
	return names
}

// WantVersion fails the test unless -version prints one line with the name of the program and the version of Go.
func WantVersion(t *testing.T, name string) {
	t.Helper()
	stdout, stderr, status := Run(t, nil, "-version")
	if status != 0 || stderr != "" || !strings.HasPrefix(stdout, name+" ") || strings.Count(stdout, "\n") != 1 || !strings.Contains(stdout, "go1.") {
		t.Errorf("-version: status %d, %q, %q", status, stdout, stderr)
	}
}

// WantMisspeltVariableRefused fails the test unless the program refuses a misspelt variable of the environment. Such a
// variable, and the setting with it, used to be ignored.
func WantMisspeltVariableRefused(t *testing.T, name string, args ...string) {
	t.Helper()
	stdout, stderr, status := Run(t, []string{"NAMEWHARF_DAAT=/nowhere"}, args...)
	want := name + ": the environment variable NAMEWHARF_DAAT means nothing here; did you mean NAMEWHARF_DATA?\n"
	if status != 2 || stdout != "" || stderr != want {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
}

// WantKnownFlags fails the test unless package settings knows all flags of the program, of which there are at least some.
// Programs may share an environment and a settings file, so each accepts the settings of the others.
func WantKnownFlags(t *testing.T, flags []string, atLeast int) {
	t.Helper()
	for _, name := range flags {
		if !settings.Known(name) {
			t.Errorf("-%s is not in the list of internal/settings", name)
		}
	}
	if len(flags) < atLeast {
		t.Errorf("only %q are listed", flags)
	}
}
