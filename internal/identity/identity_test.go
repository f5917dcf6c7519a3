package identity

import (
	"context"
	"flag"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/account"
	"github.com/namewharf/namewharf/internal/app"
	"github.com/namewharf/namewharf/internal/settings"
	"github.com/namewharf/namewharf/oauthas"
	"github.com/namewharf/namewharf/serve/middleware"
)

// flagged parses flags as a program would.
func flagged(t *testing.T, args ...string) *Settings {
	t.Helper()
	fs := flag.NewFlagSet("test", flag.ContinueOnError)
	s := Flags(fs)
	if _, err := settings.Parse(fs, args, func(string) (string, bool) { return "", false }, io.Discard); err != nil {
		t.Fatal(err)
	}
	return s
}

// silent is a logger that discards.
var silent = slog.New(slog.DiscardHandler)

// demo opens the demo app on a temporary store.
func demo(t *testing.T) *app.App {
	t.Helper()
	a, err := app.Open(t.Context(), app.Config{Demo: true, Logger: silent, Now: time.Now}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

func write(t *testing.T, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "oidc.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	a := demo(t)
	for _, test := range []struct {
		name string
		args []string
		want string
	}{
		{"mail to something that is no URL", []string{"-smtp", "mail.example"}, "-smtp must be a URL"},
		{"mail over another protocol", []string{"-smtp", "imap://hushed@mail.example"}, "-smtp must be a URL"},
		{"mail without a sender", []string{"-smtp", "smtp://u:hushed@mail.example"}, "-smtp, -mail-from"},
		{"no such file of providers", []string{"-oidc", "/nowhere/oidc.toml"}, "-oidc: "},
		{"a file that is not TOML", []string{"-oidc", write(t, "[[provider")}, "line 1"},
		{"a file without providers", []string{"-oidc", write(t, "")}, "names no [[provider]]"},
		{"an unknown key", []string{"-oidc", write(t, "[[provider]]\nclient = \"x\"")}, "unknown key provider.client"},
		{"a provider without an issuer", []string{"-oidc", write(t, "[[provider]]\nid = \"a\"\nclient_id = \"x\"\nclient_secret = \"hushed\"")}, "provider"},
		{"a resource that is no URL", []string{"-extra-resources", "names"}, "resource"},
		{"a scheme that is never safe", []string{"-app-schemes", "javascript"}, "javascript"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			svc, err := Open(t.Context(), Config{Settings: flagged(t, test.args...), App: a, Issuer: "https://names.example", Logger: silent, Now: time.Now})
			if err == nil {
				svc.Close()
			}
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "hushed") {
				t.Errorf("%q: got %v; want one line with %q", test.args, err, test.want)
			}
		})
	}
}

func TestProviders(t *testing.T) {
	t.Parallel()
	got, err := flagged(t, "-oidc", write(t, `
[[provider]]
id = "acme"
name = "Acme"
issuer = "https://id.example"
client_id = "wharf"
client_secret = "s"
scopes = ["profile"]
`)).providers()
	want := account.Provider{ID: "acme", Name: "Acme", Issuer: "https://id.example", ClientID: "wharf", ClientSecret: "s", Scopes: []string{"profile"}}
	if err != nil || len(got) != 1 || got[0].ID != want.ID || got[0].Name != want.Name || got[0].Issuer != want.Issuer || got[0].ClientID != want.ClientID ||
		got[0].ClientSecret != want.ClientSecret || !slices.Equal(got[0].Scopes, want.Scopes) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

func TestMailer(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"smtp://mail.example", "smtp://u:p@mail.example:2525", "smtps://u:p@mail.example", "smtp://[::1]:25"} {
		if m, err := flagged(t, "-smtp", url, "-mail-from", "Names <names@names.example>").mailer(nil); err != nil || m == nil {
			t.Errorf("%s: %v, %v", url, m, err)
		}
	}
	if m, err := flagged(t).mailer(nil); err != nil || m != nil {
		t.Errorf("without -smtp: %v, %v; want neither", m, err)
	}
}

// Events of a grant appear in the security log of its account.
func TestGrantsAreRecorded(t *testing.T) {
	t.Parallel()
	svc, err := Open(t.Context(), Config{Settings: flagged(t), App: demo(t), Issuer: "https://names.example", Logger: silent, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer svc.Close()
	ada, err := svc.Accounts.SignUp(t.Context(), "ada@example.com", "a long quiet password", "", netip.MustParseAddr("192.0.2.1"))
	if err != nil {
		t.Fatal(err)
	}
	for kind := range grantEvents {
		svc.record(silent)(context.Background(), oauthas.Event{Account: ada.ID, Kind: kind, Client: "Shop", Grant: "gra_1"})
	}
	log, err := svc.Accounts.Log(t.Context(), ada.ID, 10)
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, e := range log {
		words = append(words, string(e.What)+" "+e.Detail)
	}
	slices.Sort(words)
	want := []string{
		"app_connected Shop", "app_revoked Shop", "app_revoked Shop, because a code was used twice", "app_revoked Shop, because a refresh token was used twice",
	}
	if got := slices.DeleteFunc(words, func(w string) bool { return strings.HasPrefix(w, "signed_up") }); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestByPath(t *testing.T) {
	t.Parallel()
	says := func(word string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, word) })
	}
	h := ByPath(map[string]http.Handler{"/a": says("a"), "/t/": says("tree"), "/t/leaf": says("leaf")}, says("other"))
	for path, want := range map[string]string{"/a": "a", "/a/": "other", "/t": "other", "/t/": "tree", "/t/x/y": "tree", "/t/leaf": "leaf", "/": "other", "//a": "other"} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL.Path = path
		h.ServeHTTP(w, r)
		if got := w.Body.String(); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	mw := middleware.New(middleware.Config{BaseURL: "https://mcp.example", Tokens: middleware.NoTokens, Logger: silent})
	routes, err := Documents(mw, "https://names.example", []string{"https://mcp.example", "https://mcp.example/mcp"})
	if err != nil {
		t.Fatal(err)
	}
	for path, resource := range map[string]string{"": "https://mcp.example", "/mcp": "https://mcp.example/mcp"} {
		w := httptest.NewRecorder()
		path = "/.well-known/oauth-protected-resource" + path
		ByPath(routes, http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if got := w.Body.String(); !strings.Contains(got, `{"resource":"`+resource+`","authorization_servers":["https://names.example"]`) {
			t.Errorf("%s: got %d %s", path, w.Code, got)
		}
	}
	if _, err := Documents(mw, "https://names.example", []string{"mcp"}); err == nil {
		t.Error("a resource that is no URL is taken")
	}
}
