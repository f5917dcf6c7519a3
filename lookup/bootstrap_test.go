package lookup

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/namewharf/namewharf/fqdn"
)

func TestParseBootstrap(t *testing.T) {
	t.Parallel()
	got, err := parseBootstrap([]byte(`{"version":"1.0","services":[
		[["com","NET."],["http://a.example","https://a.example/rdap"]],
		[["bücher"],["https://b.example/","https://b.example"]],
		[["bad"],["ftp://x/","https://u@x/","::"]],
		[["a b"],["https://c.example/"]]]}`))
	want := map[string][]string{
		"com":           {"https://a.example/rdap/", "http://a.example/"},
		"net":           {"https://a.example/rdap/", "http://a.example/"},
		"xn--bcher-kva": {"https://b.example/"},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("parseBootstrap\n got %v, %v\nwant %v", got, err, want)
	}
	for _, body := range []string{``, `[]`, `<html>`, `{}`, `{"services":[]}`, `{"services":[[["com"]]]}`, `{"services":[[["com"],["ftp://x/"]]]}`} {
		if got, err := parseBootstrap([]byte(body)); err == nil {
			t.Errorf("parseBootstrap(%s): got %v, want an error", body, got)
		}
	}
}

func FuzzParseBootstrap(f *testing.F) {
	f.Add([]byte(`{"services":[[["com"],["https://a.example/"]]]}`))
	f.Add([]byte(`{"services":[[["x"],["com"],["https://a.example/"]]]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		entries, err := parseBootstrap(body)
		for key, urls := range entries {
			if n, e := fqdn.Parse(key); e != nil || n.String() != key || len(urls) == 0 {
				t.Errorf("parseBootstrap(%q): entry %q: %q", body, key, urls)
			}
		}
		if (err == nil) != (len(entries) > 0) {
			t.Errorf("parseBootstrap(%q): got %v, %v", body, entries, err)
		}
	})
}

// TestRefresh shows the daily refresh, the back-off after failures, and that the last good copy is served meanwhile.
func TestRefresh(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b servedBootstrap
		var at []time.Duration
		begin := time.Now()
		fetch := func(context.Context) (map[string][]string, error) {
			at = append(at, time.Since(begin))
			if n := len(at); n == 1 || n == 5 {
				return map[string][]string{"com": {"https://a.example/"}}, nil
			}
			return nil, errors.New("down")
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			b.refresh(ctx, fetch, slog.New(slog.DiscardHandler))
		}()
		time.Sleep(72 * time.Hour)
		if got := b.urls("com"); len(got) != 1 {
			t.Errorf("after failures: got %q, want the last good copy", got)
		}
		cancel()
		<-done
		for i, want := range []time.Duration{24 * time.Hour, time.Minute, 2 * time.Minute, 4 * time.Minute, 24 * time.Hour, time.Minute} {
			got := at[i+1] - at[i]
			if got < want*9/10 || got > want*11/10 {
				t.Errorf("wait %d: got %s, want %s and a tenth either way", i, got, want)
			}
		}
		last := at[len(at)-1] - at[len(at)-2]
		if last < retryMax*9/10 || last > retryMax*11/10 {
			t.Errorf("the last wait: got %s, want %s", last, retryMax)
		}
	})
}

type noTable struct{}

func (noTable) Delegated() []string  { return []string{"com"} }
func (noTable) RDAP(string) []string { return []string{"https://built-in.example/"} }
func (noTable) WHOIS(string) string  { return "" }
func (noTable) ASCIIOnly() []string  { return nil }

// TestBootstrapInForce shows that a refreshed entry replaces the built-in one, and that neither a page of HTML nor
// an endless body does.
func TestBootstrapInForce(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"/good": "iana", "/html": "built-in", "/endless": "built-in", "/503": "built-in"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/good/":
					_, _ = w.Write([]byte(`{"services":[[["com"],["https://new.example/"]]]}`))
				case "/html/":
					_, _ = w.Write([]byte(`<html>`))
				case "/503/":
					w.WriteHeader(503)
				default:
					for {
						if _, err := w.Write([]byte(strings.Repeat(" ", 1<<16))); err != nil {
							return
						}
					}
				}
			}))
			t.Cleanup(srv.Close)
			served := make(chan string, 8)
			log := slog.New(slog.NewTextHandler(writer(served), nil))
			s, err := New(Config{
				Suffixes: noTable{}, BootstrapURL: srv.URL + path + "/", Logger: log,
				Registry: Registry{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			line := <-served
			if got := s.Servers(fqdn.MustParse("com")); got.RDAPSource != want {
				t.Errorf("got %+v, want the source %s; log: %s", got, want, line)
			}
		})
	}
}

// writer sends each line written to the channel.
type writer chan string

func (w writer) Write(p []byte) (int, error) {
	w <- string(p)
	return len(p), nil
}

// TestShielded shows that a panic while a reply is read becomes an unknown finding.
func TestShielded(t *testing.T) {
	t.Parallel()
	s, err := New(Config{Suffixes: noTable{}, BootstrapURL: BootstrapOff})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if f := s.shielded(func() finding { panic("a mistake") }); f.status != Unknown || f.reason == "" {
		t.Errorf("got %+v, want unknown with a reason", f)
	}
}
