package clilogin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/oauthas"
)

// renewVariable makes the test binary a program that refreshes: its value is a directory, a resource and a count.
const renewVariable = "NAMEWHARF_TEST_RENEW"

func TestMain(m *testing.M) {
	if what := os.Getenv(renewVariable); what != "" {
		if err := renewing(what); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// renewing refreshes repeatedly, in four goroutines, and prints a line each time.
func renewing(what string) error {
	words := strings.Fields(what)
	times := 0
	fmt.Sscan(words[2], &times)
	var wg sync.WaitGroup
	failures := make([]error, 4)
	for i := range failures {
		wg.Go(func() {
			l, err := Open(words[0], words[1], Options{})
			for range times {
				var token string
				if err == nil {
					token, err = l.Token(context.Background())
				}
				if err == nil {
					token, err = l.Renew(context.Background(), token)
				}
				if err != nil {
					failures[i] = err
					return
				}
				fmt.Println(token)
			}
		})
	}
	wg.Wait()
	return errors.Join(failures...)
}

// renewer starts a process that refreshes.
func (w *fixture) renewer(dir string, times int) (cmd *exec.Cmd, lines *bufio.Scanner, stderr *strings.Builder) {
	w.Helper()
	exe, err := os.Executable()
	if err != nil {
		w.Fatal(err)
	}
	cmd = exec.CommandContext(w.Context(), exe)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s/api %d", renewVariable, dir, w.base, times))
	stderr = &strings.Builder{}
	cmd.Stderr = stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	return cmd, bufio.NewScanner(out), stderr
}

// Three processes with four goroutines each share the file. Reusing a refresh token would revoke the grant.
func TestProcessesShareASignIn(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	dir := t.TempDir()
	l := w.signedIn(dir)
	const processes, times = 3, 6
	var wg sync.WaitGroup
	for range processes {
		cmd, lines, stderr := w.renewer(dir, times)
		wg.Go(func() {
			n := 0
			for lines.Scan() {
				n++
			}
			if err := cmd.Wait(); err != nil || n != 4*times {
				t.Errorf("got %d tokens, %v: %s", n, err, stderr)
			}
		})
	}
	wg.Wait()
	w.token(l)
	if got := w.eventList(); got != "[grant_began]" {
		t.Errorf("got the events %s, want none after the beginning", got)
	}
	if n := w.count("/api/oauth/token refresh_token"); n < times || n > 4*times*processes {
		t.Errorf("got %d renewals, want %d to %d", n, times, 4*times*processes)
	}
	wantPrivate(t, dir)
}

// A killed process leaves a readable file and a free lock. At most its last response is lost; then the user has to sign in
// again.
func TestKilledWhileRenewing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	dir := t.TempDir()
	l := w.signedIn(dir)
	lost := 0
	const kills = 5
	for range kills {
		cmd, lines, _ := w.renewer(dir, 1_000_000)
		for n := 0; n < 8 && lines.Scan(); n++ {
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		r, err := l.read()
		if err != nil {
			t.Fatalf("the file after a kill: %v", err)
		}
		switch _, err := l.Renew(t.Context(), r.Access); {
		case fault.Is(err, fault.InvalidToken):
			lost++
			w.signedIn(dir)
		case err != nil:
			t.Fatalf("renew after a kill: %v", err)
		}
		w.token(l)
	}
	wantPrivate(t, dir)
	t.Logf("%d kills, %d answers lost", kills, lost)
}

// The worst moment: the server has used the refresh token, and the process dies before it receives the successor. The access
// token stays valid until it expires. Then a server with a grace period returns the same successor again; one without
// revokes the grant, and the user has to sign in again.
func TestKilledBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		grace time.Duration
	}{{"a server with a grace", time.Minute}, {"a server without", 0}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, func(c *oauthas.Config) { c.RefreshGrace = test.grace })
			dir := t.TempDir()
			l := w.signedIn(dir)
			first := w.token(l)
			answered, killed := make(chan struct{}), make(chan struct{})
			w.hook(nil, func() { close(answered); <-killed })
			cmd, _, _ := w.renewer(dir, 1)
			select {
			case <-answered:
			case <-time.After(30 * time.Second):
				t.Error("the process asked for nothing within 30 s")
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			w.hook(nil, nil)
			close(killed)
			if w.token(l) != first {
				t.Error("the access token is gone")
			}
			_, err := l.Renew(t.Context(), first)
			if want := test.grace > 0; (err == nil) != want || err != nil && !fault.Is(err, fault.InvalidToken) {
				t.Errorf("got %v, want success %v", err, want)
			}
			wantPrivate(t, dir)
		})
	}
}

// A caller waits for a lock that another process holds until its context ends.
func TestWaitsForTheLock(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	l := w.signedIn(t.TempDir())
	first := w.token(l)
	unlock, err := l.file.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := l.Renew(ctx, first); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want context.DeadlineExceeded", err)
	}
	if w.token(l) != first {
		t.Error("the lock kept a good token from being read")
	}
	time.AfterFunc(20*time.Millisecond, unlock)
	if _, err := l.Renew(t.Context(), first); err != nil {
		t.Errorf("after the lock was given back: %v", err)
	}
}
