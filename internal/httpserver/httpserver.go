// Package httpserver runs the HTTP server of a program: its flags, listeners, rate and connection limits, metrics, traces and
// graceful shutdown.
package httpserver

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/namewharf/namewharf/internal/settings"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/serve/middleware"
)

// Settings are the flags of the HTTP server. Define them by [Flags].
type Settings struct {
	Addr           string
	BaseURL        string
	TrustedProxies settings.List
	RateLimits     *settings.Choice
	MetricsAddr    string
	Log            *settings.Choice

	bodyBytes     *settings.Size // of request bodies in memory
	uploadRate    *settings.Size // per second
	connections   count          // of one client address
	flag          string         // the name of the flag for Addr
	main, metrics net.Listener
}

// Flags defines the flag of that name for the listen address, with its default, and the other flags of the HTTP server.
func Flags(fs *flag.FlagSet, name, addr, usage string) *Settings {
	s := &Settings{flag: "-" + name}
	fs.StringVar(&s.Addr, name, addr, usage)
	fs.StringVar(&s.BaseURL, "base-url", "", "public `URL`, the prefix of every link; https unless loopback (default from the address)")
	fs.Var(&s.TrustedProxies, "trusted-proxies", "`CIDRs` of proxies whose X-Forwarded-For counts, separated by commas, or none; required with an https base URL and a loopback address")
	s.RateLimits = settings.OneOf(fs, "rate-limits", "on, or off with a loopback address", "on", "off")
	s.bodyBytes = settings.SizeOf(fs, "max-body-bytes-in-flight", middleware.DefaultBodyBytes, middleware.MinBodyBytes, "`size` of all request bodies in memory together, such as 64MiB")
	s.uploadRate = settings.SizeOf(fs, "min-upload-rate", middleware.DefaultUploadRate, 1, "`size` that a client must send each second of a request body, after 5 s")
	s.connections = count{n: maxConnections}
	fs.Var(&s.connections, "max-conns-per-addr", "`connections` of one client address, or requests of one behind a trusted proxy")
	fs.StringVar(&s.MetricsAddr, "metrics-addr", "", "`host:port` for Prometheus metrics (default off)")
	s.Log = settings.OneOf(fs, "log", "text or json, on standard error", "text", "json")
	return s
}

// Logger writes to w in the form that -log asks for.
func (s *Settings) Logger(w io.Writer) *slog.Logger {
	if s.Log.Value == "json" {
		return slog.New(slog.NewJSONHandler(w, nil))
	}
	return slog.New(slog.NewTextHandler(w, nil))
}

// Loopback reports whether the address can only be reached from this machine.
func Loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// Listen opens the listeners and completes the base URL. It refuses unsafe settings: no rate limits or no base URL on an
// address that is not loopback, a base URL without TLS on such a host, and a proxy in front that is not in TrustedProxies,
// since all its clients would share one limit. [Settings.Serve] closes the listeners; if it is never called, call
// [Settings.Close].
func (s *Settings) Listen() error {
	if s.RateLimits.Value == "off" && !Loopback(s.Addr) {
		return fmt.Errorf("-rate-limits off needs a loopback %s such as 127.0.0.1:8080", s.flag)
	}
	if s.BaseURL == "" && !Loopback(s.Addr) {
		return fmt.Errorf("-base-url is required where %s is not a loopback address, e.g. https://names.example", s.flag)
	}
	if s.BaseURL != "" {
		if err := checkBaseURL(s.BaseURL); err != nil {
			return fmt.Errorf("-base-url %w", err)
		}
		s.BaseURL = strings.TrimSuffix(s.BaseURL, "/")
	}
	if _, err := s.Proxies(); err != nil {
		return err
	}
	if len(s.TrustedProxies) == 0 && strings.HasPrefix(s.BaseURL, "https://") && Loopback(s.Addr) {
		return fmt.Errorf("an https -base-url and a loopback %s mean a proxy in front, and all clients would share its limits: "+
			"name it, such as -trusted-proxies 127.0.0.1/32, or say -trusted-proxies none", s.flag)
	}
	var err error
	if s.main, err = net.Listen("tcp", s.Addr); err != nil {
		return fmt.Errorf("%s: %w", s.flag, err)
	}
	if s.MetricsAddr != "" {
		if s.metrics, err = net.Listen("tcp", s.MetricsAddr); err != nil {
			s.Close()
			return fmt.Errorf("-metrics-addr: %w", err)
		}
	}
	if s.BaseURL == "" {
		s.BaseURL = "http://" + s.main.Addr().String()
	}
	return nil
}

// Close closes the listeners. It may be called more than once.
func (s *Settings) Close() {
	for _, l := range []net.Listener{s.main, s.metrics} {
		if l != nil {
			_ = l.Close()
		}
	}
}

func checkBaseURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return errors.New("must be an http or https URL such as https://names.example")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "":
		return errors.New("must have no path, query, fragment or user: it is the root of the service")
	case u.Scheme == "http" && !Loopback(net.JoinHostPort(u.Hostname(), "80")):
		return errors.New("must be https, because tokens travel over it; http is for loopback hosts")
	}
	return nil
}

// noProxies is the value of -trusted-proxies if clients connect directly.
const noProxies = "none"

// Proxies returns the networks of -trusted-proxies.
func (s *Settings) Proxies() ([]netip.Prefix, error) {
	var prefixes []netip.Prefix
	for _, text := range s.TrustedProxies {
		if text == noProxies {
			if len(s.TrustedProxies) > 1 {
				return nil, errors.New("-trusted-proxies: none must be the only value")
			}
			return nil, nil
		}
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("-trusted-proxies: not a CIDR such as 10.0.0.0/8: %w", err)
		}
		prefixes = append(prefixes, p)
	}
	return prefixes, nil
}

// Requests a minute of one client.
const (
	anonymousLookups = 60
	signedInLookups  = 300
	anonymousReads   = 300
	signedInReads    = 1500
	pages            = 300
	unsigned         = 120 // requests to the partner API without a valid signature
)

// Limits returns the quotas of the public API, or nil with -rate-limits off.
func (s *Settings) Limits(now func() time.Time) *middleware.Limits {
	if s.RateLimits.Value == "off" {
		return nil
	}
	return middleware.NewLimits(map[op.Class]middleware.Quota{
		op.Lookup:   {Anonymous: anonymousLookups, SignedIn: signedInLookups},
		op.Read:     {Anonymous: anonymousReads, SignedIn: signedInReads},
		op.Page:     {Anonymous: pages, SignedIn: pages},
		op.Unsigned: {Anonymous: unsigned, SignedIn: unsigned}, // SignedIn is not used
	}, now)
}

// Bodies returns the memory budget of request bodies.
func (s *Settings) Bodies() *middleware.Bodies {
	return middleware.NewBodies(middleware.BodyConfig{Bytes: s.bodyBytes.Bytes, Rate: s.uploadRate.Bytes})
}

// PerAddress returns the limit of connections of one client address, or of its requests in progress behind a trusted proxy.
// 0 is no limit: with -rate-limits off, unless -max-conns-per-addr is given too.
func (s *Settings) PerAddress() int {
	if s.RateLimits.Value == "off" && !s.connections.given {
		return 0
	}
	return s.connections.n
}

// Limits of a connection.
const (
	headerTime     = 5 * time.Second
	readTime       = 30 * time.Second // of a request whose body the handler does not read
	writeTime      = 60 * time.Second // of a response; a stream of look-ups lasts seconds
	idleTime       = 2 * time.Minute
	maxHeaders     = 32 << 10
	ShutdownPeriod = 10 * time.Second // for requests in progress at shutdown
)

// Serve serves on the listeners of [Settings.Listen] until ctx ends, then waits up to [ShutdownPeriod] for requests in
// progress. When it is ready it writes "listening on URL" to stdout and calls onReady.
func (s *Settings) Serve(ctx context.Context, h, metrics http.Handler, log *slog.Logger, stdout io.Writer, onReady func()) error {
	proxies, err := s.Proxies()
	if err != nil {
		return err
	}
	public, main := newServer(h, log), s.main
	if most := s.PerAddress(); most > 0 {
		main = limitConns(main, public, most, proxies)
	}
	servers, listeners := []*http.Server{public}, []net.Listener{main}
	if s.metrics != nil {
		log.Info("metrics", "url", "http://"+s.metrics.Addr().String()+"/metrics")
		servers, listeners = append(servers, newServer(metrics, log)), append(listeners, s.metrics)
	}
	ended := make(chan error, len(servers))
	for i := range servers {
		go func() { ended <- servers[i].Serve(listeners[i]) }()
	}
	fmt.Fprintf(stdout, "listening on http://%s\n", s.main.Addr())
	onReady()
	running := len(servers)
	select {
	case <-ctx.Done():
	case err = <-ended:
		running--
	}
	finish, cancel := context.WithTimeout(context.WithoutCancel(ctx), ShutdownPeriod)
	defer cancel()
	for _, server := range servers {
		if shutErr := server.Shutdown(finish); shutErr != nil {
			log.Warn("requests were cut off at shutdown", "error", shutErr)
			server.Close()
		}
	}
	for range running {
		<-ended
	}
	return err
}

func newServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: headerTime, ReadTimeout: readTime, WriteTimeout: writeTime, IdleTimeout: idleTime,
		MaxHeaderBytes: maxHeaders, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}
