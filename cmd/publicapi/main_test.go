package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/namewharf/namewharf/internal/demoregistry"
	"github.com/namewharf/namewharf/internal/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m, main) }

// A site is the program on a loopback port, over a registry that the test can inspect.
type site struct {
	url      string
	data     string // directory of its store
	file     string // its -registry file
	registry *demoregistry.Registry
	log      *log
	said     *log // standard output
	client   *http.Client
}

// clock is what the registry takes for the time, so that what it says is the same at every moment of a test.
func clock() time.Time { return time.Now().UTC().Truncate(24 * time.Hour) }

// open runs the program with the sample listings in this process until the end of the test.
func open(t testing.TB, args ...string) *site {
	t.Helper()
	reg := newRegistry(t)
	return openOn(t, reg, reg.File(), args...)
}

func newRegistry(t testing.TB) *demoregistry.Registry {
	t.Helper()
	reg, err := demoregistry.Start(demoregistry.Config{Now: clock, Count: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reg.Close() })
	return reg
}

// openOn is open with a -registry file that need not name all that the registry has.
func openOn(t testing.TB, reg *demoregistry.Registry, file []byte, args ...string) *site {
	t.Helper()
	s := &site{data: t.TempDir(), registry: reg, log: &log{}, said: &log{}, client: newClient()}
	s.file = filepath.Join(s.data, "registry.json")
	if err := os.WriteFile(s.file, file, 0o600); err != nil {
		t.Fatal(err)
	}
	return s.start(t, append([]string{"-registry", s.file}, args...)...)
}

// openDemo runs the program as make run does, with a registry of its own and a partner.
func openDemo(t testing.TB, args ...string) *site {
	t.Helper()
	s := &site{data: t.TempDir(), log: &log{}, said: &log{}, client: newClient()}
	return s.start(t, args...)
}

func newClient() *http.Client {
	return &http.Client{Transport: &http.Transport{}, Timeout: 20 * time.Second}
}

// start runs the program and waits for its first line.
func (s *site) start(t testing.TB, args ...string) *site {
	t.Helper()
	args = append([]string{"-addr", "127.0.0.1:0", "-demo", "-data", s.data}, args...)
	ctx, stop := context.WithCancel(context.Background())
	out, stdout := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, args, func(string) (string, bool) { return "", false }, stdout, s.log)
		_ = stdout.CloseWithError(io.EOF)
		ended <- err
	}()
	t.Cleanup(func() {
		s.client.CloseIdleConnections()
		stop()
		if err := <-ended; err != nil {
			t.Errorf("run(%q): %v", args, err)
		}
	})
	lines := bufio.NewReader(io.TeeReader(out, s.said))
	first, err := lines.ReadString('\n')
	if err != nil {
		t.Fatalf("run(%q) said %q: %v", args, first, err)
	}
	var ok bool
	if s.url, ok = strings.CutPrefix(strings.TrimSpace(first), "listening on "); !ok {
		t.Fatalf("the first line is %q", first)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }() // until stdout is closed
	return s
}

// A reply is what came back over HTTP.
type reply struct {
	*http.Response
	text string
}

// do sends a request. Headers are pairs; Host is one of them.
func (s *site) do(t testing.TB, method, path, body string, headers ...string) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return s.send(t, r, headers...)
}

func (s *site) send(t testing.TB, r *http.Request, headers ...string) reply {
	t.Helper()
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Content-Type" {
			r.Header.Del("Content-Type")
		}
		r.Header.Add(headers[i], headers[i+1])
	}
	resp, err := s.client.Do(r)
	if err != nil {
		t.Fatalf("%s %s: %v", r.Method, r.URL.Path, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: reading the answer: %v", r.Method, r.URL.Path, err)
	}
	return reply{resp, string(text)}
}

// problem is the error of an answer.
type problem struct {
	Code      string `json:"code"`
	Message   string `json:"message"`
	RequestID string `json:"request_id"`
	Details   []struct{ Field, Reason string }
}

func (r reply) problem(t testing.TB) problem {
	t.Helper()
	var body struct{ Error problem }
	if err := json.Unmarshal([]byte(r.text), &body); err != nil || body.Error.Code == "" || body.Error.Message == "" || body.Error.RequestID == "" {
		t.Errorf("%d %q is not an error body: %v", r.StatusCode, r.text, err)
	}
	return body.Error
}

// as decodes the body of an answer of status 200.
func as[T any](t testing.TB, r reply) (v T) {
	t.Helper()
	if r.StatusCode != http.StatusOK {
		t.Fatalf("got %d %s, want 200", r.StatusCode, r.text)
	}
	if err := json.Unmarshal([]byte(r.text), &v); err != nil {
		t.Fatalf("%s: %v", r.text, err)
	}
	return v
}

// The protocol eras of MCP.
const (
	modern = "2026-07-28"
	legacy = "2025-11-25"
)

// message is a tools/call in an era. The arguments are JSON.
func message(era, tool, arguments string) string {
	params := map[string]any{"name": tool, "arguments": json.RawMessage(arguments)}
	if era == modern {
		params["_meta"] = map[string]any{
			"io.modelcontextprotocol/protocolVersion":    modern,
			"io.modelcontextprotocol/clientCapabilities": map[string]any{},
		}
	}
	raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// mcp posts a message as a client of the era would.
func (s *site) mcp(t testing.TB, path, era, tool, text string, headers ...string) reply {
	t.Helper()
	headers = append([]string{"Accept", "application/json, text/event-stream", "Mcp-Protocol-Version", era}, headers...)
	if era == modern {
		headers = append(headers, "Mcp-Method", "tools/call", "Mcp-Name", tool)
	}
	return s.do(t, http.MethodPost, path, text, headers...)
}

// A toolMessage is what answers a tools/call.
type toolMessage struct {
	Result struct {
		Content           []struct{ Type, Text string }
		StructuredContent json.RawMessage
		IsError           bool
	}
	Error *struct {
		Code    int
		Message string
		Data    problem
	}
}

// A log collects what the program writes to standard error.
type log struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// reset forgets what was logged.
func (l *log) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b.Reset()
}
