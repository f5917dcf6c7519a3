// Command withpg runs a command with a temporary PostgreSQL server:
//
//	go run ./store/storetest/withpg go test ./...
//
// The server's URL is in NAMEWHARF_TEST_POSTGRES, and the server ends with the command. If the variable is set already, that
// server is used; if PostgreSQL is not installed, the command runs without one.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/namewharf/namewharf/store/storetest"
	"github.com/namewharf/namewharf/store/storetest/pgserver"
)

func main() {
	err := run(os.Args[1:])
	if err == nil {
		return
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 {
		os.Exit(exit.ExitCode())
	}
	fmt.Fprintln(os.Stderr, "withpg:", err)
	os.Exit(1)
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("no command given")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	env := os.Environ()
	if os.Getenv(storetest.ServerVariable) == "" {
		s, err := pgserver.Start(ctx)
		switch {
		case errors.Is(err, pgserver.ErrMissing):
			fmt.Fprintln(os.Stderr, "withpg:", err)
		case err != nil:
			return err
		default:
			defer s.Close()
			env = append(env, storetest.ServerVariable+"="+s.URL())
		}
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	return cmd.Run()
}
