package event_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/namewharf/namewharf/event"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

func mac(key, text string) []byte {
	h := hmac.New(sha256.New, []byte(key))
	h.Write([]byte(text))
	return h.Sum(nil)
}

// wantSigned checks the headers of a request as a receiver with the secret would.
func wantSigned(t *testing.T, r request, secret, standardKey string) {
	t.Helper()
	if got, want := r.Get("X-Service-Signature"), hex.EncodeToString(mac(secret, string(r.Body))); got != want {
		t.Errorf("X-Service-Signature: got %s, want %s", got, want)
	}
	signed := r.Get("Webhook-Id") + "." + r.Get("Webhook-Timestamp") + "." + string(r.Body)
	if got, want := r.Get("Webhook-Signature"), "v1,"+base64.StdEncoding.EncodeToString(mac(standardKey, signed)); got != want {
		t.Errorf("webhook-signature: got %s, want %s", got, want)
	}
}

func TestWhatIsSent(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		d := newFixture(t, db)
		r := newReceiver(t, nil)
		d.register(acme, r.URL)
		var e event.Event
		err := db.Tx(t.Context(), func(tx store.Tx) (err error) {
			data := map[string]any{"order": map[string]any{"domain": "a&b<c>.example", "note": "ü ☕"}}
			e, err = d.Append(t.Context(), tx, acme, "order.recorded", data, time.Date(2026, 11, 21, 12, 0, 0, 123456789, time.FixedZone("", 3600)))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		d.Wake(acme)
		got := r.want(t, 1)[0]
		want := fmt.Sprintf(`{"id":%q,"type":"order.recorded","created_at":"2026-11-21T11:00:00.123456Z","partner_id":"prt_acme",`+
			`"data":{"order":{"domain":"a\u0026b\u003cc\u003e.example","note":"ü ☕"}}}`, e.ID)
		if string(got.Body) != want {
			t.Errorf("body: got %s, want %s", got.Body, want)
		}
		wantSigned(t, got, secret, secret)
		for name, want := range map[string]string{
			"Content-Type": "application/json", "X-Service-Event-Id": e.ID, "X-Service-Event-Type": "order.recorded",
			"X-Service-Delivery-Attempt": "1", "Webhook-Id": e.ID, "X-Service-Signature-Previous": "", "Idempotency-Key": "",
			"Content-Length": strconv.Itoa(len(want)),
		} {
			if got := got.Get(name); got != want {
				t.Errorf("%s: got %q, want %q", name, got, want)
			}
		}
		if sent, err := strconv.ParseInt(got.Get("Webhook-Timestamp"), 10, 64); err != nil || math.Abs(time.Since(time.Unix(sent, 0)).Seconds()) > 60 {
			t.Errorf("webhook-timestamp: got %s, want now", got.Get("Webhook-Timestamp"))
		}
		// The history has the same event.
		if h, err := json.Marshal(d.history(acme)[0].Data); err != nil || !strings.Contains(want, string(h)) {
			t.Errorf("history: got %s, error %v; want the data of %s", h, err, want)
		}
	})
}

func TestReplacedSecretSignsForADay(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		d := newFixture(t, db)
		r := newReceiver(t, nil)
		key := "sixteen bytes ok"
		second := "whsec_" + base64.StdEncoding.EncodeToString([]byte(key))
		n := 0
		next := func() request {
			n++
			d.append(acme, 1)
			return r.want(t, n)[n-1]
		}
		put := func(secret string) {
			t.Helper()
			if _, err := d.Register(t.Context(), acme, r.URL, secret); err != nil {
				t.Fatal(err)
			}
		}
		wantPrevious := func(what string, got request, secret string) {
			t.Helper()
			want := ""
			if secret != "" {
				want = hex.EncodeToString(mac(secret, string(got.Body)))
			}
			if v := got.Get("X-Service-Signature-Previous"); v != want {
				t.Errorf("%s: X-Service-Signature-Previous: got %q, want %q", what, v, want)
			}
		}
		put(secret)
		wantPrevious("one secret", next(), "")
		put(secret)
		wantPrevious("the same again", next(), "")
		put(second)
		got := next()
		wantSigned(t, got, second, key)
		wantPrevious("replaced", got, secret)
		put(second)
		wantPrevious("replaced, and the same again", next(), secret)
		d.advance(acme, event.SecretGrace-time.Minute)
		wantPrevious("almost a day later", next(), secret)
		d.advance(acme, 2*time.Minute)
		wantPrevious("a day later", next(), "")
		put(secret)
		if err := d.Unregister(t.Context(), acme); err != nil {
			t.Fatal(err)
		}
		put(second)
		wantPrevious("registered anew", next(), "")
	})
}

