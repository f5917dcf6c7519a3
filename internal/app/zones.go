package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/lookup/zone"
)

// ZoneDir is the directory of the zone indexes in the data directory.
const ZoneDir = "zones"

// How often zones are fetched: the CZDS asks for no more than once a day. After a failure it is asked again within the hour.
const (
	fetchEvery = 24 * time.Hour
	fetchAgain = time.Hour
)

// ZonesIn is the directory of the zone indexes: dir, else that in the data directory.
func ZonesIn(dir, data string) string {
	if dir != "" {
		return dir
	}
	return filepath.Join(data, ZoneDir)
}

// checkZones fails for a directory that was named and is not there, and for what makes it impossible to fetch zones. It
// returns the TLDs whose zones are fetched.
func (a *App) checkZones(cfg Config) (fetching []fqdn.Name, err error) {
	dir := cfg.ZoneDir
	if cfg.ZoneDir != "" && cfg.Zones == "" {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("-zone-dir: %s is no directory", dir)
		}
	}
	for text := range strings.SplitSeq(cfg.Zones, ",") {
		text = strings.Trim(text, " .")
		if text == "" {
			continue
		}
		name, err := fqdn.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("-zones: %q is no TLD", text)
		}
		fetching = append(fetching, name)
	}
	if len(fetching) > 0 {
		if cfg.CZDSLogin == "" {
			return nil, errors.New("-zones needs -czds-login")
		}
		a.login = cfg.CZDSLogin
		if _, err := a.readLogin(); err != nil {
			return nil, err
		}
	}
	return fetching, nil
}

// openZones opens the zone indexes. One that cannot be used is a line in the log.
func (a *App) openZones(cfg Config) {
	dir := ZonesIn(cfg.ZoneDir, cfg.Data)
	a.fetcher = zone.Fetcher{Dir: dir, URL: cfg.CZDSURL, AuthURL: cfg.CZDSURL, Now: cfg.Now}
	var err error
	if a.Zones, err = zone.Open(dir, cfg.Now); err != nil {
		a.log.Error("zone indexes are left out", "error", err)
	}
}

// readLogin reads the file with the login of the CZDS anew: a token holds for a day.
func (a *App) readLogin() (zone.Login, error) {
	text, err := os.ReadFile(a.login)
	if err != nil {
		return zone.Login{}, fmt.Errorf("-czds-login: %w", err)
	}
	login, err := zone.ParseLogin(text)
	if err != nil {
		return zone.Login{}, fmt.Errorf("-czds-login: %w", err)
	}
	return login, nil
}

// watchZones takes new indexes while the program runs, and fetches zones every day, in one of the processes on the database.
func (a *App) watchZones(ctx context.Context, fetching []fqdn.Name) {
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		a.Zones.Watch(ctx, func(changed bool, files []zone.Info, err error) {
			if err != nil {
				a.log.Error("a zone index is not taken", "error", err)
			}
			if changed {
				a.log.Info("zone indexes in force", "suffixes", len(files), "names", namesOf(files))
			}
		})
	})
	for _, suffix := range fetching {
		running.Go(func() {
			var asked time.Time // when there was no later zone
			fetch := func(ctx context.Context) error {
				if now := a.DB.Now(); now.Sub(asked) < fetchEvery || now.Sub(a.builtAt(suffix)) < fetchEvery {
					return nil
				}
				err := a.fetchZone(ctx, suffix)
				if err == nil {
					asked = a.DB.Now()
				}
				return err
			}
			a.DB.Regularly(ctx, "zone "+suffix.String(), fetchAgain, fetch, func(err error) {
				a.log.Error("a zone was not fetched; the index before stays in force", "suffix", suffix.String(), "error", err)
			})
		})
	}
	a.onClose(func() error { stop(); running.Wait(); return nil })
}

// builtAt is when the index in force of the suffix was built.
func (a *App) builtAt(suffix fqdn.Name) time.Time {
	for _, f := range a.Zones.Files() {
		if f.Suffix == suffix.String() {
			return f.Built
		}
	}
	return time.Time{}
}

// fetchZone fetches one zone, if there is a later one.
func (a *App) fetchZone(ctx context.Context, suffix fqdn.Name) error {
	fetcher := a.fetcher
	var err error
	if fetcher.Login, err = a.readLogin(); err != nil {
		return err
	}
	info, err := fetcher.Fetch(ctx, suffix)
	switch {
	case errors.Is(err, zone.ErrNotModified):
		return nil
	case err != nil:
		return err
	}
	a.log.Info("a zone was fetched", "suffix", info.Suffix, "names", info.Names, "date", info.Date)
	return nil
}

func namesOf(files []zone.Info) (n uint64) {
	for _, f := range files {
		n += f.Names
	}
	return n
}

// zoneSummary is the line of the summary about zone indexes, where there is none.
func (a *App) zoneSummary() []string {
	if a.Zones == nil || len(a.Zones.Files()) > 0 {
		return nil
	}
	return []string{"zone index: there is none; operator zone build makes one of a zone file"}
}
