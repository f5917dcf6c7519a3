package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	browserlog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/namewharf/namewharf/internal/app"
	"github.com/namewharf/namewharf/serve/mcp"
	view "github.com/namewharf/namewharf/serve/mcp/app"
	"github.com/namewharf/namewharf/serve/middleware"
	"github.com/namewharf/namewharf/tools"
)

var pictures = flag.Bool("pictures", false, "take the pictures of the page of names in docs/screenshots again")

// hostileAnswer has markup, control and bidirectional characters in every text.
const hostileAnswer = `{"content":[{"type":"text","text":"x"}],"structuredContent":{"query":"<img src=x onerror=parent.pwned=1>","label":"\"><script>parent.pwned=2</script>",
"results":[{"domain":"<b>evil</b>.com","unicode":"\u202emoc.live\u202c","tld":"com","kind":"exact","status":"<svg onload=parent.pwned=3>","confidence":"none","reason":"<a href='javascript:parent.pwned=4'>why\u0007\u2066</a>","evidence":[],
"registration":{"priceCents":"<i>1</i>","currency":"<b>","term_years":1},"listing":{"price":{"masked":true,"display":"<img src=x onerror=parent.pwned=5>","currency":"USD"}},"retry_after_s":"<b>9</b>"},
{"domain":"__proto__","status":"__proto__","listing":{"price":{"masked":false,"priceCents":100,"currency":"no such"}}},
null,7,{"domain":7},{"domain":"last.com","status":"available","reason":"` + "LONG" + `"}],"prices_masked":true,"page":{"next_cursor":{"a":1}}}}`

