package partner

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/event"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/market"
)

func loopback(s *options) {
	s.Webhooks = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
}

// A receiver takes what is delivered.
type receiver struct {
	*httptest.Server
	got chan delivered
}

type delivered struct {
	header http.Header
	body   []byte
	event  struct {
		ID   string `json:"id"`
		Type string `json:"type"`
		Data json.RawMessage
	}
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{got: make(chan delivered, 100)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, in *http.Request) {
		d := delivered{header: in.Header}
		d.body, _ = io.ReadAll(in.Body)
		_ = json.Unmarshal(d.body, &d.event)
		r.got <- d
	}))
	t.Cleanup(r.Close)
	return r
}

// next is the next delivery.
func (r *receiver) next(t *testing.T) delivered {
	t.Helper()
	select {
	case d := <-r.got:
		return d
	case <-time.After(20 * time.Second):
		t.Fatal("nothing is delivered")
		return delivered{}
	}
}

// What happens to an order is delivered, signed, and can be read again.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *testServer) {
		r := newReceiver(t)
		s.want(s.get(webhooks), 404, fault.NotFound)
		s.want(s.post(webhooks+"/test", ""), 404, fault.NotFound)
		registered := s.ok(s.put(webhooks, `{"url":"`+r.URL+`/hook","secret":"webhook-secret-0123456789"}`), 200)
		if registered.text("url") != r.URL+"/hook" || registered.json["active"] != true || registered.text("created_at") == "" || strings.Contains(registered.body, "secret") {
			t.Errorf("registered: %s", registered.body)
		}
		if got := s.ok(s.get(webhooks), 200); got.body != registered.body {
			t.Errorf("got %s, want %s", got.body, registered.body)
		}

		order := s.ok(s.order(orderBody), 201).text("public_id")
		d := r.next(t)
		if got, want := d.header.Get("X-Service-Signature"), event.Signature("webhook-secret-0123456789", d.body); got != want {
			t.Errorf("signature: got %s, want %s", got, want)
		}
		if d.event.Type != "order.recorded" || !strings.Contains(string(d.event.Data), order) {
			t.Errorf("delivered: %s", d.body)
		}
		history := s.ok(s.get(root+"/events"), 200)
		if !strings.Contains(history.body, string(d.body)) {
			t.Errorf("the delivered event %s differs from the one in the history, %s", d.body, history.body)
		}

		test := s.ok(s.post(webhooks+"/test", "").keyed("t"), 200)
		if d := r.next(t); d.event.Type != event.TestType || d.event.ID != test.text("event_id") {
			t.Errorf("test: %s, %s", test.body, d.body)
		}
		if again := s.ok(s.post(webhooks+"/test", "").keyed("t"), 200); again.body != test.body {
			t.Errorf("a test again: %s, want %s", again.body, test.body)
		}

		if _, err := s.operator.Transition(t.Context(), order, "cancel", "fraud"); err != nil {
			t.Fatal(err)
		}
		if d := r.next(t); d.event.Type != "order.refunded" {
			t.Errorf("what the operator did: %s", d.body)
		}

		deliveries := s.deliveredTo(3, 1)
		var types []string
		for _, d := range deliveries {
			types = append(types, d["event_type"].(string))
		}
		if !slices.Equal(types, []string{"order.refunded", event.TestType, "order.recorded"}) {
			t.Fatalf("deliveries: %v", types)
		}
		id := deliveries[2]["delivery_id"].(string)
		s.ok(s.post(webhooks+"/deliveries/"+id+"/redeliver", ""), 200)
		if d := r.next(t); d.event.Type != "order.recorded" {
			t.Errorf("delivered again: %s", d.body)
		}
		s.deliveredTo(3, 2)
		if _, err := s.operator.Redeliver(t.Context(), s.partner.ID, market.Sandbox, id); err != nil {
			t.Error(err)
		}
		r.next(t)

		first := s.ok(s.get(webhooks+"/deliveries?limit=1"), 200)
		next, _ := first.json["page"].(map[string]any)["next_cursor"].(string)
		if next == "" || len(objects(s.ok(s.get(webhooks+"/deliveries?limit=100&cursor="+next), 200), "deliveries")) != 2 {
			t.Errorf("pages of deliveries: %s", first.body)
		}

		if gone := s.ok(s.delete(webhooks), 200); gone.text("url") != r.URL+"/hook" || gone.json["active"] != false {
			t.Errorf("removed: %s", gone.body)
		}
		s.want(s.get(webhooks), 404, fault.NotFound)
		s.want(s.delete(webhooks), 404, fault.NotFound)
	}, loopback)
}

// deliveredTo waits until so many events are delivered, the first of them after so many attempts.
func (s *testServer) deliveredTo(events, attempts int) (deliveries []map[string]any) {
	s.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		deliveries = objects(s.ok(s.get(webhooks+"/deliveries?status=delivered"), 200), "deliveries")
		if len(deliveries) == events && len(deliveries[events-1]["attempts"].([]any)) == attempts {
			return deliveries
		}
	}
	s.Fatalf("%v are delivered, want %d events and %d attempts of the first", deliveries, events, attempts)
	return nil
}

func TestWebhooksRefuse(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	for _, test := range []struct{ body, field string }{
		{`{"url":"http://partner.example/hook","secret":"0123456789abcdef"}`, "url"},
		{`{"url":"https://127.0.0.1/hook","secret":"0123456789abcdef"}`, "url"},
		{`{"url":"https://[::ffff:169.254.169.254]/","secret":"0123456789abcdef"}`, "url"},
		{`{"url":"https://u:p@partner.example/","secret":"0123456789abcdef"}`, "url"},
		{`{"url":"https://partner.example/hook","secret":"0123456789abcde"}`, "secret"},
		{`{"url":"https://partner.example/hook","secret":"` + strings.Repeat("s", 257) + `"}`, "secret"},
		{`{"url":"https://partner.example/hook"}`, "secret"},
		{`{"secret":"0123456789abcdef"}`, "url"},
		{`{"url":"https://partner.example/hook","secret":"0123456789abcdef","active":true}`, "active"},
	} {
		if got := s.want(s.put(webhooks, test.body), 400, fault.Validation); got.fields() != test.field {
			t.Errorf("%s: names %q, want %q", test.body, got.fields(), test.field)
		}
	}
	s.want(s.get(root+"/events?after_id=evt_nothing"), 400, fault.Validation)
	s.want(s.get(root+"/events?limit=101"), 400, fault.Validation)
}

// Pages of events continue after the last event seen, without gaps or duplicates.
func TestEvents(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *testServer) {
		order := s.ok(s.order(orderBody), 201).text("public_id")
		for range 3 {
			s.ok(s.post(root+"/sandbox/orders/"+order+"/advance", ""), 200)
		}
		want := []string{"order.recorded", "order.transfer_started", "order.transfer_completed", "order.settled"}
		var got []string
		for query := "limit=2"; ; {
			page := s.ok(s.get(root+"/events?"+query), 200)
			for _, e := range objects(page, "events") {
				got = append(got, e["type"].(string))
				if e["partner_id"] != s.partner.ID || !strings.HasPrefix(e["id"].(string), "evt_") {
					t.Errorf("%v", e)
				}
			}
			if _, ok := page.json["next_cursor"]; !ok {
				t.Errorf("no next_cursor: %s", page.body)
			}
			next := page.text("next_cursor")
			if next == "" {
				break
			}
			query = "limit=2&after_id=" + next
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}
