package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/internal/demoregistry"
	"github.com/namewharf/namewharf/internal/programtest"
)

// busy is an address that somebody listens on.
func busy(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

func write(t *testing.T, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestStartIsRefusedInOneLine(t *testing.T) {
	t.Parallel()
	taken, file := busy(t), write(t, "file", "")
	for _, test := range []struct {
		name string
		env  []string
		args []string
		want string // in the line
	}{
		{"a busy port", nil, []string{"-addr", taken}, "address already in use"},
		{"a busy port for metrics", nil, []string{"-demo", "-addr", "127.0.0.1:0", "-metrics-addr", taken}, "-metrics-addr: "},
		{"a directory that cannot be made", nil, []string{"-addr", "127.0.0.1:0", "-data", filepath.Join(file, "data")}, "is not writable"},
		{"a file in place of the directory", nil, []string{"-addr", "127.0.0.1:0", "-data", file}, "is not writable"},
		{"an unknown flag", nil, []string{"-nosuch"}, "-nosuch"},
		{"an argument", nil, []string{"serve"}, "takes flags only"},
		{"a flag without its value", nil, []string{"-addr"}, "-addr"},
		{"an address that is none", nil, []string{"-addr", "127.0.0.1:port"}, "-addr: "},
		{"no such registry file", nil, []string{"-demo", "-addr", "127.0.0.1:0", "-registry", file + "2"}, "-registry: "},
		{"an empty registry file", nil, []string{"-demo", "-addr", "127.0.0.1:0", "-registry", file}, "must be a JSON object"},
		{"an unknown key in it", nil, []string{"-demo", "-addr", "127.0.0.1:0", "-registry", write(t, "r.json", `{"rdap":{}}`)}, "unknown key"},
		{"a base URL of another scheme", nil, []string{"-base-url", "ftp://names.example"}, "-base-url must be"},
		{"a base URL without TLS", nil, []string{"-base-url", "http://names.example"}, "must be https"},
		{"a base URL with a path", nil, []string{"-base-url", "https://names.example/api"}, "must have no path"},
		{"the demo for everybody", nil, []string{"-demo", "-addr", "0.0.0.0:0"}, "-demo needs a loopback"},
		{"the demo on all interfaces", nil, []string{"-demo", "-addr", ":0"}, "-demo needs a loopback"},
		{"no limits for everybody", nil, []string{"-rate-limits", "off", "-addr", "0.0.0.0:0", "-base-url", "https://names.example"}, "-rate-limits off needs a loopback"},
		{"no base URL for everybody", nil, []string{"-addr", "0.0.0.0:0"}, "-base-url is required"},
		{"half a limit", nil, []string{"-rate-limits", "maybe"}, "must be one of on, off"},
		{"a log of another form", nil, []string{"-log", "xml"}, "must be one of text, json"},
		{"a proxy that is no network", nil, []string{"-trusted-proxies", "10.0.0.1"}, "-trusted-proxies: "},
		{"a proxy in front that is not told of", nil, []string{"-addr", "127.0.0.1:0", "-base-url", "https://names.example"}, "-trusted-proxies 127.0.0.1/32"},
		{"no proxies and one", nil, []string{"-trusted-proxies", "none,10.0.0.0/8"}, "-trusted-proxies: none must be the only value"},
		{"no registrations", nil, []string{"-demo", "-addr", "127.0.0.1:0", "-max-registrations-per-day", "0"}, "-max-registrations-per-day: must be a number and at least 1"},
		{"a bootstrap that is no URL", nil, []string{"-demo", "-registry", write(t, "r.json", "{}"), "-addr", "127.0.0.1:0", "-bootstrap-url", "somewhere"}, "bootstrap URL"},
		{"another database", nil, []string{"-addr", "127.0.0.1:0", "-db", "mysql://127.0.0.1/x"}, "postgres"},
		{"a database that does not answer", nil, []string{"-addr", "127.0.0.1:0", "-db", "postgres://nobody:hunter2@127.0.0.1:1/x"}, "127.0.0.1:1"},
		{"no such settings file", nil, []string{"-config", file + "2"}, "-config: "},
		{"a settings file that is not TOML", nil, []string{"-config", write(t, "c.toml", "addr = [")}, "line 1"},
		{"an unknown setting", nil, []string{"-config", write(t, "c.toml", `address = "x"`)}, "unknown key address"},
		{"a wrong value in the environment", []string{"NAMEWHARF_DEMO=perhaps"}, nil, "NAMEWHARF_DEMO"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			temp := t.TempDir()
			stdout, stderr, status := programtest.Run(t, append(test.env, "TMPDIR="+temp), test.args...)
			lines := strings.Split(strings.TrimSuffix(stderr, "\n"), "\n")
			last := lines[len(lines)-1]
			if status != 2 || stdout != "" || !strings.HasPrefix(last, "publicapi: ") || !strings.Contains(last, test.want) || strings.Contains(stderr, "hunter2") {
				t.Errorf("publicapi %q: status %d, standard output %q, standard error\n%s\nwant status 2, nothing, and one line with %q", test.args, status, stdout, stderr, test.want)
			}
			if len(lines) != 1 {
				t.Errorf("publicapi %q: %d lines on standard error, want 1:\n%s", test.args, len(lines), stderr)
			}
			wantEmpty(t, temp)
		})
	}
}

func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left in %s: %v, %v", dir, left, err)
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	stdout, stderr, status := programtest.Run(t, nil, "-h")
	if status != 0 || stderr != "" {
		t.Errorf("-h: status %d, standard error %q", status, stderr)
	}
	for _, flag := range []string{
		"addr", "base-url", "data", "db", "demo", "registry", "bootstrap-url", "trusted-proxies", "rate-limits", "metrics-addr", "log", "config",
		"max-registrations-per-day",
	} {
		if !strings.Contains(stdout, "\n  -"+flag) {
			t.Errorf("-h does not tell of -%s:\n%s", flag, stdout)
		}
	}
}

