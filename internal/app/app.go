// Package app opens what the operations stand on, for every program alike: the store, the market, the suffixes
// and the look-up service, or the demo's own registry.
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
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/market/words"
	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/tld"
)

// Config says where things are. Fill it by [StoreFlags] and [LookupFlags].
type Config struct {
	Data         string // directory of the embedded store and the price list
	DB           string // postgres://…, instead of the embedded store
	Demo         bool   // an in-process registry and sample listings; the store is temporary unless Data is given
	RegistryFile string // JSON with servers that replace the built-in ones
	BootstrapURL string // empty: IANA's; "off": no refresh
	KeysFile     string // keys that seal what the store must not show; empty: in Data
	KeysExist    bool   // make no keys where there are none

	Environ       func(string) (string, bool) // may hold those keys; nil: it does not
	olderKeysFile string                      // by its older flag

	Logger *slog.Logger
	Now    func() time.Time
	Around lookup.Around // is told of requests to registries; nil: nobody is
}

// PricesFile is the operator's price list in the data directory; it is laid over the built-in one while the
// programs run.
const PricesFile = "prices.csv"

// StoreFlags defines -data and -db. The default directory is that of the program.
func (c *Config) StoreFlags(fs *flag.FlagSet, dir string) {
	fs.StringVar(&c.Data, "data", "", "`directory` of the embedded store and the price list (default "+dir+")")
	fs.StringVar(&c.DB, "db", "", "`postgres://…` instead of the embedded store; then any number of processes may run")
}

// LookupFlags defines -demo, -registry and -bootstrap-url.
func (c *Config) LookupFlags(fs *flag.FlagSet) {
	fs.BoolVar(&c.Demo, "demo", false, "ask an in-process demo registry and sell sample listings; loopback only")
	fs.StringVar(&c.RegistryFile, "registry", "", "JSON `file` with registries' servers that replace the built-in ones")
	fs.StringVar(&c.BootstrapURL, "bootstrap-url", "", "`URL` of the RDAP bootstrap file, or off (default IANA's)")
}

// An App is everything opened. Close it after the servers.
type App struct {
	DB     *store.DB
	Market *market.Market
	Lookup *lookup.Service
	Table  *tld.Table
	Prices *tld.Prices
	Demo   *demoregistry.Registry // nil without -demo
	Keys   *seal.Keys             // seal what the store must not show
	Secret []byte                 // seals cursors
	Data   string                 // the data directory

	Allow []netip.Prefix // addresses that may be fetched from although they are not public
	Roots *x509.CertPool // who may vouch for servers; nil: whom this machine trusts

	log     *slog.Logger
	closers []func() error // run in reverse order
}

// Open opens everything; dir is the data directory where Data is empty. Errors are one clear line: nothing is changed,
// and nothing logged, before all that the configuration names is found good.
func Open(ctx context.Context, cfg Config, dir string) (_ *App, err error) {
	var english *words.Lexicon // takes about as long to read as all that stands below it
	var reading sync.WaitGroup
	reading.Go(func() { english = words.English() })
	defer reading.Wait()
	b := &App{Table: tld.DefaultTable(), Prices: tld.NewPrices(tld.DefaultBook()), log: cfg.Logger}
	defer func() {
		if err != nil {
			b.Close()
		}
	}()
	lookups, err := b.lookups(cfg)
	if err != nil {
		return nil, err
	}
	if cfg.Data == "" {
		cfg.Data = dir
		if cfg.Demo {
			if cfg.Data, err = os.MkdirTemp("", "namewharf-demo-"); err != nil {
				return nil, err
			}
			b.onClose(func() error { return os.RemoveAll(cfg.Data) })
		}
	}
	b.Data = cfg.Data
	b.DB, err = store.Open(ctx, store.Config{URL: cfg.DB, Dir: cfg.Data, NoMigrate: true, Logger: cfg.Logger, Now: cfg.Now})
	if err != nil {
		return nil, err
	}
	b.onClose(b.DB.Close)
	if cfg.Environ == nil {
		cfg.Environ = func(string) (string, bool) { return "", false }
	}
	if b.Keys, err = cfg.Keys(cfg.Environ, cfg.Data, cfg.Logger); err != nil {
		return nil, err
	}
	if b.Lookup, err = lookup.New(lookups); err != nil {
		return nil, err
	}
	b.onClose(func() error { b.Lookup.Close(); return nil })
	if _, err := b.DB.Migrate(ctx); err != nil {
		return nil, err
	}
	if b.Secret, err = Secret(ctx, b.DB, b.Keys); err != nil {
		return nil, err
	}
	b.watchPrices(ctx, filepath.Join(cfg.Data, PricesFile))
	reading.Wait()
	if b.Market, err = market.New(ctx, market.Config{DB: b.DB, Lexicon: english, Logger: cfg.Logger}); err != nil {
		return nil, err
	}
	b.onClose(func() error { b.Market.Close(); return nil })
	if cfg.Demo {
		return b, b.listSamples(ctx)
	}
	return b, nil
}

