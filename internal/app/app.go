// Package app opens the services that the operations use, for all programs: the store, the market, the suffixes and the
// look-up service, with the demo registry if -demo is set.
package app

import (
	"context"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/namewharf/namewharf/internal/demoregistry"
	"github.com/namewharf/namewharf/lookup"
	"github.com/namewharf/namewharf/lookup/zone"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/market/words"
	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/tld"
)

// Config configures [Open]. [Config.StoreFlags], [Config.LookupFlags] and [Config.KeysFlag] define its flags.
type Config struct {
	Data         string // directory of the embedded store and the price list
	DB           string // postgres://…, instead of the embedded store
	Demo         bool   // use an in-process registry and sample listings; the store is temporary unless Data is set
	RegistryFile string // JSON with servers that replace the built-in ones
	BootstrapURL string // empty: IANA's; "off": no refresh
	ZoneDir      string // zone index files; empty: ZoneDir in Data, if it is there
	Zones        string // TLDs whose zones are fetched daily, separated by commas
	CZDSLogin    string // file with the login of the CZDS
	CZDSURL      string // empty: ICANN's
	KeysFile     string // keys that encrypt secrets in the store; empty: a file in Data
	KeysExist    bool   // fail if there are no keys, instead of making them

	Environ       func(string) (string, bool) // the environment, which may hold the keys; nil: empty
	olderKeysFile string                      // KeysFile by its older flag

	Logger *slog.Logger
	Now    func() time.Time
	Around lookup.Around // observes requests to registries; may be nil
}

// PricesFile is the operator's price list in the data directory. Programs reload it when it changes; its prices override the
// built-in ones.
const PricesFile = "prices.csv"

// StoreFlags defines -data and -db. The default directory is that of the program.
func (c *Config) StoreFlags(fs *flag.FlagSet, dir string) {
	fs.StringVar(&c.Data, "data", "", "`directory` of the embedded store and the price list (default "+dir+")")
	fs.StringVar(&c.DB, "db", "", "`postgres://…` instead of the embedded store; then any number of processes may run")
}

// LookupFlags defines -demo, -registry and -bootstrap-url.
func (c *Config) LookupFlags(fs *flag.FlagSet) {
	fs.BoolVar(&c.Demo, "demo", false, "use an in-process demo registry and sample listings; loopback only")
	fs.StringVar(&c.RegistryFile, "registry", "", "JSON `file` with registries' servers that replace the built-in ones")
	fs.StringVar(&c.BootstrapURL, "bootstrap-url", "", "`URL` of the RDAP bootstrap file, or off (default IANA's)")
	fs.StringVar(&c.ZoneDir, "zone-dir", "", "`directory` of zone indexes made by operator zone build (default "+ZoneDir+" in the data directory)")
	fs.StringVar(&c.Zones, "zones", "", "`TLDs` whose zones are fetched from the CZDS every day, separated by commas")
	fs.StringVar(&c.CZDSLogin, "czds-login", "", "`file` with the login of the CZDS: a token, or a user and a password on two lines")
	fs.StringVar(&c.CZDSURL, "czds-url", "", "`URL` of the CZDS (default ICANN's)")
}

// An App holds the opened services. Close it after the servers.
type App struct {
	DB     *store.DB
	Market *market.Market
	Lookup *lookup.Service
	Table  *tld.Table
	Prices *tld.Prices
	Demo   *demoregistry.Registry // nil without -demo
	Zones  *zone.Index            // of zone files
	Keys   *seal.Keys             // encrypt secrets in the store
	Secret []byte                 // encrypts cursors
	Data   string                 // the data directory

	Allow []netip.Prefix // non-public addresses that requests may go to
	Roots *x509.CertPool // certificate authorities for servers; nil: those of the system

	fetcher zone.Fetcher
	login   string // file with the login of the CZDS

	log     *slog.Logger
	closers []func() error // run in reverse order
}

