package partner

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/market/words"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/partner/admin"
	"github.com/namewharf/namewharf/partner/admission"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/partner/signature"
	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/serve/middleware"
	"github.com/namewharf/namewharf/serve/rest"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
	"github.com/namewharf/namewharf/store/sweep"
)

// A clock shows the time that a test sets.
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

func (c *clock) set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}

var lexicon = sync.OnceValue(words.English)

var testKeys = sync.OnceValue(func() *seal.Keys {
	keys, err := seal.Parse(seal.NewText())
	if err != nil {
		panic(err)
	}
	return keys
})

// A testServer is the partner API on loopback, with a partner who has a credential of all scopes in the
// sandbox.
type testServer struct {
	testing.TB
	db       *store.DB
	api      *API
	operator *admin.Operator
	clock    *clock
	log      *buffer
	http     *httptest.Server
	partner  admin.Partner
	key      signer // of the sandbox
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

// A options is how a test server is set up.
type options struct {
	Config
	limits *middleware.Limits
	clock  *clock
	seed   string // listings of the sandbox as CSV
}

const fewNames = `domain,price_cents,floor_price_cents,currency,description,keywords
brewhaven.example,9900,7900,USD,A name for a coffee house,coffee;cafe
brewpath.test,4900,3900,USD,A name for a coach,journey
coffeeshop.example,49900,39900,EUR,A name for a shop,coffee
xn--bcher-kva.example,120000,100000,USD,A name for books,books
`

// open sets a test server up on a database. Tweaks change it.
func open(t testing.TB, db *store.DB, tweaks ...func(*options)) *testServer {
	t.Helper()
	s := &testServer{TB: t, db: db, log: &buffer{}}
	set := options{clock: newClock(), seed: fewNames}
	set.DB, set.Keys, set.NoLimits = db, testKeys(), true
	set.Logger = slog.New(slog.NewJSONHandler(s.log, nil))
	for _, tweak := range tweaks {
		tweak(&set)
	}
	s.clock = set.clock
	if set.Now == nil {
		set.Now = s.clock.Now
	}
	if set.seed != "" {
		if _, err := market.Import(t.Context(), db, strings.NewReader(set.seed), market.ImportOptions{Environment: market.Sandbox}); err != nil {
			t.Fatal(err)
		}
	}
	m, err := market.New(t.Context(), market.Config{DB: db, Lexicon: lexicon(), Follow: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	set.Market = m
	if s.api, err = New(t.Context(), set.Config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.api.Close)
	s.http = httptest.NewUnstartedServer(nil)
	base := "http://" + s.http.Listener.Addr().String()
	s.http.Config.Handler = rest.New(rest.Config{
		Middleware: middleware.New(middleware.Config{BaseURL: base, Tokens: middleware.NoTokens, Limits: set.limits, Logger: set.Logger, Now: set.Now}),
		Set:        op.NewSet(set.Now),
		Partner:    &rest.Partner{Set: s.api.Set(), Signatures: s.api},
		Version:    "1",
	})
	s.http.Start()
	t.Cleanup(s.http.Close)
	s.operator = admin.New(db, set.Keys, set.Now, "test")
	if s.partner, err = s.operator.CreatePartner(t.Context(), "Example Registrar", credential.DefaultTerms()); err != nil {
		t.Fatal(err)
	}
	s.key = s.credential(s.partner.ID, market.Sandbox, strings.Join(credential.Scopes, ","))
	return s
}

// openSQLite opens a test server on SQLite, for tests that have nothing to do with the engine.
func openSQLite(t testing.TB, tweaks ...func(*options)) *testServer {
	t.Helper()
	return open(t, storetest.Open(t, store.Config{Dir: t.TempDir()}), tweaks...)
}

// each runs the test with a test server on each engine.
func each(t *testing.T, test func(t *testing.T, s *testServer), tweaks ...func(*options)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, db *store.DB) { test(t, open(t, db, tweaks...)) })
}

func limited(s *options) { s.NoLimits = false }

func (s *testServer) credential(partner string, env credential.Environment, scopes string) signer {
	s.Helper()
	if env == market.Live {
		if err := s.operator.Approve(s.Context(), partner); err != nil {
			s.Fatal(err)
		}
	}
	issued, err := s.operator.CreateCredential(s.Context(), partner, env, scopes)
	if err != nil {
		s.Fatal(err)
	}
	return signer{issued.KeyID, issued.Secret}
}

// another is a credential of another partner.
func (s *testServer) another(env credential.Environment, scopes string) signer {
	s.Helper()
	p, err := s.operator.CreatePartner(s.Context(), "Another Registrar", credential.DefaultTerms())
	if err != nil {
		s.Fatal(err)
	}
	return s.credential(p.ID, env, scopes)
}

// A signer signs requests.
type signer struct{ key, secret string }

// A request is one that a test sends.
type request struct {
	method, path, query string
	body                string
	header              map[string]string // besides those of the signature; an empty value takes one away
	by                  signer
	at                  time.Time
	nonce               string
}

// get and post are requests with a fresh nonce at the server's time.
func (s *testServer) get(target string) request {
	path, query, _ := strings.Cut(target, "?")
	return request{method: "GET", path: path, query: query, by: s.key, at: s.clock.Now(), nonce: uuid.NewString()}
}

func (s *testServer) post(path, body string) request {
	r := s.get(path)
	r.method, r.body = "POST", body
	return r
}

func (r request) with(name, value string) request {
	header := map[string]string{name: value}
	for n, v := range r.header {
		if n != name {
			header[n] = v
		}
	}
	r.header = header
	return r
}

func (r request) keyed(key string) request { return r.with(signature.HeaderIdempotencyKey, key) }

func (r request) signedBy(by signer) request {
	r.by = by
	return r
}

// canonical is what is signed, written down by the words of the contract, independently of the code under test, for
// requests whose query is in order already.
func (r request) canonical() string {
	c, err := signature.Request{
		Method: r.method, Path: r.path, Query: r.query, Timestamp: strconv.FormatInt(r.at.Unix(), 10), Nonce: r.nonce,
		Body: signature.BodyDigest(r.method, []byte(r.body)),
	}.Canonical()
	if err != nil {
		return ""
	}
	return c
}

func (r request) build(ctx context.Context, base string) *http.Request {
	target := base + r.path
	if r.query != "" {
		target += "?" + r.query
	}
	var body io.Reader
	if r.body != "" {
		body = strings.NewReader(r.body)
	}
	h, err := http.NewRequestWithContext(ctx, r.method, target, body)
	if err != nil {
		panic(err)
	}
	if r.body != "" {
		h.Header.Set("Content-Type", "application/json")
	}
	h.Header.Set(signature.HeaderKeyID, r.by.key)
	h.Header.Set(signature.HeaderTimestamp, strconv.FormatInt(r.at.Unix(), 10))
	h.Header.Set(signature.HeaderNonce, r.nonce)
	h.Header.Set(signature.HeaderSignature, signature.Sign(r.by.secret, r.canonical()))
	for name, value := range r.header {
		if value == "" {
			h.Header.Del(name)
		} else {
			h.Header.Set(name, value)
		}
	}
	return h
}

// An answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
	json   map[string]any
}

