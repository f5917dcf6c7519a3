package stripetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/stripe/stripe-go/v85/webhook"
)

var errState = errors.New("stripetest: not in this status")

// Pay is the buyer who pays on Stripe's page: the money of the payment is held.
func (s *Server) Pay(payment string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.byID[payment]
	if c == nil || s.session(c.id).status != "open" {
		return errState
	}
	c.status, c.intent, c.charge, c.intentStatus = "complete", s.id("pi"), s.id("ch"), "requires_capture"
	s.byIntent[c.intent] = c
	s.emit(c, "payment_intent.amount_capturable_updated", s.intentJSON(c))
	s.emit(c, "checkout.session.completed", s.sessionJSON(c, false))
	return nil
}

// Decline is the buyer whose card is declined.
func (s *Server) Decline(payment string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.byID[payment]
	if c == nil || s.session(c.id).status != "open" {
		return errState
	}
	s.emit(c, "payment_intent.payment_failed", map[string]any{"object": "payment_intent", "id": s.id("pi"), "metadata": c.metadata})
	return nil
}

// Lapse ends an authorisation, as the bank does after some days.
func (s *Server) Lapse(payment string) error {
	return s.change(payment, "payment_intent.canceled", func(c *session) bool {
		ok := c.intentStatus == "requires_capture"
		if ok {
			c.intentStatus = "canceled"
		}
		return ok
	}, s.intentJSON)
}

// GiveBack refunds a payment in Stripe's dashboard.
func (s *Server) GiveBack(payment string) error {
	return s.change(payment, "charge.refunded", func(c *session) bool {
		ok := c.intentStatus == "succeeded" && !c.refunded
		c.refunded = c.refunded || ok
		return ok
	}, s.chargeJSON)
}

// Dispute lets the buyer's bank ask for the money back.
func (s *Server) Dispute(payment string) error {
	return s.change(payment, "charge.dispute.created", func(c *session) bool {
		ok := c.intentStatus == "succeeded" && c.dispute == "" && !c.refunded
		if ok {
			c.dispute = "needs_response"
		}
		return ok
	}, disputeJSON)
}

// CloseDispute decides a dispute, for the buyer or not.
func (s *Server) CloseDispute(payment string, forBuyer bool) error {
	return s.change(payment, "charge.dispute.closed", func(c *session) bool {
		ok := c.dispute == "needs_response"
		if ok {
			if c.dispute = "won"; forBuyer {
				c.dispute = "lost"
			}
		}
		return ok
	}, disputeJSON)
}

func (s *Server) change(payment, kind string, do func(*session) bool, object func(*session) map[string]any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.byID[payment]
	if c == nil || !do(c) {
		return errState
	}
	s.emit(c, kind, object(c))
	return nil
}

// A State is what is true of a payment at Stripe.
type State struct {
	Session  string // open, complete, expired
	Intent   string // requires_capture, canceled, succeeded; empty: none
	Refunded bool
	Dispute  string // its status
	Amount   int64
	Currency string
}

// State returns what is true of a payment; ok is false for one that was never started.
func (s *Server) State(payment string) (st State, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.byID[payment]
	if c == nil {
		return State{}, false
	}
	s.session(c.id)
	return State{c.status, c.intentStatus, c.refunded, c.dispute, c.amount, c.currency}, true
}

// Requests is how often the server was asked for something, such as "POST /v1/refunds".
func (s *Server) Requests(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[what]
}

// A Notice is an event as Stripe sends it now.
type Notice struct {
	Kind   string
	Header http.Header
	Body   []byte
}

// Notices are the events about a payment, in their order. Nothing sends them: the test does, late, twice, in another order or never.
func (s *Server) Notices(payment string) (all []Notice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if e.payment == payment {
			all = append(all, Notice{e.kind, Sign(s.now(), e.body), e.body})
		}
	}
	return all
}

// Sign is the header of an event that Stripe signed at a time.
func Sign(at time.Time, body []byte) http.Header {
	h := http.Header{}
	h.Set("Stripe-Signature", fmt.Sprintf("t=%d,v1=%x", at.Unix(), webhook.ComputeSignature(at, body, WebhookSecret)))
	return h
}

// emit makes an event. The caller has locked mu.
func (s *Server) emit(c *session, kind string, object map[string]any) {
	body, err := json.Marshal(map[string]any{
		"id": s.id("evt"), "object": "event", "type": kind, "api_version": "2020-01-01", "created": s.now().Unix(),
		"data": map[string]any{"object": object},
	})
	if err != nil {
		panic(err)
	}
	s.events = append(s.events, event{c.payment, kind, body})
}

func (s *Server) sessionJSON(c *session, expanded bool) map[string]any {
	m := map[string]any{
		"object": "checkout.session", "id": c.id, "status": c.status, "client_reference_id": c.payment, "payment_intent": nil,
		"url": s.URL + "/pay/" + c.id, "expires_at": c.expires.Unix(), "metadata": c.metadata,
	}
	switch {
	case c.intent != "" && expanded:
		m["payment_intent"] = s.intentJSON(c)
	case c.intent != "":
		m["payment_intent"] = c.intent
	}
	return m
}

func (s *Server) intentJSON(c *session) map[string]any {
	m := map[string]any{
		"object": "payment_intent", "id": c.intent, "status": c.intentStatus, "amount": c.amount, "currency": c.currency,
		"amount_capturable": int64(0), "amount_received": c.received, "metadata": c.metadata, "latest_charge": s.chargeJSON(c),
	}
	if c.intentStatus == "requires_capture" {
		m["amount_capturable"] = c.amount
	}
	return m
}

func (s *Server) chargeJSON(c *session) map[string]any {
	return map[string]any{
		"object": "charge", "id": c.charge, "payment_intent": c.intent, "refunded": c.refunded, "disputed": c.dispute != "",
		"amount": c.amount, "currency": c.currency, "metadata": c.metadata,
	}
}

func disputeJSON(c *session) map[string]any {
	return map[string]any{
		"object": "dispute", "id": "dp_" + c.charge, "charge": c.charge, "payment_intent": c.intent, "status": c.dispute,
		"amount": c.amount, "currency": c.currency, "metadata": map[string]string{},
	}
}
