package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/internal/demoregistry"
	"github.com/namewharf/namewharf/internal/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m, main) }

func write(t *testing.T, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// start runs the program with a home directory of its own.
func start(t *testing.T, env []string, args ...string) (p *programtest.Program, home string) {
	t.Helper()
	home = t.TempDir()
	return programtest.Start(t, append([]string{"HOME=" + home, "XDG_DATA_HOME=", "NAMEWHARF_BOOTSTRAP_URL=off"}, env...), args...), home
}

// message is a request of the protocol of 2025-11-25.
func message(method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
}

func call(tool, arguments string) string {
	return message("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments))
}

// ask sends a line and returns the line that answers it, which must be JSON-RPC.
func ask(t *testing.T, p *programtest.Program, line string) string {
	t.Helper()
	if _, err := fmt.Fprintln(p.Stdin, line); err != nil {
		t.Fatal(err)
	}
	if !p.Lines.Scan() {
		t.Fatalf("no answer to %s; standard error: %s", line, p.Stderr())
	}
	text := p.Lines.Text()
	if !json.Valid([]byte(text)) || !strings.HasPrefix(text, `{"jsonrpc":"2.0"`) {
		t.Fatalf("not a JSON-RPC message: %s", text)
	}
	return text
}

func TestStartIsRefusedInOneLine(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	file := write(t, "file", "")
	for _, test := range []struct {
		name string
		env  []string
		args []string
		want string // in the line
	}{
		{"a busy port", nil, []string{"-http", l.Addr().String()}, "-http: listen"},
		{"a file in place of the directory", nil, []string{"-data", file}, "is not writable"},
		{"an unknown flag", nil, []string{"-nosuch"}, "-nosuch"},
		{"an argument", nil, []string{"serve"}, "flags only"},
		{"a login without an API", nil, []string{"login"}, "login needs -backend"},
		{"a tool that is none", nil, []string{"-demo", "-tools", "search_domain,nosuch"}, `no tool "nosuch"`},
		{"every tool excluded", nil, []string{"-demo", "-tools", "search_domain", "-exclude-tools", "search_domain"}, "no tool is left"},
		{"a backend that is no URL", nil, []string{"-backend", "names.example"}, "-backend must be"},
		{"a backend beside a demo", nil, []string{"-backend", "http://127.0.0.1:1", "-demo"}, "leave -demo and -registry out"},
		{"a wrong registry file", nil, []string{"-registry", file}, "must be a JSON object"},
		{"the demo for everybody", nil, []string{"-demo", "-http", "0.0.0.0:0"}, "-demo needs a loopback address such as -http"},
		{"no limits for everybody", nil, []string{"-http", "0.0.0.0:0", "-rate-limits", "off"}, "loopback -http"},
		{"a proxy in front that is not told of", nil, []string{"-http", "127.0.0.1:0", "-base-url", "https://mcp.example"}, "a loopback -http mean a proxy in front"},
		{"a token that is not known", []string{"NAMEWHARF_TOKEN=secret"}, []string{"-demo"}, "NAMEWHARF_TOKEN"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			temp := t.TempDir()
			p, home := start(t, append(test.env, "TMPDIR="+temp), test.args...)
			_ = p.Stdin.Close()
			stdout, status := p.Wait()
			stderr := p.Stderr()
			if status != 2 || stdout != "" || !strings.HasPrefix(stderr, "mcp: ") || !strings.Contains(stderr, test.want) ||
				strings.Count(stderr, "\n") != 1 || strings.Contains(stderr, "secret") {
				t.Errorf("mcp %q: status %d, standard output %q, standard error\n%s\nwant status 2, nothing, and one line with %q", test.args, status, stdout, stderr, test.want)
			}
			for _, dir := range []string{temp, home} {
				if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
					t.Errorf("left in %s: %v, %v", dir, left, err)
				}
			}
		})
	}
}

// An assistant reads standard output, so that even the help goes elsewhere.
func TestHelp(t *testing.T) {
	t.Parallel()
	p, _ := start(t, nil, "-h")
	stdout, status := p.Wait()
	if status != 0 || stdout != "" {
		t.Errorf("-h: status %d, standard output %q", status, stdout)
	}
	for _, flag := range []string{"http", "backend", "tools", "exclude-tools", "read-only", "demo", "data", "db", "registry", "base-url", "log"} {
		if !strings.Contains(p.Stderr(), "\n  -"+flag) {
			t.Errorf("-h does not tell of -%s:\n%s", flag, p.Stderr())
		}
	}
}

