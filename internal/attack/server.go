package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// build compiles the public API into dir and returns the path of the program.
func build(ctx context.Context, dir string) (string, error) {
	program := filepath.Join(dir, "publicapi")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", program, "github.com/namewharf/namewharf/cmd/publicapi")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return program, nil
}

// A server is a process of the program on a loopback port, with the demo's data.
type server struct {
	url  string // http://127.0.0.1:PORT
	addr string // 127.0.0.1:PORT
	cmd  *exec.Cmd
	log  *os.File

	reading sync.WaitGroup
	mu      sync.Mutex
	output  strings.Builder
}

// printed returns the word after another one in the start-up message: after "key" the key of the demo's partner, after
// "e-mail" and "password" those of the demo's account. It waits for the word until ctx ends.
func (s *server) printed(ctx context.Context, before string) (string, error) {
	for {
		s.mu.Lock()
		words := strings.Fields(s.output.String())
		s.mu.Unlock()
		if at := slices.Index(words, before); at >= 0 && at+1 < len(words) {
			return words[at+1], nil
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return "", fmt.Errorf("the server has not printed its %s", before)
		}
	}
}

// start runs the program until stop. Its log goes to a file in dir.
func start(ctx context.Context, program, dir string, flags []string) (*server, error) {
	args := append([]string{"-demo", "-addr", "127.0.0.1:0", "-data", filepath.Join(dir, "data")}, flags...)
	s := &server{cmd: exec.CommandContext(ctx, program, args...)}
	var err error
	if s.log, err = os.Create(filepath.Join(dir, "log")); err != nil {
		return nil, err
	}
	s.cmd.Stderr = s.log
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(stdout)
	ok := lines.Scan()
	if ok {
		s.url, ok = strings.CutPrefix(lines.Text(), "listening on ")
	}
	if !ok {
		s.stop()
		return nil, fmt.Errorf("the first line of %s is %q, want listening on http://HOST:PORT; its log: %s", program, lines.Text(), s.logged())
	}
	s.addr = strings.TrimPrefix(s.url, "http://")
	s.reading.Go(func() {
		for lines.Scan() {
			s.mu.Lock()
			s.output.WriteString(lines.Text() + "\n")
			s.mu.Unlock()
		}
	})
	return s, nil
}

// stop ends the process.
func (s *server) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	_ = s.cmd.Wait()
	s.reading.Wait()
	_ = s.log.Close()
}

// logged returns the end of the log of the process.
func (s *server) logged() string {
	text, err := os.ReadFile(s.log.Name())
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-2000):])
}

// memory returns the resident set size of the process in bytes.
func (s *server) memory() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(text) {
		if size, ok := bytes.CutPrefix(line, []byte("VmRSS:")); ok {
			kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(string(size)), "kB")), 10, 64)
			return kb << 10, err
		}
	}
	return 0, errors.New("the status of the process names no VmRSS")
}

// peak returns the maximum memory until ctx ends.
func (s *server) peak(ctx context.Context) (highest int64) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if now, err := s.memory(); err == nil {
			highest = max(highest, now)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return highest
		}
	}
}

// dial connects to the server from one of the addresses 127.1.0.0 to 127.1.255.255, each a client of its own to the server.
func (s *server) dial(ctx context.Context, from uint16) (net.Conn, error) {
	source := netip.AddrFrom4([4]byte{127, 1, byte(from >> 8), byte(from)})
	d := net.Dialer{Timeout: 5 * time.Second, LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(source, 0))}
	return d.DialContext(ctx, "tcp", s.addr)
}

// An honest client sends its own requests during an attack, each on a new connection.
type honest struct {
	server    *server
	client    *http.Client
	latencies []time.Duration
	failed    int
}

// honestInterval is the time between requests of the honest client, which stays below the rate limit of one address.
const honestInterval = 250 * time.Millisecond

func newHonest(s *server) *honest {
	return &honest{server: s, client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}}
}

// work sends requests until ctx ends.
func (h *honest) work(ctx context.Context) {
	tick := time.NewTicker(honestInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			h.ask(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// ask sends a search of the market, which has a higher rate limit than look-ups.
func (h *honest) ask(ctx context.Context) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.server.url+"/mcp", strings.NewReader(searchRequest))
	if err != nil {
		panic(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	begun := time.Now()
	resp, err := h.client.Do(r)
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	switch {
	case ctx.Err() != nil: // the end of the attack
	case err != nil || resp.StatusCode != http.StatusOK:
		h.failed++
	default:
		h.latencies = append(h.latencies, time.Since(begun))
	}
}

const searchRequest = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"market_listings","arguments":{"q":"coffee"}}}`
