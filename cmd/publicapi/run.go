package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"net/http"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/namewharf/namewharf/batch"
	"github.com/namewharf/namewharf/internal/backend"
	"github.com/namewharf/namewharf/internal/build"
	"github.com/namewharf/namewharf/internal/front"
	"github.com/namewharf/namewharf/internal/settings"
	"github.com/namewharf/namewharf/serve/assistant"
	"github.com/namewharf/namewharf/serve/door"
	"github.com/namewharf/namewharf/serve/rest"
	"github.com/namewharf/namewharf/tools"
)

// run serves until ctx ends. Its errors are one clear line.
func run(ctx context.Context, args []string, environ func(string) (string, bool), stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("publicapi", flag.ContinueOnError)
	face := front.Flags(fs, "addr", "127.0.0.1:8080", "`host:port` to listen on; port 0 picks one")
	var stand backend.Config
	stand.StoreFlags(fs, defaultData)
	stand.LookupFlags(fs)
	words, err := settings.Parse(fs, args, environ, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err == nil && len(words) > 0 {
		err = errors.New("takes flags only; -h lists them")
	}
	if err == nil && stand.Demo && !front.Loopback(face.Addr) {
		err = errors.New("-demo needs a loopback -addr such as 127.0.0.1:8080")
	}
	if err != nil {
		return err
	}
	proxies, err := face.Proxies()
	if err != nil {
		return err
	}
	log := face.Logger(stderr)
	tracer, flush, err := front.Tracer(ctx, "publicapi", environ)
	if err != nil {
		return err
	}
	defer flush()
	if err := face.Listen(); err != nil {
		return err
	}
	defer face.Close()

	metrics := door.NewMetrics(build.Version())
	stand.Logger, stand.Now, stand.Around = log, time.Now, front.Upstream(metrics.Registerer(), tracer)
	back, err := backend.Open(ctx, stand, defaultData)
	if ctx.Err() != nil && err != nil {
		return nil // told to end before it began
	}
	if err != nil {
		return err
	}
	defer back.Close()

	set := tools.New(tools.Config{
		Lookup: back.Lookup, Market: back.Market, Table: back.Table, Prices: back.Prices,
		BaseURL: face.BaseURL, Secret: back.Secret, Now: time.Now,
	})
	batch.Add(set)
	d := door.New(door.Config{
		BaseURL: face.BaseURL, Gate: door.NoTokens, Limits: face.Limits(time.Now), TrustedProxies: proxies,
		Logger: log, Metrics: metrics, Tracer: tracer, Now: time.Now,
	})
	mcp, err := assistant.New(assistant.Config{
		Set: set, Resources: tools.NewReference(set, back.Table), Version: build.Version(), Door: d, Logger: log,
	})
	if err != nil {
		return err
	}
	api := rest.New(rest.Config{Door: d, Set: set, Version: tools.APIVersion, MCP: face.BaseURL + "/mcp", Ready: back.Ready})
	doors := byPath(map[string]http.Handler{
		"/mcp":           mcp.Handler(face.BaseURL+"/mcp", false),
		"/mcp/signed-in": mcp.Handler(face.BaseURL+"/mcp/signed-in", true),
	}, api)
	return face.Serve(ctx, doors, metrics.Handler(), log, stdout, func() {
		if back.Demo != nil {
			printDemo(stdout, face.BaseURL, back.Demo.Samples())
		}
		// What opening took is garbage now, and an idle server would hold it for minutes; pools let go of theirs only
		// at the second collection.
		runtime.GC()
		debug.FreeOSMemory()
	})
}

// byPath serves a few exact paths, and everything else by other. A ServeMux would redirect paths that have to be
// cleaned before other sees them, and a redirect turns a POST of some clients into a GET.
func byPath(exact map[string]http.Handler, other http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := exact[r.URL.Path]; h != nil {
			h.ServeHTTP(w, r)
			return
		}
		other.ServeHTTP(w, r)
	})
}

// defaultData is the directory of the embedded store.
const defaultData = "./data"
