package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"flag"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/internal/app"
	"github.com/namewharf/namewharf/internal/settings"
	"github.com/namewharf/namewharf/lookup"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
	"github.com/namewharf/namewharf/tld"
)

// config parses flags as a program would, with a log that is dropped and no refresh.
func config(t *testing.T, args ...string) app.Config {
	t.Helper()
	cfg := app.Config{Logger: slog.New(slog.DiscardHandler), Now: time.Now}
	fs := flag.NewFlagSet("test", flag.ContinueOnError)
	cfg.StoreFlags(fs, "nowhere")
	cfg.LookupFlags(fs)
	args = append([]string{"-bootstrap-url", "off"}, args...)
	if _, err := settings.Parse(fs, args, func(string) (string, bool) { return "", false }, io.Discard); err != nil {
		t.Fatal(err)
	}
	return cfg
}

func open(t *testing.T, cfg app.Config, dir string) *app.App {
	t.Helper()
	a, err := app.Open(t.Context(), cfg, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

func TestDemo(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	a := open(t, config(t, "-demo"), filepath.Join(temp, "unused"))
	if err := a.Ready(); err != nil {
		t.Errorf("Ready: %v", err)
	}
	for _, s := range a.Demo.Samples() {
		v := a.Lookup.Verdict(t.Context(), fqdn.MustParse(s.Name))
		if (v.Status == lookup.Available) != (s.Kind == "free") {
			t.Errorf("%s, %s: got %+v", s.Kind, s.Name, v)
		}
	}
	if n := a.Market.Len(market.Live); n < 200 {
		t.Errorf("%d sample listings, want some 250", n)
	}
	if _, ok := a.Market.Get(market.Live, fqdn.MustParse("brewhaven.com")); !ok {
		t.Error("brewhaven.com, the sample that is for sale, is not")
	}
	if err := a.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := a.Close(); err != nil {
		t.Errorf("Close again: %v", err)
	}
	if err := a.Ready(); err == nil {
		t.Error("Ready after Close")
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// Two programs on the same store import the samples once, and share the secret.
func TestTheStoreIsShared(t *testing.T) {
	t.Parallel()
	storetest.EachConfig(t, func(t *testing.T, at store.Config) {
		cfg := config(t, "-demo")
		cfg.DB, cfg.Data = at.URL, t.TempDir()
		first := open(t, cfg, "")
		second := open(t, cfg, "")
		if a, b := first.Market.Len(market.Live), second.Market.Len(market.Live); a != b || a == 0 {
			t.Errorf("%d and %d listings, want as many", a, b)
		}
		if !bytes.Equal(first.Secret, second.Secret) || len(first.Secret) < 16 {
			t.Error("the secrets differ")
		}
	})
}

// A registry file with its own certificate authority: ca_file is relative to the registry file.
func TestARegistryOverTLS(t *testing.T) {
	t.Parallel()
	registry := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/rdap+json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"errorCode":404}`)
	}))
	t.Cleanup(registry.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: registry.Certificate().Raw})
	for _, given := range []string{"ca.pem", ""} {
		dir := t.TempDir()
		file := map[string]any{"rdap_servers": map[string]string{"com": registry.URL + "/"}, "allow_private_cidrs": []string{"127.0.0.0/8"}}
		if given != "" {
			file["ca_file"] = given
		}
		raw, err := json.Marshal(file)
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string][]byte{"ca.pem": ca, "registry.json": raw} {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		a := open(t, config(t, "-registry", filepath.Join(dir, "registry.json")), t.TempDir())
		v := a.Lookup.Verdict(t.Context(), fqdn.MustParse("quietmeadow.com"))
		if (v.Status == lookup.Available) != (given != "") {
			t.Errorf("ca_file %q: got %+v", given, v)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"-data", file},
		{"-data", filepath.Join(file, "below")},
		{"-registry", file},
		{"-registry", filepath.Join(t.TempDir(), "none.json")},
		{"-db", "mysql://x"},
		{"-bootstrap-url", "somewhere"},
	} {
		var log bytes.Buffer
		cfg := config(t, args...)
		cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
		a, err := app.Open(t.Context(), cfg, filepath.Join(t.TempDir(), "data"))
		if err == nil || a != nil || strings.Contains(err.Error(), "\n") || log.Len() > 0 {
			t.Errorf("%q: %v, log %s; want one line and nothing in the log", args, err, &log)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := app.Open(ctx, config(t), t.TempDir()); err == nil {
		t.Error("opened though the context was over")
	}
}

func TestPricesAreWatched(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, app.PricesFile)
	if err := os.WriteFile(path, []byte("suffix,register,as_of\ncom,4321,2026-11-01\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := open(t, config(t), dir)
	price := func() int64 {
		p, err := a.Prices.Price(fqdn.MustParse("com"), tld.Register)
		if err != nil {
			t.Fatal(err)
		}
		return p.Amount.Cents
	}
	until(t, "the list that was there", func() bool { return price() == 4321 })
	if err := os.WriteFile(path, []byte("suffix,register,as_of\ncom,oops,2026-11-01\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	good := filepath.Join(dir, "good")
	if err := os.WriteFile(good, []byte("suffix,register,as_of\ncom,1234,2026-11-02\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := price(); got != 4321 {
		t.Errorf("beside a wrong list: %d, want 4321", got)
	}
	if err := os.Rename(good, path); err != nil {
		t.Fatal(err)
	}
	until(t, "the list after it", func() bool { return price() == 1234 })
}

func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for begun := time.Now(); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > 10*time.Second {
			t.Fatalf("%s is not in force after 10 s", what)
		}
	}
}
