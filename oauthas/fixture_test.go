package oauthas

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

const (
	issuer      = "https://names.example"
	apiURL      = issuer + "/api"
	mcpURL      = issuer + "/mcp"
	signedInURL = issuer + "/mcp/signed-in"
	away        = "https://mcp.example/mcp"
)

// A clock is set by the test.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// A fixture is a server with a clock, a log and a signed-in user.
type fixture struct {
	testing.TB
	*Server
	clock   *clock
	log     *buffer
	session SessionRef
}

// buffer is a bytes.Buffer for several goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// newFixture opens a fixture on the database. Tweaks change its configuration.
func newFixture(t testing.TB, db *store.DB, tweaks ...func(*Config)) *fixture {
	t.Helper()
	d := &fixture{TB: t, clock: newClock(), log: &buffer{}, session: SessionRef{ID: "ses_1", AccountID: "acc_1"}}
	cfg := Config{
		DB: db, Now: d.clock.Now, Issuer: issuer, Resources: []string{issuer, apiURL, mcpURL, signedInURL, away},
		Logger: slog.New(slog.NewJSONHandler(d.log, &slog.HandlerOptions{Level: slog.LevelDebug})), NoLimits: true,
	}
	for _, tweak := range tweaks {
		tweak(&cfg)
	}
	s, err := New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	d.Server = s
	return d
}

// newSQLiteFixture opens a fixture on SQLite, for tests that have nothing to do with the engine.
func newSQLiteFixture(t testing.TB, tweaks ...func(*Config)) *fixture {
	t.Helper()
	return newFixture(t, storetest.Open(t, store.Config{Dir: t.TempDir()}), tweaks...)
}

// each runs the test with a fixture on each engine.
func each(t *testing.T, test func(t *testing.T, d *fixture), tweaks ...func(*Config)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, db *store.DB) { test(t, newFixture(t, db, tweaks...)) })
}

// answer is an HTTP response.
type answer struct {
	status int
	header http.Header
	body   string
	json   map[string]any
}

func (a answer) get(name string) string {
	s, _ := a.json[name].(string)
	return s
}

func (d *fixture) do(r *http.Request) answer {
	d.Helper()
	w := httptest.NewRecorder()
	d.Handler().ServeHTTP(w, r)
	a := answer{status: w.Code, header: w.Header(), body: w.Body.String()}
	if strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") {
		if err := json.Unmarshal(w.Body.Bytes(), &a.json); err != nil {
			d.Fatalf("answer is not JSON: %s", a.body)
		}
	}
	return a
}

func (d *fixture) get(path string) answer {
	d.Helper()
	return d.do(httptest.NewRequest(http.MethodGet, path, nil))
}

func (d *fixture) post(path, contentType, body string) answer {
	d.Helper()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	return d.do(r)
}

func (d *fixture) form(path string, params url.Values) answer {
	d.Helper()
	return d.post(path, "application/x-www-form-urlencoded", params.Encode())
}

func (d *fixture) token(params url.Values) answer { d.Helper(); return d.form(tokenPath, params) }

// register registers a client with the redirects.
func (d *fixture) register(redirects ...string) string {
	d.Helper()
	body, _ := json.Marshal(map[string]any{"redirect_uris": redirects, "client_name": "Ember"})
	a := d.post(registerPath, "application/json", string(body))
	if a.status != http.StatusCreated {
		d.Fatalf("register %q: got %d %s", redirects, a.status, a.body)
	}
	return a.get("client_id")
}

// pkce returns a verifier and its challenge.
func pkce() (verifier, challenge string) {
	b := make([]byte, 32)
	rand.Read(b)
	verifier = base64.RawURLEncoding.EncodeToString(b)
	sum := sha256.Sum256([]byte(verifier))
	return verifier, base64.RawURLEncoding.EncodeToString(sum[:])
}