// Every setting is a flag, a variable of the environment, and a key of the settings file.
func TestSettingsComeFromThreePlaces(t *testing.T) {
	t.Parallel()
	reg := newRegistry(t)
	for _, place := range []string{"flags", "environment", "file"} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			data := filepath.Join(t.TempDir(), "new", "data")
			settings := map[string]string{
				"addr": "127.0.0.1:0", "base-url": "https://names.example/", "data": data, "demo": "true",
				"registry": write(t, "registry.json", string(reg.File())), "bootstrap-url": "off", "trusted-proxies": "127.0.0.0/8,10.0.0.0/8",
				"rate-limits": "off", "metrics-addr": "127.0.0.1:0", "log": "json",
			}
			var env, args []string
			var toml strings.Builder
			for name, value := range settings {
				switch place {
				case "flags":
					args = append(args, "-"+name+"="+value)
				case "environment":
					env = append(env, "NAMEWHARF_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_"))+"="+value)
				case "file":
					fmt.Fprintf(&toml, "%s = %q\n", strings.ReplaceAll(name, "-", "_"), value)
				}
			}
			if place == "file" {
				args = []string{"-config", write(t, "settings.toml", toml.String())}
			}
			p := programtest.Start(t, env, args...)
			base := p.Listening()
			if port, _ := url.Parse(base); port.Port() == "0" || port.Hostname() != "127.0.0.1" {
				t.Errorf("listening on %s, want a port that was picked", base)
			}
			if catalog := get(t, base+"/.well-known/api-catalog"); !strings.Contains(catalog.text, `"https://names.example/openapi.json"`) {
				t.Errorf("the base URL is not in %s", catalog.text)
			}
			if r := get(t, base+"/api/pricing/tld?tld=com"); r.StatusCode != 200 || r.Header.Get("RateLimit") != "" {
				t.Errorf("got %d with limits %q, want none", r.StatusCode, r.Header.Get("RateLimit"))
			}
			if r := post(t, base+"/api/domain/search", `{"q":"cobaltpine.com","tlds":["com"]}`); !strings.Contains(r.text, `"status":"registered"`) {
				t.Errorf("the registry was not asked: %s", r.text)
			}
			if info, err := os.Stat(data); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("the directory: %v, %v; want mode 0700", info, err)
			}
			p.Terminate()
			if _, status := p.Wait(); status != 0 {
				t.Errorf("status %d, want 0; %s", status, p.Stderr())
			}
			var metrics string
			for line := range strings.Lines(p.Stderr()) {
				var entry struct{ Level, Msg, URL string }
				if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Level == "" || entry.Msg == "" {
					t.Errorf("not a line of a JSON log: %s", line)
				}
				if entry.Msg == "metrics" {
					metrics = entry.URL
				}
			}
			if metrics == "" {
				t.Errorf("the log does not say where the metrics are:\n%s", p.Stderr())
			}
		})
	}
}

func get(t *testing.T, url string) reply {
	t.Helper()
	return request(t, "GET", url, "")
}

func post(t *testing.T, url, body string) reply {
	t.Helper()
	return request(t, "POST", url, body)
}

// request calls a program in another process, over a connection of its own.
func request(t *testing.T, method, url, body string) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Close = true
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{resp, string(text)}
}

func TestMetricsHaveAnAddressOfTheirOwn(t *testing.T) {
	t.Parallel()
	p := programtest.Start(t, nil, "-demo", "-addr", "127.0.0.1:0", "-metrics-addr", "127.0.0.1:0")
	base := p.Listening()
	get(t, base+"/api/pricing/tld?tld=com")
	at := strings.Index(p.Stderr(), "http://")
	if at < 0 {
		t.Fatalf("the log does not say where the metrics are: %s", p.Stderr())
	}
	where, _, _ := strings.Cut(p.Stderr()[at:], "\n")
	where = strings.Trim(strings.Fields(where)[0], `"`)
	if r := get(t, where); r.StatusCode != 200 || !strings.Contains(r.text, `operation="tld_registration_price"`) || !strings.Contains(r.text, "go_goroutines") {
		t.Errorf("%s: got %d %s", where, r.StatusCode, r.text)
	}
	if r := get(t, base+"/metrics"); r.StatusCode != 404 {
		t.Errorf("/metrics for everybody: got %d, want 404", r.StatusCode)
	}
}

