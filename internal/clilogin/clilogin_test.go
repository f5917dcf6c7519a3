package clilogin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fault"
)

func TestSignIn(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	dir := filepath.Join(t.TempDir(), "config", "sign-ins")
	l := w.login(dir)
	if _, err := l.Token(t.Context()); !errors.Is(err, ErrNotSignedIn) || !fault.Is(err, fault.AuthenticationRequired) || !strings.Contains(err.Error(), "mcp login") {
		t.Errorf("before: got %v, want ErrNotSignedIn, and what to run", err)
	}
	var out strings.Builder
	var opened string
	err := l.SignIn(t.Context(), func(url string) error { opened = url; return browse(url) }, &out)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(opened, w.base+"/oauth/authorize?") || !strings.Contains(out.String(), opened) {
		t.Errorf("opened %s, printed %q: want the printed URL to be opened", opened, out.String())
	}
	first := w.token(l)
	if again := w.token(w.login(dir)); again != first {
		t.Error("another login for the same file has another token")
	}
	grants, err := w.oauth.Grants(t.Context(), ada.AccountID)
	if err != nil || len(grants) != 1 || fmt.Sprint(grants[0].Scopes, grants[0].Resources) != "[pricing:read] ["+w.base+"/api]" || grants[0].ClientName != "Command line" {
		t.Errorf("got the grants %+v, %v; want one for reading prices at the API only", grants, err)
	}
	wantPrivate(t, dir)
	if strings.Contains(out.String(), first) {
		t.Error("the token was printed")
	}
	w.signedIn(dir)
	if second := w.token(l); second == first {
		t.Error("a second sign-in left the token as it was")
	}
	if grants, err := w.oauth.Grants(t.Context(), ada.AccountID); len(grants) != 1 {
		t.Errorf("after a second sign-in: got %d grants, %v; want the first to be revoked", len(grants), err)
	}
}

// wantPrivate checks that only the owner can read the files in dir, and that there are no temporary files.
func wantPrivate(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != 0o600 {
			t.Errorf("%s: got mode %v, want 0600", e.Name(), info.Mode())
		}
		if ext := filepath.Ext(e.Name()); ext != ".json" && ext != ".lock" {
			t.Errorf("%s was left over", e.Name())
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%s: got %v, %v; want mode 0700", dir, info.Mode(), err)
	}
}

func TestDirectoryIsMadePrivate(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	dir := filepath.Join(t.TempDir(), "sign-ins")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w.signedIn(dir)
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("got %v, %v; want mode 0700", info.Mode(), err)
	}
}

// If the browser cannot be opened, the user opens the printed URL.
func TestNoBrowser(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	l := w.login(t.TempDir())
	printed, out := io.Pipe()
	seen := make(chan string, 1)
	go func() {
		var text strings.Builder
		_, _ = io.Copy(&text, printed)
		seen <- text.String()
	}()
	var to string
	err := l.SignIn(t.Context(), func(url string) error {
		to = url
		go browse(url)
		return errors.New("no browser")
	}, out)
	_ = out.Close()
	if err != nil {
		t.Fatal(err)
	}
	if text := <-seen; !strings.Contains(text, to) || !strings.Contains(text, "No browser could be opened") {
		t.Errorf("printed %q", text)
	}
	w.token(l)
}

func TestAccessDenied(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.deny = true
	l := w.login(t.TempDir())
	err := l.SignIn(t.Context(), browse, io.Discard)
	if err == nil || err.Error() != "access was denied" {
		t.Errorf("got %v", err)
	}
	if _, err := l.Token(t.Context()); !errors.Is(err, ErrNotSignedIn) {
		t.Errorf("afterwards: got %v, want ErrNotSignedIn", err)
	}
	if w.count("/api/oauth/token authorization_code") > 0 {
		t.Error("something was exchanged")
	}
}

func TestSignInTimeout(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	l := w.login(t.TempDir())
	var to string
	ignore := func(url string) error { to = url; return nil }
	l.timeout = 50 * time.Millisecond
	if err := l.SignIn(t.Context(), ignore, io.Discard); err == nil || err.Error() != "there was no sign-in within 50ms" {
		t.Errorf("without an answer: got %v", err)
	}
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := visit(u.Query().Get("redirect_uri")); err == nil {
		t.Error("the port is still open")
	}
	l.timeout = signInTime
	ctx, cancel := context.WithCancel(t.Context())
	err = l.SignIn(ctx, func(string) error { cancel(); return nil }, io.Discard)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the person leaves: got %v", err)
	}
}