// productServer serves the product's tools, the reference host, and the packages that it imports.
func productServer(t *testing.T, modules string) *httptest.Server {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	b, err := app.Open(t.Context(), app.Config{Demo: true, Logger: log, Now: time.Now}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	s := httptest.NewUnstartedServer(nil)
	own := "http://" + s.Listener.Addr().String()
	set := tools.New(tools.Config{Lookup: b.Lookup, Market: b.Market, Table: b.Table, Prices: b.Prices, Secret: b.Secret, Now: time.Now})
	server, err := mcp.New(mcp.Config{
		Set: set, Resources: tools.NewReference(set, b.Table), Version: "1", Logger: log, Apps: []mcp.App{view.Names()},
		Middleware: middleware.New(middleware.Config{BaseURL: own, Tokens: middleware.NoTokens, Logger: log}),
	})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", server.Handler(own+"/mcp", false))
	files := http.StripPrefix("/modules/", http.FileServer(http.Dir(modules)))
	mux.HandleFunc("/modules/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/javascript") // the table of the system may lack .mjs
		files.ServeHTTP(w, r)
	})
	mux.HandleFunc("/hostile.json", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(strings.Replace(hostileAnswer, "LONG", strings.Repeat("long ", 2000), 1)))
	})
	mux.HandleFunc("/error.json", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"isError":true,"content":[{"type":"text","text":"q is required: a label\ncode: validation_error"}]}`))
	})
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, "testdata/host.html") })
	s.Config.Handler = mux
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// referenceHost installs the npm packages where they are missing.
func referenceHost(t *testing.T) (modules string) {
	t.Helper()
	for _, program := range []string{"chromium", "npm"} {
		if _, err := exec.LookPath(program); err != nil || testing.Short() {
			if os.Getenv("CI") != "" && !testing.Short() {
				t.Fatalf("there is no %s", program)
			}
			t.Skip("needs " + program)
		}
	}
	if out, err := exec.Command("./node", "--setup").CombinedOutput(); err != nil {
		t.Fatalf("node --setup: %v\n%s", err, out)
	}
	return "node_modules"
}

// A hostWindow is a browser with the reference host.
type hostWindow struct {
	*testing.T
	ctx context.Context
	url string

	mu                   sync.Mutex
	requests, complaints []string
}

func newHostWindow(t *testing.T, url string) *hostWindow {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.UserDataDir(t.TempDir()))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	w := &hostWindow{T: t, ctx: ctx, url: url}
	err := chromedp.Listen(ctx, func(event any) {
		w.mu.Lock()
		defer w.mu.Unlock()
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			w.requests = append(w.requests, e.Request.URL)
		case *browserlog.EventEntryAdded:
			w.complaints = append(w.complaints, e.Entry.Text+" "+e.Entry.URL)
		case *runtime.EventExceptionThrown:
			w.complaints = append(w.complaints, e.ExceptionDetails.Text)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// eval returns what an expression of the host's page gives; doc is the document of the app.
func (w *hostWindow) eval(expression string) string {
	w.Helper()
	text, err := chromedp.Run(w.ctx, chromedp.Evaluate[string]("(() => { const doc = document.querySelector('iframe')?.contentDocument; return String("+expression+") })()"))
	if err != nil {
		w.Fatalf("%s: %v", expression, err)
	}
	return text
}

// until waits for an expression to be true.
func (w *hostWindow) until(expression string) {
	w.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if w.eval(expression) == "true" {
			return
		}
	}
	w.Fatalf("%s is not so: host %s, page\n%s", expression, w.eval("JSON.stringify(window.log)"), w.eval("doc?.body.innerText"))
}

// call has the host call a tool and show its answer.
func (w *hostWindow) call(tool, args string, more ...string) {
	w.Helper()
	query := url.Values{"tool": {tool}, "args": {args}}
	for i := 0; i < len(more); i += 2 {
		query.Set(more[i], more[i+1])
	}
	if err := chromedp.Do(w.ctx, chromedp.EmulateViewport(860, 640), chromedp.Navigate(w.url+"/?"+query.Encode())); err != nil {
		w.Fatal(err)
	}
	w.until("window.log.some((l) => l === 'answered' || l.startsWith('failed'))")
	if log := w.eval("JSON.stringify(window.log)"); log != `["page text/html;profile=mcp-app","initialized","answered"]` {
		w.Fatalf("%s: the host says %s", tool, log)
	}
	w.until("doc.getElementById('cards').children.length > 0 || !doc.getElementById('notice').textContent.startsWith('Waiting')")
}

// The page of names works in the reference host of MCP Apps, from the resource that the product serves.
func TestNamesInTheReferenceHost(t *testing.T) {
	modules := referenceHost(t)
	s := productServer(t, modules)
	w := newHostWindow(t, s.URL)
	count := func(want int) {
		t.Helper()
		w.until(fmt.Sprintf("doc.getElementById('cards').children.length === %d", want))
	}
	shown := func(parts ...string) {
		t.Helper()
		text := w.eval("doc.body.innerText")
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("the page lacks %q:\n%s", part, text)
			}
		}
	}

	w.call("search_domain", `{"q":"brewhaven.com"}`)
	count(12)
	shown("Names for “brewhaven.com”", "brewhaven.com", "Taken", "For sale: $•••", "Register: $", "a year", "Prices of names for sale are masked", "All (12)")
	w.picture("names-light")
	w.eval("[...doc.querySelectorAll('#filters button')].find((b) => b.textContent.startsWith('For sale')).click()")
	w.until("[...doc.querySelectorAll('#cards li')].every((l) => l.innerText.includes('For sale'))")
	w.eval("(doc.getElementById('tld').value = '.de', doc.querySelector('#more button').click())")
	count(13)
	shown("brewhaven.de")
	w.eval("(doc.getElementById('tld').value = 'no such', doc.querySelector('#more button').click())")
	w.until("doc.body.innerText.includes('Not a name')")

	w.call("check_domains", `{"domains":["cobaltpine.com","bücher.com","bad name"]}`, "theme", "dark")
	count(3)
	shown("xn--bcher-kva.com", "bücher.com", "the name holds a space")
	w.call("market_listings", `{"limit":5}`, "theme", "dark")
	count(5)
	w.eval("doc.getElementById('next').click()")
	count(10)
	shown("Names for sale", "For sale: $•••")
	w.call("search_domain", `{"q":"coffee shop"}`, "theme", "dark")
	if ground := w.eval("getComputedStyle(doc.body).backgroundColor"); ground != "rgb(28, 31, 34)" {
		t.Errorf("the ground of the dark page is %s", ground)
	}
	w.picture("names-dark")
	w.eval("window.bridge.setHostContext({theme: 'light', styles: {variables: {'--color-background-primary': 'rgb(250, 240, 230)'}}})")
	w.until("getComputedStyle(doc.body).backgroundColor === 'rgb(250, 240, 230)'")

	w.call("search_domain", `{"q":"brewhaven.com"}`, "without", "tools") // a host that lets pages call no tools
	if w.eval("doc.getElementById('more').hidden") != "true" {
		t.Error("the form is shown where the host calls no tools")
	}
	w.call("search_domain", `{}`, "fixture", "/error.json")
	shown("q is required: a label")

	w.call("search_domain", `{"q":"x"}`, "fixture", "/hostile.json")
	count(3)
	shown("<b>evil</b>.com", "For sale: <img src=x onerror=p…", "__proto__", "last.com")
	if n := w.eval("doc.querySelectorAll('main img, main b, main i, main svg, main a, main script').length + ' ' + (window.pwned ?? 'safe')"); n != "0 safe" {
		t.Errorf("markup of an answer came into the page: %s", n)
	}
	if odd := w.eval(`/[\u202a-\u202e\u2066-\u2069\u0007]/.test(doc.body.textContent.replace(doc.querySelector('script').textContent, ''))`); odd != "false" {
		t.Error("the page shows characters that control or turn text around")
	}
	// What the page's own policy refuses even in a host that allows it, as this one does.
	if blocked := w.eval(`(() => { const s = doc.createElement('script'); s.textContent = 'parent.pwned = 6'; doc.body.append(s); return window.pwned })()`); blocked != "undefined" {
		t.Error("the policy of the page lets another script run")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, url := range w.requests {
		if !strings.HasPrefix(url, s.URL+"/") && !strings.HasPrefix(url, "data:") && !strings.HasPrefix(url, "about:") {
			t.Errorf("asks another machine: %s", url)
		}
	}
	for _, complaint := range w.complaints {
		switch {
		case strings.Contains(complaint, "can escape its sandboxing"): // so that the test can look into the page
		case strings.Contains(complaint, "405 (Method Not Allowed)"): // GET /mcp, which clients of both eras try
		case strings.Contains(complaint, "Content Security Policy") && strings.Contains(complaint, "inline script"): // the last check's
		default:
			t.Errorf("the browser complains: %s", complaint)
		}
	}
}

// picture takes a picture of the page for the documentation.
func (w *hostWindow) picture(name string) {
	w.Helper()
	if !*pictures {
		return
	}
	picture, err := chromedp.Run(w.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("../../docs/screenshots", name+".png"), picture, 0o644); err != nil {
		w.Fatal(err)
	}
}

// A host without the extension gets the answers as ever: the same text and the same JSON, whether there are pages or not.
func TestHostWithoutApps(t *testing.T) {
	t.Parallel()
	answers := answersOf(t, `{}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"market_listings","arguments":{"limit":2}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"resources/list"}`)
	var result struct {
		Content           []struct{ Type, Text string }
		StructuredContent json.RawMessage
		Meta              json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(answers[1], &result); err != nil || len(result.Content) != 1 || result.Content[0].Type != "text" || result.StructuredContent == nil || result.Meta != nil {
		t.Errorf("got %s, %v", answers[1], err)
	}
	if !strings.Contains(string(answers[2]), "ui://namewharf/names.html") {
		t.Errorf("the page is not listed: %s", answers[2])
	}
}
