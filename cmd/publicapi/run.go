package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/namewharf/namewharf/account/portfolio"
	"github.com/namewharf/namewharf/batch"
	"github.com/namewharf/namewharf/internal/app"
	"github.com/namewharf/namewharf/internal/httpserver"
	"github.com/namewharf/namewharf/internal/identity"
	"github.com/namewharf/namewharf/internal/retention"
	"github.com/namewharf/namewharf/internal/settings"
	"github.com/namewharf/namewharf/internal/version"
	"github.com/namewharf/namewharf/partner"
	"github.com/namewharf/namewharf/serve/mcp"
	"github.com/namewharf/namewharf/serve/middleware"
	"github.com/namewharf/namewharf/serve/rest"
	"github.com/namewharf/namewharf/tools"
)

// options are the flags.
type options struct {
	face     *httpserver.Settings
	stand    app.Config
	signIn   *identity.Settings
	webhooks *settings.Networks // private addresses to which events may be sent
	keep     *retention.Settings
}

func parse(args []string, environ func(string) (string, bool), stdout io.Writer) (*options, error) {
	fs := flag.NewFlagSet("publicapi", flag.ContinueOnError)
	o := &options{face: httpserver.Flags(fs, "addr", "127.0.0.1:8080", "`host:port` to listen on; port 0 picks one")}
	o.stand.StoreFlags(fs, defaultData)
	o.stand.LookupFlags(fs)
	o.stand.KeysFlag(fs)
	o.signIn = identity.Flags(fs)
	o.webhooks = settings.CIDRs(fs, "webhook-allow-private", "`CIDRs` that are not public to which events may be sent all the same, for tests")
	o.keep = retention.Flags(fs)
	words, err := settings.Parse(fs, args, environ, stdout)
	if err == nil {
		err = settings.CheckEnvironment(fs, os.Environ())
	}
	switch {
	case err != nil:
		return nil, err
	case len(words) > 0:
		return nil, errors.New("takes flags only; -h lists them")
	case o.stand.Demo && !httpserver.Loopback(o.face.Addr):
		return nil, errors.New("-demo needs a loopback -addr such as 127.0.0.1:8080")
	}
	if o.stand.Demo && len(*o.webhooks) == 0 {
		*o.webhooks = demoReceivers
	}
	return o, nil
}

// run serves until ctx ends. Its errors are one clear line.
func run(ctx context.Context, args []string, environ func(string) (string, bool), stdout, stderr io.Writer) error {
	o, err := parse(args, environ, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if errors.Is(err, settings.ErrVersion) {
		fmt.Fprintln(stdout, version.Line("publicapi"))
		return nil
	}
	if err != nil {
		return err
	}
	face, stand := o.face, o.stand
	proxies, err := face.Proxies()
	if err != nil {
		return err
	}
	log := face.Logger(stderr)
	tracer, flush, err := httpserver.Tracer(ctx, "publicapi", environ)
	if err != nil {
		return err
	}
	defer flush()
	if err := face.Listen(); err != nil {
		return err
	}
	defer face.Close()

	limits := face.Limits(time.Now)
	metrics := middleware.NewMetrics(version.Version())
	stand.Environ, stand.Logger, stand.Now, stand.Around = environ, log, time.Now, httpserver.Upstream(metrics.Registerer(), tracer)
	back, err := app.Open(ctx, stand, defaultData)
	if ctx.Err() != nil && err != nil {
		return nil // told to end before it began
	}
	if err != nil {
		return err
	}
	defer back.Close()

	mcpURL, signedIn := face.BaseURL+"/mcp", face.BaseURL+"/mcp/signed-in"
	var d *middleware.Stack // asks users who calls; they ask it from where
	users, err := identity.Open(ctx, identity.Config{
		Settings: o.signIn, Backend: back, Issuer: face.BaseURL, Resources: []string{face.BaseURL + "/api", mcpURL, signedIn},
		Unlimited: limits == nil, Address: func(r *http.Request) netip.Addr { return d.ClientIP(r) }, Logger: log, Now: time.Now,
	})
	if err != nil {
		return err
	}
	defer users.Close()
	defer watch(ctx, users.Names)()
	d = middleware.New(middleware.Config{
		BaseURL: face.BaseURL, Tokens: users.OAuth, Limits: limits, TrustedProxies: proxies, Bodies: face.Bodies(), PerAddress: face.PerAddress(),
		Logger: log, Metrics: metrics, Tracer: tracer, Now: time.Now,
	})
	names := portfolioOf(users, back)
	set := tools.New(tools.Config{
		Lookup: back.Lookup, Market: back.Market, Table: back.Table, Prices: back.Prices, Portfolio: names,
		BaseURL: face.BaseURL, Secret: back.Secret, Now: time.Now,
	})
	batch.Add(set)
	partners, err := partner.New(ctx, partner.Config{
		DB: back.DB, Keys: back.Keys, Market: back.Market, Suffixes: back.Lookup.Suffixes(),
		NoLimits: limits == nil, Webhooks: *o.webhooks, Now: time.Now, Logger: log,
	})
	if err != nil {
		return err
	}
	defer partners.Close()
	defer o.keep.Start(ctx, back.DB, metrics.Registerer(), log, users.Accounts.UnconfirmedRetention()...)()
	mcp, err := mcp.New(mcp.Config{
		Set: set, Resources: tools.NewReference(set, back.Table), Version: version.Version(), Middleware: d, Logger: log,
	})
	if err != nil {
		return err
	}
	doors := users.Routes(d, o.signIn.Signup.Value, names)
	doors["/mcp"] = mcp.Handler(mcpURL, false)
	doors["/mcp/signed-in"] = mcp.Handler(signedIn, true)
	api := rest.New(rest.Config{
		Middleware: d, Set: set, Version: tools.APIVersion, MCP: mcpURL, Ready: back.Ready,
		Partner: &rest.Partner{Set: partners.Set(), Signatures: partners},
	})
	greet := func() {}
	if back.Demo != nil {
		if greet, err = greeting(ctx, stdout, face.BaseURL, back, users, o.signIn.SMTP != ""); err != nil {
			return err
		}
	}
	return face.Serve(ctx, identity.ByPath(doors, api), metrics.Handler(), log, stdout, func() {
		summary(o, stand, back).Print(stdout)
		greet()
		// What opening took is garbage now, and an idle server would hold it for minutes; pools let go of theirs only
		// at the second collection.
		runtime.GC()
		debug.FreeOSMemory()
	})
}

// summary is what the program says of itself at its start.
func summary(o *options, stand app.Config, back *app.App) httpserver.Summary {
	s, base := stand.Summary(back, version.Line("publicapi")), o.face.BaseURL
	s.Links = [][2]string{
		{"pages", base + "/"}, {"REST", base + "/api"}, {"MCP", base + "/mcp"}, {"docs", base + "/docs"}, {"sign in", base + identity.SignInPath},
	}
	s.Off = slices.Concat(o.signIn.Disabled(), o.face.Off(), s.Off)
	return s
}

// watch has the registries asked again about proven names until ctx ends or the function it returns is called, which
// waits for it.
func watch(ctx context.Context, names *portfolio.Portfolio) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { names.Watch(ctx) })
	return func() { cancel(); running.Wait() }
}

// defaultData is the directory of the embedded store.
const defaultData = "./data"
