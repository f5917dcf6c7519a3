package partnercli

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/namewharf/namewharf/event"
)

var now = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

var by = Credential{"nw_sandbox_1", "sk_sandbox_5f0c9a1b7d3e"}

func TestSign(t *testing.T) {
	t.Parallel()
	const emptyDigest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	for _, c := range []struct{ name, method, target, wantTarget, wantLines string }{
		{"no query", "get", "/api/partner/v1/settlements", "/api/partner/v1/settlements", "GET\n/api/partner/v1/settlements\n\n"},
		{"an empty query", "GET", "/a?", "/a", "GET\n/a\n\n"},
		{"the query is sent as it is signed", "GET", "/a?b=it's+1&a=%c3%a4&&c", "/a?a=%C3%A4&b=it%27s%201&c=", "GET\n/a\na=%C3%A4&b=it%27s%201&c=\n"},
		{"what a request line cannot hold", "GET", "/bücher x?q=ü ☕", "/b%C3%BCcher%20x?q=%C3%BC%20%E2%98%95", "GET\n/b%C3%BCcher%20x\nq=%C3%BC%20%E2%98%95\n"},
		{"escapes in the path stay", "GET", "/a%2fb/./c//d", "/a%2fb/./c//d", "GET\n/a%2fb/./c//d\n\n"},
	} {
		s, err := by.Sign(Request{Method: c.method, Target: c.target, Nonce: "0123456789abcdef"}, now)
		want := c.wantLines + strconv.FormatInt(now.Unix(), 10) + "\n0123456789abcdef\n" + emptyDigest
		if err != nil || s.Target != c.wantTarget || s.Canonical != want {
			t.Errorf("%s: %s: got %q %q, %v; want %q %q", c.name, c.target, s.Target, s.Canonical, err, c.wantTarget, want)
		}
	}
	for _, target := range []string{"", "api", "http://elsewhere/", "/a#b", "/a?x=%zz", "/%zz", "/a\nb"} {
		if s, err := by.Sign(Request{Method: "GET", Target: target}, now); err == nil {
			t.Errorf("%q: got %q, want an error", target, s.Target)
		}
	}
	// A request with a known signature.
	s, err := by.Sign(Request{
		Method: "GET", Target: "/api/partner/v1/domains/search?q=wallet", Timestamp: "1760000000", Nonce: "3f2c1a9e-6f0b-4c55-9d6e-0f1a2b3c4d5e",
	}, now)
	const want = "v1=22c1775a0bd38ef3585d2d8ab5a4f681fac930f97fa9f60b72b2cd62c81eed4c"
	if err != nil || s.Headers[3].Value != want {
		t.Errorf("got %q, %v; want %s", s.Headers, err, want)
	}
	once, _ := by.Sign(Request{Method: "GET", Target: "/a"}, now)
	twice, _ := by.Sign(Request{Method: "GET", Target: "/a"}, now)
	if once.Canonical == twice.Canonical {
		t.Errorf("two requests have one nonce: %q", once.Canonical)
	}
}

// The command that is printed sends what was signed.
func TestCurlSendsWhatWasSigned(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("curl is not installed")
		}
		t.Skip("curl is not installed")
	}
	var got *http.Request
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
	}))
	defer server.Close()
	r := Request{Method: "POST", Target: "/a/../[b]{c}?q=it's {1,2}&q=$x", Body: []byte("@{\"it's\":\n\"$HOME `x` \\\"}\n"), IdempotencyKey: "it's mine"}
	s, err := by.Sign(r, now)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("sh", "-c", s.Curl(server.URL)).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", s.Curl(server.URL), err, out)
	}
	if got.Method != "POST" || got.RequestURI != s.Target || string(body) != string(r.Body) {
		t.Errorf("got %s %s %q, want POST %s %q", got.Method, got.RequestURI, body, s.Target, r.Body)
	}
	for _, h := range s.Headers {
		if got.Header.Get(h.Name) != h.Value {
			t.Errorf("%s: got %q, want %q", h.Name, got.Header.Get(h.Name), h.Value)
		}
	}
}

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// sent are the headers of a delivery, as the service makes them.
func sent(secret string, at time.Time, body string) http.Header {
	h := http.Header{}
	h.Set("X-Service-Signature", event.Signature(secret, []byte(body)))
	h.Set("X-Service-Event-Id", "evt_1")
	h.Set("X-Service-Event-Type", "order.recorded")
	h.Set("X-Service-Delivery-Attempt", "3")
	h.Set("Webhook-Id", "evt_1")
	h.Set("Webhook-Timestamp", strconv.FormatInt(at.Unix(), 10))
	h.Set("Webhook-Signature", event.StandardSignature(secret, "evt_1", at, []byte(body)))
	return h
}