func TestRenewal(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	dir := filepath.Join(t.TempDir(), "namewharf", "sign-ins")
	l := w.signedIn(dir)
	first := w.token(l)
	w.advance(28*time.Minute - 5*time.Second)
	if w.token(l) != first {
		t.Error("the token was renewed more than two minutes before its end")
	}
	w.advance(10 * time.Second)
	second := w.token(l)
	if second == first {
		t.Error("the token was not renewed two minutes before its end")
	}
	if again := w.token(w.login(dir)); again != second {
		t.Error("the renewed token was not kept")
	}
	if n := w.count("/api/oauth/token refresh_token"); n != 1 {
		t.Errorf("got %d renewals, want 1", n)
	}
	for range 10 {
		w.advance(31 * time.Minute)
		w.token(l)
	}
	if got := w.eventList(); got != "[grant_began]" {
		t.Errorf("got the events %s", got)
	}
	wantPrivate(t, dir)
}

// After the server has ended the sign-in, calls are not anonymous: they fail, and say what to do.
func TestEndedSignIn(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	dir := t.TempDir()
	l := w.signedIn(dir)
	grants, err := w.oauth.Grants(t.Context(), ada.AccountID)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.oauth.RevokeGrant(t.Context(), ada.AccountID, grants[0].ID); err != nil {
		t.Fatal(err)
	}
	w.advance(time.Hour)
	for range 3 {
		_, err := l.Token(t.Context())
		want := "the sign-in at " + l.resource.Host + ` has ended; run "mcp login"`
		if f := fault.From(err); f.Code != fault.InvalidToken || f.Message() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if n := w.count("/api/oauth/token refresh_token"); n != 1 {
		t.Errorf("got %d renewals, want 1: a dead token is not tried again", n)
	}
	if text, err := os.ReadFile(l.file.path); err != nil || strings.Contains(string(text), "nw_") {
		t.Errorf("the file still holds tokens, or is gone: %v", err)
	}
	w.signedIn(dir)
	w.token(l)
}

// A failing authorization server does not matter while the token is valid.
func TestRenewalFailsForAWhile(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	l := w.signedIn(t.TempDir())
	first := w.token(l)
	w.hook(func(rw http.ResponseWriter, _ *http.Request) bool {
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(rw, `{"error":"hush","error_description":"hush nw_rt_hush"}`)
		return true
	}, nil)
	w.advance(29 * time.Minute)
	if w.token(l) != first {
		t.Error("got another token")
	}
	w.advance(2 * time.Minute)
	_, err := l.Token(t.Context())
	if f := fault.From(err); f.Code != fault.Unavailable || strings.Contains(err.Error(), "nw_rt_") || strings.Contains(err.Error(), "description") {
		t.Errorf("got %v, want unavailable without the answer's text", err)
	}
	w.hook(nil, nil)
	if w.token(l) == first {
		t.Error("the token was not renewed")
	}
}

// A caller that cancels during a refresh does not lose the only valid refresh token.
func TestCallerCancelsDuringRefresh(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	l := w.signedIn(t.TempDir())
	first := w.token(l)
	ctx, cancel := context.WithCancel(t.Context())
	w.hook(nil, cancel)
	if _, err := l.Renew(ctx, first); err != nil {
		t.Errorf("renew: %v", err)
	}
	w.hook(nil, nil)
	second := w.token(l)
	if _, err := l.Renew(t.Context(), second); second == first || err != nil {
		t.Errorf("the renewed token was lost: %v", err)
	}
}

func TestInvalidTokenResponses(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"no access token":      `{"token_type":"Bearer","expires_in":60,"refresh_token":"hush"}`,
		"not a bearer token":   `{"access_token":"hush","token_type":"DPoP","expires_in":60}`,
		"no lifetime":          `{"access_token":"hush","token_type":"Bearer"}`,
		"a header in a token":  `{"access_token":"hush\r\nX: y","token_type":"Bearer","expires_in":60}`,
		"a bad refresh token":  `{"access_token":"hush","token_type":"Bearer","expires_in":60,"refresh_token":"hush hush"}`,
		"an endless token":     `{"access_token":"` + strings.Repeat("hush", 10_000) + `","token_type":"Bearer","expires_in":60}`,
		"half an answer":       `{"access_token":"hush`,
		"an endless answer":    `{"access_token":"` + strings.Repeat("hush", 1<<20) + `","token_type":"Bearer","expires_in":60}`,
		"an error of a bandit": `{"error":"hush \u001b[2J","error_description":"hush"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			l := w.signedIn(t.TempDir())
			first := w.token(l)
			w.hook(func(rw http.ResponseWriter, _ *http.Request) bool {
				rw.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(rw, body)
				return true
			}, nil)
			if _, err := l.Renew(t.Context(), first); err == nil || strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), "\x1b") {
				t.Errorf("renew: got %v, want an error without what came", err)
			}
			if w.token(l) != first {
				t.Error("the token was replaced")
			}
			if err := l.SignIn(t.Context(), browse, io.Discard); err == nil || strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), "\x1b") {
				t.Errorf("sign in: got %v, want an error without what came", err)
			}
		})
	}
}

func TestSignOut(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	dir := t.TempDir()
	l := w.login(dir)
	if err := l.SignOut(t.Context()); !errors.Is(err, ErrNotSignedIn) {
		t.Errorf("before: got %v, want ErrNotSignedIn", err)
	}
	w.signedIn(dir)
	if err := l.SignOut(t.Context()); err != nil {
		t.Fatal(err)
	}
	if grants, err := w.oauth.Grants(t.Context(), ada.AccountID); err != nil || len(grants) > 0 {
		t.Errorf("got the grants %v, %v; want none", grants, err)
	}
	if _, err := l.Token(t.Context()); !errors.Is(err, ErrNotSignedIn) {
		t.Errorf("afterwards: got %v, want ErrNotSignedIn", err)
	}
	w.signedIn(dir)
	cut := w.login(dir, func(o *Options) { o.Transport = offline{} })
	if err := cut.SignOut(t.Context()); err == nil || !strings.Contains(err.Error(), "not revoked at") {
		t.Errorf("without a network: got %v, want that they were not revoked", err)
	}
	if _, err := os.Stat(l.file.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a network: the file is still there: %v", err)
	}
}

// offline is a transport without a network.
type offline struct{}

func (offline) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("no route") }

func TestDamagedFiles(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	other, err := json.Marshal(record{Resource: "https://elsewhere.example", Access: "hush", Renew: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"empty": "", "half": `{"access_token": "hush`, "for another resource": string(other)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			l := w.login(dir)
			if err := os.WriteFile(l.file.path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := l.Token(t.Context()); !fault.Is(err, fault.InvalidToken) || strings.Contains(err.Error(), "hush") {
				t.Errorf("got %v, want an error that asks to sign in again", err)
			}
			w.signedIn(dir)
			w.token(l)
		})
	}
}

func TestServersHaveTheirOwnFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, two := newFixture(t), newFixture(t)
	a, b := one.signedIn(dir), two.signedIn(dir)
	one.token(a)
	two.token(b)
	if err := a.SignOut(t.Context()); err != nil {
		t.Fatal(err)
	}
	two.token(b)
	names := map[string]string{}
	for _, resource := range []string{"https://a.example", "https://a.example/api", "https://a.example:8443", "http://localhost:1", "http://[::1]:1"} {
		l, err := Open(dir, resource, Options{})
		if err != nil {
			t.Fatalf("open %s: %v", resource, err)
		}
		name := filepath.Base(l.file.path)
		if other, taken := names[name]; taken || strings.ContainsAny(name, ":[]/") {
			t.Errorf("%s: got the file %s, that of %q", resource, name, other)
		}
		names[name] = resource
	}
	for _, same := range []string{"https://A.Example:443/"} {
		l, err := Open(dir, same, Options{})
		if err != nil || names[filepath.Base(l.file.path)] != "https://a.example" {
			t.Errorf("%s: want the file of https://a.example, got %v", same, err)
		}
	}
}

func TestResources(t *testing.T) {
	t.Parallel()
	for resource, good := range map[string]bool{
		"https://names.example/api": true, "http://127.0.0.1:8080": true, "http://localhost": true, "http://[::1]:1/api": true,
		"": false, "names.example": false, "http://names.example": false, "http://127.0.0.1.evil.example": false, "file:///etc/passwd": false,
		"https://": false, "https://user@names.example": false, "https://names.example#x": false, "https://names.example?x": false, "https://a b": false,
		"https://" + strings.Repeat("a", 3000): false,
	} {
		if _, err := Open(t.TempDir(), resource, Options{}); (err == nil) != good {
			t.Errorf("Open(%.40q): got %v", resource, err)
		}
	}
}

func TestDirectory(t *testing.T) {
	t.Parallel()
	got, err := Directory(func(string) (string, bool) { return "/home/ada/conf", true })
	if want := filepath.Join("/home/ada/conf", "namewharf", "sign-ins"); err != nil || got != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
	config, err := os.UserConfigDir()
	if err != nil {
		t.Fatal(err)
	}
	got, err = Directory(func(string) (string, bool) { return "relative", true })
	if want := filepath.Join(config, "namewharf", "sign-ins"); err != nil || got != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
}
