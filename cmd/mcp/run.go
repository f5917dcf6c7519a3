package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/internal/apiclient"
	"github.com/namewharf/namewharf/internal/app"
	"github.com/namewharf/namewharf/internal/httpserver"
	"github.com/namewharf/namewharf/internal/identity"
	"github.com/namewharf/namewharf/internal/retention"
	"github.com/namewharf/namewharf/internal/settings"
	"github.com/namewharf/namewharf/internal/version"
	"github.com/namewharf/namewharf/oauthas"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/serve/mcp"
	view "github.com/namewharf/namewharf/serve/mcp/app"
	"github.com/namewharf/namewharf/serve/middleware"
	"github.com/namewharf/namewharf/serve/pages"
	"github.com/namewharf/namewharf/serve/static"
	"github.com/namewharf/namewharf/tld"
	"github.com/namewharf/namewharf/tools"
)

// tokenVariable is the environment variable with the access token of who asks over stdio. Over HTTP it counts for
// nothing: every client would see what its owner may see.
const tokenVariable = "NAMEWHARF_TOKEN"

// options are the flags.
type options struct {
	cfg            app.Config
	server         *httpserver.Settings
	backend        string
	issuer         string
	signIn         *identity.Settings
	keep           *retention.Settings
	tools, exclude settings.List
	readOnly       bool
	outputSchemas  bool
	word           string // login, logout, or none: serve

	started func(io.Writer) // says where everything is, once it is
}