func (b *App) onClose(f func() error) { b.closers = append(b.closers, f) }

// Close closes everything in reverse order.
func (b *App) Close() error {
	var errs []error
	for i := len(b.closers) - 1; i >= 0; i-- {
		errs = append(errs, b.closers[i]())
	}
	b.closers = nil
	return errors.Join(errs...)
}

// watchPrices keeps the operator's price list in force and says in the log what came of it.
func (b *App) watchPrices(ctx context.Context, path string) {
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		b.Prices.Watch(ctx, path, func(err error) {
			if err != nil {
				b.log.Error("the price list is not taken; the prices before stay in force", "error", err)
				return
			}
			b.log.Info("the price list is in force", "suffixes", b.Prices.Book().Len())
		})
	})
	b.onClose(func() error { stop(); running.Wait(); return nil })
}

// lookups reads what the look-up service is to ask, and starts the demo's registry where that is it.
func (b *App) lookups(cfg Config) (config lookup.Config, err error) {
	config = lookup.Config{Suffixes: b.Table, BootstrapURL: cfg.BootstrapURL, Resolvers: lookup.SystemResolvers(), Logger: cfg.Logger, Now: cfg.Now, Around: cfg.Around}
	file, name := []byte(nil), "-registry "+cfg.RegistryFile
	switch {
	case cfg.RegistryFile != "":
		if file, err = os.ReadFile(cfg.RegistryFile); err != nil {
			return config, fmt.Errorf("-registry: %w", err)
		}
	case cfg.Demo:
		if b.Demo, err = demoregistry.Start(demoregistry.Config{Now: cfg.Now}); err != nil {
			return config, err
		}
		b.onClose(b.Demo.Close)
		file, name = b.Demo.File(), "demo registry"
		config.BootstrapURL, config.Resolvers = lookup.BootstrapOff, nil // the demo asks nobody outside
	}
	if file != nil {
		if config.Registry, err = lookup.ParseRegistry(file); err != nil {
			return config, fmt.Errorf("%s: %w", name, err)
		}
		if ca := config.Registry.CAFile; ca != "" && !filepath.IsAbs(ca) {
			config.Registry.CAFile = filepath.Join(filepath.Dir(cfg.RegistryFile), ca)
		}
		b.Allow = config.Registry.Allow
		if b.Roots, err = config.Registry.Roots(); err != nil {
			return config, fmt.Errorf("%s: %w", name, err)
		}
		config.RootCAs = b.Roots
	}
	return config, nil
}

// listSamples puts the demo's listings up for sale, which leaves those of an earlier demo on the same store alone.
func (b *App) listSamples(ctx context.Context) error {
	report, err := b.Market.Import(ctx, market.Demo(), market.ImportOptions{Environment: market.Live})
	if err == nil && len(report.Bad) > 0 {
		err = fmt.Errorf("sample listings: %s", report.Bad[0])
	}
	return err
}

// readyTime bounds the question whether the store answers.
const readyTime = 2 * time.Second

// Ready is nil while requests can be answered.
func (b *App) Ready() error {
	ctx, cancel := context.WithTimeout(context.Background(), readyTime)
	defer cancel()
	if err := b.DB.Read(ctx, func(tx store.Tx) error {
		var one int
		return tx.QueryRow(ctx, `SELECT 1`).Scan(&one)
	}); err != nil {
		return errors.New("the store does not answer")
	}
	return nil
}
