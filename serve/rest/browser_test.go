package rest_test

import (
	"context"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	browserlog "github.com/chromedp/cdproto/log"

	"github.com/namewharf/namewharf/serve/middleware"
	"github.com/namewharf/namewharf/serve/rest"
)

// TestPagesInABrowser opens the first page and the reference page in a real browser: they are drawn, ask no other
// machine for anything, and do not run into their own content security policy. With SHOTS=DIR it leaves pictures.
func TestPagesInABrowser(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("chromium"); err != nil || testing.Short() {
		if os.Getenv("CI") != "" && !testing.Short() {
			t.Fatal("there is no chromium")
		}
		t.Skip("needs chromium")
	}
	s := httptest.NewUnstartedServer(nil)
	own := "http://" + s.Listener.Addr().String()
	mw := middleware.New(middleware.Config{BaseURL: own, Tokens: verifier{}, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	s.Config.Handler = rest.New(rest.Config{Middleware: mw, Set: shop(), Version: "1.0.0", MCP: own + "/mcp"})
	s.Start()
	defer s.Close()

	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.UserDataDir(t.TempDir()))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	defer cancel()
	ctx, cancel = chromedp.NewContext(ctx)
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	seen := watch(t, ctx)
	for _, page := range []struct{ name, path, waits, says string }{
		{"landing", "/", "main li", "Search for coffee"},
		{"docs", "/docs", ".opblock", "/api/coffee/search"},
	} {
		if err := chromedp.Do(ctx, chromedp.EmulateViewport(1100, 900), chromedp.Navigate(own+page.path), chromedp.WaitVisible(page.waits)); err != nil {
			t.Fatalf("%s: %v", page.path, err)
		}
		text, err := chromedp.Run(ctx, chromedp.Text("body"))
		if err != nil || !strings.Contains(strings.ReplaceAll(text, "\u200b", ""), page.says) {
			t.Errorf("%s does not show %q: %v\n%s", page.path, page.says, err, text)
		}
		if dir := os.Getenv("SHOTS"); dir != "" {
			picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, page.name+".png"), picture, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := chromedp.Do(ctx, chromedp.Click(".opblock-summary-control"), chromedp.WaitVisible(".opblock-body")); err != nil {
		t.Errorf("an operation does not unfold: %v", err)
	}
	seen.Lock()
	defer seen.Unlock()
	if len(seen.requests) < 6 {
		t.Errorf("only %d requests were seen: %q", len(seen.requests), seen.requests)
	}
	for _, url := range seen.requests {
		if !strings.HasPrefix(url, own+"/") && !strings.HasPrefix(url, "data:") {
			t.Errorf("a page asks another machine: %s", url)
		}
	}
	for _, complaint := range seen.complaints {
		t.Errorf("the browser complains: %s", complaint)
	}
}

// sightings is what the browser asked for, and what it complained about.
type sightings struct {
	sync.Mutex
	requests, complaints []string
}

func watch(t *testing.T, ctx context.Context) *sightings {
	t.Helper()
	var s sightings
	err := chromedp.Listen(ctx, func(event any) {
		s.Lock()
		defer s.Unlock()
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			s.requests = append(s.requests, e.Request.URL)
		case *browserlog.EventEntryAdded:
			s.complaints = append(s.complaints, e.Entry.Text+" "+e.Entry.URL)
		case *runtime.EventExceptionThrown:
			s.complaints = append(s.complaints, e.ExceptionDetails.Text)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return &s
}