func (a answer) code() fault.Code {
	e, _ := a.json["error"].(map[string]any)
	code, _ := e["code"].(string)
	return fault.Code(code)
}

func (a answer) text(name string) string {
	s, _ := a.json[name].(string)
	return s
}

// fields are those that the error names.
func (a answer) fields() string {
	e, _ := a.json["error"].(map[string]any)
	details, _ := e["details"].([]any)
	var names []string
	for _, d := range details {
		name, _ := d.(map[string]any)["field"].(string)
		names = append(names, name)
	}
	return strings.Join(names, ",")
}

func (s *testServer) send(r request) answer {
	s.Helper()
	a, err := s.try(r)
	if err != nil {
		s.Fatalf("%s %s: %v", r.method, r.path, err)
	}
	return a
}

func (s *testServer) try(r request) (answer, error) {
	return exchange(s.http.Client(), r.build(context.Background(), s.http.URL))
}

func exchange(c *http.Client, r *http.Request) (answer, error) {
	response, err := c.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, err
	}
	a := answer{status: response.StatusCode, header: response.Header, body: string(body)}
	_ = json.Unmarshal(body, &a.json)
	return a, nil
}

// want sends a request that must be answered with the status, and with the code where it is an error.
func (s *testServer) want(r request, status int, code fault.Code) answer {
	s.Helper()
	a := s.send(r)
	if a.status != status || a.code() != code {
		s.Errorf("%s %s?%s %s: got %d %s, want %d %s", r.method, r.path, r.query, r.body, a.status, a.body, status, code)
	}
	if a.header.Get("X-Request-Id") == "" {
		s.Errorf("%s %s: no X-Request-Id", r.method, r.path)
	}
	return a
}

// ok sends a request that must succeed.
func (s *testServer) ok(r request, status int) answer {
	s.Helper()
	return s.want(r, status, "")
}

const orderBody = `{"domain":"brewhaven.example","expected_price":9900,"currency":"USD","buyer":{"email":"a@b.example"}}`

func (s *testServer) order(body string) request {
	return s.post(root+"/orders", body).keyed(uuid.NewString())
}

// exec runs a statement on the server's database.
func (s *testServer) exec(query string, args ...any) error {
	return s.db.Tx(s.Context(), func(tx store.Tx) error {
		_, err := tx.Exec(s.Context(), query, args...)
		return err
	})
}

// count is the number that a query selects.
func (s *testServer) count(query string, args ...any) (n int) {
	s.Helper()
	if err := s.db.Read(s.Context(), func(tx store.Tx) error { return tx.QueryRow(s.Context(), query, args...).Scan(&n) }); err != nil {
		s.Fatal(err)
	}
	return n
}

// sweep removes what is over by the server's clock.
func (s *testServer) sweep() {
	s.Helper()
	if err := sweep.New(sweep.Config{DB: s.db, Rules: slices.Concat(Retention(), admission.Retention()), Now: s.clock.Now}).Pass(s.Context()); err != nil {
		s.Fatal(err)
	}
}
