// Command operator works on the store of a running or stopped service: it imports listings and prices and looks
// after the database.
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
	var refused usageError
	switch {
	case err == nil:
	case errors.As(err, &refused):
		fmt.Fprintln(os.Stderr, "operator:", err)
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "operator:", err)
		os.Exit(1)
	}
}