func TestReceiverVerifies(t *testing.T) {
	t.Parallel()
	const body = `{"id":"evt_1"}`
	const other = "another secret, long enough"
	set := func(name, value string) func(http.Header) {
		return func(h http.Header) { h.Set(name, value) }
	}
	for _, c := range []struct {
		name     string
		signed   string
		at       time.Time
		change   func(http.Header)
		status   int
		service  Verdict
		standard Verdict
		answered int
	}{
		{"genuine", secret, now, nil, 0, Good, Good, 200},
		{"another secret", other, now, nil, 0, Wrong, Wrong, 401},
		{"not signed", secret, now, func(h http.Header) { h.Del("X-Service-Signature"); h.Del("Webhook-Signature") }, 0, Missing, Missing, 401},
		{"one of two is wrong", secret, now, set("X-Service-Signature", "0"), 0, Wrong, Good, 401},
		{"another id", secret, now, set("Webhook-Id", "evt_2"), 0, Good, Wrong, 401},
		{"no time", secret, now, set("Webhook-Timestamp", "now"), 0, Good, Wrong, 401},
		{"at the edge", secret, now.Add(-5 * time.Minute), nil, 0, Good, Good, 200},
		{"old", secret, now.Add(-5*time.Minute - time.Second), nil, 0, Good, Stale, 401},
		{"of tomorrow", secret, now.Add(5*time.Minute + time.Second), nil, 0, Good, Stale, 401},
		{"among several", secret, now, func(h http.Header) {
			h.Set("Webhook-Signature", "v1a,xx v1,AAAA "+h.Get("Webhook-Signature"))
		}, 0, Good, Good, 200},
		{
			"the secret has been replaced", other, now, set("X-Service-Signature-Previous", event.Signature(secret, []byte(body))),
			0, Previous, Wrong, 200,
		},
		{"a bad receiver", secret, now, nil, 503, Good, Good, 503},
		{"a careless receiver", other, now, nil, 204, Wrong, Wrong, 204},
	} {
		h := sent(c.signed, c.at, body)
		if c.change != nil {
			c.change(h)
		}
		var received []Delivery
		r := &Receiver{Secret: secret, Status: c.status, OnDelivery: func(d Delivery) { received = append(received, d) }, Now: func() time.Time { return now }}
		request := httptest.NewRequest("POST", "/", strings.NewReader(body))
		request.Header = h
		answer := httptest.NewRecorder()
		r.ServeHTTP(answer, request)
		if len(received) != 1 || received[0].Service != c.service || received[0].Standard != c.standard || received[0].Answered != c.answered || answer.Code != c.answered {
			t.Errorf("%s: got %+v and %d, want %s, %s, %d", c.name, received, answer.Code, c.service, c.standard, c.answered)
			continue
		}
		if d := received[0]; d.EventID != "evt_1" || d.Type != "order.recorded" || d.Attempt != 3 || string(d.Event) != body {
			t.Errorf("%s: got %+v", c.name, d)
		}
	}
}

func TestReceiverTakesPostsOnly(t *testing.T) {
	t.Parallel()
	r := &Receiver{Secret: secret, OnDelivery: func(d Delivery) { t.Errorf("received %+v", d) }}
	for want, request := range map[int]*http.Request{
		405: httptest.NewRequest("GET", "/", nil),
		400: httptest.NewRequest("POST", "/", strings.NewReader(strings.Repeat("x", maxBody+1))),
	} {
		answer := httptest.NewRecorder()
		if r.ServeHTTP(answer, request); answer.Code != want {
			t.Errorf("%s: got %d, want %d", request.Method, answer.Code, want)
		}
	}
}

func TestReceiverDelays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &Receiver{Secret: secret, Delay: 10 * time.Second, OnDelivery: func(Delivery) {}}
		begun := time.Now()
		r.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/", strings.NewReader("{}")))
		if took := time.Since(begun); took != r.Delay {
			t.Errorf("answered after %v, want %v", took, r.Delay)
		}
	})
}

// A receiver ends at once, although a sender waits for an answer.
func TestReceiverEnds(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{})
	r := &Receiver{Secret: secret, Delay: time.Hour, OnDelivery: func(Delivery) {}, Now: func() time.Time { close(arrived); return now }}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Serve(ctx, l) }()
	asked := make(chan error, 1)
	go func() {
		response, err := http.Post("http://"+l.Addr().String(), "application/json", strings.NewReader("{}"))
		if err == nil {
			err = response.Body.Close()
		}
		asked <- err
	}()
	<-arrived
	stop()
	if err := <-ended; err != nil {
		t.Errorf("got %v", err)
	}
	<-asked
}