// params returns a valid authorization request, with changes; an empty list removes a parameter.
func params(client, redirect, challenge string, changes url.Values) url.Values {
	p := url.Values{
		"response_type": {"code"}, "client_id": {client}, "redirect_uri": {redirect}, "state": {"xyz"},
		"code_challenge": {challenge}, "code_challenge_method": {"S256"},
	}
	maps.Copy(p, changes)
	return p
}

func (d *fixture) authorize(p url.Values, session SessionRef) Decision {
	d.Helper()
	decision, err := d.Authorize(d.Context(), AuthorizeRequest{Params: p, Session: session})
	if err != nil {
		d.Fatalf("authorize: %v", err)
	}
	return decision
}

// answerConsent answers the consent page of an authorization request.
func (d *fixture) answerConsent(p url.Values, allow bool) url.Values {
	d.Helper()
	consent, ok := d.authorize(p, d.session).(Consent)
	if !ok {
		d.Fatalf("authorize %v: got %#v, want a question", p, d.authorize(p, d.session))
	}
	decision, err := d.Answer(d.Context(), consent.Interaction, d.session, allow)
	if err != nil {
		d.Fatalf("answer: %v", err)
	}
	return query(d, decision)
}

// query returns the query of the redirect of a decision.
func query(t testing.TB, decision Decision) url.Values {
	t.Helper()
	redirect, ok := decision.(Redirect)
	if !ok {
		t.Fatalf("got %#v, want a redirect", decision)
	}
	u, err := url.Parse(redirect.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query()
}

const appRedirect = "https://app.example/cb"

// code gets a code for a new client, and returns the form that redeems it.
func (d *fixture) code(changes url.Values) url.Values {
	d.Helper()
	verifier, challenge := pkce()
	client := d.register(appRedirect)
	q := d.answerConsent(params(client, appRedirect, challenge, changes), true)
	if q.Get("code") == "" {
		d.Fatalf("got %v, want a code", q)
	}
	return url.Values{
		"grant_type": {"authorization_code"}, "client_id": {client}, "code": {q.Get("code")},
		"redirect_uri": {appRedirect}, "code_verifier": {verifier},
	}
}

// A signedInClient is a client with its tokens.
type signedInClient struct{ client, access, refresh string }

func (p signedInClient) renewal() url.Values {
	return url.Values{"grant_type": {"refresh_token"}, "client_id": {p.client}, "refresh_token": {p.refresh}}
}

// signInClient signs a fresh client in.
func (d *fixture) signInClient(changes url.Values) signedInClient {
	d.Helper()
	p := d.code(changes)
	a := d.token(p)
	if a.status != http.StatusOK {
		d.Fatalf("redeem: got %d %s", a.status, a.body)
	}
	return signedInClient{p.Get("client_id"), a.get("access_token"), a.get("refresh_token")}
}

// renew refreshes and must succeed.
func (d *fixture) renew(p signedInClient) signedInClient {
	d.Helper()
	a := d.token(p.renewal())
	if a.status != http.StatusOK {
		d.Fatalf("refresh: got %d %s", a.status, a.body)
	}
	return signedInClient{p.client, a.get("access_token"), a.get("refresh_token")}
}

// wantError checks the status and the OAuth error code of an answer.
func (d *fixture) wantError(what string, a answer, status int, code string) {
	d.Helper()
	if a.status != status || a.get("error") != code {
		d.Errorf("%s: got %d %s, want %d %s", what, a.status, a.body, status, code)
	}
}

// wantGood checks whether the token is valid at the resource.
func (d *fixture) wantGood(what, token, resource string, want bool) {
	d.Helper()
	caller, err := d.Caller(d.Context(), token, resource)
	switch {
	case want && (err != nil || caller.Account != d.session.AccountID):
		d.Errorf("%s at %s: got %v, %v, want it to be good", what, resource, caller, err)
	case !want && !fault.Is(err, fault.InvalidToken):
		d.Errorf("%s at %s: got %v, %v, want %s", what, resource, caller, err, fault.InvalidToken)
	}
}