func TestStdio(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	p, home := start(t, []string{"TMPDIR=" + temp}, "-demo", "-exclude-tools", "batch_lookup")
	answer := ask(t, p, message("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`))
	if !strings.Contains(answer, `"name":"namewharf"`) {
		t.Errorf("initialize: got %s", answer)
	}
	answer = ask(t, p, message("tools/list", `{}`))
	if !strings.Contains(answer, `"name":"search_domain"`) || strings.Contains(answer, `"name":"batch_lookup"`) {
		t.Errorf("tools/list: got %s", answer)
	}
	if answer = ask(t, p, call("search_domain", `{"q":"brewhaven.com","tlds":["com"]}`)); !strings.Contains(answer, `"text":"search for brewhaven, `) || !strings.Contains(answer, `"status":"registered"`) {
		t.Errorf("search_domain: got %s", answer)
	}
	if answer = ask(t, p, call("search_domain", `{"q":"a","require_real_prices":true}`)); !strings.Contains(answer, `mcp login -backend URL`) {
		t.Errorf("real prices: got %s", answer)
	}
	// A call that takes seconds, and then the end of input.
	if _, err := fmt.Fprintln(p.Stdin, call("whois_lookup", `{"domain":"fault-slow.broken.test"}`)); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	_ = p.Stdin.Close()
	rest, status := p.Wait()
	// A second, and what a machine that is busy with other tests may add to it.
	if took := time.Since(begun); status != 0 || took > 2*time.Second {
		t.Errorf("the end took %v, status %d; %s", took, status, p.Stderr())
	}
	for line := range strings.Lines(rest) {
		if !strings.HasPrefix(line, `{"jsonrpc":"2.0"`) {
			t.Errorf("not a JSON-RPC message: %q", line)
		}
	}
	for _, dir := range []string{temp, home} {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left in %s: %v, %v", dir, left, err)
		}
	}
}

// An assistant starts the program anywhere: its store is in the user's data directory.
func TestTheStoreIsTheUsers(t *testing.T) {
	t.Parallel()
	reg, err := demoregistry.Start(demoregistry.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reg.Close() })
	cmd := programtest.Command(t, []string{"XDG_DATA_HOME=" + t.TempDir()}, "-registry", write(t, "registry.json", string(reg.File())))
	p := programtest.StartCommand(t, cmd)
	if answer := ask(t, p, call("whois_lookup", `{"domain":"cobaltpine.com"}`)); !strings.Contains(answer, `"text":"cobaltpine.com: registered`) {
		t.Errorf("whois_lookup: got %s", answer)
	}
	p.Terminate()
	if _, status := p.Wait(); status != 0 {
		t.Errorf("SIGTERM: status %d, want 0; %s", status, p.Stderr())
	}
	if left, err := os.ReadDir(cmd.Dir); err != nil || len(left) > 0 {
		t.Errorf("left in the working directory: %v, %v", left, err)
	}
	for _, v := range cmd.Env {
		if home, ok := strings.CutPrefix(v, "XDG_DATA_HOME="); ok && home != "" {
			if info, err := os.Stat(filepath.Join(home, "namewharf")); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("the directory of the store: %v, %v; want mode 0700", info, err)
			}
		}
	}
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	p, _ := start(t, nil, "-demo", "-http", "127.0.0.1:0", "-log", "json", "-metrics-addr", "127.0.0.1:0")
	base := p.Listening()
	post := func(path, body string, headers ...string) (*http.Response, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), "POST", base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Close = true
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp, string(text)
	}
	search := call("search_domain", `{"q":"quietmeadow.com","tlds":["com"]}`)
	if resp, text := post("/mcp", search); resp.StatusCode != 200 || !strings.Contains(text, `"status":"available"`) || resp.Header.Get("RateLimit") == "" {
		t.Errorf("search_domain: got %d %s", resp.StatusCode, text)
	}
	if resp, text := post("/mcp", search, "Origin", "https://evil.example"); resp.StatusCode != 403 {
		t.Errorf("a foreign page: got %d %s, want 403", resp.StatusCode, text)
	}
	if resp, text := post("/mcp", search, "Authorization", "Bearer nope"); resp.StatusCode != 401 || !strings.Contains(resp.Header.Get("WWW-Authenticate"), `error="invalid_token"`) {
		t.Errorf("a bad token: got %d %s, want 401 with a challenge", resp.StatusCode, text)
	}
	if resp, text := post("/mcp/signed-in", search); resp.StatusCode != 401 || !strings.Contains(resp.Header.Get("WWW-Authenticate"), "/.well-known/oauth-protected-resource/mcp/signed-in") {
		t.Errorf("signed in: got %d %q %s, want 401 with a challenge", resp.StatusCode, resp.Header.Get("WWW-Authenticate"), text)
	}
	p.Terminate()
	if _, status := p.Wait(); status != 0 {
		t.Errorf("SIGTERM: status %d, want 0", status)
	}
	for line := range strings.Lines(p.Stderr()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not a line of a JSON log: %s", line)
		}
	}
}