// A service is the partner's webhook and its deliveries, as the real one answers.
type service struct {
	t       *testing.T
	webhook string
	polls   int
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := func(status int, body any) {
		w.WriteHeader(status)
		if err := json.NewEncoder(w).Encode(body); err != nil {
			s.t.Error(err)
		}
	}
	endpoint := map[string]any{"url": s.webhook, "active": true, "created_at": now}
	missing := map[string]any{"error": map[string]string{"code": "not_found", "message": "no webhook is registered"}}
	switch what := r.Method + " " + r.URL.Path; {
	case what == "PUT "+webhooks:
		var in struct{ URL, Secret string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Secret != secret {
			s.t.Errorf("PUT: got %+v, %v", in, err)
		}
		s.webhook = in.URL
		answer(200, map[string]any{"url": s.webhook, "active": true, "created_at": now})
	case s.webhook == "":
		answer(404, missing)
	case what == "GET "+webhooks:
		answer(200, endpoint)
	case what == "DELETE "+webhooks:
		s.webhook = ""
		answer(200, endpoint)
	case what == "POST "+webhooks+"/test":
		answer(200, map[string]string{"event_id": "evt_9", "event_type": event.TestType})
	case what == "GET "+webhooks+"/deliveries":
		d := event.Delivery{EventID: "evt_9", Status: event.Pending, Attempts: []event.Attempt{}}
		if s.polls++; s.polls == 2 {
			d.Status, d.Attempts = event.Delivered, []event.Attempt{{At: now, StatusCode: 200}}
		}
		answer(200, map[string]any{"deliveries": []event.Delivery{{EventID: "evt_8"}, d}})
	default:
		s.t.Errorf("unexpected %s", what)
	}
}

func newService(t *testing.T) (*service, *Client) {
	t.Helper()
	s := &service{t: t}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	c, err := NewClient(server.URL+"/", by)
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

func TestRegister(t *testing.T) {
	t.Parallel()
	s, c := newService(t)
	const mine, theirs = "http://127.0.0.1:9001", "https://partner.example/events"
	remove, err := c.Register(t.Context(), mine, secret)
	if err != nil || s.webhook != mine {
		t.Fatalf("got %q, %v", s.webhook, err)
	}
	if err := remove(t.Context()); err != nil || s.webhook != "" {
		t.Errorf("removed: got %q, %v", s.webhook, err)
	}
	if err := remove(t.Context()); err != nil {
		t.Errorf("removed twice: %v", err)
	}
	// A webhook left behind on this machine is replaced, and a removal leaves a later webhook alone.
	for _, address := range []string{"http://localhost:9002", "http://[::1]:9003"} {
		s.webhook = address
		remove, err := c.Register(t.Context(), mine, secret)
		if err != nil || s.webhook != mine {
			t.Errorf("over %s: got %q, %v", address, s.webhook, err)
			continue
		}
		s.webhook = theirs
		if err := remove(t.Context()); err != nil || s.webhook != theirs {
			t.Errorf("of another by now: got %q, %v", s.webhook, err)
		}
	}
	// A webhook of another host is not replaced.
	if _, err := c.Register(t.Context(), mine, secret); err == nil || s.webhook != theirs || !strings.Contains(err.Error(), theirs) {
		t.Errorf("over %s: got %q, %v; want an error", theirs, s.webhook, err)
	}
}

func TestTrigger(t *testing.T) {
	t.Parallel()
	s, c := newService(t)
	if _, err := c.Trigger(t.Context()); err == nil || !strings.Contains(err.Error(), "404 not_found: no webhook is registered") {
		t.Errorf("without a webhook: got %v", err)
	}
	s.webhook = "https://partner.example/events"
	d, err := c.Trigger(t.Context())
	if err != nil || d.EventID != "evt_9" || d.Status != event.Delivered || s.polls != 2 {
		t.Errorf("got %+v after %d looks, %v", d, s.polls, err)
	}
}

func TestNewClientRefuses(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"", "names.example", "ftp://names.example", "https://names.example/api", "https://names.example?a=b", "https://names.example#a"} {
		if _, err := NewClient(base, by); err == nil {
			t.Errorf("%q: want an error", base)
		}
	}
}

// A response that is not an error of the service is described by its status.
func TestErrOfAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		answer Response
		want   string
	}{
		{Response{Status: 201, Body: []byte("{}")}, ""},
		{Response{Status: 409, Body: []byte(`{"error":{"code":"conflict","message":"the domain is sold"}}`)}, "the service answered 409 conflict: the domain is sold"},
		{Response{Status: 502, Body: []byte("<html>")}, "the service answered 502 Bad Gateway"},
		{Response{Status: 302}, "the service answered 302 Found"},
	} {
		got := ""
		if err := c.answer.Err(); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%d %s: got %q, want %q", c.answer.Status, c.answer.Body, got, c.want)
		}
	}
}
