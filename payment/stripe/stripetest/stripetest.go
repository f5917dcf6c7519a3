// Package stripetest is a small Stripe on loopback, for tests: it speaks the part of the API that package stripe uses, keeps state
// and idempotency keys as Stripe does, and lets a test play the buyer and the bank.
package stripetest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// What the server accepts and signs with.
const (
	Key           = "sk_test_stripetest"
	WebhookSecret = "whsec_stripetest"
)

// A Server is a Stripe. It is safe for concurrent use.
type Server struct {
	URL string

	// Intercept, if not nil, sees each request first, before it takes effect and after, and answers in the server's place when it
	// returns true. Set it before the first request.
	Intercept func(w http.ResponseWriter, r *http.Request, after bool) bool

	http     *httptest.Server
	now      func() time.Time
	mu       sync.Mutex
	sessions map[string]*session
	byID     map[string]*session // by our id of the payment
	byIntent map[string]*session
	keys     map[string]answer
	events   []event
	numbers  int
	requests map[string]int // by what was asked
}

// A session is a Checkout session with its payment intent, charge and dispute.
type session struct {
	id, intent, charge    string
	payment               string // client_reference_id
	status                string // open, complete, expired
	intentStatus          string
	currency              string
	amount, received      int64
	metadata              map[string]string
	expires               time.Time
	refunded              bool
	dispute               string // its status; empty: none
	successURL, cancelURL string
}

type answer struct {
	fingerprint string
	status      int
	body        []byte
}

type event struct {
	payment, kind string
	body          []byte
}

// New returns a server by the clock; nil is time.Now. Close it.
func New(now func() time.Time) *Server {
	if now == nil {
		now = time.Now
	}
	s := &Server{
		now: now, sessions: map[string]*session{}, byID: map[string]*session{}, byIntent: map[string]*session{},
		keys: map[string]answer{}, requests: map[string]int{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/checkout/sessions", s.write(s.create))
	mux.HandleFunc("GET /v1/checkout/sessions/{id}", s.read(s.retrieve))
	mux.HandleFunc("POST /v1/checkout/sessions/{id}/expire", s.write(s.expire))
	mux.HandleFunc("POST /v1/payment_intents/{id}/capture", s.write(s.capture))
	mux.HandleFunc("POST /v1/payment_intents/{id}/cancel", s.write(s.cancel))
	mux.HandleFunc("POST /v1/refunds", s.write(s.refund))
	mux.HandleFunc("GET /v1/disputes", s.read(s.disputes))
	s.http = httptest.NewServer(mux)
	s.URL = s.http.URL
	return s
}

// Close ends the server.
func (s *Server) Close() { s.http.Close() }

// A failure is an error of Stripe's.
type failure struct {
	status     int
	kind, code string
}

func invalid(code string) *failure {
	return &failure{status: 400, kind: "invalid_request_error", code: code}
}

type handler func(r *http.Request, form url.Values) (any, *failure)

// read serves a request that changes nothing.
func (s *Server) read(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.intercepted(w, r, false) || !authorized(w, r) {
			return
		}
		s.mu.Lock()
		s.requests[r.Method+" "+r.URL.Path]++
		body, f := h(r, r.URL.Query())
		s.mu.Unlock()
		if s.intercepted(w, r, true) {
			return
		}
		send(w, render(body, f))
	}
}

// write serves a request that changes something, once for each idempotency key.
func (s *Server) write(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.intercepted(w, r, false) || !authorized(w, r) {
			return
		}
		text, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		form, _ := url.ParseQuery(string(text))
		sum := sha256.Sum256([]byte(r.URL.Path + "\n" + form.Encode()))
		fingerprint, key := hex.EncodeToString(sum[:]), r.Header.Get("Idempotency-Key")
		s.mu.Lock()
		s.requests[r.Method+" "+r.URL.Path]++
		a, known := s.keys[key]
		switch {
		case known && a.fingerprint != fingerprint:
			a = render(nil, &failure{status: 400, kind: "idempotency_error"})
		case known:
			w.Header().Set("Idempotent-Replayed", "true")
		default:
			a = render(h(r, form))
			a.fingerprint = fingerprint
			s.keys[key] = a
		}
		s.mu.Unlock()
		if s.intercepted(w, r, true) {
			return
		}
		send(w, a)
	}
}

// KeepFailure makes the server answer a 500 to an idempotency key from now on, as Stripe does after it failed once.
func (s *Server) KeepFailure(path, key string, form url.Values) {
	sum := sha256.Sum256([]byte(path + "\n" + form.Encode()))
	a := render(nil, &failure{status: 500, kind: "api_error"})
	a.fingerprint = hex.EncodeToString(sum[:])
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys[key] = a
}

func (s *Server) intercepted(w http.ResponseWriter, r *http.Request, after bool) bool {
	return s.Intercept != nil && s.Intercept(w, r, after)
}

func authorized(w http.ResponseWriter, r *http.Request) bool {
	if r.Header.Get("Authorization") == "Bearer "+Key {
		return true
	}
	send(w, render(nil, &failure{status: 401, kind: "invalid_request_error"}))
	return false
}

