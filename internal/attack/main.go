// Command attack runs a denial-of-service attack on a server that it starts on loopback, and reports the cost: the memory of
// the server, and the latency of an honest client during the attack. Attacks are bounded in time and in connections.
//
//	go run ./internal/attack -attack bodies -size full
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "attack:", err)
		os.Exit(1)
	}
}

// run carries out the attack that the arguments name and writes a report. Its errors are one clear line.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	fs := flag.NewFlagSet("attack", flag.ContinueOnError)
	name := fs.String("attack", "", "one of "+strings.Join(names(), ", "))
	size := fs.String("size", "small", "small, as the tests run it, or full")
	program := fs.String("program", "", "`path` of a built publicapi to attack (default: built from the source here)")
	if err := fs.Parse(args); err != nil {
		return err
	}
	a, ok := attacks[*name]
	if !ok || fs.NArg() > 0 {
		return fmt.Errorf("-attack is one of %s", strings.Join(names(), ", "))
	}
	if *size != small && *size != full {
		return fmt.Errorf("-size is %s or %s", small, full)
	}
	dir, err := os.MkdirTemp("", "attack")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if *program == "" {
		if *program, err = build(ctx, dir); err != nil {
			return err
		}
	}
	report, err := a.execute(ctx, *program, dir, *size)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s, %s\n%s", *name, *size, report)
	return nil
}

func names() (all []string) {
	for name := range attacks {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}
