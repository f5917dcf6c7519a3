package account

import (
	"bytes"
	"context"
	"log/slog"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

var (
	home   = netip.MustParseAddr("192.0.2.1")
	abroad = netip.MustParseAddr("198.51.100.7")
)

const passphrase = "seven brave otters"

// cheap is a hashing cost for tests of other things.
var cheap = cost{memory: 64, time: 1, parallelism: 1}

// A clock is set by the test.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Now().UTC().Truncate(time.Microsecond)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// A mailbox is a Mailer that stores mail.
type mailbox struct {
	mail chan Message
}

func newMailbox() *mailbox { return &mailbox{mail: make(chan Message, 100)} }

func (b *mailbox) Send(_ context.Context, m Message) error {
	b.mail <- m
	return nil
}

// next waits for the next mail.
func (b *mailbox) next(t *testing.T) Message {
	t.Helper()
	select {
	case m := <-b.mail:
		return m
	case <-time.After(10 * time.Second):
		t.Fatal("no mail came within 10 s")
		return Message{}
	}
}

// token waits for the next mail and returns the token of the link in it, which leads to the path.
func (b *mailbox) token(t *testing.T, path string) string {
	t.Helper()
	return tokenIn(t, b.next(t).Text, path, TokenParameter)
}

func tokenIn(t *testing.T, text, path, parameter string) string {
	t.Helper()
	for word := range strings.FieldsSeq(text) {
		if u, err := url.Parse(word); err == nil && u.Path == path && u.Query().Has(parameter) {
			return u.Query().Get(parameter)
		}
	}
	t.Fatalf("no link to %s in %q", path, text)
	return ""
}

// A fixture is accounts under test.
type fixture struct {
	*Accounts
	clock *clock
	box   *mailbox
	log   *bytes.Buffer
	t     *testing.T
}

func newFixture(t *testing.T, db *store.DB, change func(*Config)) *fixture {
	t.Helper()
	r := &fixture{clock: newClock(), box: newMailbox(), log: &bytes.Buffer{}, t: t}
	cfg := Config{DB: db, BaseURL: "https://names.example", Now: r.clock.Now, Mail: r.box, Logger: slog.New(slog.NewTextHandler(&syncBuffer{w: r.log}, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	if change != nil {
		change(&cfg)
	}
	a, err := New(t.Context(), cfg)
	if err != nil {
		t.Fatalf("new accounts: %v", err)
	}
	t.Cleanup(a.Close)
	a.hasher = newHasher(2, cheap)
	r.Accounts = a
	return r
}

// syncBuffer is a writer for several goroutines.
type syncBuffer struct {
	mu sync.Mutex
	w  *bytes.Buffer
}

func (l *syncBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// account makes a verified account.
func (r *fixture) account(email string) Account {
	r.t.Helper()
	a, err := r.Create(r.t.Context(), email, passphrase)
	if err != nil {
		r.t.Fatalf("create an account: %v", err)
	}
	return a
}

// session starts a session.
func (r *fixture) session(accountID string) string {
	r.t.Helper()
	token, _, err := r.StartSession(r.t.Context(), accountID, home, "Browser/1")
	if err != nil {
		r.t.Fatalf("start a session: %v", err)
	}
	return token
}

// fresh returns a session that has just been authenticated.
func (r *fixture) fresh(accountID string) Session {
	r.t.Helper()
	who, err := r.Account(r.t.Context(), accountID)
	must(r.t, "read an account", err)
	return Session{ID: "ses_1", AccountID: accountID, Email: who.Email, Verified: who.Verified, AuthenticatedAt: r.clock.Now()}
}

// events waits for queued entries and lists the security log of an account, the oldest first.
func (r *fixture) events(accountID string) []Event {
	r.t.Helper()
	settled := make(chan struct{})
	r.logQueue.add(func(context.Context) { close(settled) })
	<-settled
	entries, err := r.Log(r.t.Context(), accountID, 100)
	if err != nil {
		r.t.Fatalf("read the log: %v", err)
	}
	var events []Event
	for _, e := range entries {
		events = append([]Event{e.What}, events...)
	}
	return events
}

func wantCode(t *testing.T, doing string, err error, want fault.Code) {
	t.Helper()
	if !fault.Is(err, want) {
		t.Errorf("%s: got %v, want %s", doing, err, want)
	}
}

func want[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func must(t *testing.T, doing string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", doing, err)
	}
}

func TestSignUpThenSignIn(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r, ctx := newFixture(t, db, nil), t.Context()
		made, err := r.SignUp(ctx, " Ada@Names.Example ", passphrase, "", home)
		must(t, "sign up", err)
		want(t, "address", made.Email, "ada@names.example")
		want(t, "verified", made.Verified, false)

		in, err := r.SignIn(ctx, "ADA@names.example", passphrase, home)
		must(t, "sign in", err)
		want(t, "account", in, made.Account)

		verified, err := r.VerifyEmail(ctx, r.box.token(t, VerifyPath), Proof{Password: passphrase}, home)
		must(t, "verify", err)
		want(t, "verified", verified.Verified, true)

		found, err := r.Account(ctx, made.ID)
		must(t, "read the account", err)
		want(t, "verified in the store", found.Verified, true)
	})
}