func TestSecretsAreSealed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		d := newLog(t, db)
		d.register(acme, "https://example.com/")
		if _, err := d.Register(t.Context(), acme, "https://example.com/", "another"+secret); err != nil {
			t.Fatal(err)
		}
		err := db.Read(t.Context(), func(tx store.Tx) error {
			var current, previous []byte
			err := tx.QueryRow(t.Context(), `SELECT secret, previous FROM webhook_endpoints`).Scan(&current, &previous)
			if len(previous) == 0 || strings.Contains(string(current)+string(previous), secret) {
				t.Errorf("the database has %q and %q", current, previous)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// spans of the retries, in their order.
var spans = []time.Duration{
	5 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 24 * time.Hour, 48 * time.Hour,
}

// TestScheduleByTheTestClock lets an endpoint fail until it is disabled, and enables it again.
func TestScheduleByTheTestClock(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		d := newFixture(t, db)
		var mended atomic.Bool
		r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
			if !mended.Load() {
				w.WriteHeader(http.StatusInternalServerError)
			}
		})
		d.register(sandbox, r.URL)
		e := d.append(sandbox, 1)[0]
		for i, span := range spans {
			got := d.wantDelivery(sandbox, e.ID, event.Pending, i+1)
			last := got.Attempts[i]
			if last.StatusCode != 500 || last.Error != "" {
				t.Errorf("attempt %d: got %+v, want status 500", i+1, last)
			}
			if wait := got.NextTryAt.Sub(last.At); wait > span+10*time.Second || wait < span-span/10 {
				t.Errorf("after attempt %d: got the next after %v, want after %v", i+1, wait, span)
			}
			if i > 0 {
				d.advance(sandbox, span*8/10)
				if now := d.delivery(sandbox, e.ID); len(now.Attempts) != i+1 {
					t.Fatalf("after attempt %d: got another before its time: %+v", i+1, now)
				}
				span -= span * 8 / 10
			}
			d.advance(sandbox, span)
		}
		d.wantDelivery(sandbox, e.ID, event.Failed, 10)
		for i, got := range r.got() {
			if got.attempt() != i+1 || string(got.Body) != string(r.got()[0].Body) || got.Get("Webhook-Id") != e.ID {
				t.Errorf("request %d: got attempt %d of %s, want the same event again", i+1, got.attempt(), got.Get("Webhook-Id"))
			}
		}
		wantActive := func(what string, want bool) {
			t.Helper()
			if got, err := d.Endpoint(t.Context(), sandbox); err != nil || got.Active != want {
				t.Errorf("%s: got %+v, error %v; want active %v", what, got, err, want)
			}
		}
		wantActive("after a failed delivery", true) // of less than four days
		waits := d.append(sandbox, 1)[0]
		d.wantDelivery(sandbox, waits.ID, event.Pending, 1)
		d.advance(sandbox, 32*time.Hour)
		wantActive("after five days", false)
		d.wantDelivery(sandbox, waits.ID, event.Failed, 1)

		_, err := d.Test(t.Context(), sandbox)
		wantCode(t, "test a disabled webhook", err, fault.Conflict)
		_, err = d.Redeliver(t.Context(), sandbox, d.delivery(sandbox, e.ID).ID)
		wantCode(t, "redeliver to a disabled webhook", err, fault.Conflict)
		d.append(sandbox, 1) // is not sent, now or later
		mended.Store(true)
		d.register(sandbox, r.URL)
		wantActive("put again", true)
		if _, err := d.Redeliver(t.Context(), sandbox, d.delivery(sandbox, e.ID).ID); err != nil {
			t.Fatal(err)
		}
		d.wantDelivery(sandbox, e.ID, event.Delivered, 11)
		if n := len(r.got()); n != 12 {
			t.Errorf("got %d requests, want 12", n)
		}
	})
}