// The token belongs to the user who starts the program: with -http every client would act with it.
func TestTheTokenSpeaksForWhoIsOnStdio(t *testing.T) {
	t.Parallel()
	sent := make(chan string, 1)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent <- r.Header.Get("Authorization")
		_, _ = io.WriteString(w, `{"tld":"com"}`)
	}))
	t.Cleanup(api.Close)
	env := []string{"NAMEWHARF_TOKEN=tok"}
	ofPrice := call("tld_registration_price", `{"tld":"com"}`)
	stdio, _ := start(t, env, "-backend", api.URL)
	if answer := ask(t, stdio, ofPrice); !strings.Contains(answer, `"structuredContent":{"tld":"com"}`) {
		t.Errorf("stdio: got %s", answer)
	}
	if got := <-sent; got != "Bearer tok" {
		t.Errorf("stdio sends %q, want the token", got)
	}
	served, _ := start(t, env, "-backend", api.URL, "-http", "127.0.0.1:0")
	resp, err := http.Post(served.Listening()+"/mcp", "application/json", strings.NewReader(ofPrice))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if got := <-sent; got != "" || resp.StatusCode != 200 {
		t.Errorf("HTTP: %d, sends %q, want no token", resp.StatusCode, got)
	}
}

func TestBackendThatIsGone(t *testing.T) {
	t.Parallel()
	p, _ := start(t, nil, "-backend", "http://127.0.0.1:1")
	answer := ask(t, p, call("search_domain", `{"q":"hush-hush.com"}`))
	if !strings.Contains(answer, `"isError":true`) || !strings.Contains(answer, "code: unavailable") || !strings.Contains(answer, "-backend") || strings.Contains(answer, "hush") {
		t.Errorf("got %s, want a failure that says what to check", answer)
	}
}

// Where sign-in is not served, the answer names the address that serves it. It used to lead from
// "set NAMEWHARF_TOKEN" to "-issuer is required".
func TestTheWayToSignIn(t *testing.T) {
	t.Parallel()
	_, stderr, status := programtest.Run(t, []string{"NAMEWHARF_TOKEN=tok"}, "-demo")
	if status != 2 || !strings.Contains(stderr, "-backend") || !strings.Contains(stderr, "mcp login -backend URL") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("a token alone: status %d, %s", status, stderr)
	}
	p, _ := start(t, nil, "-demo")
	if answer := ask(t, p, call("search_domain", `{"q":"a","require_real_prices":true}`)); !strings.Contains(answer, "mcp login -backend URL") || strings.Contains(answer, "NAMEWHARF_TOKEN") {
		t.Errorf("real prices on stdio: %s", answer)
	}
	_ = p.Stdin.Close()
	if stdout, _ := p.Wait(); stdout != "" {
		t.Errorf("standard output holds more than the protocol: %s", stdout)
	}
	if said := p.Stderr(); !strings.Contains(said, "standard input and output") || !strings.Contains(said, "mcp login -backend URL") || !strings.Contains(said, "store") {
		t.Errorf("the summary: %s", said)
	}
}
