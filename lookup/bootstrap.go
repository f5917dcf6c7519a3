package lookup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/openrdap/rdap/bootstrap"
)

// When the bootstrap file is fetched again.
const (
	refreshEvery = 24 * time.Hour
	retryFirst   = 1 * time.Minute // after a failure; doubling
	retryMax     = 6 * time.Hour
	fetchTime    = 30 * time.Second
)

// A servedBootstrap is the last good copy of IANA's list of RDAP servers (RFC 9224).
type servedBootstrap struct {
	entries atomic.Pointer[map[string][]string] // base URLs by A-label key
}

func (b *servedBootstrap) urls(key string) []string {
	if m := b.entries.Load(); m != nil {
		return (*m)[key]
	}
	return nil
}

// refresh fetches the list at once and then every day until ctx ends. A failure leaves the last good copy.
func (b *servedBootstrap) refresh(ctx context.Context, fetch func(context.Context) (map[string][]string, error), log *slog.Logger) {
	retry := retryFirst
	for {
		wait := refreshEvery
		entries, err := fetch(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			wait, retry = retry, min(2*retry, retryMax)
			log.Warn("RDAP bootstrap not refreshed", "error", err.Error(), "next_attempt_s", int(wait.Seconds()))
		default:
			retry = retryFirst
			b.entries.Store(&entries)
			log.Info("RDAP bootstrap refreshed", "suffixes", len(entries))
		}
		timer := time.NewTimer(jitter(wait))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// jitter spreads a wait by a tenth either way, so that many services do not ask together.
func jitter(d time.Duration) time.Duration {
	return d - d/10 + rand.N(d/5)
}

func (s *Service) fetchBootstrap(ctx context.Context) (map[string][]string, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	resp, err := s.guard.Get(ctx, s.cfg.BootstrapURL, "application/json", maxBootstrap)
	if err != nil {
		return nil, err
	}
	if resp.Status != http.StatusOK {
		return nil, fmt.Errorf("status %d", resp.Status)
	}
	return parseBootstrap(resp.Body)
}

// parseBootstrap reads the file by openrdap's parser and returns the entries that this service can use.
func parseBootstrap(body []byte) (map[string][]string, error) {
	file, err := bootstrap.NewFile(body)
	if err != nil {
		return nil, err
	}
	entries := make(map[string][]string, len(file.Entries))
	for key, urls := range file.Entries {
		suffix, err := suffixKey(key)
		if err != nil {
			continue
		}
		var usable []string
		for _, u := range urls {
			if base, err := baseURL(u.String()); err == nil && !slices.Contains(usable, base) {
				usable = append(usable, base)
			}
		}
		if httpsFirst(usable); len(usable) > 0 {
			entries[suffix] = usable
		}
	}
	if len(entries) == 0 {
		return nil, errors.New("no usable entry")
	}
	return entries, nil
}