func TestSuccessKeepsAnEndpointOn(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		d := newFixture(t, db)
		r := newReceiver(t, func(w http.ResponseWriter, req *http.Request) {
			if req.Header.Get("X-Service-Event-Type") != event.TestType {
				w.WriteHeader(http.StatusGone)
			}
		})
		d.register(sandbox, r.URL)
		e := d.append(sandbox, 1)[0]
		for i, span := range spans {
			d.wantDelivery(sandbox, e.ID, event.Pending, i+1)
			d.advance(sandbox, span)
		}
		d.wantDelivery(sandbox, e.ID, event.Failed, len(spans)+1)
		tested, err := d.Test(t.Context(), sandbox)
		if err != nil {
			t.Fatal(err)
		}
		d.wantDelivery(sandbox, tested.ID, event.Delivered, 1)
		d.advance(sandbox, 10*24*time.Hour)
		if got, err := d.Endpoint(t.Context(), sandbox); err != nil || !got.Active {
			t.Errorf("got %+v, error %v; want it active", got, err)
		}
	})
}

func TestEndpointComesAndGoes(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		d := newFixture(t, db)
		r := newReceiver(t, nil)
		_, err := d.Endpoint(t.Context(), acme)
		wantCode(t, "read before", err, fault.NotFound)
		wantCode(t, "remove before", d.Unregister(t.Context(), acme), fault.NotFound)
		_, err = d.Test(t.Context(), acme)
		wantCode(t, "test before", err, fault.NotFound)
		_, err = d.Redeliver(t.Context(), acme, "dlv_0")
		wantCode(t, "redeliver before", err, fault.NotFound)
		_, err = d.Register(t.Context(), acme, "http://example.com/", secret)
		wantCode(t, "a bad URL", err, fault.Validation)
		_, err = d.Register(t.Context(), acme, r.URL, "short")
		wantCode(t, "a bad secret", err, fault.Validation)

		made := d.register(acme, "https://example.com/")
		if !made.Active || made.CreatedAt.IsZero() || made.URL != "https://example.com/" {
			t.Errorf("got %+v", made)
		}
		changed := d.register(acme, r.URL)
		if read, err := d.Endpoint(t.Context(), acme); err != nil || read != changed || changed.CreatedAt != made.CreatedAt || changed.URL != r.URL {
			t.Errorf("got %+v and then %+v, error %v; want the URL to change and nothing else of %+v", changed, read, err, made)
		}
		_, err = d.Endpoint(t.Context(), sandbox)
		wantCode(t, "the other environment", err, fault.NotFound)
		tested, err := d.Test(t.Context(), acme)
		if err != nil || tested.Type != event.TestType {
			t.Fatalf("test: got %+v, error %v", tested, err)
		}
		d.wantDelivery(acme, tested.ID, event.Delivered, 1)
		for _, id := range []string{"", "dlv_", "dlv_unknown", tested.ID} {
			_, err = d.Redeliver(t.Context(), acme, id)
			wantCode(t, "redeliver "+id, err, fault.NotFound)
		}
		if _, err := d.Redeliver(t.Context(), acme, d.delivery(acme, tested.ID).ID); err != nil {
			t.Fatal(err)
		}
		d.wantDelivery(acme, tested.ID, event.Delivered, 2)
		if got := r.want(t, 2)[1]; got.attempt() != 2 || got.Get("Webhook-Id") != tested.ID {
			t.Errorf("redelivered: got attempt %d of %s", got.attempt(), got.Get("Webhook-Id"))
		}
		if err := d.Unregister(t.Context(), acme); err != nil {
			t.Fatal(err)
		}
		_, err = d.Endpoint(t.Context(), acme)
		wantCode(t, "read afterwards", err, fault.NotFound)
	})
}

func TestDeliveriesInPages(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		d := newLog(t, db)
		d.register(acme, "https://example.com/")
		sent := d.append(acme, 7)
		var got []string
		for cursor := ""; ; {
			page, next, err := d.Deliveries(t.Context(), acme, event.DeliveryFilter{Limit: 3, Cursor: cursor, Status: event.Pending})
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range page {
				got = append(got, v.EventID)
				if v.Attempts == nil || v.NextTryAt.IsZero() || v.EventType != "order.recorded" {
					t.Errorf("got %+v", v)
				}
			}
			if cursor = next; cursor == "" {
				break
			}
		}
		if len(got) != len(sent) || got[0] != sent[6].ID || got[6] != sent[0].ID {
			t.Errorf("got %v, want %v from the last to the first", got, ids(sent))
		}
		if page, next, err := d.Deliveries(t.Context(), acme, event.DeliveryFilter{Status: event.Failed}); err != nil || page == nil || len(page) != 0 || next != "" {
			t.Errorf("failed ones: got %v, %q, error %v; want an empty page", page, next, err)
		}
		for _, f := range []event.DeliveryFilter{{Status: "lost"}, {Cursor: "dlv_unknown"}, {Cursor: "x"}, {Limit: 101}, {Limit: -1}} {
			_, _, err := d.Deliveries(t.Context(), acme, f)
			wantCode(t, fmt.Sprintf("%+v", f), err, fault.Validation)
		}
	})
}