func TestTerminationFinishesWhatRuns(t *testing.T) {
	t.Parallel()
	const latency = 700 * time.Millisecond
	reg, err := demoregistry.Start(demoregistry.Config{Latency: latency})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reg.Close() })
	data := t.TempDir()
	p := programtest.Start(t, nil, "-addr", "127.0.0.1:0", "-data", data, "-registry", write(t, "registry.json", string(reg.File())))
	base := p.Listening()
	answered := make(chan reply, 1)
	go func() { answered <- post(t, base+"/api/tools/whois", `{"domain":"cobaltpine.org"}`) }()
	for reg.Requests("").RDAP == 0 { // until the request is in the middle of its work
		time.Sleep(time.Millisecond)
	}
	p.Terminate()
	if r := <-answered; r.StatusCode != 200 || !strings.Contains(r.text, `"registered":true`) {
		t.Errorf("the request that ran got %d %s, want its answer", r.StatusCode, r.text)
	}
	if _, status := p.Wait(); status != 0 {
		t.Errorf("status %d, want 0; %s", status, p.Stderr())
	}
	if left, _ := filepath.Glob(filepath.Join(data, "*-wal")); len(left) > 0 {
		t.Errorf("the store was not closed: %v", left)
	}
}

// Told to end before it listens, the program ends as one that ran.
func TestTerminationWhileStarting(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var stdout, stderr strings.Builder
	err := run(ctx, []string{"-addr", "127.0.0.1:0", "-data", t.TempDir(), "-bootstrap-url", "off"}, func(string) (string, bool) { return "", false }, &stdout, &stderr)
	if err != nil || stdout.Len() > 0 {
		t.Errorf("got %v, %s, %s; want nothing", err, &stdout, &stderr)
	}
}

// A cursor is sealed with a secret of the store: one from before a restart is good after it.
func TestDataOutlivesARestart(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	cursor := ""
	for range 2 {
		p := programtest.Start(t, nil, "-demo", "-addr", "127.0.0.1:0", "-data", data)
		path := "/api/market/listings?limit=2&sort=name"
		if cursor != "" {
			path += "&cursor=" + cursor
		}
		page := as[struct {
			Listings []struct{ Domain string }
			Page     struct {
				Next string `json:"next_cursor"`
			}
		}](t, get(t, p.Listening()+path))
		if len(page.Listings) != 2 || page.Page.Next == "" {
			t.Errorf("got %+v, want two listings and a cursor", page)
		}
		cursor = page.Page.Next
		p.Terminate()
		if _, status := p.Wait(); status != 0 {
			t.Errorf("status %d, want 0; %s", status, p.Stderr())
		}
	}
	for path, want := range map[string]os.FileMode{data: 0o700, filepath.Join(data, "namewharf.db"): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want mode %o", path, info, err, want)
		}
	}
}

func TestDemo(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	cmd := programtest.Command(t, []string{"TMPDIR=" + temp}, "-demo", "-addr", "127.0.0.1:0")
	p := programtest.StartCommand(t, cmd)
	base := p.Listening()
	names := map[string]string{} // by kind
	for kinds := false; p.Lines.Scan(); {
		line := p.Lines.Text()
		if kinds && len(strings.Fields(line)) > 1 && strings.HasPrefix(line, "  ") && !strings.Contains(line, "curl") {
			fields := strings.Fields(line)
			names[strings.Join(fields[:len(fields)-1], " ")] = fields[len(fields)-1]
		}
		kinds = kinds || strings.HasPrefix(line, "A name of each kind")
		if strings.Contains(line, "curl") {
			break
		}
	}
	for kind, want := range map[string]string{
		"free": `"status":"available","available":true`, "registered": `"status":"registered"`, "redacted": `"status":"registered"`,
		"WHOIS only": `"status":"registered"`, "expiring": `"status":"expiring"`, "about to be deleted": `"status":"expiring"`,
		"reserved": `"status":"reserved"`, "IDN": `"unicode":"bücher.com"`, "for sale": `"listing":{`,
		"throttled": `"retry_after_s":`, "throttled WHOIS": `"retry_after_s":`, "broken registry": `not a well-formed RDAP reply`,
	} {
		name := names[kind]
		_, suffix, _ := strings.Cut(name, ".")
		if r := post(t, base+"/api/domain/search", fmt.Sprintf(`{"q":%q,"tlds":[%q]}`, name, suffix)); r.StatusCode != 200 || !strings.Contains(r.text, want) {
			t.Errorf("the sample that is %s, %q: got %s, want %s", kind, name, r.text, want)
		}
	}
	p.Terminate()
	if _, status := p.Wait(); status != 0 {
		t.Errorf("status %d, want 0; %s", status, p.Stderr())
	}
	wantEmpty(t, temp)
	wantEmpty(t, cmd.Dir)
}