func parse(args []string, environ func(string) (string, bool), stdout io.Writer) (*options, error) {
	o := &options{}
	fs := flag.NewFlagSet("mcp", flag.ContinueOnError)
	o.server = httpserver.Flags(fs, "http", "", "`host:port` to serve HTTP on; port 0 picks one (default stdio)")
	fs.StringVar(&o.backend, "backend", "", "base `URL` of a public API to call instead of looking names up in this process")
	fs.Var(&o.tools, "tools", "`names` of the only tools to offer, separated by commas")
	fs.Var(&o.exclude, "exclude-tools", "`names` of tools not to offer, separated by commas")
	fs.BoolVar(&o.readOnly, "read-only", false, "offer no tool that changes something")
	fs.BoolVar(&o.outputSchemas, "output-schemas", true, "have the schemas of answers in the list of tools; without them it is half as long")
	o.cfg.StoreFlags(fs, dataDir(environ))
	o.cfg.LookupFlags(fs)
	o.cfg.KeysFlag(fs)
	fs.StringVar(&o.issuer, "issuer", "", "base `URL` of the public API that signs people in, on the same store (default with -http: this server)")
	o.signIn = identity.Flags(fs)
	o.keep = retention.Flags(fs)
	words, err := settings.Parse(fs, args, environ, stdout)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, "\nmcp login -backend URL signs in through the browser, so that the tools see what you may see; mcp logout ends that.\n")
	}
	if err == nil {
		err = settings.CheckEnvironment(fs, os.Environ())
	}
	o.issuer, o.backend = strings.TrimSuffix(o.issuer, "/"), strings.TrimSuffix(o.backend, "/")
	if len(words) == 1 && (words[0] == "login" || words[0] == "logout") {
		o.word, words = words[0], nil
	}
	switch {
	case err != nil:
		return nil, err
	case len(words) > 0:
		return nil, errors.New("takes login, logout or flags only; -h lists those")
	case o.word != "" && o.backend == "":
		return nil, fmt.Errorf("%s needs -backend with the base URL of a public API", o.word)
	case o.backend != "" && (o.cfg.Demo || o.cfg.RegistryFile != ""):
		return nil, errors.New("-backend looks names up elsewhere; leave -demo and -registry out")
	case o.cfg.Demo && o.server.Addr != "" && !httpserver.Loopback(o.server.Addr):
		return nil, errors.New("-demo needs a loopback address such as -http 127.0.0.1:8081")
	case o.backend != "" && o.issuer != "":
		return nil, errors.New("-issuer goes with the store of the public API, not with -backend")
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
	if errors.Is(err, settings.ErrVersion) {
		fmt.Fprintln(stdout, version.Line("mcp"))
		return nil
	}
	if err != nil {
		return err
	}
	if o.word != "" {
		return command(ctx, o.word, o, environ, stderr)
	}
	log := o.server.Logger(stderr)
	if o.server.Addr != "" {
		if err := o.server.Listen(); err != nil {
			return err
		}
		defer o.server.Close()
	}
	token, measured := "", watch{metrics: middleware.NewMetrics(version.Version()), flush: func() {}}
	if o.server.Addr == "" {
		token, _ = environ(tokenVariable)
	} else {
		if measured.tracer, measured.flush, err = httpserver.Tracer(ctx, "mcp", environ); err != nil {
			return err
		}
		o.cfg.Around = httpserver.Upstream(measured.metrics.Registerer(), measured.tracer)
	}
	defer measured.flush()
	config := mcp.Config{
		Version: version.Version(), Logger: log, Apps: []mcp.App{view.Names()}, Icons: view.Icons(), Tools: o.tools, Exclude: o.exclude, ReadOnly: o.readOnly, NoOutputSchemas: !o.outputSchemas,
		SignIn: `run "mcp login -backend URL" with the base URL of a public API where you have an account, and start this server with the same -backend`,
	}
	if token != "" && o.backend == "" && o.issuer == "" {
		return errors.New(tokenVariable + " needs -backend with the base URL of the public API that issued the token; to sign in there without a token, run \"mcp login -backend URL\" (-issuer instead takes the token at the store of that API)")
	}
	config.Set = describe()
	if o.backend != "" {
		config.SignIn = fmt.Sprintf("run %q", "mcp login -backend "+o.backend)
	}
	if token != "" {
		config.SignIn = "set " + tokenVariable + " to an access token that is good"
		if o.backend != "" {
			config.SignIn += fmt.Sprintf(", or leave it out and run %q", "mcp login -backend "+o.backend)
		}
	}
	if _, err := mcp.New(config); err != nil { // a mistake in -tools is found before anything is opened
		return err
	}
	if o.backend != "" {
		api, err := remoteAPI(o, token, environ)
		if err != nil {
			return fmt.Errorf("-backend %w", err)
		}
		return serveBackend(ctx, config, o, api, measured, stdin, stdout, stderr)
	}
	o.cfg.Environ, o.cfg.Logger, o.cfg.Now = environ, log, time.Now
	application, err := app.Open(ctx, o.cfg, dataDir(environ))
	if ctx.Err() != nil && err != nil {
		return nil // the program was stopped while it started
	}
	if err != nil {
		return err
	}
	defer application.Close()
	o.started = func(w io.Writer) { o.summary(application).Print(w) }
	config.Set = tools.New(tools.Config{
		Lookup: application.Lookup, Market: application.Market, Table: application.Table, Prices: application.Prices, Portfolio: identity.NewPortfolio(application, log),
		BaseURL: o.server.BaseURL, Secret: application.Secret, Now: time.Now,
	})
	config.Resources = tools.NewReference(config.Set, application.Table)
	if o.server.Addr != "" {
		return serveHTTP(ctx, config, o, application, measured, stdout)
	}
	if token != "" {
		tokens, err := oauthas.New(ctx, oauthas.Config{DB: application.DB, Now: time.Now, Issuer: o.issuer, Logger: log})
		if err != nil {
			return fmt.Errorf("-issuer: %w", err)
		}
		defer tokens.Close()
		config.Caller = func(ctx context.Context) (op.Caller, error) { return tokens.Caller(ctx, token, o.issuer+"/mcp") }
		if _, err := config.Caller(ctx); err != nil {
			return fmt.Errorf("%s: %s", tokenVariable, fault.From(err).Detail)
		}
	}
	o.started(stderr) // standard output is the protocol's
	return serveStdio(ctx, config, stdin, stdout)
}

// links are where the tools are.
func (o *options) links() [][2]string {
	if o.server.Addr == "" {
		return [][2]string{{"MCP", "standard input and output"}}
	}
	return [][2]string{{"MCP", o.server.BaseURL + "/mcp"}}
}

// summary is what the program says of itself at its start.
func (o *options) summary(application *app.App) httpserver.Summary {
	s := o.cfg.Summary(application, version.Line("mcp"))
	s.Links = o.links()
	if o.server.Addr == "" {
		s.Off = append([]string{"sign-in: \"mcp login -backend URL\" signs in at a public API, -backend asks it"}, s.Off...)
		return s
	}
	if o.issuer == "" {
		s.Links = append(s.Links, [2]string{"sign in", o.server.BaseURL + identity.SignInPath})
		s.Off = append(o.signIn.Disabled(), s.Off...)
	}
	s.Off = append(s.Off, o.server.Off()...)
	return s
}

// serveBackend serves the operations of the API behind -backend. Over HTTP its callers are anonymous there: a token of
// theirs would not be meant for it.
func serveBackend(ctx context.Context, config mcp.Config, o *options, api *apiclient.API, measured watch, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	config.Set = config.Set.Via(api.Call)
	o.started = func(w io.Writer) {
		httpserver.Summary{Program: version.Line("mcp"), Links: o.links(), Store: "none: the public API at " + o.backend + " is asked", Off: o.server.Off()}.Print(w)
	}
	config.Resources = tools.NewReference(config.Set, tld.DefaultTable())
	if o.server.Addr == "" {
		o.started(stderr)
		return serveStdio(ctx, config, stdin, stdout)
	}
	if config.Middleware, err = newMiddleware(o, middleware.NoTokens, config.Logger, measured); err != nil {
		return err
	}
	return listen(ctx, config, o, map[string]http.Handler{}, measured, stdout)
}