// TestTwoDispatchersShareTheWork runs two on one database: nothing is sent twice, and each has a part in it.
func TestTwoDispatchersShareTheWork(t *testing.T) {
	t.Parallel()
	storetest.EachConfig(t, func(t *testing.T, cfg store.Config) {
		a, b := newFixture(t, storetest.Open(t, cfg)), newFixture(t, storetest.Open(t, cfg))
		r := newReceiver(t, nil)
		var sent []event.Event
		for i := range 4 {
			s := event.Stream{Partner: fmt.Sprintf("prt_%d", i), Environment: "LIVE"}
			a.register(s, r.URL)
			for range 5 {
				e := a.append(s, 5)
				b.Wake(s)
				sent = append(sent, e...)
			}
		}
		r.want(t, len(sent))
		for i := range 4 {
			s := event.Stream{Partner: fmt.Sprintf("prt_%d", i), Environment: "LIVE"}
			for _, e := range a.history(s) {
				a.wantDelivery(s, e.ID, event.Delivered, 1)
			}
		}
		if n := len(r.got()); n != len(sent) {
			t.Errorf("got %d requests, want %d: each event once", n, len(sent))
		}
	})
}

func TestDispatcherShutsDown(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		began, answer := make(chan struct{}, 100), make(chan struct{})
		r := newReceiver(t, func(http.ResponseWriter, *http.Request) {
			began <- struct{}{}
			<-answer
		})
		d := newFixture(t, db)
		d.register(acme, r.URL)
		sent := d.append(acme, 30)
		for range 4 {
			<-began
		}
		ended := make(chan error, 1)
		go func() { ended <- d.close() }()
		time.Sleep(50 * time.Millisecond) // more likely than not, the dispatcher knows by now; if not, the test shows less
		close(answer)
		if err := <-ended; err != nil {
			t.Fatalf("the dispatcher ended with: %v", err)
		}
		got := len(r.got())
		done := 0
		for _, e := range sent {
			if v := d.delivery(acme, e.ID); v.Status == event.Delivered {
				done++
			}
		}
		if done != got {
			t.Errorf("%d events were sent, and %d are written down as delivered", got, done)
		}
		// Claims without an attempt are released: the next dispatcher does not wait for them to expire.
		next := newFixture(t, db)
		r.want(t, len(sent))
		for _, e := range sent {
			next.wantDelivery(acme, e.ID, event.Delivered, 1)
		}
	})
}

// brokenSealer cannot decrypt the secrets of one stream.
type brokenSealer struct{ store.Sealer }

func (f brokenSealer) Open(sealed, context []byte) ([]byte, error) {
	if strings.Contains(string(context), acme.Environment) {
		return nil, errors.New("lost the key")
	}
	return f.Sealer.Open(sealed, context)
}

func TestLostKeyStopsOneEndpointOnly(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		d := newFixture(t, db, func(c *event.Config) { c.Secrets = brokenSealer{c.Secrets} })
		r := newReceiver(t, nil)
		d.register(acme, r.URL)
		d.register(sandbox, r.URL)
		lost := d.append(acme, 1)[0]
		e := d.append(sandbox, 1)[0]
		d.wantDelivery(sandbox, e.ID, event.Delivered, 1)
		d.wantDelivery(acme, lost.ID, event.Pending, 0)
		if n := len(r.got()); n != 1 {
			t.Errorf("got %d requests, want 1", n)
		}
		d.register(acme, r.URL) // is possible all the same
	})
}

func TestAdvanceRefusesToGoBack(t *testing.T) {
	t.Parallel()
	d := newLog(t, storetest.Open(t, store.Config{Dir: t.TempDir()}))
	err := d.db.Tx(t.Context(), func(tx store.Tx) error { return d.Advance(context.Background(), tx, acme, -time.Second) })
	if err == nil {
		t.Error("the clock went back")
	}
}
