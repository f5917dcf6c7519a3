package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/lookup/zone"
)

// zoneService is a small CZDS with the zone of quarry.
func zoneService(t *testing.T) string {
	t.Helper()
	var text bytes.Buffer
	if err := zone.Synthetic(&text, "quarry", 10, time.Now()); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	mux.HandleFunc("POST /api/authenticate", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"accessToken":"czds-token"}`) })
	mux.HandleFunc("GET /czds/downloads/links", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer czds-token" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		fmt.Fprintf(w, "[%q]", server.URL+"/czds/downloads/quarry.zone")
	})
	mux.HandleFunc("GET /czds/downloads/quarry.zone", func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Unix(1_700_000_000, 0), bytes.NewReader(text.Bytes()))
	})
	return server.URL
}

func TestZone(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "indexes")
	file := filepath.Join(t.TempDir(), "quarry.zone.gz")
	if _, _, err := operate(t, "dev", "zone", "-tld", "quarry", "-names", "5000", file); err != nil {
		t.Fatal(err)
	}
	out, _, err := operate(t, "zone", "build", "-tld", "quarry", "-zone-dir", dir, file, "-json")
	var built zoneRow
	if err != nil || json.Unmarshal([]byte(out), &built) != nil || built.Names != 5000 || built.TLD != "quarry" || built.ZoneDate.Format(time.DateOnly) != time.Now().Format(time.DateOnly) {
		t.Fatalf("%s, %v", out, err)
	}
	ix, err := zone.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if present, loaded, _ := ix.Look(fqdn.MustParse(zone.SyntheticLabel(4711) + ".quarry")); !present || !loaded {
		t.Error("a name of the zone is not in the index")
	}
	if out, _, err := operate(t, "zone", "list", "-zone-dir", dir); err != nil || !strings.Contains(out, "quarry  5000") {
		t.Errorf("%s, %v", out, err)
	}
	if _, _, err := operate(t, "zone", "build", "-tld", "quarry", "-zone-dir", dir, write(t, "small", "a\nb\n")); err == nil || !strings.Contains(err.Error(), "-shrunk takes it") {
		t.Errorf("a zone that shrank: %v", err)
	}
	if out, _, err := operateWith(t, "a\nb\n", "zone", "build", "-tld", "quarry", "-zone-dir", dir, "-shrunk", "-"); err != nil || !strings.Contains(out, "names") {
		t.Errorf("from standard input: %s, %v", out, err)
	}
	if out, _, err := operate(t, "zone", "verify", "-zone-dir", dir); err != nil || !strings.Contains(out, "good") {
		t.Errorf("%s, %v", out, err)
	}
	if err := os.WriteFile(zone.Path(dir, "quarry"), []byte("NAMEWHZ1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, _, err := operate(t, "zone", "verify", "-tld", "quarry", "-zone-dir", dir); err == nil || !strings.Contains(out, "cut short") {
		t.Errorf("%s, %v", out, err)
	}
	login := write(t, "login", "ada\npassword\n")
	out, _, err = operate(t, "zone", "fetch", "-tld", "quarry", "-zone-dir", dir, "-czds-login", login, "-czds-url", zoneService(t))
	if err != nil || !strings.Contains(out, "names      10") {
		t.Errorf("%s, %v", out, err)
	}
	for _, c := range []struct {
		title string
		args  []string
		usage bool
		want  string
	}{
		{"no TLD", []string{"zone", "build", "-zone-dir", dir, file}, true, "-tld is missing"},
		{"a TLD that is none", []string{"zone", "build", "-tld", "a b", "-zone-dir", dir, file}, true, "is no TLD"},
		{"no file", []string{"zone", "build", "-tld", "quarry", "-zone-dir", dir, filepath.Join(dir, "none")}, true, "no such file"},
		{"a file of another TLD", []string{"zone", "build", "-tld", "lantern", "-zone-dir", dir, file}, false, "the zone of \"quarry\""},
		{"no login", []string{"zone", "fetch", "-tld", "quarry", "-zone-dir", dir}, true, "-czds-login is missing"},
		{"a login of three lines", []string{"zone", "fetch", "-tld", "quarry", "-zone-dir", dir, "-czds-login", write(t, "l", "a\nb\nc\n")}, true, "one line"},
		{"no index", []string{"zone", "verify", "-zone-dir", t.TempDir()}, false, "there is no zone index"},
		{"no number", []string{"dev", "zone", "-tld", "quarry", "-names", "many", "-"}, true, "is no number"},
	} {
		if _, _, err := operate(t, c.args...); err == nil || !strings.Contains(err.Error(), c.want) || isUsage(err) != c.usage {
			t.Errorf("%s: got %v, want %q", c.title, err, c.want)
		}
	}
}
