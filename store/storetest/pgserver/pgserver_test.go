package pgserver

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// childVariable makes the test binary a process that starts a server, prints its directory and waits.
const childVariable = "NAMEWHARF_TEST_PGSERVER"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		s, err := Start(context.Background())
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(s.dir)
		time.Sleep(time.Minute)
		s.Close()
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func needPostgres(t *testing.T) {
	t.Helper()
	if _, err := find(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

// awaitGone waits until the directory of the server is removed.
func awaitGone(t *testing.T, dir string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			return
		}
	}
	t.Errorf("%s is still there", dir)
}

func TestServerEndsWithClose(t *testing.T) {
	t.Parallel()
	needPostgres(t)
	s, err := Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("pgx", s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.PingContext(t.Context()); err != nil { // this client stays connected
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	awaitGone(t, s.dir)
}

func TestServerEndsWithAKilledProcess(t *testing.T) {
	t.Parallel()
	needPostgres(t)
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), childVariable+"=1")
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	line := bufio.NewScanner(out)
	if !line.Scan() {
		t.Fatal("the child started no server")
	}
	dir := line.Text()
	if _, err := os.Stat(dir); err != nil {
		t.Errorf("directory of the running server: %v", err)
	}
	child.Process.Kill()
	child.Wait() // reports the kill
	awaitGone(t, dir)
}
