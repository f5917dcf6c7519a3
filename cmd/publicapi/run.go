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

	"github.com/namewharf/namewharf/account"
	"github.com/namewharf/namewharf/account/portfolio"
	"github.com/namewharf/namewharf/brokerage"
	"github.com/namewharf/namewharf/egress"
	"github.com/namewharf/namewharf/internal/app"
	"github.com/namewharf/namewharf/internal/httpserver"
	"github.com/namewharf/namewharf/internal/identity"
	"github.com/namewharf/namewharf/internal/payments"
	"github.com/namewharf/namewharf/internal/retention"
	"github.com/namewharf/namewharf/internal/settings"
	"github.com/namewharf/namewharf/internal/version"
	"github.com/namewharf/namewharf/partner"
	"github.com/namewharf/namewharf/partner/wiring"
	"github.com/namewharf/namewharf/payment/checkout"
	"github.com/namewharf/namewharf/serve/mcp"
	view "github.com/namewharf/namewharf/serve/mcp/app"
	"github.com/namewharf/namewharf/serve/middleware"
	"github.com/namewharf/namewharf/serve/pages"
	"github.com/namewharf/namewharf/serve/rest"
	"github.com/namewharf/namewharf/tools"
)

// options are the flags.
type options struct {
	server   *httpserver.Settings
	cfg      app.Config
	signIn   *identity.Settings
	webhooks *settings.Networks // private addresses to which events may be sent
	keep     *retention.Settings
	payments *payments.Settings

	outputSchemas bool
}