// Open opens the services; dir is the data directory if Data is empty. Its errors are one line for the operator. It checks the
// whole configuration before it changes or logs anything.
func Open(ctx context.Context, cfg Config, dir string) (_ *App, err error) {
	var english *words.Lexicon // takes about as long to read as the rest takes to open
	var reading sync.WaitGroup
	reading.Go(func() { english = words.English() })
	defer reading.Wait()
	a := &App{Table: tld.DefaultTable(), Prices: tld.NewPrices(tld.DefaultBook()), log: cfg.Logger}
	defer func() {
		if err != nil {
			a.Close()
		}
	}()
	lookups, err := a.lookups(cfg)
	if err != nil {
		return nil, err
	}
	fetching, err := a.checkZones(cfg)
	if err != nil {
		return nil, err
	}
	if cfg.Data == "" {
		cfg.Data = dir
		if cfg.Demo {
			if cfg.Data, err = os.MkdirTemp("", "namewharf-demo-"); err != nil {
				return nil, err
			}
			a.onClose(func() error { return os.RemoveAll(cfg.Data) })
		}
	}
	a.Data = cfg.Data
	a.DB, err = store.Open(ctx, store.Config{URL: cfg.DB, Dir: cfg.Data, NoMigrate: true, Logger: cfg.Logger, Now: cfg.Now})
	if err != nil {
		return nil, err
	}
	a.onClose(a.DB.Close)
	if cfg.Environ == nil {
		cfg.Environ = func(string) (string, bool) { return "", false }
	}
	if a.Keys, err = cfg.Keys(cfg.Environ, cfg.Data, cfg.Logger); err != nil {
		return nil, err
	}
	a.openZones(cfg)
	lookups.Zone = a.Zones
	if a.Lookup, err = lookup.New(lookups); err != nil {
		return nil, err
	}
	a.onClose(func() error { a.Lookup.Close(); return nil })
	if _, err := a.DB.Migrate(ctx); err != nil {
		return nil, err
	}
	if a.Secret, err = Secret(ctx, a.DB, a.Keys); err != nil {
		return nil, err
	}
	a.watchPrices(ctx, filepath.Join(cfg.Data, PricesFile))
	a.watchZones(ctx, fetching)
	reading.Wait()
	if a.Market, err = market.New(ctx, market.Config{DB: a.DB, Lexicon: english, Logger: cfg.Logger}); err != nil {
		return nil, err
	}
	a.onClose(func() error { a.Market.Close(); return nil })
	if cfg.Demo {
		return a, a.listSamples(ctx)
	}
	return a, nil
}

func (a *App) onClose(f func() error) { a.closers = append(a.closers, f) }

// Close closes the services in reverse order.
func (a *App) Close() error {
	var errs []error
	for i := len(a.closers) - 1; i >= 0; i-- {
		errs = append(errs, a.closers[i]())
	}
	a.closers = nil
	return errors.Join(errs...)
}

// watchPrices reloads the operator's price list when it changes, and logs the result.
func (a *App) watchPrices(ctx context.Context, path string) {
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		a.Prices.Watch(ctx, path, func(err error) {
			if err != nil {
				a.log.Error("the price list is not valid; the earlier prices stay in force", "error", err)
				return
			}
			a.log.Info("the price list is in force", "suffixes", a.Prices.Book().Len())
		})
	})
	a.onClose(func() error { stop(); running.Wait(); return nil })
}

// lookups returns the configuration of the look-up service, and starts the demo registry for -demo.
func (a *App) lookups(cfg Config) (config lookup.Config, err error) {
	config = lookup.Config{Suffixes: a.Table, BootstrapURL: cfg.BootstrapURL, Resolvers: lookup.SystemResolvers(), Logger: cfg.Logger, Now: cfg.Now, Around: cfg.Around}
	file, name := []byte(nil), "-registry "+cfg.RegistryFile
	switch {
	case cfg.RegistryFile != "":
		if file, err = os.ReadFile(cfg.RegistryFile); err != nil {
			return config, fmt.Errorf("-registry: %w", err)
		}
	case cfg.Demo:
		if a.Demo, err = demoregistry.Start(demoregistry.Config{Now: cfg.Now}); err != nil {
			return config, err
		}
		a.onClose(a.Demo.Close)
		file, name = a.Demo.File(), "demo registry"
		config.BootstrapURL, config.Resolvers = lookup.BootstrapOff, nil // the demo sends no request to the Internet
	}
	if file != nil {
		if config.Registry, err = lookup.ParseRegistry(file); err != nil {
			return config, fmt.Errorf("%s: %w", name, err)
		}
		if ca := config.Registry.CAFile; ca != "" && !filepath.IsAbs(ca) {
			config.Registry.CAFile = filepath.Join(filepath.Dir(cfg.RegistryFile), ca)
		}
		a.Allow = config.Registry.Allow
		if a.Roots, err = config.Registry.Roots(); err != nil {
			return config, fmt.Errorf("%s: %w", name, err)
		}
		config.RootCAs = a.Roots
	}
	return config, nil
}

// listSamples imports the demo's listings. Those of an earlier demo on the same store stay unchanged.
func (a *App) listSamples(ctx context.Context) error {
	report, err := a.Market.Import(ctx, market.Demo(), market.ImportOptions{Environment: market.Live})
	if err == nil && len(report.Bad) > 0 {
		err = fmt.Errorf("sample listings: %s", report.Bad[0])
	}
	return err
}

// readyTime bounds the readiness check.
const readyTime = 2 * time.Second

// Ready returns nil if the store answers within two seconds.
func (a *App) Ready() error {
	ctx, cancel := context.WithTimeout(context.Background(), readyTime)
	defer cancel()
	if err := a.DB.Read(ctx, func(tx store.Tx) error {
		var one int
		return tx.QueryRow(ctx, `SELECT 1`).Scan(&one)
	}); err != nil {
		return errors.New("the store does not answer")
	}
	return nil
}
