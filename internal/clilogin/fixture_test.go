package clilogin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/namewharf/namewharf/oauthas"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

var ada = oauthas.SessionRef{ID: "ses_1", AccountID: "acc_1"}

// A fixture is an authorization server on loopback, with a protected API and a signed-in user.
type fixture struct {
	*testing.T
	base  string
	oauth *oauthas.Server
	deny  bool // what the person answers

	mu       sync.Mutex
	clock    time.Duration // ahead of the system's
	events   []oauthas.EventKind
	requests []string                                      // to the token and the registration endpoint: path and grant type
	before   func(http.ResponseWriter, *http.Request) bool // may answer a token request; reports that it did
	after    func()                                        // runs when a token request is answered but not sent
}

func newFixture(t *testing.T, tweaks ...func(*oauthas.Config)) *fixture {
	t.Helper()
	s := httptest.NewServer(nil)
	w := &fixture{T: t, base: s.URL}
	cfg := oauthas.Config{
		DB: storetest.Open(t, store.Config{Dir: t.TempDir()}), Issuer: w.base, Resources: []string{w.base + "/api"},
		Now: w.now, NoLimits: true, Logger: slog.New(slog.DiscardHandler),
		Record: func(_ context.Context, e oauthas.Event) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.events = append(w.events, e.Kind)
		},
	}
	for _, tweak := range tweaks {
		tweak(&cfg)
	}
	var err error
	if w.oauth, err = oauthas.New(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.oauth.Close)
	t.Cleanup(s.Close)
	mux := http.NewServeMux()
	mux.Handle("/", w.oauth.Handler())
	mux.HandleFunc("POST /api/oauth/", w.endpoint)
	mux.HandleFunc("GET /oauth/authorize", w.authorize)
	mux.HandleFunc("/api/echo", w.echo)
	s.Config.Handler = mux
	return w
}

func (w *fixture) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.clock)
}

func (w *fixture) advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clock += d
}

// eventList lists what was recorded about the account.
func (w *fixture) eventList() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprint(w.events)
}

// count counts requests.
func (w *fixture) count(request string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.requests {
		if r == request {
			n++
		}
	}
	return n
}

func (w *fixture) hooks() (before func(http.ResponseWriter, *http.Request) bool, after func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.before, w.after
}

// hook sets what happens around token requests.
func (w *fixture) hook(before func(http.ResponseWriter, *http.Request) bool, after func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.before, w.after = before, after
}

// endpoint serves registration, token and revocation.
func (w *fixture) endpoint(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	form, _ := url.ParseQuery(string(body))
	w.mu.Lock()
	w.requests = append(w.requests, strings.TrimSuffix(r.URL.Path+" "+form.Get("grant_type"), " "))
	w.mu.Unlock()
	before, after := w.hooks()
	token := strings.HasSuffix(r.URL.Path, "/token")
	if token && before != nil && before(rw, r) {
		return
	}
	recorded := httptest.NewRecorder()
	w.oauth.Handler().ServeHTTP(recorded, r)
	if token && after != nil {
		after()
	}
	maps.Copy(rw.Header(), recorded.Header())
	rw.WriteHeader(recorded.Code)
	_, _ = rw.Write(recorded.Body.Bytes())
}

// authorize is the consent page, which answers at once.
func (w *fixture) authorize(rw http.ResponseWriter, r *http.Request) {
	decision, err := w.oauth.Authorize(r.Context(), oauthas.AuthorizeRequest{Params: r.URL.Query(), Session: ada})
	if question, ok := decision.(oauthas.Consent); ok {
		decision, err = w.oauth.Answer(r.Context(), question.Interaction, ada, !w.deny)
	}
	redirect, ok := decision.(oauthas.Redirect)
	if err != nil || !ok {
		http.Error(rw, fmt.Sprintf("%#v, %v", decision, err), http.StatusBadRequest)
		return
	}
	http.Redirect(rw, r, redirect.URL, http.StatusSeeOther)
}

// echo answers with the caller and the body of the request.
func (w *fixture) echo(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	who := "nobody"
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		caller, err := w.oauth.Caller(r.Context(), token, w.base+"/api")
		if err != nil {
			rw.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
			rw.WriteHeader(http.StatusUnauthorized)
			return
		}
		who = caller.Account + " " + fmt.Sprint(caller.Scopes)
	}
	fmt.Fprintf(rw, "%s %s %s", r.Method, who, body)
}

// login opens the login for the fixture's API in dir.
func (w *fixture) login(dir string, tweaks ...func(*Options)) *Login {
	w.Helper()
	options := Options{Hint: `run "mcp login"`, Now: w.now}
	for _, tweak := range tweaks {
		tweak(&options)
	}
	l, err := Open(dir, w.base+"/api", options)
	if err != nil {
		w.Fatal(err)
	}
	return l
}

// signedIn returns a login after a sign-in.
func (w *fixture) signedIn(dir string) *Login {
	w.Helper()
	l := w.login(dir)
	if err := l.SignIn(w.Context(), browse, io.Discard); err != nil {
		w.Fatalf("sign in: %v", err)
	}
	return l
}

// token returns the access token, which must be valid.
func (w *fixture) token(l *Login) string {
	w.Helper()
	token, err := l.Token(w.Context())
	if err != nil {
		w.Fatalf("token: %v", err)
	}
	if _, err := w.oauth.Caller(w.Context(), token, w.base+"/api"); err != nil {
		w.Fatalf("the token is not good: %v", err)
	}
	return token
}

// A page is the last page of the browser.
type page struct {
	status int
	header http.Header
	text   string
}

// browse is a browser that opens the URL and follows redirects.
func browse(url string) error {
	p, err := visit(url)
	if err == nil && (p.status != http.StatusOK || !strings.Contains(p.text, "close this tab")) {
		err = fmt.Errorf("the browser ends at a page with status %d: %s", p.status, p.text)
	}
	if err != nil { // the caller waits for an answer that never comes, were it not for this
		panic(err)
	}
	return nil
}

func visit(url string) (page, error) {
	response, err := http.Get(url)
	if err != nil {
		return page{}, errors.New("the browser went nowhere: " + err.Error())
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return page{response.StatusCode, response.Header, string(body)}, err
}