func parse(args []string, environ func(string) (string, bool), stdout io.Writer) (*options, error) {
	fs := flag.NewFlagSet("publicapi", flag.ContinueOnError)
	o := &options{server: httpserver.Flags(fs, "addr", "127.0.0.1:8080", "`host:port` to listen on; port 0 picks one")}
	o.cfg.StoreFlags(fs, defaultData)
	o.cfg.LookupFlags(fs)
	o.cfg.KeysFlag(fs)
	o.signIn = identity.Flags(fs)
	o.webhooks = settings.NetworksOf(fs, "webhook-allow-private", "`CIDRs` that are not public to which events may be sent all the same, for tests")
	o.keep = retention.Flags(fs)
	o.payments = payments.Flags(fs)
	fs.BoolVar(&o.outputSchemas, "output-schemas", true, "have the schemas of answers in the list of MCP tools; without them it is half as long")
	words, err := settings.Parse(fs, args, environ, stdout)
	if err == nil {
		err = settings.CheckEnvironment(fs, os.Environ())
	}
	switch {
	case err != nil:
		return nil, err
	case len(words) > 0:
		return nil, errors.New("takes flags only; -h lists them")
	case o.cfg.Demo && !httpserver.Loopback(o.server.Addr):
		return nil, errors.New("-demo needs a loopback -addr such as 127.0.0.1:8080")
	}
	if o.cfg.Demo && len(*o.webhooks) == 0 {
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
	server, cfg := o.server, o.cfg
	proxies, err := server.Proxies()
	if err != nil {
		return err
	}
	provider, err := o.payments.Provider()
	if err != nil {
		return err
	}
	log := server.Logger(stderr)
	tracer, flush, err := httpserver.Tracer(ctx, "publicapi", environ)
	if err != nil {
		return err
	}
	defer flush()
	if err := server.Listen(); err != nil {
		return err
	}
	defer server.Close()

	limits := server.Limits(time.Now)
	metrics := middleware.NewMetrics(version.Version())
	cfg.Environ, cfg.Logger, cfg.Now, cfg.Around = environ, log, time.Now, httpserver.Upstream(metrics.Registerer(), tracer)
	application, err := app.Open(ctx, cfg, defaultData)
	if ctx.Err() != nil && err != nil {
		return nil // the program was stopped while it started
	}
	if err != nil {
		return err
	}
	defer application.Close()

	mcpURL, signedIn := server.BaseURL+"/mcp", server.BaseURL+"/mcp/signed-in"
	var d *middleware.Stack // asks users who calls; they ask it from where
	users, err := identity.Open(ctx, identity.Config{
		Settings: o.signIn, App: application, Issuer: server.BaseURL, Resources: []string{server.BaseURL + "/api", mcpURL, signedIn},
		Unlimited: limits == nil, ClientIP: func(r *http.Request) netip.Addr { return d.ClientIP(r) }, Logger: log, Now: time.Now,
	})
	if err != nil {
		return err
	}
	defer users.Close()
	defer watch(ctx, users.Names)()
	d = middleware.New(middleware.Config{
		BaseURL: server.BaseURL, Tokens: users.OAuth, DefaultScope: tools.ScopePricing, Limits: limits, TrustedProxies: proxies, Bodies: server.Bodies(), PerAddress: server.PerAddress(),
		Logger: log, Metrics: metrics, Tracer: tracer, Now: time.Now,
	})
	names := portfolioOf(users, application)
	set := tools.New(tools.Config{
		Lookup: application.Lookup, Market: application.Market, Table: application.Table, Prices: application.Prices, Portfolio: names,
		BaseURL: server.BaseURL, Secret: application.Secret, Now: time.Now,
	})
	sites, closeSites := sitesOf(application)
	defer closeSites()
	partners, err := partner.New(ctx, partner.Config{
		DB: application.DB, Keys: application.Keys, Market: application.Market, Suffixes: application.Lookup.Suffixes(),
		BaseURL: server.BaseURL, Registry: wiring.Registry(application.Lookup), Sites: sites,
		NoLimits: limits == nil, Webhooks: *o.webhooks, Now: time.Now, Logger: log,
		Payments: provider, TestPayments: cfg.Demo, Receipts: receipts(users.Mail),
	})
	if err != nil {
		return err
	}
	defer partners.Close()
	defer o.keep.Start(ctx, application.DB, metrics.Registerer(), log, users.Accounts.UnconfirmedRetention()...)()
	mcp, err := mcp.New(mcp.Config{
		Set: set, Resources: tools.NewReference(set, application.Table), Version: version.Version(), Middleware: d, Logger: log,
		Apps: []mcp.App{view.Names()}, Icons: view.Icons(), NoOutputSchemas: !o.outputSchemas,
	})
	if err != nil {
		return err
	}
	routes := users.Routes(d, o.signIn.Signup.Value, names, pages.Partners{Cases: partners.Cases(), Links: partners.Links()}, pages.Buying{
		Checkout: partners.Checkout(), TestPayments: partners.TestPayments(), Listings: application.Market,
	})
	routes[payments.NoticePath] = payments.Notices(d, partners.Checkout().Payments())
	routes["/mcp"] = mcp.Handler(mcpURL, false)
	routes["/mcp/signed-in"] = mcp.Handler(signedIn, true)
	api := rest.New(rest.Config{
		Middleware: d, Set: set, Version: tools.APIVersion, MCP: mcpURL, Ready: application.Ready,
		Partner: &rest.Partner{Set: partners.Set(), Signatures: partners},
	})
	onReady := func() {}
	if application.Demo != nil {
		if onReady, err = prepareDemo(ctx, stdout, server.BaseURL, application, users, o.signIn.SMTP != ""); err != nil {
			return err
		}
	}
	return server.Serve(ctx, identity.ByPath(routes, api), metrics.Handler(), log, stdout, func() {
		summary(o, cfg, application).Print(stdout)
		onReady()
		// What opening took is garbage now, and an idle server would hold it for minutes; pools let go of theirs only
		// at the second collection.
		runtime.GC()
		debug.FreeOSMemory()
	})
}

// sitesOf looks at the home pages of domains for the brokerage, until the function it returns is called.
func sitesOf(application *app.App) (sites *brokerage.Sites, stop func()) {
	cfg := brokerage.SitesConfig()
	cfg.Allow, cfg.RootCAs = application.Allow, application.Roots
	client := egress.New(cfg)
	return brokerage.NewSites(client, time.Now), client.Close
}

// receipts sends mail to buyers; nil without a mail server.
func receipts(mail account.Mailer) checkout.Mailer {
	if mail == nil {
		return nil
	}
	return func(ctx context.Context, to, subject, text string) error {
		return mail.Send(ctx, account.Message{To: to, Subject: subject, Text: text})
	}
}

// summary is what the program says of itself at its start.
func summary(o *options, cfg app.Config, application *app.App) httpserver.Summary {
	s, base := cfg.Summary(application, version.Line("publicapi")), o.server.BaseURL
	s.Links = [][2]string{
		{"pages", base + "/"}, {"REST", base + "/api"}, {"MCP", base + "/mcp"}, {"docs", base + "/docs"}, {"sign in", base + identity.SignInPath},
	}
	s.Off = slices.Concat(o.signIn.Disabled(), o.server.Off(), s.Off)
	if !cfg.Demo {
		s.Off = append(s.Off, o.payments.Off()...)
	}
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