// A watch is what an HTTP server is observed by.
type watch struct {
	metrics *middleware.Metrics
	tracer  trace.Tracer
	flush   func()
}

// describe returns the operations without anything behind them.
func describe() *op.Set {
	set := tools.New(tools.Config{Secret: make([]byte, 32), Now: time.Now})
	return set
}

func serveStdio(ctx context.Context, config mcp.Config, stdin io.Reader, stdout io.Writer) error {
	server, err := mcp.New(config)
	if err != nil {
		return err
	}
	err = server.Stdio(ctx, stdin, stdout)
	if ctx.Err() != nil {
		return nil // the program was stopped
	}
	return err
}

// serveHTTP serves the operations in this process, and signs people in unless -issuer names who does.
func serveHTTP(ctx context.Context, config mcp.Config, o *options, application *app.App, measured watch, stdout io.Writer) error {
	base := o.server.BaseURL
	resources := []string{base, base + "/mcp", base + "/mcp/signed-in"}
	if o.issuer != "" && o.issuer != base {
		tokens, err := oauthas.New(ctx, oauthas.Config{DB: application.DB, Now: time.Now, Issuer: o.issuer, Resources: resources, Logger: config.Logger})
		if err != nil {
			return fmt.Errorf("-issuer: %w", err)
		}
		defer tokens.Close()
		if config.Middleware, err = newMiddleware(o, tokens, config.Logger, measured); err != nil {
			return err
		}
		routes, err := identity.Documents(config.Middleware, o.issuer, resources)
		if err != nil {
			return err
		}
		return listen(ctx, config, o, routes, measured, stdout)
	}
	users, err := identity.Open(ctx, identity.Config{
		Settings: o.signIn, App: application, Issuer: base, Resources: resources[1:], Unlimited: o.server.Limits(time.Now) == nil,
		ClientIP: func(r *http.Request) netip.Addr { return config.Middleware.ClientIP(r) }, Logger: config.Logger, Now: time.Now,
	})
	if err != nil {
		return err
	}
	defer users.Close()
	defer o.keep.Start(ctx, application.DB, measured.metrics.Registerer(), config.Logger, users.Accounts.UnconfirmedRetention()...)() // with -issuer that one does
	if config.Middleware, err = newMiddleware(o, users.OAuth, config.Logger, measured); err != nil {
		return err
	}
	routes := users.Routes(config.Middleware, o.signIn.Signup.Value, users.Names, pages.Partners{}, pages.Buying{})
	routes[static.StylePath], routes[static.IconPath] = static.Handler(), static.Handler()
	routes["/{$}"] = http.RedirectHandler("/account", http.StatusSeeOther) // there is no other first page here
	return listen(ctx, config, o, routes, measured, stdout)
}

func newMiddleware(o *options, tokens middleware.TokenVerifier, log *slog.Logger, measured watch) (*middleware.Stack, error) {
	proxies, err := o.server.Proxies()
	if err != nil {
		return nil, err
	}
	return middleware.New(middleware.Config{
		BaseURL: o.server.BaseURL, Tokens: tokens, DefaultScope: tools.ScopePricing, Limits: o.server.Limits(time.Now), TrustedProxies: proxies,
		Bodies: o.server.Bodies(), PerAddress: o.server.PerAddress(),
		Logger: log, Metrics: measured.metrics, Tracer: measured.tracer, Now: time.Now,
	}), nil
}

// listen serves MCP beside the other routes.
func listen(ctx context.Context, config mcp.Config, o *options, routes map[string]http.Handler, measured watch, stdout io.Writer) error {
	server, err := mcp.New(config)
	if err != nil {
		return err
	}
	base := o.server.BaseURL
	routes["/mcp"] = server.Handler(base+"/mcp", false)
	routes["/mcp/signed-in"] = server.Handler(base+"/mcp/signed-in", true)
	routes["/healthz"] = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	nothing := config.Middleware.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		config.Middleware.WriteError(w, r, base, fault.New(fault.NotFound, "there is nothing at this path").WithHint("the MCP endpoint is %s/mcp", base))
	}))
	return o.server.Serve(ctx, identity.ByPath(routes, nothing), measured.metrics.Handler(), config.Logger, stdout, func() { o.started(stdout) })
}
