// Command operator administers a Namewharf service, running or stopped, through its store: listings and prices, accounts,
// partners, orders, keys and the database.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.LookupEnv, os.Stdin, os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "operator:", err)
		os.Exit(exitStatus(err))
	}
}

// exitStatus returns the exit status for the error of [run].
func exitStatus(err error) int {
	var refused usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &refused):
		return 2
	}
	return 1
}
