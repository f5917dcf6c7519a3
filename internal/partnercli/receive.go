package partnercli

import (
	"context"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/namewharf/namewharf/event"
)

// A Receiver receives webhooks: it verifies the signatures, reports the delivery and answers.
type Receiver struct {
	Secret     string           // of the webhook
	Status     int              // of all answers; 0: 200 for a genuine delivery, else 401
	Delay      time.Duration    // before the answer
	OnDelivery func(Delivery)   // called for one delivery at a time
	Now        func() time.Time // nil: time.Now

	mu sync.Mutex
}

// A Delivery is a received webhook.
type Delivery struct {
	At       time.Time       `json:"at"`
	EventID  string          `json:"event_id"`
	Type     string          `json:"event_type"`
	Attempt  int             `json:"attempt"`
	Service  Verdict         `json:"x_service_signature"`
	Standard Verdict         `json:"webhook_signature"`
	Answered int             `json:"answered"`
	Event    json.RawMessage `json:"event,omitzero"` // the body, where it is JSON
}

// Genuine reports whether the sender knows the secret. During a rotation of the secret, X-Service-Signature-Previous alone
// proves that a receiver's old secret is still valid.
func (d Delivery) Genuine() bool {
	return d.Service == Good && d.Standard == Good || d.Service == Previous
}

// A Verdict is the result of verifying a signature.
type Verdict string

// The verdicts.
const (
	Good     Verdict = "good"
	Previous Verdict = "previous" // good by X-Service-Signature-Previous: the secret has been replaced
	Missing  Verdict = "missing"
	Wrong    Verdict = "wrong"
	Stale    Verdict = "stale" // good, but the timestamp is too far from the clock
)

// Limits of the receiver.
const (
	maxBody         = 1 << 20
	readTimeout     = 10 * time.Second
	clockSkew       = 5 * time.Minute // as in the libraries of Standard Webhooks
	shutdownTimeout = 2 * time.Second
)

// Serve receives webhooks until ctx ends. It closes the listener.
func (r *Receiver) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := &http.Server{Handler: r, ReadTimeout: readTimeout, BaseContext: func(net.Listener) context.Context { return ctx }}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	closing, done := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer done()
	err := server.Shutdown(closing)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	<-failed
	return err
}

func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "events are posted here", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
	if err != nil {
		http.Error(w, "the body cannot be read", http.StatusBadRequest)
		return
	}
	d := r.verify(req.Header, body)
	select {
	case <-time.After(r.Delay):
	case <-req.Context().Done(): // the sender has given up
	}
	r.mu.Lock()
	r.OnDelivery(d)
	r.mu.Unlock()
	w.WriteHeader(d.Answered)
}

// verify verifies a delivery and chooses the status of the answer.
func (r *Receiver) verify(h http.Header, body []byte) Delivery {
	at := time.Now()
	if r.Now != nil {
		at = r.Now()
	}
	d := Delivery{
		At: at.UTC().Truncate(time.Millisecond), EventID: h.Get("X-Service-Event-Id"), Type: h.Get("X-Service-Event-Type"),
		Service: r.verifyService(h, body), Standard: r.verifyStandard(h, body, at), Answered: r.Status,
	}
	d.Attempt, _ = strconv.Atoi(h.Get("X-Service-Delivery-Attempt")) // 0 without the header
	if json.Valid(body) {
		d.Event = body
	}
	if d.Answered == 0 {
		d.Answered = http.StatusUnauthorized
		if d.Genuine() {
			d.Answered = http.StatusOK
		}
	}
	return d
}

// verifyService verifies X-Service-Signature (section 6.1 of the contract).
func (r *Receiver) verifyService(h http.Header, body []byte) Verdict {
	want, given := event.Signature(r.Secret, body), h.Get("X-Service-Signature")
	switch {
	case hmac.Equal([]byte(want), []byte(given)):
		return Good
	case hmac.Equal([]byte(want), []byte(h.Get("X-Service-Signature-Previous"))):
		return Previous
	case given == "":
		return Missing
	}
	return Wrong
}

// verifyStandard verifies webhook-signature (Standard Webhooks 1.0), which may contain several signatures.
func (r *Receiver) verifyStandard(h http.Header, body []byte, now time.Time) Verdict {
	given := h.Get("Webhook-Signature")
	if given == "" {
		return Missing
	}
	seconds, err := strconv.ParseInt(h.Get("Webhook-Timestamp"), 10, 64)
	if err != nil {
		return Wrong
	}
	at := time.Unix(seconds, 0)
	want := event.StandardSignature(r.Secret, h.Get("Webhook-Id"), at, body)
	for signature := range strings.FieldsSeq(given) {
		if !hmac.Equal([]byte(want), []byte(signature)) {
			continue
		}
		if now.Sub(at).Abs() > clockSkew {
			return Stale
		}
		return Good
	}
	return Wrong
}
