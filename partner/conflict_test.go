package partner

import (
	"context"
	"database/sql"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/serve/middleware"
	"github.com/namewharf/namewharf/serve/rest"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// wantPlain fails the test for a 409 that reveals details of the database.
func wantPlain(t *testing.T, got answer) {
	t.Helper()
	if got.status != 409 || got.code() != fault.Conflict || got.header.Get("Retry-After") != "1" {
		t.Errorf("got %d %s, Retry-After %q, want 409", got.status, got.body, got.header.Get("Retry-After"))
	}
	for _, word := range []string{"SQL", "sql", "40001", "serialize", "relation", "locked", "BUSY", "begin", "listing_changes", "orders"} {
		if strings.Contains(got.body, word) {
			t.Errorf("the answer contains %q, a detail of the database: %s", word, got.body)
		}
	}
}

// The message of a 409 used to contain a database error. Three sessions take turns locking the row that every order writes,
// so that an order fails to serialize until its retries are used up.
func TestSerializationFailureIsNotShown(t *testing.T) {
	t.Parallel()
	url := storetest.Postgres(t)
	s := open(t, storetest.Open(t, store.Config{URL: url}))
	others, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer others.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended, locked := make(chan error), make(chan struct{}, 1000)
	for range 3 {
		go func() {
			var err error
			for ctx.Err() == nil && err == nil {
				var tx *sql.Tx
				if tx, err = others.Begin(); err != nil {
					break
				}
				if _, err = tx.Exec(`UPDATE listing_changes SET change = change WHERE environment = 'SANDBOX'`); err == nil {
					select {
					case locked <- struct{}{}:
					default:
					}
					time.Sleep(20 * time.Millisecond)
				}
				if committed := tx.Commit(); err == nil {
					err = committed
				}
			}
			ended <- err
		}()
	}
	<-locked
	wantPlain(t, s.send(s.order(orderBody)))
	cancel()
	for range 3 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	s.ok(s.order(orderBody), 201)
}

// Another process locks the embedded store for longer than the busy timeout.
func TestBusyStoreIsNotShown(t *testing.T) {
	t.Parallel()
	cfg := store.Config{Dir: t.TempDir()}
	s := open(t, storetest.Open(t, cfg))
	other := storetest.Open(t, cfg)
	release, held := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	busy := op.Operation[NoInput, written]{
		Name: "partner_busy", Title: "Busy", Doc: "Finds the store busy.", Route: op.Route{Method: "POST", Path: root + "/busy"},
		Scope: credential.ScopeBuy, Limit: ClassWrite, Effect: op.Writes, Idempotency: op.Required,
		Kept: op.Outside(s.api, func(context.Context, NoInput) (written, error) {
			go func() {
				ended <- other.Tx(t.Context(), func(store.Tx) error { close(held); <-release; return nil })
			}()
			<-held
			return written{}, nil
		}),
	}
	h := rest.New(rest.Config{
		Middleware: middleware.New(middleware.Config{BaseURL: "http://127.0.0.1", Tokens: middleware.NoTokens, Logger: slog.New(slog.DiscardHandler)}),
		Set:        op.NewSet(time.Now),
		Partner:    &rest.Partner{Set: op.NewSet(time.Now, busy), Signatures: s.api}, Version: "1",
	})
	server := httptest.NewServer(h)
	defer server.Close()
	got, err := exchange(server.Client(), s.post(root+"/busy", "").keyed("k").build(t.Context(), server.URL))
	if err != nil {
		t.Fatal(err)
	}
	wantPlain(t, got)
	close(release)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
