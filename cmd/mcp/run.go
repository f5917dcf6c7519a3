package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/namewharf/namewharf/batch"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/internal/backend"
	"github.com/namewharf/namewharf/internal/build"
	"github.com/namewharf/namewharf/internal/front"
	"github.com/namewharf/namewharf/internal/remote"
	"github.com/namewharf/namewharf/internal/settings"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/serve/assistant"
	"github.com/namewharf/namewharf/serve/door"
	"github.com/namewharf/namewharf/tld"
	"github.com/namewharf/namewharf/tools"
)

// tokenVariable is the environment variable with the access token of who asks over stdio. Over HTTP it counts for
// nothing: whoever calls would see what its owner may see.
const tokenVariable = "NAMEWHARF_TOKEN"

// options are the flags.
type options struct {
	stand          backend.Config
	face           *front.Settings
	backend        string
	tools, exclude settings.List
	readOnly       bool
}

func parse(args []string, environ func(string) (string, bool), stdout io.Writer) (*options, error) {
	o := &options{}
	fs := flag.NewFlagSet("mcp", flag.ContinueOnError)
	o.face = front.Flags(fs, "http", "", "`host:port` to serve HTTP on; port 0 picks one (default stdio)")
	fs.StringVar(&o.backend, "backend", "", "base `URL` of a public API to call instead of looking names up in this process")
	fs.Var(&o.tools, "tools", "`names` of the only tools to offer, separated by commas")
	fs.Var(&o.exclude, "exclude-tools", "`names` of tools not to offer, separated by commas")
	fs.BoolVar(&o.readOnly, "read-only", false, "offer no tool that changes something")
	o.stand.StoreFlags(fs, dataDir(environ))
	o.stand.LookupFlags(fs)
	words, err := settings.Parse(fs, args, environ, stdout)
	switch {
	case err != nil:
		return nil, err
	case len(words) > 0:
		return nil, errors.New("takes flags only; -h lists them")
	case o.backend != "" && (o.stand.Demo || o.stand.RegistryFile != ""):
		return nil, errors.New("-backend looks names up elsewhere; leave -demo and -registry out")
	case o.stand.Demo && o.face.Addr != "" && !front.Loopback(o.face.Addr):
		return nil, errors.New("-demo needs a loopback address such as -http 127.0.0.1:8081")
	}
	return o, nil
}

// dataDir is where programs of this user keep data: an assistant starts this program from any directory.
func dataDir(environ func(string) (string, bool)) string {
	if dir, ok := environ("XDG_DATA_HOME"); ok && filepath.IsAbs(dir) {
		return filepath.Join(dir, "namewharf")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return filepath.Join(os.TempDir(), "namewharf")
	}
	switch runtime.GOOS {
	case "darwin":
		return filepath.Join(home, "Library", "Application Support", "namewharf")
	case "windows":
		return filepath.Join(home, "AppData", "Local", "namewharf")
	}
	return filepath.Join(home, ".local", "share", "namewharf")
}

// run serves until ctx or the input ends. Its errors are one clear line.
func run(ctx context.Context, args []string, environ func(string) (string, bool), stdin io.Reader, stdout, stderr io.Writer) error {
	o, err := parse(args, environ, stderr) // on stdio nothing but JSON-RPC goes to stdout, the usage included
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	log := o.face.Logger(stderr)
	if o.face.Addr != "" {
		if err := o.face.Listen(); err != nil {
			return err
		}
		defer o.face.Close()
	}
	token, measured := "", watch{metrics: door.NewMetrics(build.Version()), flush: func() {}}
	if o.face.Addr == "" {
		token, _ = environ(tokenVariable)
	} else {
		if measured.tracer, measured.flush, err = front.Tracer(ctx, "mcp", environ); err != nil {
			return err
		}
		o.stand.Around = front.Upstream(measured.metrics.Registerer(), measured.tracer)
	}
	defer measured.flush()
	config := assistant.Config{
		Version: build.Version(), Logger: log, Tools: o.tools, Exclude: o.exclude, ReadOnly: o.readOnly,
		SignIn: "set " + tokenVariable + " to an access token",
	}
	if config.Set = describe(); token != "" && o.backend == "" {
		if config.Caller, err = door.NoTokens.Caller(ctx, token, ""); err != nil {
			return fmt.Errorf("%s: %s", tokenVariable, fault.From(err).Detail)
		}
	}
	if _, err := assistant.New(config); err != nil { // a mistake in -tools is found before anything is opened
		return err
	}
	var table *tld.Table
	var stop func() error
	config.Set, table, stop, err = open(ctx, o, token, dataDir(environ), config.Set, log)
	if ctx.Err() != nil && err != nil {
		return nil // told to end before it began
	}
	if err != nil {
		return err
	}
	defer stop()
	config.Resources = tools.NewReference(config.Set, table)
	if o.face.Addr == "" {
		return serveStdio(ctx, config, stdin, stdout)
	}
	return serveHTTP(ctx, config, o, measured, stdout)
}

// A watch is what an HTTP server is observed by.
type watch struct {
	metrics *door.Metrics
	tracer  trace.Tracer
	flush   func()
}

// describe returns the operations without anything behind them.
func describe() *op.Set {
	set := tools.New(tools.Config{Secret: make([]byte, 32), Now: time.Now})
	batch.Add(set)
	return set
}

// open returns the operations as they run: in the API behind -backend, or in this process.
func open(ctx context.Context, o *options, token, dir string, described *op.Set, log *slog.Logger) (*op.Set, *tld.Table, func() error, error) {
	if o.backend != "" {
		api, err := remote.New(o.backend, token)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("-backend %w", err)
		}
		return described.Via(api.Call), tld.DefaultTable(), func() error { return nil }, nil
	}
	o.stand.Logger, o.stand.Now = log, time.Now
	back, err := backend.Open(ctx, o.stand, dir)
	if err != nil {
		return nil, nil, nil, err
	}
	set := tools.New(tools.Config{
		Lookup: back.Lookup, Market: back.Market, Table: back.Table, Prices: back.Prices,
		BaseURL: o.face.BaseURL, Secret: back.Secret, Now: time.Now,
	})
	batch.Add(set)
	return set, back.Table, back.Close, nil
}

func serveStdio(ctx context.Context, config assistant.Config, stdin io.Reader, stdout io.Writer) error {
	server, err := assistant.New(config)
	if err != nil {
		return err
	}
	err = server.Stdio(ctx, stdin, stdout)
	if ctx.Err() != nil {
		return nil // told to end
	}
	return err
}

func serveHTTP(ctx context.Context, config assistant.Config, o *options, measured watch, stdout io.Writer) error {
	proxies, err := o.face.Proxies()
	if err != nil {
		return err
	}
	config.Door = door.New(door.Config{
		BaseURL: o.face.BaseURL, Gate: door.NoTokens, Limits: o.face.Limits(time.Now), TrustedProxies: proxies,
		Logger: config.Logger, Metrics: measured.metrics, Tracer: measured.tracer, Now: time.Now,
	})
	server, err := assistant.New(config)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", server.Handler(o.face.BaseURL+"/mcp", false))
	mux.Handle("/mcp/signed-in", server.Handler(o.face.BaseURL+"/mcp/signed-in", true))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.Handle("/", config.Door.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		config.Door.WriteError(w, r, o.face.BaseURL, fault.New(fault.NotFound, "there is nothing at this path").WithHint("the MCP endpoint is %s/mcp", o.face.BaseURL))
	})))
	return o.face.Serve(ctx, mux, measured.metrics.Handler(), config.Logger, stdout, func() {})
}