func render(body any, f *failure) answer {
	status := http.StatusOK
	if f != nil {
		status = f.status
		body = map[string]any{"error": map[string]any{"type": f.kind, "code": f.code, "message": "the buyer's e-mail is ada@example.com"}}
	}
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return answer{status: status, body: text}
}

func send(w http.ResponseWriter, a answer) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Request-Id", "req_test")
	w.WriteHeader(a.status)
	w.Write(a.body)
}

// id makes an id. The caller has locked mu.
func (s *Server) id(prefix string) string {
	s.numbers++
	return fmt.Sprintf("%s_test_%d", prefix, s.numbers)
}

func (s *Server) create(_ *http.Request, form url.Values) (any, *failure) {
	amount, err := strconv.ParseInt(form.Get("line_items[0][price_data][unit_amount]"), 10, 64)
	expires, late := strconv.ParseInt(form.Get("expires_at"), 10, 64)
	switch {
	case form.Get("mode") != "payment" || form.Get("payment_intent_data[capture_method]") != "manual",
		form.Get("line_items[0][quantity]") != "1", form.Get("line_items[0][price_data][product_data][name]") == "",
		form.Get("success_url") == "", err != nil, late != nil:
		return nil, invalid("parameter_missing")
	case time.Unix(expires, 0).Sub(s.now()) < 30*time.Minute-time.Second, time.Unix(expires, 0).Sub(s.now()) > 24*time.Hour:
		return nil, invalid("parameter_invalid")
	case amount < 50:
		return nil, invalid("amount_too_small")
	}
	c := &session{
		id: s.id("cs"), payment: form.Get("client_reference_id"), status: "open", currency: form.Get("line_items[0][price_data][currency]"),
		amount: amount, expires: time.Unix(expires, 0), metadata: map[string]string{},
		successURL: form.Get("success_url"), cancelURL: form.Get("cancel_url"),
	}
	for k, v := range form {
		if name, ok := strings.CutPrefix(k, "payment_intent_data[metadata]["); ok {
			c.metadata[strings.TrimSuffix(name, "]")] = v[0]
		}
	}
	s.sessions[c.id], s.byID[c.payment] = c, c
	return s.sessionJSON(c, false), nil
}

func (s *Server) retrieve(r *http.Request, form url.Values) (any, *failure) {
	c := s.session(r.PathValue("id"))
	if c == nil {
		return nil, &failure{status: 404, kind: "invalid_request_error", code: "resource_missing"}
	}
	return s.sessionJSON(c, strings.HasPrefix(form.Get("expand[0]"), "payment_intent")), nil
}

// session finds a session, which may have come to its end. The caller has locked mu.
func (s *Server) session(id string) *session {
	c := s.sessions[id]
	if c != nil && c.status == "open" && !s.now().Before(c.expires) {
		c.status = "expired"
		s.emit(c, "checkout.session.expired", s.sessionJSON(c, false))
	}
	return c
}

func (s *Server) expire(r *http.Request, _ url.Values) (any, *failure) {
	c := s.session(r.PathValue("id"))
	if c == nil || c.status != "open" {
		return nil, invalid("")
	}
	c.status = "expired"
	s.emit(c, "checkout.session.expired", s.sessionJSON(c, false))
	return s.sessionJSON(c, false), nil
}

func (s *Server) capture(r *http.Request, _ url.Values) (any, *failure) {
	c := s.byIntent[r.PathValue("id")]
	if c == nil || c.intentStatus != "requires_capture" {
		return nil, invalid("payment_intent_unexpected_state")
	}
	c.intentStatus, c.received = "succeeded", c.amount
	s.emit(c, "payment_intent.succeeded", s.intentJSON(c))
	return s.intentJSON(c), nil
}

func (s *Server) cancel(r *http.Request, _ url.Values) (any, *failure) {
	c := s.byIntent[r.PathValue("id")]
	if c == nil || c.intentStatus != "requires_capture" {
		return nil, invalid("payment_intent_unexpected_state")
	}
	c.intentStatus = "canceled"
	s.emit(c, "payment_intent.canceled", s.intentJSON(c))
	return s.intentJSON(c), nil
}

func (s *Server) refund(_ *http.Request, form url.Values) (any, *failure) {
	c := s.byIntent[form.Get("payment_intent")]
	switch {
	case c == nil || c.intentStatus != "succeeded":
		return nil, invalid("payment_intent_unexpected_state")
	case c.refunded:
		return nil, invalid("charge_already_refunded")
	case c.dispute != "" && c.dispute != "won":
		return nil, invalid("charge_disputed")
	}
	c.refunded = true
	s.emit(c, "charge.refunded", s.chargeJSON(c))
	return map[string]any{"object": "refund", "id": s.id("re"), "amount": c.amount, "currency": c.currency, "status": "succeeded"}, nil
}

func (s *Server) disputes(_ *http.Request, form url.Values) (any, *failure) {
	data := []any{}
	for _, c := range s.sessions {
		if c.charge == form.Get("charge") && c.dispute != "" {
			data = append(data, disputeJSON(c))
		}
	}
	return map[string]any{"object": "list", "data": data, "has_more": false, "url": "/v1/disputes"}, nil
}
