package speed_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/namewharf/namewharf/internal/app"
	"github.com/namewharf/namewharf/internal/httpserver"
	"github.com/namewharf/namewharf/internal/identity"
	"github.com/namewharf/namewharf/internal/version"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/serve/mcp"
	"github.com/namewharf/namewharf/serve/middleware"
	"github.com/namewharf/namewharf/serve/pages"
	"github.com/namewharf/namewharf/serve/rest"
	"github.com/namewharf/namewharf/tools"
)

// The environment that makes this test binary a server.
const (
	envServe = "NAMEWHARF_SPEED_SERVE" // what to serve: a key of handlers
	envWith  = "NAMEWHARF_SPEED_WITH"  // what the handler needs to know
)

func TestMain(m *testing.M) {
	what, ok := os.LookupEnv(envServe)
	if !ok {
		os.Exit(m.Run())
	}
	if err := serve(what, os.Getenv(envWith)); err != nil {
		fmt.Fprintln(os.Stderr, "serving:", err)
		os.Exit(1)
	}
}

// A process is a server on loopback, whose CPU time is its own.
type process struct {
	addr string
	in   io.WriteCloser
	out  *bufio.Scanner
}

// start runs this binary again as a server until the end of the benchmark.
func start(b *testing.B, what, with string) *process {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envServe+"="+what, envWith+"="+with)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	p := &process{in: in, out: bufio.NewScanner(out)}
	b.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			b.Errorf("%s: %v", what, err)
		}
	})
	p.addr = strings.TrimPrefix(p.line(b), "listening on http://")
	return p
}

func (p *process) line(b *testing.B) string {
	b.Helper()
	if !p.out.Scan() {
		b.Fatal("the server is gone")
	}
	return p.out.Text()
}

// cpu is the time, user and system, that the server has used.
func (p *process) cpu(b *testing.B) time.Duration {
	b.Helper()
	if _, err := io.WriteString(p.in, "cpu\n"); err != nil {
		b.Fatal(err)
	}
	ns, err := strconv.ParseInt(p.line(b), 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return time.Duration(ns)
}

// serve is the other side of a [process]: its address, then its CPU time for each line that comes in.
func serve(what, with string) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	fs := flag.NewFlagSet(what, flag.ContinueOnError)
	server := httpserver.Flags(fs, "addr", "127.0.0.1:0", "")
	if err := fs.Parse(nil); err != nil {
		return err
	}
	sink, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0) // each log line is a write, as in service
	if err != nil {
		return err
	}
	defer sink.Close()
	log := server.Logger(sink)
	if err := server.Listen(); err != nil {
		return err
	}
	defer server.Close()
	handler, closer, err := handlers[what](ctx, server.BaseURL, with, log)
	if err != nil {
		return err
	}
	err = server.Serve(ctx, handler, nil, log, os.Stdout, func() {
		go func() {
			defer stop()
			for in := bufio.NewScanner(os.Stdin); in.Scan(); {
				var u syscall.Rusage
				if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
					return
				}
				fmt.Println(u.Utime.Nano() + u.Stime.Nano())
			}
		}()
	})
	return errors.Join(err, closer())
}

type newHandler func(ctx context.Context, base, with string, log *slog.Logger) (http.Handler, func() error, error)

var handlers = map[string]newHandler{
	"namewharf": product,
	"control":   control,
	"bare":      bare,
	"bare-mcp":  bareMCP,
}

// product is what the program serves, over its demo or over the registry file named. It has everything that is
// around an operation in service; only the quotas are such that the benchmark does not run into them.
func product(ctx context.Context, base, registryFile string, log *slog.Logger) (http.Handler, func() error, error) {
	application, set, err := open(ctx, base, registryFile)
	if err != nil {
		return nil, nil, err
	}
	const plenty = 1 << 30
	limits := middleware.NewLimits(map[op.Class]middleware.Quota{
		op.Lookup: {Anonymous: plenty, SignedIn: plenty}, op.Read: {Anonymous: plenty, SignedIn: plenty}, op.Page: {Anonymous: plenty, SignedIn: plenty},
	}, time.Now)
	settings := identity.Flags(flag.NewFlagSet("speed", flag.ContinueOnError))
	users, err := identity.Open(ctx, identity.Config{
		Settings: settings, App: application, Issuer: base, Resources: []string{base + "/api"}, Unlimited: true, Logger: log, Now: time.Now,
	})
	if err != nil {
		return nil, nil, errors.Join(err, application.Close())
	}
	closer := func() error {
		users.Close()
		return application.Close()
	}
	d := middleware.New(middleware.Config{BaseURL: base, Tokens: users.OAuth, Limits: limits, Logger: log, Metrics: middleware.NewMetrics(version.Version()), Now: time.Now})
	mcp, err := mcp.New(mcp.Config{Set: set, Resources: tools.NewReference(set, application.Table), Version: version.Version(), Middleware: d, Logger: log})
	if err != nil {
		return nil, nil, errors.Join(err, closer())
	}
	routes := users.Routes(d, settings.Signup.Value, users.Names, pages.Partners{}, pages.Buying{})
	routes["/mcp"] = mcp.Handler(base+"/mcp", false)
	api := rest.New(rest.Config{Middleware: d, Set: set, Version: version.Version(), MCP: base + "/mcp", Ready: application.Ready})
	return identity.ByPath(routes, api), closer, nil
}

// open opens the demo's backend, or one over a registry file, and the operations on it.
func open(ctx context.Context, base, registryFile string) (*app.App, *op.Set, error) {
	cfg := app.Config{Demo: true, RegistryFile: registryFile, BootstrapURL: "off", Logger: slog.New(slog.DiscardHandler), Now: time.Now}
	application, err := app.Open(ctx, cfg, "")
	if err != nil {
		return nil, nil, err
	}
	set := tools.New(tools.Config{
		Lookup: application.Lookup, Market: application.Market, Table: application.Table, Prices: application.Prices, BaseURL: base, Secret: application.Secret, Now: time.Now,
	})
	return application, set, nil
}

func nothing() error { return nil }

// request is a request as sent on the wire.
func request(method, path, body string, headers ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: speed\r\nAccept: */*\r\n", method, path)
	for i := 0; i < len(headers); i += 2 {
		fmt.Fprintf(&b, "%s: %s\r\n", headers[i], headers[i+1])
	}
	if body != "" {
		fmt.Fprintf(&b, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	return b.String() + "\r\n" + body
}
