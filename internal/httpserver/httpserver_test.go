package httpserver_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/namewharf/namewharf/internal/httpserver"
	"github.com/namewharf/namewharf/internal/settings"
)

// newSettings parses flags as a program would.
func newSettings(t *testing.T, args ...string) *httpserver.Settings {
	t.Helper()
	fs := flag.NewFlagSet("test", flag.ContinueOnError)
	s := httpserver.Flags(fs, "addr", "127.0.0.1:0", "where")
	if _, err := settings.Parse(fs, args, func(string) (string, bool) { return "", false }, io.Discard); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestLoopback(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]bool{
		"127.0.0.1:8080": true, "127.9.9.9:0": true, "[::1]:8080": true, "localhost:0": true, "[::ffff:127.0.0.1]:1": true,
		":8080": false, "0.0.0.0:8080": false, "[::]:8080": false, "192.0.2.1:80": false, "localhost.example:80": false, "127.0.0.1": false, "": false,
	} {
		if got := httpserver.Loopback(addr); got != want {
			t.Errorf("Loopback(%q) = %t, want %t", addr, got, want)
		}
	}
}

func TestListenCompletesTheBaseURL(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ given, want string }{
		{"https://names.example", "https://names.example"},
		{"https://names.example/", "https://names.example"},
		{"https://names.example:8443", "https://names.example:8443"},
		{"http://localhost:3000", "http://localhost:3000"},
		{"http://[::1]:3000", "http://[::1]:3000"},
	} {
		s := newSettings(t, "-base-url", test.given, "-trusted-proxies", "none")
		if err := s.Listen(); err != nil || s.BaseURL != test.want {
			t.Errorf("-base-url %s: %q, %v; want %q", test.given, s.BaseURL, err, test.want)
		}
		s.Close()
	}
	s := newSettings(t)
	defer s.Close()
	if err := s.Listen(); err != nil || !strings.HasPrefix(s.BaseURL, "http://127.0.0.1:") || strings.HasSuffix(s.BaseURL, ":0") {
		t.Errorf("without -base-url: %q, %v", s.BaseURL, err)
	}
}

func TestListenRefuses(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"-base-url", "names.example"},
		{"-base-url", "ftp://names.example"},
		{"-base-url", "http://names.example"},
		{"-base-url", "http://127.0.0.1.example"},
		{"-base-url", "https://names.example/api"},
		{"-base-url", "https://names.example?x=1"},
		{"-base-url", "https://names.example#x"},
		{"-base-url", "https://me@names.example"},
		{"-base-url", "https://"},
		{"-addr", "0.0.0.0:0"},
		{"-addr", ":0", "-base-url", "https://names.example", "-rate-limits", "off"},
		{"-addr", "127.0.0.1:99999"},
		{"-trusted-proxies", "10.0.0.0"},
		{"-trusted-proxies", "none,127.0.0.1/32"},
		{"-base-url", "https://names.example"},
		{"-base-url", "https://names.example", "-addr", "[::1]:0"},
		{"-metrics-addr", "nowhere"},
	} {
		s := newSettings(t, args...)
		if err := s.Listen(); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: got %v, want one line", args, err)
		}
		s.Close()
	}
}

// lines is a writer that passes on each line.
type lines struct {
	mu    sync.Mutex
	b     bytes.Buffer
	first chan string
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.b.Len() == 0 {
		l.first <- string(p)
	}
	return l.b.Write(p)
}

func TestGracefulShutdown(t *testing.T) {
	t.Parallel()
	s := newSettings(t, "-metrics-addr", "127.0.0.1:0")
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	running, finish := make(chan struct{}), make(chan struct{})
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			close(running)
			<-finish
		}
		_, _ = io.WriteString(w, "answer")
	})
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "metrics") })
	var log bytes.Buffer
	out := &lines{first: make(chan string, 1)}
	ctx, stop := context.WithCancel(t.Context())
	ended, greeted := make(chan error, 1), make(chan struct{})
	go func() {
		ended <- s.Serve(ctx, api, metrics, slog.New(slog.NewTextHandler(&log, nil)), out, func() { close(greeted) })
	}()
	if first := <-out.first; first != "listening on "+s.BaseURL+"\n" {
		t.Errorf("the first line is %q, want listening on %s", first, s.BaseURL)
	}
	<-greeted
	_, after, _ := strings.Cut(log.String(), "url=")
	if body, err := fetch(t.Context(), strings.Fields(after)[0]); err != nil || body != "metrics" {
		t.Errorf("metrics: %q, %v", body, err)
	}
	answered := make(chan error, 1)
	go func() {
		body, err := fetch(t.Context(), s.BaseURL+"/slow")
		if body != "answer" {
			err = errors.Join(err, errors.New("the body is "+body))
		}
		answered <- err
	}()
	<-running
	stop()
	select {
	case err := <-ended:
		t.Errorf("Serve ended with %v while a request ran", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(finish)
	if err := <-answered; err != nil {
		t.Errorf("the request that ran: %v", err)
	}
	if err := <-ended; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if _, err := fetch(t.Context(), s.BaseURL); err == nil {
		t.Error("somebody still listens")
	}
}

func fetch(ctx context.Context, url string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	r.Close = true
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

func TestHeadersAreBounded(t *testing.T) {
	t.Parallel()
	s := newSettings(t)
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	ready := make(chan struct{})
	go func() {
		ended <- s.Serve(ctx, http.NotFoundHandler(), nil, slog.New(slog.DiscardHandler), io.Discard, func() { close(ready) })
	}()
	<-ready
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.BaseURL, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Long", strings.Repeat("a", 64<<10))
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("64 KiB of header: got %d, want 431", resp.StatusCode)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestLimitsAreOffOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	if newSettings(t).Limits(time.Now) == nil || newSettings(t, "-rate-limits", "off").Limits(time.Now) != nil {
		t.Error("limits must be on unless -rate-limits off")
	}
}
