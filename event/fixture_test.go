package event_test

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/namewharf/namewharf/event"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/store"
)

const secret = "0123456789abcdef-secret"

var (
	acme     = event.Stream{Partner: "prt_acme", Environment: "LIVE"}
	sandbox  = event.Stream{Partner: "prt_acme", Environment: "SANDBOX"}
	loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
)

// gcm seals with AES-GCM and a fixed key.
type gcm struct{ cipher.AEAD }

func newSealer() store.Sealer {
	block, err := aes.NewCipher(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		panic(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	return gcm{aead}
}

func (g gcm) Seal(plain, context []byte) []byte {
	nonce := make([]byte, g.NonceSize())
	rand.Read(nonce)
	return g.AEAD.Seal(nonce, nonce, plain, context)
}

func (g gcm) Open(sealed, context []byte) ([]byte, error) {
	if len(sealed) < g.NonceSize() {
		return nil, errors.New("too short")
	}
	return g.AEAD.Open(nil, sealed[:g.NonceSize()], sealed[g.NonceSize():], context)
}

// A fixture is a Log on a database, with a dispatcher while it is open.
type fixture struct {
	testing.TB
	*event.Log
	db    *store.DB
	close func() error // stops the dispatcher, which the end of the test does too
}

// newFixture opens a fixture with a dispatcher that may reach loopback addresses.
func newFixture(t testing.TB, db *store.DB, options ...func(*event.Config)) *fixture {
	t.Helper()
	d := newLog(t, db, options...)
	d.start()
	return d
}

// newLog opens a fixture without a dispatcher.
func newLog(t testing.TB, db *store.DB, options ...func(*event.Config)) *fixture {
	t.Helper()
	cfg := event.Config{DB: db, Secrets: newSealer(), Allow: loopback, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}
	for _, o := range options {
		o(&cfg)
	}
	return &fixture{TB: t, Log: event.New(cfg), db: db, close: func() error { return nil }}
}

// start begins a dispatcher.
func (d *fixture) start() {
	d.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Deliver(ctx) }()
	d.close = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	d.Cleanup(func() {
		if err := d.close(); err != nil {
			d.Errorf("the dispatcher ended with: %v", err)
		}
	})
}

// append appends events, each in its own transaction, and wakes the dispatcher.
func (d *fixture) append(s event.Stream, n int) []event.Event {
	d.Helper()
	var all []event.Event
	for i := range n {
		var e event.Event
		err := d.db.Tx(d.Context(), func(tx store.Tx) (err error) {
			e, err = d.Append(d.Context(), tx, s, "order.recorded", map[string]any{"order": map[string]any{"n": i}}, time.Now())
			return err
		})
		if err != nil {
			d.Fatalf("append: %v", err)
		}
		d.Wake(s)
		all = append(all, e)
	}
	return all
}

func (d *fixture) register(s event.Stream, url string) event.Endpoint {
	d.Helper()
	e, err := d.Register(d.Context(), s, url, secret)
	if err != nil {
		d.Fatalf("register %s: %v", url, err)
	}
	return e
}

// advance puts the stream's clock forward.
func (d *fixture) advance(s event.Stream, by time.Duration) {
	d.Helper()
	err := d.db.Tx(d.Context(), func(tx store.Tx) error { return d.Advance(d.Context(), tx, s, by) })
	if err != nil {
		d.Fatalf("advance: %v", err)
	}
	d.Wake(s)
}

// history reads the whole stream, a few events at a time.
func (d *fixture) history(s event.Stream) []event.Event {
	d.Helper()
	var all []event.Event
	for after := ""; ; {
		page, next, err := d.History(d.Context(), s, after, 7)
		if err != nil {
			d.Fatalf("history: %v", err)
		}
		all = append(all, page...)
		if after = next; after == "" {
			return all
		}
	}
}

// delivery finds the delivery of an event.
func (d *fixture) delivery(s event.Stream, id string) event.Delivery {
	d.Helper()
	for cursor := ""; ; {
		page, next, err := d.Deliveries(d.Context(), s, event.DeliveryFilter{Cursor: cursor})
		if err != nil {
			d.Fatalf("deliveries: %v", err)
		}
		for _, v := range page {
			if v.EventID == id {
				return v
			}
		}
		if cursor = next; cursor == "" {
			d.Fatalf("there is no delivery of %s", id)
		}
	}
}

// wantDelivery waits until the delivery of an event has the status and that many attempts.
func (d *fixture) wantDelivery(s event.Stream, id string, status event.Status, attempts int) event.Delivery {
	d.Helper()
	var got event.Delivery
	d.eventually(func() bool {
		got = d.delivery(s, id)
		return got.Status == status && len(got.Attempts) == attempts
	}, func() { d.Fatalf("delivery: got %+v, want %s after %d attempts", got, status, attempts) })
	return got
}

// eventually polls until ok, for a time that suits a slow machine.
func (d *fixture) eventually(ok func() bool, otherwise func()) {
	d.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			otherwise()
			return
		}
	}
}

func wantCode(t testing.TB, what string, err error, code fault.Code) {
	t.Helper()
	if !fault.Is(err, code) {
		t.Errorf("%s: got error %v, want %s", what, err, code)
	}
}

// A request is a received request.
type request struct {
	http.Header
	Body []byte
	At   time.Time
}

func (r request) attempt() int {
	n, _ := strconv.Atoi(r.Get("X-Service-Delivery-Attempt"))
	return n
}

// A receiver is a webhook endpoint on loopback that stores its requests.
type receiver struct {
	*httptest.Server
	mu  sync.Mutex
	all []request
}

// newReceiver starts a receiver that answers as answer does, or with 200 if that is nil.
func newReceiver(t testing.TB, answer http.HandlerFunc) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(r.remember(answer))
	t.Cleanup(func() {
		r.CloseClientConnections()
		r.Close()
	})
	return r
}

func (r *receiver) remember(answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		r.mu.Lock()
		r.all = append(r.all, request{Header: req.Header, Body: body, At: time.Now()})
		r.mu.Unlock()
		if answer != nil {
			answer(w, req)
		}
	}
}

// got returns the requests so far.
func (r *receiver) got() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]request(nil), r.all...)
}

// want waits for n requests and returns all.
func (r *receiver) want(t testing.TB, n int) []request {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		all := r.got()
		if len(all) >= n {
			return all
		}
		if time.Now().After(end) {
			t.Fatalf("the receiver got %d requests, want %d", len(all), n)
		}
	}
}
