package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/internal/programtest"
	"github.com/namewharf/namewharf/lookup/zone"
)

// zoneAnswer is what is read here of a check.
type zoneAnswer struct {
	Results []struct {
		Domain, Status, Confidence string
		Evidence                   []struct {
			Source, Code string
			ZoneDate     time.Time `json:"zone_date"`
		}
	}
}

func buildZoneIndex(t *testing.T, dir string, names uint64, date time.Time) {
	t.Helper()
	var text bytes.Buffer
	if err := zone.Synthetic(&text, "com", names, date); err != nil {
		t.Fatal(err)
	}
	if _, err := (zone.Build{Dir: dir, Suffix: fqdn.MustParse("com"), In: &text}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestZoneIndexWhileServing asks the program about names of an index, whose registry cannot be reached, while the index is
// replaced and a broken one is put in its place. No request fails, and a new index is in force within ten seconds.
func TestZoneIndexWhileServing(t *testing.T) {
	t.Parallel()
	dir, today := t.TempDir(), time.Now().UTC().Truncate(24*time.Hour)
	buildZoneIndex(t, dir, 1000, today.AddDate(0, 0, -2))
	registry := write(t, "registry.json", `{"rdap_servers":{"com":"http://127.0.0.1:9/"},"allow_private_cidrs":["127.0.0.0/8"]}`)
	p := programtest.Start(t, nil, "-addr", "127.0.0.1:0", "-data", t.TempDir(), "-zone-dir", dir, "-registry", registry, "-bootstrap-url", "off", "-rate-limits", "off")
	base := p.Listening()
	check := func(name string) (a zoneAnswer, err error) {
		resp, err := http.Post(base+"/api/domain/check", "application/json", strings.NewReader(fmt.Sprintf(`{"domains":[%q]}`, name)))
		if err != nil {
			return a, err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK || json.Unmarshal(text, &a) != nil || len(a.Results) != 1 || len(a.Results[0].Evidence) == 0 {
			return a, fmt.Errorf("status %d, %w: %s", resp.StatusCode, err, text)
		}
		return a, nil
	}
	a, err := check(zone.SyntheticLabel(1) + ".com")
	if err != nil {
		t.Fatal(err)
	}
	if r := a.Results[0]; r.Status != "registered" || r.Confidence != "zone" || r.Evidence[0].Source != "zone" || !r.Evidence[0].ZoneDate.Equal(today.AddDate(0, 0, -2)) {
		t.Errorf("a name of the zone: %+v", r)
	}
	if a, err := check("quarry-lantern.com"); err != nil || a.Results[0].Status == "registered" || a.Results[0].Status == "available" {
		t.Errorf("a name that is not in the zone, whose registry cannot be reached: %+v, %v", a, err)
	}

	var failed, asked atomic.Int64
	done := make(chan struct{})
	var wg sync.WaitGroup
	for worker := range 2 {
		wg.Go(func() {
			for i := uint64(worker); ; i += 2 {
				select {
				case <-done:
					return
				default:
				}
				a, err := check(zone.SyntheticLabel(2+i%900) + ".com")
				select {
				case <-done:
					return
				default:
				}
				if err != nil || a.Results[0].Confidence != "zone" {
					t.Errorf("%+v, %v", a, err)
					failed.Add(1)
					return
				}
				asked.Add(1)
			}
		})
	}
	index, err := os.ReadFile(zone.Path(dir, "com"))
	if err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(dir, "broken")
	if err := os.WriteFile(broken, index[:len(index)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(broken, zone.Path(dir, "com")); err != nil {
		t.Fatal(err)
	}
	within(t, 10*time.Second, "the broken index is in the log", func() bool {
		return strings.Contains(p.Stderr(), "it is cut short; build or copy it again; the one before stays in force")
	})
	buildZoneIndex(t, dir, 3000, today.AddDate(0, 0, -1))
	within(t, 10*time.Second, "the new index is in force", func() bool {
		a, err := check(zone.SyntheticLabel(2999) + ".com")
		return err == nil && a.Results[0].Confidence == "zone" && a.Results[0].Status == "registered"
	})
	close(done)
	wg.Wait()
	if failed.Load() > 0 || asked.Load() == 0 {
		t.Errorf("%d of %d requests failed", failed.Load(), asked.Load())
	}
}

// within waits until something is so.
func within(t *testing.T, limit time.Duration, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !so(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}

// TestZoneFlagsAreChecked shows the line with which the program refuses to start.
func TestZoneFlagsAreChecked(t *testing.T) {
	t.Parallel()
	login := write(t, "login", "a\nb\nc\n")
	for _, c := range []struct {
		title string
		args  []string
		want  string
	}{
		{"a directory that is none", []string{"-zone-dir", "/nowhere/at/all"}, "-zone-dir: /nowhere/at/all is no directory"},
		{"zones without a login", []string{"-zones", "com"}, "-zones needs -czds-login"},
		{"a zone that is none", []string{"-zones", "com,a b", "-czds-login", login}, "is no TLD"},
		{"a login of three lines", []string{"-zones", "com", "-czds-login", login}, "one line"},
	} {
		t.Run(c.title, func(t *testing.T) {
			t.Parallel()
			_, stderr, status := programtest.Run(t, nil, append([]string{"-addr", "127.0.0.1:0", "-data", t.TempDir(), "-bootstrap-url", "off"}, c.args...)...)
			if status != 2 || !strings.Contains(stderr, c.want) || strings.Count(strings.TrimSpace(stderr), "\n") > 0 {
				t.Errorf("status %d: %s", status, stderr)
			}
		})
	}
}

// TestZonesAreFetched lets the program fetch a zone from a small CZDS by itself.
func TestZonesAreFetched(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	if err := zone.Synthetic(&text, "com", 50, time.Now().AddDate(0, 0, -1)); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	czds := httptest.NewServer(mux)
	t.Cleanup(czds.Close)
	mux.HandleFunc("GET /czds/downloads/links", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer czds-token" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		fmt.Fprintf(w, "[%q]", czds.URL+"/czds/downloads/com.zone")
	})
	mux.HandleFunc("GET /czds/downloads/com.zone", func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Unix(1_700_000_000, 0), bytes.NewReader(text.Bytes()))
	})
	data := filepath.Join(t.TempDir(), "data")
	p := programtest.Start(t, nil, "-addr", "127.0.0.1:0", "-data", data, "-bootstrap-url", "off", "-zones", "com", "-czds-login", write(t, "login", "czds-token\n"), "-czds-url", czds.URL)
	p.Listening()
	within(t, 30*time.Second, "the zone is fetched and in force", func() bool {
		return strings.Contains(p.Stderr(), "zone indexes in force") && strings.Contains(p.Stderr(), "a zone was fetched")
	})
	if info, err := zone.Verify(zone.Path(filepath.Join(data, "zones"), "com")); err != nil || info.Names != 50 {
		t.Errorf("%+v, %v", info, err)
	}
	if strings.Contains(p.Stderr(), "czds-token") {
		t.Error("the token is in the log")
	}
}
